# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.race [--nodes N] [--pods N] [--rounds N] [workload…]`: see the package's text."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from benchmarks.race.chart import Bar, svg
from benchmarks.race.observing import Stalled
from benchmarks.race.racing import SCHEDULERS, Result, Track
from benchmarks.race.workloads import WORKLOADS
from steersman.errors import SteersmanError
from steersman.testing.control_plane import Binaries, ControlPlane

Results = dict[tuple[str, str], list[Result]]


def main() -> None:
    options = _options()
    unknown = [name for name in options.workloads if name not in WORKLOADS]
    if unknown:
        sys.exit(f"unknown workload {unknown[0]!r}; known: {', '.join(WORKLOADS)}")
    try:
        with tempfile.TemporaryDirectory(prefix="steersman-race-") as directory:
            results = race(Path(directory), options)
    except (SteersmanError, Stalled) as error:
        sys.exit(str(error))
    show(results, options)
    if options.chart:
        bars = [Bar(name, scheduler, _median(runs)[0]) for (name, scheduler), runs in results.items()]
        options.chart.write_text(svg(_in_order(bars, options.schedulers), _title(options)), encoding="utf-8")


def race(directory: Path, options: argparse.Namespace) -> Results:
    results: Results = defaultdict(list)
    with ControlPlane(Binaries.find(), directory, authorization="AlwaysAllow") as plane:
        track = Track(plane, options.nodes, options.existing)
        track.lay()
        for number in range(1, options.rounds + 1):
            for name in options.workloads or WORKLOADS:
                # Who begins changes from round to round: the server's caches are warmer for the second one.
                for scheduler in sorted(options.schedulers, reverse=number % 2 == 0):
                    result = track.run(scheduler, WORKLOADS[name], options.pods)
                    results[name, scheduler].append(result)
                    print(f"round {number}: {name}, {scheduler}: {_figures(result)}", file=sys.stderr, flush=True)
    return results


def show(results: Results, options: argparse.Namespace) -> None:
    print(f"\n{_title(options)}")
    columns = f"{'pods/s':>8} {'CPU ms/pod':>11} {'memory MB':>10} {'pods/s ratio':>13} {'CPU ratio':>10}"
    print(f"{'workload':20} {'scheduler':15} {columns}")
    for name in dict.fromkeys(name for name, _ in results):
        reference = _median(results[name, "kube-scheduler"]) if (name, "kube-scheduler") in results else None
        for scheduler in options.schedulers:
            rate, cpu, memory = _median(results[name, scheduler])
            ratios = "" if reference is None else f"{rate / reference[0]:12.2f}× {cpu / reference[1]:9.2f}×"
            print(f"{name:20} {scheduler:15} {rate:8.0f} {cpu * 1e3:11.2f} {memory / 1e6:10.0f} {ratios}")


def _title(options: argparse.Namespace) -> str:
    existing = f"{options.existing:,} pods on them, " if options.existing else ""
    return f"{options.nodes:,} nodes, {existing}up to {options.pods:,} pods, median of {options.rounds} rounds"


def _in_order(bars: list[Bar], schedulers: list[str]) -> list[Bar]:
    workloads = list(dict.fromkeys(bar.workload for bar in bars))
    return sorted(bars, key=lambda bar: (workloads.index(bar.workload), schedulers.index(bar.scheduler)))


def _median(runs: list[Result]) -> tuple[float, float, float]:
    return (
        statistics.median(run.rate for run in runs),
        statistics.median(run.cpu_per_pod for run in runs),
        statistics.median(run.memory for run in runs),
    )


def _figures(result: Result) -> str:
    return (
        f"{result.rate:.0f} pods/s, {result.cpu_per_pod * 1e3:.2f} ms CPU per pod, "
        f"{result.start:.1f} s CPU to start, {result.memory / 1e6:.0f} MB"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.race", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--existing", type=int, default=0, help="pods that are on nodes before the race")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chart", type=Path, metavar="FILE", help="also draw the result, as SVG")
    parser.add_argument("--scheduler", dest="schedulers", action="append", choices=list(SCHEDULERS))
    parser.add_argument("workloads", nargs="*", metavar="workload")
    options = parser.parse_args()
    options.schedulers = options.schedulers or list(SCHEDULERS)
    return options


if __name__ == "__main__":
    main()
