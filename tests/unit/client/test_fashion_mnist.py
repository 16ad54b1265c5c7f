"""Making the data set available: verification, order of sources, nothing half-done."""

import gzip
import hashlib

import pytest

from lbclient import fashion_mnist
from lbclient.errors import FetchFailed

DATA = {name: name.encode() * 100 for name in fashion_mnist.CONTENT}


@pytest.fixture(autouse=True)
def small_content(monkeypatch, tmp_path):
    """Stands in for the released files: the same names with other digests."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in DATA.items()}
    monkeypatch.setattr(fashion_mnist, "CONTENT", digests)
    monkeypatch.setattr(fashion_mnist.problem_with, "__defaults__", (digests,))
    monkeypatch.setattr(fashion_mnist, "SYSTEM_FOLDER", tmp_path / "system")


def write(folder, *, compressed=True, damage=None):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in DATA.items():
        content = data[:-1] if name == damage else data
        if compressed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)
    return folder


def failing(draft):
    raise fashion_mnist._Unusable("is not here")


def test_data_is_recognised_compressed_and_not(tmp_path):
    assert fashion_mnist.problem_with(write(tmp_path / "a")) is None
    assert fashion_mnist.problem_with(write(tmp_path / "b", compressed=False)) is None


def test_changed_content_is_named_with_both_digests(tmp_path):
    folder = write(tmp_path / "a", damage="t10k-images-idx3-ubyte")
    problem = fashion_mnist.problem_with(folder)
    assert "t10k-images-idx3-ubyte.gz is not the released file" in problem
    assert fashion_mnist.CONTENT["t10k-images-idx3-ubyte"] in problem


def test_truncated_and_missing_files_are_named(tmp_path):
    folder = write(tmp_path / "a")
    path = folder / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-9])
    assert f"{path} cannot be read" in fashion_mnist.problem_with(folder)
    path.unlink()
    assert f"{path} does not exist" in fashion_mnist.problem_with(folder)


def test_what_is_there_is_not_fetched_again(tmp_path, monkeypatch):
    monkeypatch.setattr(fashion_mnist, "_SOURCES", {"never": failing})
    target = write(tmp_path / "data")
    assert fashion_mnist.fetch(target, lambda text: None) == target


def test_system_folder_is_used_where_it_stands(tmp_path):
    system = write(tmp_path / "system")
    assert fashion_mnist.locate(tmp_path / "data") == system
    assert fashion_mnist.locate(tmp_path / "system2") == system


def test_next_source_is_tried_when_one_fails_or_is_damaged(tmp_path, monkeypatch):
    damaged = write(tmp_path / "damaged", damage="train-labels-idx1-ubyte")
    good = write(tmp_path / "good")
    sources = {"a": failing, "b": lambda draft: damaged, "c": lambda draft: good}
    monkeypatch.setattr(fashion_mnist, "_SOURCES", sources)
    said = []
    target = fashion_mnist.fetch(tmp_path / "home" / "data", said.append)
    assert fashion_mnist.problem_with(target) is None
    assert said == ["trying a …", "trying b …", "trying c …"]
    assert [path.name for path in target.parent.iterdir()] == ["data"]


def test_failure_tells_every_outcome_and_what_to_do_by_hand(tmp_path, monkeypatch):
    monkeypatch.setattr(fashion_mnist, "_SOURCES", {"a": failing, "b": failing})
    target = tmp_path / "data"
    with pytest.raises(FetchFailed) as caught:
        fashion_mnist.fetch(target, lambda text: None)
    text = caught.value.message
    assert "  a: is not here\n  b: is not here" in text
    assert "apt-get update && apt-get install dataset-fashion-mnist" in text
    assert str(target) in text
    assert not target.exists()


def test_folder_with_other_files_is_left_alone(tmp_path, monkeypatch):
    good = write(tmp_path / "good")
    monkeypatch.setattr(fashion_mnist, "_SOURCES", {"a": lambda draft: good})
    target = tmp_path / "photos"
    target.mkdir()
    (target / "holiday.jpg").touch()
    with pytest.raises(FetchFailed, match=r"holiday\.jpg"):
        fashion_mnist.fetch(target, lambda text: None)
    assert [path.name for path in target.iterdir()] == ["holiday.jpg"]


def test_target_that_cannot_be_used_is_refused_before_anything_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr(fashion_mnist, "_SOURCES", {"never": failing})
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    said = []
    with pytest.raises(FetchFailed, match=r"cannot write .*file/x: .*another folder with --to"):
        fashion_mnist.fetch(tmp_path / "file" / "x", said.append)
    with pytest.raises(FetchFailed, match=r"holds other files \(thesis.tex\)"):
        fashion_mnist.fetch(tmp_path / "full", said.append)
    assert said == []
