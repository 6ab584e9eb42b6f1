# SPDX-License-Identifier: Apache-2.0
"""A moment of a record, as a simulation: what was done up to then is done again, and the simulation stands still there.

What can be asked of any simulation can be asked of this one: why a pod waits, which change would help, what would come next.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from steersman.assembly.registry import PluginSource
from steersman.errors import InputError
from steersman.record.live_moment import live_simulation_at
from steersman.record.reader import RecordReader
from steersman.record.recorded_run import RecordedRun, RecordedStep, read_run, record_bounds
from steersman.record.recorded_setup import PluginConsent, simulation_setup
from steersman.record.steps import do_again, repeat, step_of
from steersman.sim import Simulation
from steersman.sim.journal import Step

_TAKE_TIME: Final = frozenset({"run", "advance"})
"""Steps that can be told how far to go."""


def simulation_at(
    directory: str | os.PathLike[str],
    time: float | datetime,
    *,
    plugins: Iterable[PluginSource] = (),
    trusts_record: bool = False,
) -> Simulation:
    """The recorded cluster and its queue as they were at a time: so many seconds after the start of the record, or a moment
    with a time zone. Whoever asks closes it. Of a live cluster it has the objects, and pods are on the nodes that were decided;
    what waits is tried as if it had just come. `plugins` are files that may be run where the record names them;
    `trusts_record`: all that it names may. Raises `InputError` for a record that cannot be used, and for a time that is
    not in it."""
    reader = RecordReader(directory)
    run, begin, end = record_bounds(reader)
    until = time.timestamp() if isinstance(time, datetime) else run.start + time
    if not begin <= until <= end:
        covered = f"the record covers {begin - run.start:g} to {end - run.start:g} seconds after its start"
        shown = time.isoformat() if isinstance(time, datetime) else time
        raise InputError("is not in the record", file=str(directory), field="time", value=shown, hint=covered)
    consent = PluginConsent(plugins, trusts_record=trusts_record)
    if run.is_live:
        return live_simulation_at(reader, until, consent)
    recorded = read_run(directory)
    simulation = simulation_setup(recorded.run, None, consent).made()
    try:
        _go(simulation, recorded, until)
    except BaseException:
        simulation.close()
        raise
    return simulation


def _go(simulation: Simulation, recorded: RecordedRun, until: float) -> None:
    """Does everything that was begun by then."""
    begun = [step for step in recorded.steps if step.frame.time <= until]
    for step in begun[:-1]:
        repeat(step.frame, step.objects, simulation)
    for step in begun[-1:]:
        _repeat_until(step, simulation, until - recorded.run.start)


def _repeat_until(step: RecordedStep, simulation: Simulation, seconds: float) -> None:
    """Takes the last step, which may have gone on for longer."""
    known = step_of(step.frame, step.objects, simulation.known_kinds)
    if known.method in _TAKE_TIME:
        end = known.arguments[0] if known.arguments else None
        stops = known.method == "run" or bool(known.keywords.get("stops_at_rest"))
        until = min(seconds, end) if isinstance(end, (int, float)) else seconds
        do_again(Step("advance", (until,), {"stops_at_rest": end is None and stops}), simulation)
        return
    with simulation.fork() as trial:
        do_again(known, trial)
        goes_too_far = trial.now > seconds
    if goes_too_far:
        Step("advance", (seconds,)).repeat(simulation)
    else:
        do_again(known, simulation)
