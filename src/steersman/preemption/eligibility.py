"""Whether a pod may preempt others at all. The first question of every preemption."""

from __future__ import annotations

from steersman.api import Pod
from steersman.framework.handle import Nodes
from steersman.framework.status import Code, Status

NEVER = "Never"
REASON_NEVER = "not eligible due to preemptionPolicy=Never."
REASON_TERMINATING = "not eligible due to a terminating pod on the nominated node."
DISRUPTION_TARGET = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"


def why_not_eligible(pod: Pod, nominated_node_status: Status | None, nodes: Nodes) -> str:
    """ "" for an eligible pod. `nominated_node_status` is why the nominated node does not fit; None: it was not examined.

    A pod that has made room before waits for its victims to go, unless that node cannot help it any more.
    """
    if pod.spec.preemption_policy == NEVER:
        return REASON_NEVER
    nominated = pod.status.nominated_node_name
    if not nominated or _is_unresolvable(nominated_node_status):
        return ""
    node = nodes.get(nominated)
    priority = pod.spec.priority or 0
    if node is not None and any(p.priority < priority and is_being_preempted(p.pod) for p in node.pods):
        return REASON_TERMINATING
    return ""


def is_being_preempted(pod: Pod) -> bool:
    """Terminating because a scheduler said so."""
    if pod.metadata.deletion_timestamp is None:
        return False
    target = next((c for c in pod.status.conditions if c.type == DISRUPTION_TARGET), None)
    return target is not None and target.status == "True" and target.reason == PREEMPTION_BY_SCHEDULER


def _is_unresolvable(status: Status | None) -> bool:
    return status is None or status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
