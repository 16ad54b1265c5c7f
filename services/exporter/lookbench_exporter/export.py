"""One export, from a source to a published model folder.

resolve → load → [ graph → checks → configuration → parity → manifest ] → publish
                 all in a staging folder, loaded from there as a server would
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lookbench_core.digests import files_digest
from lookbench_core.ids import is_model_id
from lookbench_core.manifest import (
    Graph,
    ModelManifest,
    Parity,
    Source,
    write_manifest,
)
from lookbench_core.tensors import CONFIG_FILE, GRAPH_FILE
from lookbench_exporter.errors import SourceInvalid
from lookbench_exporter.existing import check_replaceable, current_manifest
from lookbench_exporter.family import Family, LoadedModel
from lookbench_exporter.graph_checks import GraphInterface, check_graph
from lookbench_exporter.libraries import exporter_versions, installed
from lookbench_exporter.onnx_graph import write_graph
from lookbench_exporter.parity import BATCH, MINIMUM_COSINE, measure
from lookbench_exporter.quiet import quiet
from lookbench_exporter.repository import check_writable, publish, staging
from lookbench_exporter.request import ExportRequest
from lookbench_exporter.sample_images import SampleImages
from lookbench_exporter.samples import prepare_samples
from lookbench_exporter.served import GraphSession
from lookbench_exporter.sources import ResolvedSource, resolve
from lookbench_exporter.triton_config import config_from_graph, render

VERSION_FOLDER = "1"
"""Triton's version of every export: exporting again replaces the model, it adds no version."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class ExportResult:
    """folder: the model's. kept: nothing was done, the folder was current."""

    folder: Path
    manifest: ModelManifest
    kept: bool
    seconds: float

    def as_data(self) -> dict[str, object]:
        """For programs."""
        return {
            "model": self.manifest.name,
            "folder": str(self.folder.absolute()),
            "kept": self.kept,
            "seconds": round(self.seconds, 2),
            "manifest": self.manifest.model_dump(mode="json"),
        }

    def as_text(self) -> str:
        """For people."""
        manifest, parity = self.manifest, self.manifest.parity
        verb = "kept" if self.kept else "exported"
        return (
            f"{verb} {manifest.name} in {self.folder} ({self.seconds:.1f} s)\n"
            f"  {manifest.output.dimension}-d {manifest.kind.replace('_', ' ')}, "
            f"{manifest.graph.precision}, opset {manifest.graph.opset}\n"
            f"  worst cosine {parity.worst_cosine:.7f} to {parity.reference}\n"
            f"  over {parity.inputs}, batch {' and '.join(map(str, parity.batch_sizes))}"
        )


@dataclass(frozen=True)
class _Found:
    """What is known before the weights are loaded."""

    name: str
    source: ResolvedSource
    weights_digest: str


def export(family: Family, request: ExportRequest, say: Say) -> ExportResult:
    """Exports a model, or leaves the repository as it was.

    say: called with a line at each step.

    Raises SourceNotFound, SourceInvalid, SourceUnreachable, ExportRefused,
    ModelExists, RepositoryUnwritable, DependencyMissing.
    """
    started = time.monotonic()
    found = _find(family, request)
    target = request.repository / found.name
    if request.if_missing:
        kept = current_manifest(target, request, found.weights_digest)
        if kept is not None:
            return ExportResult(target, kept, True, time.monotonic() - started)
    if not request.force:
        check_replaceable(target, request.family, found.source, found.weights_digest)
    check_writable(request.repository)
    say(f"loading {found.source.id}")
    model = family.load(found.source)
    with staging(request.repository, found.name) as folder:
        manifest = _build(model, found, request, folder, say)
        publish(folder, target)
    return ExportResult(target, manifest, False, time.monotonic() - started)


def _find(family: Family, request: ExportRequest) -> _Found:
    source = resolve(request.source, request.revision, family.hub_files)
    name = request.name or family.model_name(source)
    if not is_model_id(name):
        raise SourceInvalid(
            f"{name!r} cannot name a model (letters, digits, '.', '_' and '-', at most 128, no "
            "leading or trailing sign); choose one with --name",
            name=name,
        )
    return _Found(name, source, files_digest(family.weight_files(source)))


def _build(
    model: LoadedModel, found: _Found, request: ExportRequest, folder: Path, say: Say
) -> ModelManifest:
    """Fills the staging folder and checks it; the manifest is written last."""
    version_folder = folder / VERSION_FOLDER
    version_folder.mkdir()
    for file, content in model.files.items():
        (folder / file).write_bytes(content)
    say("tracing the graph")
    write_graph(model, found.name, version_folder)
    interface = check_graph(version_folder, model.output, model.image, model.text)
    graph = _graph(model, interface, request, folder)
    config = config_from_graph(
        found.name,
        interface,
        request.max_batch_size,
        request.instances,
        request.batching,
        graph_digest=graph.digest,
    )
    (folder / CONFIG_FILE).write_text(render(config), encoding="utf-8")
    say("comparing the graph with the reference")
    parity = _parity(model, request, folder)
    manifest = ModelManifest(
        name=found.name,
        family=request.family,
        kind=model.kind,
        source=_source(found, model),
        graph=graph,
        image=model.image,
        text=model.text,
        output=model.output,
        max_batch_size=request.max_batch_size,
        parity=parity,
    )
    write_manifest(manifest, folder)
    return manifest


def _parity(model: LoadedModel, request: ExportRequest, folder: Path) -> Parity:
    images = request.images() if model.image else SampleImages((), (), "")
    samples = prepare_samples(model, folder, images)
    session = GraphSession(folder / VERSION_FOLDER / GRAPH_FILE, model.output.tensor)
    with quiet():  # weights that give NaN are refused below; numpy would warn of each step
        figures = measure(
            lambda rows: model.reference([samples.items[row] for row in rows]),
            lambda rows: session.run(samples.feeds(rows)),
            samples.names,
            model.output.dimension,
            MINIMUM_COSINE[request.precision],
        )
    libraries = {"torch": installed("torch"), **model.libraries}
    return Parity(
        reference=", ".join(f"{name} {release}" for name, release in libraries.items()),
        inputs=samples.description,
        rows=figures.rows,
        worst_cosine=figures.worst_cosine,
        mean_cosine=figures.mean_cosine,
        batch_sizes=(1, BATCH),
        worst_batch_cosine=figures.worst_batch_cosine,
    )


def _source(found: _Found, model: LoadedModel) -> Source:
    return Source(
        kind=found.source.kind,
        id=found.source.id,
        revision=found.source.revision,
        weights_digest=found.weights_digest,
        licence=model.licence,
    )


def _graph(
    model: LoadedModel, interface: GraphInterface, request: ExportRequest, folder: Path
) -> Graph:
    files = sorted((folder / VERSION_FOLDER).iterdir())
    return Graph(
        digest=files_digest(files),
        opset=interface.opset,
        precision=request.precision,
        files=tuple(path.relative_to(folder).as_posix() for path in files),
        exporter={**exporter_versions(), **model.libraries},
    )
