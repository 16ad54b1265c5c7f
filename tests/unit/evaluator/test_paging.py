"""Pages: sizes as AIP-158 says, tokens bound to their listing."""

import base64

import pytest

from lookbench_evaluator.errors import InvalidField, InvalidPageToken
from lookbench_evaluator.paging import page_position, page_size, page_token


@pytest.mark.parametrize(("asked", "given"), [(0, 50), (1, 1), (1000, 1000), (5000, 1000)])
def test_page_sizes_have_a_default_and_a_ceiling(asked, given):
    assert page_size(asked) == given


def test_a_negative_page_size_is_refused():
    with pytest.raises(InvalidField):
        page_size(-1)


def test_a_token_leads_to_its_position():
    assert page_position(page_token(7, "runs", "b"), "runs", "b") == 7


def test_no_token_is_the_first_page():
    assert page_position("", "runs") is None


@pytest.mark.parametrize(
    "token",
    ["nonsense", "Wzdd", base64.urlsafe_b64encode(b'["7", "x"]').decode(), "é", page_token(7, "x")],
)
def test_a_foreign_token_is_refused(token):
    with pytest.raises(InvalidPageToken):
        page_position(token, "runs", "b")
