"""What `doctor` finds."""

import pytest

from lbclient import diagnosis, extras, fashion_mnist
from lbclient.diagnosis import Finding, Place, is_fit
from lbclient.home import Home


@pytest.fixture
def place(tmp_path):
    return Place(Home(tmp_path), tmp_path / "models")


def test_a_warning_does_not_make_a_machine_unfit():
    assert is_fit([Finding("a", "ok", ""), Finding("b", "warning", "", "do x")])
    assert not is_fit([Finding("a", "ok", ""), Finding("b", "missing", "", "do x")])


def test_missing_packages_are_named_with_the_command(place, monkeypatch):
    monkeypatch.setattr(extras, "missing", lambda extra: ["torch"] if extra == "exporter" else [])
    findings = {finding.name: finding for finding in diagnosis._extras(place)}
    assert findings["packages of evaluator"].status == "ok"
    exporter = findings["packages of exporter"]
    assert (exporter.status, exporter.detail) == ("warning", "not installed: torch")
    assert exporter.fix.startswith("pip install -e '.[exporter]' ")


def test_each_advice_is_given_once():
    findings = [
        Finding("libpython", "missing", "", "get it   (or: apt-get)"),
        Finding("disk", "ok", ""),
        Finding("triton", "missing", "", "get it"),
        Finding("data", "warning", "", "fetch"),
    ]
    assert diagnosis.to_do(findings) == [
        "get it   (or: apt-get)   # libpython, triton",
        "fetch   # data",
    ]


def test_missing_packages_of_several_extras_are_one_command(place, monkeypatch):
    monkeypatch.setattr(extras, "missing", lambda extra: ["x"])
    (fix,) = {finding.fix for finding in diagnosis._extras(place)}
    assert fix.startswith("pip install -e '.[evaluator,triton,exporter]' ")


def test_taken_ports_are_one_finding(place, monkeypatch):
    monkeypatch.setattr(diagnosis, "is_free", lambda port: port not in (8090, 8001))
    (finding,) = diagnosis._ports(place)
    assert finding.detail == "in use: 8090, 8001"
    assert finding.fix.endswith("(or other ports with --port, --triton-grpc-port)")


def test_missing_libpython_is_named_with_the_command(place, monkeypatch):
    monkeypatch.setattr(diagnosis.sys, "version_info", (3, 12, 1))
    monkeypatch.setattr(diagnosis, "_find_library", lambda name, triton: None)
    (finding,) = diagnosis._libpython(place)
    assert finding.status == "missing"
    assert "apt-get install libpython3.12" in finding.fix


def test_python_whose_stub_brings_libpython_is_not_asked_for_it(place, monkeypatch):
    monkeypatch.setattr(diagnosis.sys, "version_info", (3, 13, 0))
    assert list(diagnosis._libpython(place)) == []


def test_triton_that_is_not_installed_is_named(place):
    (finding,) = diagnosis._triton(place)
    assert (finding.status, finding.fix) == ("missing", "lookbench-triton install")
    assert str(place.home.root / "triton") in finding.detail


def test_models_are_listed_or_the_export_named(place):
    (finding,) = diagnosis._models(place)
    assert finding.status == "missing"
    assert "lookbench-export efficientnet-lite0" in finding.fix
    (place.repository / "m").mkdir(parents=True)
    (place.repository / "m" / "config.pbtxt").touch()
    (finding,) = diagnosis._models(place)
    assert finding.status == "ok"


def test_data_that_is_absent_is_a_warning(place, monkeypatch):
    monkeypatch.setattr(fashion_mnist, "locate", lambda target: None)
    (finding,) = diagnosis._data(place)
    assert (finding.status, finding.fix) == ("warning", "lbclient benchmarks fetch fashion-mnist")


def test_damaged_record_of_a_stack_is_named(place):
    place.home.stack_file.write_text("{")
    (finding,) = diagnosis._ports(place)
    assert finding.status == "missing"
    assert finding.fix == f"rm {place.home.stack_file}"


def test_space_is_compared_with_what_is_needed(tmp_path):
    assert diagnosis._space("disk", tmp_path, 1, "fix").status == "ok"
    assert diagnosis._space("disk", tmp_path, 1 << 60, "fix").fix == "fix"
