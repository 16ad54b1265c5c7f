from pathlib import Path

import pytest

from lookbench_triton.arguments import parse, serve_settings
from lookbench_triton.settings import ServeSettings, default_install_dir, home, variable


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in ("LOOKBENCH_HOME", "LOOKBENCH_TRITON_INSTALL_DIR", "LOOKBENCH_TRITON_HTTP_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_defaults_are_loopback_and_tritons_ports():
    settings = serve_settings(parse(["serve", "--load", "all"]))
    assert (settings.host, settings.http_port) == ("127.0.0.1", 8000)
    assert (settings.grpc_port, settings.metrics_port) == (8001, 8002)
    assert settings.repository == Path(".lookbench/models").absolute()
    assert settings.install_dir == Path(".lookbench/triton").absolute()


def test_models_may_be_given_together_or_apart():
    assert parse(["serve", "--load", "a", "b", "--load", "c"]).load == ["a", "b", "c"]


def test_a_variable_is_a_flags_default_and_the_flag_wins(monkeypatch):
    monkeypatch.setenv("LOOKBENCH_TRITON_HTTP_PORT", "9000")
    assert parse(["serve"]).http_port == 9000
    assert parse(["serve", "--http-port", "9100"]).http_port == 9100


@pytest.mark.parametrize(
    "arguments",
    [[], ["fly"], ["serve", "--http-port", "x"], ["serve", "--log-level", "LOUD"], ["load"]],
)
def test_wrong_usage_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        parse(arguments)
    assert end.value.code == 2
    assert "usage: lookbench-triton" in capsys.readouterr().err


def test_a_wrong_variable_ends_with_2(monkeypatch, capsys):
    monkeypatch.setenv("LOOKBENCH_TRITON_HTTP_PORT", "x")
    with pytest.raises(SystemExit) as end:
        parse(["serve"])
    assert end.value.code == 2
    assert "--http-port" in capsys.readouterr().err


def test_the_install_folder_follows_the_home():
    assert default_install_dir({}) == Path(".lookbench/triton")
    assert default_install_dir({"LOOKBENCH_HOME": "/h"}) == Path("/h/triton")
    other = {"LOOKBENCH_HOME": "/h", "LOOKBENCH_TRITON_INSTALL_DIR": "/opt/t"}
    assert default_install_dir(other) == Path("/opt/t")
    assert home({"LOOKBENCH_HOME": ""}) == Path(".lookbench")


def test_a_flags_variable_is_its_name():
    assert variable("--canary-interval") == "LOOKBENCH_TRITON_CANARY_INTERVAL"


@pytest.mark.parametrize(("host", "contact"), [("0.0.0.0", "127.0.0.1"), ("10.0.0.5", "10.0.0.5")])
def test_a_server_on_every_interface_is_reached_by_loopback(host, contact):
    assert ServeSettings(Path(), Path(), host=host).contact_host == contact


def record(home, text):
    (home / "stack.json").write_text(text)


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    monkeypatch.setenv("LOOKBENCH_HOME", str(tmp_path))
    record(tmp_path, '{"version": 1, "ports": {"triton_http": 43210}}')
    return tmp_path


def test_a_running_stack_is_asked_at_its_recorded_port(recorded, monkeypatch):
    assert parse(["load", "clip"]).http_port == 43210
    assert parse(["load", "clip", "--http-port", "9000"]).http_port == 9000
    monkeypatch.setenv("LOOKBENCH_TRITON_HTTP_PORT", "9001")
    assert parse(["load", "clip"]).http_port == 9001


def test_the_record_says_nothing_about_serving_or_other_machines(recorded):
    assert parse(["serve"]).http_port == 8000
    assert parse(["load", "clip", "--host", "gpu-7"]).http_port == 8000


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"ports": {"triton_http": "x"}}'])
def test_a_record_that_cannot_be_read_is_none(recorded, text):
    record(recorded, text)
    assert parse(["unload", "clip"]).http_port == 8000
