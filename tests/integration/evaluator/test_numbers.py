"""The numbers of the whole path equal an independent computation on the same files.

Independent: the files are read, resized, embedded (onnxruntime in process, one
image at a time) and ranked here, with none of the project's code but the
exported graph, and the metrics come from ir-measures and pytrec_eval.
"""

import gzip
import io
import json
import os
from pathlib import Path

import ir_measures
import numpy as np
import onnxruntime
import pyarrow.parquet as pq
import pytest
import pytrec_eval
from ir_measures import AP, RR, P, R, Success, nDCG
from PIL import Image

from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1 import run_pb2

CUTOFFS = (1, 5, 10, 20)
# `make run` evaluates 500x4000: the same test in a minute instead of seconds.
SIZE = os.environ.get("LOOKBENCH_TEST_FASHION_MNIST", "100x800")
MEASURES = {"hit": Success, "recall": R, "precision": P, "mrr": RR, "ndcg_binary": nDCG}


@pytest.fixture(scope="module")
def session(models):
    options = onnxruntime.SessionOptions()
    return onnxruntime.InferenceSession(
        models / "efficientnet-lite0/1/model.onnx", options, providers=["CPUExecutionProvider"]
    )


def embed(session, images):
    """Squash to 224 x 224, bilinear, one image a call; float64 [N, 1280]."""
    rows = []
    for image in images:
        pixels = np.asarray(image.convert("RGB").resize((224, 224), Image.Resampling.BILINEAR))
        rows.append(session.run(["embedding"], {"pixels": pixels[None]})[0][0])
    return np.asarray(rows, dtype=np.float64)


def rankings(queries, items, item_ids):
    """Item ids a query by (cosine rounded to 1e-6 descending, id ascending)."""
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (queries, items)]
    scores = np.round(unit[0] @ unit[1].T, 6)
    return [
        [item for _, item in sorted(zip(-row, item_ids, strict=True))[: max(CUTOFFS)]]
        for row in scores
    ]


def expected(query_ids, ranked, qrels):
    """Mean of each metric at each cutoff by ir-measures; peers are given ranks as scores."""
    run = {
        query: {item: float(-place) for place, item in enumerate(items)}
        for query, items in zip(query_ids, ranked, strict=True)
    }
    wanted = {(name, k): measure @ k for name, measure in MEASURES.items() for k in CUTOFFS}
    wanted |= {("map_r", k): AP @ k for k in CUTOFFS}
    found = ir_measures.calc_aggregate(list(wanted.values()), qrels, run)
    values = {key: found[measure] for key, measure in wanted.items()}
    return values | capped_precision(qrels, run)


def capped_precision(qrels, run):
    """AP@k of pytrec_eval divides by R; this one divides by min(R, k)."""
    names = {f"map_cut_{k}" for k in CUTOFFS}
    found = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
    return {
        ("map_capped", k): np.mean(
            [
                found[q][f"map_cut_{k}"] * len(items) / min(len(items), k)
                for q, items in qrels.items()
            ]
        )
        for k in CUTOFFS
    }


def reported(report, subset, judgement):
    return {
        (m.metric, m.cutoff): m.value
        for m in report.metrics
        if (m.subset, m.judgement) == (subset, judgement)
    }


def idx(path: Path):
    data = gzip.decompress(path.read_bytes())
    shape = np.frombuffer(data, ">u4", data[3], 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def test_fashion_mnist_equals_the_independent_computation(evaluator, session, fashion_mnist):
    queries, items = map(int, SIZE.split("x"))
    evaluator.import_benchmark(
        "fm-numbers", "fashion-mnist", fashion_mnist, queries=str(queries), items=str(items)
    )
    report = evaluator.evaluate("fm-numbers", "efficientnet-lite0")

    def part(name, count):
        images = idx(fashion_mnist / f"{name}-images-idx3-ubyte.gz")[:count]
        labels = idx(fashion_mnist / f"{name}-labels-idx1-ubyte.gz")[:count]
        return [Image.fromarray(image) for image in images], labels

    (query_images, query_labels), (item_images, item_labels) = (
        part("t10k", queries),
        part("train", items),
    )
    query_ids = [f"t10k-{n:05d}" for n in range(queries)]
    item_ids = [f"train-{n:05d}" for n in range(items)]
    ranked = rankings(embed(session, query_images), embed(session, item_images), item_ids)
    qrels = {
        query: {i: 1 for i, label in zip(item_ids, item_labels, strict=True) if label == wanted}
        for query, wanted in zip(query_ids, query_labels, strict=True)
    }
    assert reported(report, "all", "class") == pytest.approx(
        expected(query_ids, ranked, qrels), abs=1e-6
    )


def test_luma_equals_the_independent_computation(evaluator, session, shared_data):
    folder = shared_data / "luma/v20251201/real_studio_flat"
    evaluator.import_benchmark("luma-numbers", "lookbench", shared_data / "luma")
    report = evaluator.evaluate(
        "luma-numbers",
        "efficientnet-lite0",
        options=run_pb2.EvaluationOptions(
            without_noise=True, metrics=[*MEASURES, "map_r", "map_capped"]
        ),
    )

    def part(side):
        rows = pq.read_table(folder / f"{side}.parquet", columns=["image", "item_ID"]).to_pylist()
        images = [Image.open(io.BytesIO(row["image"]["bytes"])) for row in rows]
        return images, [row["item_ID"] for row in rows]

    (query_images, query_items), (gallery_images, gallery_items) = part("query"), part("gallery")
    # The release's item_IDs are labels that repeat; rows get ids that sort as they stand.
    query_ids = [f"q{n:06d}" for n in range(len(query_items))]
    item_ids = [f"g{n:06d}" for n in range(len(gallery_items))]
    ranked = rankings(embed(session, query_images), embed(session, gallery_images), item_ids)
    qrels = {
        query: {i: 1 for i, item in zip(item_ids, gallery_items, strict=True) if item == wanted}
        for query, wanted in zip(query_ids, query_items, strict=True)
    }
    values = reported(report, "real_studio_flat", "item")
    assert values == pytest.approx(expected(query_ids, ranked, qrels), abs=1e-6)
    # Measured by others on the same files and weights.
    assert values["hit", 1] == pytest.approx(0.30, abs=0.01)
    assert values["hit", 5] == pytest.approx(0.52, abs=0.01)


CORPUS = {
    "d1": "red summer dress with floral print",
    "d2": "men's black leather shoes",
    "d3": "warm wool winter coat",
    "d4": "floral midi dress in red",
}
QUERIES = {"q1": "red flower dress", "q2": "leather shoes for men"}
QRELS = [("q1", "d1", 2), ("q1", "d4", 1), ("q2", "d2", 1)]


def test_text_retrieval_from_beir_files(evaluator, data_root):
    folder = data_root / "tiny-beir"
    (folder / "qrels").mkdir(parents=True)
    lines = [json.dumps({"_id": i, "title": "", "text": text}) for i, text in CORPUS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    lines = [json.dumps({"_id": i, "text": text}) for i, text in QUERIES.items()]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in QRELS)]
    (folder / "qrels/test.tsv").write_text("\n".join(rows))

    evaluator.import_benchmark("tiny-beir", "beir", folder)
    report = evaluator.evaluate("tiny-beir", "all-minilm-l6-v2")
    run = report.run
    results = evaluator.stub.ListQueryResults(api.ListQueryResultsRequest(parent=run.name))
    ranked = {r.query_id: [i.item_id for i in r.ranking] for r in results.query_results}
    assert set(ranked["q1"][:2]) == {"d1", "d4"}
    assert ranked["q2"][0] == "d2"
    qrels = {"q1": {"d1": 2, "d4": 1}, "q2": {"d2": 1}}
    by_rank = {q: {i: float(-n) for n, i in enumerate(items)} for q, items in ranked.items()}
    found = ir_measures.calc_aggregate([nDCG @ 5, R @ 5], qrels, by_rank)
    values = {(m.metric, m.cutoff): m.value for m in report.metrics}
    assert values["ndcg_linear", 5] == pytest.approx(found[nDCG @ 5], abs=1e-6)
    assert values["recall", 5] == pytest.approx(found[R @ 5], abs=1e-6)
