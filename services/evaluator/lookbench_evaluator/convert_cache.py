"""Messages of the embedding cache ↔ its own types."""

from datetime import UTC, datetime
from typing import TypedDict

from google.protobuf.timestamp_pb2 import Timestamp

from lookbench.v1 import cache_pb2
from lookbench.v1 import evaluation_service_pb2 as api
from lookbench_evaluator.convert import resource_id
from lookbench_evaluator.errors import InvalidField
from lookbench_inference.cache import CacheSummary, Pruned, Use

NAME = "cache"
# An answer stays far below 4 MiB, however many instructions were tried.
MAX_SPACES = 500
MAX_PROMPT = 500


class Conditions(TypedDict):
    """Arguments of EmbeddingCache.prune."""

    max_bytes: int | None
    older_than_s: float | None
    model: str | None
    everything: bool


def check_name(name: str) -> None:
    """Raises InvalidField unless it is the name of the one cache."""
    if name != NAME:
        raise InvalidField("name", f"{name!r} is not {NAME!r}, the only one")


def conditions_from_proto(request: api.PruneCacheRequest) -> Conditions:
    """What to remove. Raises InvalidField when nothing is said, or too much."""
    check_name(request.name)
    conditions = Conditions(
        max_bytes=_max_bytes(request),
        older_than_s=_older_than_s(request),
        model=resource_id(request.model, "models", "model") if request.model else None,
        everything=request.all,
    )
    narrowed = [name for name in ("max_bytes", "unused_for", "model") if _has(request, name)]
    if request.all and narrowed:
        raise InvalidField("all", f"leave {', '.join(narrowed)} out, or `all`")
    if not request.all and not narrowed:
        raise InvalidField("all", "say what to remove: max_bytes, unused_for, model, or all")
    return conditions


def _has(request: api.PruneCacheRequest, name: str) -> bool:
    return bool(request.model) if name == "model" else request.HasField(name)


def _max_bytes(request: api.PruneCacheRequest) -> int | None:
    if not request.HasField("max_bytes"):
        return None
    if request.max_bytes < 0:
        raise InvalidField("max_bytes", f"{request.max_bytes} is negative")
    return request.max_bytes


def _older_than_s(request: api.PruneCacheRequest) -> float | None:
    if not request.HasField("unused_for"):
        return None
    seconds = request.unused_for.seconds + request.unused_for.nanos / 1e9
    if seconds <= 0:
        raise InvalidField("unused_for", f"{seconds:g} s is not above 0")
    return seconds


def cache_to_proto(summary: CacheSummary) -> cache_pb2.Cache:
    """The cache as clients see it."""
    return cache_pb2.Cache(
        name=NAME,
        path=str(summary.path.absolute()),
        limit_bytes=summary.limit_bytes,
        size_bytes=summary.size_bytes,
        entry_count=summary.entries,
        spaces=[_space_to_proto(use) for use in summary.uses[:MAX_SPACES]],
        space_count=len(summary.uses),
    )


def _space_to_proto(use: Use) -> cache_pb2.Cache.Space:
    space = use.space
    return cache_pb2.Cache.Space(
        model=f"models/{space.model}",
        role=space.role,
        prompt=space.prompt[:MAX_PROMPT],
        preset=space.preset,
        dimension=space.dimension,
        precision=space.precision,
        graph_digest=space.graph_digest,
        adapter_digest=space.adapter_digest,
        digest=space.digest,
        entry_count=use.entries,
        size_bytes=use.bytes,
        create_time=_timestamp(use.created),
        last_use_time=_timestamp(use.last_used),
    )


def pruned_to_proto(removed: Pruned, now: CacheSummary) -> api.PruneCacheResponse:
    """What went, and what is left."""
    return api.PruneCacheResponse(
        removed_entry_count=removed.entries,
        removed_bytes=removed.bytes,
        cache=cache_to_proto(now),
    )


def _timestamp(seconds: float) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(datetime.fromtimestamp(seconds, UTC))
    return stamp
