"""Manifest against served model."""

import pytest
from manifests import IMAGE, TEXT

from lookbench_inference.contract import check_contract
from lookbench_inference.errors import ModelContractMismatch
from lookbench_inference.triton import ModelContract, TensorContract

EMBEDDING = {"embedding": TensorContract("FP32", (-1, 4))}


def contract(outputs=EMBEDDING, **inputs):
    return ModelContract(("1",), "", {n: TensorContract(*v) for n, v in inputs.items()}, outputs)


def test_agreement_passes():
    check_contract(IMAGE, contract(pixels=("UINT8", (-1, 8, 6, 3))))
    check_contract(
        TEXT, contract(input_ids=("INT64", (-1, -1)), attention_mask=("INT64", (-1, -1)))
    )


@pytest.mark.parametrize(
    "served",
    [
        contract(pixels=("FP32", (-1, 8, 6, 3))),
        contract(pixels=("UINT8", (-1, 6, 8, 3))),
        contract(pixels=("UINT8", (-1, 8, 6, 3)), extra=("INT64", (-1, 1))),
        contract(
            {"embedding": TensorContract("FP32", (-1, 50, 768))}, pixels=("UINT8", (-1, 8, 6, 3))
        ),
        contract({"other": TensorContract("FP32", (-1, 4))}, pixels=("UINT8", (-1, 8, 6, 3))),
    ],
)
def test_disagreement_names_the_model_and_both_sides(served):
    with pytest.raises(ModelContractMismatch, match="model m: the manifest describes"):
        check_contract(IMAGE, served)
