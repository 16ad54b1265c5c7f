import numpy as np
import pytest
import pytrec_eval

from lookbench_core.ids import code_point_rank
from lookbench_evaluator.retrieval.errors import InvalidVectors
from lookbench_evaluator.retrieval.exact import rank
from lookbench_evaluator.retrieval.ranking import Ranking
from lookbench_evaluator.tasks.relevance import NO_LABEL, judge_equal, judge_qrels, label_codes
from lookbench_metrics.errors import InvalidGrades
from lookbench_metrics.registry import METRICS, evaluate, find


def ranking_of(items, count=100):
    items = np.array(items)
    return Ranking(items, np.zeros(items.shape), np.zeros(len(items), dtype=np.int64), count)


def codes(*values):
    return np.array(values, dtype=np.int64)


class TestLabelCodes:
    def test_rows_are_equal_if_every_label_is(self):
        queries, items = label_codes(
            [["dress", "dress"], ["red", "blue"]],
            [["dress", "skirt", "dress"], ["red", "red", "green"]],
        )
        assert (queries[:, None] == items).tolist() == [[True, False, False], [False] * 3]

    def test_labels_do_not_run_into_each_other(self):
        queries, items = label_codes([["ab"], ["c"]], [["a"], ["bc"]])
        assert queries[0] != items[0]

    def test_a_row_that_lacks_a_label_has_no_code(self):
        queries, items = label_codes(
            [["dress", None], ["red", "red"]], [[None, "dress"], [None, None]]
        )
        assert queries.tolist() == [0, NO_LABEL]
        assert items.tolist() == [NO_LABEL, NO_LABEL]

    def test_an_empty_string_is_a_label(self):
        queries, items = label_codes([[""]], [[""]])
        assert queries[0] == items[0] != NO_LABEL

    @pytest.mark.parametrize(
        ("queries", "items"), [([], []), ([["a"]], []), ([["a"], ["a", "b"]], [["a"], ["a"]])]
    )
    def test_columns_that_do_not_fit_are_refused(self, queries, items):
        with pytest.raises(InvalidGrades, match="label"):
            label_codes(queries, items)


class TestEqual:
    def test_an_item_is_relevant_if_its_code_is_the_querys(self):
        judged = judge_equal(ranking_of([[2, 0], [1, 3]]), codes(7, 8), codes(7, 8, 9, 7))
        assert judged.grades.tolist() == [[0, 1], [1, 0]]
        assert judged.n_relevant.tolist() == [2, 1]

    def test_the_end_of_a_short_gallery_is_no_hit(self):
        # Labels A, B, C; ids 1, 0, -1, -1; label C. Index -1 would fetch C.
        judged = judge_equal(ranking_of([[1, 0, -1, -1]]), codes(2), codes(0, 1, 2))
        assert find("hit")(judged, 4).tolist() == [0.0]
        assert judged.n_relevant.tolist() == [1]

    def test_no_label_matches_nothing_not_even_no_label(self):
        judged = judge_equal(ranking_of([[0, 1]]), codes(NO_LABEL), codes(NO_LABEL, 0))
        assert judged.grades.tolist() == [[0, 0]]
        assert judged.n_relevant.tolist() == [0]

    def test_a_code_that_no_item_has_is_no_error(self):
        judged = judge_equal(ranking_of([[0]]), codes(50), codes(1))
        assert judged.n_relevant.tolist() == [0]

    def test_excluded_items_are_not_among_the_relevant(self):
        exclude = np.array([[0, 0, 1, -1]])
        judged = judge_equal(ranking_of([[2, 3]]), codes(5), codes(5, 6, 5, 5), exclude)
        assert judged.n_relevant.tolist() == [2]

    def test_a_row_that_stands_for_several_items_is_relevant_if_one_of_them_is(self):
        """Rows 0 and 1 stand for items (0, 2) and (1, 3, 4); both of the latter have code 7."""
        judged = judge_equal(
            ranking_of([[0, 1], [1, 0], [0, 1]]),
            codes(7, 5, 8),
            codes(5, 7, 6, NO_LABEL, 7),
            candidate_of=np.array([0, 1, 0, 1, 1]),
        )
        assert judged.grades.tolist() == [[0, 1], [0, 1], [0, 0]]
        assert judged.n_relevant.tolist() == [1, 1, 0]

    def test_codes_must_be_those_of_the_queries(self):
        with pytest.raises(InvalidVectors, match="query codes"):
            judge_equal(ranking_of([[0]]), codes(1, 2), codes(1))


class TestQrels:
    def test_what_is_not_listed_has_grade_zero(self):
        judged = judge_qrels(ranking_of([[4, 7], [7, 4]]), [{4: 2, 9: 1}, {}])
        assert judged.grades.tolist() == [[2, 0], [0, 0]]
        assert judged.ideal.tolist() == [[2, 1], [0, 0]]
        assert judged.n_relevant.tolist() == [2, 0]

    def test_the_ideal_is_no_deeper_than_the_ranking(self):
        judged = judge_qrels(ranking_of([[0, 1]]), [{row: row + 1 for row in range(50)}])
        assert judged.ideal.tolist() == [[50, 49]]
        assert judged.n_relevant.tolist() == [50]

    def test_the_threshold_counts_relevant_items(self):
        judged = judge_qrels(ranking_of([[0, 1]]), [{0: 1, 1: 2, 2: 3}], threshold=2)
        assert judged.n_relevant.tolist() == [2]
        assert judged.hits.tolist() == [[False, True]]

    def test_the_end_of_a_short_gallery_has_grade_zero(self):
        judged = judge_qrels(ranking_of([[0, -1], [-1, -1]]), [{1: 3}, {0: 1, 1: 1}])
        assert judged.grades.tolist() == [[0, 0], [0, 0]]

    def test_excluded_items_leave_ideal_and_count(self):
        judged = judge_qrels(
            ranking_of([[1, 2], [1, 2]]), [{0: 3, 1: 1}, {0: 3}], exclude=codes([0], [-1])
        )
        assert judged.ideal.tolist() == [[1], [3]]
        assert judged.n_relevant.tolist() == [1, 1]

    @pytest.mark.parametrize("grade", [-1, np.nan, np.inf])
    def test_a_grade_that_is_no_grade_names_its_rows(self, grade):
        with pytest.raises(InvalidGrades, match="query row 1, gallery row 6"):
            judge_qrels(ranking_of([[0], [0]]), [{0: 1}, {5: 1, 6: grade}])

    def test_one_mapping_a_query_is_needed(self):
        with pytest.raises(InvalidVectors, match="1 queries for 2"):
            judge_qrels(ranking_of([[0], [0]]), [{}])
        with pytest.raises(InvalidVectors, match="gallery row -1"):
            judge_qrels(ranking_of([[0]]), [{-1: 1.0}])


@pytest.mark.parametrize(("relevant", "value"), [("a", 1.0), ("b", 0.630930), ("c", 0.0)])
@pytest.mark.parametrize("order", ["abc", "cba", "bca"])
def test_equal_scores_rank_by_id_whatever_the_storage(relevant, value, order):
    """a and b have the same vector; c another. Rule: score descending, then id ascending."""
    by_id = {"a": [1, 0], "b": [1, 0], "c": [0, 1]}
    gallery = np.array([by_id[name] for name in order], dtype=np.float32)
    query = np.array([[1, 0]], dtype=np.float32)
    ranking = rank(query, [(0, gallery)], code_point_rank(order), 2)
    judged = judge_qrels(ranking, [{order.index(relevant): 1.0}])
    assert find("ndcg_binary")(judged, 2)[0] == pytest.approx(value, abs=1e-6)
    assert ranking.ties.tolist() == [1]


def _random_case(rng):
    """Galleries with many ties, few items, and queries with nothing relevant."""
    count = int(rng.integers(1, 25))
    gallery = rng.integers(1, 4, (count, 2)).astype(np.float32)
    queries = rng.integers(1, 4, (4, 2)).astype(np.float32)
    ids = [f"i{number}" for number in rng.permutation(count)]
    grades = [
        {int(row): int(rng.integers(0, 4)) for row in rng.permutation(count)[: rng.integers(0, 9)]}
        for _ in queries
    ]
    return queries, gallery, ids, grades


PEERS = {
    "hit": "success",
    "recall": "recall",
    "precision": "P",
    "ndcg_linear": "ndcg_cut",
    "map_r": "map_cut",
}


def test_vectors_to_metrics_equal_trec_eval_on_a_thousand_queries():
    rng = np.random.default_rng(99)
    qrels, run, ours = {}, {}, {}
    for case in range(300):
        queries, gallery, ids, grades = _random_case(rng)
        ranking = rank(queries, [(0, gallery)], code_point_rank(ids), 10)
        values = evaluate(judge_qrels(ranking, grades), METRICS, (1, 5, 10))
        cosines = (
            queries
            @ gallery.T
            / np.outer(np.linalg.norm(queries, axis=1), np.linalg.norm(gallery, axis=1))
        )
        for row, judged in enumerate(grades):
            name = f"{case}-{row}"
            order = sorted(range(len(ids)), key=lambda i: (-round(cosines[row][i], 5), ids[i]))
            # Ranks, not scores: the peer breaks ties by descending id.
            run[name] = {ids[i]: -float(place) for place, i in enumerate(order[:10])}
            if judged:
                qrels[name] = {ids[i]: grade for i, grade in judged.items()}
            ours[name] = {key: value[row] for key, value in values.items()}
    assert len(qrels) > 1000
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {f"{p}.1,5,10" for p in PEERS.values()})
    for name, theirs in evaluator.evaluate(run).items():
        for metric, peer in PEERS.items():
            for k in (1, 5, 10):
                assert ours[name][metric, k] == pytest.approx(theirs[f"{peer}_{k}"], abs=1e-9)
