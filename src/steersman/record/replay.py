# SPDX-License-Identifier: Apache-2.0
"""Replay of a record: repeats the recorded inputs and compares each decision.

With the recorded setup, every decision must be identical, including scores. With another
configuration or more plugins, the differences are the result: decisions made instead. Each pod's
attempts are compared in order, because times and numbers of attempts may differ. Simulations are
replayed here, live schedulers in `scheduler_comparison`, with other configurations in `what_if`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from steersman.record.comparison import ALL_FIELDS, WHAT_IF, Replay, comparable, compare, version_notes
from steersman.record.decisions import DecisionCollector
from steersman.record.frames import DecisionBody
from steersman.record.reader import RecordReader
from steersman.record.recorded_run import PluginConsent, RecordedRun, first_run, read_run, simulation_setup
from steersman.record.scheduler_comparison import SchedulerComparison
from steersman.record.simulation_recorder import repeat
from steersman.record.what_if import WhatIfComparison
from steersman.scheduler.assembly import PluginSource
from steersman.simulation import Simulation, SimulationSetup

INCOMPLETE: Final = "something was done to the simulation that is not in the record"
ENDS_EARLY: Final = "the record ends early: it was not closed"
BEGINNING_GONE: Final = "the first {} decisions are not in the record any more, and are not compared"


def replay(
    directory: str | os.PathLike[str],
    *,
    configuration: str | None = None,
    plugins: Iterable[PluginSource] = (),
    trusts_record: bool = False,
) -> Replay:
    """Repeat and compare all decisions of a record. `configuration` is another
    KubeSchedulerConfiguration file; `plugins` are executable files of the record (all with
    `trusts_record`), and additional ones. Raises `InputError`, `ConfigError` and `PluginError`."""
    reader, consent = RecordReader(directory), PluginConsent(plugins, trusts_record=trusts_record, adds_others=True)
    run, _ = first_run(reader)
    is_other = configuration is not None or bool(consent.others(run))
    if run.is_live:
        comparison = WhatIfComparison if is_other else SchedulerComparison
        return comparison(reader, configuration, consent).compared()
    recorded = read_run(directory)
    setup = simulation_setup(recorded.run, configuration, consent)
    decided = _decide_again(recorded, setup)[recorded.decisions_before :]
    if recorded.end is None:
        decided = decided[: len(recorded.decisions)]
    was, now = ([comparable(one, recorded.run) for one in some] for some in (recorded.decisions, decided))
    differences = tuple(compare(was, now, WHAT_IF if is_other else ALL_FIELDS))
    made = sum(1 for difference in differences if difference.recorded is not None)
    same = len(recorded.decisions) - made
    return Replay(
        len(recorded.decisions), same, differences, recorded.run.start, recorded.since, tuple(_notes(recorded, setup))
    )


def _decide_again(recorded: RecordedRun, setup: SimulationSetup) -> list[DecisionBody]:
    with Simulation(setup) as simulation:
        collector = DecisionCollector(lambda: setup.start + simulation.now)
        simulation.scheduler.observe(collector)
        for step in recorded.steps:
            repeat(step.frame, step.objects, simulation)
        return collector.take()


def _notes(recorded: RecordedRun, setup: SimulationSetup) -> Iterator[str]:
    yield from version_notes(recorded.run, setup.options.registry.files)
    if recorded.decisions_before:
        yield BEGINNING_GONE.format(recorded.decisions_before)
    if recorded.end is None:
        yield ENDS_EARLY
    elif not recorded.end.is_complete:
        yield INCOMPLETE
    yield from map(str, recorded.problems)
