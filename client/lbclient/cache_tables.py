"""What people see of the embedding cache. Pure functions: messages in, things to print out."""

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from lbclient.names import short
from lbclient.sizes import size_text
from lbclient.tables import count, counted, fields_table, plain_table
from lbclient.times import NONE, short_time
from lookbench.v1.cache_pb2 import Cache


def cache_parts(cache: Cache) -> Sequence[RenderableType]:
    """How full the cache is; below, one space a row, most recently used first."""
    parts: list[RenderableType] = [_fields(cache)]
    if cache.spaces:
        parts += [Text(), _spaces(cache.spaces)]
    if more := cache.space_count - len(cache.spaces):
        parts.append(Text(f"and {count(more)} used before these"))
    return parts


def _fields(cache: Cache) -> Table:
    off = "off: the evaluator keeps no embeddings (its cache_bytes is 0)"
    limit = f"{size_text(cache.size_bytes)} of {size_text(cache.limit_bytes)}"
    return fields_table(
        [
            ("embeddings", count(cache.entry_count)),
            ("on disk", limit if cache.limit_bytes else size_text(cache.size_bytes)),
            ("file", cache.path),
            ("state", "" if cache.limit_bytes else off),
        ]
    )


def _spaces(spaces: Iterable[Cache.Space]) -> Table:
    listed = list(spaces)
    numeric = ("dim", "embeddings", "size")
    columns = ("model", "made with", *numeric, "last used")
    table = plain_table(*columns, numeric=numeric, names=[short(space.model) for space in listed])
    table.columns[4].no_wrap = table.columns[5].no_wrap = True
    for space in listed:
        table.add_row(
            short(space.model),
            made_with(space),
            str(space.dimension),
            count(space.entry_count),
            size_text(space.size_bytes),
            short_time(space.last_use_time),
        )
    return table


def made_with(space: Cache.Space) -> str:
    """Role or preset, precision and adapter, in a few words."""
    words = [space.role, space.preset, space.precision, "adapter" if space.adapter_digest else ""]
    return ", ".join(filter(None, words)) or NONE


def removed_text(entries: int, size: int, left: Cache) -> str:
    """What a pruning did."""
    if not entries:
        return f"nothing to remove; {size_text(left.size_bytes)} on disk"
    gone = f"{counted(entries, 'embedding', 'embeddings')} ({size_text(size)}) removed"
    return f"{gone}; {count(left.entry_count)} left, {size_text(left.size_bytes)} on disk"
