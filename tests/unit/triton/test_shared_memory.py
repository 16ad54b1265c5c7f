import os
import re

from lookbench_triton.shared_memory import own_prefix, remove_abandoned, remove_regions


def test_the_prefix_names_this_process_for_good():
    prefix = own_prefix()
    assert re.fullmatch(rf"lookbench_\d+_{os.getpid()}_\d+_", prefix)
    assert prefix == own_prefix()


def test_only_regions_of_the_prefix_are_removed(tmp_path):
    for name in ("ours_1", "ours_2", "theirs_1"):
        (tmp_path / name).touch()
    assert remove_regions("ours_", tmp_path) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["theirs_1"]


def test_regions_of_the_gone_are_removed_and_of_the_living_kept(tmp_path):
    mine = own_prefix()
    namespace, pid, started = re.findall(r"\d+", mine)
    gone = f"lookbench_{namespace}_{2**22 + 1}_1_"
    reused_pid = f"lookbench_{namespace}_{pid}_{int(started) + 1}_"
    other_container = f"lookbench_1_{2**22 + 1}_1_"
    for prefix in (mine, gone, reused_pid, other_container, "lookbench_cache"):
        (tmp_path / f"{prefix}a").touch()
    assert remove_abandoned(tmp_path) == 2
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{mine}a",
        f"{other_container}a",
        "lookbench_cachea",
    }
