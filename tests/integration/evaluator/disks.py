"""Disks that can be filled and made read-only: small file systems in memory, mounted by root."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest


class Disk:
    """A mounted file system of its own."""

    def __init__(self, folder: Path, size: str) -> None:
        self.folder = folder
        mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))

    def fill(self) -> None:
        """Takes the last byte."""
        with contextlib.suppress(OSError), (self.folder / "filler").open("wb", 0) as file:
            while True:
                file.write(bytes(4096))

    def free(self) -> None:
        """Gives back what `fill` took."""
        (self.folder / "filler").unlink()

    def make_read_only(self) -> None:
        """From now on nothing can be written. No file may be open for writing."""
        mount("-o", "remount,ro", str(self.folder))

    def unmount(self) -> None:
        """Also while it is in use."""
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True, capture_output=True)


def mount(*arguments: str) -> None:
    """Skips the test where mounting is not allowed."""
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        who = "" if os.geteuid() == 0 else "not root: "
        pytest.skip(f"cannot mount a file system ({who}{done.stderr.strip()})")
