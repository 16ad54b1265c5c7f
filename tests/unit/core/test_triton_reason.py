import pytest

from lookbench_core.triton_reason import LONGEST, clean_reason


@pytest.mark.parametrize(
    ("reason", "clean"),
    [
        ("Internal: ModelRefused: model 'a': no\n\nAt:\n  /x.py(1): f\n", "model 'a': no"),
        (
            "Invalid argument: instance group gpu_0 of model gpu has kind KIND_GPU but no GPUs",
            "instance group gpu_0 of model gpu has kind KIND_GPU but no GPUs; the embedded server "
            "runs on the CPU: set kind: KIND_CPU in config.pbtxt",
        ),
        (
            "failed to load 'x', failed to poll from model repository",
            "failed to load 'x', failed to poll from model repository (no such folder, or its "
            "config.pbtxt cannot be read)",
        ),
        ("unloaded", "unloaded"),
    ],
)
def test_a_reason_is_for_people(reason, clean):
    assert clean_reason(reason) == clean


def test_a_reason_is_one_paragraph_without_control_codes():
    assert clean_reason("Internal: \x1b[31ma\n\n  b\x00;\n") == "[31ma b"


def test_a_long_reason_is_cut():
    text = clean_reason("x" * 10_000)
    assert len(text) == LONGEST
    assert text.endswith("x…")
