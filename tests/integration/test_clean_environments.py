"""The wheel in clean environments: client and evaluator work, and torch is nowhere near."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What only the exporter may bring (torch alone is gigabytes on a machine with a GPU).
HEAVY = ("torch", "transformers", "peft", "onnx", "onnxscript")
CLEAN = {
    k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LOOKBENCH", "LBCLIENT"))
}
IMPORT_ALL = """
import importlib, pkgutil, sys
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
print(sorted(set(sys.modules) & {heavy}))
"""


def run(*command):
    done = subprocess.run(command, env=CLEAN, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT))
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def install(wheel, tmp_path_factory):
    def made(extra):
        folder = tmp_path_factory.mktemp(f"environment-{extra or 'client'}")
        run(sys.executable, "-m", "venv", str(folder))
        target = f"{wheel}[{extra}]" if extra else str(wheel)
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "-q"]
        run(*pip, "--constraint", str(ROOT / "constraints.txt"), target)
        return folder / "bin"

    return made


def heavy_packages(bin_folder):
    listed = run(str(bin_folder / "python"), "-m", "pip", "list", "--format=freeze")
    return [line for line in listed.splitlines() if line.split("==")[0].lower() in HEAVY]


def import_all(bin_folder, *packages):
    code = IMPORT_ALL.replace("{heavy}", repr(set(HEAVY)))
    return run(str(bin_folder / "python"), "-c", code, *packages).strip()


def test_the_client_needs_no_torch_and_runs(install):
    client = install("")
    assert heavy_packages(client) == []
    assert import_all(client, "lbclient") == "[]"
    assert "evaluate" in run(str(client / "lbclient"), "--help")


def test_the_evaluator_needs_no_torch_and_runs(install):
    evaluator = install("evaluator")
    assert heavy_packages(evaluator) == []
    packages = ("lookbench_core", "lookbench_inference", "lookbench_metrics", "lookbench_evaluator")
    assert import_all(evaluator, *packages) == "[]"
    assert "--triton-url" in run(str(evaluator / "lookbench-evaluator"), "--help")


def test_the_wheel_holds_our_packages_and_no_generic_names(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {
        "lbclient",
        "lookbench",
        "lookbench_core",
        "lookbench_evaluator",
        "lookbench_exporter",
        "lookbench_inference",
        "lookbench_metrics",
        "lookbench_triton",
    }
    assert "lookbench_triton/backends/onnxruntime/model.py" in names
