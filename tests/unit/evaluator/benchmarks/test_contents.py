"""Contents by row: any rows, each group read only where it is asked for."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookbench_evaluator.benchmarks import contents as module
from lookbench_evaluator.benchmarks.contents import ContentReader
from lookbench_evaluator.errors import BenchmarkInvalid

COUNT = 50


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Fifty texts in groups of 20, 20 and 10, read four at a time."""
    monkeypatch.setattr(module, "BATCH_ROWS", 4)
    table = pa.table(
        {"id": [str(n) for n in range(COUNT)], "text": [f"t{n}" for n in range(COUNT)]}
    )
    pq.write_table(
        table,
        tmp_path / "c.parquet",
        row_group_size=20,
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
    )
    return tmp_path / "c.parquet"


@pytest.mark.parametrize(
    "rows",
    [
        list(range(COUNT)),
        [0, 3, 4, 19, 20, 21, 49],
        [45],
        [],
        [30, 10, 49, 0, 0],
    ],
)
def test_any_rows_in_the_order_asked_for(path, rows):
    with ContentReader(path, "text") as reader:
        assert reader.read(rows) == [f"t{row}" for row in rows]


def test_reading_goes_on_where_it_stopped(path):
    with ContentReader(path, "text") as reader:
        assert [reader.read([n, n + 1]) for n in (2, 3, 18, 39)] == [
            ["t2", "t3"],
            ["t3", "t4"],
            ["t18", "t19"],
            ["t39", "t40"],
        ]


def test_groups_without_wanted_rows_are_not_read(path):
    """Their pages may be damaged, nobody notices."""
    content = bytearray(path.read_bytes())
    at = content.index(b"t5")
    content[at : at + 2] = b"xx"
    path.write_bytes(content)
    with ContentReader(path, "text") as reader:
        assert reader.read([20, 49]) == ["t20", "t49"]
        with pytest.raises(BenchmarkInvalid, match=r"c\.parquet"):
            reader.read([0])


def test_images_are_their_bytes(tmp_path):
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    values = [{"bytes": bytes([n]), "path": None} for n in range(5)]
    pq.write_table(pa.table({"image": pa.array(values, image)}), tmp_path / "c.parquet")
    with ContentReader(tmp_path / "c.parquet", "image") as reader:
        assert reader.read([1, 4]) == [b"\1", b"\4"]
