"""`up`, `status`, `down` with real processes: stand-ins for Triton and the evaluator.

The stand-ins are packages of the same names that come first on PYTHONPATH.
FAKE_TRITON and FAKE_EVALUATOR say how each misbehaves.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

TRITON = """
import json, os, signal, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer
mode = os.environ.get("FAKE_TRITON", "")
print("triton says", *sys.argv[1:], flush=True)
if mode == "dies":
    sys.exit("shared library libpython is missing")
if mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
if mode != "childless":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
arguments = dict(zip(sys.argv[2::2], sys.argv[3::2]))
names = sorted(p for p in os.listdir(arguments["--repository"]))
index = [{"name": n, "version": "1", "state": "READY"} for n in names]
if mode == "corrupt":
    index[0].update(state="UNAVAILABLE", reason="bad graph")
if mode == "hollow":
    index = [{"name": n, "state": "UNAVAILABLE", "reason": "bad graph"} for n in names]
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.dumps(index).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
HTTPServer((arguments["--host"], int(arguments["--http-port"])), Handler).serve_forever()
"""

EVALUATOR = """
import os, signal, sys, time
from concurrent.futures import ThreadPoolExecutor
import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
mode = os.environ.get("FAKE_EVALUATOR", "")
settings = {k: v for k, v in os.environ.items() if k.startswith("LOOKBENCH_")}
print("settings", settings, flush=True)
if mode == "dies":
    sys.exit("the store is corrupt")
server = grpc.server(ThreadPoolExecutor(2))
servicer = health.HealthServicer()
health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
state = health_pb2.HealthCheckResponse
servicer.set("", state.SERVING)
servicer.set("triton", state.NOT_SERVING if mode == "blind" else state.SERVING)
server.add_insecure_port(f"127.0.0.1:{settings['LOOKBENCH_EVALUATOR_PORT']}")
server.start()
signal.signal(signal.SIGTERM, lambda *_: (server.stop(0), sys.exit(0)))
while True:
    time.sleep(0.1)
"""


@pytest.fixture
def home(tmp_path):
    """A home with one exported model, and the stand-ins beside it."""
    for name, source in (("lookbench_triton", TRITON), ("lookbench_evaluator", EVALUATOR)):
        package = tmp_path / "fakes" / name
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text(source)
    add_model(tmp_path / "home", "m")
    return tmp_path / "home"


def add_model(home, name):
    (home / "models" / name).mkdir(parents=True)
    (home / "models" / name / "config.pbtxt").touch()


@pytest.fixture
def start(home):
    """A function: starts a command line; nothing of it is left after the test."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("LB")},
        "LOOKBENCH_HOME": str(home),
        "PYTHONPATH": str(home.parent / "fakes"),
    }
    environment.pop("LOOKBENCH_MODEL_REPOSITORY", None)

    def run(*arguments, **changes):
        return subprocess.Popen(
            [sys.executable, "-m", "lbclient", *arguments],
            env={**environment, **changes},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    yield run
    for process in ours(home):
        process.kill()


@pytest.fixture
def run(start):
    """A function: exit code, stdout and stderr of a command line."""

    def finish(*arguments, **changes):
        process = start(*arguments, **changes)
        out, err = process.communicate(timeout=60)
        assert "Traceback" not in err
        return process.returncode, out, err

    return finish


def ours(home):
    """Living processes that were started for this home, whoever their parent is."""
    found = []
    for process in psutil.process_iter():
        try:
            variables = process.environ()
            alive = process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            continue
        if alive and variables.get("LOOKBENCH_HOME") == str(home):
            found.append(process)
    return found


def listener():
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    return taken


@pytest.fixture
def up():
    """`up` on ports that nobody else on this machine is likely to want."""
    with ExitStack() as held:
        numbers = [held.enter_context(listener()).getsockname()[1] for _ in range(4)]
    flags = ("--port", "--triton-http-port", "--triton-grpc-port", "--triton-metrics-port")
    pairs = [text for flag, port in zip(flags, numbers, strict=True) for text in (flag, str(port))]
    return ("up", "--timeout", "20", *pairs)


def test_up_status_down(run, home, up):
    code, out, err = run(*up, "--data-root", str(home))
    assert (code, out) == (0, ""), err
    assert "Triton serves m" in err
    record = json.loads((home / "stack.json").read_text())
    target = f"127.0.0.1:{record['ports']['evaluator']}"
    assert f"up: evaluator {target}" in err
    assert len(ours(home)) == 3

    code, out, _ = run("status", "--json")
    status = json.loads(out)
    assert (code, status["up"]) == (0, True)
    assert [part["health"] for part in status["processes"]] == ["SERVING", "SERVING"]
    assert status["models"] == [{"name": "m", "ready": True, "reason": ""}]
    assert "SERVING" in run("status")[1]

    code, _, err = run(*up)
    assert (code, err) == (0, f"already up: {target}, in {home}\n")
    assert len(ours(home)) == 3

    settings = (home / "logs" / "evaluator.log").read_text()
    assert f"{home}/data" in settings
    assert "'LOOKBENCH_EVALUATOR_LOG_STYLE': 'text'" in settings

    code, _, err = run("down")
    assert (code, err) == (0, "evaluator stopped\ntriton stopped\n")
    assert ours(home) == []
    assert not (home / "stack.json").exists()
    assert run("status")[0] == 3
    assert run("down")[0] == 0


def test_stack_that_runs_otherwise_than_asked_is_refused(run, home, up, tmp_path):
    run(*up)
    code, _, err = run("up", "--data-root", str(tmp_path))
    assert code == 1
    assert f"but without --data-root {tmp_path};" in err
    command = err.split("lbclient down && lbclient ")[1].split()
    assert run("down")[0] == 0
    assert run(*command)[0] == 0
    assert run("up", "--data-root", str(tmp_path))[0] == 0
    code, _, err = run("up", "--data-root", str(tmp_path / "absent"))
    assert code == 2
    assert "does not exist" in err


def test_restart_keeps_ports_and_data_roots(run, home, up, tmp_path):
    run(*up, "--data-root", str(tmp_path), "--free-ports")
    before = json.loads((home / "stack.json").read_text())
    kill(before, "evaluator", "triton")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", before["ports"]["triton_metrics"]))
        taken.listen()
        code, _, err = run("up", "--timeout", "20")
    assert code == 0, err
    assert "triton had ended already" in err
    after = json.loads((home / "stack.json").read_text())
    for key in ("evaluator", "triton_http", "triton_grpc"):
        assert after["ports"][key] == before["ports"][key]
    assert after["ports"]["triton_metrics"] != before["ports"]["triton_metrics"]
    assert after["data_roots"] == before["data_roots"]


def test_file_where_a_folder_belongs_is_named(run, home, up):
    (home / "evaluator").touch()
    code, _, err = run(*up)
    assert code == 1
    assert f"Error: cannot make the folder {home}/evaluator: File exists; move away" in err


def test_commands_use_the_recorded_stack(run, home, up):
    run(*up)
    port = json.loads((home / "stack.json").read_text())["ports"]["evaluator"]
    code, _, err = run("models")
    assert code == 1
    assert f"127.0.0.1:{port} answers, but is not a LookBench evaluator" in err


@pytest.mark.parametrize(
    ("variable", "name", "end"),
    [
        ("FAKE_TRITON", "triton", "shared library libpython is missing"),
        ("FAKE_EVALUATOR", "evaluator", "the store is corrupt"),
    ],
)
def test_part_that_dies_is_told_at_once_with_the_end_of_its_log(run, home, variable, name, end, up):
    began = time.monotonic()
    code, _, err = run(*up, **{variable: "dies"})
    assert code == 1
    assert time.monotonic() - began < 15
    assert f"{name} ended during start (exit code 1)" in err
    assert end in err
    assert str(home / "logs" / f"{name}.log") in err
    assert ours(home) == []
    assert not (home / "stack.json").exists()


def test_stack_that_does_not_become_ready_is_stopped_again(run, home, up):
    code, _, err = run(*up, "--timeout", "3", FAKE_EVALUATOR="blind")
    assert code == 1, err
    assert "the evaluator's connection to Triton did not become ready in time" in err
    assert "--timeout" in err
    assert ours(home) == []


def test_model_that_cannot_be_loaded_is_named_while_the_others_are_served(run, home, up):
    add_model(home, "a-bad-one")
    code, _, err = run(*up, FAKE_TRITON="corrupt", FAKE_EVALUATOR="blind")
    assert code == 0
    assert "warning: Triton could not load a-bad-one: bad graph" in err
    assert "Triton serves m" in err
    code, out, err = run("status")
    assert code == 3
    assert "PARTLY" in out
    assert "no: bad graph" in out
    assert err.startswith(f"up, but a-bad-one is not served; mend it in {home}/models, then")


def test_stack_without_any_model_is_refused(run, home, up):
    code, _, err = run(*up, FAKE_TRITON="hollow")
    assert code == 1
    assert "Triton could load no model: m: bad graph" in err
    assert ours(home) == []


def test_taken_port_is_named_with_its_flag_and_nothing_is_started(run, home, up):
    with listener() as taken:
        port = str(taken.getsockname()[1])
        code, _, err = run(*up, "--triton-grpc-port", port)
    assert code == 1
    assert f"port {port} is in use (--triton-grpc-port changes it)" in err
    assert ours(home) == []


def test_free_ports_replaces_only_what_is_taken(run, home, unused_port, up):
    with listener() as taken:
        port = taken.getsockname()[1]
        arguments = ("--triton-grpc-port", str(port), "--port", str(unused_port))
        assert run(*up, "--free-ports", *arguments)[0] == 0
    ports = json.loads((home / "stack.json").read_text())["ports"]
    assert ports["triton_grpc"] != port
    assert ports["evaluator"] == unused_port


def test_ctrl_c_during_up_leaves_nothing(start, home, up):
    process = start(*up, FAKE_EVALUATOR="blind")
    wait_for(lambda: len(ours(home)) == 4)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "What had been started is stopped again." in err
    assert ours(home) == []
    assert not (home / "stack.json").exists()


def test_killed_up_leaves_a_record_that_down_can_use(start, run, home, up):
    process = start(*up, FAKE_EVALUATOR="blind")
    wait_for(lambda: len(ours(home)) == 4)
    process.kill()
    process.communicate()
    assert len(ours(home)) == 3
    assert run("down")[0] == 0
    assert ours(home) == []


def test_ctrl_c_at_the_terminal_does_not_reach_the_stack(run, home, up):
    """The processes are in sessions of their own."""
    run(*up)
    pids = [process.pid for process in ours(home)]
    assert {os.getsid(pid) for pid in pids}.isdisjoint({os.getsid(0)})
    assert {os.getpgid(pid) for pid in pids}.isdisjoint({os.getpgid(0)})


def test_process_that_ignores_sigterm_is_killed(run, home, up):
    run(*up, FAKE_TRITON="stubborn")
    code, _, err = run("down", "--grace", "0.5")
    assert code == 0
    assert "triton did not stop within" in err
    assert ours(home) == []


def test_part_that_died_is_seen_and_replaced(run, home, up):
    run(*up)
    record = json.loads((home / "stack.json").read_text())
    pids = {process["name"]: process["pid"] for process in record["processes"]}
    os.kill(pids["evaluator"], signal.SIGKILL)
    wait_for(lambda: len(ours(home)) == 2)
    code, out, _ = run("status")
    assert code == 3
    assert "ENDED" in out
    code, _, err = run(*up)
    assert code == 0
    assert "the recorded stack is incomplete" in err
    assert len(ours(home)) == 3
    assert not psutil.pid_exists(pids["triton"]) or pids["triton"] not in {
        process.pid for process in ours(home)
    }


def test_stale_record_never_ends_a_process_that_got_the_same_pid(run, home):
    """The record names this test's own child with another start time."""
    bystander = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        process = {"name": "triton", "pid": bystander.pid, "start_time": 1, "log": ""}
        record = {
            "version": 1,
            "ports": {},
            "processes": [process],
            "repository": "",
            "data_roots": [],
        }
        (home / "stack.json").write_text(json.dumps(record))
        code, _, err = run("down")
        assert code == 0
        assert err == "triton had ended already\n"
        assert bystander.poll() is None
        assert not (home / "stack.json").exists()
    finally:
        bystander.kill()
        bystander.wait()


def test_damaged_record_is_named(run, home):
    (home / "stack.json").write_text("{")
    for command in ("down", "status", "models"):
        code, _, err = run(command)
        assert code == 1
        assert f"{home}/stack.json is not a record of a local stack" in err


def test_logs_of_the_start_before_are_kept(run, home, up):
    run(*up)
    run("down")
    run(*up, FAKE_TRITON="childless")
    names = {path.name for path in Path(home / "logs").iterdir()}
    assert {"triton.log", "triton.log.1", "evaluator.log", "evaluator.log.1"} <= names


def test_status_of_another_server_says_nothing_of_the_local_record(run, home, unused_port):
    code, _, err = run("--server", f"127.0.0.1:{unused_port}", "status")
    assert code == 3
    assert err.startswith(f"no evaluator answers at 127.0.0.1:{unused_port};")
    assert "record" not in err


def test_status_names_the_next_step(run, home, up):
    (home / "stack.json").unlink(missing_ok=True)
    assert f"recorded in {home} (LOOKBENCH_HOME names another" in run("status")[2]
    run(*up)
    kill(json.loads((home / "stack.json").read_text()), "triton")
    code, _, err = run("status")
    assert code == 3
    assert err == f"not up: triton ended; `lbclient up` starts it anew; logs: {home}/logs\n"


def test_status_of_another_server(run, home, up):
    run(*up)
    port = json.loads((home / "stack.json").read_text())["ports"]["evaluator"]
    code, out, _ = run("--server", f"127.0.0.1:{port}", "status", "--json")
    assert code == 0
    assert [part["pid"] for part in json.loads(out)["processes"]] == [None, None]


def kill(record, *names):
    """Ends recorded processes as the kernel would, and waits until they are gone."""
    pids = [process["pid"] for process in record["processes"] if process["name"] in names]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(map(runs, pids)))


def runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.05)
