from importlib.metadata import EntryPoint, EntryPoints

import pytest

from lookbench_exporter import family as module
from lookbench_exporter.errors import DependencyMissing, FamilyUnusable
from lookbench_exporter.families.sentence import SentenceEncoder
from lookbench_exporter.family import GROUP, family_names, find_family


@pytest.fixture
def installed(monkeypatch):
    """Replaces the installed families: name → object reference."""

    def install(*pairs):
        entries = EntryPoints(EntryPoint(name, value, GROUP) for name, value in pairs)
        monkeypatch.setattr(module, "entry_points", entries.select)

    return install


def test_both_families_are_installed():
    assert {"efficientnet-lite0", "sentence"} <= set(family_names())
    assert isinstance(find_family("sentence"), SentenceEncoder)


def test_a_third_party_adds_a_family_by_an_entry_point(installed):
    installed(("mine", "lookbench_exporter.families.sentence:SentenceEncoder"))
    assert family_names() == ["mine"]
    assert isinstance(find_family("mine"), SentenceEncoder)


def test_an_unknown_family_is_refused():
    with pytest.raises(FamilyUnusable, match="0 packages give the family 'nothing'"):
        find_family("nothing")


def test_two_packages_with_one_name_are_refused(installed):
    installed(("mine", "a:A"), ("mine", "b:B"))
    with pytest.raises(FamilyUnusable, match="2 packages"):
        find_family("mine")


def test_what_is_no_family_is_refused(installed):
    installed(("mine", "collections:OrderedDict"))
    with pytest.raises(FamilyUnusable, match="not a subclass"):
        find_family("mine")


def test_a_family_whose_module_is_missing_says_so(installed):
    installed(("mine", "absent_package.encoder:Encoder"))
    with pytest.raises(DependencyMissing, match="absent_package"):
        find_family("mine")
