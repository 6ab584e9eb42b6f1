# SPDX-License-Identifier: Apache-2.0
"""The faults of a chaos run come from its seed, do not pile up, and leave the quiet parts alone."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from tests.chaos.fault_schedule import KINDS, LEASE_SECONDS, MOST_AT_ONCE, FaultSchedule, plan_faults


@pytest.fixture(params=[1, 7, 42])
def schedule(request: pytest.FixtureRequest) -> FaultSchedule:
    return plan_faults(30, request.param)


def test_equal_seeds_give_equal_faults_and_others_do_not(schedule: FaultSchedule) -> None:
    assert plan_faults(30, schedule.seed) == schedule
    assert plan_faults(30, schedule.seed + 1).faults != schedule.faults


def test_a_long_run_has_every_kind_of_fault(schedule: FaultSchedule) -> None:
    assert {fault.kind for fault in schedule.faults} == set(KINDS)


def test_kinds_of_the_same_severity_come_up_about_equally_often(schedule: FaultSchedule) -> None:
    counts = Counter(fault.kind for fault in schedule.faults)
    severe = [counts[kind] for kind in KINDS if kind.costs_the_lease]
    assert max(severe) - min(severe) <= 2


def test_nothing_goes_wrong_in_the_quiet_parts(schedule: FaultSchedule) -> None:
    parts = schedule.parts
    assert all(parts.lasting <= fault.begin and fault.end <= parts.quiet for fault in schedule.faults)


def test_no_process_loses_its_lease_by_design_in_the_lasting_part(schedule: FaultSchedule) -> None:
    assert not [one for one in schedule.faults if one.begin < schedule.parts.rough and one.kind.costs_the_lease]


def test_not_too_much_is_broken_at_once(schedule: FaultSchedule) -> None:
    for fault in schedule.faults:
        together = [other for other in schedule.faults if other.begin <= fault.begin <= other.end]
        assert len(together) <= MOST_AT_ONCE
        breaks = [other.kind.breaks for other in together if other.kind.breaks]
        assert len(breaks) == len(set(breaks))


def test_after_a_lost_lease_there_is_time_for_a_new_leader(schedule: FaultSchedule) -> None:
    severe = [fault for fault in schedule.faults if fault.kind.costs_the_lease]
    assert all(later.begin - earlier.end > LEASE_SECONDS for earlier, later in pairwise(severe))


def test_the_printed_schedule_has_a_line_per_fault(schedule: FaultSchedule) -> None:
    lines = list(schedule.lines())
    assert len(lines) == len(schedule.faults) + 2
    assert max(map(len, lines)) <= 120
