"""What is started, with which settings, and what keeps it from starting."""

from pathlib import Path

import pytest

from lbclient.errors import StackError
from lbclient.home import Home
from lbclient.stack import launch
from lbclient.stack.launch import Plan, require_startable
from lbclient.stack.ports import Ports

PORTS = Ports(evaluator=1, triton_http=2, triton_grpc=3, triton_metrics=4)


def plan(root, **changes):
    return Plan(Home(root), root / "models", PORTS, python="py", **changes)


def test_triton_is_told_repository_ports_and_log(tmp_path):
    assert plan(tmp_path).triton_command() == [
        *("py", "-m", "lookbench_triton", "serve"),
        *("--repository", f"{tmp_path}/models", "--load", "all", "--host", "127.0.0.1"),
        *("--http-port", "2", "--grpc-port", "3", "--metrics-port", "4"),
        *("--log-file", f"{tmp_path}/logs/tritonserver.log"),
    ]


def test_evaluator_is_told_by_its_environment(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "SYSTEM_DATA", tmp_path)
    planned = plan(tmp_path, extra_data_roots=(Path("/srv/a"), Path("/srv/b")))
    environment = planned.environment({"PATH": "/bin", "LOOKBENCH_EVALUATOR_PORT": "9"})
    assert environment == {
        "PATH": "/bin",
        "LOOKBENCH_HOME": str(tmp_path),
        "LOOKBENCH_EVALUATOR_HOST": "127.0.0.1",
        "LOOKBENCH_EVALUATOR_PORT": "1",
        "LOOKBENCH_EVALUATOR_TRITON_URL": "127.0.0.1:3",
        "LOOKBENCH_EVALUATOR_MODEL_REPOSITORY": f"{tmp_path}/models",
        "LOOKBENCH_EVALUATOR_DATA_ROOTS": f"{tmp_path}/data:{tmp_path}:/srv/a:/srv/b",
        "LOOKBENCH_EVALUATOR_STORE_DIR": f"{tmp_path}/evaluator",
        "LOOKBENCH_EVALUATOR_LOG_STYLE": "text",
    }


def test_system_data_is_a_root_only_where_it_exists(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "SYSTEM_DATA", tmp_path / "absent")
    assert plan(tmp_path).data_roots == (tmp_path / "data",)


def test_empty_repository_names_the_export(tmp_path):
    with pytest.raises(StackError, match="lookbench-export efficientnet-lite0"):
        require_startable(plan(tmp_path))


def test_data_root_must_be_a_folder(tmp_path):
    (tmp_path / "models" / "m").mkdir(parents=True)
    (tmp_path / "models" / "m" / "config.pbtxt").touch()
    with pytest.raises(StackError, match=r"--data-root .*absent is not a folder"):
        require_startable(plan(tmp_path, extra_data_roots=(tmp_path / "absent",)))


def test_other_systems_are_sent_to_containers(tmp_path, monkeypatch):
    monkeypatch.setattr(launch.sys, "platform", "darwin")
    with pytest.raises(StackError, match="docker compose up -d"):
        require_startable(plan(tmp_path))
