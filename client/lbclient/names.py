"""Resource names: `runs/nightly` and the short `nightly` are both accepted."""

RUNS = "runs/"
BENCHMARKS = "benchmarks/"
MODELS = "models/"
CACHE = "cache"


def _full(prefix: str, name: str) -> str:
    return name if not name or name.startswith(prefix) else prefix + name


def run_name(name: str) -> str:
    """`runs/{run}`; an empty name stays empty."""
    return _full(RUNS, name)


def benchmark_name(name: str) -> str:
    """`benchmarks/{benchmark}`; an empty name stays empty."""
    return _full(BENCHMARKS, name)


def model_name(name: str) -> str:
    """`models/{model}`; an empty name stays empty."""
    return _full(MODELS, name)


def short(name: str) -> str:
    """The last part of a resource name, as people type it."""
    return name.rsplit("/", 1)[-1]
