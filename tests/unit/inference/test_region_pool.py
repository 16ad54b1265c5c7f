import asyncio
import errno
import shutil
from collections import namedtuple

import numpy as np
import pytest
import structlog
from virtual_time import in_virtual_time, now

from lookbench_inference import region_pool
from lookbench_inference.errors import SharedMemoryUnavailable, TritonUnavailable
from lookbench_inference.region_pool import RegionPool
from lookbench_inference.shared_memory import PREFIX, RegionRefused

SIZE = 256 << 10
FULL = {"x": np.ones(SIZE, np.uint8)}


class Server:
    """Triton's side: what it knows, and what it says next."""

    url = "127.0.0.1:1"

    def __init__(self):
        self.known = []
        self.in_use = {}
        self.error = None

    async def register(self, region):
        if self.error:
            raise self.error
        self.known.append(region.name)

    async def unregister(self, name):
        if self.error:
            raise self.error
        if self.in_use.get(name, 0) > now():
            raise RegionRefused("it is currently in use")
        self.known.remove(name)

    async def regions(self):
        return list(self.known)


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def make_pool(server, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(64 << 20, 0, 64 << 20))
    return lambda most=2: RegionPool(server, SIZE, most, tmp_path)


def test_a_region_is_made_and_registered_once_and_used_again(server, make_pool, tmp_path):
    async def main():
        pool = make_pool()
        names = set()
        for _ in range(5):
            async with pool.lent(FULL) as region:
                names.add(region.name)
        assert list(names) == server.known == [p.name for p in tmp_path.iterdir()]
        await pool.close()

    in_virtual_time(main())
    assert server.known == []
    assert list(tmp_path.iterdir()) == []


def test_requests_at_once_have_regions_of_their_own_and_those_beyond_go_by_message(make_pool):
    async def main():
        pool = make_pool(most=2)
        async with pool.lent(FULL) as a, pool.lent(FULL) as b, pool.lent(FULL) as c:
            assert a.name != b.name
            assert c is None
        async with pool.lent(FULL) as again:
            assert again in (a, b)
        await pool.close()

    in_virtual_time(main())


@pytest.mark.parametrize("size", [1, region_pool.SMALLEST_BYTES - 64, SIZE + 1])
def test_what_is_small_or_too_large_goes_by_message(make_pool, server, size):
    async def main():
        async with make_pool().lent({"x": np.ones(size, np.uint8)}) as region:
            assert region is None

    in_virtual_time(main())
    assert server.known == []


def test_a_server_that_refuses_gets_messages_and_the_log_says_so_once(make_pool, server, tmp_path):
    server.error = RegionRefused("Unable to open shared memory region")

    async def main():
        pool = make_pool()
        for _ in range(4):
            async with pool.lent(FULL) as region:
                assert region is None
        await pool.close()

    with structlog.testing.capture_logs() as lines:
        in_virtual_time(main())
    (line,) = lines
    assert "Unable to open shared memory region" in line["problem"]
    assert line["url"] == server.url
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.ENOENT])
def test_a_folder_that_is_full_or_not_to_be_used_means_messages(make_pool, monkeypatch, number):
    def fails(*_):
        raise OSError(number, "no")

    monkeypatch.setattr(region_pool, "Region", fails)

    async def main():
        pool = make_pool()
        for _ in range(4):
            async with pool.lent(FULL) as region:
                assert region is None

    with structlog.testing.capture_logs() as lines:
        in_virtual_time(main())
    assert len(lines) == 1


def test_a_quarter_of_the_memory_is_left_to_the_server(server, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(4 * SIZE, 0, 2 * SIZE - 1))

    async def main():
        async with RegionPool(server, SIZE, 2, tmp_path).lent(FULL) as region:
            assert region is None

    with structlog.testing.capture_logs() as lines:
        in_virtual_time(main())
    assert "nearly full" in lines[0]["problem"]


def test_a_server_that_is_away_is_no_reason_to_do_without(make_pool, server):
    async def main():
        pool = make_pool(most=1)
        server.error = TritonUnavailable("away")
        with pytest.raises(TritonUnavailable):
            async with pool.lent(FULL):
                pass
        server.error = None
        async with pool.lent(FULL) as region:
            assert region.name in server.known
        await pool.close()

    in_virtual_time(main())


def test_a_server_that_forgot_a_region_is_told_again(make_pool, server):
    async def main():
        pool = make_pool()
        async with pool.lent(FULL) as region:
            pass
        server.known.clear()
        region.registered = False
        async with pool.lent(FULL) as again:
            assert again is region
            assert server.known == [region.name]
        await pool.close()

    in_virtual_time(main())


def test_what_killed_evaluators_left_is_removed_here_and_at_the_server(make_pool, server, tmp_path):
    dead, others = f"{PREFIX}1-dead", "somebody-elses"
    (tmp_path / dead).write_bytes(b"x")
    server.known = [dead, others]

    async def main():
        pool = make_pool()
        assert list(tmp_path.iterdir()) == []
        async with pool.lent(FULL) as region:
            assert server.known == [others, region.name]
        await pool.close()

    in_virtual_time(main())
    assert server.known == [others]


def test_a_region_in_use_is_left_to_the_server_after_a_short_while(make_pool, server, tmp_path):
    async def main():
        pool = make_pool()
        async with pool.lent(FULL) as short, pool.lent(FULL) as long:
            pass
        server.in_use = {short.name: now() + 0.25, long.name: now() + 1000}
        await pool.close()
        assert now() < 1
        return long.name

    assert server.known == [in_virtual_time(main())]
    assert list(tmp_path.iterdir()) == []


def test_closing_while_the_server_is_away_or_a_region_is_lent_leaves_no_file(
    make_pool, server, tmp_path
):
    async def main():
        pool = make_pool()
        async with pool.lent(FULL), pool.lent(FULL):
            pass
        async with pool.lent(FULL):
            server.error = TritonUnavailable("away")
            await pool.close()
            assert len(list(tmp_path.iterdir())) == 1

    in_virtual_time(main())
    assert list(tmp_path.iterdir()) == []


def test_cancelling_a_request_gives_its_region_back(make_pool):
    async def main():
        pool = make_pool(most=1)

        async def hold():
            async with pool.lent(FULL):
                await asyncio.sleep(1000)

        task = asyncio.create_task(hold())
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with pool.lent(FULL) as region:
            assert region is not None
        await pool.close()

    in_virtual_time(main())


def test_the_check_says_what_is_wrong_and_what_to_do(make_pool, server):
    async def main():
        pool = make_pool()
        await pool.check()
        await pool.check()
        assert len(server.known) == 2  # registering once more does no harm
        server.error = RegionRefused("Unable to open shared memory region: 'k'")
        with pytest.raises(SharedMemoryUnavailable) as caught:
            await pool.check()
        server.error = None
        await pool.close()
        return caught.value.message

    message = in_virtual_time(main())
    assert "Triton at 127.0.0.1:1" in message
    assert "Unable to open shared memory region: 'k'" in message
    assert "shared_memory=auto" in message
