# SPDX-License-Identifier: Apache-2.0
"""`python -m tests.chaos --minutes 30 --seed 7`: see the package's text."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos.chaos_report import report_lines, write_json
from tests.chaos.chaos_run import ChaosOptions, RunRecord, run_chaos
from tests.chaos.fault_schedule import KINDS, KINDS_BY_NAME, FaultSchedule, plan_faults
from tests.chaos.judgement import Findings, judge
from tests.chaos.replicas import KUBE_SCHEDULER, STEERSMAN

from steersman.base.errors import SteersmanError

SHORTEST_MINUTES = 1.0


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    schedule = plan_faults(options.minutes, options.seed, [KINDS_BY_NAME[name] for name in options.only])
    print(*schedule.lines(), sep="\n", flush=True)
    if options.plan:
        return 0
    try:
        found = [_run(schedule, scheduler, options) for scheduler in _schedulers(options.scheduler)]
    except SteersmanError as error:
        print(error, file=sys.stderr)
        return 2
    print()
    print(*report_lines([findings for _, findings in found]), sep="\n")
    if options.report:
        write_json(options.report, schedule, found)
    return 0 if all(findings.holds for _, findings in found if findings.scheduler == STEERSMAN) else 1


def _run(schedule: FaultSchedule, scheduler: str, options: argparse.Namespace) -> tuple[RunRecord, Findings]:
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{scheduler}-"))
    try:
        record = run_chaos(ChaosOptions(schedule, scheduler, options.nodes, options.rate), folder)
        return record, judge(record)
    finally:
        if options.keep:
            print(f"logs of {scheduler}: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _schedulers(chosen: str) -> list[str]:
    return [STEERSMAN, KUBE_SCHEDULER] if chosen == "both" else [chosen]


def _minutes(text: str) -> float:
    minutes = float(text)
    if minutes < SHORTEST_MINUTES:
        raise argparse.ArgumentTypeError(f"{text}: a run takes at least {SHORTEST_MINUTES:g} minute")
    return minutes


def _kind(name: str) -> str:
    if name not in KINDS_BY_NAME:
        raise argparse.ArgumentTypeError(f"{name!r} is no fault; there are: {', '.join(KINDS_BY_NAME)}")
    return name


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="A chaos run on a real control plane.")
    parser.add_argument("--minutes", type=_minutes, default=5.0, help="of load, per scheduler")
    parser.add_argument("--seed", type=int, default=1, help="equal seeds give equal faults")
    parser.add_argument("--scheduler", choices=(STEERSMAN, KUBE_SCHEDULER, "both"), default="both")
    parser.add_argument("--nodes", type=int, default=120)
    parser.add_argument("--rate", type=float, default=8.0, help="pods per second, besides two probes per second")
    parser.add_argument("--only", type=_kind, nargs="+", metavar="FAULT", default=[kind.name for kind in KINDS])
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the result as JSON")
    parser.add_argument("--plan", action="store_true", help="print the faults and end")
    parser.add_argument("--keep", action="store_true", help="keep logs and the audit log")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
