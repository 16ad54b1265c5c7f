"""Several servers as one, over real connections to fake servers."""

import asyncio
import os
import subprocess
import sys
import time
from itertools import chain
from random import Random

import numpy as np
import pytest

from fake_triton import COLOURS, dropping, hanging, other_id, queue_full, slow
from lookbench_inference.batching import run_bounded
from lookbench_inference.endpoints import connect
from lookbench_inference.errors import (
    InferenceDeadline,
    ModelOutputInvalid,
    SharedMemoryUnavailable,
    TritonUnavailable,
)
from lookbench_inference.region_pool import SMALLEST_BYTES
from lookbench_inference.retries import RetryPolicy
from lookbench_inference.shared_memory import FOLDER, PREFIX

PIXELS = np.random.default_rng(3).integers(0, 256, (4, 8, 8, 3), dtype=np.uint8)
MANY = np.random.default_rng(4).integers(0, 256, (512, 8, 8, 3), dtype=np.uint8)  # 96 KiB


@pytest.fixture
async def connected():
    opened = []

    def open_all(*servers, patience_s=10.0, **options):
        urls = ",".join(server.url for server in servers)
        triton = connect(urls, RetryPolicy(patience_s), Random(1), **options)
        opened.append(triton)
        return triton

    yield open_all
    for triton in opened:
        await triton.close()


def ask(triton, pixels=PIXELS, timeout_s=20.0, deadline=None):
    return triton.infer(COLOURS, {"pixels": pixels}, "embedding", timeout_s, deadline)


def regions(pid=None):
    """Names of the regions of a process, this one unless told."""
    return sorted(path.name for path in FOLDER.glob(f"{PREFIX}{pid or os.getpid()}-*"))


async def all_of(triton, count, at_once):
    todo = iter(range(count))

    async def work():
        return [await ask(triton) for _ in todo]

    return list(chain(*await asyncio.gather(*(work() for _ in range(at_once)))))


@pytest.mark.parametrize("at_once", [1, 4])
async def test_three_hundred_requests_reach_each_of_two_servers_a_hundred_times(
    fake_triton, connected, at_once
):
    """Fault A24: long connections that one replica takes all of."""
    a, b = fake_triton(), fake_triton()
    await all_of(connected(a, b), 300, at_once)
    assert a.seen.accepted + b.seen.accepted == 300
    assert min(a.seen.accepted, b.seen.accepted) >= 100


async def test_a_server_that_stops_in_the_middle_costs_nothing_and_is_used_when_it_is_back(
    fake_triton, connected
):
    a, b = fake_triton(), fake_triton()
    a.behaviour = b.behaviour = slow(0.01)
    triton = connected(a, b)
    expected = await ask(triton)
    going = asyncio.create_task(all_of(triton, 300, 4))
    while a.seen.accepted < 50:
        await asyncio.sleep(0.01)
    await asyncio.to_thread(a.stop)
    answers = await going
    assert len(answers) == 300
    assert all(np.array_equal(answer, expected) for answer in answers)
    alone = a.seen.accepted
    a.start()
    deadline = time.monotonic() + 10
    while a.seen.accepted == alone and time.monotonic() < deadline:
        await ask(triton)
        await asyncio.sleep(0.05)
    assert a.seen.accepted > alone


async def test_broken_connections_and_full_queues_are_asked_again(fake_triton, connected):
    server = fake_triton()
    triton = connected(server)
    expected = await ask(triton)
    server.next(queue_full, queue_full, queue_full, dropping, queue_full)
    assert np.array_equal(await ask(triton), expected)
    assert len(set(server.seen.ids)) == len(server.seen.ids)


async def test_requests_wait_for_a_server_that_was_restarted_and_questions_do_not(
    fake_triton, connected
):
    server = fake_triton()
    triton = connected(server)
    await ask(triton)
    await asyncio.to_thread(server.stop)
    waiting = [asyncio.create_task(ask(triton)) for _ in range(20)]
    await asyncio.sleep(0.5)
    began = time.monotonic()
    with pytest.raises(TritonUnavailable):
        await triton.repository()
    assert time.monotonic() - began < 1.5
    server.forget()
    server.start()
    await asyncio.gather(*waiting)
    assert server.seen.accepted == 20


async def test_patience_ends(fake_triton, connected):
    server = fake_triton()
    triton = connected(server, patience_s=1.0)
    server.stop()
    began = time.monotonic()
    with pytest.raises(TritonUnavailable, match=r"waited 1 s.*`lbclient runs resume <run>`"):
        await ask(triton)
    assert 0.9 < time.monotonic() - began < 3


async def test_cancelling_reaches_every_server(fake_triton, connected):
    a, b = fake_triton(), fake_triton()
    a.behaviour = b.behaviour = hanging
    triton = connected(a, b)
    asking = [asyncio.create_task(ask(triton)) for _ in range(6)]
    while a.seen.running + b.seen.running < 6:
        await asyncio.sleep(0.01)
    for task in asking:
        task.cancel()
    for server in (a, b):
        await asyncio.to_thread(server.wait_idle)
        assert (server.seen.cancelled, server.seen.answered) == (3, 0)


async def test_the_answer_of_another_request_is_refused(fake_triton, connected):
    server = fake_triton()
    server.next(other_id)
    with pytest.raises(ModelOutputInvalid, match="with the answer of not-"):
        await ask(connected(server))
    assert server.seen.accepted == 1


async def test_a_deadline_is_not_tried_again(fake_triton, connected):
    """Fault A22: what did not answer in time would compute it twice."""
    server = fake_triton()
    server.behaviour = slow(5)
    triton = connected(server)
    deadline = asyncio.get_running_loop().time() + 0.5
    began = time.monotonic()
    with pytest.raises(InferenceDeadline):
        await run_bounded((lambda: ask(triton, deadline=deadline) for _ in range(20)), 4)
    assert time.monotonic() - began < 2
    await asyncio.to_thread(server.wait_idle)
    assert server.seen.accepted == server.seen.most_running == server.seen.cancelled == 4


CLIENT = """
import asyncio, sys
import numpy as np
from lookbench_inference.batching import run_bounded
from lookbench_inference.endpoints import connect

async def main(url):
    triton = connect(url)
    deadline = asyncio.get_running_loop().time() + 0.5
    pixels = {"pixels": np.zeros((1, 8, 8, 3), np.uint8)}
    ask = lambda: triton.infer("mean-colour", pixels, "embedding", 60.0, deadline)
    await run_bounded((ask for _ in range(20)), 4)

asyncio.run(main(sys.argv[1]))
"""


def test_nothing_is_asked_after_the_client_has_gone(fake_triton):
    """Fault A22, with its figures: 5 s, 0.5 s, 20 queries, 4 at once."""
    server = fake_triton()
    server.behaviour = slow(5)
    began = time.monotonic()
    command = [sys.executable, "-c", CLIENT, server.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    ended = time.monotonic()
    assert ended - began < 5
    assert done.returncode == 1
    assert "InferenceDeadline" in done.stderr
    server.wait_idle()
    time.sleep(0.5)
    assert server.seen.most_running <= 4
    assert max(server.seen.accepted_at) < ended
    assert server.seen.answered == 0


# Shared memory


async def test_numbers_do_not_depend_on_how_inputs_travel(fake_triton, connected):
    server = fake_triton()
    through = connected(server, shared_memory="on", region_bytes=MANY.nbytes)
    apart = connected(server, shared_memory="off")
    await through.check_shared_memory()
    answers = [await ask(triton, MANY) for triton in (through, apart)]
    assert server.seen.in_shared_memory == 1
    assert answers[0].tobytes() == answers[1].tobytes()
    assert len(regions()) == len(server.regions) == 1
    await through.close()
    assert regions() == []
    assert server.regions == {}


async def test_a_server_that_was_restarted_is_told_of_the_regions_again(fake_triton, connected):
    server = fake_triton()
    triton = connected(server, region_bytes=MANY.nbytes)
    expected = await ask(triton, MANY)
    server.regions.clear()
    for shared in (1, 2):  # the first travels in a message
        assert np.array_equal(await ask(triton, MANY), expected)
        assert server.seen.in_shared_memory == shared
    await asyncio.to_thread(server.stop)
    server.start()
    for _ in range(3):
        assert np.array_equal(await ask(triton, MANY), expected)
    assert server.seen.in_shared_memory == 4


async def test_requests_at_once_do_not_share_a_region(fake_triton, connected):
    server = fake_triton()
    server.behaviour = slow(0.02)
    triton = connected(server, region_bytes=MANY.nbytes, most_regions=3)
    apart = connected(server, shared_memory="off")
    batches = [np.roll(MANY, shift, axis=0) for shift in range(12)]
    together = await asyncio.gather(*(ask(triton, batch) for batch in batches))
    for batch, answer in zip(batches, together, strict=True):
        assert np.array_equal(answer, await ask(apart, batch))
    assert len(server.regions) == 3


async def test_a_server_that_cannot_open_regions_is_asked_by_message_or_refused(
    fake_triton, connected
):
    server = fake_triton()
    server.takes_shared_memory = False
    auto = connected(server, region_bytes=MANY.nbytes)
    assert (await ask(auto, MANY)).shape == (512, 12)
    await auto.check_shared_memory()
    wanted = connected(server, shared_memory="on", region_bytes=MANY.nbytes)
    with pytest.raises(SharedMemoryUnavailable, match="Unable to open shared memory region"):
        await wanted.check_shared_memory()


HOLDER = """
import asyncio, os, sys
import numpy as np
from lookbench_inference.endpoints import connect

async def main(url):
    pixels = {"pixels": np.zeros((512, 8, 8, 3), np.uint8)}
    triton = connect(url, region_bytes=pixels["pixels"].nbytes)
    await triton.infer("mean-colour", pixels, "embedding", 60.0)
    print("asked", flush=True)
    sys.stdin.read()

asyncio.run(main(sys.argv[1]))
"""


@pytest.fixture
def holder(fake_triton):
    """A process with a region at a server, which it keeps until it is killed."""
    server = fake_triton()
    command = [sys.executable, "-c", HOLDER, server.url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"asked\n"
        yield process, server
        process.kill()


async def test_memory_of_a_killed_client_is_given_back_by_the_next(holder, connected):
    process, server = holder
    (left,) = regions(process.pid)
    first = connected(server, region_bytes=MANY.nbytes)
    await ask(first, MANY)
    assert regions(process.pid) == [left]
    assert left in server.regions
    process.kill()
    process.wait()
    await first.close()
    second = connected(server, region_bytes=MANY.nbytes)
    assert regions(process.pid) == []
    await ask(second, MANY)
    assert list(server.regions) == regions()


async def test_requests_too_small_to_gain_travel_in_the_message(fake_triton, connected):
    server = fake_triton()
    assert PIXELS.nbytes < SMALLEST_BYTES
    await ask(connected(server))
    assert server.seen.in_shared_memory == 0
    assert regions() == []
