"""docs/cli.md is what the commands say of themselves."""

from pathlib import Path

from lbclient.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_reference_of_the_command_line_is_current():
    assert PAGE.read_text(encoding="utf-8") == reference(), (
        "run: python -m lbclient.reference > docs/cli.md"
    )


def test_every_command_shows_an_example_or_a_sentence():
    assert reference().count("## `lbclient ") > 20
