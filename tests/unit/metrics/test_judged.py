import numpy as np
import pytest

from lookbench_metrics.errors import InvalidCutoff, InvalidGrades
from lookbench_metrics.judged import Judged


@pytest.mark.parametrize("grade", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("where", ["grades", "ideal"])
def test_a_grade_that_is_no_grade_is_refused_with_its_row(grade, where):
    parts = {"grades": np.array([[0.0], [0.0]]), "ideal": np.array([[1.0], [1.0]])}
    parts[where][1, 0] = grade
    with pytest.raises(InvalidGrades, match=f"{where} of query row 1"):
        Judged(**parts, n_relevant=np.array([1, 1]))


@pytest.mark.parametrize(
    ("grades", "ideal", "n_relevant", "problem"),
    [
        ([[0.0, 0.0]], [[1.0, 2.0]], [2], "descending"),
        ([[0.0, 0.0]], [[0.0, 0.0]], [-1], "negative"),
        ([[2.0, 0.0]], [[1.0, 0.0]], [1], "higher grades than the ideal"),
        ([[1.0, 1.0]], [[1.0]], [1], "higher grades than the ideal"),
        ([[0.0, 0.0]], [[1.0, 0.0]], [2], "not what the ideal grades say"),
        ([[0.0, 0.0, 0.0]], [[1.0, 1.0]], [3], "cut above the depth"),
    ],
)
def test_rows_that_contradict_themselves_are_refused(grades, ideal, n_relevant, problem):
    with pytest.raises(InvalidGrades, match=f"query row 0: .*{problem}"):
        Judged(np.array(grades), np.array(ideal), np.array(n_relevant))


@pytest.mark.parametrize("threshold", [0, -1, np.nan, np.inf])
def test_the_threshold_is_above_zero(threshold):
    with pytest.raises(InvalidGrades, match="threshold"):
        Judged(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1, dtype=np.int64), threshold)


def test_parts_of_different_length_are_refused():
    with pytest.raises(InvalidGrades, match="2 queries"):
        Judged(np.zeros((2, 1)), np.zeros((1, 1)), np.zeros(1, dtype=np.int64))


def test_binary_makes_the_ideal_no_wider_than_the_ranking():
    judged = Judged.binary(np.array([[True, False]]), np.array([1000]))
    assert judged.ideal.tolist() == [[1.0, 1.0]]
    assert judged.n_relevant.tolist() == [1000]


@pytest.mark.parametrize("k", [0, -1, 3])
def test_a_cutoff_outside_the_ranking_is_refused(judge, k):
    with pytest.raises(InvalidCutoff, match="1 to 2"):
        judge([[0, 1]], [[1]]).check_cutoff(k)


def test_no_queries_are_no_error():
    judged = Judged.binary(np.zeros((0, 5), dtype=bool), np.zeros(0, dtype=np.int64))
    assert judged.query_count == 0
    assert judged.found.shape == (0, 5)
