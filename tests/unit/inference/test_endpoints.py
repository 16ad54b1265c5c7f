import asyncio
from collections import Counter
from itertools import chain, pairwise
from random import Random

import numpy as np
import pytest
from virtual_time import in_virtual_time, now

from lookbench_inference.endpoints import Endpoint, Part, TritonEndpoints, addresses
from lookbench_inference.errors import (
    InferenceDeadline,
    InferenceFailed,
    ModelContractMismatch,
    ModelNotReady,
    ModelOutputInvalid,
    ModelProcessDead,
    SharedMemoryUnavailable,
    TritonBusy,
    TritonUnavailable,
)
from lookbench_inference.retries import RetryPolicy
from lookbench_inference.shared_memory import RegionUnknown
from lookbench_inference.triton import ModelContract, RepositoryEntry, TensorContract

CONTRACT = ModelContract(
    ("1",),
    "sha256:0",
    {"x": TensorContract("FP32", (-1, 2))},
    {"y": TensorContract("FP32", (-1, 2))},
)
OTHER = ModelContract(("1",), "sha256:1", CONTRACT.inputs, CONTRACT.outputs)
INPUTS = {"x": np.zeros((1, 2), np.float32)}


class Server:
    """What a TritonClient would say of a server, scripted.

    away: event-loop times between which it does not answer.
    errors: raised by the next requests.
    """

    def __init__(self, url, away=(0.0, 0.0), serves=("m",), contract=CONTRACT, takes_s=0.01):
        self.url, self.away, self.serves = url, away, set(serves)
        self.told, self.takes_s = contract, takes_s
        self.errors = []
        self.asked = []
        self.timeouts = []
        self.running = self.most_running = self.cancelled = 0
        self.closed = False

    def answer_or_raise(self):
        if self.away[0] <= now() < self.away[1]:
            raise TritonUnavailable(f"Triton at {self.url} does not answer", url=self.url)

    async def server_live(self):
        return not self.away[0] <= now() < self.away[1]

    server_ready = server_live

    async def model_ready(self, name):
        self.answer_or_raise()
        return name in self.serves

    async def contract(self, name):
        self.answer_or_raise()
        if name not in self.serves:
            raise ModelNotReady(f"Triton at {self.url} does not serve {name}")
        return self.told

    async def repository(self):
        self.answer_or_raise()
        return [RepositoryEntry(n, "1", n in self.serves, "") for n in sorted({"m", *self.serves})]

    async def infer(self, model, inputs, output, timeout_s, deadline=None, *, region=None):
        self.asked.append(now())
        self.timeouts.append(timeout_s)
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            self.answer_or_raise()
            if self.errors:
                raise self.errors.pop(0)
            if model not in self.serves:
                raise ModelNotReady(f"Triton at {self.url} does not serve {model}")
            await asyncio.sleep(min(self.takes_s, timeout_s))
            self.answer_or_raise()
            if self.takes_s > timeout_s:
                raise InferenceDeadline("too late")
            return self.url
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1

    async def close(self):
        self.closed = True


def together(*servers, seed=0, **policy):
    return TritonEndpoints([Endpoint(s) for s in servers], RetryPolicy(**policy), Random(seed))


def ask(triton, timeout_s=60.0, deadline=None, model="m"):
    return triton.infer(model, INPUTS, "y", timeout_s, deadline)


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


# Models


def test_requests_go_only_to_servers_that_serve_the_model():
    async def main():
        a, b = Server("a", serves=()), Server("b")
        triton = together(a, b)
        assert await triton.model_ready("m")
        answers = [await ask(triton) for _ in range(10)]
        await triton.close()
        return answers, a.asked

    assert in_virtual_time(main()) == (["b"] * 10, [])


def test_a_model_that_is_unloaded_is_waited_for_and_found_again():
    async def main():
        a = Server("a", serves=())
        triton = together(a)
        waiting = asyncio.create_task(ask(triton))
        await asyncio.sleep(10)
        a.serves.add("m")
        await waiting
        return now()

    assert 10 <= in_virtual_time(main()) < 12.1


def test_a_model_that_stays_away_is_named_in_the_end():
    async def main():
        triton = together(Server("a", serves=()), patience_s=5)
        with pytest.raises(ModelNotReady, match="does not serve m; waited 5 s"):
            await ask(triton)
        await triton.close()

    in_virtual_time(main())


def test_a_server_that_is_back_before_its_model_is_not_asked_for_it():
    async def main():
        a = Server("a", away=(0.0, 10.0), serves=())
        triton = together(a)
        waiting = asyncio.create_task(ask(triton))
        await asyncio.sleep(15)
        a.serves.add("m")
        await waiting
        return a.asked

    asked = in_virtual_time(main())
    assert len(asked) == 2
    assert asked[1] >= 15


def test_servers_that_disagree_are_named():
    async def main():
        triton = together(Server("a:1"), Server("b:2", contract=OTHER))
        with pytest.raises(ModelContractMismatch) as caught:
            await triton.contract("m")
        return caught.value.message

    message = in_virtual_time(main())
    assert "a:1 serves version 1, graph sha256:0" in message
    assert "b:2 serves version 1, graph sha256:1" in message
    assert "`lookbench-triton load m`" in message


def test_the_contract_is_that_of_the_servers_that_can_be_asked():
    async def main():
        triton = together(Server("a", away=(0, 1e9)), Server("b"), Server("c", serves=()))
        contract = await triton.contract("m")
        await triton.close()
        return contract

    assert in_virtual_time(main()) == CONTRACT


def test_a_server_that_comes_back_with_another_graph_is_not_asked():
    async def main():
        a, b = Server("a", away=(5.0, 10.0)), Server("b")
        triton = together(a, b)
        await triton.contract("m")
        while now() < 30:
            await ask(triton)
            await asyncio.sleep(0.1)
            if now() > 5:
                a.told = OTHER
        asked = len(a.asked)
        with pytest.raises(ModelContractMismatch):
            await triton.contract("m")
        b.told = OTHER
        await triton.contract("m")
        for _ in range(10):
            await ask(triton)
        await triton.close()
        return [moment for moment in a.asked[:asked] if moment > 5.2], len(a.asked) - asked

    assert in_virtual_time(main()) == ([], 5)


def test_a_model_is_ready_when_any_server_has_it_and_nobody_has_it_when_all_are_away():
    async def main():
        assert await together(Server("a", serves=()), Server("b")).model_ready("m")
        assert not await together(Server("a"), Server("b")).model_ready("other")
        assert await together(Server("a", away=(0, 1e9)), Server("b")).server_ready()
        away = together(Server("a", away=(0, 1e9)), Server("b", away=(0, 1e9)))
        with pytest.raises(TritonUnavailable, match=r"Triton at a .*; Triton at b"):
            await away.model_ready("m")
        with pytest.raises(ModelNotReady, match="no Triton of a, b serves other"):
            await together(Server("a"), Server("b")).contract("other")

    in_virtual_time(main())


def test_the_repository_is_that_of_all_servers():
    async def main():
        triton = together(Server("a", serves=("n",)), Server("b"), Server("c", away=(0, 1e9)))
        entries = await triton.repository()
        await triton.close()
        return [(entry.name, entry.ready) for entry in entries]

    assert in_virtual_time(main()) == [("m", True), ("n", True)]


def test_questions_are_answered_at_once_while_requests_wait():
    class Hung(Server):
        async def repository(self):
            await asyncio.sleep(1000)

    async def main():
        triton = together(Hung("a", away=(0, 1e9)))
        waiting = asyncio.create_task(ask(triton))
        await asyncio.sleep(1)
        with pytest.raises(TritonUnavailable):
            await triton.repository()
        assert now() == 2.0
        waiting.cancel()
        await triton.close()

    in_virtual_time(main())


# Shared memory


class Lender:
    """Lends itself as the region."""

    registered = True

    def __init__(self):
        self.checked = self.closed = False

    def lent(self, inputs):
        return self

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        pass

    async def check(self):
        self.checked = True

    async def close(self):
        self.closed = True


def test_a_server_that_forgot_the_region_gets_the_inputs_in_the_message():
    class Restarted(Server):
        regions = ()

        async def infer(self, *arguments, region=None, **options):
            self.regions += (region,)
            if region is not None:
                raise RegionUnknown("Unable to find shared memory region")
            return await super().infer(*arguments, **options)

    async def main():
        server, lender = Restarted("a"), Lender()
        triton = TritonEndpoints([Endpoint(server, lender)], RetryPolicy(), Random(0))
        assert await ask(triton) == "a"
        assert server.regions == (lender, None)
        assert not lender.registered
        await triton.close()
        assert lender.closed
        assert server.closed

    in_virtual_time(main())


def test_asking_for_shared_memory_is_checked_on_every_server():
    async def main():
        lender = Lender()
        near, far = Endpoint(Server("127.0.0.1:1"), lender), Endpoint(Server("gpu:1"))
        await TritonEndpoints([near, far]).check_shared_memory()
        assert not lender.checked
        with pytest.raises(SharedMemoryUnavailable, match="gpu:1, which is not on this host"):
            await TritonEndpoints([near, far], needs_shared_memory=True).check_shared_memory()
        assert lender.checked

    in_virtual_time(main())


# Addresses


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("127.0.0.1:8001", ["127.0.0.1:8001"]),
        (" a:1, b:2 ,a:1", ["a:1", "b:2"]),
        ("dns:///triton:8001,unix:/tmp/t.sock", ["dns:///triton:8001", "unix:/tmp/t.sock"]),
        ("dns://8.8.8.8/triton:8001", ["dns://8.8.8.8/triton:8001"]),
    ],
)
def test_addresses_are_separated_by_commas(given, expected):
    assert addresses(given) == expected


@pytest.mark.parametrize("given", ["", "a:1,", "http://a:8000", "grpc://a:1"])
def test_what_is_no_grpc_address_is_refused(given):
    with pytest.raises(ValueError, match="is no gRPC address: give host:port"):
        addresses(given)


def test_a_part_is_told_by_its_address_and_model():
    assert str(Part("a:1")) == "Triton at a:1"
    assert str(Part("a:1", "m")) == "model m at a:1"
