import errno
import os

import numpy as np
import pytest

from lookbench_inference.shared_memory import (
    PREFIX,
    Region,
    bytes_needed,
    is_local,
    known_here,
    remove_abandoned,
)

INPUTS = {
    "pixels": np.arange(75, dtype=np.uint8).reshape(1, 5, 5, 3),
    "ids": np.arange(6, dtype=np.int64).reshape(2, 3)[:, ::-1],
}


@pytest.fixture
def region(tmp_path):
    region = Region(4096, tmp_path)
    yield region
    region.remove()


def test_tensors_lie_one_after_the_other_at_multiples_of_64_bytes(region, tmp_path):
    offsets = region.fill(INPUTS)
    assert offsets == {"pixels": 0, "ids": 128}
    assert bytes_needed(INPUTS) == 128 + 64
    written = (tmp_path / region.name).read_bytes()
    assert written[:75] == INPUTS["pixels"].tobytes()
    assert written[128 : 128 + 48] == np.ascontiguousarray(INPUTS["ids"]).tobytes()


def test_a_region_is_filled_again_and_again(region, tmp_path):
    region.fill(INPUTS)
    region.fill({"pixels": np.full(128, 7, np.uint8)})
    assert (tmp_path / region.name).read_bytes()[:128] == b"\x07" * 128


def test_names_are_ours_carry_the_process_and_are_never_used_twice(tmp_path):
    regions = [Region(64, tmp_path) for _ in range(20)]
    assert len({region.name for region in regions}) == 20
    assert all(region.name.startswith(f"{PREFIX}{os.getpid()}-") for region in regions)
    assert all(region.key == f"/{region.name}" for region in regions)
    for region in regions:
        region.remove()
    assert list(tmp_path.iterdir()) == []


def test_memory_stands_behind_a_region_before_anything_is_written(region, tmp_path):
    """A sparse file would end the process with SIGBUS once /dev/shm is full."""
    assert (tmp_path / region.name).stat().st_blocks * 512 >= 4096


def test_nothing_is_left_of_a_region_for_which_there_is_no_room(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        Region(4096, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_only_regions_without_an_owner_are_removed(tmp_path):
    owned, left = Region(64, tmp_path), tmp_path / f"{PREFIX}1-dead"
    others = tmp_path / "lookbench_1_2_3_stub"
    left.write_bytes(b"x")
    others.write_bytes(b"x")
    assert remove_abandoned(tmp_path) == 1
    assert not left.exists()
    assert others.exists()
    assert (tmp_path / owned.name).exists()
    owned.remove()
    assert remove_abandoned(tmp_path / "absent") == 0


def test_a_file_that_was_taken_for_abandoned_before_it_was_locked_is_made_again(
    tmp_path, monkeypatch
):
    opened = os.open
    swept = []

    def open_and_sweep(path, *arguments):
        file = opened(path, *arguments)
        if not swept:
            swept.append(path)
            remove_abandoned(tmp_path)
        return file

    monkeypatch.setattr(os, "open", open_and_sweep)
    region = Region(64, tmp_path)
    assert (tmp_path / region.name).exists()
    region.remove()


def test_regions_of_ours_whose_file_is_gone_are_nobodys(region, tmp_path):
    assert known_here(region.name, tmp_path)
    assert known_here("somebody-elses", tmp_path)
    assert not known_here(f"{PREFIX}1-dead", tmp_path)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("127.0.0.1:8001", True),
        ("127.8.0.1:8001", True),
        ("localhost:8001", True),
        ("[::1]:8001", True),
        ("ipv4:127.0.0.1:8001", True),
        ("unix:/run/triton.sock", True),
        ("unix-abstract:triton", True),
        ("10.0.0.1:8001", False),
        ("triton:8001", False),
        ("dns:///localhost:8001", False),  # may be several servers
        ("localhost.example.com:8001", False),
    ],
)
def test_only_loopback_and_unix_sockets_are_of_this_host(url, local):
    assert is_local(url) is local
