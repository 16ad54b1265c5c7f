"""A program that opens a client, forks four workers and lets each ask the server.

forking.py TARGET HOW WHAT: HOW is os.fork, fork or spawn; WHAT what parent and workers do.
Each worker prints one line; so does the parent when it asks again at the end.
"""

import gc
import multiprocessing
import os
import sys
import time

import grpc

from lbclient import LookbenchClientError, SyncClient
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench.v1.evaluation_service_pb2_grpc import EvaluationServiceStub

DEADLINE_S = 5.0


def say(line):
    """In one piece: the workers share the pipe."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def ask(client):
    began = time.monotonic()
    try:
        told = client.get_model("lite0").name
    except LookbenchClientError as error:
        told = f"{type(error).__name__}: {error}"
    late = " TOO LATE" if time.monotonic() - began > DEADLINE_S + 1 else ""
    say(f"{told}{late}")


def ask_anew(target):
    with SyncClient(target, timeout=DEADLINE_S) as client:
        ask(client)


def ask_plainly(target):
    """With gRPC alone, without asyncio."""
    channel = grpc.insecure_channel(target)
    EvaluationServiceStub(channel).GetModel(api.GetModelRequest(name="models/lite0"))
    return channel


class Parent:
    """What the parent has in its hands when it forks, by the name of WHAT."""

    def __init__(self, target, what):
        self.target, self.what = target, what
        self.client = SyncClient(target, timeout=DEADLINE_S)
        if what == "plain-grpc":
            self.channel = ask_plainly(target)
        elif what != "unused":
            ask(self.client)
        if what == "closed":
            self.client.close()

    def worker(self):
        if self.what in {"same", "unused"}:
            ask(self.client)
        elif self.what == "close":
            self.client.close()
            say("closed")
        elif self.what == "drop":
            self.client = None
            gc.collect()
            say("dropped")
        else:
            ask_anew(self.target)


def fork_four(work):
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            work()
            sys.exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)


def start_four(how, work, *arguments):
    context = multiprocessing.get_context(how)
    workers = [context.Process(target=work, args=arguments) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def main(target, how, what):
    parent = Parent(target, what)
    if how == "os.fork":
        fork_four(parent.worker)
    elif how == "fork":
        start_four("fork", parent.worker)
    else:
        start_four("spawn", ask_anew, target)
    if what not in {"closed", "plain-grpc"}:
        ask(parent.client)
        parent.client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
