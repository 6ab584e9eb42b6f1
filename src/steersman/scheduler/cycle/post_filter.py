# SPDX-License-Identifier: Apache-2.0
"""The PostFilter phase: runs the plugins that may make a node feasible until one succeeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from steersman.framework import Code, CycleState, Extender, NodeStatusReader, PodInfo, PostFilterResult, Status
from steersman.scheduler.engine.evaluation import NodeStatuses
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, fault
from steersman.scheduler.runtime.profile import Profile, RawCall

Answer = tuple[PostFilterResult | None, Status]


@runtime_checkable
class CallsExtenders(Protocol):
    """A PostFilter plugin that calls extenders; `extenders` are those interested in the pod."""

    async def post_filter_with_extenders(
        self, state: CycleState, pod: PodInfo, statuses: NodeStatusReader, extenders: Sequence[Extender]
    ) -> Answer: ...


class PostFilterOutcome(msgspec.Struct, frozen=True):
    """Result of the whole phase."""

    #: Nomination, or None to keep the pod's current one.
    result: PostFilterResult | None
    status: Status


def run(profile: Profile, state: CycleState, pod: PodInfo, statuses: NodeStatuses) -> PostFilterOutcome:
    """Return the result of the first plugin that succeeds or rejects finally, or the merged
    rejections of all."""
    answers = _Answers()
    for call in profile.post_filter:
        outcome = answers.add(call.name, *_ask(call, state, pod, statuses))
        if outcome is not None:
            return outcome
    return answers.refusal()


async def run_with_extenders(
    profile: Profile, state: CycleState, pod: PodInfo, statuses: NodeStatuses, extenders: Sequence[Extender]
) -> PostFilterOutcome:
    """Run PostFilter with plugins that call extenders (`post_filter_with_extenders`)."""
    answers = _Answers()
    for call in profile.post_filter:
        if isinstance(call.plugin, CallsExtenders):
            answer = await _ask_with_extenders(call.plugin, call.name, state, pod, statuses, extenders)
        else:
            answer = _ask(call, state, pod, statuses)
        outcome = answers.add(call.name, *answer)
        if outcome is not None:
            return outcome
    return answers.refusal()


class _Answers:
    """Results of the plugins that have run."""

    def __init__(self) -> None:
        self._result: PostFilterResult | None = None
        self._reasons: list[str] = []
        self._rejector = ""

    def add(self, plugin: str, answer: PostFilterResult | None, status: Status) -> PostFilterOutcome | None:
        """Add a plugin's result; return the outcome of the phase if this result is final."""
        if status.code in (Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
            return PostFilterOutcome(answer, status if status.code is Code.SUCCESS else status.with_plugin(plugin))
        if not status.is_rejected:
            return PostFilterOutcome(None, status.with_plugin(plugin))
        if answer is not None and answer.nominated_node is not None:
            self._result = answer
        self._reasons += status.reasons
        self._rejector = self._rejector or plugin
        return None

    def refusal(self) -> PostFilterOutcome:
        return PostFilterOutcome(self._result, Status(Code.UNSCHEDULABLE, tuple(self._reasons), self._rejector))


async def _ask_with_extenders(
    plugin: CallsExtenders,
    name: str,
    state: CycleState,
    pod: PodInfo,
    statuses: NodeStatuses,
    extenders: Sequence[Extender],
) -> Answer:
    try:
        return await plugin.post_filter_with_extenders(state, pod, statuses, extenders)
    except PLUGIN_FAULTS as cause:
        return None, fault("PostFilter", name, cause)


def _ask(call: RawCall, state: CycleState, pod: PodInfo, statuses: NodeStatuses) -> Answer:
    try:
        answer = call.run(state, pod, statuses)
    except PLUGIN_FAULTS as cause:
        return None, fault("PostFilter", call.name, cause)
    if isinstance(answer, Status):
        return None, answer
    if not isinstance(answer, tuple) or len(answer) != 2:
        expected = "a Status, or a PostFilterResult (or None) and a Status"
        return None, fault("PostFilter", call.name, f"returned {answer!r}, expected {expected}")
    result, status = answer
    return result, status or Status(Code.SUCCESS)
