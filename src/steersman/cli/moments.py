# SPDX-License-Identifier: Apache-2.0
"""Times in a record as given by users: `--at 14:05`, `--at 2026-11-17T14:05:00Z`, `--at 10m` after
its start.

Times without a zone are UTC, as printed by `history` and `replay`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from steersman.base import InputError
from steersman.cli.parameters import parse_seconds

if TYPE_CHECKING:
    from steersman.explain import PodExplanation
    from steersman.record import HistoryEntry, RecordReader
    from steersman.simulation import Simulation

_TIME_OF_DAY: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?(Z|[+-]\d{2}:?\d{2})?")
_HINT: Final = 'write "14:05" (UTC), "14:05+01:00", "2026-11-17T14:05:00Z", or "10m" after the start of the record'
_SHOWN_TO: Final = 1.0
"""Times are printed in whole seconds, so the given start of a record may be too early by this much.
"""
NO_ATTEMPT: Final = "The record has no attempt at it after this moment."
GAP: Final = "something that came before this moment may be missing: {}"


class RecordedMoment(NamedTuple):
    """A recorded cluster at a time. The caller closes the simulation."""

    simulation: Simulation
    #: Seconds after the start of the record, which is a Unix time.
    at: float
    start: float
    #: Whether the record is of a live cluster.
    is_live: bool
    #: Notes for the reader of the answer.
    notes: tuple[str, ...]


def recorded_moment(
    directory: str, at: str, plugins: Sequence[str] = (), *, trusts_record: bool = False
) -> RecordedMoment:
    """Return the recorded cluster and its queue at a time; "" is the end of the record. `plugins`
    are files of the record that may be executed, `trusts_record` allows all of them. Raises
    `InputError`."""
    from steersman.record import RecordReader, record_bounds, simulation_at

    reader = RecordReader(directory)
    run, begin, end = record_bounds(reader)
    moment = parse_moment(at, begin, end, "--at") if at else end - run.start
    until = moment.timestamp() if isinstance(moment, datetime) else run.start + moment
    if begin - _SHOWN_TO < until < begin:
        moment, until = begin - run.start, begin
    simulation = simulation_at(directory, moment, plugins=plugins, trusts_record=trusts_record)
    gaps = tuple(_gaps(reader, until)) if reader.problems else ()
    return RecordedMoment(simulation, until - run.start, run.start, run.is_live, gaps)


def _gaps(reader: RecordReader, until: float) -> Iterator[str]:
    """Yield a note for each gap between frames up to this time and the first one after it. A
    missing tail is after all of them."""
    from steersman.record import ProblemKind

    for frame in reader.all_frames():
        if frame.time > until:
            break
    return (GAP.format(problem) for problem in reader.problems if problem.kind is not ProblemKind.TORN_TAIL)


def with_recorded_attempt(answer: PodExplanation, directory: str, moment: RecordedMoment) -> PodExplanation:
    """Return the answer about a live cluster with the next attempt for the pod in the record."""
    from msgspec.structs import replace

    from steersman.scheduler.diagnosis import CauseCode

    if answer.when is None:
        return answer
    found = _next_attempt(directory, answer.pod, round(moment.at, 6))  # rounded like the times of history
    if found is None:
        is_held_back = answer.cause.code is CauseCode.HELD_BACK
        return answer if is_held_back else replace(answer, when=replace(answer.when, next_attempt=NO_ATTEMPT))
    seconds = round(found.at - moment.at, 3)
    clock = datetime.fromtimestamp(moment.start + found.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    came_to = f"{found.event} on {found.node}" if found.node else found.event
    tried = f"The recorded scheduler tried it {seconds:g} s later, at {clock}: {came_to}."
    return replace(answer, when=replace(answer.when, next_attempt=tried, next_attempt_seconds=seconds))


def _next_attempt(directory: str, pod: str, after: float) -> HistoryEntry | None:
    from steersman.record import history

    try:
        entries = history(directory, f"pod/{pod}", since=after).entries
    except InputError:  # the record has no later entries of the pod
        return None
    return next((entry for entry in entries if entry.attempt and entry.at > after), None)


def seconds_of_record(directory: str, moments: Mapping[str, str | None]) -> list[float | None]:
    """Return times in a record by option, in seconds after its start; None stays None. Raises
    `InputError`."""
    if not any(moments.values()):
        return [None] * len(moments)
    from steersman.record import RecordReader, record_bounds

    run, begin, end = record_bounds(RecordReader(directory))
    parsed = [parse_moment(text, begin, end, option) if text else None for option, text in moments.items()]
    return [each.timestamp() - run.start if isinstance(each, datetime) else each for each in parsed]


def parse_moment(text: str, begin: float, end: float, option: str) -> float | datetime:
    """Parse a time in a record that covers `begin` to `end`, in Unix time: a time with a zone, or
    seconds after its start. A time of day is on the last day that contains it. Raises `InputError`
    with the option's name."""
    of_day = _TIME_OF_DAY.fullmatch(text)
    if of_day is not None:
        return _last_time_of_day(of_day, end, option)
    if "-" in text or "T" in text:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise InputError("is not a time", object=option, value=text, hint=_HINT) from None
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    try:
        seconds = parse_seconds(click.get_current_context(), click.Option([option]), text)
    except click.BadParameter:
        raise InputError("is not a time", object=option, value=text, hint=_HINT) from None
    assert seconds is not None, "there is a text"
    return seconds


def _last_time_of_day(of_day: re.Match[str], end: float, option: str) -> datetime:
    hour, minute, second, zone = of_day.groups()
    try:
        last = datetime.fromtimestamp(end, datetime.strptime(zone, "%z").tzinfo if zone else UTC)
        moment = last.replace(hour=int(hour), minute=int(minute), second=int(second or 0), microsecond=0)
    except ValueError:
        raise InputError("is not a time of day", object=option, value=of_day.string, hint=_HINT) from None
    return moment if moment.timestamp() <= end else moment - timedelta(days=1)


def as_loaded(simulation: Simulation) -> Simulation:
    """Return a simulation of the same objects in its initial state, in which fixes are searched.
    The caller closes it."""
    from steersman import api
    from steersman.simulation import ListedObjects, Simulation

    setup = simulation.internals.setup
    fresh = Simulation(setup._replace(start=setup.start + simulation.now))
    kinds = dict.fromkeys((*simulation.scheduler.known_kinds, *api.KINDS.values()))
    objects = ListedObjects(obj for kind in kinds for obj in simulation.cluster.objects(kind).values())
    fresh.add(objects, validate="ignore")
    return fresh
