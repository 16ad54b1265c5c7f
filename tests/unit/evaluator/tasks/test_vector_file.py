"""Vectors on disk: any order of writing, one shape, nothing after the end."""

import numpy as np
import pytest

from lookbench_evaluator.errors import StoreUnavailable
from lookbench_evaluator.retrieval.blocks import whole_file
from lookbench_evaluator.tasks.vector_file import VectorFile

VECTORS = np.random.default_rng(0).standard_normal((10, 3)).astype(np.float32)


def test_rows_written_in_any_order_are_a_npy_file(tmp_path):
    path = tmp_path / "v.npy"
    with VectorFile(path, 10, 3) as file:
        file.write(6, VECTORS[6:])
        file.write(0, VECTORS[:6])
        assert np.array_equal(file.read(4, 8), VECTORS[4:8])
    assert np.array_equal(np.load(path), VECTORS)
    assert np.array_equal(whole_file(path), VECTORS)


def test_opened_again_it_still_holds_what_was_written(tmp_path):
    path = tmp_path / "v.npy"
    with VectorFile(path, 10, 3) as file:
        file.write(2, VECTORS[2:4])
    with VectorFile(path, 10, 3) as file:
        assert np.array_equal(file.read(2, 4), VECTORS[2:4])
        assert not file.read(0, 2).any()


@pytest.mark.parametrize("shape", [(11, 3), (10, 4), (15, 2)])
def test_a_file_of_another_shape_is_begun_anew(tmp_path, shape):
    path = tmp_path / "v.npy"
    with VectorFile(path, 10, 3) as file:
        file.write(0, VECTORS)
    with VectorFile(path, *shape) as file:
        assert not file.read(0, shape[0]).any()


def test_an_empty_collection_has_a_file_too(tmp_path):
    with VectorFile(tmp_path / "v.npy", 0, 3):
        pass
    assert np.load(tmp_path / "v.npy").shape == (0, 3)


def test_the_space_is_reserved_at_once(tmp_path):
    with VectorFile(tmp_path / "v.npy", 1000, 1000):
        assert (tmp_path / "v.npy").stat().st_blocks * 512 >= 4_000_000


def test_a_disk_that_is_too_small_is_named_before_anything_is_written(tmp_path):
    with pytest.raises(StoreUnavailable, match=r"v\.npy: .*free space there.*resume the run"):
        VectorFile(tmp_path / "v.npy", 1 << 40, 1 << 10)


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(StoreUnavailable, match="No such file or directory"):
        VectorFile(tmp_path / "none/v.npy", 1, 1)


def test_a_closed_file_takes_nothing_more(tmp_path):
    """Its descriptor may belong to another file by then."""
    with VectorFile(tmp_path / "v.npy", 10, 3) as file:
        pass
    with (tmp_path / "other").open("w+b") as other:
        with pytest.raises(ValueError, match="closed"):
            file.write(0, VECTORS)
        assert other.read() == b""
