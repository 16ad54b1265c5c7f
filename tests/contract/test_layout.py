"""The tree is the one that the architecture describes."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [
    "client/lbclient",
    "services/core/lookbench_core",
    "services/core/lookbench_inference",
    "services/core/lookbench_metrics",
    "services/evaluator/lookbench_evaluator",
    "services/exporter/lookbench_exporter",
    "services/triton/lookbench_triton",
]
UNTELLING = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"}
MODULES = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]


def tracked() -> list[str]:
    found = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return found.stdout.splitlines()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_stands_beside_a_package(package):
    """In an editable install it would become a top-level module of everybody's."""
    parent = (ROOT / package).parent
    assert list(parent.glob("*.py")) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_has_a_telling_name_and_fits_on_a_few_screens(path):
    assert path.stem not in UNTELLING
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_says_what_it_is(path):
    assert path.read_text(encoding="utf-8").lstrip().startswith(('"""', "#!"))


def test_every_deployable_has_a_readme():
    for folder in ("client", "services/evaluator", "services/exporter", "services/triton"):
        assert (ROOT / folder / "README.md").is_file(), folder


def test_unit_tests_open_no_sockets_and_do_not_sleep():
    forbidden = re.compile(r"\btime\.sleep\(|\bsocket\.|grpc\.aio\.server\(|subprocess\.Popen")
    offenders = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests/unit").rglob("*.py")
        if forbidden.search(path.read_text(encoding="utf-8"))
    ]
    assert offenders == []


def test_no_large_file_is_tracked():
    large = [name for name in tracked() if (ROOT / name).stat().st_size > 400_000]
    assert large == []


def test_links_in_the_pages_lead_somewhere():
    broken = []
    for name in tracked():
        if not name.endswith(".md"):
            continue
        page = ROOT / name
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{name}: {target}")
    assert broken == []
