"""Preparing runs ahead of asking within bounds; every row belongs to its item."""

import asyncio
import io
from concurrent.futures import Executor, Future
from dataclasses import replace

import numpy as np
import pytest
from manifests import IMAGE, TEXT
from PIL import Image
from test_texts import write_tokenizer

import lookbench_inference.embedders as module
from lookbench_core.digests import file_digest
from lookbench_inference.batching import Admission
from lookbench_inference.embedders import FanOut, ImageEmbedder, Served, TextEmbedder, open_embedder
from lookbench_inference.errors import (
    InferenceDeadline,
    ItemUnreadable,
    ModelContractMismatch,
    TritonUnavailable,
)
from lookbench_inference.options import EncoderOptions

FAN_OUT = FanOut(in_flight=2, ahead=3, request_bytes=2 * 8 * 6 * 3)  # two images a request
AS_IS = EncoderOptions(preset="lookbench", dimension=4)
QUIET = 100  # turns of the event loop after which nothing moves any more


class Inline(Executor):
    """Does the work at once, and counts it."""

    def __init__(self):
        self.done = 0

    def submit(self, work, /, *arguments):
        self.done += 1
        future = Future()
        try:
            future.set_result(work(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


class Server:
    """Answers [sum of the row, 100, 0, 0] as a unit vector, once the gate is open."""

    def __init__(self):
        self.gate = asyncio.Event()
        self.gate.set()
        self.running, self.most, self.asked, self.timeouts, self.inputs = 0, 0, 0, [], []
        self.failure = None

    async def infer(self, model, inputs, output, timeout_s, deadline=None):
        self.asked += 1
        self.running += 1
        self.most = max(self.most, self.running)
        self.timeouts.append(timeout_s)
        self.inputs.append(inputs)
        try:
            await self.gate.wait()
            if self.failure:
                raise self.failure
            return vectors_of(next(iter(inputs.values())))
        finally:
            self.running -= 1


def vectors_of(rows):
    """Padding is 0 and changes nothing."""
    total = rows.reshape(len(rows), -1).sum(axis=1, dtype=np.float32)
    raw = np.stack([total, np.full(len(rows), 100), *np.zeros((2, len(rows)))], axis=1)
    return (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)


def served(manifest=IMAGE, fan_out=FAN_OUT, **fields):
    admission = Admission.of(fan_out.in_flight, fan_out.ahead)
    parts = {"triton": Server(), "workers": Inline(), "admission": admission, **fields}
    return Served(manifest=manifest, fan_out=fan_out, **parts)


def pictures(count):
    """PNGs of one colour each, and the vectors that belong to them."""
    files = []
    for number in range(count):
        file = io.BytesIO()
        Image.new("RGB", (2, 2), (0, 0, number)).save(file, "PNG")
        files.append(file.getvalue())
    return files, vectors_of(np.arange(count) * 8 * 6)


def named(count):
    return [f"i{n}" for n in range(count)]


async def quiet():
    for _ in range(QUIET):
        await asyncio.sleep(0)


async def test_every_row_belongs_to_its_item_and_rows_are_told():
    files, expected = pictures(11)
    told = []
    embedded = await ImageEmbedder(served(), AS_IS).embed(named(11), files, told.append)
    assert np.array_equal(embedded.vectors, expected)
    assert (sum(told), max(told)) == (11, 2)
    assert not embedded.truncated.any()


async def test_a_slow_server_is_asked_no_more_than_in_flight_and_little_is_prepared_ahead():
    model = served()
    model.triton.gate.clear()
    files, expected = pictures(100)
    embedding = asyncio.create_task(ImageEmbedder(model, AS_IS).embed(named(100), files, id))
    await quiet()
    assert (model.triton.running, model.workers.done) == (2, 5)  # in_flight, in_flight + ahead
    model.triton.gate.set()
    assert np.array_equal((await embedding).vectors, expected)
    assert (model.triton.most, model.workers.done) == (2, 50)


async def test_what_comes_next_is_prepared_while_the_server_works():
    model = served(fan_out=replace(FAN_OUT, in_flight=1, ahead=1))
    model.triton.gate.clear()
    files, _ = pictures(6)
    embedding = asyncio.create_task(ImageEmbedder(model, AS_IS).embed(named(6), files, id))
    await quiet()
    assert (model.triton.running, model.workers.done) == (1, 2)
    model.triton.gate.set()
    await embedding


async def test_runs_of_one_model_share_its_bounds():
    model = served()
    model.triton.gate.clear()
    files, expected = pictures(20)
    runs = [ImageEmbedder(replace(model, deadline=d), AS_IS) for d in (None, 1e12)]
    embedding = [asyncio.create_task(run.embed(named(20), files, id)) for run in runs]
    await quiet()
    assert (model.triton.running, model.workers.done) == (2, 5)
    model.triton.gate.set()
    for embedded in await asyncio.gather(*embedding):
        assert np.array_equal(embedded.vectors, expected)
    assert model.triton.most == 2


async def test_cancelling_drops_everything_and_gives_every_place_back():
    model = served()
    model.triton.gate.clear()
    files, expected = pictures(100)
    embedder = ImageEmbedder(model, AS_IS)
    embedding = asyncio.create_task(embedder.embed(named(100), files, id))
    await quiet()
    embedding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await embedding
    assert (model.triton.running, model.triton.asked, model.workers.done) == (0, 2, 5)
    model.triton.gate.set()
    embedded = await embedder.embed(named(100), files, id)
    assert np.array_equal(embedded.vectors, expected)


async def test_a_worker_stops_when_the_run_is_gone():
    class Late(Inline):
        """Begins only when told."""

        def submit(self, work, /, *arguments):
            self.work = work
            return Future()

    model = served(workers=Late())
    files, _ = pictures(2)
    embedding = asyncio.create_task(
        ImageEmbedder(model, AS_IS).embed(named(2), [files[0], b"damaged"], id)
    )
    await quiet()
    embedding.cancel()
    await asyncio.gather(embedding, return_exceptions=True)
    assert model.workers.work().shape == (2, 8, 6, 3)  # nothing was decoded, so nothing is amiss


async def test_the_first_failure_of_the_server_ends_all():
    model = served()
    model.triton.gate.clear()
    model.triton.failure = TritonUnavailable("gone")
    files, _ = pictures(100)
    embedding = asyncio.create_task(ImageEmbedder(model, AS_IS).embed(named(100), files, id))
    await quiet()
    model.triton.gate.set()
    with pytest.raises(TritonUnavailable, match="gone"):
        await embedding
    assert model.triton.asked <= 4


async def test_an_unreadable_image_is_named():
    files, _ = pictures(3)
    files[2] = b"no image"
    with pytest.raises(ItemUnreadable, match=r"item i2: not an image of a known format"):
        await ImageEmbedder(served(), AS_IS).embed(named(3), files, id)


async def test_nothing_is_prepared_or_asked_after_the_deadline():
    model = served(deadline=asyncio.get_running_loop().time())
    files, _ = pictures(3)
    with pytest.raises(InferenceDeadline, match="before model m was asked") as caught:
        await ImageEmbedder(model, AS_IS).embed(named(3), files, id)
    assert (model.workers.done, model.triton.asked) == (0, 0)
    assert caught.value.code == "DEADLINE_EXCEEDED"


async def test_a_request_ends_with_its_run():
    files, _ = pictures(2)
    now = asyncio.get_running_loop().time()
    for deadline, least, most in ((now + 10, 5, 10), (now + 1e6, 60, 60), (None, 60, 60)):
        model = served(deadline=deadline)
        await ImageEmbedder(model, AS_IS).embed(named(2), files, id)
        assert least <= model.triton.timeouts[0] <= most


@pytest.fixture
def texts(tmp_path):
    path = write_tokenizer(tmp_path)
    text = TEXT.text.model_copy(
        update={
            "tokenizer_digest": file_digest(path),
            "templates": {"document": "{text}"},
            "max_tokens": 6,
        }
    )

    def make(**changes):
        manifest = TEXT.model_copy(update={"text": text.model_copy(update=changes)})
        model = served(manifest)
        return model, TextEmbedder(model, EncoderOptions("document", dimension=4), tmp_path)

    return make


WORDS = ["red silk dress", "a", "silk", "red red red red red", "dress a", "red", "silk silk"]


async def test_texts_of_every_stretch_have_their_own_row(texts, monkeypatch):
    model, embedder = texts()
    whole = await embedder.embed(named(7), WORDS, id)
    monkeypatch.setattr(module, "STRETCH", 2)
    parts = await embedder.embed(named(7), WORDS, id)
    assert np.array_equal(whole.truncated, [False, False, False, True, False, False, False])
    assert np.array_equal(parts.truncated, whole.truncated)
    assert np.array_equal(parts.vectors, whole.vectors)
    assert not np.isnan(parts.vectors).any()
    assert model.triton.most <= 2


async def test_only_a_few_stretches_are_tokenised_before_a_slow_server(texts, monkeypatch):
    monkeypatch.setattr(module, "STRETCH", 1)
    model, embedder = texts()
    model.triton.gate.clear()
    embedding = asyncio.create_task(embedder.embed(named(70), WORDS * 10, id))
    await quiet()
    assert model.workers.done == 2
    model.triton.gate.set()
    await embedding
    assert model.workers.done == 70


async def test_a_mask_goes_only_to_a_graph_that_takes_one(texts):
    for has_mask, names in ((True, {"input_ids", "attention_mask"}), (False, {"input_ids"})):
        model, embedder = texts(has_attention_mask=has_mask)
        await embedder.embed(named(7), WORDS, id)
        assert all(set(inputs) == names for inputs in model.triton.inputs)


async def test_a_text_that_cannot_be_encoded_is_named(texts):
    _, embedder = texts()
    with pytest.raises(ItemUnreadable, match=r"item i1 holds half of a surrogate pair"):
        await embedder.embed(named(2), ["red", "\ud800"], id)


def test_a_model_of_the_other_modality_is_refused(tmp_path):
    with pytest.raises(ModelContractMismatch, match="embeds text, not images"):
        ImageEmbedder(served(TEXT), AS_IS)
    with pytest.raises(ModelContractMismatch, match="embeds images, not text"):
        TextEmbedder(served(), AS_IS, tmp_path)
    assert isinstance(open_embedder(served(), AS_IS, tmp_path), ImageEmbedder)
    with pytest.raises(ModelContractMismatch, match="is a reranker"):
        open_embedder(served(TEXT.model_copy(update={"kind": "reranker"})), AS_IS, tmp_path)
