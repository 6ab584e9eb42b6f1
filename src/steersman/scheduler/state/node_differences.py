# SPDX-License-Identifier: Apache-2.0
"""Relevant changes of a Node object, which kubelets update all the time; used by `node_table`.

All fields are relevant except `IGNORED_NODE_FIELDS`: a field added to the API structs counts.
"""

from __future__ import annotations

from typing import Final

from steersman.api import Condition, Node, NodeStatus, ObjectMeta
from steersman.framework import IgnoredFields, field_getter

IGNORED_NODE_FIELDS: Final[IgnoredFields] = {
    "metadata.resource_version": "changes with every write",
    "status.conditions.message": "for people",
    "status.conditions.observed_generation": "generation that the condition was computed from",
    "status.conditions.last_transition_time": "time of the last change",
}

_IGNORED = IGNORED_NODE_FIELDS
_of_metadata = field_getter(ObjectMeta, "metadata", _IGNORED)
_beside_metadata_and_status = field_getter(Node, "", _IGNORED, ("metadata", "status"))
_of_status = field_getter(NodeStatus, "status", _IGNORED, ("conditions",))
_of_condition = field_getter(Condition, "status.conditions", _IGNORED)


def same_for_scheduling(old: Node, new: Node) -> bool:
    """Return whether the objects differ only in fields that neither columns nor plugins depend
    on."""
    return (
        _of_metadata(old.metadata) == _of_metadata(new.metadata)
        and _beside_metadata_and_status(old) == _beside_metadata_and_status(new)
        and _of_status(old.status) == _of_status(new.status)
        and _condition_fields(old) == _condition_fields(new)
    )


def _condition_fields(node: Node) -> list[object]:
    return [_of_condition(condition) for condition in node.status.conditions]
