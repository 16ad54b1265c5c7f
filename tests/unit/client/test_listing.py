"""The head of a listing."""

from lbclient.listing import take


def test_no_more_is_read_than_needed_to_know_whether_there_is_more():
    listing = iter(range(10))
    assert take(listing, 3) == ([0, 1, 2], True)
    assert next(listing) == 4


def test_exact_length_is_not_more():
    assert take(iter([1, 2]), 2) == ([1, 2], False)


def test_zero_takes_all():
    assert take(iter([1, 2]), 0) == ([1, 2], False)
