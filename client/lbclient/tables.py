"""Tables for people. Pure functions: messages in, things to print out."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from lbclient.names import short
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.model_pb2 import Model
from lookbench.v1.run_pb2 import Run, System

_STATE_STYLE = {"SUCCEEDED": "green", "READY": "green", "FAILED": "red", "CANCELLED": "yellow"}
NONE = "-"
_UNBROKEN = 40
"""Names up to this long are not folded, so that they can be copied."""


def plain_table(*columns: str, numeric: Iterable[str] = (), names: Iterable[str] = ()) -> Table:
    """An empty table with a rule under its head; long cells are folded, never cut.

    names: what the first column will hold; these stay on one line where they can.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    right = set(numeric)
    for column in columns:
        justify = "right" if column in right else "left"
        table.add_column(column, justify=justify, overflow="fold")  # type: ignore[arg-type]
    table.columns[0].no_wrap = 0 < max(map(len, names), default=0) <= _UNBROKEN
    return table


def state_text(name: str) -> Text:
    """A state in the colour that fits it."""
    return Text(name, style=_STATE_STYLE.get(name, ""))


def count(number: int) -> str:
    """`4,000`."""
    return f"{number:,}"


def counted(number: int, one: str, many: str) -> str:
    """`1 query`, `4,000 queries`."""
    return f"{count(number)} {one if number == 1 else many}"


def local_time(stamp: Timestamp) -> str:
    """Minutes in the local time zone; `-` when it is not set."""
    if not stamp.seconds:
        return NONE
    return datetime.fromtimestamp(stamp.seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def fields_table(rows: Iterable[tuple[str, RenderableType]]) -> Table:
    """Names and values below each other; rows without a value are left out."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value != "":
            table.add_row(name, value)
    return table


def system_text(system: System) -> str:
    """What was evaluated, in a few words."""
    kind = system.WhichOneof("first_stage")
    if kind == "dense":
        text = _dense_text(system)
    elif kind == "lexical":
        text = "BM25"
    elif kind == "embeddings":
        text = f"embeddings {system.embeddings.item_path}"
    else:
        text = f"ranking {system.ranking.path}" if kind else NONE
    if system.HasField("reranker"):
        text += f" + {short(system.reranker.model)}"
    return text


def _dense_text(system: System) -> str:
    query = short(system.dense.query_encoder.model)
    if not system.dense.HasField("item_encoder"):
        return query
    item = short(system.dense.item_encoder.model)
    return query if item == query else f"{query} → {item}"


def state_name(run: Run) -> str:
    """Name of the run's state, also of one that this client does not know."""
    known = run.state in Run.State.values()
    return Run.State.Name(run.state) if known else f"STATE {run.state}"


def runs_table(runs: Iterable[Run]) -> Table:
    """One run a row."""
    listed = list(runs)
    names = [short(run.name) for run in listed]
    table = plain_table("run", "state", "system", "benchmark", "created", "note", names=names)
    for run in listed:
        table.add_row(
            short(run.name),
            state_text(state_name(run)),
            system_text(run.system),
            short(run.benchmark),
            local_time(run.create_time),
            run.display_name,
        )
    return table


def run_fields(run: Run) -> Table:
    """Everything about one run that people ask for."""
    progress = run.progress
    rows: list[tuple[str, RenderableType]] = [
        ("run", run.name),
        ("state", state_text(state_name(run))),
        ("error", run.error.message),
        ("benchmark", run.benchmark),
        ("subsets", ", ".join(run.subsets)),
        ("system", system_text(run.system)),
        ("note", run.display_name),
        ("created", local_time(run.create_time)),
        ("started", local_time(run.start_time)),
        ("ended", local_time(run.end_time)),
        ("done", f"{count(progress.done)} of {count(progress.total)}" if progress.total else ""),
        ("from cache", count(progress.cache_hits) if progress.cache_hits else ""),
        ("rejected", count(progress.rejected) if progress.rejected else ""),
        ("benchmark digest", run.pinned.benchmark_digest),
    ]
    rows += [
        ("model", f"{short(model.model)} version {model.version} {model.graph_digest}")
        for model in run.pinned.models
    ]
    return fields_table(rows)


def benchmarks_table(benchmarks: Iterable[Benchmark]) -> Table:
    """One benchmark a row; queries and items of all subsets."""
    numeric = ("subsets", "queries", "items", "rejected")
    listed = list(benchmarks)
    names = [short(benchmark.name) for benchmark in listed]
    table = plain_table("benchmark", "state", "kind", *numeric, numeric=numeric, names=names)
    for benchmark in listed:
        table.add_row(
            short(benchmark.name),
            state_text(Benchmark.State.Name(benchmark.state)),
            modalities(benchmark),
            count(len(benchmark.subsets)),
            count(sum(subset.query_count for subset in benchmark.subsets)),
            count(sum(subset.item_count for subset in benchmark.subsets)),
            count(sum(part.rows_rejected for part in benchmark.collections)),
        )
    return table


def modalities(benchmark: Benchmark) -> str:
    """`image`, or `text → image` when the sides differ."""
    query, item = (
        Benchmark.Modality.Name(side).lower()
        for side in (benchmark.query_modality, benchmark.item_modality)
    )
    if benchmark.query_modality == Benchmark.MODALITY_UNSPECIFIED:
        return NONE
    return query if query == item else f"{query} → {item}"


def benchmark_parts(benchmark: Benchmark) -> Sequence[RenderableType]:
    """Fields, subsets, judgements and row counts of one benchmark."""
    head = fields_table(
        [
            ("benchmark", benchmark.name),
            ("title", benchmark.title),
            ("state", state_text(Benchmark.State.Name(benchmark.state))),
            ("error", benchmark.error.message),
            ("kind", modalities(benchmark)),
            ("source", f"{benchmark.format} {benchmark.source_path}".strip()),
            ("digest", benchmark.digest),
            (
                "duplicates",
                counted(benchmark.duplicate_group_count, "group", "groups") + " of equal content",
            ),
        ]
    )
    subsets = plain_table(
        "subset", "queries", "items", "noise", numeric=("queries", "items", "noise")
    )
    for subset in benchmark.subsets:
        numbers = (subset.query_count, subset.item_count, subset.noise_count)
        subsets.add_row(subset.name, *map(count, numbers))
    judgements = plain_table("judgement", "grades", "relevant when")
    for judgement in benchmark.judgements:
        headline = judgement.name == benchmark.headline_judgement
        name = f"{judgement.name} (headline)" if headline else judgement.name
        judgements.add_row(name, "graded" if judgement.graded else "binary", judgement.description)
    rows = plain_table("rows of", "in", "used", "rejected", numeric=("in", "used", "rejected"))
    for part in benchmark.collections:
        rows.add_row(part.name, *map(count, (part.rows_in, part.rows_out, part.rows_rejected)))
    return [head] + [table for table in (subsets, judgements, rows) if table.row_count]


def models_table(models: Iterable[Model]) -> Table:
    """One model a row."""
    listed = list(models)
    columns = ("model", "ready", "kind", "dim", "presets", "source")
    names = [short(model.name) for model in listed]
    table = plain_table(*columns, numeric=("dim",), names=names)
    for model in listed:
        table.add_row(
            short(model.name),
            Text("yes", style="green") if model.ready else Text(f"no: {model.problem}", "red"),
            kind_text(model),
            str(model.dimension),
            ", ".join(model.presets) or NONE,
            model.source,
        )
    return table


def kind_text(model: Model) -> str:
    """`image embedding`, `reranker`, …."""
    return Model.Kind.Name(model.kind).lower().replace("_", " ")


def model_fields(model: Model) -> Table:
    """Everything about one model."""
    cosine = f"{model.parity_worst_cosine:.6f}" if model.parity_worst_cosine else ""
    return fields_table(
        [
            ("model", model.name),
            ("kind", kind_text(model)),
            ("family", model.family),
            ("ready", "yes" if model.ready else f"no: {model.problem}"),
            ("versions", ", ".join(model.versions)),
            ("dimension", str(model.dimension)),
            ("precision", model.precision),
            ("largest batch", str(model.max_batch_size)),
            ("presets", _with_default(model.presets, model.default_preset)),
            ("roles", ", ".join(model.roles)),
            ("source", model.source),
            ("licence", model.licence),
            ("training cutoff", model.training_cutoff or "not declared"),
            ("worst cosine", cosine and f"{cosine} to the reference library"),
            ("graph digest", model.graph_digest),
        ]
    )


def _with_default(names: Iterable[str], default: str) -> str:
    return ", ".join(f"{name} (default)" if name == default else name for name in names)
