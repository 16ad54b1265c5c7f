"""The only benchmark or model that can be meant, when none was named."""

from collections.abc import Iterable, Sequence

from lbclient.errors import LookbenchClientError
from lbclient.names import short
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.model_pb2 import Model

KIND_OF_MODALITY = {
    Benchmark.IMAGE: Model.IMAGE_EMBEDDING,
    Benchmark.TEXT: Model.TEXT_EMBEDDING,
}


class Ambiguous(LookbenchClientError):
    """None or several could be meant; the message lists them."""


def only_benchmark(benchmarks: Iterable[Benchmark]) -> Benchmark:
    """The only benchmark that is READY. Raises Ambiguous."""
    ready = [benchmark for benchmark in benchmarks if benchmark.state == Benchmark.READY]
    if len(ready) == 1:
        return ready[0]
    if not ready:
        raise Ambiguous(
            "no benchmark is ready; `lbclient benchmarks fetch fashion-mnist` gets a small one, "
            "`lbclient benchmarks import --help` says how to import it"
        )
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
