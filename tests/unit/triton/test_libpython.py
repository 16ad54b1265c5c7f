import sysconfig
from pathlib import Path
from types import SimpleNamespace

import pytest

from lookbench_triton import libpython
from lookbench_triton.errors import InstallFailed

NAME = "libpython3.11.so.1.0"


@pytest.fixture
def bare(monkeypatch):
    """A machine that has libpython nowhere."""
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: None)
    monkeypatch.setattr(libpython.sys, "base_prefix", "/nonexistent")
    monkeypatch.setattr(libpython, "_linker_folders", lambda _: iter(()))


def test_nowhere_is_none(bare, tmp_path):
    assert libpython.find_libpython("3.11", tmp_path) is None


def test_the_fetched_one_is_found(bare, tmp_path):
    (tmp_path / "libpython").mkdir()
    (tmp_path / "libpython" / NAME).touch()
    assert libpython.find_libpython("3.11", tmp_path) == tmp_path / "libpython"


def test_the_interpreters_own_comes_first(bare, tmp_path, monkeypatch):
    for folder in ("own", "libpython"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / NAME).touch()
    monkeypatch.setattr(
        sysconfig,
        "get_config_var",
        lambda name: str(tmp_path / "own") if name == "LIBDIR" else None,
    )
    assert libpython.find_libpython("3.11", tmp_path) == tmp_path / "own"


def test_the_linkers_cache_is_read(monkeypatch):
    listed = (
        "2 libs found in cache\n"
        "\tlibpython3.11.so.1.0 (libc6,x86-64) => /opt/lib/libpython3.11.so.1.0\n"
        "\tlibpython3.11.so (libc6,x86-64) => /usr/lib/libpython3.11.so\n"
    )
    monkeypatch.setattr(libpython.shutil, "which", lambda *_, **__: "/sbin/ldconfig")
    monkeypatch.setattr(
        libpython.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=listed)
    )
    assert list(libpython._linker_folders(NAME)) == [Path("/opt/lib")]


def test_python_3_13_needs_none():
    assert [libpython.needs_libpython(p) for p in ("3.11", "3.12", "3.13")] == [True, True, False]


def apt(monkeypatch, results, root=False):
    """Replaces every command by a list of results; the commands that ran."""
    ran = []

    def run(command, cwd, **_):
        ran.append(command[:2])
        code, action = results.pop(0)
        action(Path(cwd))
        return SimpleNamespace(returncode=code, stderr="E: Unable to locate package", stdout="")

    monkeypatch.setattr(libpython.shutil, "which", lambda name, **_: f"/usr/bin/{name}")
    monkeypatch.setattr(libpython.subprocess, "run", run)
    monkeypatch.setattr(libpython.os, "geteuid", lambda: 0 if root else 1000)
    return ran


def nothing(_):
    pass


def package(folder):
    (folder / "libpython3.11_3.11.2-6_amd64.deb").touch()


def unpacked(folder):
    target = folder / "unpacked" / "usr" / "lib"
    target.mkdir(parents=True)
    (target / NAME).write_bytes(b"library")


def test_apt_downloads_and_dpkg_unpacks(tmp_path, monkeypatch):
    ran = apt(monkeypatch, [(0, package), (0, unpacked)])
    digest = libpython.fetch_libpython("3.11", tmp_path / "libpython")
    assert (tmp_path / "libpython" / NAME).read_bytes() == b"library"
    # printf library | sha256sum
    assert digest == ("sha256:b718f1354f7247312eca086d9a024afe5fa717ddea5adeddd6f12bcf945b2e8c")
    assert ran == [["apt-get", "download"], ["dpkg-deb", "-x"]]


def test_root_refreshes_stale_lists_once(tmp_path, monkeypatch):
    ran = apt(monkeypatch, [(100, nothing), (0, nothing), (0, package), (0, unpacked)], root=True)
    libpython.fetch_libpython("3.11", tmp_path / "libpython")
    assert [command[1] for command in ran] == ["download", "update", "download", "-x"]


def test_without_root_the_administrators_command_is_named(tmp_path, monkeypatch):
    apt(monkeypatch, [(100, nothing)])
    with pytest.raises(
        InstallFailed, match=r"sudo apt-get update && sudo apt-get install -y libpython3\.11"
    ):
        libpython.fetch_libpython("3.11", tmp_path)


def test_without_apt_the_other_ways_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(libpython.shutil, "which", lambda *_, **__: None)
    with pytest.raises(InstallFailed, match=r"no apt-get.*\n.*\n.*--enable-shared"):
        libpython.fetch_libpython("3.11", tmp_path)
