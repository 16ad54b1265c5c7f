"""What is meant when nothing was named."""

import pytest

from lbclient.candidates import Ambiguous, only_benchmark, only_model, require_ready
from lbclient.errors import Refused
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.model_pb2 import Model


def benchmark(name, state=Benchmark.READY):
    return Benchmark(name=f"benchmarks/{name}", state=state)


def model(name, kind=Model.IMAGE_EMBEDDING, ready=True, problem=""):
    return Model(name=f"models/{name}", kind=kind, ready=ready, problem=problem)


def test_only_ready_benchmark_is_meant():
    found = only_benchmark([benchmark("a", Benchmark.IMPORTING), benchmark("b")])
    assert found.name == "benchmarks/b"


def test_several_benchmarks_are_listed_in_order():
    with pytest.raises(Ambiguous) as caught:
        only_benchmark([benchmark("b"), benchmark("a")])
    assert caught.value.message.splitlines()[1:] == ["  --benchmark a", "  --benchmark b"]


def test_without_a_benchmark_the_way_to_one_is_named():
    with pytest.raises(Ambiguous, match="benchmarks fetch fashion-mnist"):
        only_benchmark([benchmark("a", Benchmark.FAILED)])


def test_benchmark_that_is_not_ready_says_why_and_how_to_go_on():
    importing = benchmark("a", Benchmark.IMPORTING)
    importing.imported_rows = 1200
    failed = benchmark("b", Benchmark.FAILED)
    failed.error.message = "no corpus"
    with pytest.raises(Refused, match=r"still being imported \(1,200 rows.*benchmarks show a`"):
        require_ready(importing)
    with pytest.raises(Refused, match=r"import of benchmarks/b failed: no corpus; import it again"):
        require_ready(failed)
    with pytest.raises(Ambiguous, match=r"(?s)benchmarks/a is still .*benchmarks/b failed"):
        only_benchmark([importing, failed])
    assert require_ready(benchmark("c")).name == "benchmarks/c"


def test_only_ready_model_of_the_modality_is_meant():
    models = [model("text", Model.TEXT_EMBEDDING), model("b", ready=False), model("image")]
    assert only_model(models, Benchmark.IMAGE, "--model").name == "models/image"
    assert only_model(models, Benchmark.TEXT, "--model").name == "models/text"


def test_several_models_are_listed_with_the_flag():
    with pytest.raises(Ambiguous) as caught:
        only_model([model("b"), model("a")], Benchmark.IMAGE, "--item-model")
    assert caught.value.message.splitlines()[1:] == ["  --item-model a", "  --item-model b"]


def test_model_that_is_not_ready_is_named_with_its_problem():
    with pytest.raises(Ambiguous, match="clip: graph digest differs"):
        only_model(
            [model("clip", ready=False, problem="graph digest differs")],
            Benchmark.IMAGE,
            "--model",
        )


def test_without_a_model_the_exporter_is_named():
    with pytest.raises(Ambiguous, match="lookbench-export"):
        only_model([], Benchmark.TEXT, "--model")
