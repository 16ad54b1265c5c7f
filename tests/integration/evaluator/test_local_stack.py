"""What `make run` does, on a smaller selection: up, import, evaluate, look, down."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

LBCLIENT = Path(sys.executable).with_name("lbclient")


@pytest.fixture(scope="module")
def home(models, triton_install, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    (home / "models").symlink_to(models)
    (home / "triton").symlink_to(triton_install)
    return home


@pytest.fixture(scope="module")
def lbclient(home):
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("LOOKBENCH_", "LBCLIENT_"))
    }
    environment["LOOKBENCH_HOME"] = str(home)

    def run(*arguments, code=0):
        done = subprocess.run(
            [LBCLIENT, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
        return done

    yield run
    subprocess.run([LBCLIENT, "down"], env=environment, capture_output=True, check=False)


@pytest.fixture(scope="module")
def up(lbclient):
    lbclient("up", "--free-ports")
    return json.loads(lbclient("status", "--json").stdout)


def test_without_a_stack_the_message_names_both_ways_to_start_one(lbclient):
    told = lbclient("runs", "list", code=3).stderr
    assert "lbclient up" in told
    assert "docker compose up" in told


def test_up_evaluate_look_and_down(lbclient, home, up, fashion_mnist):
    lbclient(
        *("benchmarks", "import", "fm", "--format", "fashion-mnist", "--path", str(fashion_mnist)),
        *("--option", "queries=20", "--option", "items=100"),
    )
    table = lbclient("evaluate").stdout
    assert "ndcg_binary" in table
    assert "@20" in table
    report = json.loads(lbclient("evaluate", "--cutoffs", "5", "--json").stdout)
    run = report["run"]["name"].removeprefix("runs/")
    values = {m["metric"]: m["value"] for m in report["metrics"]}
    assert 0 < values["hit"] <= 1
    listed = json.loads(lbclient("runs", "list", "--json").stdout)
    assert len(listed["runs"]) == 2
    worst = json.loads(
        lbclient("results", run, "--worst", "ndcg_binary@5", "--limit", "3", "--json").stdout
    )
    assert len(worst["query_results"]) == 3
    assert json.loads(lbclient("models", "--json").stdout)["models"]
    lbclient("evaluate", "--model", "none", code=1)

    lbclient("evaluate", "--run-id", "unfinished", "--detach")
    processes = [psutil.Process(p) for p in pids(home)]
    assert len(processes) == 2
    lbclient("down")
    assert not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)
    lbclient("status", code=3)

    # A run that was waiting or going on is taken up by the next start.
    lbclient("up", "--free-ports")
    watched = lbclient("runs", "watch", "unfinished").stdout
    assert "ndcg_binary" in lbclient("report", "unfinished").stdout, watched
    lbclient("down")


def pids(home):
    record = json.loads((home / "stack.json").read_text())
    return [p["pid"] for p in record["processes"]]
