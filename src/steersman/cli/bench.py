# SPDX-License-Identifier: Apache-2.0
"""`steersman bench`: measures the scheduler with workload files in scheduler_perf's format."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from steersman.cli.output import ExitCode, require_unix, say, say_error, terminal_width
from steersman.cli.parameters import SEED, config_option, output_option, seed_option, version_option
from steersman.cli.report_file import command_line, report_option, write_report

if TYPE_CHECKING:
    from rich.status import Status

    from steersman.kube.client import Connection
    from steersman.testing.bench import BenchOptions, OnProgress, Selected, WorkloadOutcome, WorkloadProgress


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE…")
@click.option(
    "--test",
    "tests",
    multiple=True,
    metavar="NAME",
    help="Only this test case, CASE/WORKLOAD, or those that match the regular expression. May be repeated.",
)
@click.option(
    "--labels",
    default="",
    metavar="A,-B",
    help="Only workloads with label A and without label B, for example performance,-short.",
)
@config_option("A KubeSchedulerConfiguration (v1) for all.")
@version_option
@seed_option(SEED)
@click.option(
    "--kubeconfig",
    type=click.Path(),
    metavar="FILE",
    help="Run on the API server of this kubeconfig instead of the embedded cluster.",
)
@output_option("table", "json", text=None)
@click.option("--latencies", is_flag=True, help="Also print durations of attempts and extension points.")
@click.option(
    "--data-items", type=click.Path(), metavar="DIR", help="Write the JSON files that upstream's dashboard reads."
)
@report_option
@click.option("--list", "only_list", is_flag=True, help="Print the selected workloads without running them.")
@click.option(
    "--require", type=float, metavar="RATIO", help="Exit with 1 if a workload is below this factor of its threshold."
)
@click.option(
    "--check-uncached",
    "check_every",
    type=click.IntRange(min=1),
    is_flag=False,
    flag_value=1,
    default=None,
    metavar="[N]",
    help="Repeat every decision (or one in N) without caches, and fail on a difference. Slow.",
)
@click.option("-v", "--verbose", is_flag=True, help="Also print every workload on stderr when it ends.")
def bench(
    files: tuple[str, ...],
    tests: tuple[str, ...],
    labels: str,
    config_file: str,
    emulated_version: str,
    seed: int,
    kubeconfig: str | None,
    output: str,
    latencies: bool,
    data_items: str | None,
    report_file: str | None,
    only_list: bool,
    require: float | None,
    check_every: int | None,
    verbose: bool,
) -> None:
    """Measure the scheduler with scheduler_perf workload files.

    FILEs are in the format of Kubernetes' test/integration/scheduler_perf. The whole scheduler runs in real time, on the
    embedded cluster or on a real API server that has no other scheduler. Workloads that need what Steersman does not have
    are listed as unsupported.
    """
    require_unix("bench")
    from steersman.testing.bench import BenchOptions, load, select

    selected = select([case for file in files for case in load(file)], tests, labels)
    if only_list:
        _print_list(selected)
        return
    options = BenchOptions(config_file, seed, emulated_version, check_every or 0, _connection(kubeconfig))
    outcomes = _run(selected, options, verbose)
    _print(outcomes, output, latencies)
    if data_items is not None:
        _write(outcomes, data_items)
    if report_file is not None:
        _write_report(outcomes, report_file)
    _conclude(outcomes, require)


def _connection(kubeconfig: str | None) -> Connection | None:
    if kubeconfig is None:
        return None
    from steersman.kube.client import ClusterChoice, connect

    return connect(ClusterChoice(kubeconfig), os.environ).connection


def _run(selected: list[Selected], options: BenchOptions, verbose: bool) -> list[WorkloadOutcome]:
    from steersman.testing.bench import prepare, run

    prepared = [prepare(one, options) for one in selected]
    outcomes: list[WorkloadOutcome] = []
    with _progress() as show:
        for one in prepared:
            outcomes.append(run(one, show))
            if verbose:
                say(_in_short(outcomes[-1]), err=True)
    return outcomes


def _in_short(outcome: WorkloadOutcome) -> str:
    rates = ", ".join(f"{measurement.throughput.average:.0f} pods/s" for measurement in outcome.measurements)
    return f"{outcome.name}: {outcome.verdict}{f', {rates}' if rates else ''}"


def _print_list(selected: list[Selected]) -> None:
    from steersman.base import aligned

    rows = [("WORKLOAD", "THRESHOLD", "LABELS")]
    for one in selected:
        threshold = one.case.threshold_of(one.workload)
        rows.append((one.name, f"{threshold:g}" if threshold else "", ",".join(one.labels)))
    say("\n".join(aligned(rows, width=terminal_width())))


def _print(outcomes: list[WorkloadOutcome], output: str, latencies: bool) -> None:
    from steersman.cli import bench_report

    text = (
        bench_report.as_json(outcomes)
        if output == "json"
        else bench_report.as_table(outcomes, latencies, terminal_width())
    )
    say(text or "no workload was selected")


def _write(outcomes: list[WorkloadOutcome], folder: str) -> None:
    from steersman.testing.bench import write_data_items

    for file in write_data_items(outcomes, folder, time.time()):
        say(f"wrote {file}", err=True)


def _write_report(outcomes: list[WorkloadOutcome], path: str) -> None:
    from steersman.testing.bench import bench_report

    write_report(bench_report(outcomes, [command_line()]), path)


def _conclude(outcomes: list[WorkloadOutcome], require: float | None) -> None:
    from steersman.testing.bench import WorkloadVerdict

    failed = [outcome.name for outcome in outcomes if outcome.verdict is WorkloadVerdict.FAILED]
    slow = [] if require is None else [text for outcome in outcomes for text in _too_slow(outcome, require)]
    for text in (*(f"{name} failed" for name in failed), *slow):
        say_error(text)
    if failed or slow:
        click.get_current_context().exit(ExitCode.NO)


def _too_slow(outcome: WorkloadOutcome, require: float) -> Iterator[str]:
    for measurement in outcome.measurements:
        comparison = outcome.compared(measurement)
        if comparison is not None and comparison.ratio < require:
            yield f"{outcome.name} reaches {comparison.ratio:.1f} times its threshold, less than {require:g}"


@contextmanager
def _progress() -> Iterator[OnProgress | None]:
    """Return a function that shows the progress of a workload; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    # A separate thread would take CPU time from the measured scheduler.
    with Console(stderr=True).status("loading", refresh_per_second=2) as status:
        yield lambda progress: _show(status, progress)


def _show(status: Status, progress: WorkloadProgress) -> None:
    pods = f" {progress.done} of {progress.wanted} pods" if progress.wanted else ""
    status.update(f"{progress.workload}: {progress.operation}{pods}")
