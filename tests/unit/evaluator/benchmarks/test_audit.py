from pathlib import Path

import pytest

from lookbench_evaluator.benchmarks.audit import DuplicateGroup


@pytest.fixture
def stored(image_folder, imported):
    table = (
        "id,path,split,subset,label,shape\n"
        "q1,a.png,query,s,X,1\nq2,f.png,query,s,X,1\n"
        "g2,b.png,item,s,Y,1\ng1,b2.png,item,,X,1\n"
        "g5,c.png,item,s,X,1\ng4,c2.png,item,s,X,1\ng3,c3.png,item,,X,1\n"
        "g6,a2.png,item,s,X,1\n"
    )
    folder: Path = image_folder(table)
    for copy, original in (("b2", "b"), ("c2", "c"), ("c3", "c"), ("a2", "a")):
        (folder / f"{copy}.png").write_bytes((folder / f"{original}.png").read_bytes())
    return imported("image-folder", folder)


def test_equal_contents_are_grouped_over_the_collections_of_a_gallery(stored) -> None:
    (audit,) = stored.audit()
    assert audit.subset == "s"
    assert audit.duplicates == (
        DuplicateGroup(("g1", "g2"), ("label",)),
        DuplicateGroup(("g3", "g4", "g5"), ()),
    )
    assert [group.labels_disagree for group in audit.duplicates] == [True, False]


def test_queries_that_are_also_items_are_named(stored) -> None:
    assert stored.audit()[0].queries_in_gallery == ("q1",)


def test_a_group_of_several_subsets_counts_once(stored) -> None:
    assert [group.ids for group in stored.duplicates()] == [("g1", "g2"), ("g3", "g4", "g5")]
