"""The shared memory regions of one server: made when needed, lent to one request at a time."""

import asyncio
import contextlib
import errno
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt
import structlog

from lookbench_core.errors import LookbenchError
from lookbench_inference.errors import SharedMemoryUnavailable
from lookbench_inference.shared_memory import (
    FOLDER,
    Region,
    RegionRefused,
    bytes_needed,
    known_here,
    remove_abandoned,
)

SMALLEST_BYTES = 64 << 10
"""Requests below travel in the message: there is too little to save."""
CLOSE_TRIES, CLOSE_PAUSE_S = 5, 0.1
log = structlog.get_logger()


class Registrar(Protocol):
    """The server's side of shared memory."""

    url: str

    async def register(self, region: Region) -> None:
        """Raises RegionRefused, TritonUnavailable."""
        ...

    async def unregister(self, name: str) -> None:
        """Raises RegionRefused, TritonUnavailable."""
        ...

    async def regions(self) -> list[str]:
        """Raises TritonUnavailable."""
        ...


def _is_scarce(folder: Path, size: int) -> bool:
    """Whether less than a quarter would be left: Triton's Python models live in it too."""
    there = shutil.disk_usage(folder)
    return there.free - size < there.total // 4


class RegionPool:
    """Lends regions; where there is none to be had, requests travel in the message."""

    def __init__(
        self, server: Registrar, region_bytes: int, most: int, folder: Path = FOLDER
    ) -> None:
        """`region_bytes`: size of each region. `most`: how many there are at most."""
        self._server, self._region_bytes, self._most = server, region_bytes, most
        self._folder = folder
        self._free: list[Region] = []
        self._made = 0
        self._swept = self._closed = False
        remove_abandoned(folder)

    @asynccontextmanager
    async def lent(self, inputs: Mapping[str, npt.NDArray[Any]]) -> AsyncIterator[Region | None]:
        """A registered region for these inputs, or None when they travel in the message.

        Raises TritonUnavailable.
        """
        if not SMALLEST_BYTES <= bytes_needed(inputs) <= self._region_bytes:
            yield None
            return
        region = await self._ready()
        try:
            yield region
        finally:
            self._give_back(region)

    async def check(self) -> None:
        """Raises SharedMemoryUnavailable unless a region can be made and registered.

        Raises TritonUnavailable.
        """
        region = self._free.pop() if self._free else self._new()
        try:
            await self._register(region)
        except RegionRefused as error:
            raise self._unusable(f"the server refuses it ({error})") from error
        finally:
            self._give_back(region)

    async def close(self) -> None:
        """Unregisters what no request uses any more, and removes all."""
        self._closed = True
        await asyncio.gather(*(self._discard(region) for region in self._free))
        self._free.clear()

    async def _ready(self) -> Region | None:
        region = self._take()
        if region is None or region.registered:
            return region
        try:
            await self._register(region)
        except RegionRefused as error:
            self._made_enough(f"the server refuses it ({error})")
            region.remove()
            return None
        except BaseException:
            self._give_back(region)
            raise
        return region

    def _take(self) -> Region | None:
        if self._free:
            return self._free.pop()
        if self._made >= self._most:
            return None
        try:
            return self._new()
        except SharedMemoryUnavailable as error:
            self._made_enough(error.metadata["problem"])
            return None

    def _give_back(self, region: Region | None) -> None:
        if region and self._closed:
            region.remove()
        elif region:
            self._free.append(region)

    def _new(self) -> Region:
        try:
            if _is_scarce(self._folder, self._region_bytes):
                raise OSError(errno.ENOSPC, "nearly full, and the server needs the rest")
            region = Region(self._region_bytes, self._folder)
        except OSError as error:
            raise self._unusable(f"{self._folder}: {error.strerror}") from error
        self._made += 1
        return region

    def _made_enough(self, problem: str) -> None:
        """Makes no more; requests that find none free travel in the message."""
        if self._most:
            log.warning(
                "shared memory not used further, requests travel in messages",
                url=self._server.url,
                problem=problem,
            )
        self._most = 0

    async def _register(self, region: Region) -> None:
        await self._server.register(region)
        region.registered = True
        if not self._swept:
            self._swept = True
            await self._sweep()

    async def _sweep(self) -> None:
        """Makes the server give up memory of evaluators that were killed.

        Only after it opened a region of ours, so that its /dev/shm is this one.
        """
        with contextlib.suppress(LookbenchError):
            for name in await self._server.regions():
                if not known_here(name, self._folder):
                    with contextlib.suppress(RegionRefused):
                        await self._server.unregister(name)

    def _unusable(self, problem: str) -> SharedMemoryUnavailable:
        url = self._server.url
        return SharedMemoryUnavailable(
            f"inputs cannot travel through shared memory to Triton at {url}: {problem}; both "
            "must be on one host and share /dev/shm, with room in it. Set shared_memory=auto to "
            "send them over gRPC where that is not so",
            url=url,
            problem=problem,
        )

    async def _discard(self, region: Region) -> None:
        try:
            for _ in range(CLOSE_TRIES if region.registered else 0):
                with contextlib.suppress(RegionRefused):
                    return await self._server.unregister(region.name)
                await asyncio.sleep(CLOSE_PAUSE_S)
        except LookbenchError:
            pass  # with the server the registration is gone as well
        finally:
            region.remove()
