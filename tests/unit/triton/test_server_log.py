import pytest
import structlog

from lookbench_triton.server_log import TAIL_LINES, LogPump, parse_line

HEAD = "1129 18:59:21.795140 7232 model_lifecycle.cc:472]"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f'I{HEAD} "loading: affine:1"', ("info", "loading: affine:1")),
        (f'W{HEAD} "slow"', ("warning", "slow")),
        (f'E{HEAD} "failed \'a\' \\"b\\""', ("error", "failed 'a' \\\"b\\\"")),
        (f'F{HEAD} "gone"', ("critical", "gone")),
        (f"I{HEAD}  Non-graceful termination", ("info", "Non-graceful termination")),
        (f"I{HEAD}", ("info", "")),
        ("terminate called after throwing", ("info", "terminate called after throwing")),
        (
            f'E{HEAD} "CudaDriverHelper has not been initialized."',
            ("debug", "CudaDriverHelper has not been initialized."),
        ),
    ],
)
def test_tritons_lines_have_a_level_and_a_text(line, expected):
    assert parse_line(line) == expected


def test_lines_become_events_and_tables_and_blanks_are_left_out():
    lines = [f'I{HEAD} "one"\n', "\n", "+----+\n", "| Model |\n", f"I{HEAD} \n", "two\n"]
    with structlog.testing.capture_logs() as events:
        tail = LogPump(lines).tail()
    assert [event["event"] for event in events] == ["one", "two"]
    assert {event["source"] for event in events} == {"tritonserver"}
    assert tail == f'I{HEAD} "one"\ntwo'


def test_the_tail_is_bounded():
    with structlog.testing.capture_logs():
        tail = LogPump([f"line {n}\n" for n in range(100)]).tail()
    assert tail.splitlines() == [f"line {n}" for n in range(100 - TAIL_LINES, 100)]
