import hashlib

import pytest

from lookbench_triton import install as module
from lookbench_triton import layout
from lookbench_triton.errors import InstallFailed, NotInstalled
from lookbench_triton.install import install, refresh_backend
from lookbench_triton.machine import architecture, python_tag

STUB_SOURCE = f"pytriton/tritonserver/python_backend_stubs/{python_tag()}/{layout.STUB[16:]}"
SOURCES = (layout.SERVER, STUB_SOURCE)


@pytest.fixture
def fetched(tmp_path, monkeypatch):
    """A wheel of two files instead of the download; its calls are counted."""
    calls = []
    package = tmp_path / "package"
    (package / "wheel").mkdir(parents=True)
    listed = [f"{hashlib.sha256(s.encode()).hexdigest()}  {s}\n" for s in SOURCES]
    (package / "wheel" / f"{architecture()}.sha256").write_text("".join(listed))
    monkeypatch.setattr(layout, "PACKAGE", package)

    def fetch(target):
        calls.append(target)
        for source in SOURCES:
            (target / source).parent.mkdir(parents=True)
            (target / source).write_text(source)

    monkeypatch.setattr(module, "_fetch_wheel", fetch)
    monkeypatch.setattr(module, "find_libpython", lambda *_: tmp_path)
    return calls


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_fresh_install_is_intact_and_its_programs_can_run(tmp_path, fetched):
    directory = tmp_path / "home" / "triton"
    assert install(directory) is True
    assert layout.faults(directory) == []
    for program in (layout.SERVER, layout.STUB):
        assert (directory / program).stat().st_mode & 0o111 == 0o111
    assert names_in(directory.parent) == [".triton.lock", "triton"]


def test_a_second_install_fetches_nothing(tmp_path, fetched):
    install(tmp_path / "triton")
    assert install(tmp_path / "triton") is False
    assert len(fetched) == 1


def test_a_damaged_install_is_replaced(tmp_path, fetched):
    directory = tmp_path / "triton"
    install(directory)
    (directory / layout.SERVER).write_bytes(b"damaged")
    assert install(directory) is True
    assert layout.faults(directory) == []
    assert not list(tmp_path.glob(".triton.new-*"))


def test_a_failed_install_leaves_the_old_one_and_no_scraps(tmp_path, fetched, monkeypatch):
    directory = tmp_path / "triton"
    install(directory)
    (directory / layout.SERVER).write_bytes(b"damaged")

    def fetch(target):
        target.mkdir(parents=True)
        raise InstallFailed("no network")

    monkeypatch.setattr(module, "_fetch_wheel", fetch)
    with pytest.raises(InstallFailed, match="no network"):
        install(directory)
    assert (directory / layout.SERVER).read_bytes() == b"damaged"
    assert not list(tmp_path.glob(".triton.new-*"))


def test_other_content_than_listed_is_never_put_in_place(tmp_path, fetched, monkeypatch):
    listed = layout.PACKAGE / "wheel" / f"{architecture()}.sha256"
    listed.write_text("".join(f"{'0' * 64}  {source}\n" for source in SOURCES))
    with pytest.raises(InstallFailed, match="differs from what was published"):
        install(tmp_path / "triton")
    assert not (tmp_path / "triton").exists()


def test_a_full_disk_is_a_message_with_a_next_step(tmp_path, fetched, monkeypatch):
    def fetch(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_fetch_wheel", fetch)
    with pytest.raises(InstallFailed, match=r"No space left on device.*400 MB.*--dir"):
        install(tmp_path / "triton")


def test_a_folder_of_somebody_else_is_left_alone(tmp_path, fetched):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    with pytest.raises(InstallFailed, match="left alone"):
        install(tmp_path / "photos")
    assert names_in(tmp_path / "photos") == ["cat.jpg"]


def test_an_empty_folder_is_used(tmp_path, fetched):
    (tmp_path / "triton").mkdir()
    assert install(tmp_path / "triton") is True


def test_a_missing_libpython_is_fetched_into_the_install(tmp_path, fetched, monkeypatch):
    places = []

    def fetch(python, target):
        target.mkdir(parents=True)
        (target / layout.libpython_name(python)).write_bytes(b"library")
        places.append(target)
        return "sha256:" + hashlib.sha256(b"library").hexdigest()

    monkeypatch.setattr(module, "needs_libpython", lambda _: True)
    monkeypatch.setattr(module, "find_libpython", lambda _, folder: places[0] if places else None)
    monkeypatch.setattr(module, "fetch_libpython", fetch)
    install(tmp_path / "triton")
    library = tmp_path / "triton" / layout.LIBPYTHON / layout.libpython_name(python_tag())
    assert library.read_bytes() == b"library"
    assert layout.faults(tmp_path / "triton") == []


def test_pips_refusal_is_passed_on(tmp_path, monkeypatch):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"./absent.whl --hash=sha256:{'0' * 64}\n")
    monkeypatch.setattr(module, "REQUIREMENTS", requirements)
    with pytest.raises(InstallFailed, match="pip could not install nvidia-pytriton"):
        module._fetch_wheel(tmp_path / "target")


def test_the_backend_follows_an_upgrade_of_the_package(tmp_path, fetched):
    directory = tmp_path / "triton"
    install(directory)
    backend = directory / layout.OUR_BACKEND
    backend.write_text("# of an older version")
    refresh_backend(directory)
    assert backend.read_bytes() == layout.BACKEND_SOURCE.read_bytes()
    assert names_in(backend.parent) == ["model.py"]


def test_an_outdated_backend_that_cannot_be_replaced_is_an_error(tmp_path, fetched, monkeypatch):
    directory = tmp_path / "triton"
    install(directory)
    (directory / layout.OUR_BACKEND).write_text("# of an older version")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module.shutil, "copyfile", refuse)
    with pytest.raises(NotInstalled, match="cannot be replaced"):
        refresh_backend(directory)
