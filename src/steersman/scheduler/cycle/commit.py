# SPDX-License-Identifier: Apache-2.0
"""The end of a successful cycle: Reserve and Permit, and their reversal after a rejection."""

from __future__ import annotations

import msgspec

from steersman.api import Pod
from steersman.framework import Code, CycleState, PermitResult, PodInfo, Status
from steersman.scheduler.cycle.diagnosis import Diagnosis
from steersman.scheduler.engine.evaluation import NodeStatuses
from steersman.scheduler.runtime.faults import PLUGIN_FAULTS, as_fault, fault
from steersman.scheduler.runtime.profile import Profile, RawCall
from steersman.scheduler.state.cache import Cache

#: Maximum time that a pod waits for permission, whatever timeout a plugin requests.
MAX_WAIT_SECONDS = 15 * 60.0
WAIT_WITHOUT_TIMEOUT = (
    "returned Wait without a timeout, expected PermitResult(Status(Code.WAIT), timeout_seconds=30) or another time"
)


def reserve(profile: Profile, state: CycleState, pod: PodInfo, node: str) -> Status | None:
    """Run the Reserve plugins and return the first rejection, if any."""
    for call in profile.reserve.for_pod(pod):
        status = call.reserve(state, pod, node)
        if status is not None:
            return status if status.is_rejected else as_fault("Reserve", call.name, status)
    return None


def unreserve_and_forget(cache: Cache, profile: Profile, state: CycleState, pod: PodInfo, node: str) -> None:
    unreserve(profile, state, pod, node)
    cache.forget(pod)


def unreserve(profile: Profile, state: CycleState, pod: PodInfo, node: str) -> None:
    """Run Unreserve of all Reserve plugins in reverse order, including those whose Reserve did not
    run."""
    for call in reversed(profile.reserve.for_pod(pod)):
        call.unreserve(state, pod, node)


def permit(profile: Profile, state: CycleState, pod: PodInfo, node: str) -> tuple[Status | None, dict[str, float]]:
    """Run the Permit plugins and return the first rejection, if any, and the timeouts of the
    plugins that returned Wait."""
    waits: dict[str, float] = {}
    for call in profile.permit.for_pod(pod):
        answer = _ask(call, state, pod, node)
        if answer.status.code is Code.WAIT:
            waits[call.name] = min(answer.timeout_seconds, MAX_WAIT_SECONDS)
        elif answer.status.is_rejected:
            return answer.status.with_plugin(call.name), {}
        elif answer.status.code is not Code.SUCCESS:
            return as_fault("Permit", call.name, answer.status), {}
    return None, waits


def assigned(pod: Pod, node: str) -> Pod:
    """Return the pod as if it were on the node, for events about releasing its resources."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def rejection(pod: PodInfo, node: str, status: Status) -> Diagnosis:
    """Return the diagnosis of a rejection after the node was chosen, as if it had been the only
    node."""
    return Diagnosis(
        all_nodes=1,
        statuses=NodeStatuses({status: [node]}),
        unschedulable_plugins=frozenset({status.plugin}),
        pending_plugins=frozenset({status.plugin} if status.code is Code.PENDING else ()),
    )


def _ask(call: RawCall, state: CycleState, pod: PodInfo, node: str) -> PermitResult:
    try:
        answer = call.run(state, pod, node)
    except PLUGIN_FAULTS as cause:
        return PermitResult(fault("Permit", call.name, cause))
    if answer is None or isinstance(answer, Status):
        answer = PermitResult(answer or Status(Code.SUCCESS))
    if not isinstance(answer, PermitResult):
        return PermitResult(
            fault("Permit", call.name, f"returned {answer!r}, expected None, a Status or a PermitResult")
        )
    if answer.status.code is Code.WAIT and answer.timeout_seconds <= 0:
        return PermitResult(fault("Permit", call.name, WAIT_WITHOUT_TIMEOUT))
    return answer
