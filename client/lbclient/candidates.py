"""The only benchmark or model that can be meant, when none was named."""

from collections.abc import Iterable, Sequence

from lbclient.errors import LookbenchClientError, Refused
from lbclient.names import short
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.model_pb2 import Model

KIND_OF_MODALITY = {
    Benchmark.IMAGE: Model.IMAGE_EMBEDDING,
    Benchmark.TEXT: Model.TEXT_EMBEDDING,
}
_HOW_TO_IMPORT = (
    "`lbclient benchmarks fetch fashion-mnist` gets a small one, "
    "`lbclient benchmarks import --help` says how to import it"
)


class Ambiguous(LookbenchClientError):
    """None or several could be meant; the message lists them."""


def require_ready(benchmark: Benchmark) -> Benchmark:
    """The benchmark, when runs may use it. Raises Refused, saying how to go on."""
    if benchmark.state != Benchmark.READY:
        raise Refused(_why_not_ready(benchmark), metadata={"name": benchmark.name})
    return benchmark


def _why_not_ready(benchmark: Benchmark) -> str:
    name = short(benchmark.name)
    if benchmark.state == Benchmark.FAILED:
        why = benchmark.error.message or "the server gave no reason"
        return f"the import of {benchmark.name} failed: {why}; import it again under the same id"
    return (
        f"{benchmark.name} is still being imported ({benchmark.imported_rows:,} rows so far); "
        f"wait until `lbclient benchmarks show {name}` says READY"
    )


def only_benchmark(benchmarks: Iterable[Benchmark]) -> Benchmark:
    """The only benchmark that is READY. Raises Ambiguous."""
    listed = list(benchmarks)
    ready = [benchmark for benchmark in listed if benchmark.state == Benchmark.READY]
    if len(ready) == 1:
        return ready[0]
    if not ready:
        reasons = "".join(f"\n  {_why_not_ready(benchmark)}" for benchmark in listed)
        raise Ambiguous(f"no benchmark is ready; {_HOW_TO_IMPORT}{reasons}")
    raise Ambiguous(_choices("benchmark", "--benchmark", [b.name for b in ready]))


def only_model(models: Iterable[Model], modality: Benchmark.Modality, flag: str) -> Model:
    """The only ready embedding model for `modality`. Raises Ambiguous, naming `flag`."""
    kind = KIND_OF_MODALITY.get(modality)
    fitting = [model for model in models if model.kind == kind]
    ready = [model for model in fitting if model.ready]
    if len(ready) == 1:
        return ready[0]
    what = f"{Benchmark.Modality.Name(modality).lower()} embedding model"
    if not ready:
        problems = [f"{short(model.name)}: {model.problem or 'not ready'}" for model in fitting]
        advice = "; ".join(problems) or "export one with lookbench-export"
        raise Ambiguous(f"no {what} is ready; {advice}")
    raise Ambiguous(_choices(what, flag, [model.name for model in ready]))


def _choices(what: str, flag: str, names: Sequence[str]) -> str:
    listed = "\n".join(f"  {flag} {name}" for name in sorted(map(short, names)))
    return f"{len(names)} {what}s are ready; choose one:\n{listed}"
