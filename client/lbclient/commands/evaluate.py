"""`lbclient evaluate`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from lbclient import evaluation
from lbclient.candidates import only_benchmark, only_model, require_ready
from lbclient.evaluation import Encoders, Rules, build_run
from lbclient.following import ended_before, follow
from lbclient.interruption import interruptible
from lbclient.names import short
from lbclient.options import CUTOFFS, DURATION, NAMES, Command, json_option
from lbclient.output import print_json, say
from lbclient.request_ids import repeatable
from lbclient.session import Session, pass_session
from lbclient.sync import SyncClient
from lbclient.tables import state_name, system_text
from lbclient.watch import is_finished, raise_unless_succeeded
from lookbench.v1.benchmark_pb2 import Benchmark
from lookbench.v1.model_pb2 import Model
from lookbench.v1.run_pb2 import Run

Say = Callable[[str], None]

_SYSTEM_OPTIONS = (
    click.option("--benchmark", metavar="ID", help="Benchmark; the only one ready when left out."),
    click.option(
        "--model",
        metavar="NAME",
        help="Model for queries and items; the only fitting one when left out.",
    ),
    click.option("--query-model", metavar="NAME", help="Model for queries, when the two differ."),
    click.option("--item-model", metavar="NAME", help="Model for items, when the two differ."),
    click.option("--preset", default="", help="Preprocessing preset of both models."),
    click.option("--query-role", default="", help="Prompt template for queries, such as `query`."),
    click.option("--item-role", default="", help="Prompt template for items, such as `document`."),
    click.option(
        "--instruction",
        default="",
        help="Text that replaces the instruction of the query's template.",
    ),
    click.option(
        "--dimension",
        metavar="D",
        type=click.IntRange(min=1),
        help="Leading dimensions of the vectors to keep. Default: all.",
    ),
)

_RULE_OPTIONS = (
    click.option(
        "--subset",
        "subsets",
        multiple=True,
        metavar="NAME",
        help="Only this subset; may be repeated.",
    ),
    click.option(
        "--metrics",
        type=NAMES,
        default=(),
        metavar="A,B",
        help="Metrics, such as hit,ndcg_binary. Default: the benchmark's.",
    ),
    click.option(
        "--cutoffs", type=CUTOFFS, default=(), metavar="1,5", help="Depths. Default: 1,5,10,20."
    ),
    click.option(
        "--judgement",
        "judgements",
        multiple=True,
        metavar="NAME",
        help="Only this rule of relevance; may be repeated.",
    ),
    click.option(
        "--no-relevant",
        type=click.Choice(list(evaluation.NO_RELEVANT)),
        help="A query without a relevant item counts as zero (default) or is left out.",
    ),
    click.option(
        "--rejected",
        type=click.Choice(list(evaluation.REJECTED)),
        help="Which rejected rows make the run fail. Default: fail-on-queries.",
    ),
    click.option(
        "--duplicates",
        type=click.Choice(list(evaluation.DUPLICATES)),
        help="Items of equal content count separately (keep, default) or once (merge).",
    ),
    click.option(
        "--without-noise", is_flag=True, help="Leave the shared distractors out of the galleries."
    ),
    click.option(
        "--timeout", type=DURATION, metavar="90s|15m|2h", help="The run fails when it takes longer."
    ),
)

_RUN_OPTIONS = (
    click.option("--name", "display_name", default="", metavar="TEXT", help="Note shown in lists."),
    click.option(
        "--run-id",
        default="",
        metavar="ID",
        help="Last part of the run's name; chosen by the server when left out. The same command "
        "again goes on with the run that it made.",
    ),
    click.option("--detach", is_flag=True, help="Return once the run is queued."),
)


def _with(options: Sequence[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """The decorators of a group of options as one."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command()
@_with(_SYSTEM_OPTIONS)
@_with(_RULE_OPTIONS)
@_with(_RUN_OPTIONS)
@json_option
@pass_session
def evaluate(
    session: Session,
    /,
    *,
    benchmark: str | None,
    model: str | None,
    query_model: str | None,
    item_model: str | None,
    preset: str,
    query_role: str,
    item_role: str,
    instruction: str,
    dimension: int | None,
    subsets: tuple[str, ...],
    display_name: str,
    run_id: str,
    detach: bool,
    as_json: bool,
    **rules: Any,
) -> None:
    """Evaluate a model on a benchmark.

    Queues a run, watches it and prints its table. The run belongs to the server:
    Ctrl-C stops the watching, not the run. What is not named is chosen when only
    one benchmark or model can be meant.

    With --run-id a script can be repeated after lbclient was killed: the same command
    watches the run that it made, for 24 hours, and prints the same table. A run that
    FAILED or was CANCELLED is told and not resumed; `lbclient runs resume` does that.
    A run of that id which was asked otherwise is refused.

    \b
    Examples:
      lbclient evaluate
      lbclient evaluate --benchmark fashion-mnist --model efficientnet-lite0
      lbclient evaluate --benchmark beir-nfcorpus --model all-minilm-l6-v2 \\
          --query-role query --item-role document --metrics ndcg_linear --cutoffs 10
      lbclient evaluate --query-model clip-text --item-model clip-image
      lbclient evaluate --detach --run-id nightly && lbclient runs watch nightly
    """  # noqa: D301 - click's mark
    if model and (query_model or item_model):
        raise click.UsageError("give --model, or --query-model and --item-model, not both")
    encoders = Encoders(
        query_model=query_model or model or "",
        item_model=item_model or model or "",
        query_role=query_role,
        item_role=item_role,
        instruction=instruction,
        preset=preset,
        dimension=dimension or 0,
    )
    tell: Say = (lambda text: None) if as_json else say
    with session.client() as client:
        with interruptible("No run was created."):
            chosen, encoders = _choose(client, benchmark, encoders, tell)
        wanted = build_run(
            chosen, encoders, Rules(**rules), subsets=subsets, display_name=display_name
        )
        run = _create(client, wanted, run_id)
        tell(f"{run.name}: {system_text(run.system)} on {short(run.benchmark)}")
        if run.state != Run.PENDING:
            tell(f"it was made before, by the same command: {state_name(run)}")
        with ended_before(run):
            if not detach:
                follow(session, client, run, as_json=as_json)
            else:
                _leave(run, as_json=as_json)


def _create(client: SyncClient, wanted: Run, run_id: str) -> Run:
    """A new run, or the one that the same command has made under this id."""
    if run_id:
        known = f"`lbclient runs show {run_id}` looks, the same command again goes on with it."
        request_id = repeatable(wanted, run_id)
    else:
        known, request_id = "`lbclient runs list` shows whether it is.", None
    with interruptible(f"The run may be queued; {known}"):
        return client.create_run(wanted, run_id=run_id, request_id=request_id)


def _leave(run: Run, *, as_json: bool) -> None:
    """What there is to say of a run that is not watched. Raises RunFailed, RunCancelled."""
    if as_json:
        print_json(run)
    if is_finished(run):
        raise_unless_succeeded(run)
    if not as_json:
        what = "report" if is_finished(run) else "runs watch"
        shows = "prints its table" if is_finished(run) else "watches it"
        say(f"`lbclient {what} {short(run.name)}` {shows}")


def _choose(
    client: SyncClient, benchmark: str | None, encoders: Encoders, tell: Say
) -> tuple[str, Encoders]:
    """Fills in what was not named, when only one thing can be meant, and says so."""
    if benchmark:
        found = require_ready(client.get_benchmark(benchmark))
        if encoders.query_model and encoders.item_model:
            return benchmark, encoders
    else:
        found = only_benchmark(client.list_benchmarks())
        tell(f"benchmark: {short(found.name)} (the only one that is ready)")
    return short(found.name), _choose_models(list(client.list_models()), found, encoders, tell)


def _choose_models(
    models: Sequence[Model], benchmark: Benchmark, encoders: Encoders, tell: Say
) -> Encoders:
    def only(modality: Benchmark.Modality, flag: str) -> str:
        name = short(only_model(models, modality, flag).name)
        tell(f"model: {name} (the only ready one that fits; {flag} names another)")
        return name

    same = benchmark.query_modality == benchmark.item_modality
    flag = "--model" if same and not encoders.item_model else "--query-model"
    query = encoders.query_model or only(benchmark.query_modality, flag)
    item = encoders.item_model or (query if same else only(benchmark.item_modality, "--item-model"))
    return replace(encoders, query_model=query, item_model=item)
