"""What can be wrong with the cache's file, and what a person can do about it."""

import sqlite3
import time
from dataclasses import dataclass, field
from json import JSONDecodeError
from pathlib import Path
from typing import get_args

import structlog

from lookbench_inference.cache_file import NotACache

# After a fault a run does without for a while: one that waits for a lock at every shard crawls.
PAUSE_S = 30.0
_ELSEWHERE = "set cache_dir to a folder that the evaluator may write"
_KINDS = {
    sqlite3.SQLITE_BUSY: ("locked", "end the other program that holds it"),
    sqlite3.SQLITE_LOCKED: ("locked", "end the other program that holds it"),
    sqlite3.SQLITE_FULL: ("full", "free space on the disk, or lower cache_bytes"),
    sqlite3.SQLITE_READONLY: ("read-only", _ELSEWHERE),
    sqlite3.SQLITE_PERM: ("read-only", _ELSEWHERE),
    sqlite3.SQLITE_CANTOPEN: ("unusable", _ELSEWHERE),
    sqlite3.SQLITE_CORRUPT: ("damaged", "look at the disk; a new file is begun"),
    sqlite3.SQLITE_NOTADB: ("damaged", "look at the disk; a new file is begun"),
}
_OTHERWISE = ("failing", "look at the disk, or set cache_dir to another folder")

log = structlog.get_logger()
# Text that is not UTF-8 or not JSON comes from damaged pages.
Fault = sqlite3.Error | OSError | NotACache | UnicodeDecodeError | JSONDecodeError
FAULTS = get_args(Fault)


def diagnosis(error: Fault) -> tuple[str, str]:
    """What is wrong: in a word, and in a sentence with the next step."""
    kind, advice = _kind_and_advice(error)
    problem = getattr(error, "strerror", None) or str(error)
    return kind, f"{problem}; {advice}"


def _kind_and_advice(error: Fault) -> tuple[str, str]:
    if isinstance(error, NotACache):
        return "foreign", "move the file away, or set cache_dir to another folder"
    if isinstance(error, BlockingIOError):
        return _KINDS[sqlite3.SQLITE_BUSY]
    if isinstance(error, ValueError):
        return _KINDS[sqlite3.SQLITE_CORRUPT]
    if isinstance(error, OSError):
        return "unusable", _ELSEWHERE
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return _KINDS.get(code, _OTHERWISE)


@dataclass
class Faults:
    """Warns once of each kind, and says how long to do without what failed."""

    path: Path
    _warned: set[str] = field(default_factory=set)
    _again_at: dict[str, float] = field(default_factory=dict)

    def paused(self, work: str) -> bool:
        """Whether `work` failed a short while ago."""
        return time.monotonic() < self._again_at.get(work, 0.0)

    def note(self, work: str, error: Fault) -> bool:
        """Pauses `work`; True when the file is damaged and must make way for a new one."""
        kind, problem = diagnosis(error)
        self._again_at[work] = time.monotonic() + (0.0 if kind == "damaged" else PAUSE_S)
        self.warn(kind, problem)
        return kind == "damaged"

    def warn(self, kind: str, problem: str) -> None:
        """One line in the log for each kind."""
        if kind not in self._warned:
            self._warned.add(kind)
            log.warning(
                "embedding cache: runs go on, what is missing is embedded again",
                state=kind,
                problem=problem,
                file=str(self.path),
            )
