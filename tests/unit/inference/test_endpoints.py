import asyncio
from collections import Counter
from itertools import chain, pairwise

import pytest
from scripted_servers import Server, ask, together
from virtual_time import in_virtual_time, now

from lookbench_inference.errors import (
    InferenceDeadline,
    InferenceFailed,
    ModelContractMismatch,
    ModelOutputInvalid,
    ModelProcessDead,
    TritonBusy,
    TritonUnavailable,
)

# Balance


def test_requests_one_after_the_other_take_turns():
    async def main():
        triton = together(Server("a"), Server("b"), Server("c"))
        return [await ask(triton) for _ in range(9)]

    assert in_virtual_time(main()) == ["a", "b", "c"] * 3


@pytest.mark.parametrize("at_once", [1, 4, 7])
def test_of_three_hundred_requests_two_equal_servers_get_half_each(at_once):
    async def main():
        triton, todo = together(Server("a"), Server("b")), iter(range(300))

        async def work():
            return [await ask(triton) for _ in todo]

        return await asyncio.gather(*(work() for _ in range(at_once)))

    assert min(Counter(chain(*in_virtual_time(main()))).values()) >= 145


def test_a_server_that_is_slower_gets_fewer():
    async def main():
        slow, quick = Server("slow", takes_s=0.3), Server("quick", takes_s=0.1)
        triton, todo = together(slow, quick), iter(range(200))

        async def work():
            for _ in todo:
                await ask(triton)

        await asyncio.gather(*(work() for _ in range(4)))
        return len(slow.asked), len(quick.asked), slow.most_running

    slow, quick, most = in_virtual_time(main())
    assert 40 < slow < 70
    assert quick == 200 - slow
    assert most <= 2


# Failures


def test_when_one_server_goes_its_requests_go_to_the_other():
    async def main():
        a, b = Server("a", away=(5.0, 1e9)), Server("b")
        triton = together(a, b)
        answers = []
        while now() < 60:
            answers.append(await ask(triton))
            await asyncio.sleep(0.1)
        assert a.asked[-1] < 5.2
        await triton.close()
        return answers

    answers = in_virtual_time(main())
    assert set(answers[60:]) == {"b"}


def test_a_server_that_comes_back_is_used_again():
    async def main():
        a, b = Server("a", away=(0.0, 10.0)), Server("b")
        triton = together(a, b)
        while now() < 30:
            await ask(triton)
        return a.asked

    asked = in_virtual_time(main())
    assert asked[0] == 0
    assert 10.0 <= asked[1] < 12.1


def test_while_all_are_away_requests_wait_without_asking_and_then_all_proceed():
    async def main():
        a, b = Server("a", away=(0.0, 20.0)), Server("b", away=(0.0, 30.0))
        triton = together(a, b, patience_s=60)
        answers = await asyncio.gather(*(ask(triton) for _ in range(8)))
        assert 20 <= now() < 22.2
        assert [moment for moment in a.asked + b.asked if moment < 20] == [0, 0]
        await triton.close()
        return answers

    assert set(in_virtual_time(main())) == {"a"}


def test_new_requests_do_not_touch_servers_that_are_known_to_be_away():
    async def main():
        a = Server("a", away=(0.0, 20.0))
        triton = together(a)
        first = asyncio.create_task(ask(triton))
        await asyncio.sleep(1)
        await asyncio.gather(first, *(ask(triton) for _ in range(50)))
        assert [moment for moment in a.asked if moment < 20] == [0.0]

    in_virtual_time(main())


def test_longer_than_patience_ends_in_unavailable_that_says_how_to_go_on():
    async def main():
        triton = together(Server("a", away=(0.0, 1e9)), Server("b", away=(0, 1e9)), patience_s=5)
        with pytest.raises(TritonUnavailable) as caught:
            await ask(triton)
        assert now() == 5.0
        await triton.close()
        return caught.value

    error = in_virtual_time(main())
    assert "Triton at a does not answer; Triton at b does not answer" in error.message
    assert "waited 5 s" in error.message
    assert "`lbclient runs resume <run>`" in error.message
    assert type(error) is TritonUnavailable


def test_a_deadline_ends_the_waiting_too():
    async def main():
        triton = together(Server("a", away=(0.0, 1e9)), patience_s=60)
        with pytest.raises(InferenceDeadline, match="does not answer"):
            await ask(triton, deadline=3.0)
        assert now() == 3.0
        await triton.close()

    in_virtual_time(main())


def test_each_try_gets_what_is_left_of_the_deadline():
    async def main():
        a = Server("a", away=(0.0, 7.0))
        await ask(together(a), timeout_s=8.0, deadline=10.0)
        return a.timeouts, a.asked

    timeouts, asked = in_virtual_time(main())
    assert timeouts == [8.0, 10.0 - asked[1]]


def test_a_full_queue_is_asked_again_after_growing_pauses():
    async def main():
        a = Server("a")
        a.errors = [TritonBusy("full") for _ in range(8)]
        assert await ask(together(a)) == "a"
        return a.asked

    asked = in_virtual_time(main())
    assert len(asked) == 9
    assert 1 < asked[-1] < 13


def test_a_dead_process_is_asked_again_and_other_failures_are_not():
    async def main():
        a = Server("a")
        a.errors = [ModelProcessDead("stub"), InferenceFailed("the graph divides by zero")]
        with pytest.raises(InferenceFailed, match="divides"):
            await ask(together(a))
        return len(a.asked)

    assert in_virtual_time(main()) == 2


@pytest.mark.parametrize(
    "error", [ModelContractMismatch("refused"), InferenceDeadline("late"), ModelOutputInvalid("id")]
)
def test_what_a_repeat_cannot_mend_is_asked_once(error):
    async def main():
        a, b = Server("a"), Server("b")
        a.errors = [error]
        with pytest.raises(type(error)):
            await ask(together(a, b))
        return len(a.asked) + len(b.asked)

    assert in_virtual_time(main()) == 1


def test_a_request_that_ends_every_server_it_meets_is_given_up():
    async def main():
        a = Server("a")
        a.errors = [TritonUnavailable("Socket closed") for _ in range(100)]
        with pytest.raises(TritonUnavailable, match="tried 4 times"):
            await ask(together(a, most_losses=4))
        return a.asked

    asked = in_virtual_time(main())
    assert len(asked) == 4
    assert all(later - sooner >= 0.2 for sooner, later in pairwise(asked))


def test_cancelling_reaches_the_server_and_frees_its_place():
    async def main():
        a = Server("a", takes_s=1000)
        triton = together(a)
        asking = [asyncio.create_task(ask(triton)) for _ in range(3)]
        await asyncio.sleep(1)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        a.takes_s = 0.01
        assert (a.cancelled, a.running) == (3, 0)
        await ask(triton)

    in_virtual_time(main())
