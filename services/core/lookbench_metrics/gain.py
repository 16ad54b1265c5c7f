"""Discounted cumulative gain, shared by the nDCG variants.

Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques",
ACM TOIS 20(4), 2002, with the discount 1 / log2(i + 1) of Burges et al. 2005,
which also discounts rank 2.
"""

import numpy as np

from lookbench_metrics.judged import Floats, Ints, Judged, ratio


def with_gain(judged: Judged) -> Ints:
    """Count items of any grade above 0 among the ideal ones, int64 [Q], whatever the threshold."""
    count: Ints = np.sum(judged.ideal > 0, axis=1, dtype=np.int64)
    return count


def normalised(gains: Floats, ideal_gains: Floats) -> Floats:
    """Compute nDCG at every cutoff, float64 [Q, K]; 0 where the ideal has no gain.

    Args:
        gains: float64 [Q, K], gain at each rank.
        ideal_gains: float64 [Q, J], the largest gains in descending order.
    """
    depth = gains.shape[1]
    share = ratio(_cumulated(gains), _cumulated(_to_depth(ideal_gains, depth)))
    # Never above 1, but the rounding of two sums of tiny differences may say so.
    return np.minimum(share, 1.0)


def _cumulated(gains: Floats) -> Floats:
    ranks = np.arange(1, gains.shape[1] + 1)
    return np.cumsum(gains / np.log2(ranks + 1), axis=1)


def _to_depth(gains: Floats, depth: int) -> Floats:
    missing = max(0, depth - gains.shape[1])
    return np.pad(gains[:, :depth], ((0, 0), (0, missing)))
