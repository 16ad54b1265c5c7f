"""Ports of the local stack."""

import socket
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields

from lbclient.errors import StackError

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Ports:
    """Where the parts of a local stack listen."""

    evaluator: int = 8090
    triton_http: int = 8000
    triton_grpc: int = 8001
    triton_metrics: int = 8002

    @property
    def evaluator_target(self) -> str:
        """Address of the evaluator."""
        return f"{HOST}:{self.evaluator}"

    @property
    def triton_url(self) -> str:
        """HTTP address of Triton."""
        return f"http://{HOST}:{self.triton_http}"


FLAGS = {
    "evaluator": "--port",
    "triton_http": "--triton-http-port",
    "triton_grpc": "--triton-grpc-port",
    "triton_metrics": "--triton-metrics-port",
}


def is_free(port: int) -> bool:
    """Whether this machine's loopback address lets us listen on `port`."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        # As servers do it: a connection of a stopped server in TIME_WAIT is no hindrance.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return False
    return True


def free_ports(wanted: Ports) -> Ports:
    """`wanted`, with each port that is taken replaced by a free one."""
    chosen: dict[str, int] = {}
    with ExitStack() as held:
        for name, port in asdict(wanted).items():
            if port not in chosen.values() and is_free(port):
                chosen[name] = port
                continue
            listener = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            listener.bind((HOST, 0))
            chosen[name] = listener.getsockname()[1]
    return Ports(**chosen)


def require_free(ports: Ports) -> None:
    """Raises StackError for two equal ports, or naming each port that is taken and its flag."""
    numbers = [getattr(ports, field.name) for field in fields(ports)]
    if len(set(numbers)) != len(numbers):
        raise StackError(f"the four ports must differ: {', '.join(map(str, numbers))}")
    taken = {name: port for name, port in asdict(ports).items() if not is_free(port)}
    if not taken:
        return
    lines = [f"port {port} is in use ({FLAGS[name]} changes it)" for name, port in taken.items()]
    raise StackError(
        "; ".join(lines) + "; --free-ports chooses free ones",
        metadata={FLAGS[name].lstrip("-"): str(port) for name, port in taken.items()},
    )
