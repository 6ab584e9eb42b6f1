# SPDX-License-Identifier: Apache-2.0
"""Moments of a record, as people write them: `--at 14:05`, `--at 2026-11-17T14:05:00Z`, `--at 10m` after its start."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from steersman.cli.parameters import parse_seconds
from steersman.errors import InputError

if TYPE_CHECKING:
    from steersman.sim import Simulation

_TIME_OF_DAY: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_HINT: Final = 'write "14:05", "2026-11-17T14:05:00Z", or "10m" after the start of the record'


def recorded_moment(directory: str, at: str, plugins: Sequence[str] = (), *, trusts_record: bool = False) -> Simulation:
    """The recorded cluster and its queue at a time; whoever asks closes it. `plugins` are files of the record that may be run,
    `trusts_record` lets all of them. Raises `InputError`."""
    from steersman.record import RecordReader, simulation_at
    from steersman.record.recorded_run import record_bounds

    _, begin, end = record_bounds(RecordReader(directory))
    moment = parse_moment(at, begin, end)
    return simulation_at(directory, moment, plugins=plugins, trusts_record=trusts_record)


def parse_moment(text: str, begin: float, end: float) -> float | datetime:
    """A moment of a record that covers `begin` to `end`, in Unix time. A time of day is that of this machine's zone, on the
    last day on which the record has it. Raises `InputError`."""
    of_day = _TIME_OF_DAY.fullmatch(text)
    if of_day is not None:
        hour, minute, second = (int(part or 0) for part in of_day.groups())
        return _last_time_of_day(text, (hour, minute, second), begin, end)
    if "-" in text or "T" in text:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise InputError("is no time", object="--at", value=text, hint=_HINT) from None
        return moment if moment.tzinfo is not None else moment.astimezone()
    try:
        seconds = parse_seconds(click.get_current_context(), click.Option(["--at"]), text)
    except click.BadParameter:
        raise InputError("is no time", object="--at", value=text, hint=_HINT) from None
    assert seconds is not None, "there is a text"
    return seconds


def _last_time_of_day(text: str, parts: tuple[int, int, int], begin: float, end: float) -> datetime:
    last = datetime.fromtimestamp(end).astimezone()
    try:
        moment = last.replace(hour=parts[0], minute=parts[1], second=parts[2], microsecond=0)
    except ValueError:
        raise InputError("is no time of day", object="--at", value=text, hint=_HINT) from None
    return moment if moment.timestamp() <= end else moment - timedelta(days=1)


def as_loaded(simulation: Simulation) -> Simulation:
    """A simulation of the same objects in which nothing has happened yet: fixes are looked for in it. To be closed."""
    from steersman import api

    setup = simulation.setup
    fresh = simulation.made(setup._replace(start=setup.start + simulation.now))
    kinds = dict.fromkeys((*simulation.known_kinds, *api.KINDS.values()))
    fresh.add([obj for kind in kinds for obj in simulation.cluster.objects(kind).values()], validate="ignore")
    return fresh
