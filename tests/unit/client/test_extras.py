"""Packages behind the extras."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from lbclient import extras

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


@pytest.mark.parametrize("extra", sorted(extras.MODULES))
def test_packages_are_those_of_the_distribution(extra):
    declared = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"][extra]
    assert set(extras.MODULES[extra]) == {Requirement(line).name for line in declared}


def test_missing_module_is_found_out_without_importing(monkeypatch):
    monkeypatch.setitem(extras.MODULES, "x", {"absent-package": "absent_module", "click": "click"})
    assert extras.missing("x") == ["absent-package"]
    assert extras.install_command("a", "b") == "pip install -e '.[a,b]'"
