"""BLAS keeps to one thread while anybody asks for it, and gets its threads back."""

from threadpoolctl import threadpool_info

from lookbench_evaluator.retrieval.blas import OneThreadEach


def threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_last_user_puts_the_setting_back():
    before = threads()
    limit = OneThreadEach()
    with limit:
        assert threads() == {1}
        with limit:
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == before


def test_an_error_puts_the_setting_back():
    before, limit = threads(), OneThreadEach()
    try:
        with limit:
            raise ValueError
    except ValueError:
        pass
    assert threads() == before
