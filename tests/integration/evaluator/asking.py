"""Asking the evaluator in tests: small pictures, runs, refusals and health."""

import os
import socket
import struct
import subprocess
import sys
import zlib

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from lookbench.v1 import run_pb2

MODEL = "efficientnet-lite0"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def png(shade):
    """An 8 x 8 grey PNG, written by hand."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = b"".join(b"\0" + bytes([shade]) * 8 for _ in range(8))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def make_folder(folder, rows, damaged=()):
    folder.mkdir()
    lines = ["id,path,split,category"]
    for number, (name, split, category) in enumerate(rows):
        content = b"not an image" if name in damaged else png(10 * number)
        (folder / f"{name}.png").write_bytes(content)
        lines.append(f"{name},{name}.png,{split},{category}")
    (folder / "labels.csv").write_text("\n".join(lines))
    return folder


def run_of(benchmark="shades", model=MODEL, **fields):
    dense = run_pb2.DenseRetriever(query_encoder=run_pb2.Encoder(model=f"models/{model}"))
    fields.setdefault("system", run_pb2.System(dense=dense))
    return run_pb2.Run(benchmark=f"benchmarks/{benchmark}", **fields)


def details(error):
    status = rpc_status.from_call(error)
    info = error_details_pb2.ErrorInfo()
    others = []
    for packed in status.details:
        if not packed.Unpack(info):
            others.append(packed.TypeName().rpartition(".")[2])
    return info, others


def reason_of(status):
    """The reason in an error that is kept with a run or a benchmark."""
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    return info.reason


def refused(call, request, code, reason):
    with pytest.raises(grpc.RpcError) as caught:
        call(request, timeout=20)
    info, others = details(caught.value)
    assert (caught.value.code(), info.reason) == (code, reason), caught.value.details()
    assert info.domain == "lookbench.dev"
    assert "Traceback" not in caught.value.details()
    return caught.value.details(), others


def health(evaluator, service):
    stub = health_pb2_grpc.HealthStub(evaluator.channel)
    return stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=5).status


def start_refused(**settings):
    """What an evaluator that cannot start says: one line, exit code 1."""
    settings = {"port": free_port(), **settings}
    named = {f"LOOKBENCH_EVALUATOR_{k.upper()}": str(v) for k, v in settings.items()}
    done = subprocess.run(
        [sys.executable, "-m", "lookbench_evaluator"],
        env={**os.environ, **named},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("lookbench-evaluator: ")
    return line
