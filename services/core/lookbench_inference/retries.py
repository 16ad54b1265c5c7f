"""Which requests are asked again, how often, and after which pauses.

Inference is pure, so that asking again is always safe; it is not always wise. What the
server refused is refused again. A request whose time ran out may still be computed, and
asking again would put it there twice. What is left are servers that are away, full, or
about to be restarted, and these are waited for.
"""

import asyncio
from dataclasses import dataclass
from random import Random
from typing import NoReturn

from lookbench_core.errors import LookbenchError
from lookbench_inference.errors import (
    InferenceDeadline,
    ModelNotReady,
    ModelProcessDead,
    TritonBusy,
    TritonUnavailable,
)

PASSING = (TritonUnavailable, ModelNotReady, ModelProcessDead)
"""What a later try may not meet again."""
ANSWERED = (TritonBusy, ModelProcessDead)
"""Of these, what a server that is there says: it is asked again after a pause."""


@dataclass(frozen=True)
class RetryPolicy:
    """How long and how often to try again.

    patience_s: seconds from the first failure of a request to its last try.
    first_pause_s, longest_pause_s: bounds of the pauses, which double on average.
    most_losses: servers that one request may lose: if it is what ends them, others suffer.
    """

    patience_s: float = 60.0
    first_pause_s: float = 0.1
    longest_pause_s: float = 5.0
    most_losses: int = 6

    def pause_s(self, failures: int, random: Random) -> float:
        """Seconds before the next try: anything from 0 to a bound that doubles ("full jitter").

        So requests that failed together do not come back together.
        """
        bound = self.first_pause_s * 2.0 ** min(failures - 1, 30)
        return random.uniform(0, min(self.longest_pause_s, bound))


class Tries:
    """The tries of one request. Times are those of the event loop."""

    def __init__(
        self, policy: RetryPolicy, random: Random, model: str, deadline: float | None
    ) -> None:
        self._policy, self._random, self._model = policy, random, model
        self._deadline = float("inf") if deadline is None else deadline
        self._began: float | None = None
        self._failures = self._losses = 0

    def timeout_s(self, longest_s: float) -> float:
        """Seconds for the next try: `longest_s`, or what is left of the deadline.

        Raises InferenceDeadline when nothing is left.
        """
        left = self._deadline - _now()
        if left <= 0:
            raise self._late("it was asked")
        return min(longest_s, left)

    def until(self) -> float:
        """When waiting ends, which begins with the first call."""
        if self._began is None:
            self._began = _now()
        return min(self._began + self._policy.patience_s, self._deadline)

    async def pause_after(self, error: LookbenchError) -> None:
        """Waits before the next try; raises, by `give_up`, when there is none."""
        self._failures += 1
        self._losses += not isinstance(error, ANSWERED)
        until = self.until()
        if self._losses >= self._policy.most_losses or _now() >= until:
            self.give_up(error)
        if isinstance(error, ANSWERED):
            pause = self._policy.pause_s(self._failures, self._random)
            await asyncio.sleep(min(pause, until - _now()))

    def give_up(self, error: LookbenchError) -> NoReturn:
        """Raises InferenceDeadline when there is no time left, else an error like `error`.

        It says how long it was waited, and how to go on.
        """
        if _now() >= self._deadline:
            raise self._late("it could be asked again", error) from error
        began = _now() if self._began is None else self._began
        raise out_of_patience(error, _now() - began, self._failures) from error

    def _late(self, before: str, error: LookbenchError | None = None) -> InferenceDeadline:
        why = f": {error.message}" if error else ""
        return InferenceDeadline(
            f"the deadline passed before {before}: model {self._model}{why}", model=self._model
        )


def out_of_patience(error: LookbenchError, waited_s: float, tries: int = 0) -> LookbenchError:
    """The same error, saying how long it was waited for its end, and how a run goes on."""
    tried = f" and tried {tries} times" if tries else ""
    return type(error)(
        f"{error.message}; waited {waited_s:.0f} s{tried}. What a run has embedded is kept: once "
        "`lbclient models` shows its models ready, `lbclient runs resume <run>` goes on from "
        "there",
        **{**error.metadata, "waited_s": f"{waited_s:.1f}"},
    )


def _now() -> float:
    return asyncio.get_running_loop().time()
