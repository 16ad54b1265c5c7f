"""protos/gen is what the generator makes of protos/lookbench."""

import filecmp
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_generated_code_is_current(tmp_path):
    subprocess.run(
        [ROOT / "deploy/local/protos.sh", tmp_path],
        env={**os.environ, "PYTHON": sys.executable},
        check=True,
        capture_output=True,
    )
    made = sorted(path.name for path in (tmp_path / "lookbench/v1").iterdir())
    committed = ROOT / "protos/gen/lookbench/v1"
    kept = sorted(
        p.name for p in committed.iterdir() if p.name not in {"__init__.py", "__pycache__"}
    )
    assert made == kept, "run `make protos`"
    _, differing, missing = filecmp.cmpfiles(
        tmp_path / "lookbench/v1", committed, made, shallow=False
    )
    assert (differing, missing) == ([], []), "run `make protos`"
