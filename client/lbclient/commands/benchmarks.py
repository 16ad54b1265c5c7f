"""`lbclient benchmarks …`."""

from pathlib import Path

import click

from lbclient import fashion_mnist
from lbclient.client import import_error
from lbclient.interruption import interruptible
from lbclient.names import short
from lbclient.options import ASSIGNMENT, json_option
from lbclient.output import print_json, print_json_list, say, show
from lbclient.progress import import_progress
from lbclient.session import Session, pass_session
from lbclient.sync import SyncClient
from lbclient.tables import benchmark_parts, benchmarks_table
from lookbench.v1.benchmark_pb2 import Benchmark


@click.group()
def benchmarks() -> None:
    """List, show, fetch and import benchmarks."""


@benchmarks.command("list")
@json_option
@pass_session
def list_benchmarks(session: Session, as_json: bool) -> None:
    """List the benchmarks that the server has."""
    with session.client() as client:
        found = list(client.list_benchmarks())
    if as_json:
        print_json_list("benchmarks", found)
    elif not found:
        say("no benchmarks; `lbclient benchmarks import --help` says how to add one")
    else:
        show(benchmarks_table(found))


@benchmarks.command("show")
@click.argument("benchmark")
@json_option
@pass_session
def show_benchmark(session: Session, benchmark: str, as_json: bool) -> None:
    """Show subsets, rules of relevance and row counts of one benchmark."""
    with session.client() as client:
        found = client.get_benchmark(benchmark)
    if as_json:
        print_json(found)
    else:
        show(*benchmark_parts(found))


@benchmarks.command("import")
@click.argument("benchmark_id", metavar="ID")
@click.option(
    "--format",
    "source_format",
    required=True,
    metavar="NAME",
    help="fashion-mnist, image-folder, lookbench or beir.",
)
@click.option("--path", required=True, help="Folder at the server, below one of its data roots.")
@click.option(
    "--option",
    "options",
    type=ASSIGNMENT,
    multiple=True,
    metavar="KEY=VALUE",
    help="Option of the reader, such as queries=500; may be repeated.",
)
@click.option("--replace", is_flag=True, help="Replace a benchmark of the same id.")
@click.option("--detach", is_flag=True, help="Return once the import has begun.")
@json_option
@pass_session
def import_benchmark(
    session: Session,
    /,
    *,
    benchmark_id: str,
    source_format: str,
    path: str,
    options: tuple[tuple[str, str], ...],
    replace: bool,
    detach: bool,
    as_json: bool,
) -> None:
    """Import a data set as benchmark ID.

    The server reads the files itself, so PATH must lie below one of its data
    roots: `lbclient up` gives it $LOOKBENCH_HOME/data, /usr/share/datasets and
    each --data-root. A relative PATH starts at the first of them.

    \b
    Examples:
      lbclient benchmarks import fashion-mnist --format fashion-mnist \\
          --path "$(lbclient benchmarks fetch fashion-mnist)" \\
          --option queries=500 --option items=4000
      lbclient benchmarks import shop --format image-folder --path /data/shop
    """  # noqa: D301 - click's mark
    with session.client() as client:
        looks = f"`lbclient benchmarks show {benchmark_id}` looks."
        with interruptible(f"The import may have begun; {looks}"):
            found = client.import_benchmark(
                benchmark_id,
                format=source_format,
                path=path,
                options=dict(options),
                allow_replace=replace,
            )
        # An import always begins in IMPORTING: READY is one that was made before.
        is_old = found.state == Benchmark.READY
        if not (detach or is_old):
            found = _follow_import(client, found, quiet=as_json)
    if as_json:
        print_json(found)
    if not is_old and (error := import_error(found)) is not None:
        raise error
    if not as_json:
        _say_imported(found)
        if is_old:
            say("\nimported already; --replace reads the files again")


def _follow_import(client: SyncClient, benchmark: Benchmark, *, quiet: bool) -> Benchmark:
    last = benchmark
    name = short(benchmark.name)
    goes_on = f"The import goes on at the server; `lbclient benchmarks show {name}` looks."
    with interruptible(goes_on), import_progress(benchmark, quiet=quiet) as show_progress:
        for last in client.watch_benchmark(benchmark.name):
            show_progress(last)
    return last


def _say_imported(benchmark: Benchmark) -> None:
    name = short(benchmark.name)
    if benchmark.state != Benchmark.READY:
        say(f"{benchmark.name} is being imported; `lbclient benchmarks show {name}` looks")
        return
    show(*benchmark_parts(benchmark))


@benchmarks.command("fetch")
@click.argument("name", type=click.Choice([fashion_mnist.NAME]), metavar="NAME")
@click.option(
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder to put it in. Default: data/NAME in LOOKBENCH_HOME.",
)
@pass_session
def fetch_benchmark(session: Session, name: str, to: Path | None) -> None:
    """Get a public data set and print its folder.

    NAME is fashion-mnist. It is taken from /usr/share/datasets, from Debian's package
    (without installing it, no root needed) or from the official download, and
    verified by SHA-256.
    """
    target = (to or session.home.data / name).absolute()
    found = None if to else fashion_mnist.locate(target)
    click.echo(found or fashion_mnist.fetch(target, say))
