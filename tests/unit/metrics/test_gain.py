import numpy as np
import pytest

from lookbench_metrics.gain import normalised

# 1 / log2(i + 1) for ranks 1 to 5.
DISCOUNTS = [1, 0.630930, 0.5, 0.430677, 0.386853]


@pytest.mark.parametrize("rank", range(5))
def test_a_single_gain_is_discounted_by_its_rank(rank):
    gains = np.eye(5)[rank : rank + 1]
    assert normalised(gains, np.array([[1.0]]))[0, 4] == pytest.approx(DISCOUNTS[rank], abs=1e-6)


def test_an_ideal_without_gain_gives_zero_not_nan():
    assert normalised(np.zeros((1, 3)), np.zeros((1, 0))).tolist() == [[0.0, 0.0, 0.0]]
