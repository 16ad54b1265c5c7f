"""Peers that are measured and compared with, but are no dependency of the project."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".lookbench" / "peers"
LOOK_BENCH = "look-bench==0.4.0"


def look_bench() -> Path:
    """Folder to put on sys.path for look-bench 0.4.0; installs it there once.

    Without its dependencies: its metrics need numpy, torch and tqdm only.
    """
    target = FOLDER / LOOK_BENCH.replace("==", "-")
    if not (target / "look_bench").is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*command, "--target", str(target), LOOK_BENCH], check=True)
    return target
