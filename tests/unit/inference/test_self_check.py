"""Each way in which a server may mix up rows is found, and rounding is forgiven."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from manifests import IMAGE, TEXT
from test_texts import WORDS, write_tokenizer

from lookbench_core.digests import file_digest
from lookbench_inference.batching import Admission
from lookbench_inference.embedders import FanOut, Served
from lookbench_inference.errors import ModelOutputInvalid, TritonUnavailable
from lookbench_inference.self_check import (
    LENGTHS,
    ORDER,
    TOGETHER,
    SelfChecks,
    check,
    image_probes,
    text_probes,
)

DIRECTIONS = np.random.default_rng(3).normal(size=(256, 4))


def right(rows):
    """Counts of the values in a row, projected: rows of unlike content point elsewhere."""
    flat = rows.reshape(len(rows), -1)
    counts = np.stack([np.bincount(row, minlength=256)[:256] for row in flat])
    counts[:, 0] = 0  # padding
    vectors = counts @ DIRECTIONS
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


class Server:
    """Answers by `answer(rows)`; `running` counts requests that are not answered yet."""

    def __init__(self, answer=right):
        self.answer, self.running, self.most, self.sizes = answer, 0, 0, []

    async def infer(self, model, inputs, output, timeout_s, deadline=None):
        rows = next(iter(inputs.values()))
        self.sizes.append(len(rows))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0)
            return self.answer(rows)
        finally:
            self.running -= 1


def served(server, manifest=IMAGE, precision="fp32", max_batch_size=8):
    graph = manifest.graph.model_copy(update={"precision": precision})
    manifest = manifest.model_copy(update={"graph": graph, "max_batch_size": max_batch_size})
    # Nothing is decoded or tokenised in the pool.
    return Served(server, manifest, FanOut(), ThreadPoolExecutor(), Admission.of(4, 6))


async def refusal(answer, **fields):
    with pytest.raises(ModelOutputInvalid) as caught:
        await check(served(Server(answer), **fields), None)
    assert caught.value.message.startswith("model m answer") or "ranks inputs" in str(caught.value)
    return caught.value


async def test_a_right_model_passes_and_is_asked_about_thirty_rows():
    server = Server()
    await check(served(server), None)
    assert server.sizes == [1, 1, 1, 8] + [1] * 16
    assert server.most == 4  # as many at once as runs may ask


async def test_rows_in_another_order_are_found():
    error = await refusal(lambda rows: right(rows)[::-1])
    assert "in a batch of 8 unlike the same input alone: cosine" in error.message
    assert "restart Triton" in error.message
    assert error.reason == "MODEL_OUTPUT_INVALID"
    assert error.metadata["rows"] == "8"
    assert float(error.metadata["cosine"]) < 0.99


@pytest.mark.parametrize("shift", range(1, 8))
async def test_rows_that_are_shifted_are_found(shift):
    assert (await refusal(lambda rows: np.roll(right(rows), shift, axis=0))).metadata["rows"] == "8"


@pytest.mark.parametrize("size", [2, 3, 4, 8])
async def test_order_is_checked_in_the_largest_batch_that_the_model_takes(size):
    error = await refusal(lambda rows: right(rows)[::-1], max_batch_size=size)
    assert error.metadata["rows"] == str(size)


async def test_only_the_first_row_right_is_found():
    def first_only(rows):
        return np.repeat(right(rows)[:1], len(rows), axis=0)

    assert "in a batch of 8" in (await refusal(first_only)).message


async def test_equal_rows_with_unequal_vectors_are_found():
    def drifting(rows):
        vectors = right(rows) + np.arange(len(rows))[:, None] * 3e-4
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    error = await refusal(drifting)
    assert "equal rows of one batch of 8 with vectors that differ by 0.00" in error.message


async def test_answers_of_other_requests_are_found():
    class Crossing(Server):
        """Answers what was asked last, by whomever."""

        async def infer(self, model, inputs, output, timeout_s, deadline=None):
            self.last = next(iter(inputs.values()))
            await asyncio.sleep(0)
            return right(self.last)

    with pytest.raises(ModelOutputInvalid, match="among 16 requests at once unlike"):
        await check(served(Crossing()), None)


async def test_a_model_that_tells_nothing_apart_is_refused():
    error = await refusal(lambda rows: np.tile(np.float32([1, 0, 0, 0]), (len(rows), 1)))
    assert "the same vector for unlike inputs" in error.message
    assert "picture of noise" in error.message


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda v: v[:-1], r"answered float32 \(0, 4\), expected float32 \(1, 4\)"),
        (lambda v: v * np.nan, "a NaN or infinite value for the self-check's picture of slopes"),
        (lambda v: v * 2, "a norm other than 1 for the self-check's picture of slopes"),
    ],
)
async def test_what_is_wrong_in_one_answer_names_the_probe(fault, words):
    with pytest.raises(ModelOutputInvalid, match=words):
        await check(served(Server(lambda rows: fault(right(rows)))), None)


def turned(vectors, cosine):
    """Unit vectors at this cosine to the given ones, all turned the same way."""
    helper = vectors[:, [1, 0, 3, 2]] * np.float32([1, -1, 1, -1])  # orthogonal to each
    return (cosine * vectors + np.sqrt(1 - cosine**2) * helper).astype(np.float32)


@pytest.mark.parametrize(
    ("precision", "passes", "fails"),
    [("fp32", 0.99995, 0.9998), ("fp16", 0.9992, 0.998), ("int8", 0.97, 0.94)],
)
async def test_rounding_is_forgiven_as_far_as_the_precision_goes(precision, passes, fails):
    def rounding(cosine):
        return lambda rows: right(rows) if len(rows) == 1 else turned(right(rows), cosine)

    await check(served(Server(rounding(passes)), precision=precision), None)
    error = await refusal(rounding(fails), precision=precision)
    assert float(error.metadata["cosine"]) == pytest.approx(fails, abs=1e-3)


async def test_places_that_change_without_a_tie_are_found():
    """Alone a > b > c around a by 0.002; in a batch b and c have changed places."""
    angles = {"alone": (0.0, 0.10, 0.12), "batch": (0.0, 0.12, 0.10)}

    def close(rows):
        flat = rows.reshape(len(rows), -1)
        probes = [int(np.argmin(np.abs(PICTURES - row).sum(axis=1))) for row in flat]
        chosen = np.array(angles["alone" if len(rows) == 1 else "batch"])[probes]
        return np.stack(
            [np.cos(chosen), np.sin(chosen), 0 * chosen, 0 * chosen], axis=1, dtype=np.float32
        )

    # The cosine of each to itself is cos(0.02) = 0.9998: forgiven only for less precision.
    error = await refusal(close, precision="fp16")
    assert "ranks inputs in a batch of 8 in another order than alone" in error.message


PICTURES = image_probes(IMAGE.image).tensors([0, 1, 2])["pixels"].reshape(3, -1).astype(int)


async def test_a_model_of_single_rows_is_asked_at_once_only():
    server = Server()
    await check(served(server, max_batch_size=1), None)
    assert server.sizes == [1] * (3 + 1 + TOGETHER)


def test_the_pictures_are_always_the_same_and_unlike():
    first, again = (image_probes(IMAGE.image).tensors(ORDER)["pixels"] for _ in range(2))
    assert (first.shape, first.dtype) == ((8, 8, 6, 3), np.uint8)
    assert np.array_equal(first, again)
    assert len({row.tobytes() for row in first}) == 3


@pytest.fixture
def text_model(tmp_path):
    path = write_tokenizer(tmp_path)

    def make(server, **changes):
        fields = {"tokenizer_digest": file_digest(path), "max_tokens": 256, **changes}
        text = TEXT.text.model_copy(update=fields)
        return served(server, TEXT.model_copy(update={"text": text})), tmp_path

    return make


def lengths_of(text, folder):
    probes = text_probes(text, folder)
    return [int(probes.tensors([row])["attention_mask"].sum()) for row in range(3)]


def test_texts_are_about_as_long_as_said_and_never_too_long(text_model):
    model, folder = text_model(None)
    added = len(["{instruction}", "Find", "it."])  # the words around the text, at most
    for found, wanted in zip(lengths_of(model.manifest.text, folder), LENGTHS, strict=True):
        assert wanted <= found <= wanted + added
    model, folder = text_model(None, max_tokens=16)
    assert lengths_of(model.manifest.text, folder)[1:] == [16, 16]


async def test_padding_that_leaks_into_short_texts_is_found(text_model):
    def leaking(rows):
        """The padding counts as a word."""
        return right(np.where(rows == 0, len(WORDS), rows))

    await check(*text_model(Server()))
    with pytest.raises(ModelOutputInvalid, match="in a batch of 8 unlike"):
        await check(*text_model(Server(leaking)))


async def test_words_that_a_model_does_not_know_prove_nothing(text_model):
    def constant(rows):
        return np.tile(np.float32([1, 0, 0, 0]), (len(rows), 1))

    model, folder = text_model(Server(constant), templates={"document": "{text}"})
    with pytest.raises(ModelOutputInvalid, match="the same vector"):
        await check(model, folder)
    unknown = text_probes(model.manifest.text, folder)
    assert not unknown.alike


async def test_a_version_is_checked_once_however_many_ask_at_once():
    server, checks = Server(), SelfChecks()
    await asyncio.gather(*(checks.ensure(served(server), "1", None) for _ in range(5)))
    assert len(server.sizes) == 3 + 1 + TOGETHER
    await checks.ensure(served(server), "2", None)
    assert len(server.sizes) == 2 * (3 + 1 + TOGETHER)


async def test_another_graph_is_checked_again():
    server, checks = Server(), SelfChecks()
    await checks.ensure(served(server), "1", None)
    other = served(server)
    graph = other.manifest.graph.model_copy(update={"digest": "sha256:" + "1" * 64})
    manifest = other.manifest.model_copy(update={"graph": graph})
    await checks.ensure(
        Served(server, manifest, FanOut(), ThreadPoolExecutor(), Admission.of(4, 6)), "1", None
    )
    assert len(server.sizes) == 2 * (3 + 1 + TOGETHER)


async def test_a_failure_is_not_remembered():
    failing, checks = Server(), SelfChecks()

    def gone(rows):
        raise TritonUnavailable("gone")

    failing.answer = gone
    with pytest.raises(TritonUnavailable):
        await checks.ensure(served(failing), "1", None)
    failing.answer = right
    await checks.ensure(served(failing), "1", None)


async def test_a_run_that_is_cancelled_leaves_the_check_to_the_next():
    server, checks = Server(), SelfChecks()
    first, second = (
        asyncio.create_task(checks.ensure(served(server), "1", None)) for _ in range(2)
    )
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await second
    assert server.sizes[-20:] == [1, 1, 1, 8] + [1] * 16
