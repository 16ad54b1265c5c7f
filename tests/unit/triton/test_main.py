import os
import subprocess
import sys
from pathlib import Path

import pytest

from lookbench_triton import __main__ as command
from lookbench_triton.errors import NotInstalled
from lookbench_triton.server_api import ServerApi


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(command.layout, "require_installed", lambda _: None)
    monkeypatch.setattr(command, "refresh_backend", lambda _: None)
    monkeypatch.setattr(
        command,
        "server_environment",
        lambda *_: dict.fromkeys(
            ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "OPENBLAS_NUM_THREADS"), "x"
        ),
    )


def test_a_failure_is_one_message_and_1(tmp_path, capsys):
    assert command.main(["check", "--dir", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("lookbench-triton: Triton is not installed in")
    assert "Traceback" not in error


def test_serve_checks_the_install_before_the_models(tmp_path, capsys):
    arguments = ["serve", "--dir", str(tmp_path / "none"), "--repository", str(tmp_path)]
    assert command.main(arguments) == 1
    assert "run: lookbench-triton install" in capsys.readouterr().err


def test_the_command_is_printed_and_nothing_started(tmp_path, capsys, installed):
    (tmp_path / "clip").mkdir()
    (tmp_path / "clip" / "config.pbtxt").touch()
    assert command.main(["serve", "--repository", str(tmp_path), "--print-command"]) == 0
    printed = capsys.readouterr().out
    assert "tritonserver" in printed
    assert "--load-model=clip" in printed


def test_models_come_from_the_variable_when_no_flag_is_given(
    tmp_path, capsys, installed, monkeypatch
):
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("LOOKBENCH_TRITON_LOAD", "c,a")
    command.main(["serve", "--repository", str(tmp_path), "--print-command"])
    printed = capsys.readouterr().out
    assert [name for name in "abc" if f"--load-model={name}" in printed] == ["a", "c"]


def test_a_missing_package_names_the_extra(tmp_path, capsys, installed, monkeypatch):
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None)
    assert command.main(["serve", "--repository", str(tmp_path)]) == 1
    assert "pip install 'lookbench-services[triton]'" in capsys.readouterr().err


def test_an_interrupt_is_130(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "install", interrupt)
    assert command.main(["install"]) == 130
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("fresh", [True, False])
def test_install_says_whether_it_did_anything(monkeypatch, capsys, fresh):
    monkeypatch.setattr(command, "install", lambda *_: fresh)
    assert command.main(["install", "--dir", "/t"]) == 0
    assert ("already" not in capsys.readouterr().out) is fresh


def test_check_lists_every_fault(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(command.layout, "faults", lambda _: ["a is missing", "b differs"])
    assert command.main(["check", "--dir", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "  a is missing\n  b differs\n" in error
    assert "lookbench-triton install" in error


@pytest.mark.parametrize("verb", ["load", "unload"])
def test_load_and_unload_ask_the_running_server(monkeypatch, capsys, verb):
    asked = []
    monkeypatch.setattr(
        ServerApi, "require_repository_control", lambda api: asked.append(api.address)
    )
    monkeypatch.setattr(ServerApi, verb, lambda api, model: asked.append((api.address, model)))
    assert command.main([verb, "clip", "--http-port", "9000"]) == 0
    assert asked == ["127.0.0.1:9000", ("127.0.0.1:9000", "clip")]


def test_an_unwritable_log_file_is_a_message(tmp_path, capsys, installed, monkeypatch):
    monkeypatch.setattr(command, "_with_ports", lambda settings: settings)
    (tmp_path / "file").touch()
    arguments = ["serve", "--repository", str(tmp_path), "--load", "none"]
    assert command.main([*arguments, "--log-file", str(tmp_path / "file" / "log")]) == 1
    assert "--log-file" in capsys.readouterr().err


def test_errors_know_where_they_belong():
    assert (NotInstalled.code, NotInstalled.reason) == (
        "FAILED_PRECONDITION",
        "TRITON_UNAVAILABLE",
    )


@pytest.fixture
def failing_check(monkeypatch):
    """A function: makes `check` raise."""

    def fail(error):
        def check(_):
            raise error

        monkeypatch.setattr(command, "_check", check)

    return fail


def test_an_unexpected_error_is_one_line_unless_asked(failing_check, capsys, monkeypatch):
    failing_check(KeyError("x"))
    assert command.main(["check"]) == 1
    expected = "lookbench-triton: 'x' (KeyError); LOOKBENCH_TRITON_TRACEBACK=1 shows where\n"
    assert capsys.readouterr().err == expected
    monkeypatch.setenv("LOOKBENCH_TRITON_TRACEBACK", "1")
    command.main(["check"])
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_leaves_causes_no_complaint(failing_check, capsys):
    failing_check(BrokenPipeError())
    assert command.main(["check"]) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lookbench_triton", "--version"],
            env={**os.environ, "PYTHONUNBUFFERED": ""},  # else argparse hides the error
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr == "lookbench-triton: [Errno 28] No space left on device (OSError)\n"
