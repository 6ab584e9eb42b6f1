# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.race [--version V] [--nodes N] [--pods N] [--rounds N] [--record] [workload…]`: see the text."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.race.arrivals import ARRIVALS
from benchmarks.race.chart import Bar, svg
from benchmarks.race.observing import Stalled
from benchmarks.race.racing import (
    BEFORE,
    RECORDED,
    SCHEDULERS,
    Reception,
    Result,
    Track,
    recorded_steersman,
    server_flags,
    steersman_of,
)
from benchmarks.race.records import recorded_bytes
from benchmarks.race.tables import in_order, median, throughput_table, wait_table
from benchmarks.race.workloads import GANG, WORKLOADS
from steersman.base import KUBE_SCHEDULER_RELEASES
from steersman.base.errors import SteersmanError
from steersman.testing.control_plane import Binaries, ControlPlane

NAMES = (*WORKLOADS, *ARRIVALS)
OLDEST = next(iter(KUBE_SCHEDULER_RELEASES))


@dataclass(frozen=True, slots=True)
class Outcome:
    """All measurements by workload and scheduler, round by round."""

    results: dict[tuple[str, str], list[Result]] = field(default_factory=lambda: defaultdict(list))
    receptions: dict[tuple[str, str], list[Reception]] = field(default_factory=lambda: defaultdict(list))


def main() -> None:
    options = _options()
    unknown = [name for name in options.workloads if name not in NAMES]
    if unknown:
        sys.exit(f"unknown workload {unknown[0]!r}; known: {', '.join(NAMES)}")
    if GANG in options.workloads and options.version == OLDEST:
        sys.exit(f"v{OLDEST} has no pod groups: add --version {list(KUBE_SCHEDULER_RELEASES)[-1]}")
    try:
        with tempfile.TemporaryDirectory(prefix="steersman-race-") as directory:
            outcome = race(Path(directory), options)
    except (SteersmanError, Stalled) as error:
        sys.exit(str(error))
    print("\n".join(_lines(outcome, options)))
    if options.chart:
        bars = [Bar(*key, median(outcome.results[key], lambda run: run.rate)) for key in in_order(outcome.results)]
        options.chart.write_text(svg(bars, _title(options)), encoding="utf-8")


def race(directory: Path, options: argparse.Namespace) -> Outcome:
    outcome = Outcome()
    if options.record:
        options.contestants[RECORDED] = recorded_steersman(directory / "records")
    names = options.workloads or [name for name in NAMES if name != GANG or options.version != OLDEST]
    flags = server_flags(has_groups=GANG in names)
    binaries = Binaries.find(options.version)
    with ControlPlane(binaries, directory, authorization="AlwaysAllow", extra_flags=flags) as plane:
        track = Track(plane, options.nodes, options.existing, options.contestants)
        track.lay()
        for number in range(1, options.rounds + 1):
            for name in names:
                # Who begins changes from round to round: the server's caches are warmer for the second one.
                for scheduler in sorted(options.contestants, reverse=number % 2 == 0):
                    figures = _raced(track, name, scheduler, options.pods, outcome)
                    print(f"round {number}: {name}, {scheduler}: {figures}", file=sys.stderr, flush=True)
    for record in sorted((directory / "records").glob("*")):
        print(f"record {record.name}: {recorded_bytes(record)}", file=sys.stderr)
    return outcome


def _raced(track: Track, name: str, scheduler: str, pods: int, outcome: Outcome) -> str:
    """Runs and remembers one measurement; its figures, to be shown at once."""
    if name in WORKLOADS:
        result = track.run(scheduler, WORKLOADS[name], pods)
        outcome.results[name, scheduler].append(result)
        return (
            f"{result.rate:.0f} pods/s, {result.cpu_per_pod * 1e3:.2f} ms CPU per pod, "
            f"started in {result.start:.2f} s ({result.start_cpu:.2f} s CPU), {result.memory / 1e6:.0f} MB"
        )
    reception = track.receive(scheduler, ARRIVALS[name])
    outcome.receptions[name, scheduler].append(reception)
    waits = ", ".join(f"p{share:g} {reception.wait(share / 100) * 1e3:.1f} ms" for share in (50, 99, 100))
    return f"{waits}, {reception.cpu_per_pod * 1e3:.2f} ms CPU per pod"


def _lines(outcome: Outcome, options: argparse.Namespace) -> Iterator[str]:
    yield f"\n{_title(options)}"
    if outcome.results:
        yield from throughput_table(outcome.results)
    if outcome.receptions:
        yield ""
        yield from wait_table(outcome.receptions)


def _title(options: argparse.Namespace) -> str:
    existing = f"{options.existing:,} pods on them, " if options.existing else ""
    cluster = f"v{options.version}: {options.nodes:,} nodes, {existing}"
    return f"{cluster}up to {options.pods:,} pods, median of {options.rounds} rounds"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.race", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--version", choices=list(KUBE_SCHEDULER_RELEASES), default=OLDEST, help="of Kubernetes")
    parser.add_argument("--existing", type=int, default=0, help="pods that are on nodes before the race")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chart", type=Path, metavar="FILE", help="also draw the throughput, as SVG")
    parser.add_argument("--scheduler", dest="schedulers", action="append", choices=list(SCHEDULERS))
    parser.add_argument(
        "--before", type=Path, metavar="CHECKOUT", help="also race Steersman as it is in that directory"
    )
    parser.add_argument("--record", action="store_true", help="also race Steersman while it records")
    parser.add_argument("workloads", nargs="*", metavar="workload")
    options = parser.parse_args()
    options.contestants = {name: SCHEDULERS[name] for name in options.schedulers or SCHEDULERS}
    if options.before is not None:
        if not (options.before / "src" / "steersman").is_dir():
            parser.error(f"--before: {options.before} has no src/steersman: it should be a checkout of this repository")
        options.contestants[BEFORE] = steersman_of(options.before)
    return options


if __name__ == "__main__":
    main()
