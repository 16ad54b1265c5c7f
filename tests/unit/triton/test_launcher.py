from pathlib import Path

import pytest

from lookbench_triton import launcher
from lookbench_triton.errors import NotInstalled
from lookbench_triton.settings import ServeSettings


@pytest.fixture
def settings():
    return ServeSettings(
        repository=Path("/models"),
        install_dir=Path("/opt/triton"),
        http_port=18000,
        grpc_port=18001,
        metrics_port=18002,
    )


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Python 3.11 in a virtual environment, its libpython in /lib/py."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").touch()
    monkeypatch.setattr(launcher.sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr(launcher, "python_tag", lambda: "3.11")
    monkeypatch.setattr(launcher, "find_libpython", lambda *_: Path("/lib/py"))
    return tmp_path


def test_the_command_loads_the_models_on_the_ports_asked_for(settings):
    command = launcher.server_command(settings, ["a", "b"], "ours_")
    assert command[0] == "/opt/triton/pytriton/tritonserver/bin/tritonserver"
    assert [flag for flag in command if "load-model" in flag] == [
        "--load-model=a",
        "--load-model=b",
    ]
    assert {
        "--model-repository=/models",
        "--backend-directory=/opt/triton/backends",
        "--model-control-mode=explicit",
        "--http-port=18000",
        "--grpc-port=18001",
        "--metrics-port=18002",
        "--backend-config=python,shm-region-prefix-name=ours_",
        "--exit-on-error=false",
    } <= set(command)


def test_everything_listens_on_the_host_asked_for(settings):
    command = launcher.server_command(settings, [], "ours_")
    addresses = [flag for flag in command if "-address=" in flag]
    assert addresses == [f"--{p}-address=127.0.0.1" for p in ("http", "grpc", "metrics")]


@pytest.mark.parametrize(
    ("level", "flags"),
    [
        ("DEBUG", {"--log-verbose=1"}),
        ("INFO", set()),
        ("WARNING", {"--log-info=false"}),
        ("ERROR", {"--log-info=false", "--log-warning=false"}),
    ],
)
def test_the_log_level_is_tritons_too(settings, level, flags):
    chosen = ServeSettings(settings.repository, settings.install_dir, log_level=level)
    command = launcher.server_command(chosen, [], "ours_")
    assert {flag for flag in command if flag.startswith("--log-")} == flags


def test_the_stub_finds_python_and_libpython_first(settings, machine):
    base = {"PATH": "/usr/bin", "LD_LIBRARY_PATH": "/cuda", "PYTHONHOME": "/wrong", "A": "b"}
    environment = launcher.server_environment(settings, base)
    assert environment["PATH"] == f"{machine}/bin:/usr/bin"
    assert environment["LD_LIBRARY_PATH"] == "/lib/py:/opt/triton/nvidia_pytriton.libs:/cuda"
    assert environment["A"] == "b"
    assert "PYTHONHOME" not in environment
    assert environment["CUDA_VISIBLE_DEVICES"] == ""


def test_python_3_13_needs_no_libpython_of_the_machine(settings, machine, monkeypatch):
    monkeypatch.setattr(launcher, "python_tag", lambda: "3.13")
    environment = launcher.server_environment(settings, {})
    assert environment["LD_LIBRARY_PATH"] == "/opt/triton/nvidia_pytriton.libs"


def test_threads_are_passed_on_only_when_chosen(settings, machine):
    name = "LOOKBENCH_TRITON_INTRA_OP_THREADS"
    assert name not in launcher.server_environment(settings, {})
    chosen = ServeSettings(settings.repository, settings.install_dir, intra_op_threads=3)
    assert launcher.server_environment(chosen, {})[name] == "3"


def test_a_missing_libpython_names_the_install_command(settings, machine, monkeypatch):
    monkeypatch.setattr(launcher, "find_libpython", lambda *_: None)
    with pytest.raises(NotInstalled, match=r"libpython3\.11.*lookbench-triton install"):
        launcher.server_environment(settings, {})


def test_an_interpreter_without_python3_beside_it_is_refused(settings, machine):
    (machine / "bin" / "python3").unlink()
    with pytest.raises(NotInstalled, match="holds no python3"):
        launcher.server_environment(settings, {})


def test_the_printed_command_can_be_pasted(settings, machine):
    environment = launcher.server_environment(settings, {"PATH": "/with space"})
    text = launcher.printable(["/opt/triton server", "--a=b"], environment)
    assert f"PATH='{machine}/bin:/with space' \\\n" in text
    assert text.endswith("'/opt/triton server' \\\n  --a=b")
