"""Options of `evaluate` as a Run."""

from datetime import timedelta

from lbclient.evaluation import DUPLICATES, NO_RELEVANT, REJECTED, Encoders, Rules, build_run
from lookbench.v1.run_pb2 import Encoder, EvaluationOptions


def test_one_model_for_both_sides_leaves_the_item_encoder_out():
    dense = Encoders("clip", "clip", preset="lookbench", dimension=64).to_system().dense
    assert dense.query_encoder == Encoder(model="models/clip", preset="lookbench", dimension=64)
    assert not dense.HasField("item_encoder")


def test_sides_that_differ_are_both_given():
    encoders = Encoders("m", "m", query_role="query", item_role="document", instruction="find")
    dense = encoders.to_system().dense
    assert dense.query_encoder == Encoder(model="models/m", role="query", instruction="find")
    assert dense.item_encoder == Encoder(model="models/m", role="document")


def test_a_role_of_queries_alone_is_not_the_items_role():
    dense = Encoders("m", "m", query_role="query").to_system().dense
    assert dense.item_encoder == Encoder(model="models/m")


def test_rules_left_out_leave_the_server_its_defaults():
    assert Rules().to_options() == EvaluationOptions()


def test_rules_given_are_sent():
    rules = Rules(
        metrics=("hit",),
        cutoffs=(1, 5),
        judgements=("item",),
        no_relevant="exclude",
        rejected="allow",
        duplicates="merge",
        without_noise=True,
        timeout=timedelta(minutes=15),
    )
    options = rules.to_options()
    assert list(options.metrics) == ["hit"]
    assert list(options.cutoffs) == [1, 5]
    assert list(options.judgements) == ["item"]
    assert options.no_relevant_policy == EvaluationOptions.EXCLUDE
    assert options.rejected_policy == EvaluationOptions.ALLOW
    assert options.duplicate_policy == EvaluationOptions.MERGE
    assert options.without_noise
    assert options.timeout.seconds == 900


def test_every_policy_of_the_contract_can_be_chosen():
    def values(enum):
        return {number for number in enum.values() if number}

    assert set(NO_RELEVANT.values()) == values(EvaluationOptions.NoRelevantPolicy)
    assert set(REJECTED.values()) == values(EvaluationOptions.RejectedPolicy)
    assert set(DUPLICATES.values()) == values(EvaluationOptions.DuplicatePolicy)


def test_run_names_its_benchmark_and_note():
    run = build_run("fm", Encoders("m", "m"), Rules(), subsets=["a"], display_name="try 1")
    assert (run.benchmark, list(run.subsets), run.display_name) == (
        "benchmarks/fm",
        ["a"],
        "try 1",
    )
