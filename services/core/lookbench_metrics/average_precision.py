"""The sum of precisions at the hits, shared by the two average precisions.

Never divided by the number of hits found: that makes a ranking perfect which
missed most of what is relevant.
"""

import numpy as np

from lookbench_metrics.judged import Floats, Judged


def precision_sums(judged: Judged) -> Floats:
    """Compute sum(r_i * precision at i, i <= k) at every cutoff k, float64 [Q, K]."""
    return np.cumsum(judged.hits * judged.found / judged.ranks, axis=1)
