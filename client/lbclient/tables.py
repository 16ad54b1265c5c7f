"""Tables for people. Pure functions: messages in, things to print out."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from lbclient.names import short
from lbclient.times import NONE, local_time, run_duration, short_time
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.model_pb2 import Model
from lookbench.v1.run_pb2 import Run, System

_STATE_STYLE = {"SUCCEEDED": "green", "READY": "green", "FAILED": "red", "CANCELLED": "yellow"}
_UNBROKEN = 40
"""Names up to this long are not folded, so that they can be copied."""
_UNBROKEN_PAIR = 34
"""The same for a run and its benchmark together: beside them 80 columns hold the rest."""


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


def short_digest(digest: str) -> str:
    """`sha256:` and 12 digits, which stay on one line; --json has them all."""
    algorithm, colon, digits = digest.rpartition(":")
    return f"{algorithm}{colon}{digits[:12]}"


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
    """One run a row; a column for notes when there are any."""
    listed = list(runs)
    notes = ("note",) if any(run.display_name for run in listed) else ()
    names = [short(run.name) for run in listed]
    columns = ("run", "state", "system", "benchmark", "created", *notes)
    table = plain_table(*columns, names=names)
    table.columns[1].no_wrap = table.columns[4].no_wrap = True
    benchmarks = [short(run.benchmark) for run in listed]
    longest = [max(map(len, texts), default=0) for texts in (names, benchmarks)]
    table.columns[3].no_wrap = sum(longest) <= _UNBROKEN_PAIR
    for run in listed:
        cells = (
            short(run.name),
            state_text(state_name(run)),
            system_text(run.system),
            short(run.benchmark),
            short_time(run.create_time),
        )
        table.add_row(*cells, *([run.display_name] if notes else []))
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
        ("took", run_duration(run)),
        ("done", f"{count(progress.done)} of {count(progress.total)}" if progress.total else ""),
        ("from cache", count(progress.cache_hits) if progress.cache_hits else ""),
        ("done before", count(progress.resumed) if progress.resumed else ""),
        ("rejected", count(progress.rejected) if progress.rejected else ""),
        ("benchmark digest", short_digest(run.pinned.benchmark_digest)),
    ]
    rows += [
        (
            "model",
            f"{short(model.model)} version {model.version} {short_digest(model.graph_digest)}",
        )
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
    """Fields, subsets, judgements and row counts of one benchmark, apart by blank lines."""
    tables = (_subsets(benchmark), _judgements(benchmark), _collections(benchmark))
    parts: list[RenderableType] = [_benchmark_fields(benchmark)]
    for table in tables:
        parts += [Text(), table] if table.row_count else []
    if rejected := rejected_text(benchmark):
        parts.append(Text(rejected))
    return parts


def _benchmark_fields(benchmark: Benchmark) -> Table:
    kept = benchmark.state == Benchmark.READY and benchmark.error.message
    groups = counted(benchmark.duplicate_group_count, "group", "groups")
    return fields_table(
        [
            ("benchmark", benchmark.name),
            ("title", benchmark.title),
            ("state", state_text(Benchmark.State.Name(benchmark.state))),
            (
                "replacement" if kept else "error",
                f"failed: {kept}; the benchmark is as it was" if kept else benchmark.error.message,
            ),
            ("kind", modalities(benchmark)),
            ("source", f"{benchmark.format} {benchmark.source_path}".strip()),
            ("digest", short_digest(benchmark.digest)),
            ("duplicates", f"{groups} of equal content"),
        ]
    )


def _subsets(benchmark: Benchmark) -> Table:
    numeric = ("queries", "items", "noise")
    table = plain_table("subset", *numeric, numeric=numeric)
    for subset in benchmark.subsets:
        numbers = (subset.query_count, subset.item_count, subset.noise_count)
        table.add_row(subset.name, *map(count, numbers))
    return table


def _judgements(benchmark: Benchmark) -> Table:
    table = plain_table("judgement", "grades", "relevant when")
    for judgement in benchmark.judgements:
        headline = judgement.name == benchmark.headline_judgement
        name = f"{judgement.name} (headline)" if headline else judgement.name
        table.add_row(name, "graded" if judgement.graded else "binary", judgement.description)
    return table


def _collections(benchmark: Benchmark) -> Table:
    numeric = ("in", "used", "rejected")
    table = plain_table("rows of", *numeric, numeric=numeric)
    for part in benchmark.collections:
        table.add_row(part.name, *map(count, (part.rows_in, part.rows_out, part.rows_rejected)))
    return table


def rejected_text(benchmark: Benchmark) -> str:
    """How many rows were rejected for which reason, most frequent first; empty when none were."""
    reasons = sorted(benchmark.rejected_reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    if not reasons:
        return ""
    total = count(sum(number for _, number in reasons))
    listed = ", ".join(f"{count(number)} {reason}" for reason, number in reasons)
    return f"{total} rejected: {listed}; `lbclient report RUN` lists rows"


def models_parts(models: Iterable[Model]) -> Sequence[RenderableType]:
    """One model a row; below, each problem once with the models that have it."""
    listed = list(models)
    columns = ("model", "ready", "kind", "dim", "presets", "source")
    names = [short(model.name) for model in listed]
    table = plain_table(*columns, numeric=("dim",), names=names)
    problems: dict[str, list[str]] = {}
    for model in listed:
        table.add_row(
            short(model.name),
            Text("yes", style="green") if model.ready else Text("no", style="red"),
            kind_text(model),
            str(model.dimension),
            ", ".join(model.presets) or NONE,
            model.source,
        )
        if model.problem or not model.ready:
            problem = model.problem or "not ready; Triton gives no reason"
            problems.setdefault(problem, []).append(short(model.name))
    lines = [Text(f"{', '.join(having)}: {problem}") for problem, having in problems.items()]
    return [table, Text(), *lines] if lines else [table]


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
            ("ready", "yes" if model.ready else "no"),
            ("problem", model.problem),
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
            ("graph digest", short_digest(model.graph_digest)),
        ]
    )


def _with_default(names: Iterable[str], default: str) -> str:
    return ", ".join(f"{name} (default)" if name == default else name for name in names)
