"""NVIDIA's perf_analyzer, fetched when it is not there: what a server can reach at all.

The program lies in the wheel of tritonclient 2.51.0; it needs Debian's libb64 and the
CUDA runtime's library, though no GPU.
"""

import csv
import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".lookbench/perf_analyzer"
WHEELS = ("tritonclient==2.51.0", "nvidia-cuda-runtime-cu12==12.9.79")
PROGRAM = FOLDER / "tritonclient-2.51.0.data/data/bin/perf_analyzer"


def install():
    """The program's path. Needs PyPI and apt once."""
    if not PROGRAM.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(FOLDER)]
        subprocess.run([*pip, *WHEELS], check=True, stderr=subprocess.DEVNULL)
        subprocess.run(
            ["apt-get", "download", "libb64-0d"], cwd=FOLDER, check=True, capture_output=True
        )
        for wheel in FOLDER.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(FOLDER)
        (package,) = FOLDER.glob("libb64*.deb")
        subprocess.run(["dpkg", "-x", str(package), str(FOLDER / "b64")], check=True)
        PROGRAM.chmod(0o755)
    return PROGRAM


def _environment():
    folders = [path.parent for path in FOLDER.rglob("libcudart.so*")]
    folders += [path.parent for path in FOLDER.rglob("libb64.so*")]
    return os.environ | {"LD_LIBRARY_PATH": ":".join(map(str, folders))}


def throughput(url, model, *, batch, concurrency, shared_memory, output_bytes, rows):
    """Rows per second of about `rows` random inputs, as perf_analyzer counts them."""
    out = FOLDER / "last.csv"
    command = [install(), "-m", model, "-u", url, "-i", "grpc", "--async", "-b", str(batch)]
    command += ["--concurrency-range", str(concurrency), "-f", str(out)]
    command += ["--request-count", str(max(rows // batch, 2 * concurrency))]
    if shared_memory:
        command += ["--shared-memory", "system", "--output-shared-memory-size", str(output_bytes)]
    done = subprocess.run(
        list(map(str, command)), env=_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with out.open() as file:
        (row,) = csv.DictReader(file)
    return float(row["Inferences/Second"])
