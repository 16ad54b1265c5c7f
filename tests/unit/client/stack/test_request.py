"""What `up` is asked for, held against what is recorded."""

from pathlib import Path

import pytest

from lbclient.errors import StackError
from lbclient.home import Home
from lbclient.stack import request as module
from lbclient.stack.ports import Ports
from lbclient.stack.record import Stack
from lbclient.stack.request import UpRequest


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("LOOKBENCH_MODEL_REPOSITORY", raising=False)
    monkeypatch.setattr(module, "free_ports", lambda ports: Ports(9, 9, 9, 9))
    for name in ("a", "b c", "home/data"):
        (tmp_path / name).mkdir(parents=True)
    return Home(tmp_path / "home")


def recorded(home, *roots, any_ports=False):
    ports = Ports(evaluator=8090, triton_http=18000)
    everywhere = (str(home.data), *map(str, roots))
    return Stack(ports, (), str(home.models), everywhere, any_ports)


def test_stack_that_is_as_asked_is_met(home, tmp_path):
    running = recorded(home, tmp_path / "a")
    (tmp_path / "a" / "inner").mkdir()
    UpRequest().require_met(home, running)
    UpRequest(
        repository=home.models,
        data_roots=(tmp_path / "a", tmp_path / "a" / "inner", home.data),
        ports={"triton_http": 18000},
        any_ports=True,
    ).require_met(home, running)


def test_stack_that_is_otherwise_is_named_with_the_whole_command(home, tmp_path):
    asked = UpRequest(data_roots=(tmp_path / "b c",), ports={"evaluator": 9000})
    with pytest.raises(StackError) as refusal:
        asked.require_met(home, recorded(home, tmp_path / "a"))
    assert refusal.value.message == (
        f"already up at 127.0.0.1:8090, but without --data-root {tmp_path}/b c, --port 9000; "
        "to start it with that:\n"
        f"  lbclient down && lbclient up --data-root {tmp_path}/a "
        f"--data-root '{tmp_path}/b c' --port 9000 --triton-http-port 18000"
    )


def test_another_repository_is_named(home):
    with pytest.raises(StackError, match=r"without --repository /m; .*\n.*--repository /m"):
        UpRequest(repository=Path("/m")).require_met(home, recorded(home))


def test_first_start_takes_what_was_asked_and_the_defaults(home, tmp_path):
    asked = UpRequest(data_roots=(tmp_path / "a",), ports={"evaluator": 9000})
    plan = asked.plan(home, None)
    assert plan.ports == Ports(evaluator=9000)
    assert (plan.repository, plan.extra_data_roots) == (home.models, (tmp_path / "a",))


def test_restart_keeps_what_the_record_has(home, tmp_path):
    plan = UpRequest().plan(home, recorded(home, tmp_path / "a", tmp_path / "gone"))
    assert plan.ports == Ports(triton_http=18000)
    assert plan.extra_data_roots == (tmp_path / "a",)
    assert not plan.any_ports


def test_restart_with_flags_takes_those(home, tmp_path):
    asked = UpRequest(Path("/m"), (tmp_path / "b c",), {"evaluator": 7})
    plan = asked.plan(home, recorded(home, tmp_path / "a"))
    assert plan.ports == Ports(evaluator=7, triton_http=18000)
    assert (plan.repository, plan.extra_data_roots) == (Path("/m"), (tmp_path / "b c",))


def test_restart_of_a_stack_on_any_ports_may_take_others(home):
    plan = UpRequest().plan(home, recorded(home, any_ports=True))
    assert plan.ports == Ports(9, 9, 9, 9)
    assert plan.any_ports
