"""Messages that several tests render."""

import pytest
from rich.console import Console

from lookbench.v1.run_pb2 import (
    DenseRetriever,
    Encoder,
    MetricValue,
    QueryResult,
    RankedItem,
    Report,
    Run,
    SubsetSummary,
    System,
)


def _values(subset, judgement, numbers):
    return [
        MetricValue(
            subset=subset,
            judgement=judgement,
            metric=metric,
            cutoff=cutoff,
            value=value,
            query_count=500,
            no_relevant_count=3,
        )
        for metric, cutoff, value in numbers
    ]


@pytest.fixture
def report() -> Report:
    """Two judgements; cutoffs out of order; one value absent."""
    run = Run(
        name="runs/nightly",
        benchmark="benchmarks/fashion-mnist",
        system=System(
            dense=DenseRetriever(query_encoder=Encoder(model="models/efficientnet-lite0"))
        ),
    )
    category = _values("main", "category", [("hit", 1, 0.75)])
    item = _values("main", "item", [("hit", 10, 0.9), ("hit", 1, 0.3884), ("ndcg_binary", 1, 0.25)])
    absent = MetricValue(subset="main", judgement="item", metric="ndcg_binary", cutoff=10)
    return Report(
        run=run,
        metrics=[*category, *item, absent],
        subsets=[SubsetSummary(subset="main", query_count=500, item_count=4000, noise_count=400)],
        notes=["Labels were lower-cased."],
        headline_judgement="item",
    )


@pytest.fixture
def query_result():
    """A function: one query of subset `main` with the value of hit@1 by judgement `item`."""

    def make(query_id, value, grades=(1.0, 0.0)):
        metric = MetricValue(judgement="item", metric="hit", cutoff=1)
        if value is not None:
            metric.value = value
        items = [
            RankedItem(item_id=f"i{place}", score=0.9 - place / 10, grades=[grade])
            for place, grade in enumerate(grades)
        ]
        return QueryResult(subset="main", query_id=query_id, ranking=items, metrics=[metric])

    return make


@pytest.fixture
def printed():
    """A function: what a console of the given width shows of some parts."""

    def show(*parts, width=80):
        console = Console(
            width=width, markup=False, highlight=False, emoji=False, color_system=None
        )
        with console.capture() as capture:
            for part in parts:
                console.print(part)
        return capture.get()

    return show
