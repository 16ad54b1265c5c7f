"""Running a measurement in a process of its own, and showing what it found."""

import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def measure(script, *arguments, out):
    """The JSON that `script` writes to `out`; all sides run on the same threads."""
    threads = str(len(os.sched_getaffinity(0)))
    env = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    command = [sys.executable, str(FOLDER / script), *map(str, arguments)]
    done = subprocess.run(command, env=env, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(out.read_text())


def show(*lines):
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
