"""The digest of a benchmark: what was measured, however it was stored.

It covers ids, digests of contents, labels, groups, times, subsets and judgements.
It depends neither on the order of rows, nor on paths, titles, versions of
libraries, or on how import options were written.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from lookbench_core.benchmark import Judgement, Subset
from lookbench_core.digests import data_digest


def row_digest(
    row_id: str,
    content_digest: str,
    labels: Mapping[str, str | None],
    group: str | None,
    time: datetime | None,
) -> bytes:
    """32 bytes over one query or item."""
    moment = time.astimezone(UTC).isoformat() if time else None
    digest = data_digest([row_id, content_digest, dict(labels), group, moment])
    return bytes.fromhex(digest.removeprefix("sha256:"))


def judgement_digest(query: str, item: str, grade: float) -> bytes:
    """32 bytes over one explicit judgement."""
    return bytes.fromhex(data_digest([query, item, float(grade)]).removeprefix("sha256:"))


def set_digest(digests: Iterable[bytes]) -> str:
    """Over digests of rows, whatever their order."""
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()


def benchmark_digest(
    collections: Mapping[str, str],
    qrels: Mapping[str, str],
    subsets: Sequence[Subset],
    judgements: Sequence[Judgement],
) -> str:
    """`sha256:<hex>`. `collections` and `qrels`: name → `set_digest` of their rows."""
    return data_digest(
        {
            "collections": dict(collections),
            "qrels": dict(qrels),
            "subsets": sorted(
                [part.name, part.queries, sorted(part.galleries), sorted(part.noise)]
                for part in subsets
            ),
            "judgements": sorted(
                [rule.name, rule.kind, sorted(rule.labels)] for rule in judgements
            ),
        }
    )
