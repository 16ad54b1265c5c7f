import os
import platform
import sys
from types import SimpleNamespace

import pytest

from lookbench_triton import machine
from lookbench_triton.errors import MachineUnsupported


def fake(monkeypatch, *, system="Linux", processor="x86_64", python=(3, 11), glibc="glibc 2.36"):
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    monkeypatch.setattr(
        machine,
        "sys",
        SimpleNamespace(
            version_info=SimpleNamespace(major=python[0], minor=python[1]),
            implementation=sys.implementation,
            executable="/usr/bin/python3",
        ),
    )
    monkeypatch.setattr(os, "confstr", lambda _: glibc)


@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
@pytest.mark.parametrize("python", [(3, 11), (3, 12), (3, 13)])
def test_a_linux_machine_with_a_published_wheel_and_stub_fits(monkeypatch, processor, python):
    fake(monkeypatch, processor=processor, python=python)
    machine.check_machine()


def test_other_names_of_the_same_processor_are_understood(monkeypatch):
    fake(monkeypatch, processor="arm64")
    assert machine.architecture() == "aarch64"


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"system": "Darwin"}, "Linux on x86_64 and aarch64; this is Darwin"),
        ({"processor": "riscv64"}, "this is Linux on riscv64"),
        ({"python": (3, 14)}, r"CPython 3\.11, 3\.12, 3\.13; this is cpython 3\.14"),
        ({"python": (3, 10)}, r"this is cpython 3\.10"),
        ({"glibc": "glibc 2.31"}, r"glibc 2\.35 or newer; this machine has glibc 2\.31"),
        ({"glibc": None}, "no glibc"),
    ],
)
def test_a_machine_that_does_not_fit_is_told_why(monkeypatch, wrong, text):
    fake(monkeypatch, **wrong)
    with pytest.raises(MachineUnsupported, match=text):
        machine.check_machine()


def test_glibc_2_100_is_newer_than_2_35(monkeypatch):
    fake(monkeypatch, glibc="glibc 2.100")
    machine.check_machine()
