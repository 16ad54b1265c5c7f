"""TCP ports: whether they are free, and whose they are if not."""

import errno
import re
import socket
from collections.abc import Mapping
from pathlib import Path

from lookbench_triton.errors import InvalidSetting, PortInUse

LISTENING = "0A"  # state column of /proc/net/tcp


def resolve_ports(host: str, wanted: Mapping[str, int]) -> dict[str, int]:
    """Flag → port, all free at this moment; 0 becomes a free port.

    Raises InvalidSetting for a number that is no port or is given twice, PortInUse
    naming the process that listens there.
    """
    given = [port for port in wanted.values() if port]
    for flag, port in wanted.items():
        if not 0 <= port <= 65535:
            raise InvalidSetting(f"{flag} {port}: a port lies between 1 and 65535", field=flag)
        if port and given.count(port) > 1:
            raise InvalidSetting(f"{flag} {port}: the port is given twice", field=flag)
    chosen = {flag: port for flag, port in wanted.items() if port}
    for flag, port in chosen.items():
        _require_free(host, port, flag)
    for flag in wanted:
        if flag not in chosen:
            chosen[flag] = _free_port(host, set(chosen.values()))
    return {flag: chosen[flag] for flag in wanted}


def _require_free(host: str, port: int, flag: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Triton does it: ports in TIME_WAIT are free, ports that are listened on are not.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise _refused(error, host, port, flag) from None


def _refused(error: OSError, host: str, port: int, flag: str) -> PortInUse | InvalidSetting:
    if error.errno == errno.EADDRINUSE:
        owner = owner_of(port) or "another process"
        return PortInUse(
            f"Port {port} on {host} is in use by {owner}. Stop it, or choose another port "
            f"with {flag} (0 picks a free one).",
            port=port,
            owner=owner,
            flag=flag,
        )
    return InvalidSetting(
        f"Cannot listen on {host}:{port} ({error.strerror or error}); check --host and {flag}",
        host=host,
        port=port,
    )


def _free_port(host: str, taken: set[int]) -> int:
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
            port = int(probe.getsockname()[1])
        if port not in taken:
            return port


def owner_of(port: int) -> str | None:
    """`process 123 (python -m http.server)`; None where it belongs to another user."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            inodes |= listening_inodes(Path(table).read_text(encoding="ascii"), port)
        except OSError:
            continue
    for entry in Path("/proc").glob("[0-9]*"):
        if _holds(entry, inodes):
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            return f"process {entry.name} ({command.strip()[:100]})"
    return None


def listening_inodes(table: str, port: int) -> set[str]:
    """Socket inodes that listen on `port` in the text of /proc/net/tcp."""
    found = set()
    for line in table.splitlines()[1:]:
        columns = line.split()
        local_port = int(columns[1].rsplit(":", 1)[1], 16)
        if local_port == port and columns[3] == LISTENING:
            found.add(columns[9])
    return found


def _holds(process: Path, inodes: set[str]) -> bool:
    try:
        links = [str(fd.readlink()) for fd in (process / "fd").iterdir()]
    except OSError:  # ended meanwhile, or another user's
        return False
    return any(
        match and match[1] in inodes
        for match in (re.fullmatch(r"socket:\[(\d+)\]", link) for link in links)
    )
