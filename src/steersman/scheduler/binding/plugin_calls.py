# SPDX-License-Identifier: Apache-2.0
"""Calls to the plugins of the binding cycle: PreBindPreFlight, PreBind, Bind. Used by `cycle`.

A method may be a coroutine or a plain function. Its result or exception is returned as a status; a
coroutine that exceeds its deadline is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

from steersman.api import Duration
from steersman.framework import Code, Status, error, is_skip
from steersman.scheduler.cycle.decision import Scheduled
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, as_fault, describe_fault, fault, log_fault
from steersman.scheduler.runtime.pods_in_pre_bind import PreBindWork
from steersman.scheduler.runtime.profile import PreBindCall, Profile, RawCall

#: Deadlines for plugins without deadlines of their own.
MAX_PRE_BIND_SECONDS = 3600
MAX_BIND_SECONDS = 300

PRE_FLIGHT_FAILED = 'running PreBindPreFlight "{}": {}'
PRE_FLIGHT_UNSUPPORTED = (
    'PreBindPreFlight {} returned "{}", which is unsupported. It is supposed to return Success, Skip, or Error status'
)
NOT_FINISHED = "not finished after {}"
ALL_BINDERS_SKIPPED = "every Bind plugin returned Skip"


def pre_flight(decision: Scheduled, calls: Sequence[PreBindCall]) -> tuple[RawCall, ...] | Status:
    """Return the PreBind plugins with work for this pod, or the Status of one that fails."""
    work: list[RawCall] = []
    for call in calls:
        status = _call_pre_flight(call, decision)
        if status is None:
            work.append(call)
        elif not is_skip(status):
            return status
    return tuple(work)


async def pre_bind(work: Sequence[RawCall], decision: Scheduled, entry: PreBindWork) -> Status | None:
    """Run the plugins one after the other, until one fails or PreBind is cancelled."""
    for call in work:
        try:
            status = await _call("PreBind", call, decision, MAX_PRE_BIND_SECONDS)
        except asyncio.CancelledError:
            if not entry.cancelled_by:
                raise
            status = fault("PreBind", call.name, entry.cancelled_by)
        if status is not None:
            return status if status.is_rejected else as_fault("PreBind", call.name, status)
    return None


async def bind(decision: Scheduled, profile: Profile) -> Status | None:
    """Bind by the first plugin that does not return Skip."""
    for call in profile.bind:
        status = await _call("Bind", call, decision, MAX_BIND_SECONDS)
        if is_skip(status):
            continue
        if status is None or status.is_rejected:
            return status
        return as_fault("Bind", call.name, status)
    return error(ALL_BINDERS_SKIPPED)


def _call_pre_flight(call: PreBindCall, decision: Scheduled) -> Status | None:
    """Return None if there is work to do. A plugin without PreBindPreFlight always has some."""
    if call.pre_flight is None:
        return None
    try:
        answer = call.pre_flight(decision.state, decision.pod, decision.node)
    except PLUGIN_FAULTS as cause:
        log_fault("PreBindPreFlight", call.name, cause)
        return error(PRE_FLIGHT_FAILED.format(call.name, describe_fault(cause)))
    if not isinstance(answer, Status) or answer.code is Code.SUCCESS:
        return None
    if answer.code is Code.ERROR:
        return error(PRE_FLIGHT_FAILED.format(call.name, answer.message))
    return answer if is_skip(answer) else error(PRE_FLIGHT_UNSUPPORTED.format(call.name, answer.code.label))


async def _call(point: str, call: RawCall, decision: Scheduled, limit: int) -> Status | None:
    try:
        answer = call.run(decision.state, decision.pod, decision.node)
        if asyncio.iscoroutine(answer):
            answer = await (answer if call.enforces_deadlines else _within(limit, answer))
    except PLUGIN_FAULTS as cause:
        return fault(point, call.name, cause)
    if answer is None or answer is True:
        return None
    if isinstance(answer, Status):
        return None if answer.code is Code.SUCCESS else answer.with_plugin(call.name)
    return fault(point, call.name, f"returned {answer!r}, expected None or a Status")


async def _within(seconds: int, work: Awaitable[object]) -> object:
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            return await work
    except TimeoutError as cause:
        if not deadline.expired():
            raise
        raise TimeoutError(NOT_FINISHED.format(Duration.from_seconds(seconds))) from cause
