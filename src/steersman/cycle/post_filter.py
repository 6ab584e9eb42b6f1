"""The PostFilter phase: plugins that may make room when nothing fits, asked until one succeeds."""

from __future__ import annotations

from dataclasses import dataclass

from steersman.cycle.evaluation import NodeStatuses
from steersman.framework.cycle_state import CycleState
from steersman.framework.plugin import PostFilterResult
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, Status
from steersman.runtime.faults import fault
from steersman.runtime.profile import Profile, RawCall


@dataclass(frozen=True, slots=True)
class PostFilterOutcome:
    """What the phase as a whole says."""

    #: None: the pod's nomination stays as it is.
    result: PostFilterResult | None
    status: Status


def run(profile: Profile, state: CycleState, pod: PodInfo, statuses: NodeStatuses) -> PostFilterOutcome:
    """The result of the plugin that succeeded or settled that nothing can help, or the merged refusals of all."""
    result: PostFilterResult | None = None
    reasons: list[str] = []
    rejector = ""
    for call in profile.post_filter:
        answer, status = _ask(call, state, pod, statuses)
        if status.code in (Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
            return PostFilterOutcome(answer, status if status.code is Code.SUCCESS else status.of(call.name))
        if not status.is_rejected:
            return PostFilterOutcome(None, status.of(call.name))
        if answer is not None and answer.nominated_node is not None:
            result = answer
        reasons += status.reasons
        rejector = rejector or call.name
    return PostFilterOutcome(result, Status(Code.UNSCHEDULABLE, tuple(reasons), rejector))


def _ask(
    call: RawCall, state: CycleState, pod: PodInfo, statuses: NodeStatuses
) -> tuple[PostFilterResult | None, Status]:
    try:
        answer = call.run(state, pod, statuses)
    except Exception as cause:
        return None, fault("PostFilter", call.name, cause)
    if isinstance(answer, Status):
        return None, answer
    if not isinstance(answer, tuple) or len(answer) != 2:
        expected = "a Status, or a PostFilterResult (or None) and a Status"
        return None, fault("PostFilter", call.name, f"answered {answer!r}, expected {expected}")
    result, status = answer
    return result, status or Status(Code.SUCCESS)
