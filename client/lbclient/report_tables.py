"""The numbers of a run as tables: one block per judgement and subset."""

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from lbclient.names import short
from lbclient.output import printable
from lbclient.tables import count, counted, plain_table, system_text
from lbclient.times import NONE
from lookbench.v1.run_pb2 import MetricValue, QueryResult, Report, SubsetSummary

_REJECTED_SHOWN = 10


def value_text(value: MetricValue | None) -> str:
    """Four decimals; `-` when no query could be counted."""
    return f"{value.value:.4f}" if value is not None and value.HasField("value") else NONE


def report_parts(report: Report) -> Sequence[RenderableType]:
    """Heading, one block per judgement and subset with the headline first, then the notes."""
    run = report.run
    heading = Text(f"{system_text(run.system)} on {short(run.benchmark)} ({run.name})", "bold")
    parts: list[RenderableType] = [heading]
    for judgement in judgement_order(report):
        for subset in _distinct(value.subset for value in report.metrics):
            parts += _block(report, judgement, subset)
    return parts + [Text(line) for line in _remarks(report)]


def judgement_order(report: Report) -> list[str]:
    """The report's judgements, the headline first."""
    names = _distinct(value.judgement for value in report.metrics)
    return sorted(names, key=lambda name: name != report.headline_judgement)


def _block(report: Report, judgement: str, subset: str) -> list[RenderableType]:
    values = [v for v in report.metrics if (v.judgement, v.subset) == (judgement, subset)]
    if not values:
        return []
    headline = ", headline" if judgement == report.headline_judgement else ""
    sizes = next((s for s in report.subsets if s.subset == subset), None)
    return [
        Text(),
        Text(f"{subset}: relevant by {judgement}{headline}", "bold"),
        metric_matrix(values),
        Text(_counts(values, sizes), "dim"),
    ]


def metric_matrix(values: Sequence[MetricValue]) -> Table:
    """Metrics down, cutoffs across in ascending order; values of one judgement and subset."""
    cutoffs = sorted({value.cutoff for value in values})
    heads = [f"@{cutoff}" for cutoff in cutoffs]
    table = plain_table("metric", *heads, numeric=heads)
    by_place = {(value.metric, value.cutoff): value for value in values}
    for metric in _distinct(value.metric for value in values):
        cells = (value_text(by_place.get((metric, cutoff))) for cutoff in cutoffs)
        table.add_row(metric, *cells)
    return table


def _counts(values: Sequence[MetricValue], sizes: SubsetSummary | None) -> str:
    parts = [_queries(max(value.query_count for value in values)) + " in the mean"]
    if sizes is not None:
        noise = f", {count(sizes.noise_count)} of them noise" if sizes.noise_count else ""
        parts.append(counted(sizes.item_count, "item", "items") + noise)
    without = max(value.no_relevant_count for value in values)
    parts.append(_queries(without) + " without a relevant item")
    if sizes is not None and sizes.tied_query_count:
        parts.append(_queries(sizes.tied_query_count) + " with tied scores")
    return "; ".join(parts)


def _queries(number: int) -> str:
    return counted(number, "query", "queries")


def _remarks(report: Report) -> list[str]:
    lines = [f"Note: {note}" for note in report.notes]
    if report.truncated_count:
        texts = counted(report.truncated_count, "text was", "texts were")
        lines.append(f"{texts} longer than the model accepts.")
    if report.duplicate_group_count:
        groups = counted(report.duplicate_group_count, "group", "groups")
        lines.append(f"Items with equal content: {groups}.")
    if report.rejected_count:
        lines.append(counted(report.rejected_count, "row was", "rows were") + " rejected:")
        shown = report.rejected[:_REJECTED_SHOWN]
        lines += [printable(f"  {r.collection} row {r.row} ({r.id}): {r.message}") for r in shown]
        hidden = report.rejected_count - len(shown)
        lines += [f"  and {count(hidden)} more; --json lists them"] if hidden > 0 else []
    return ["", *lines] if lines else []


def results_table(
    results: Sequence[QueryResult], judgement: str, metrics: Sequence[tuple[str, int]]
) -> Table:
    """One query a row: its best items and its own values of `metrics`.

    A star marks an item that is relevant by `judgement`.
    """
    heads = [f"{metric}@{cutoff}" for metric, cutoff in metrics]
    names = [result.query_id for result in results]
    columns = ("query", "subset", "best items (* relevant)", *heads)
    table = plain_table(*columns, numeric=heads, names=names)
    for result in results:
        values = (query_value(result, judgement, *metric) for metric in metrics)
        table.add_row(
            result.query_id,
            result.subset,
            _best_items(result, judgement),
            *(NONE if value is None else f"{value:.4f}" for value in values),
        )
    return table


def query_value(result: QueryResult, judgement: str, metric: str, cutoff: int) -> float | None:
    """One query's value of a metric; None when it has none."""
    wanted = (judgement, metric, cutoff)
    for value in result.metrics:
        if (value.judgement, value.metric, value.cutoff) == wanted and value.HasField("value"):
            return value.value
    return None


def query_metrics(result: QueryResult) -> list[tuple[str, int]]:
    """The metrics and cutoffs that a query has values for, in the server's order."""
    pairs = [(value.metric, value.cutoff) for value in result.metrics]
    return list(dict.fromkeys(pairs))


def _best_items(result: QueryResult, judgement: str, shown: int = 3) -> str:
    judgements = _distinct(value.judgement for value in result.metrics)
    place = judgements.index(judgement) if judgement in judgements else 0
    parts = []
    for item in result.ranking[:shown]:
        relevant = len(item.grades) > place and item.grades[place] > 0
        parts.append(f"{item.item_id} {item.score:.3f}{'*' if relevant else ''}")
    return ", ".join(parts)


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
