"""The models that can be asked: Triton's repository, manifests and readiness together."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from lookbench_core.benchmark import Modality
from lookbench_core.errors import LookbenchError
from lookbench_core.ids import is_model_id
from lookbench_core.manifest import ModelManifest, read_manifest
from lookbench_core.tensors import CONFIG_FILE
from lookbench_evaluator.errors import ModelNotFound
from lookbench_evaluator.runs.model import Encoder, PinnedModel
from lookbench_inference.batching import Admission
from lookbench_inference.contract import check_contract
from lookbench_inference.embedders import FanOut, Served, open_embedder
from lookbench_inference.endpoints import TritonEndpoints
from lookbench_inference.errors import ModelContractMismatch, ModelNotReady, TritonUnavailable
from lookbench_inference.options import EncoderOptions, completed
from lookbench_inference.ports import Embedder
from lookbench_inference.retries import out_of_patience
from lookbench_inference.self_check import SelfChecks
from lookbench_inference.triton import RepositoryEntry

WAIT_INTERVAL_S = 0.5
T = TypeVar("T")


@dataclass(frozen=True)
class ModelInfo:
    """A model folder as seen now. `problem` says why it cannot be used; "" when it can."""

    name: str
    manifest: ModelManifest | None
    versions: tuple[str, ...]
    ready: bool
    problem: str


class ModelCatalog:
    """Reads manifests from the repository folder and readiness from Triton."""

    def __init__(
        self,
        repository: Path,
        triton: TritonEndpoints,
        fan_out: FanOut,
        workers: Executor,
        *,
        self_check: bool = True,
    ) -> None:
        self._repository, self._triton = repository, triton
        self._fan_out, self._workers = fan_out, workers
        self._admission: dict[str, Admission] = {}
        self._self_checks = SelfChecks() if self_check else None

    async def all(self) -> list[ModelInfo]:
        """All models of the folder and of Triton, by name. Never fails for an absent Triton."""
        served, problem = await self._served()
        names = sorted({*self._folders(), *served})
        return await asyncio.to_thread(
            lambda: [self._info(name, served.get(name, ()), problem) for name in names]
        )

    async def get(self, name: str) -> ModelInfo:
        """Raises ModelNotFound."""
        for info in await self.all():
            if info.name == name:
                return info
        raise ModelNotFound(f"models/{name}")

    async def require(self, name: str) -> ModelManifest:
        """The manifest of a model that is ready and served as the manifest says.

        Raises ModelNotFound, ManifestInvalid, ModelNotReady, TritonUnavailable,
        ModelContractMismatch (also when servers disagree), SharedMemoryUnavailable.
        """
        return (await self._found(name))[0]

    async def _found(self, name: str) -> tuple[ModelManifest, str]:
        """Manifest and version as `require`."""
        folder = self._folder(name)
        manifest = await asyncio.to_thread(read_manifest, folder)
        if not await self._triton.model_ready(name):
            raise ModelNotReady(
                f"Triton at {self._triton.url} does not serve {name}; "
                "`lbclient models` says why, `lookbench-triton load` loads it",
                model=name,
                url=self._triton.url,
            )
        contract = await self._triton.contract(name)
        check_contract(manifest, contract)
        await self._triton.check_shared_memory()
        return manifest, max(contract.versions, key=int, default="")

    @staticmethod
    async def patiently(ask: Callable[[], Awaitable[T]], patience_s: float) -> T:
        """What `ask` gives, asked again while a server is starting or was restarted.

        Raises what `ask` raises; what may pass (no server, not loaded) only after `patience_s`.
        """
        began = time.monotonic()
        while True:
            try:
                return await ask()
            except (TritonUnavailable, ModelNotReady) as error:
                if "waited_s" in error.metadata:  # a request has been patient already
                    raise
                waited = time.monotonic() - began
                if waited >= patience_s:
                    raise out_of_patience(error, waited) from error
            await asyncio.sleep(WAIT_INTERVAL_S)

    async def completed(self, encoder: Encoder, usual_role: str, modality: Modality) -> Encoder:
        """The encoder with the model's defaults filled in, for the record.

        Raises as `require`, and ModelContractMismatch when it embeds something else.
        """
        manifest = await self.require(encoder.model)
        if manifest.kind != f"{modality}_embedding":
            raise ModelContractMismatch(
                f"model {encoder.model} is of kind {manifest.kind}, the benchmark needs "
                f"{modality}_embedding for its {usual_role} side; `lbclient models` lists kinds",
                model=encoder.model,
                kind=manifest.kind,
                modality=modality,
            )
        options = completed(manifest, _options(encoder), usual_role)
        return Encoder(model=encoder.model, **asdict(options))

    async def open(self, encoder: Encoder, deadline: float | None = None) -> Embedder:
        """An embedder for a `completed` encoder, for use until `deadline` in event-loop time.

        Before the first one of a version the model is asked whether its rows are right.
        Raises as `require`, and as `self_check.check`.
        """
        manifest, version = await self._found(encoder.model)
        admission = self._admission.setdefault(
            encoder.model, Admission.of(self._fan_out.in_flight, self._fan_out.ahead)
        )
        served = Served(self._triton, manifest, self._fan_out, self._workers, admission, deadline)
        folder = self._folder(encoder.model)
        if self._self_checks is not None:
            await self._self_checks.ensure(served, version, folder)
        return await asyncio.to_thread(open_embedder, served, _options(encoder), folder)

    async def pin(self, name: str) -> PinnedModel:
        """The version and graph that Triton serves for a model now."""
        manifest, version = await self._found(name)
        return PinnedModel(model=name, version=version, graph_digest=manifest.graph.digest)

    async def missing(self) -> list[str]:
        """Names of exported models that Triton does not serve. Raises TritonUnavailable."""
        ready = {entry.name for entry in await self._triton.repository() if entry.ready}
        return sorted(set(self._folders()) - ready)

    def _folder(self, name: str) -> Path:
        folder = self._repository / name
        if not is_model_id(name) or not folder.is_dir():
            raise ModelNotFound(f"models/{name}")
        return folder

    def _folders(self) -> Iterable[str]:
        return [config.parent.name for config in self._repository.glob(f"*/{CONFIG_FILE}")]

    async def _served(self) -> tuple[Mapping[str, tuple[RepositoryEntry, ...]], str]:
        try:
            entries = await self._triton.repository()
        except TritonUnavailable as error:
            return {}, error.message
        served: dict[str, tuple[RepositoryEntry, ...]] = {}
        for entry in entries:
            served[entry.name] = (*served.get(entry.name, ()), entry)
        return served, ""

    def _info(self, name: str, entries: tuple[RepositoryEntry, ...], problem: str) -> ModelInfo:
        ready = tuple(e for e in entries if e.ready)
        if not ready and not problem:
            reasons = [e.reason for e in entries if e.reason]
            problem = "; ".join(reasons) or "not loaded by Triton"
        manifest: ModelManifest | None = None
        try:
            manifest = read_manifest(self._repository / name)
        except LookbenchError as error:
            problem = problem or error.message
        return ModelInfo(name, manifest, tuple(e.version for e in ready), bool(ready), problem)


def _options(encoder: Encoder) -> EncoderOptions:
    return EncoderOptions(encoder.role, encoder.instruction, encoder.preset, encoder.dimension)
