# SPDX-License-Identifier: Apache-2.0
"""The patch that sets a condition or the nominated node of a pod: a strategic merge, of nothing but what differs.

Without I/O; `dispatcher` sends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from steersman import api
from steersman.api import timestamps


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """What is to become of a pod's status; None: stays as it is."""

    pod: api.Pod
    condition: api.Condition | None = None
    nominated_node_name: str | None = None

    def after(self, earlier: StatusUpdate) -> StatusUpdate:
        """Both in one: what this one leaves open is as the earlier one wanted it."""
        condition = earlier.condition if self.condition is None else self.condition
        nominated = earlier.nominated_node_name if self.nominated_node_name is None else self.nominated_node_name
        return StatusUpdate(self.pod, condition, nominated)


def patch_for(update: StatusUpdate, now: float) -> bytes | None:
    """None when the pod is already as wanted. Another pod of the same name is not touched: the uid is a precondition."""
    status: dict[str, Any] = {}
    condition = update.condition and _differing(update.pod, update.condition, now)
    if condition:
        status["conditions"] = [condition]
    nominated = update.nominated_node_name
    if nominated is not None and nominated != update.pod.status.nominated_node_name:
        status["nominatedNodeName"] = nominated or None
    if not status:
        return None
    metadata = {"uid": update.pod.metadata.uid} if update.pod.metadata.uid else {}
    return msgspec.json.encode({"metadata": metadata, "status": status})


def _differing(pod: api.Pod, condition: api.Condition, now: float) -> api.Condition | None:
    """The condition as it is to be written, None if the pod has it.

    The time of the last transition stays while the status does. A generation alone makes no difference.
    """
    old = next((known for known in pod.status.conditions if known.type == condition.type), None)
    since = timestamps.render(now)
    if old is not None and old.status == condition.status:
        if (old.reason, old.message) == (condition.reason, condition.message):
            return None
        since = old.last_transition_time or since
    return msgspec.structs.replace(
        condition,
        last_transition_time=since,
        observed_generation=condition.observed_generation or pod.metadata.generation,
    )
