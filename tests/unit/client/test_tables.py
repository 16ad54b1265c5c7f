"""Tables of resources."""

from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc import status_pb2

from lbclient import tables
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.model_pb2 import Model
from lookbench.v1.run_pb2 import (
    DenseRetriever,
    Encoder,
    LexicalRetriever,
    Progress,
    Reranker,
    Run,
    System,
)


def dense(query, item=None):
    item_encoder = Encoder(model=f"models/{item}") if item else None
    query_encoder = Encoder(model=f"models/{query}")
    return DenseRetriever(query_encoder=query_encoder, item_encoder=item_encoder)


def test_systems_in_a_few_words():
    assert tables.system_text(System(dense=dense("clip"))) == "clip"
    assert tables.system_text(System(dense=dense("clip", "clip"))) == "clip"
    assert tables.system_text(System(dense=dense("text", "image"))) == "text → image"
    reranked = System(lexical=LexicalRetriever(), reranker=Reranker(model="models/qwen"))
    assert tables.system_text(reranked) == "BM25 + qwen"
    assert tables.system_text(System()) == "-"


def test_state_that_this_client_does_not_know_is_shown_by_number():
    assert tables.state_name(Run(state=Run.RUNNING)) == "RUNNING"
    assert tables.state_name(Run(state=17)) == "STATE 17"


def test_names_that_can_be_copied_stay_on_one_line_at_80_columns(printed):
    runs = [
        Run(
            name="runs/run-c5e48437def1",
            state=Run.SUCCEEDED,
            system=System(dense=dense("efficientnet-lite0")),
            benchmark="benchmarks/fashion-mnist",
            create_time=Timestamp(seconds=1_700_000_000),
            display_name="a note that is longer than the room that is left for it",
        )
    ]
    narrow = printed(tables.runs_table(runs), width=80)
    wide = printed(tables.runs_table(runs), width=300)
    assert "run-c5e48437def1" in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    letters = [sorted(filter(str.isalnum, text)) for text in (narrow, wide)]
    assert letters[0] == letters[1]  # folded, not cut


def test_longest_name_is_folded_and_never_cut(printed):
    runs = [Run(name=f"runs/{'a' * 63}", state=Run.FAILED, system=System(dense=dense("clip")))]
    text = printed(tables.runs_table(runs), width=80)
    assert sum(line[:40].count("a") for line in text.splitlines()[2:]) >= 63
    assert max(map(len, text.splitlines())) <= 80


def test_one_is_singular():
    assert tables.counted(1, "query", "queries") == "1 query"
    assert tables.counted(4000, "query", "queries") == "4,000 queries"


def test_text_that_looks_like_markup_is_shown_as_it_is(printed):
    run = Run(name="runs/a", display_name="[red]x[/red] :smile:")
    assert "[red]x[/red] :smile:" in printed(tables.runs_table([run]), width=120)


def test_run_fields_hold_error_and_progress(printed):
    run = Run(
        name="runs/a",
        state=Run.FAILED,
        error=status_pb2.Status(code=14, message="Triton is gone"),
        progress=Progress(total=4500, done=1200, cache_hits=10),
    )
    text = printed(tables.run_fields(run))
    assert "Triton is gone" in text
    assert "1,200 of 4,500" in text
    assert "rejected" not in text


def test_benchmark_row_sums_its_subsets(printed):
    benchmark = Benchmark(
        name="benchmarks/fm",
        state=Benchmark.READY,
        query_modality=Benchmark.TEXT,
        item_modality=Benchmark.IMAGE,
        subsets=[
            Benchmark.Subset(name="a", query_count=1000, item_count=10),
            Benchmark.Subset(name="b", query_count=11, item_count=20),
        ],
        collections=[Benchmark.Collection(name="q", rows_in=5, rows_out=3, rows_rejected=2)],
    )
    row = printed(tables.benchmarks_table([benchmark])).splitlines()[2]
    assert row.split() == ["fm", "READY", "text", "→", "image", "2", "1,011", "30", "2"]


def test_benchmark_parts_mark_the_headline(printed):
    benchmark = Benchmark(
        name="benchmarks/fm",
        headline_judgement="class",
        judgements=[Benchmark.Judgement(name="class", description="same class")],
        collections=[Benchmark.Collection(name="query", rows_in=5, rows_out=3, rows_rejected=2)],
    )
    text = printed(*tables.benchmark_parts(benchmark))
    assert "class (headline)   binary   same class" in text
    assert "query      5      3          2" in text


def test_model_that_is_not_ready_says_why(printed):
    text = printed(tables.models_table([Model(name="models/m", problem="no manifest")]))
    assert "no: no manifest" in text


def test_model_fields_mark_the_default_preset(printed):
    model = Model(
        name="models/m",
        ready=True,
        presets=["native", "lookbench"],
        default_preset="lookbench",
        parity_worst_cosine=0.99999712,
    )
    text = printed(tables.model_fields(model))
    assert "native, lookbench (default)" in text
    assert "0.999997 to the reference library" in text
    assert "not declared" in text


def test_time_that_is_not_set_is_a_dash():
    assert tables.local_time(Timestamp()) == "-"
    assert len(tables.local_time(Timestamp(seconds=1_700_000_000))) == len("2023-11-14 22:13")
