import numpy as np
import pytest

from lookbench_evaluator.retrieval.blocks import of_array, of_file
from lookbench_evaluator.retrieval.errors import InvalidVectors

VECTORS = np.arange(70, dtype=np.float32).reshape(10, 7)


@pytest.mark.parametrize("rows", [1, 3, 10, 99])
def test_array_and_file_are_cut_alike(tmp_path, rows):
    path = tmp_path / "gallery.npy"
    np.save(path, VECTORS)
    for blocks in (of_array(VECTORS, rows), of_file(path, rows)):
        starts, parts = zip(*blocks, strict=True)
        assert list(starts) == list(range(0, 10, rows))
        assert np.concatenate(parts).tolist() == VECTORS.tolist()


@pytest.mark.parametrize(
    "array", [VECTORS.astype(np.float64), VECTORS[0], np.asfortranarray(VECTORS)]
)
def test_a_file_of_another_layout_is_refused_by_name(tmp_path, array):
    path = tmp_path / "gallery.npy"
    np.save(path, array)
    with pytest.raises(InvalidVectors, match=r"gallery\.npy holds"):
        list(of_file(path))


def test_a_file_that_was_cut_short_is_refused(tmp_path):
    path = tmp_path / "gallery.npy"
    np.save(path, VECTORS)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InvalidVectors, match="ends within row 8 of 10"):
        list(of_file(path))


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "gallery.npy"
    path.write_text("id,vector\n")
    with pytest.raises(InvalidVectors, match=r"no \.npy file"):
        list(of_file(path))
