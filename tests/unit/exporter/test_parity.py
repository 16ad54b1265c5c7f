import numpy as np
import pytest

from lookbench_exporter.errors import ExportRefused
from lookbench_exporter.parity import cosines, measure

NAMES = [f"sample {row}" for row in range(10)]
D = 5


def truth():
    rows = np.random.default_rng(1).normal(size=(10, D))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


TRUTH = truth()


def reference(rows):
    return TRUTH[list(rows)]


def compare(served, given=reference, names=NAMES, minimum=0.9999):
    return measure(given, served, names, D, minimum)


def turned(vectors, angle):
    """Each row turned by `angle` towards a direction at right angles to it."""
    other = np.roll(vectors, 1, axis=1).astype(np.float64)
    other -= (other * vectors).sum(axis=1, keepdims=True) * vectors
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    return (np.cos(angle) * vectors + np.sin(angle) * other).astype(np.float32)


def test_an_equal_graph_has_cosine_one():
    figures = compare(reference)
    assert figures.rows == 10
    assert figures.worst_cosine == pytest.approx(1, abs=1e-7)
    assert figures.worst_batch_cosine == pytest.approx(1, abs=1e-7)


def test_cosines_are_those_of_hand():
    left = np.array([[1, 0], [3, 4]], np.float32)
    right = np.array([[0, 2], [4, 3]], np.float32)
    assert cosines(left, right) == pytest.approx([0.0, 24 / 25])


def test_the_worst_and_the_mean_are_told():
    # cos(0.01) = 0.99995
    figures = compare(lambda rows: turned(reference(rows), 0.01))
    assert figures.worst_cosine == pytest.approx(np.cos(0.01), abs=1e-7)
    assert figures.mean_cosine == pytest.approx(np.cos(0.01), abs=1e-7)


def test_one_row_under_the_limit_refuses_the_export():
    def served(rows):
        answer = reference(rows).copy()
        for place, row in enumerate(rows):
            if row == 7:
                # cos(0.0145) = 0.999895
                answer[place] = turned(answer[[place]], 0.0145)[0]
        return answer

    with pytest.raises(ExportRefused, match=r"parity: .*0\.999895 for 'sample 7'") as caught:
        compare(served)
    assert caught.value.metadata["check"] == "parity"
    compare(served, minimum=0.999)


def test_only_row_zero_of_a_batch_being_right_is_found():
    # Reported fault A11: every row of a batch gets the first row's vector.
    def served(rows):
        return reference([rows[0]] * len(rows))

    with pytest.raises(ExportRefused, match="batch 8 against the reference"):
        compare(served)


def test_equal_rows_with_unequal_vectors_are_found():
    # Reported fault A11: [x, x, x, x] must give four equal vectors.
    def served(rows):
        answer = reference(rows)
        return turned(answer, 0.01) if len(set(rows)) == 1 and len(rows) > 1 else answer

    def drifting(rows):
        answer = served(rows).copy()
        answer[0] = TRUTH[rows[0]]
        return answer

    compare(served)
    with pytest.raises(ExportRefused, match="equal rows"):
        compare(drifting)


def test_batches_are_full_and_mix_the_samples():
    sizes = []

    def served(rows):
        sizes.append(len(rows))
        return reference(rows)

    compare(served)
    assert sizes == [1] * 10 + [8, 8] + [4]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_non_finite_value_is_refused(value):
    def served(rows):
        answer = reference(rows).copy()
        for place, row in enumerate(rows):
            if row == 3:
                answer[place, 1] = value
        return answer

    with pytest.raises(ExportRefused, match=r"finite values: .*'sample 3'"):
        compare(served)


@pytest.mark.parametrize("factor", [0.0, 0.999, 2.0])
def test_a_vector_not_of_unit_norm_is_refused(factor):
    with pytest.raises(ExportRefused, match="unit norm"):
        compare(lambda rows: reference(rows) * np.float32(factor))


@pytest.mark.parametrize(
    "served",
    [
        lambda rows: reference(rows)[:, :4],
        lambda rows: np.repeat(reference(rows)[:, None], 3, axis=1),
        lambda rows: reference(rows).astype(np.float16),
    ],
)
def test_another_shape_or_type_is_refused(served):
    with pytest.raises(ExportRefused, match="embedding shape"):
        compare(served)


def test_one_vector_for_everything_proves_nothing():
    def constant(rows):
        return TRUTH[[0] * len(rows)]

    with pytest.raises(ExportRefused, match="distinct embeddings"):
        compare(constant, constant)


def test_a_broken_reference_is_refused_too():
    with pytest.raises(ExportRefused, match="reference gave NaN"):
        compare(reference, lambda rows: np.full((len(rows), D), np.nan, np.float32))


def test_fewer_than_eight_samples_are_refused():
    with pytest.raises(ExportRefused, match="at least 8"):
        compare(reference, names=NAMES[:7])
