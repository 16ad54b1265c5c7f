import pytest

from lookbench_metrics.errors import ConflictingGrades, InvalidGrades
from lookbench_metrics.judgements import collect


def test_a_repeated_judgement_is_kept_once_and_counted():
    result = collect([(2, "q1", "g", 1), (3, "q1", "g", 1.0), (4, "q1", "h", 2)])
    assert result.grades == {"q1": {"g": 1.0, "h": 2.0}}
    assert (result.repeats, len(result)) == (1, 2)


def test_conflicting_grades_name_both_lines():
    with pytest.raises(ConflictingGrades, match=r"'q1'.*'g'.*grade 1 on line 2 and 3 on line 7"):
        collect([(2, "q1", "g", 1), (5, "q2", "g", 3), (7, "q1", "g", 3)])


@pytest.mark.parametrize("grade", [-1, float("nan"), float("inf")])
def test_a_grade_that_is_no_grade_names_its_line(grade):
    with pytest.raises(InvalidGrades, match=r"line 9"):
        collect([(9, "q", "g", grade)])


def test_ids_that_look_like_numbers_stay_apart():
    assert collect([(1, "7", "07", 1), (2, "07", "7", 1)]).grades == {
        "7": {"07": 1.0},
        "07": {"7": 1.0},
    }
