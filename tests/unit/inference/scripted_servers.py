"""Servers as TritonEndpoints sees them, scripted, for tests in virtual time."""

import asyncio
from random import Random

import numpy as np
from virtual_time import now

from lookbench_inference.endpoints import Endpoint, TritonEndpoints
from lookbench_inference.errors import InferenceDeadline, ModelNotReady, TritonUnavailable
from lookbench_inference.retries import RetryPolicy
from lookbench_inference.triton import ModelContract, RepositoryEntry, TensorContract

CONTRACT = ModelContract(
    ("1",),
    "sha256:0",
    {"x": TensorContract("FP32", (-1, 2))},
    {"y": TensorContract("FP32", (-1, 2))},
)
OTHER = ModelContract(("1",), "sha256:1", CONTRACT.inputs, CONTRACT.outputs)
INPUTS = {"x": np.zeros((1, 2), np.float32)}


class Server:
    """What a TritonClient would say of a server, scripted.

    away: event-loop times between which it does not answer.
    errors: raised by the next requests.
    """

    def __init__(self, url, away=(0.0, 0.0), serves=("m",), contract=CONTRACT, takes_s=0.01):
        self.url, self.away, self.serves = url, away, set(serves)
        self.told, self.takes_s = contract, takes_s
        self.errors = []
        self.asked = []
        self.timeouts = []
        self.running = self.most_running = self.cancelled = 0
        self.closed = False

    def answer_or_raise(self):
        if self.away[0] <= now() < self.away[1]:
            raise TritonUnavailable(f"Triton at {self.url} does not answer", url=self.url)

    async def server_live(self):
        return not self.away[0] <= now() < self.away[1]

    server_ready = server_live

    async def model_ready(self, name):
        self.answer_or_raise()
        return name in self.serves

    async def contract(self, name):
        self.answer_or_raise()
        if name not in self.serves:
            raise ModelNotReady(f"Triton at {self.url} does not serve {name}")
        return self.told

    async def repository(self):
        self.answer_or_raise()
        return [RepositoryEntry(n, "1", n in self.serves, "") for n in sorted({"m", *self.serves})]

    async def infer(self, model, inputs, output, timeout_s, deadline=None, *, region=None):
        self.asked.append(now())
        self.timeouts.append(timeout_s)
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            self.answer_or_raise()
            if self.errors:
                raise self.errors.pop(0)
            if model not in self.serves:
                raise ModelNotReady(f"Triton at {self.url} does not serve {model}")
            await asyncio.sleep(min(self.takes_s, timeout_s))
            self.answer_or_raise()
            if self.takes_s > timeout_s:
                raise InferenceDeadline("too late")
            return self.url
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1

    async def close(self):
        self.closed = True


def together(*servers, seed=0, **policy):
    return TritonEndpoints([Endpoint(s) for s in servers], RetryPolicy(**policy), Random(seed))


def ask(triton, timeout_s=60.0, deadline=None, model="m"):
    return triton.infer(model, INPUTS, "y", timeout_s, deadline)
