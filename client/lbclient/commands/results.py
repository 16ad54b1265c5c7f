"""`lbclient results`."""

from collections.abc import Iterator

import click

from lbclient.errors import InvalidRequest
from lbclient.listing import take
from lbclient.names import short
from lbclient.options import METRIC_AT_CUTOFF, json_option
from lbclient.output import print_json_list, say, show
from lbclient.report_tables import (
    judgement_order,
    query_metrics,
    query_value,
    results_table,
)
from lbclient.session import Session, pass_session
from lookbench.v1.run_pb2 import QueryResult, Report

_PAGE = 1000


@click.command()
@click.argument("run")
@click.option("--subset", default="", metavar="NAME", help="Only queries of this subset.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Queries to print; 0 prints all.",
)
@click.option(
    "--worst",
    type=METRIC_AT_CUTOFF,
    metavar="METRIC@K",
    help="The queries with the lowest value, lowest first.",
)
@click.option("--judgement", metavar="NAME", help="Rule of relevance. Default: the headline's.")
@json_option
@pass_session
def results(
    session: Session,
    /,
    *,
    run: str,
    subset: str,
    limit: int,
    worst: tuple[str, int] | None,
    judgement: str | None,
    as_json: bool,
) -> None:
    """Show what single queries got.

    In the order of the benchmark, or the worst first.

    \b
    Examples:
      lbclient results nightly --limit 50
      lbclient results nightly --worst ndcg_binary@10
      lbclient results nightly --limit 0 --json > queries.json
    """  # noqa: D301 - click's mark
    with session.client() as client:
        report = client.get_report(run)
        known = judgement_order(report)
        if judgement and judgement not in known:
            raise click.BadParameter(
                f"{judgement!r} is not among {', '.join(known)}", param_hint="--judgement"
            )
        _require_subset(report, subset)
        rule = judgement or (known[0] if known else "")
        page = min(limit + 1, _PAGE) if limit and not worst else _PAGE
        listing = client.list_query_results(run, subset=subset, page_size=page)
        if worst:
            found, more = worst_results(listing, rule, worst, limit)
        else:
            found, more = take(listing, limit)
    if as_json:
        print_json_list("query_results", found)
        return
    if not found:
        say("no queries" + (f" in subset {subset}" if subset else ""))
        return
    columns = [worst] if worst else query_metrics(found[0])[:4]
    show(results_table(found, rule, columns))
    if more:
        say(f"the first {len(found)} by judgement {rule}; --limit 0 shows all of {short(run)}")


def _require_subset(report: Report, subset: str) -> None:
    known = [summary.subset for summary in report.subsets]
    if subset and subset not in known:
        raise InvalidRequest(
            f"{report.run.name} has no subset {subset!r}; it has {', '.join(known)}"
        )


def worst_results(
    listing: Iterator[QueryResult], judgement: str, metric: tuple[str, int], limit: int
) -> tuple[list[QueryResult], bool]:
    """The results with the lowest values, ties in the order of the benchmark.

    Returns them and whether there are more. Queries without a value are left
    out. Raises InvalidRequest when no query has one.
    """
    valued: list[tuple[float, QueryResult]] = []
    offered: list[tuple[str, int]] = []
    for result in listing:
        offered = offered or query_metrics(result)
        value = query_value(result, judgement, *metric)
        if value is not None:
            valued.append((value, result))
    if not valued:
        names = ", ".join(f"{name}@{cutoff}" for name, cutoff in offered)
        raise InvalidRequest(
            f"no query has a value of {metric[0]}@{metric[1]} by judgement {judgement}; "
            f"the run has {names or 'no queries'}"
        )
    valued.sort(key=lambda pair: pair[0])
    chosen = [result for _, result in (valued[:limit] if limit else valued)]
    return chosen, len(chosen) < len(valued)
