# SPDX-License-Identifier: Apache-2.0
"""The end of a successful cycle: assume the pod on the node, reserve, ask for permission; undo all of it on refusal."""

from __future__ import annotations

import msgspec

from steersman.api import Pod
from steersman.cycle.diagnosis import Diagnosis
from steersman.engine.evaluation import NodeStatuses
from steersman.framework.cycle_state import CycleState
from steersman.framework.plugin import PermitResult
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, Status
from steersman.runtime.faults import as_fault, fault
from steersman.runtime.profile import Profile, RawCall
from steersman.state.cache import Cache

#: A pod waits for permission at most this long, whatever a plugin asks for.
MAX_WAIT_SECONDS = 15 * 60.0


def reserve(profile: Profile, state: CycleState, pod: PodInfo, node: str) -> Status | None:
    """The first refusal, if any."""
    for call in profile.reserve.of(pod):
        status = call.reserve(state, pod, node)
        if status is not None:
            return status if status.is_rejected else as_fault("Reserve", call.name, status)
    return None


def unreserve_and_forget(cache: Cache, profile: Profile, state: CycleState, pod: PodInfo, node: str) -> None:
    unreserve(profile, state, pod, node)
    cache.forget(pod)


def unreserve(profile: Profile, state: CycleState, pod: PodInfo, node: str) -> None:
    """Runs for all Reserve plugins in reverse order, also for those whose Reserve did not run."""
    for call in reversed(profile.reserve.of(pod)):
        call.unreserve(state, pod, node)


def permit(profile: Profile, state: CycleState, pod: PodInfo, node: str) -> tuple[Status | None, dict[str, float]]:
    """The first refusal, if any; and the plugins that the pod has to wait for, with the seconds each allows."""
    waits: dict[str, float] = {}
    for call in profile.permit:
        answer = _ask(call, state, pod, node)
        if answer.status.code is Code.WAIT:
            waits[call.name] = min(answer.timeout_seconds, MAX_WAIT_SECONDS)
        elif answer.status.is_rejected:
            return answer.status.of(call.name), {}
        elif answer.status.code is not Code.SUCCESS:
            return as_fault("Permit", call.name, answer.status), {}
    return None, waits


def assigned(pod: Pod, node: str) -> Pod:
    """The pod as it would be on the node: what others are told of when it gives its room back."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def rejection(pod: PodInfo, node: str, status: Status) -> Diagnosis:
    """A refusal after the choice, told as if the chosen node had been the only one."""
    return Diagnosis(
        all_nodes=1,
        statuses=NodeStatuses({status: [node]}),
        unschedulable_plugins=frozenset({status.plugin}),
        pending_plugins=frozenset({status.plugin} if status.code is Code.PENDING else ()),
    )


def _ask(call: RawCall, state: CycleState, pod: PodInfo, node: str) -> PermitResult:
    try:
        answer = call.run(state, pod, node)
    except Exception as cause:
        return PermitResult(fault("Permit", call.name, cause))
    if isinstance(answer, PermitResult):
        return answer
    if answer is None or isinstance(answer, Status):
        return PermitResult(answer or Status(Code.SUCCESS))
    return PermitResult(fault("Permit", call.name, f"answered {answer!r}, expected None, a Status or a PermitResult"))
