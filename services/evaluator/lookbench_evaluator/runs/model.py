"""What a run is: its specification, its states, and which follow which."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

DEFAULT_CUTOFFS = (1, 5, 10, 20)


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")


class State(StrEnum):
    """PENDING → RUNNING → SUCCEEDED | FAILED | CANCELLED; the last two may be resumed."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def terminal(self) -> bool:
        """Whether nothing happens any more unless somebody asks."""
        return self in {State.SUCCEEDED, State.FAILED, State.CANCELLED}


NEXT: dict[State, frozenset[State]] = {
    # RUNNING → PENDING: the evaluator restarted, the run waits again.
    State.PENDING: frozenset({State.RUNNING, State.CANCELLED, State.FAILED}),
    State.RUNNING: frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.PENDING}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset({State.PENDING}),
    State.CANCELLED: frozenset({State.PENDING}),
}


class Encoder(_Value):
    """A served embedding model and how it is asked; "" and 0 mean its defaults."""

    model: str
    role: str = ""
    instruction: str = ""
    preset: str = ""
    dimension: int = 0


class Dense(_Value):
    """First stage: cosine similarity of embeddings."""

    query_encoder: Encoder
    item_encoder: Encoder


class System(_Value):
    """What is evaluated. Other first stages and rerankers join `dense` here."""

    dense: Dense

    @property
    def models(self) -> tuple[str, ...]:
        """Names of all models, each once, in the order of use."""
        named = (self.dense.query_encoder.model, self.dense.item_encoder.model)
        return tuple(dict.fromkeys(named))


class Options(_Value):
    """How rankings become numbers, all defaults filled in."""

    metrics: tuple[str, ...] = ()
    cutoffs: tuple[int, ...] = DEFAULT_CUTOFFS
    judgements: tuple[str, ...] = ()
    relevance_threshold: float = 1.0
    no_relevant_policy: Literal["zero", "exclude"] = "zero"
    rejected_policy: Literal["fail_on_queries", "fail_on_any", "allow"] = "fail_on_queries"
    duplicate_policy: Literal["keep", "merge"] = "keep"
    without_noise: bool = False
    timeout_s: float | None = None


class Specification(_Value):
    """Everything that decides a run's numbers, apart from the pinned versions."""

    benchmark: str
    subsets: tuple[str, ...] = ()
    system: System
    options: Options = Options()
    display_name: str = ""


class Stage(StrEnum):
    """What a run is doing."""

    WAITING = "WAITING"
    EMBEDDING_QUERIES = "EMBEDDING_QUERIES"
    EMBEDDING_ITEMS = "EMBEDDING_ITEMS"
    RANKING = "RANKING"
    SCORING = "SCORING"
    DONE = "DONE"


class Progress(_Value):
    """How far a run has come; `rate` in rows per second, `remaining_s` None when unknown.

    resumed: rows that an earlier execution of the run had done.
    """

    stage: Stage = Stage.WAITING
    total: int = 0
    done: int = 0
    rejected: int = 0
    rate: float = 0.0
    remaining_s: float | None = None
    cache_hits: int = 0
    resumed: int = 0


class PinnedModel(_Value):
    """A served model at one version."""

    model: str
    version: str
    graph_digest: str


class Pinned(_Value):
    """The exact inputs of a run."""

    benchmark_digest: str
    specification_digest: str
    models: tuple[PinnedModel, ...]


class Failure(_Value):
    """Why a run failed: the code, reason and message of the error."""

    code: str
    reason: str
    message: str
    metadata: dict[str, str] = {}


class Run(_Value):
    """A stored run. `revision` grows with every stored change.

    caller: who asked for it, as told; callers take turns in the queue.
    """

    id: str
    specification: Specification
    caller: str = ""
    state: State = State.PENDING
    revision: int = 1
    created: datetime
    started: datetime | None = None
    ended: datetime | None = None
    progress: Progress = Progress()
    pinned: Pinned | None = None
    failure: Failure | None = None
