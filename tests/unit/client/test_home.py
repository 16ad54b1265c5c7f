"""Where things of the local stack stand."""

from pathlib import Path

from lbclient.home import exported_models, find_home, model_repository


def test_home_is_absolute_and_below_the_current_folder_by_default(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert find_home({}).root == tmp_path / ".lookbench"
    assert find_home({"LOOKBENCH_HOME": ""}).root == tmp_path / ".lookbench"
    assert find_home({"LOOKBENCH_HOME": "x"}).root == tmp_path / "x"


def test_home_may_start_with_a_tilde():
    assert find_home({"LOOKBENCH_HOME": "~/lb"}).root == Path.home() / "lb"


def test_repository_is_the_variable_or_in_the_home(tmp_path):
    home = find_home({"LOOKBENCH_HOME": str(tmp_path)})
    assert model_repository(home, {}) == tmp_path / "models"
    assert model_repository(home, {"LOOKBENCH_MODEL_REPOSITORY": "/srv/m"}) == Path("/srv/m")


def test_models_are_the_folders_with_a_configuration(tmp_path):
    for name in ("b", "a", "draft"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "config.pbtxt").touch()
    (tmp_path / "b" / "config.pbtxt").touch()
    assert exported_models(tmp_path) == ["a", "b"]
    assert exported_models(tmp_path / "missing") == []
