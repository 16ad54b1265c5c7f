"""The command line: one command a family, found through entry points."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lookbench_core.errors import LookbenchError
from lookbench_core.ids import is_model_id
from lookbench_exporter.family import Family, family_names, find_family
from lookbench_exporter.request import PRECISIONS, ExportRequest
from lookbench_exporter.sample_images import SampleImages, default_images, images_from_folder
from lookbench_exporter.settings import Settings
from lookbench_exporter.sources import is_hub_id
from lookbench_exporter.triton_config import DynamicBatching, InstanceGroup

FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
"""Where Debian's dataset-fashion-mnist puts it."""

HELP = """Turn model weights into a folder that Triton serves.

Each command below is a family of models. An export writes model.onnx,
config.pbtxt, the tokenizer and lookbench.json, compares the graph with the
original library on real inputs, and publishes it only if they agree.

\b
Examples:
  lookbench-export efficientnet-lite0
  lookbench-export sentence
  lookbench-export sentence intfloat/e5-small-v2 --revision main
  lookbench-export sentence ./my-encoder --name my-encoder
  lookbench-export list
"""

COMMAND_HELP = """{summary}.

SOURCE is a folder or file, package:NAME for an installed Python package that
carries weights, or an id of the Hugging Face hub. Default: {default}.

\b
Examples:
  lookbench-export {name}
  lookbench-export {name} ./weights --name mine
  lookbench-export {name} --if-missing --json

\b
Exit status: 0 exported, 1 refused or failed (nothing is left behind), 2 usage.
"""


class _Failed(click.ClickException):
    exit_code = 1


class FamilyCommands(click.Group):
    """`list`, and a command for every installed family."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Families first, sorted."""
        return [*family_names(), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the family's module, which must be quick."""
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in family_names():
            return own
        try:
            return family_command(cmd_name, find_family(cmd_name))
        except LookbenchError as error:
            return _broken_command(cmd_name, error)

    def invoke(self, ctx: click.Context) -> Any:
        """Turns our errors into a line on stderr and exit status 1."""
        try:
            return super().invoke(ctx)
        except LookbenchError as error:
            raise _Failed(error.message) from error


@click.group(
    cls=FamilyCommands, help=HELP, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="lookbench-services", prog_name="lookbench-export")
def cli() -> None:
    """See HELP."""


@cli.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_families(as_json: bool) -> None:
    """Show the installed families."""
    rows = []
    for name in family_names():
        family = find_family(name)
        rows.append({"family": name, "summary": family.summary, "source": family.default_source})
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.echo(f"{row['family']:<20} {row['summary']}\n{'':<20} default: {row['source']}")


def family_command(name: str, family: Family) -> click.Command:
    """The command of one family."""
    settings = Settings.from_environment(os.environ)

    def run(**options: Any) -> None:
        _run(name, family, settings, options)

    return click.Command(
        name,
        callback=run,
        params=_parameters(settings),
        help=COMMAND_HELP.format(summary=family.summary, default=family.default_source, name=name),
        short_help=family.summary,
    )


def _broken_command(name: str, error: LookbenchError) -> click.Command:
    """A family that cannot be used says so when it is asked, and does not hide the others."""

    def run() -> None:
        raise error

    return click.Command(name, callback=run, short_help=f"(unusable: {error.message})")


def _parameters(settings: Settings) -> list[click.Parameter]:
    def flag(name: str, text: str) -> click.Option:
        return click.Option([name], is_flag=True, help=text)

    return [
        click.Argument(["source"], required=False),
        click.Option(
            ["--repository"],
            type=click.Path(file_okay=False, path_type=Path),
            default=settings.repository,
            show_default=True,
            help="Triton's model repository. [env: LOOKBENCH_MODEL_REPOSITORY]",
        ),
        click.Option(["--name"], help="Name of the model. Default: the family's own."),
        click.Option(["--revision"], help="Commit, tag or branch of a hub id."),
        click.Option(
            ["--precision"], type=click.Choice(PRECISIONS), default="fp32", show_default=True
        ),
        _count("--max-batch-size", 32, "Rows that one execution takes at most."),
        _count("--instances", 1, "Copies of the model that run side by side."),
        click.Option(
            ["--device"],
            type=click.Choice(["cpu", "gpu"]),
            default="cpu",
            show_default=True,
            help="Where Triton runs it; gpu needs NVIDIA's image.",
        ),
        click.Option(
            ["--queue-delay-us"],
            type=click.IntRange(0, 10_000_000),
            default=1000,
            show_default=True,
            help="Microseconds that a request waits for others to share a batch.",
        ),
        click.Option(
            ["--images"],
            type=click.Path(path_type=Path),
            help="Folder of at least 8 images to compare on (image models).",
        ),
        flag("--force", "Replace a model of other origin that has the name."),
        flag("--if-missing", "Do nothing if a valid export of these weights is there."),
        flag("--json", "Print the result as JSON."),
    ]


def _count(name: str, default: int, text: str) -> click.Option:
    return click.Option(
        [name], type=click.IntRange(1, 4096), default=default, show_default=True, help=text
    )


def _run(name: str, family: Family, settings: Settings, options: dict[str, Any]) -> None:
    # Imported here: together they take half a second, which --help does not need.
    from lookbench_exporter.export import export

    _check_usage(family, options)
    request = _request(name, family, settings, options)
    result = export(family, request, _say)
    if options["json"]:
        click.echo(json.dumps(result.as_data(), indent=2))
    else:
        click.echo(result.as_text())


def _check_usage(family: Family, options: dict[str, Any]) -> None:
    """What is wrong whatever the weights are."""
    source, model = options["source"] or family.default_source, options["name"]
    if options["revision"] and not is_hub_id(source):
        raise click.UsageError(f"--revision belongs to a hub id, and {source} is none.")
    if model is not None and not is_model_id(model):
        raise click.UsageError(
            f"--name {model!r}: use letters, digits, '.', '_' and '-', beginning and ending with "
            "a letter or digit, 128 at most."
        )


def _request(
    name: str, family: Family, settings: Settings, options: dict[str, Any]
) -> ExportRequest:
    return ExportRequest(
        family=name,
        source=options["source"] or family.default_source,
        repository=options["repository"],
        images=_images(options["images"], settings),
        revision=options["revision"],
        name=options["name"],
        max_batch_size=options["max_batch_size"],
        precision=options["precision"],
        instances=InstanceGroup(
            options["instances"], "KIND_GPU" if options["device"] == "gpu" else "KIND_CPU"
        ),
        batching=DynamicBatching(options["queue_delay_us"]),
        force=options["force"],
        if_missing=options["if_missing"],
    )


def _images(folder: Path | None, settings: Settings) -> Callable[[], SampleImages]:
    if folder is not None:
        # Read now: a wrong folder should not cost the time of an export.
        given = images_from_folder(folder)
        return lambda: given
    return lambda: default_images([settings.home / "data" / "fashion-mnist", FASHION_MNIST])


def _say(line: str) -> None:
    print(f"{line} …", file=sys.stderr, flush=True)  # noqa: T201
