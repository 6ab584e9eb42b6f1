# SPDX-License-Identifier: Apache-2.0
"""Tables of pod groups and workloads, with the cells of `kubectl get`."""

from __future__ import annotations

from typing import Final

from steersman.api import INITIALLY_SCHEDULED, elements, part
from steersman.cluster.apiserver.table_layouts import age_cell, name_cell, table
from steersman.cluster.apiserver.table_texts import NONE
from steersman.cluster.store.documents import Document

_GROUP: Final = "scheduling.k8s.io"
_DISRUPTION_TARGET: Final = "DisruptionTarget"


def _policy(group: Document, _: float) -> str:
    return "Basic" if part(group, "spec", "schedulingPolicy").get("gang") is None else "Gang"


def _workload(group: Document, _: float) -> str:
    reference = part(group, "spec").get("workloadRef")
    return NONE if reference is None else str(reference.get("workloadName") or "")


def _status(group: Document, _: float) -> str:
    conditions = {condition.get("type"): condition for condition in elements(group, "status", "conditions")}
    if (target := conditions.get(_DISRUPTION_TARGET)) is not None:
        return str(target.get("reason") or "")
    scheduled = conditions.get(INITIALLY_SCHEDULED)
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"


table(_GROUP, "PodGroup", {
    "Name": name_cell,
    "Policy": _policy,
    "Workload": _workload,
    "Status": _status,
    "Age": age_cell,
})  # fmt: skip
table(_GROUP, "CompositePodGroup", {"Name": name_cell, "Policy": _policy, "Workload": _workload, "Age": age_cell})
table(_GROUP, "Workload", {"Name": name_cell, "Age": age_cell})
