"""What `lbclient evaluate` was asked, as a Run of the contract."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from google.protobuf.duration_pb2 import Duration

from lbclient.names import benchmark_name, model_name
from lookbench.v1.run_pb2 import DenseRetriever, Encoder, EvaluationOptions, Run, System

NO_RELEVANT = {
    "zero": EvaluationOptions.ZERO,
    "exclude": EvaluationOptions.EXCLUDE,
}
REJECTED = {
    "fail-on-queries": EvaluationOptions.FAIL_ON_QUERIES,
    "fail-on-any": EvaluationOptions.FAIL_ON_ANY,
    "allow": EvaluationOptions.ALLOW,
}
DUPLICATES = {
    "keep": EvaluationOptions.KEEP,
    "merge": EvaluationOptions.MERGE,
}


@dataclass(frozen=True)
class Encoders:
    """The two sides of a dense retriever.

    Preset and dimension hold for both sides; the instruction is the query's.
    """

    query_model: str
    item_model: str
    query_role: str = ""
    item_role: str = ""
    instruction: str = ""
    preset: str = ""
    dimension: int = 0

    def to_system(self) -> System:
        """The item encoder is left out when it is the same as the query encoder."""
        query = self._encoder(self.query_model, self.query_role, self.instruction)
        item = self._encoder(self.item_model, self.item_role, "")
        same = query == item
        return System(
            dense=DenseRetriever(query_encoder=query, item_encoder=None if same else item)
        )

    def _encoder(self, model: str, role: str, instruction: str) -> Encoder:
        return Encoder(
            model=model_name(model),
            role=role,
            instruction=instruction,
            preset=self.preset,
            dimension=self.dimension,
        )


@dataclass(frozen=True)
class Rules:
    """How rankings become numbers; empty or None leaves the server's default."""

    metrics: Sequence[str] = ()
    cutoffs: Sequence[int] = ()
    judgements: Sequence[str] = ()
    no_relevant: str | None = None
    rejected: str | None = None
    duplicates: str | None = None
    without_noise: bool = False
    timeout: timedelta | None = None

    def to_options(self) -> EvaluationOptions:
        """The options message."""
        options = EvaluationOptions(
            metrics=self.metrics,
            cutoffs=self.cutoffs,
            judgements=self.judgements,
            no_relevant_policy=NO_RELEVANT.get(self.no_relevant or ""),
            rejected_policy=REJECTED.get(self.rejected or ""),
            duplicate_policy=DUPLICATES.get(self.duplicates or ""),
            without_noise=self.without_noise,
        )
        if self.timeout is not None:
            duration = Duration()
            duration.FromTimedelta(self.timeout)
            options.timeout.CopyFrom(duration)
        return options


def build_run(
    benchmark: str,
    encoders: Encoders,
    rules: Rules,
    *,
    subsets: Sequence[str] = (),
    display_name: str = "",
) -> Run:
    """The run to create."""
    return Run(
        benchmark=benchmark_name(benchmark),
        subsets=subsets,
        system=encoders.to_system(),
        options=rules.to_options(),
        display_name=display_name,
    )
