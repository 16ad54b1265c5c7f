import asyncio
from random import Random

import pytest
from virtual_time import in_virtual_time, now

from lookbench_inference.errors import (
    InferenceDeadline,
    ModelNotReady,
    ModelProcessDead,
    TritonBusy,
    TritonUnavailable,
)
from lookbench_inference.retries import RetryPolicy, Tries, out_of_patience

AWAY = TritonUnavailable("Triton at t:1 does not answer", url="t:1")
BUSY = TritonBusy("Triton at t:1 takes no more requests", url="t:1")


def tries(deadline=None, seed=0, **policy):
    return Tries(RetryPolicy(**policy), Random(seed), "m", deadline)


async def until_it_gives_up(attempts, error):
    """When each pause ended, and what was raised in the end."""
    ends = []
    try:
        while True:
            await attempts.pause_after(error)
            ends.append(now())
    except Exception as raised:
        return ends, raised


def test_pauses_are_drawn_below_a_bound_that_doubles_up_to_the_longest():
    policy, random = RetryPolicy(first_pause_s=0.1, longest_pause_s=5.0), Random(1)
    drawn = {n: [policy.pause_s(n, random) for _ in range(500)] for n in (1, 2, 5, 9, 2000)}
    for failures, bound in {1: 0.1, 2: 0.2, 5: 1.6, 9: 5.0, 2000: 5.0}.items():
        assert 0 <= min(drawn[failures]) < 0.05 * bound
        assert 0.95 * bound < max(drawn[failures]) <= bound


def test_the_seed_decides_the_pauses():
    ends = [in_virtual_time(until_it_gives_up(tries(seed=seed), BUSY))[0] for seed in (3, 3, 4)]
    assert ends[0] == ends[1] != ends[2]


def test_a_busy_server_is_asked_again_until_patience_ends():
    ends, error = in_virtual_time(until_it_gives_up(tries(patience_s=60), BUSY))
    assert 12 < len(ends) < 60
    assert ends[-1] == 60
    assert type(error) is TritonBusy
    assert "waited 60 s" in error.message
    assert "`lbclient runs resume <run>`" in error.message
    assert error.metadata["url"] == "t:1"
    assert error.metadata["waited_s"] == "60.0"


def test_a_request_may_lose_only_so_many_servers_and_does_not_pause_for_them():
    """Whoever waits for a server waits at the breaker; here it is only counted."""
    ends, error = in_virtual_time(until_it_gives_up(tries(most_losses=4), AWAY))
    assert ends == [0, 0, 0]
    assert type(error) is TritonUnavailable
    assert "tried 4 times" in error.message


@pytest.mark.parametrize("error", [ModelNotReady("x"), AWAY])
def test_a_model_that_is_away_counts_as_a_loss(error):
    ends, raised = in_virtual_time(until_it_gives_up(tries(most_losses=2), error))
    assert len(ends) == 1
    assert type(raised) is type(error)


def test_a_dead_process_of_a_model_is_waited_for():
    ends, raised = in_virtual_time(
        until_it_gives_up(tries(patience_s=30, most_losses=1), ModelProcessDead("stub"))
    )
    assert len(ends) > 5
    assert type(raised) is ModelProcessDead


def test_no_pause_and_no_try_goes_beyond_the_deadline():
    async def main():
        attempts = tries(deadline=2.0, first_pause_s=5.0)
        assert attempts.timeout_s(60) == 2.0
        assert attempts.timeout_s(0.5) == 0.5
        ends, error = await until_it_gives_up(attempts, BUSY)
        assert ends[-1] <= 2.0
        assert now() == 2.0
        assert type(error) is InferenceDeadline
        assert "takes no more requests" in error.message
        with pytest.raises(InferenceDeadline, match="before it was asked"):
            attempts.timeout_s(60)

    in_virtual_time(main())


def test_patience_counts_from_the_first_failure_not_from_the_first_try():
    async def main():
        attempts = tries(patience_s=10)
        await asyncio.sleep(100)
        assert attempts.until() == 110
        await asyncio.sleep(5)
        assert attempts.until() == 110

    in_virtual_time(main())


def test_without_patience_nothing_is_repeated():
    ends, error = in_virtual_time(until_it_gives_up(tries(patience_s=0), BUSY))
    assert ends == []
    assert type(error) is TritonBusy


def test_running_out_of_patience_keeps_the_kind_and_the_metadata():
    error = out_of_patience(ModelNotReady("m is away", model="m"), 12.34)
    assert type(error) is ModelNotReady
    assert error.message.startswith("m is away; waited 12 s. ")
    assert error.metadata == {"model": "m", "waited_s": "12.3"}
