# SPDX-License-Identifier: Apache-2.0
"""Replays a record: does again what was done, and compares decision by decision.

With the scheduler of the record, every decision has to be the same to the byte, scores included. With another configuration or
with more plugins the differences are the answer: what would have been decided instead. The attempts at a pod are compared in
their order, because another scheduler tries pods at other times and more or less often. Here are simulations;
`live_comparison` has schedulers of live clusters.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from steersman.assembly.registry import PluginSource
from steersman.record.comparison import ALL_FIELDS, WHAT_IF, Replay, comparable, compare, version_notes
from steersman.record.decisions import DecisionObserver
from steersman.record.frames import BindingBody, DecisionBody
from steersman.record.live_comparison import replay_live
from steersman.record.recorded_run import RecordedRun, read_run
from steersman.record.recorded_setup import PluginConsent, simulation_setup
from steersman.record.steps import repeat
from steersman.sim import Simulation, SimulationSetup

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
    """Decides everything again that a record holds. `configuration` is the file of another KubeSchedulerConfiguration;
    `plugins` are files of the record that may be run (`trusts_record`: all of them), and others that come beside those. Raises
    `InputError`, `ConfigError` and `PluginError`."""
    recorded, consent = read_run(directory), PluginConsent(plugins, trusts_record=trusts_record, adds_others=True)
    if recorded.run.is_live:
        is_what_if = configuration is not None or bool(consent.others(recorded.run))
        return replay_live(directory, configuration, consent, is_what_if=is_what_if)
    setup = simulation_setup(recorded.run, configuration, consent)
    decided = _decide_again(recorded, setup)[recorded.decisions_before :]
    if recorded.end is None:
        decided = decided[: len(recorded.decisions)]
    is_other = configuration is not None or bool(consent.others(recorded.run))
    was, now = ([comparable(one, recorded.run) for one in some] for some in (recorded.decisions, decided))
    differences = tuple(compare(was, now, WHAT_IF if is_other else ALL_FIELDS))
    made = sum(1 for difference in differences if difference.recorded is not None)
    same = len(recorded.decisions) - made
    return Replay(
        len(recorded.decisions), same, differences, recorded.run.start, recorded.since, tuple(_notes(recorded, setup))
    )


def _decide_again(recorded: RecordedRun, setup: SimulationSetup) -> list[DecisionBody]:
    decided: list[DecisionBody] = []
    with Simulation.made(setup) as simulation:
        _watch(simulation, setup.start, decided)
        for step in recorded.steps:
            repeat(step.frame, step.objects, simulation)
    return decided


def _watch(simulation: Simulation, start: float, decided: list[DecisionBody]) -> None:
    def note(body: DecisionBody | BindingBody) -> None:
        if isinstance(body, DecisionBody):
            decided.append(body)

    simulation.observe(DecisionObserver(lambda: start + simulation.now, note))


def _notes(recorded: RecordedRun, setup: SimulationSetup) -> Iterator[str]:
    yield from version_notes(recorded.run, setup.options.registry.files)
    if recorded.decisions_before:
        yield BEGINNING_GONE.format(recorded.decisions_before)
    if recorded.end is None:
        yield ENDS_EARLY
    elif not recorded.end.is_complete:
        yield INCOMPLETE
    yield from map(str, recorded.problems)
