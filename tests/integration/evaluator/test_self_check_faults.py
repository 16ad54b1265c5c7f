"""Servers that mix rows up: no run of theirs becomes a number."""

import threading

import numpy as np
import pytest

from asking import make_folder, reason_of
from fake_triton import COLOURS, LETTERS, not_a_number, one_row_short, other_order, publish, right
from lookbench.v1 import run_pb2


def first_row_only(call):
    """Every row gets the vector of the first."""
    vectors = call.vectors()
    return call.reply(np.repeat(vectors[:1], len(vectors), axis=0))


class Crossing:
    """Of requests at once, each gets the vectors of the one before."""

    def __init__(self):
        self.lock, self.running, self.last = threading.Lock(), 0, None

    def __call__(self, call):
        with self.lock:
            before, self.last = self.last, call.vectors()
            self.running += 1
        call.wait(0.05)  # until the others are here
        with self.lock:
            crossed = self.running > 1 and before is not None and len(before) == call.rows
            self.running -= 1
        return call.reply(before if crossed else call.vectors())


def constant(call):
    return call.reply(np.repeat([np.eye(1, call.model.dimension)[0]], call.rows, axis=0))


FAULTS = {
    "rows in another order": (other_order, "in a batch of 8 unlike the same input alone"),
    "one row short": (one_row_short, "answered float32 (0, "),
    "NaN": (not_a_number, "a NaN or infinite value for the self-check's"),
    "only row 0 right": (first_row_only, "in a batch of 8 unlike the same input alone"),
    "answers of other requests": (Crossing(), "among 16 requests at once unlike"),
    "nothing told apart": (constant, "the same vector for unlike inputs"),
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return publish(tmp_path_factory.mktemp("repository"))


@pytest.fixture
def server(fake_triton):
    return fake_triton()


@pytest.fixture
def start(make_evaluator, server, repository, data_root):
    """Starts an evaluator that has a benchmark of pictures and one of texts."""

    def make(**settings):
        evaluator = make_evaluator(
            server.url, model_repository=repository, cache_bytes=0, **settings
        )
        folder = data_root / "rows"
        if not folder.exists():
            rows = [(f"i{n}", "item", "dark" if n < 6 else "light") for n in range(12)]
            make_folder(folder, [*rows, ("q0", "query", "dark"), ("q1", "query", "light")])
        evaluator.import_benchmark("pictures", "image-folder", folder)
        return evaluator

    return make


def failed(run, name, words):
    assert run.state == run_pb2.Run.FAILED
    assert reason_of(run.error) == "MODEL_OUTPUT_INVALID"
    assert words in run.error.message
    assert f"model {name} " in run.error.message


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_mixes_rows_up_fails_the_run_and_is_named(start, server, fault):
    """Fault A11."""
    server.behaviour, words = FAULTS[fault]
    evaluator = start()
    run = evaluator.wait(evaluator.create("pictures", COLOURS))
    failed(run, COLOURS, words)
    server.behaviour = right
    again = evaluator.wait(evaluator.create("pictures", COLOURS))
    assert again.state == run_pb2.Run.SUCCEEDED, again.error.message


def test_runs_at_once_have_one_check_between_them(start, server):
    evaluator = start(concurrent_runs=4)
    runs = [evaluator.create("pictures", COLOURS) for _ in range(4)]
    assert {evaluator.wait(run).state for run in runs} == {run_pb2.Run.SUCCEEDED}
    checked = 3 + 8 + 16
    assert server.seen.rows == checked + 4 * 14


def test_a_wrong_answer_later_on_is_found_by_its_shape_and_values(start, server):
    evaluator = start()
    evaluator.evaluate("pictures", COLOURS)
    for behaviour, words in (
        (one_row_short, "answered float32 (7, 12), expected float32 (8, 12)"),
        (not_a_number, "a NaN or infinite value for i7"),
    ):
        server.behaviour = lambda call, wrong=behaviour: (wrong if call.rows == 8 else right)(call)
        failed(evaluator.wait(evaluator.create("pictures", COLOURS)), COLOURS, words)


def test_the_check_can_be_switched_off(start, server):
    server.behaviour = other_order
    evaluator = start(self_check="false")
    evaluator.evaluate("pictures", COLOURS)
    assert server.seen.rows == 14


def test_texts_are_checked_too(start, server, data_root):
    folder = data_root / "sentences"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "red silk"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "silk"}\n')
    (folder / "qrels").mkdir()
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    server.behaviour = other_order
    evaluator = start()
    found = evaluator.import_benchmark("sentences", "beir", folder)
    run = evaluator.wait(evaluator.create("sentences", LETTERS))
    failed(run, LETTERS, "in a batch of 8 unlike the same input alone")
    server.behaviour = right
    evaluator.evaluate("sentences", LETTERS)
    assert found.name
