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
    PinnedVersions,
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


def test_problem_is_listed_once_below_the_models(printed):
    problem = "the manifest's graph digest differs from the graph that is served"
    models = [
        Model(name="models/efficientnet-lite0", ready=True, dimension=1280),
        Model(name="models/a", problem=problem),
        Model(name="models/b", problem=problem),
    ]
    text = printed(*tables.models_parts(models))
    assert [line.split()[:2] for line in text.splitlines()[2:5]] == [
        ["efficientnet-lite0", "yes"],
        ["a", "no"],
        ["b", "no"],
    ]
    assert text.count("graph digest differs") == 1
    assert "a, b: the manifest's" in text
    assert len(tables.models_parts(models[:1])) == 1


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


def listed_run(**changes):
    return Run(
        name="runs/run-c5e48437def1",
        state=Run.SUCCEEDED,
        system=System(dense=dense("efficientnet-lite0")),
        benchmark="benchmarks/fashion-mnist",
        create_time=Timestamp(seconds=1_700_000_000),
        **changes,
    )


def test_a_run_is_one_line_at_80_columns(printed):
    lines = printed(tables.runs_table([listed_run()])).splitlines()
    assert len(lines) == 3
    cells = ["run-c5e48437def1", "SUCCEEDED", "efficientnet-lite0", "fashion-mnist", "2023-11-14"]
    assert lines[2].split() == cells
    assert "note" not in lines[0]


def test_benchmark_and_date_are_not_folded_beside_a_note(printed):
    text = printed(tables.runs_table([listed_run(display_name="nightly, second try")]))
    assert "fashion-mnist" in text
    assert "2023-11-14" in text


def test_digests_stay_on_one_line(printed):
    digest = "sha256:" + "0123456789abcdef" * 4
    assert tables.short_digest(digest) == "sha256:0123456789ab"
    assert tables.short_digest("") == ""
    run = listed_run(pinned=PinnedVersions(benchmark_digest=digest))
    run.pinned.models.add(model="models/efficientnet-lite0", version="1", graph_digest=digest)
    for text in (
        printed(tables.run_fields(run)),
        printed(tables.model_fields(Model(name="models/m", graph_digest=digest))),
        printed(*tables.benchmark_parts(Benchmark(name="benchmarks/b", digest=digest))),
    ):
        assert "sha256:0123456789ab" in text
        assert "abcdef" not in text


def test_reasons_of_rejected_rows_are_counted(printed):
    benchmark = Benchmark(
        name="benchmarks/b", rejected_reasons={"FILE_MISSING": 1, "IMAGE_UNREADABLE": 2}
    )
    assert tables.rejected_text(benchmark) == (
        "3 rejected: 2 IMAGE_UNREADABLE, 1 FILE_MISSING; `lbclient report RUN` lists rows"
    )
    assert "2 IMAGE_UNREADABLE" in printed(*tables.benchmark_parts(benchmark))
    assert tables.rejected_text(Benchmark()) == ""


def test_tables_of_a_benchmark_stand_apart(printed):
    benchmark = Benchmark(
        name="benchmarks/b",
        subsets=[Benchmark.Subset(name="main")],
        judgements=[Benchmark.Judgement(name="class")],
    )
    text = printed(*tables.benchmark_parts(benchmark))
    lines = [line.strip() for line in text.splitlines()]
    for head in ("subset", "judgement"):
        place = next(n for n, line in enumerate(lines) if line.startswith(f"{head} "))
        assert lines[place - 1] == ""


def test_benchmark_whose_replacement_failed_is_as_it_was(printed):
    benchmark = Benchmark(
        name="benchmarks/b",
        state=Benchmark.READY,
        error=status_pb2.Status(code=9, message="no corpus"),
    )
    text = printed(*tables.benchmark_parts(benchmark), width=120)
    assert "replacement  failed: no corpus; the benchmark is as it was" in text
