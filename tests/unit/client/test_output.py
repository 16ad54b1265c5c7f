"""JSON of messages."""

import json

from google.protobuf.any_pb2 import Any
from google.rpc import status_pb2
from google.rpc.error_details_pb2 import ErrorInfo
from rich.text import Text

from lbclient import output
from lbclient.output import print_json_list, to_dict
from lookbench.v1.run_pb2 import MetricValue, Run


def test_names_are_those_of_the_proto_and_zero_is_there():
    data = to_dict(MetricValue(metric="hit", cutoff=0, query_count=0))
    assert data == {
        "subset": "",
        "judgement": "",
        "metric": "hit",
        "cutoff": 0,
        "query_count": "0",
        "no_relevant_count": "0",
    }


def test_details_of_a_failed_run_are_readable():
    detail = Any()
    detail.Pack(ErrorInfo(reason="TRITON_UNAVAILABLE", domain="lookbench.dev"))
    run = Run(name="runs/a", error=status_pb2.Status(code=14, details=[detail]))
    assert to_dict(run)["error"]["details"][0]["reason"] == "TRITON_UNAVAILABLE"


def test_listing_is_one_document(capsys):
    print_json_list("runs", [Run(name="runs/é")])
    out = capsys.readouterr().out
    assert json.loads(out)["runs"][0]["name"] == "runs/é"
    assert "é" in out


def test_no_colour_means_no_codes_at_all(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    for no_colour, marked in (("", True), ("1", False)):
        monkeypatch.setenv("NO_COLOR", no_colour)
        output.show(Text("bold", "bold"), Text("red", "red"))
        assert ("\x1b" in capsys.readouterr().out) is marked


def test_errors_have_no_codes_with_no_colour(monkeypatch):
    said = []
    monkeypatch.setattr(output.click, "echo", lambda text, err: said.append(text))
    for no_colour in ("", "1"):
        monkeypatch.setenv("NO_COLOR", no_colour)
        output.complain("x")
    assert said == ["\x1b[31mError: \x1b[0mx", "Error: x"]
