"""docs/faults.md names tests and reasons that exist."""

import re
from pathlib import Path

import pytest
from google.rpc import code_pb2

from lookbench.v1 import errors_pb2
from lookbench_evaluator.benchmarks import source
from lookbench_inference import images, texts

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/faults.md").read_text(encoding="utf-8")
ROWS = [
    line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| ---")
]
NAMED = sorted(set(re.findall(r"`(tests/[\w/.]+\.py)::(\w+)`", PAGE)))
REASONS = {
    *errors_pb2.ErrorReason.keys(),
    *code_pb2.Code.keys(),
    *(name for module in (source, images, texts) for name in vars(module) if name.isupper()),
}


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_named_test_exists(path, name):
    assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.M)


def test_every_fault_has_a_test():
    headers = [row for row in ROWS if row.endswith("| Test |")]
    assert len(headers) == PAGE.count("\n## ")
    untested = [row for row in ROWS if row not in headers and "`tests/" not in row]
    assert untested == []


def test_every_reason_is_one():
    told = set(re.findall(r"`([A-Z]+_[A-Z_]+)`", PAGE))
    assert told
    assert told <= REASONS
