"""Whether Triton serves what a manifest describes."""

from lookbench_core.manifest import ModelManifest
from lookbench_core.tensors import ATTENTION_MASK_INPUT, IMAGE_INPUT, TOKEN_IDS_INPUT
from lookbench_inference.errors import ModelContractMismatch
from lookbench_inference.triton import ModelContract


def check_contract(manifest: ModelManifest, contract: ModelContract) -> None:
    """Raises ModelContractMismatch unless Triton serves what the manifest describes."""
    expected: dict[str, tuple[str, tuple[int, ...]]] = {}
    if manifest.image is not None:
        size = (-1, manifest.image.height, manifest.image.width, 3)
        expected[IMAGE_INPUT] = ("UINT8", size)
    if manifest.text is not None:
        length = manifest.text.max_tokens if manifest.text.padding == "max_tokens" else -1
        expected[TOKEN_IDS_INPUT] = ("INT64", (-1, length))
        if manifest.text.has_attention_mask:
            expected[ATTENTION_MASK_INPUT] = ("INT64", (-1, length))
    served = {n: (t.datatype, t.shape) for n, t in contract.inputs.items()}
    _require_equal(manifest, "inputs", expected, served)
    output = manifest.output
    answer = contract.outputs.get(output.tensor)
    _require_equal(
        manifest,
        f"output {output.tensor}",
        ("FP32", (-1, output.dimension)),
        answer and (answer.datatype, answer.shape),
    )
    if contract.graph_digest not in ("", manifest.graph.digest):
        raise ModelContractMismatch(
            f"Triton has loaded another graph of {manifest.name} than its folder holds now; "
            f"`lookbench-triton load {manifest.name}` loads the new one",
            model=manifest.name,
            loaded=contract.graph_digest,
            found=manifest.graph.digest,
        )


def _require_equal(manifest: ModelManifest, what: str, expected: object, served: object) -> None:
    if expected != served:
        raise ModelContractMismatch(
            f"model {manifest.name}: the manifest describes {what} {expected}, Triton serves "
            f"{served}; export it again with lookbench-export --force",
            model=manifest.name,
            expected=expected,
            served=served,
        )
