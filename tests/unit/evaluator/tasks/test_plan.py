"""Plans: what is not said comes from the benchmark, what it lacks is refused with what it has."""

import pytest

from lookbench_core.benchmark import (
    BenchmarkManifest,
    CollectionCounts,
    Judgement,
    SourceInfo,
    Subset,
)
from lookbench_evaluator.errors import InvalidField, RowsRejected
from lookbench_evaluator.runs.model import Dense, Encoder, Options, Specification, System
from lookbench_evaluator.tasks.plan import check_rejected, check_spaces, plan
from lookbench_inference.errors import ModelContractMismatch


def counts(name, rejected=0):
    return CollectionCounts(
        name=name, modality="image", rows_in=10, rows_out=10 - rejected, rows_rejected=rejected
    )


def a_manifest(**rejected):
    return BenchmarkManifest(
        id="b",
        title="b",
        query_modality="image",
        item_modality="image",
        subsets=(
            Subset(name="one", queries="q1", galleries=("i1",), noise=("noise",)),
            Subset(name="two", queries="q2", galleries=("i2",), noise=("noise",)),
        ),
        judgements=(
            Judgement(name="item", description="", kind="equal", labels=("item_id",)),
            Judgement(name="category", description="", kind="equal", labels=("category",)),
        ),
        headline_judgement="item",
        default_metrics=("hit", "mrr"),
        collections=tuple(counts(n, rejected.get(n, 0)) for n in ("q1", "q2", "i1", "i2", "noise")),
        source=SourceInfo(format="f", path="p", options={}),
        digest="sha256:0",
    )


def a_spec(subsets=(), dimension=4, **options):
    encoders = {
        "query_encoder": Encoder(model="m", dimension=4),
        "item_encoder": Encoder(model="n", dimension=dimension),
    }
    return Specification(
        benchmark="b",
        subsets=subsets,
        system=System(dense=Dense(**encoders)),
        options=Options(**options),
    )


def test_everything_is_evaluated_when_nothing_is_named():
    found = plan(a_manifest(), a_spec())
    assert found.subsets == ("one", "two")
    assert found.options.judgements == ("item", "category")
    assert found.options.metrics == ("hit", "mrr")


def test_what_is_named_keeps_the_order_of_the_benchmark():
    found = plan(a_manifest(), a_spec(("two", "one"), judgements=("category",)))
    assert found.subsets == ("one", "two")
    assert found.options.judgements == ("category",)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (a_spec(("three",)), "no 'three'; it has one, two"),
        (a_spec(judgements=("colour",)), "no 'colour'; it has item, category"),
        (a_spec(metrics=("map",)), "map_r, map_capped"),
        (a_spec(relevance_threshold=2.0), "graded"),
    ],
)
def test_what_the_benchmark_lacks_is_refused(spec, message):
    with pytest.raises(InvalidField, match=message):
        plan(a_manifest(), spec)


@pytest.mark.parametrize(
    ("lost", "policy", "refused"),
    [
        ({"q1": 1}, "fail_on_queries", True),
        ({"i1": 1}, "fail_on_queries", False),
        ({"noise": 1}, "fail_on_any", True),
        ({"q1": 1}, "allow", False),
        ({"q2": 1, "i2": 1}, "fail_on_any", False),
    ],
)
def test_the_policy_decides_about_rows_of_the_chosen_subsets(lost, policy, refused):
    manifest = a_manifest(**lost)
    spec = plan(manifest, a_spec(("one",), rejected_policy=policy))
    if refused:
        with pytest.raises(RowsRejected, match=f"1 of {next(iter(lost))}"):
            check_rejected(manifest, spec)
    else:
        check_rejected(manifest, spec)


def test_encoders_must_share_a_space():
    check_spaces(a_spec().system)
    with pytest.raises(ModelContractMismatch, match="4 dimensions, the item encoder 5"):
        check_spaces(a_spec(dimension=5).system)
