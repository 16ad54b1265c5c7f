"""Messages of the contract ↔ the evaluator's own types. No behaviour beyond checking."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime, time

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from lookbench.v1 import benchmark_pb2, model_pb2, run_pb2
from lookbench_core.benchmark import BenchmarkManifest
from lookbench_core.ids import is_model_id, is_resource_id
from lookbench_evaluator.benchmarks.catalog import BenchmarkRecord
from lookbench_evaluator.errors import InvalidField, NotImplementedYet
from lookbench_evaluator.failures import failure_status
from lookbench_evaluator.models import ModelInfo
from lookbench_evaluator.runs import model as runs
from lookbench_evaluator.runs import results

_NO_RELEVANT = {0: "zero", 1: "zero", 2: "exclude"}
_REJECTED = {0: "fail_on_queries", 1: "fail_on_queries", 2: "fail_on_any", 3: "allow"}
_DUPLICATES = {0: "keep", 1: "keep", 2: "merge"}
MAX_CUTOFF = 10_000
# Free text of callers: a page of runs stays well below a message of 4 MiB.
MAX_NAME = 256
MAX_INSTRUCTION = 2048


def resource_id(name: str, collection: str, field: str) -> str:
    """The last part of `runs/x`. Raises InvalidField unless the name has that form."""
    prefix, _, identifier = name.partition("/")
    fits = is_model_id(identifier) if collection == "models" else is_resource_id(identifier)
    if prefix != collection or not fits:
        raise InvalidField(field, f"{name!r} is not of the form {collection}/ID")
    return identifier


def specification_from_proto(run: run_pb2.Run) -> runs.Specification:
    """The immutable part of a run to create, all defaults filled in. Raises InvalidField."""
    return runs.Specification(
        benchmark=resource_id(run.benchmark, "benchmarks", "run.benchmark"),
        subsets=_distinct(run.subsets, "run.subsets"),
        system=_system(run.system),
        options=_options(run.options),
        display_name=_short(run.display_name, MAX_NAME, "run.display_name"),
    )


def _system(system: run_pb2.System) -> runs.System:
    kind = system.WhichOneof("first_stage")
    if kind is None:
        raise InvalidField("run.system.first_stage", "is missing; give for example `dense`")
    if kind != "dense" or system.HasField("reranker"):
        missing = kind if kind != "dense" else "reranker"
        raise NotImplementedYet(
            f"this version cannot evaluate `{missing}` systems yet; it evaluates `dense`",
            field=f"run.system.{missing}",
        )
    query = _encoder(system.dense.query_encoder, "run.system.dense.query_encoder")
    if not system.dense.HasField("item_encoder"):
        return runs.System(dense=runs.Dense(query_encoder=query, item_encoder=query))
    item = _encoder(system.dense.item_encoder, "run.system.dense.item_encoder")
    return runs.System(dense=runs.Dense(query_encoder=query, item_encoder=item))


def _encoder(encoder: run_pb2.Encoder, field: str) -> runs.Encoder:
    if encoder.dimension < 0:
        raise InvalidField(f"{field}.dimension", f"{encoder.dimension} is negative")
    return runs.Encoder(
        model=resource_id(encoder.model, "models", f"{field}.model"),
        role=_short(encoder.role, MAX_NAME, f"{field}.role"),
        instruction=_short(encoder.instruction, MAX_INSTRUCTION, f"{field}.instruction"),
        preset=_short(encoder.preset, MAX_NAME, f"{field}.preset"),
        dimension=encoder.dimension,
    )


def _short(text: str, limit: int, field: str) -> str:
    if len(text) > limit:
        raise InvalidField(field, f"has {len(text)} characters, at most {limit} are allowed")
    return text


def _options(options: run_pb2.EvaluationOptions) -> runs.Options:
    threshold = options.relevance_threshold if options.HasField("relevance_threshold") else 1.0
    if not (threshold > 0 and math.isfinite(threshold)):
        raise InvalidField(
            "run.options.relevance_threshold", f"{threshold} is not a finite number above 0"
        )
    return runs.Options(
        metrics=_distinct(options.metrics, "run.options.metrics"),
        cutoffs=_cutoffs(options.cutoffs),
        judgements=_distinct(options.judgements, "run.options.judgements"),
        relevance_threshold=threshold,
        no_relevant_policy=_choice(options.no_relevant_policy, _NO_RELEVANT, "no_relevant_policy"),
        rejected_policy=_choice(options.rejected_policy, _REJECTED, "rejected_policy"),
        duplicate_policy=_choice(options.duplicate_policy, _DUPLICATES, "duplicate_policy"),
        without_noise=options.without_noise,
        timeout_s=_timeout_s(options),
    )


def _timeout_s(options: run_pb2.EvaluationOptions) -> float | None:
    if not options.HasField("timeout"):
        return None
    seconds = options.timeout.seconds + options.timeout.nanos / 1e9
    if seconds <= 0:
        raise InvalidField("run.options.timeout", f"{seconds:g} s is not above 0")
    return seconds


def _cutoffs(cutoffs: Iterable[int]) -> tuple[int, ...]:
    chosen = tuple(sorted(set(cutoffs))) or runs.DEFAULT_CUTOFFS
    for cutoff in chosen:
        if not 1 <= cutoff <= MAX_CUTOFF:
            raise InvalidField("run.options.cutoffs", f"{cutoff} is not between 1 and {MAX_CUTOFF}")
    return chosen


def _distinct(values: Iterable[str], field: str) -> tuple[str, ...]:
    given = tuple(values)
    repeated = {value for value in given if given.count(value) > 1}
    if len(given) > MAX_NAME:
        raise InvalidField(field, f"has {len(given)} entries, at most {MAX_NAME} are allowed")
    if repeated:
        raise InvalidField(field, f"{', '.join(sorted(repeated))} is given twice")
    return given


def _choice(number: int, names: dict[int, str], field: str) -> str:
    try:
        return names[number]
    except KeyError:
        raise InvalidField(f"run.options.{field}", f"{number} is not a known value") from None


def states_from_proto(states: Iterable[int]) -> tuple[runs.State, ...]:
    """Raises InvalidField for a number that names no state."""
    known = {number: name for name, number in run_pb2.Run.State.items() if number}
    try:
        return tuple(runs.State(known[number]) for number in states)
    except KeyError as error:
        raise InvalidField("states", f"{error.args[0]} is not a known state") from None


def run_to_proto(run: runs.Run) -> run_pb2.Run:
    """A stored run as clients see it."""
    spec = run.specification
    return run_pb2.Run(
        name=f"runs/{run.id}",
        benchmark=f"benchmarks/{spec.benchmark}",
        subsets=spec.subsets,
        system=_system_to_proto(spec.system),
        options=_options_to_proto(spec.options),
        display_name=spec.display_name,
        state=run.state.value,
        error=run.failure and failure_status(run.failure),
        revision=run.revision,
        create_time=_timestamp(run.created),
        start_time=_timestamp(run.started),
        end_time=_timestamp(run.ended),
        progress=_progress_to_proto(run.progress),
        caller=run.caller,
        pinned=None if run.pinned is None else _pinned_to_proto(run.pinned),
    )


def _system_to_proto(system: runs.System) -> run_pb2.System:
    return run_pb2.System(
        dense=run_pb2.DenseRetriever(
            query_encoder=_encoder_to_proto(system.dense.query_encoder),
            item_encoder=_encoder_to_proto(system.dense.item_encoder),
        )
    )


def _encoder_to_proto(encoder: runs.Encoder) -> run_pb2.Encoder:
    return run_pb2.Encoder(
        model=f"models/{encoder.model}",
        role=encoder.role,
        instruction=encoder.instruction,
        preset=encoder.preset,
        dimension=encoder.dimension,
    )


def _options_to_proto(options: runs.Options) -> run_pb2.EvaluationOptions:
    return run_pb2.EvaluationOptions(
        metrics=options.metrics,
        cutoffs=options.cutoffs,
        judgements=options.judgements,
        relevance_threshold=options.relevance_threshold,
        no_relevant_policy=options.no_relevant_policy.upper(),
        rejected_policy=options.rejected_policy.upper(),
        duplicate_policy=options.duplicate_policy.upper(),
        without_noise=options.without_noise,
        timeout=_duration(options.timeout_s),
    )


def _progress_to_proto(progress: runs.Progress) -> run_pb2.Progress:
    return run_pb2.Progress(
        stage=progress.stage.value,
        total=progress.total,
        done=progress.done,
        rejected=progress.rejected,
        rate=progress.rate,
        remaining=_duration(progress.remaining_s),
        cache_hits=progress.cache_hits,
        resumed=progress.resumed,
    )


def _pinned_to_proto(pinned: runs.Pinned) -> run_pb2.PinnedVersions:
    return run_pb2.PinnedVersions(
        benchmark_digest=pinned.benchmark_digest,
        specification_digest=pinned.specification_digest,
        models=[
            run_pb2.PinnedModel(
                model=f"models/{m.model}", version=m.version, graph_digest=m.graph_digest
            )
            for m in pinned.models
        ],
    )


def report_to_proto(run: runs.Run, report: results.Report) -> run_pb2.Report:
    """A finished run's numbers."""
    return run_pb2.Report(
        run=run_to_proto(run),
        metrics=[run_pb2.MetricValue(**value.model_dump()) for value in report.metrics],
        subsets=[run_pb2.SubsetSummary(**summary.model_dump()) for summary in report.subsets],
        headline_judgement=report.headline_judgement,
        notes=report.notes,
        rejected=[run_pb2.RejectedRow(**row.model_dump()) for row in report.rejected],
        rejected_count=report.rejected_count,
        truncated_count=report.truncated_count,
        duplicates=[run_pb2.DuplicateGroup(**group.model_dump()) for group in report.duplicates],
        duplicate_group_count=report.duplicate_group_count,
    )


def result_to_proto(
    result: results.QueryResult, judgements: tuple[str, ...]
) -> run_pb2.QueryResult:
    """One query's ranking; grades stand in the order of `judgements`."""
    grades = zip(*(result.grades[name] for name in judgements), strict=True)
    ranked = zip(result.items, result.scores, grades, strict=True)
    return run_pb2.QueryResult(
        subset=result.subset,
        query_id=result.query_id,
        group=result.group,
        ranking=[
            run_pb2.RankedItem(item_id=item, score=score, grades=row) for item, score, row in ranked
        ],
        metrics=[
            run_pb2.MetricValue(
                subset=result.subset,
                judgement=m.judgement,
                metric=m.metric,
                cutoff=m.cutoff,
                value=m.value,
                query_count=1,
                no_relevant_count=int(m.no_relevant),
            )
            for m in result.metrics
        ],
        tie_count=result.ties,
    )


def benchmark_to_proto(record: BenchmarkRecord) -> benchmark_pb2.Benchmark:
    """An imported benchmark, or one whose import runs or failed."""
    message = benchmark_pb2.Benchmark(
        name=f"benchmarks/{record.id}",
        state=record.state.value,
        error=record.failure and failure_status(record.failure),
        format=record.format,
        source_path=record.path,
        imported_rows=record.imported_rows,
        duplicate_group_count=record.duplicate_group_count,
        rejected_reasons=record.rejected_reasons,
    )
    if record.manifest is not None:
        _describe(message, record.manifest)
    return message


def _describe(message: benchmark_pb2.Benchmark, manifest: BenchmarkManifest) -> None:
    rows = {c.name: c.rows_out for c in manifest.collections}
    message.title = manifest.title
    message.digest = manifest.digest
    message.headline_judgement = manifest.headline_judgement
    message.MergeFrom(
        benchmark_pb2.Benchmark(
            query_modality=manifest.query_modality.upper(),
            item_modality=manifest.item_modality.upper(),
        )
    )
    if manifest.release_date is not None:
        message.release_time.FromDatetime(
            datetime.combine(manifest.release_date, time(), tzinfo=UTC)
        )
    for subset in manifest.subsets:
        noise = sum(rows[name] for name in subset.noise)
        message.subsets.add(
            name=subset.name,
            query_count=rows[subset.queries],
            item_count=noise + sum(rows[name] for name in subset.galleries),
            noise_count=noise,
        )
    for judgement in manifest.judgements:
        message.judgements.add(
            name=judgement.name,
            description=judgement.description,
            graded=judgement.kind == "qrels",
        )
    for counts in manifest.collections:
        message.collections.add(
            name=counts.name,
            rows_in=counts.rows_in,
            rows_out=counts.rows_out,
            rows_rejected=counts.rows_rejected,
        )


def model_to_proto(info: ModelInfo) -> model_pb2.Model:
    """A model of the repository."""
    manifest = info.manifest
    message = model_pb2.Model(
        name=f"models/{info.name}",
        kind=None if manifest is None else manifest.kind.upper(),
        ready=info.ready,
        problem=info.problem,
        versions=info.versions,
    )
    if manifest is None:
        return message
    message.family = manifest.family
    message.dimension = manifest.output.dimension
    message.precision = manifest.graph.precision
    message.max_batch_size = manifest.max_batch_size
    message.source = "@".join(filter(None, (manifest.source.id, manifest.source.revision)))
    message.licence = manifest.source.licence
    message.graph_digest = manifest.graph.digest
    message.training_cutoff = manifest.source.training_cutoff or ""
    message.parity_worst_cosine = manifest.parity.worst_cosine
    if manifest.image is not None:
        message.presets.extend(sorted(manifest.image.presets))
        message.default_preset = manifest.image.default_preset
    if manifest.text is not None:
        message.roles.extend(sorted(manifest.text.templates))
    return message


def _timestamp(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def _duration(seconds: float | None) -> Duration | None:
    if seconds is None:
        return None
    duration = Duration()
    duration.FromMicroseconds(round(seconds * 1e6))
    return duration
