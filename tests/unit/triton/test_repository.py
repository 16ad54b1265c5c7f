import pytest

from lookbench_triton.errors import ModelUnknown, RepositoryInvalid
from lookbench_triton.repository import models_in, select


@pytest.fixture
def repository(tmp_path):
    for name in ("b", "a", ".staging-c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.pbtxt").touch()
    (tmp_path / "no-config" / "1").mkdir(parents=True)
    (tmp_path / "README.md").touch()
    return tmp_path


def test_models_are_the_folders_with_a_config_by_name(repository):
    assert models_in(repository) == ["a", "b"]


def test_all_is_every_model(repository):
    assert select(repository, ["all"]) == ["a", "b"]


def test_named_models_keep_their_order_and_come_once(repository):
    assert select(repository, ["b", "a", "b"]) == ["b", "a"]


def test_a_named_folder_without_config_may_be_completed_by_triton(repository):
    assert select(repository, ["no-config"]) == ["no-config"]


def test_none_is_no_model_even_in_an_empty_repository(tmp_path):
    assert select(tmp_path, ["none"]) == []


def test_an_unknown_model_is_told_what_there_is(repository):
    with pytest.raises(ModelUnknown, match=r"no model 'z' .*it holds: a, b"):
        select(repository, ["z"])


def test_an_empty_repository_says_how_to_fill_it(tmp_path):
    with pytest.raises(RepositoryInvalid, match=r"holds no model .*lookbench-export"):
        select(tmp_path, ["all"])


def test_a_missing_repository_is_named(tmp_path):
    with pytest.raises(RepositoryInvalid, match=r"nowhere does not exist"):
        select(tmp_path / "nowhere", ["all"])
