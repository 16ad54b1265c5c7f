"""Imports: what is rejected, repeated, replaced, and asked for twice at once."""

import grpc

from asking import MODEL, make_folder, png, refused, run_of
from lookbench.v1 import benchmark_pb2, run_pb2
from lookbench.v1 import evaluation_service_pb2 as api


def test_rejected_rows_are_counted_listed_and_decided_by_the_policy(evaluator, data_root):
    rows = [(f"i{n}", "item", "a") for n in range(4)] + [(f"q{n}", "query", "a") for n in range(3)]
    folder = make_folder(data_root / "damaged", rows, damaged={"i1", "q2"})
    found = evaluator.import_benchmark("damaged", "image-folder", folder)
    for collection in found.collections:
        assert collection.rows_in == collection.rows_out + collection.rows_rejected
    message, _ = refused(
        evaluator.stub.CreateRun,
        api.CreateRunRequest(run=run_of("damaged")),
        grpc.StatusCode.FAILED_PRECONDITION,
        "ROWS_REJECTED",
    )
    assert "lost 1 rows" in message
    assert dict(found.rejected_reasons) == {"IMAGE_UNREADABLE": 2}
    allowed = run_pb2.EvaluationOptions(rejected_policy=run_pb2.EvaluationOptions.ALLOW)
    report = evaluator.evaluate("damaged", MODEL, options=allowed)
    assert report.rejected_count == 2
    assert {(r.id, r.reason) for r in report.rejected} == {
        ("i1", "IMAGE_UNREADABLE"),
        ("q2", "IMAGE_UNREADABLE"),
    }


def test_identical_images_are_listed_and_merged_if_asked(evaluator, data_root):
    """Fault A28: g1 (label x) and g2 (label y) hold the same bytes, the query has label x."""
    folder = data_root / "twins"
    folder.mkdir()
    for name in ("g1", "g2", "q"):
        (folder / f"{name}.png").write_bytes(png(100))
    (folder / "labels.csv").write_text(
        "id,path,split,category\ng2,g2.png,item,y\ng1,g1.png,item,x\nq,q.png,query,y\n"
    )
    evaluator.import_benchmark("twins", "image-folder", folder)
    kind = run_pb2.EvaluationOptions
    kept = evaluator.evaluate("twins", MODEL, options=kind(metrics=["hit"], cutoffs=[1]))
    merged = evaluator.evaluate(
        "twins", MODEL, options=kind(metrics=["hit"], cutoffs=[1], duplicate_policy=kind.MERGE)
    )
    assert [list(g.item_ids) for g in kept.duplicates] == [["g1", "g2"]]
    assert kept.duplicates[0].labels_disagree
    assert kept.metrics[0].value == 0.0, "equal scores: g1 comes first by its id"
    assert merged.metrics[0].value == 1.0
    assert merged.subsets[0].item_count == 1
    assert any("merged" in note for note in merged.notes)


def test_an_import_of_the_same_source_is_the_same_benchmark(evaluator, shades, data_root):
    again = evaluator.import_benchmark("shades", "image-folder", data_root / "shades")
    assert again.state == benchmark_pb2.Benchmark.READY
    other = make_folder(data_root / "other", [("i", "item", "a"), ("q", "query", "a")])
    refused(
        evaluator.stub.ImportBenchmark,
        api.ImportBenchmarkRequest(benchmark_id="shades", format="image-folder", path=str(other)),
        grpc.StatusCode.ALREADY_EXISTS,
        "BENCHMARK_ALREADY_EXISTS",
    )


def test_an_import_that_fails_says_why_and_can_be_repeated(evaluator, data_root):
    rows = [("i", "item", "a"), ("q", "query", "a")]
    folder = make_folder(data_root / "broken", rows, damaged={"q"})
    failed = evaluator.import_benchmark("broken", "image-folder", folder)
    assert failed.state == benchmark_pb2.Benchmark.FAILED
    assert "no usable query" in failed.error.message
    (folder / "q.png").write_bytes(png(1))
    assert evaluator.import_benchmark("broken", "image-folder", folder).state == (
        benchmark_pb2.Benchmark.READY
    )


def test_a_replacement_that_fails_leaves_the_benchmark_as_it_was(evaluator, data_root):
    rows = [("i", "item", "a"), ("q", "query", "a")]
    evaluator.import_benchmark("kept", "image-folder", make_folder(data_root / "kept", rows))
    before = evaluator.evaluate("kept", MODEL).metrics
    broken = make_folder(data_root / "kept-broken", rows, damaged={"q"})
    evaluator.stub.ImportBenchmark(
        api.ImportBenchmarkRequest(
            benchmark_id="kept", format="image-folder", path=str(broken), allow_replace=True
        )
    )
    found = evaluator.imported("kept")
    assert found.state == benchmark_pb2.Benchmark.READY
    assert "no usable query" in found.error.message
    assert evaluator.evaluate("kept", MODEL).metrics == before


def test_two_imports_of_one_id_at_once_are_one_or_refused(evaluator, data_root):
    rows = [(f"i{n}", "item", "a") for n in range(9)] + [("q", "query", "a")]
    folders = [make_folder(data_root / f"racing-{n}", rows) for n in range(2)]

    def ask(folder):
        request = api.ImportBenchmarkRequest(
            benchmark_id="racing", format="image-folder", path=str(folder)
        )
        return evaluator.stub.ImportBenchmark.future(request, timeout=20)

    codes = [call.code() for call in [ask(folders[0]), ask(folders[1]), ask(folders[0])]]
    assert codes.count(grpc.StatusCode.OK) in {1, 2}
    assert set(codes) == {grpc.StatusCode.OK, grpc.StatusCode.ALREADY_EXISTS}
    assert evaluator.imported("racing").state == benchmark_pb2.Benchmark.READY
