"""What `lbclient up` was asked for, held against the stack that is recorded."""

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from lbclient.errors import StackError
from lbclient.home import SYSTEM_DATA, Home, model_repository
from lbclient.stack.launch import Plan
from lbclient.stack.ports import FLAGS, Ports, free_ports
from lbclient.stack.record import Stack


@dataclass(frozen=True)
class UpRequest:
    """The flags of `up` that were given; the rest is None or empty.

    repository: also what LOOKBENCH_MODEL_REPOSITORY names. ports: by the field
    of Ports. any_ports: whether taken ports may be replaced. Paths are absolute.
    """

    repository: Path | None = None
    data_roots: tuple[Path, ...] = ()
    ports: Mapping[str, int] = field(default_factory=dict)
    any_ports: bool = False

    def plan(self, home: Home, before: Stack | None) -> Plan:
        """The stack to start; what was not asked for stays as `before` had it."""
        if before is None:
            wanted = self
        else:
            wanted = replace(
                self,
                repository=self.repository or Path(before.repository),
                data_roots=self.data_roots or tuple(extra_roots(home, before)),
                ports={**asdict(before.ports), **self.ports},
                any_ports=self.any_ports or before.any_ports,
            )
        ports = Ports(**wanted.ports)
        return Plan(
            home=home,
            repository=(wanted.repository or model_repository(home)),
            ports=free_ports(ports) if wanted.any_ports else ports,
            extra_data_roots=wanted.data_roots,
            any_ports=wanted.any_ports,
        )

    def require_met(self, home: Home, running: Stack) -> None:
        """Raises StackError with the commands that help, unless `running` is as asked."""
        lacking = self._unmet(running)
        if lacking:
            raise StackError(
                f"already up at {running.ports.evaluator_target}, but without "
                f"{', '.join(lacking)}; to start it with that:\n"
                f"  lbclient down && {self._command(home, running)}"
            )

    def _unmet(self, running: Stack) -> list[str]:
        flags = []
        if self.repository and self.repository.resolve() != Path(running.repository).resolve():
            flags.append(f"--repository {self.repository}")
        flags += [f"--data-root {root}" for root in self.data_roots if not _reads(running, root)]
        recorded = asdict(running.ports)
        flags += [f"{FLAGS[name]} {n}" for name, n in self.ports.items() if recorded[name] != n]
        return flags

    def _command(self, home: Home, running: Stack) -> str:
        """`lbclient up` with everything that the running stack has and what was asked for."""
        words = ["lbclient", "up"]
        repository = self.repository or Path(running.repository)
        if repository != model_repository(home):
            words += ["--repository", str(repository)]
        added = [root for root in self.data_roots if not _reads(running, root)]
        for root in (*extra_roots(home, running), *added):
            words += ["--data-root", str(root)]
        defaults = asdict(Ports())
        for name, number in {**asdict(running.ports), **self.ports}.items():
            if number != defaults[name]:
                words += [FLAGS[name], str(number)]
        if self.any_ports or running.any_ports:
            words.append("--free-ports")
        return shlex.join(words)


def extra_roots(home: Home, stack: Stack) -> list[Path]:
    """Recorded data roots that are there, without those that every stack has."""
    paths = [Path(root) for root in stack.data_roots]
    return [path for path in paths if path not in (home.data, SYSTEM_DATA) and path.is_dir()]


def _reads(stack: Stack, folder: Path) -> bool:
    """Whether imports of the stack may read `folder` already."""
    return any(folder.resolve().is_relative_to(Path(root).resolve()) for root in stack.data_roots)
