import hashlib
import json
import re

import pytest

from lookbench_triton import layout
from lookbench_triton.errors import NotInstalled
from lookbench_triton.machine import architecture, python_tag

STUB_SOURCE = "pytriton/tritonserver/python_backend_stubs/{}/triton_python_backend_stub"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_every_file_has_a_digest_and_one_place(machine, python):
    parts = layout.parts(machine, python)
    targets = [part.target for part in parts]
    assert len(set(targets)) == len(targets) > 40
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", part.digest) for part in parts)
    stub = next(part for part in parts if part.target == layout.STUB)
    assert stub.source == STUB_SOURCE.format(python)
    assert {layout.SERVER, "backends/python/libtriton_python.so"} <= set(targets)


def test_the_wheels_own_libpython_is_kept_for_python_3_13_alone():
    with_library = [
        python
        for python in ("3.11", "3.12", "3.13")
        if any("libpython3-" in part.target for part in layout.parts("x86_64", python))
    ]
    assert with_library == ["3.13"]


def test_the_requirement_is_pinned_with_a_hash_per_published_wheel():
    text = layout.REQUIREMENTS.read_text()
    assert layout.WHEEL in text
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) == 2


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A small install: two files by the list of a package that lists only those."""
    package = tmp_path / "package"
    (package / "wheel").mkdir(parents=True)
    directory = tmp_path / "triton"
    lines = []
    for source in (layout.SERVER, STUB_SOURCE.format(python_tag())):
        content = source.encode()
        lines.append(f"{hashlib.sha256(content).hexdigest()}  {source}")
        target = directory / (layout.STUB if "stubs" in source else source)
        target.parent.mkdir(parents=True)
        target.write_bytes(content)
    (package / "wheel" / f"{architecture()}.sha256").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(layout, "PACKAGE", package)
    backend = directory / layout.OUR_BACKEND
    backend.parent.mkdir(parents=True)
    backend.write_bytes(layout.BACKEND_SOURCE.read_bytes())
    record = layout.Record(layout.WHEEL, architecture(), python_tag(), None)
    layout.write_record(directory, record)
    return directory


def test_an_untouched_install_has_no_fault(installed):
    assert layout.faults(installed) == []
    assert layout.require_installed(installed).wheel == layout.WHEEL


@pytest.mark.parametrize("name", [layout.SERVER, layout.STUB, layout.OUR_BACKEND])
def test_a_changed_file_is_named(installed, name):
    (installed / name).write_bytes(b"something else")
    assert layout.faults(installed) == [f"{installed / name} differs from what was published"]


def test_a_missing_file_is_named(installed):
    (installed / layout.STUB).unlink()
    assert layout.faults(installed) == [f"{installed / layout.STUB} is missing"]
    with pytest.raises(NotInstalled, match="triton_python_backend_stub is missing; run"):
        layout.require_installed(installed)


def test_a_fetched_libpython_is_checked_by_the_recorded_digest(installed):
    name = layout.libpython_name(python_tag())
    library = installed / layout.LIBPYTHON / name
    library.parent.mkdir()
    library.write_bytes(b"library")
    digest = "sha256:" + hashlib.sha256(b"library").hexdigest()
    record = layout.Record(layout.WHEEL, architecture(), python_tag(), digest)
    layout.write_record(installed, record)
    assert layout.faults(installed) == []
    library.write_bytes(b"other")
    assert layout.faults(installed) == [f"{library} differs from what was published"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"python": "3.9"}, r"installed for Python 3\.9"),
        ({"wheel": "nvidia-pytriton==0.6.0"}, r"holds nvidia-pytriton==0\.6\.0"),
        ({"schema_version": 2}, "this version needs"),
    ],
)
def test_an_install_for_something_else_is_refused(installed, change, text):
    record = json.loads((installed / layout.RECORD).read_text()) | change
    (installed / layout.RECORD).write_text(json.dumps(record))
    assert re.search(text, layout.faults(installed)[0])
    with pytest.raises(NotInstalled, match=text):
        layout.require_installed(installed)


def test_nothing_installed_names_the_command(tmp_path):
    with pytest.raises(NotInstalled, match="run: lookbench-triton install"):
        layout.require_installed(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"wheel": 1}'])
def test_a_damaged_record_is_not_an_install(installed, text):
    (installed / layout.RECORD).write_text(text)
    with pytest.raises(NotInstalled, match="damaged"):
        layout.faults(installed)
