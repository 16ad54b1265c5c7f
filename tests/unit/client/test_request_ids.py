"""Request ids that are the same for the same request."""

from uuid import UUID

from lbclient.request_ids import repeatable
from lookbench.v1.run_pb2 import EvaluationOptions, Run

WANTED = Run(benchmark="benchmarks/fm", options=EvaluationOptions(metrics=["hit"], cutoffs=[1, 5]))


def test_the_same_request_has_the_same_id_and_it_is_a_uuid4():
    first = repeatable(WANTED, "nightly")
    again = Run.FromString(WANTED.SerializeToString())
    assert repeatable(again, "nightly") == first
    assert UUID(first).version == 4
    assert str(UUID(first)) == first


def test_another_run_or_another_name_has_another():
    ids = {repeatable(WANTED, "a"), repeatable(WANTED, "b"), repeatable(Run(), "a")}
    other = Run()
    other.CopyFrom(WANTED)
    other.options.cutoffs[:] = [1]
    assert len({*ids, repeatable(other, "a")}) == 4
