"""The model that already stands where an export wants to go."""

from pathlib import Path

from lookbench_core.digests import file_digest, files_digest
from lookbench_core.manifest import ManifestInvalid, ModelManifest, read_manifest
from lookbench_core.tensors import CONFIG_FILE
from lookbench_exporter.errors import ExportRefused, ModelExists
from lookbench_exporter.graph_checks import check_graph
from lookbench_exporter.libraries import installed
from lookbench_exporter.request import ExportRequest
from lookbench_exporter.sources import ResolvedSource
from lookbench_exporter.triton_config import config_from_graph, render

OWN_DISTRIBUTION = "lookbench-services"


def check_replaceable(
    target: Path, family: str, source: ResolvedSource, weights_digest: str
) -> None:
    """A model may be replaced by one of the same family and source, or the same weights.

    Raises ModelExists for anything else, above all a folder that is no export.
    """
    if not target.exists():
        return
    try:
        manifest = read_manifest(target)
    except ManifestInvalid:
        raise ModelExists(
            f"{target} exists and holds no export; choose another --name, or --force to replace it",
            path=target,
        ) from None
    same_source = (manifest.source.kind, manifest.source.id) == (source.kind, source.id)
    same_weights = manifest.source.weights_digest == weights_digest
    if manifest.family != family or not (same_source or same_weights):
        raise ModelExists(
            f"{target} holds {manifest.source.id} of the family {manifest.family}; choose another "
            "--name, or --force to replace it",
            path=target,
            source=manifest.source.id,
            family=manifest.family,
        )


def current_manifest(
    target: Path, request: ExportRequest, weights_digest: str
) -> ModelManifest | None:
    """The manifest of an intact export with these weights and options, by this version.

    None when there is none, or when anything differs.
    """
    try:
        manifest = read_manifest(target)
        same = _asked(manifest, request, weights_digest) and _intact(target, manifest, request)
    except (ManifestInvalid, ExportRefused, OSError):
        return None
    return manifest if same and manifest.name == target.name else None


def _asked(manifest: ModelManifest, request: ExportRequest, weights_digest: str) -> bool:
    return (
        manifest.family == request.family
        and manifest.source.weights_digest == weights_digest
        and manifest.graph.precision == request.precision
        and manifest.graph.exporter.get(OWN_DISTRIBUTION) == installed(OWN_DISTRIBUTION)
    )


def _intact(target: Path, manifest: ModelManifest, request: ExportRequest) -> bool:
    """Every file is what the manifest says, and the configuration what the options give."""
    files = [target / name for name in manifest.graph.files]
    if files_digest(files) != manifest.graph.digest:
        return False
    text = manifest.text
    if text and file_digest(target / text.tokenizer_file) != text.tokenizer_digest:
        return False
    interface = check_graph(files[0].parent, manifest.output, manifest.image, text)
    config = config_from_graph(
        manifest.name,
        interface,
        request.max_batch_size,
        request.instances,
        request.batching,
        graph_digest=manifest.graph.digest,
    )
    return (target / CONFIG_FILE).read_text("utf-8") == render(config)
