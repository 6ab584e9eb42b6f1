"""A short chaos run: two replicas, random faults from a fixed seed, the judgement of `tests.chaos`. `make chaos` takes longer."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.chaos_report import report_lines
from tests.chaos.chaos_run import ChaosOptions, run_chaos
from tests.chaos.fault_schedule import plan_faults
from tests.chaos.judgement import judge
from tests.chaos.replicas import STEERSMAN

MINUTES, SEED = 2, 7
NODES, PODS_PER_SECOND = 60, 5.0


def test_two_minutes_of_chaos_lose_nothing(tmp_path: Path) -> None:
    schedule = plan_faults(MINUTES, SEED)
    print(*schedule.lines(), sep="\n")
    findings = judge(run_chaos(ChaosOptions(schedule, STEERSMAN, NODES, PODS_PER_SECOND), tmp_path))
    print(*report_lines([findings]), sep="\n")
    assert not [verdict for verdict in findings.verdicts if not verdict.holds]
