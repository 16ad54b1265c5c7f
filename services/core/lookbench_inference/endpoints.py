"""Several Triton servers as one: balanced, repeated, and waited for when all are away."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from random import Random
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from lookbench_core.errors import LookbenchError
from lookbench_inference.breaker import Breaker
from lookbench_inference.errors import (
    ModelContractMismatch,
    ModelNotReady,
    SharedMemoryUnavailable,
    TritonUnavailable,
)
from lookbench_inference.region_pool import RegionPool
from lookbench_inference.retries import ANSWERED, PASSING, RetryPolicy, Tries
from lookbench_inference.shared_memory import RegionUnknown, is_local
from lookbench_inference.triton import ModelContract, RepositoryEntry, TritonClient

QUICK_S = 1.0
"""How long a server that is left out may take to answer a question about models."""
SharedMemory = Literal["auto", "on", "off"]
Inputs = Mapping[str, npt.NDArray[Any]]
T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """What can be away: a server, or one model of it."""

    url: str
    model: str = ""

    def __str__(self) -> str:
        return f"model {self.model} at {self.url}" if self.model else f"Triton at {self.url}"


@dataclass(eq=False)
class Endpoint:
    """One server, and what of ours it has to do.

    last_used: rises with every request, over all endpoints.
    regions: shared memory; None where requests travel in messages.
    """

    client: TritonClient
    regions: RegionPool | None = None
    under_way: int = 0
    last_used: int = 0

    @property
    def url(self) -> str:
        """Address as it was configured."""
        return self.client.url

    async def infer(
        self, model: str, inputs: Inputs, output: str, timeout_s: float
    ) -> npt.NDArray[np.float32]:
        """One request, through shared memory where that is possible."""
        if self.regions is not None:
            async with self.regions.lent(inputs) as region:
                try:
                    return await self.client.infer(model, inputs, output, timeout_s, region=region)
                except RegionUnknown:
                    # The server was started anew: this time in a message.
                    if region is not None:
                        region.registered = False
        return await self.client.infer(model, inputs, output, timeout_s)

    async def close(self) -> None:
        """Gives shared memory back and closes the channel."""
        if self.regions is not None:
            await self.regions.close()
        await self.client.close()


class TritonEndpoints:
    """Has the surface of one TritonClient, and spreads requests over all that serve a model.

    Requests go where fewest of ours are under way. A server that fails is left out until a
    probe finds it well again; while none is left, requests wait (RetryPolicy.patience_s).
    What is asked about servers and models never waits.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        policy: RetryPolicy | None = None,
        random: Random | None = None,
        *,
        needs_shared_memory: bool = False,
    ) -> None:
        """`random` draws the pauses. See `connect` for addresses."""
        self._endpoints = list(endpoints)
        self._policy = policy or RetryPolicy()
        self._random = random or Random()  # noqa: S311 - spreads load, keeps no secret
        self._needs_shared_memory = needs_shared_memory
        self._breaker: Breaker[Part] = Breaker(self._probe, self._random)
        self._turns = count(1)
        self._asked_for: dict[str, set[str]] = {e.url: set() for e in self._endpoints}
        self._agreed: dict[str, ModelContract] = {}

    @property
    def url(self) -> str:
        """The addresses, as they were configured."""
        return ", ".join(endpoint.url for endpoint in self._endpoints)

    async def close(self) -> None:
        """Closes all channels; calls under way fail."""
        await self._breaker.close()
        await asyncio.gather(*(endpoint.close() for endpoint in self._endpoints))

    async def server_ready(self) -> bool:
        """Whether any server says it is ready."""
        return any(await asyncio.gather(*(e.client.server_ready() for e in self._endpoints)))

    async def model_ready(self, name: str) -> bool:
        """Whether any server serves the model. Raises TritonUnavailable when none answers."""
        return bool(await self._serving(name))

    async def repository(self) -> list[RepositoryEntry]:
        """The models of all servers; one is ready when it is on any of them.

        Raises TritonUnavailable when none answers.
        """
        found: dict[tuple[str, str], RepositoryEntry] = {}
        for entry in chain(*(await self._answers(lambda c: c.repository())).values()):
            known = found.get((entry.name, entry.version))
            if known is None or (entry.ready and not known.ready):
                found[entry.name, entry.version] = entry
        return [found[key] for key in sorted(found)]

    async def contract(self, name: str) -> ModelContract:
        """What all servers that serve the model say of it.

        Raises ModelNotReady, TritonUnavailable, and ModelContractMismatch naming the
        servers that disagree: their numbers must not be mixed.
        """
        serving = await self._serving(name)
        if not serving:
            raise ModelNotReady(f"no Triton of {self.url} serves {name}", model=name, url=self.url)
        found = await self._answers(lambda c: c.contract(name), serving)
        contracts = list(found.values())
        if any(contract != contracts[0] for contract in contracts):
            raise _disagreement(name, found)
        self._agreed[name] = contracts[0]
        for endpoint in found:
            self._breaker.restore(Part(endpoint.url, name))
        return contracts[0]

    async def check_shared_memory(self) -> None:
        """Raises SharedMemoryUnavailable where it was asked for and a server cannot use it."""
        if not self._needs_shared_memory:
            return
        for endpoint in self._endpoints:
            if self._breaker.problem(Part(endpoint.url)):
                continue
            if endpoint.regions is None:
                raise SharedMemoryUnavailable(
                    f"inputs cannot travel through shared memory to Triton at {endpoint.url}, "
                    "which is not on this host; set shared_memory=auto",
                    url=endpoint.url,
                )
            await endpoint.regions.check()

    async def infer(
        self,
        model: str,
        inputs: Inputs,
        output: str,
        timeout_s: float,
        deadline: float | None = None,
    ) -> npt.NDArray[np.float32]:
        """One answer, from whichever server gives it; asked again where that may help.

        timeout_s: of each try. deadline: event-loop time at which all of them end.
        Cancelling the awaiting task cancels the call at the server.

        Raises as TritonClient.infer; TritonUnavailable, ModelNotReady and
        ModelProcessDead only when patience has run out.
        """
        tries = Tries(self._policy, self._random, model, deadline)
        while True:
            endpoint = await self._free_for(model, tries)
            try:
                return await self._ask(endpoint, model, inputs, output, tries.timeout_s(timeout_s))
            except PASSING as error:
                self._note(endpoint, model, error)
                await tries.pause_after(error)

    async def _ask(
        self, endpoint: Endpoint, model: str, inputs: Inputs, output: str, timeout_s: float
    ) -> npt.NDArray[np.float32]:
        endpoint.under_way += 1
        endpoint.last_used = next(self._turns)
        try:
            return await endpoint.infer(model, inputs, output, timeout_s)
        finally:
            endpoint.under_way -= 1

    async def _free_for(self, model: str, tries: Tries) -> Endpoint:
        """The endpoint to ask, once there is one."""
        endpoint = self._least_busy(model)
        if endpoint is not None:
            return endpoint
        try:
            return await self._breaker.wait(lambda: self._least_busy(model), tries.until())
        except TimeoutError:
            tries.give_up(self._why_none(model))

    def _least_busy(self, model: str) -> Endpoint | None:
        usable = [e for e in self._endpoints if not self._problem(e, model)]
        return min(usable, key=lambda e: (e.under_way, e.last_used), default=None)

    def _problem(self, endpoint: Endpoint, model: str) -> str:
        url = endpoint.url
        return self._breaker.problem(Part(url)) or self._breaker.problem(Part(url, model))

    def _why_none(self, model: str) -> LookbenchError:
        problems = "; ".join(self._problem(endpoint, model) for endpoint in self._endpoints)
        if all(self._breaker.problem(Part(e.url)) for e in self._endpoints):
            return TritonUnavailable(problems, url=self.url, detail=problems)
        return ModelNotReady(problems, url=self.url, model=model, detail=problems)

    def _note(self, endpoint: Endpoint, model: str, error: LookbenchError) -> None:
        """Leaves out what failed, unless it is only busy."""
        if isinstance(error, ANSWERED):
            return
        self._asked_for[endpoint.url].add(model)
        whole = isinstance(error, TritonUnavailable)
        self._breaker.trip(Part(endpoint.url, "" if whole else model), error.message)

    async def _probe(self, part: Part) -> str:
        endpoint = next(e for e in self._endpoints if e.url == part.url)
        if part.model:
            return await self._model_problem(endpoint, part.model)
        if not await endpoint.client.server_live():
            return self._breaker.problem(part)
        # Well again without its models, it would only refuse what has waited for it.
        for model in list(self._asked_for[part.url]):
            problem = await self._model_problem(endpoint, model)
            if problem:
                self._breaker.trip(Part(part.url, model), problem)
        return ""

    async def _model_problem(self, endpoint: Endpoint, model: str) -> str:
        try:
            if not await endpoint.client.model_ready(model):
                return f"Triton at {endpoint.url} does not serve {model}"
            contract = await endpoint.client.contract(model)
        except LookbenchError as error:
            return error.message
        if contract != self._agreed.get(model, contract):
            return f"Triton at {endpoint.url} serves another {model} than before"
        return ""

    async def _serving(self, name: str) -> list[Endpoint]:
        """The endpoints that serve the model; others are not asked for it meanwhile."""
        answers = await self._answers(lambda c: c.model_ready(name))
        serving = [endpoint for endpoint, ready in answers.items() if ready]
        for endpoint in answers if serving else ():
            if endpoint not in serving:
                self._note(endpoint, name, _not_served(endpoint, name))
        return serving

    async def _answers(
        self,
        ask: Callable[[TritonClient], Awaitable[T]],
        endpoints: Sequence[Endpoint] | None = None,
    ) -> dict[Endpoint, T]:
        """What each says. Who does not answer is left out; raises an error when none does."""
        asked = self._endpoints if endpoints is None else endpoints
        answers = await asyncio.gather(*(self._answer(e, ask) for e in asked))
        given: dict[Endpoint, T] = {}
        errors: list[LookbenchError] = []
        for endpoint, answer in zip(asked, answers, strict=True):
            if isinstance(answer, LookbenchError):
                errors.append(answer)
            else:
                given[endpoint] = answer
        if not given:
            raise _joined(errors)
        return given

    async def _answer(
        self, endpoint: Endpoint, ask: Callable[[TritonClient], Awaitable[T]]
    ) -> T | LookbenchError:
        away = self._breaker.problem(Part(endpoint.url))
        try:
            async with asyncio.timeout(QUICK_S if away else None):
                answer = await ask(endpoint.client)
        except TimeoutError:
            return TritonUnavailable(away, url=endpoint.url, detail=away)
        except LookbenchError as error:
            if isinstance(error, TritonUnavailable):
                self._breaker.trip(Part(endpoint.url), error.message)
            return error
        return answer


def connect(
    urls: str,
    policy: RetryPolicy | None = None,
    random: Random | None = None,
    *,
    shared_memory: SharedMemory = "auto",
    region_bytes: int = 4 << 20,
    most_regions: int = 8,
) -> TritonEndpoints:
    """Clients of all addresses, separated by commas.

    region_bytes, most_regions: of shared memory, for each server on this host.
    """
    endpoints = []
    for url in addresses(urls):
        client = TritonClient(url)
        local = shared_memory != "off" and is_local(url)
        pool = RegionPool(client, region_bytes, most_regions) if local else None
        endpoints.append(Endpoint(client, pool))
    return TritonEndpoints(endpoints, policy, random, needs_shared_memory=shared_memory == "on")


def addresses(urls: str) -> list[str]:
    """The addresses of a list with commas, each once. Raises ValueError for one that is none."""
    found = [url.strip() for url in urls.split(",")]
    for url in found:
        if not url or "://" in url.removeprefix("dns://"):
            raise ValueError(
                f"{url!r} is no gRPC address: give host:port, dns:///name:port for all addresses "
                "of a name, or unix:path; several are separated by commas"
            )
    return list(dict.fromkeys(found))


def _not_served(endpoint: Endpoint, model: str) -> ModelNotReady:
    return ModelNotReady(f"Triton at {endpoint.url} does not serve {model}", model=model)


def _joined(errors: Sequence[LookbenchError]) -> LookbenchError:
    """One error for several servers, of the class of the first."""
    if len(errors) == 1:
        return errors[0]
    messages = "; ".join(error.message for error in errors)
    return type(errors[0])(messages, detail=messages)


def _disagreement(name: str, found: Mapping[Endpoint, ModelContract]) -> ModelContractMismatch:
    served = "; ".join(
        f"{endpoint.url} serves version {', '.join(contract.versions)}, graph "
        f"{contract.graph_digest or 'without a digest'}, inputs {_told(contract.inputs)}, "
        f"outputs {_told(contract.outputs)}"
        for endpoint, contract in found.items()
    )
    return ModelContractMismatch(
        f"the Triton servers disagree on {name}: {served}. Give all of them the same model "
        f"folder and load it anew (`lookbench-triton load {name}`), or leave one out of triton_url",
        model=name,
        servers=", ".join(endpoint.url for endpoint in found),
        served=served,
    )


def _told(tensors: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {t.datatype} {list(t.shape)}" for name, t in tensors.items())
