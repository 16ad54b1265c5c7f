"""What is served where: contracts, readiness, shared memory and addresses of several servers."""

import asyncio
from random import Random

import pytest
from scripted_servers import CONTRACT, OTHER, Server, ask, together
from virtual_time import in_virtual_time, now

from lookbench_inference.endpoints import Endpoint, Part, TritonEndpoints, addresses
from lookbench_inference.errors import (
    ModelContractMismatch,
    ModelNotReady,
    SharedMemoryUnavailable,
    TritonUnavailable,
)
from lookbench_inference.retries import RetryPolicy
from lookbench_inference.shared_memory import RegionUnknown


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
