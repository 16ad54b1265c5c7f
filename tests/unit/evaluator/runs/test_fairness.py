"""The order of turns between callers."""

import asyncio

from lookbench_evaluator.runs.fairness import FairQueue


async def turns(queue, count):
    """Runs in the order of their turns, one at a time."""
    order = []
    for _ in range(count):
        caller, run_id = await asyncio.wait_for(queue.get(), 1)
        order.append(run_id)
        queue.done(caller)
    return order


async def test_one_caller_is_served_in_order():
    queue = FairQueue()
    for number in range(3):
        queue.put("a", f"a{number}")
    assert await turns(queue, 3) == ["a0", "a1", "a2"]


async def test_a_caller_with_one_run_does_not_wait_for_anothers_hundred():
    queue = FairQueue()
    for number in range(100):
        queue.put("a", f"a{number}")
    assert await turns(queue, 1) == ["a0"]
    queue.put("b", "b0")
    assert await turns(queue, 2) == ["b0", "a1"]


async def test_callers_alternate():
    queue = FairQueue()
    for number in range(3):
        for caller in "abc":
            queue.put(caller, f"{caller}{number}")
    assert await turns(queue, 9) == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]


async def test_who_has_runs_under_way_waits_for_who_has_none():
    queue = FairQueue()
    for number in range(3):
        queue.put("a", f"a{number}")
    first = await queue.get()
    second = await queue.get()
    queue.put("b", "b0")
    assert (first, second, await queue.get()) == (("a", "a0"), ("a", "a1"), ("b", "b0"))
    queue.done("a")
    queue.done("a")
    assert await queue.get() == ("a", "a2")


async def test_a_run_is_queued_once():
    queue = FairQueue()
    queue.put("a", "a0")
    queue.put("a", "a0")
    queue.put("a", "a1")
    assert await turns(queue, 2) == ["a0", "a1"]


async def test_waiting_for_a_run_ends_when_there_is_one():
    queue = FairQueue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.put("a", "a0")
    assert await asyncio.wait_for(waiting, 1) == ("a", "a0")


async def test_several_waiters_get_a_run_each():
    queue = FairQueue()
    waiting = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.put("a", "a0")
    queue.put("a", "a1")
    assert sorted(await asyncio.wait_for(asyncio.gather(*waiting), 1)) == [
        ("a", "a0"),
        ("a", "a1"),
    ]


async def test_callers_who_have_gone_are_forgotten():
    queue = FairQueue()
    for number in range(10):
        queue.put(f"caller-{number}", "r")
    await turns(queue, 10)
    assert (len(queue._under_way), len(queue._last_turn), len(queue._waiting)) == (0, 0, 0)
