# SPDX-License-Identifier: Apache-2.0
"""`steersman sweep`: runs a document of kind Sweep, with a result row per run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steersman.cli.examples import example_option, sweep_of
from steersman.cli.output import ExitCode, require_unix, say_answer, say_error, terminal_width
from steersman.cli.report_file import command_line, report_option, write_report

if TYPE_CHECKING:
    from steersman.simulation.sweep import SweepResult


@click.command()
@click.argument("file", type=click.Path(), metavar="[FILE]", required=False)
@example_option("One of `steersman examples` that has a sweep, instead of FILE.")
@click.option(
    "--output",
    "folder",
    type=click.Path(),
    metavar="DIR",
    help="Folder for the results. Default: the name of FILE with the ending .results, in the working directory.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of local processes. Default: one for each core.",
)
@click.option("--ray", metavar="ADDRESS", help="Run on a Ray cluster: HOST:PORT, or auto for the local one.")
@click.option("--resume", is_flag=True, help="Continue an interrupted sweep; finished runs are not repeated.")
@click.option(
    "-o",
    "--format",
    "output_format",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="Format of the summary on standard output.",
)
@report_option
def sweep(
    file: str | None,
    example: str | None,
    folder: str | None,
    workers: int | None,
    ray: str | None,
    resume: bool,
    output_format: str,
    report_file: str | None,
) -> None:
    """Run many simulations: configurations × inputs × parameters × seeds.

    FILE is a document of kind Sweep. The runs use all cores of this machine, or a Ray cluster, with
    the same results. The output folder contains results.parquet with a row per run, manifest.json
    with the inputs, and journal.jsonl, from which an interrupted sweep continues.

    Exits with 1 if a run failed or did not come to rest: its row has the reason.
    """
    from steersman.cli.sweep_table import sweep_progress
    from steersman.simulation.sweep import run

    require_unix("sweep")
    if ray is not None and workers is not None:
        raise click.UsageError("--workers is about this machine, --ray about a Ray cluster: use one of them.")
    if (file is None) == (example is None):
        raise click.UsageError("Give either FILE or --example.")
    file = sweep_of(example) if example is not None else str(file)
    target = Path(f"{Path(file).stem}.results") if folder is None else Path(folder)
    try:
        with sweep_progress() as show:
            result = run(file, output=target, workers=workers, ray=ray, resume=resume, on_progress=show)
    except KeyboardInterrupt:
        _say_how_to_resume("interrupted", file, target, ray)
        click.get_current_context().exit(ExitCode.INTERRUPTED)
    except OSError as error:
        _say_how_to_resume(f"{target}: cannot be written: {error.strerror or error}", file, target, ray)
        click.get_current_context().exit(ExitCode.BAD_INPUT)
    from steersman.cli import sweep_table

    say_answer(output_format, result.to_dict, lambda: "\n".join(sweep_table.as_lines(result, terminal_width())))
    if report_file is not None:
        write_report(result.report([command_line()]), report_file)
    _conclude(result)


def _say_how_to_resume(reason: str, file: str, target: Path, ray: str | None) -> None:
    """Print why a sweep stopped and the command that continues it: finished runs are in its
    journal."""
    words = ["steersman", "sweep", file, "--output", str(target), *(["--ray", ray] if ray else []), "--resume"]
    say_error(f"{reason}; what is done is in {target}, and goes on with: {shlex.join(words)}")


def _conclude(result: SweepResult) -> None:
    failed = result.failed
    if failed:
        first = failed[0]
        where = f"{first['configuration']} {first['input']} seed {first['seed']}"
        others = f" (and {len(failed) - 1} more runs)" if len(failed) > 1 else ""
        say_error(f"run {where}{others}: {first.get('error') or first.get('stopped')}")
        click.get_current_context().exit(ExitCode.NO)
