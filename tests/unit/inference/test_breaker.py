import asyncio
from random import Random

import pytest
import structlog
from virtual_time import in_virtual_time, now

from lookbench_inference.breaker import Breaker


class Probes:
    """A probe that finds `part` well from a moment on, and remembers when it was asked."""

    def __init__(self, well_at):
        self.well_at = well_at
        self.asked = []

    async def __call__(self, part):
        self.asked.append((now(), part))
        await asyncio.sleep(0.01)
        return "" if now() >= self.well_at[part] else f"{part} away at {now():.0f}"


def test_a_part_is_in_use_until_it_trips_and_again_once_a_probe_finds_it_well():
    async def main():
        breaker = Breaker(Probes({"a": 3.0}), Random(0))
        assert breaker.problem("a") == ""
        breaker.trip("a", "refused")
        assert breaker.problem("a") == "refused"
        assert breaker.problem("b") == ""
        await asyncio.sleep(2.9)
        assert breaker.problem("a").startswith("a away")
        await asyncio.sleep(2.2)
        assert breaker.problem("a") == ""
        await breaker.close()

    in_virtual_time(main())


def test_one_prober_asks_at_intervals_of_a_fifth_to_two_seconds_however_many_wait():
    async def main():
        probes = Probes({"a": 60.0})
        breaker = Breaker(probes, Random(0))
        for _ in range(50):
            breaker.trip("a", "refused")
        find = lambda: None if breaker.problem("a") else "a"  # noqa: E731
        found = await asyncio.gather(*(breaker.wait(find, 100.0) for _ in range(200)))
        assert found == ["a"] * 200
        assert 60 <= now() < 62.1
        return [moment for moment, _ in probes.asked]

    asked = in_virtual_time(main())
    pauses = [later - sooner - 0.01 for sooner, later in zip([-0.01, *asked], asked, strict=False)]
    assert min(pauses) >= 0.2
    assert max(pauses) <= 2.0
    assert len(set(pauses)) == len(pauses)
    assert len(asked) < 80


def test_the_prober_rests_when_all_is_well():
    async def main():
        probes = Probes({"a": 1.0})
        breaker = Breaker(probes, Random(0))
        breaker.trip("a", "refused")
        await asyncio.sleep(10)
        asked = len(probes.asked)
        await asyncio.sleep(1000)
        assert len(probes.asked) == asked
        probes.well_at["a"] = 1015.0
        breaker.trip("a", "refused again")
        await asyncio.sleep(10)
        assert breaker.problem("a") == ""

    in_virtual_time(main())


def test_waiting_ends_at_its_time():
    async def main():
        breaker = Breaker(Probes({"a": 1e9}), Random(0))
        breaker.trip("a", "refused")
        with pytest.raises(TimeoutError):
            await breaker.wait(lambda: None, 7.5)
        assert now() == 7.5
        await breaker.close()

    in_virtual_time(main())


def test_a_probe_that_breaks_does_not_end_probing():
    async def main():
        answers = iter([ValueError("odd"), "", ""])

        async def probe(part):
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        breaker = Breaker(probe, Random(0))
        with structlog.testing.capture_logs():
            breaker.trip("a", "refused")
            await asyncio.sleep(0.45)
            assert breaker.problem("a") == "unexpected ValueError while asking"
            await asyncio.sleep(5)
        assert breaker.problem("a") == ""

    in_virtual_time(main())


def test_one_line_tells_that_a_part_is_left_out_and_one_that_it_is_back():
    async def main():
        breaker = Breaker(Probes({"a": 3.0}), Random(0))
        with structlog.testing.capture_logs() as lines:
            for _ in range(5):
                breaker.trip("a", "refused")
            await asyncio.sleep(10)
        return lines

    left_out, back = in_virtual_time(main())
    assert (left_out["log_level"], left_out["part"]) == ("warning", "a")
    assert left_out["problem"] == "refused"
    assert back["part"] == "a"
    assert 3.0 <= back["after_s"] <= 5.1
