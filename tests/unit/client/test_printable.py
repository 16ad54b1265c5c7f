"""What data files hold is shown, not obeyed."""

import pytest

from lbclient.output import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain id 007", "plain id 007"),
        ("漢字 é 😀", "漢字 é 😀"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("x\ny", "x\\ny"),
        ("right\u202eleft", "right\\u202eleft"),
    ],
)
def test_control_characters_are_spelt_out(text, shown):
    assert printable(text) == shown


def test_lines_of_a_message_stay_lines():
    assert printable("one\ntwo\t", keep="\n") == "one\ntwo\\t"
