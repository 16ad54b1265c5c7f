"""Every error has a status, a reason of the contract, and a line in docs/errors.md."""

import runpy
from pathlib import Path

import pytest
from google.rpc import code_pb2

ROOT = Path(__file__).parents[2]
PAGE = runpy.run_path(str(ROOT / "deploy/local/errors_page.py"))
CLASSES = PAGE["error_classes"]()


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_names_a_known_code_and_reason(kind):
    assert kind.code in dict(code_pb2.Code.items())
    assert kind.reason in PAGE["known_reasons"]()
    assert isinstance(kind.retryable, bool)
    assert kind.__doc__


def test_no_error_uses_the_library_own_unknown():
    assert all(kind.code not in {"UNKNOWN", "OK"} for kind in CLASSES)


def test_only_what_may_pass_is_retryable():
    assert {kind.code for kind in CLASSES if kind.retryable} <= {
        "UNAVAILABLE",
        "RESOURCE_EXHAUSTED",
    }


def test_the_page_is_current():
    written = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    assert written == PAGE["page"](), "run `make docs`"
