"""Full and short names."""

from lbclient.names import benchmark_name, model_name, run_name, short


def test_short_names_become_full_ones():
    assert run_name("nightly") == "runs/nightly"
    assert benchmark_name("beir") == "benchmarks/beir"
    assert model_name("clip") == "models/clip"


def test_full_and_empty_names_stay():
    assert run_name("runs/nightly") == "runs/nightly"
    assert benchmark_name("") == ""


def test_short_is_the_last_part():
    assert short("runs/nightly") == "nightly"
    assert short("nightly") == "nightly"
