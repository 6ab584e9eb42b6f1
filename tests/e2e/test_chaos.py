# SPDX-License-Identifier: Apache-2.0
"""A short chaos run: two replicas, random faults from a fixed seed, the judgement of `tests.chaos`. `make chaos` is longer."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.chaos.chaos_report import report_lines
from tests.chaos.chaos_run import ChaosOptions, run_chaos
from tests.chaos.fault_schedule import plan_faults
from tests.chaos.hostile_objects import HOSTILE, HOSTILE_OBJECTS, create_hostile, prepare, remove_hostile
from tests.chaos.judgement import judge
from tests.chaos.persistence import Persistent
from tests.chaos.pod_templates import PRIORITIES, TEMPLATES, WAVE, make_wave
from tests.chaos.replicas import STEERSMAN
from tests.e2e.objects import priority_class

from steersman.testing.control_plane import ControlPlane, wait_until

MINUTES, SEED = 2, 7
NODES, PODS_PER_SECOND = 60, 5.0


@pytest.mark.parametrize("fault", HOSTILE_OBJECTS)
def test_the_api_server_takes_hostile_objects(plane: ControlPlane, fault: str) -> None:
    prepare(plane.admin)
    persistent, objects = Persistent(plane.admin, threading.Event()), HOSTILE_OBJECTS[fault](1)
    try:
        create_hostile(persistent, objects)
        assert len(plane.admin.list("Pod", HOSTILE)) == sum(obj["kind"] == "Pod" for obj in objects)
    finally:
        remove_hostile(persistent, objects)
    assert not plane.admin.list("Pod", HOSTILE)
    assert not plane.admin.list("ResourceClaim", HOSTILE)


def test_the_api_server_takes_every_template_of_pods(plane: ControlPlane) -> None:
    admin = plane.admin
    admin.create_many([priority_class(name, value) for name, value in PRIORITIES.items()])
    for number in range(len(TEMPLATES)):
        wave = make_wave(number, "default", 2, SEED)
        # Admission hears of new priority classes a moment later.
        trial = {**wave.pods[0], "metadata": {"name": "trial"}}
        wait_until(lambda: admin.raw("POST", f"{admin.path('Pod', '', 'default')}?dryRun=All", trial).status == 201)  # noqa: B023
        admin.create_many(wave.objects)
        assert len(admin.list("Pod", labels=f"{WAVE}={wave.name}")) == len(wave.pods)


def test_two_minutes_of_chaos_lose_nothing(tmp_path: Path) -> None:
    schedule = plan_faults(MINUTES, SEED)
    print(*schedule.lines(), sep="\n")
    findings = judge(run_chaos(ChaosOptions(schedule, STEERSMAN, NODES, PODS_PER_SECOND), tmp_path))
    print(*report_lines([findings]), sep="\n")
    assert not [verdict for verdict in findings.verdicts if not verdict.holds]
