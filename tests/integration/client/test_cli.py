"""The command line against a real server: output, exit codes, Ctrl-C."""

import json
import signal
import subprocess
import threading
import time

from google.rpc import status_pb2

from lbclient.home import Home
from lbclient.stack.ports import Ports
from lbclient.stack.processes import Process, start_time
from lbclient.stack.record import Stack, write_stack
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.model_pb2 import Model
from lookbench.v1.run_pb2 import EvaluationOptions, Progress, Run


def asked(evaluator, method):
    return [request for name, request in evaluator.calls if name == method]


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.02)


def test_evaluate_without_arguments_takes_what_can_only_be_meant(lbclient, evaluator):
    done = lbclient("evaluate")
    assert done.code == 0
    run = asked(evaluator, "CreateRun")[0].run
    assert run.benchmark == "benchmarks/fm"
    assert run.system.dense.query_encoder.model == "models/lite0"
    assert "benchmark: fm (the only one that is ready)" in done.err
    assert "model: lite0 (the only ready one that fits" in done.err


def test_evaluate_prints_the_table_to_stdout_and_progress_to_stderr(lbclient):
    done = lbclient("evaluate", "--benchmark", "fm", "--model", "lite0")
    assert done.out.splitlines()[0] == "lite0 on fm (runs/r1)"
    assert [line.split() for line in done.out.splitlines()[3:6]] == [
        ["metric", "@1", "@5"],
        ["─" * 24],
        ["hit", "0.6667", "1.0000"],
    ]
    assert "embedding items, 5 of 7 (71 %), 20/s, about 3 s left" in done.err
    assert "`lbclient results r1` shows single queries" in done.err


def test_evaluate_sends_what_it_was_told(lbclient, evaluator):
    done = lbclient(
        *("evaluate", "--benchmark", "fm", "--query-model", "a", "--item-model", "b"),
        *("--preset", "native", "--query-role", "query", "--instruction", "find", "--dimension"),
        *("64", "--metrics", "hit,ndcg_binary", "--cutoffs", "1,10", "--judgement", "class"),
        *("--subset", "main", "--no-relevant", "exclude", "--rejected", "allow", "--duplicates"),
        *("merge", "--without-noise", "--timeout", "15m", "--name", "a note", "--run-id", "n1"),
    )
    assert done.code == 0, done.err
    request = asked(evaluator, "CreateRun")[0]
    dense, options = request.run.system.dense, request.run.options
    assert (request.run_id, request.run.display_name) == ("n1", "a note")
    assert list(request.run.subsets) == ["main"]
    assert (dense.query_encoder.role, dense.query_encoder.instruction) == ("query", "find")
    assert (dense.item_encoder.model, dense.item_encoder.preset) == ("models/b", "native")
    assert (dense.item_encoder.dimension, dense.item_encoder.instruction) == (64, "")
    assert (list(options.metrics), list(options.cutoffs)) == (["hit", "ndcg_binary"], [1, 10])
    assert options.no_relevant_policy == EvaluationOptions.EXCLUDE
    assert options.timeout.seconds == 900


def test_evaluate_json_is_one_document_and_nothing_else(lbclient):
    done = lbclient("evaluate", "--json")
    assert done.code == 0
    assert done.err == ""
    assert done.json["headline_judgement"] == "class"
    assert done.json["run"]["name"] == "runs/r1"
    assert done.json["metrics"][0]["query_count"] == "3"


def test_evaluate_detached_returns_at_once(lbclient, evaluator):
    done = lbclient("evaluate", "--detach")
    assert done.code == 0
    assert done.out == ""
    assert "`lbclient runs watch r1` watches it" in done.err
    assert asked(evaluator, "WatchRun") == []
    assert lbclient("evaluate", "--detach", "--json").json["state"] == "PENDING"


def test_evaluate_lists_the_choices_when_there_are_several(lbclient, evaluator):
    evaluator.models.append(
        Model(name="models/clip", kind=Model.IMAGE_EMBEDDING, ready=True, dimension=8)
    )
    done = lbclient("evaluate")
    assert done.code == 1
    assert done.err.splitlines()[-2:] == ["  --model clip", "  --model lite0"]
    assert evaluator.runs == {}


def test_sides_of_different_kinds_get_a_model_each(lbclient, evaluator):
    evaluator.benchmarks[0].query_modality = Benchmark.TEXT
    assert lbclient("evaluate").code == 0
    dense = asked(evaluator, "CreateRun")[0].run.system.dense
    assert dense.query_encoder.model == "models/minilm"
    assert dense.item_encoder.model == "models/lite0"


def test_model_and_query_model_together_are_wrong_usage(lbclient):
    assert lbclient("evaluate", "--model", "a", "--query-model", "b").code == 2


def test_failed_run_says_why_and_exits_1(lbclient, evaluator, status_with):
    evaluator.script = [(Run.FAILED, Progress.EMBEDDING_ITEMS, 2)]
    lbclient("evaluate", "--detach")
    error = status_with("UNAVAILABLE", "Triton is gone", "TRITON_UNAVAILABLE")
    evaluator.runs["runs/r1"].error.CopyFrom(error)
    done = lbclient("runs", "watch", "r1")
    assert done.code == 1
    assert "Error: runs/r1 failed: Triton is gone (TRITON_UNAVAILABLE)" in done.err
    assert "`lbclient runs resume r1` goes on with it" in done.err
    assert done.out == ""


def test_failed_run_with_json_prints_the_run(lbclient, evaluator, status_with):
    evaluator.script = [(Run.FAILED, Progress.EMBEDDING_ITEMS, 2)]
    lbclient("evaluate", "--detach")
    error = status_with("UNAVAILABLE", "Triton is gone", "TRITON_UNAVAILABLE")
    evaluator.runs["runs/r1"].error.CopyFrom(error)
    done = lbclient("runs", "watch", "r1", "--json")
    assert done.code == 1
    assert done.json["error"]["details"][0]["reason"] == "TRITON_UNAVAILABLE"


def test_cancelled_run_exits_1(lbclient, evaluator):
    evaluator.script = [(Run.CANCELLED, Progress.EMBEDDING_ITEMS, 2)]
    done = lbclient("evaluate")
    assert done.code == 1
    assert "runs/r1 was cancelled" in done.err


def test_refused_request_names_field_and_reason(lbclient, evaluator, status_with):
    status = status_with("INVALID_ARGUMENT", "run.options.metrics: no metric x", "INVALID_FIELD")
    evaluator.fail["CreateRun"] = (1, status)
    done = lbclient("evaluate")
    assert done.code == 1
    assert "Error: run.options.metrics: no metric x (INVALID_FIELD)" in done.err


def test_runs_are_listed_shown_cancelled_resumed_and_deleted(lbclient, evaluator):
    for name in ("a", "b", "c"):
        lbclient("evaluate", "--detach", "--run-id", name)
    assert "a" in lbclient("runs", "list").out
    limited = lbclient("runs", "list", "--limit", "2", "--state", "running", "--json")
    assert [run["name"] for run in limited.json["runs"]] == ["runs/a", "runs/b"]
    assert asked(evaluator, "ListRuns")[-1].states == [Run.RUNNING]
    assert "--limit 0 lists all" in lbclient("runs", "list", "--limit", "2").err
    assert "runs/a" in lbclient("runs", "show", "a").out
    assert lbclient("runs", "cancel", "a").err == "runs/a is being cancelled\n"
    assert lbclient("runs", "resume", "a", "--json").json["state"] == "PENDING"
    assert lbclient("runs", "delete", "a", "runs/b").err == "runs/a deleted\nruns/b deleted\n"
    assert list(evaluator.runs) == ["runs/c"]


def test_unknown_run_is_one_line(lbclient):
    done = lbclient("runs", "show", "nowhere")
    assert (done.code, done.err) == (1, "Error: runs/nowhere does not exist (RUN_NOT_FOUND)\n")


def test_report_is_the_same_table_again(lbclient):
    first = lbclient("evaluate")
    assert lbclient("report", "r1").out == first.out
    assert lbclient("report", "r1", "--json").json["run"]["name"] == "runs/r1"


def test_results_come_paged_and_the_worst_first(lbclient, evaluator):
    lbclient("evaluate")
    limited = lbclient("results", "r1", "--limit", "2")
    assert "q0" in limited.out
    assert "q2" not in limited.out
    assert "--limit 0 shows all of r1" in limited.err
    worst = lbclient("results", "r1", "--worst", "hit@1", "--limit", "1", "--json").json
    assert [result["query_id"] for result in worst["query_results"]] == ["q1"]
    everything = lbclient("results", "r1", "--limit", "0", "--subset", "main", "--json").json
    assert len(everything["query_results"]) == 3
    assert asked(evaluator, "ListQueryResults")[-1].subset == "main"


def test_results_by_what_the_run_lacks_say_what_it_has(lbclient):
    lbclient("evaluate")
    metric = lbclient("results", "r1", "--worst", "ndcg@3")
    assert metric.code == 1
    assert "the run has hit@1" in metric.err
    assert lbclient("results", "r1", "--judgement", "colour").code == 2
    subset = lbclient("results", "r1", "--subset", "nope")
    assert (subset.code, subset.out) == (1, "")
    assert "runs/r1 has no subset 'nope'; it has main" in subset.err


def test_benchmark_that_is_not_ready_is_said_before_models_are_chosen(lbclient, evaluator):
    evaluator.benchmarks[0].state = Benchmark.FAILED
    evaluator.benchmarks[0].error.message = "no corpus"
    named = lbclient("evaluate", "--benchmark", "fm", "--model", "lite0")
    assert named.code == 1
    assert "the import of benchmarks/fm failed: no corpus; import it again" in named.err
    assert "benchmarks/fm failed: no corpus" in lbclient("evaluate").err
    assert asked(evaluator, "ListModels") == asked(evaluator, "CreateRun") == []


def test_models(lbclient):
    assert "lite0" in lbclient("models").out
    assert lbclient("models", "list").out == lbclient("models").out
    assert [m["name"] for m in lbclient("models", "--json").json["models"]] == [
        "models/lite0",
        "models/minilm",
    ]
    assert "image embedding" in lbclient("models", "show", "lite0").out
    assert lbclient("models", "--json", "show", "lite0").json["name"] == "models/lite0"
    assert lbclient("models", "--json", "list").out == lbclient("models", "--json").out
    assert lbclient("models", "list", "--json").out == lbclient("models", "--json").out


def test_benchmarks(lbclient):
    assert "fm" in lbclient("benchmarks", "list").out
    assert lbclient("benchmarks", "list", "--json").json["benchmarks"][0]["state"] == "READY"
    assert "benchmarks/fm" in lbclient("benchmarks", "show", "fm").out


def test_import_waits_until_the_benchmark_is_ready(lbclient, evaluator):
    done = lbclient(
        *("benchmarks", "import", "shop", "--format", "image-folder", "--path", "/data/shop"),
        *("--option", "csv=a.csv", "--option", "judgement=class,colour", "--replace"),
    )
    assert done.code == 0
    assert "READY" in done.out
    request = asked(evaluator, "ImportBenchmark")[0]
    assert (request.format, request.path, request.allow_replace) == (
        "image-folder",
        "/data/shop",
        True,
    )
    assert dict(request.options) == {"csv": "a.csv", "judgement": "class,colour"}


def test_import_of_what_is_there_says_so(lbclient, evaluator):
    evaluator.existing = evaluator.benchmarks[0]
    evaluator.existing.error.CopyFrom(status_of_a_failed_replacement())
    done = lbclient("benchmarks", "import", "fm", "--format", "beir", "--path", "d")
    assert done.code == 0
    assert done.err == "\nimported already; --replace reads the files again\n"


def test_failed_replacement_is_1_and_the_benchmark_stays(lbclient, evaluator):
    evaluator.import_error = status_of_a_failed_replacement()
    arguments = ("benchmarks", "import", "shop", "--format", "beir", "--path", "d", "--replace")
    done = lbclient(*arguments)
    assert (done.code, done.out) == (1, "")
    assert "Error: the replacement failed: no corpus; benchmarks/shop is as it was" in done.err
    assert lbclient(*arguments, "--json").code == 1


def status_of_a_failed_replacement():
    return status_pb2.Status(code=9, message="no corpus")


def test_import_detached_and_failed(lbclient, evaluator, status_with):
    started = lbclient("benchmarks", "import", "a", "--format", "beir", "--path", "d", "--detach")
    assert "`lbclient benchmarks show a` looks" in started.err
    failed = evaluator.benchmarks[-1]
    failed.state = Benchmark.FAILED
    failed.error.CopyFrom(status_with("FAILED_PRECONDITION", "no corpus", "BENCHMARK_INVALID"))
    done = lbclient("benchmarks", "show", "a")
    assert "no corpus" in done.out


def test_ctrl_c_leaves_the_run_going_and_says_so(start_lbclient, evaluator):
    evaluator.go_on.clear()
    process = start_lbclient("evaluate")
    wait_for(lambda: asked(evaluator, "WatchRun"))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == ""
    assert "Interrupted. runs/r1 goes on at the server." in err
    assert "lbclient runs watch r1 " in err
    assert "lbclient runs cancel r1 " in err
    assert "Traceback" not in err
    assert asked(evaluator, "CancelRun") == []
    evaluator.go_on.set()
    again = start_lbclient("runs", "watch", "r1", "--json")
    assert json.loads(again.communicate(timeout=20)[0])["run"]["name"] == "runs/r1"


def test_lost_server_is_told_and_the_watch_goes_on(start_lbclient, server, evaluator):
    evaluator.go_on.clear()
    process = start_lbclient("evaluate")
    wait_for(lambda: asked(evaluator, "WatchRun"))
    server.stop()
    time.sleep(0.5)
    server.start()
    evaluator.go_on.set()
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "the run goes on there, connecting again" in err
    assert "0.6667" in out


def test_local_evaluator_that_died_is_told_at_once(start_lbclient, server, evaluator, tmp_path):
    stand_in = subprocess.Popen(["sleep", "600"])
    process = Process("evaluator", stand_in.pid, start_time(stand_in.pid), "")
    home = Home(tmp_path / "home")
    home.root.mkdir()
    write_stack(home, Stack(Ports(evaluator=server.port), (process,), "", ()))
    evaluator.go_on.clear()
    watching = start_lbclient("evaluate")
    wait_for(lambda: asked(evaluator, "WatchRun"))
    stand_in.kill()
    stand_in.wait()
    began = time.monotonic()
    server.stop()
    out, err = watching.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert (watching.returncode, out) == (3, "")
    assert f"the evaluator at {server.target} has ended; runs/r1 goes on with its next start" in err
    assert "`lbclient up` starts it anew" in err


def test_nothing_listening_names_both_ways_to_start_one(start_lbclient, unused_port):
    process = start_lbclient("models", LBCLIENT_SERVER=f"127.0.0.1:{unused_port}")
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (3, "")
    assert f"nothing answers at 127.0.0.1:{unused_port}" in err
    assert "`lbclient up`" in err
    assert "`docker compose up -d`" in err


def test_reader_that_leaves_early_causes_no_complaint(start_lbclient, evaluator):
    evaluator.models *= 2_000
    process = start_lbclient("models", "--json")
    process.stdout.read(10)
    process.stdout.close()
    _, err = process.communicate(timeout=30)
    assert "Traceback" not in err
    assert "BrokenPipe" not in err


def test_terminal_that_cannot_show_a_character_gets_another(start_lbclient, evaluator):
    evaluator.models[0].source = "Größe → 大"
    process = start_lbclient("models", PYTHONIOENCODING="ascii")
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert "Gr" in out


def test_no_colours_off_a_terminal(start_lbclient):
    out, _ = start_lbclient("models").communicate(timeout=20)
    assert "\x1b" not in out


def test_concurrent_watchers_each_see_the_end(lbclient, start_lbclient, evaluator):
    evaluator.go_on.clear()
    lbclient("evaluate", "--detach")
    watchers = [start_lbclient("runs", "watch", "r1", "--json") for _ in range(3)]
    wait_for(lambda: len(asked(evaluator, "WatchRun")) == 3)
    threading.Timer(0.1, evaluator.go_on.set).start()
    assert [process.wait(timeout=30) for process in watchers] == [0, 0, 0]
