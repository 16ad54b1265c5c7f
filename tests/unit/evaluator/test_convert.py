"""Messages become specifications with every default stated, or are refused by field."""

import pytest
from google.protobuf.duration_pb2 import Duration

from lookbench.v1 import run_pb2
from lookbench_evaluator import convert
from lookbench_evaluator.errors import InvalidField, NotImplementedYet
from lookbench_evaluator.runs.model import Options, State


def a_run(system=None, **fields):
    dense = run_pb2.DenseRetriever(query_encoder=run_pb2.Encoder(model="models/m"))
    return run_pb2.Run(
        benchmark="benchmarks/b", system=system or run_pb2.System(dense=dense), **fields
    )


def test_defaults_are_those_that_the_contract_states():
    spec = convert.specification_from_proto(a_run())
    assert spec.options == Options(
        metrics=(),
        cutoffs=(1, 5, 10, 20),
        judgements=(),
        relevance_threshold=1.0,
        no_relevant_policy="zero",
        rejected_policy="fail_on_queries",
        duplicate_policy="keep",
        without_noise=False,
        timeout_s=None,
    )
    assert spec.system.dense.item_encoder == spec.system.dense.query_encoder


def test_what_is_said_is_kept():
    kind = run_pb2.EvaluationOptions
    options = kind(
        metrics=["hit"],
        cutoffs=[5, 1, 5],
        no_relevant_policy=kind.EXCLUDE,
        rejected_policy=kind.ALLOW,
        duplicate_policy=kind.MERGE,
        without_noise=True,
        timeout=Duration(seconds=90),
    )
    found = convert.specification_from_proto(a_run(options=options)).options
    assert found.cutoffs == (1, 5)
    assert (found.no_relevant_policy, found.rejected_policy) == ("exclude", "allow")
    assert (found.duplicate_policy, found.without_noise, found.timeout_s) == ("merge", True, 90.0)


def test_query_and_item_encoders_may_differ():
    dense = run_pb2.DenseRetriever(
        query_encoder=run_pb2.Encoder(model="models/text", role="query"),
        item_encoder=run_pb2.Encoder(model="models/image", preset="native"),
    )
    system = convert.specification_from_proto(a_run(run_pb2.System(dense=dense))).system
    assert system.models == ("text", "image")


ENCODER = {"query_encoder": {"model": "models/m"}}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"benchmark": "b"}, "run.benchmark"),
        ({"benchmark": "benchmarks/../x"}, "run.benchmark"),
        ({"benchmark": "benchmarks/B"}, "run.benchmark"),
        ({"subsets": ["s", "s"]}, "run.subsets"),
        ({"display_name": "x" * 257}, "run.display_name"),
        ({"system": {}}, "run.system.first_stage"),
        (
            {"system": {"dense": {"query_encoder": {"model": "m"}}}},
            "run.system.dense.query_encoder.model",
        ),
        (
            {"system": {"dense": {"query_encoder": {"model": "models/../m"}}}},
            "run.system.dense.query_encoder.model",
        ),
        (
            {
                "system": {
                    "dense": {**ENCODER, "item_encoder": {"model": "models/m", "dimension": -1}}
                }
            },
            "run.system.dense.item_encoder.dimension",
        ),
        ({"options": {"cutoffs": [0]}}, "run.options.cutoffs"),
        ({"options": {"cutoffs": [10_001]}}, "run.options.cutoffs"),
        ({"options": {"metrics": ["hit", "hit"]}}, "run.options.metrics"),
        ({"options": {"relevance_threshold": 0}}, "run.options.relevance_threshold"),
        ({"options": {"relevance_threshold": float("inf")}}, "run.options.relevance_threshold"),
        ({"options": {"no_relevant_policy": 9}}, "run.options.no_relevant_policy"),
        ({"options": {"timeout": {"seconds": 0}}}, "run.options.timeout"),
    ],
)
def test_a_wrong_field_is_named(fields, field):
    run = run_pb2.Run(**{"benchmark": "benchmarks/b", "system": {"dense": ENCODER}, **fields})
    with pytest.raises(InvalidField) as caught:
        convert.specification_from_proto(run)
    assert caught.value.field == field


@pytest.mark.parametrize("kind", ["lexical", "embeddings", "ranking"])
def test_what_a_later_version_will_do_is_named_as_such(kind):
    with pytest.raises(NotImplementedYet, match=kind):
        convert.specification_from_proto(a_run(run_pb2.System(**{kind: {}})))


def test_states_are_those_of_the_contract():
    numbers = [run_pb2.Run.State.Value(state.value) for state in State]
    assert convert.states_from_proto(numbers) == tuple(State)
    with pytest.raises(InvalidField):
        convert.states_from_proto([99])
