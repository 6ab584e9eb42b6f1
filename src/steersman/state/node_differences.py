# SPDX-License-Identifier: Apache-2.0
"""Which changes of a Node object matter: kubelets write to it all the time. Asked by `node_table` for every update.

All do but those of the fields that `NODE_FIELDS_THAT_DECIDE_NOTHING` names: a field that is new in the API structs counts.
"""

from __future__ import annotations

from typing import Final

from steersman.api import Condition, Node, NodeStatus, ObjectMeta
from steersman.framework.deciding_fields import LeftOut, deciding_fields

NODE_FIELDS_THAT_DECIDE_NOTHING: Final[LeftOut] = {
    "metadata.resource_version": "counts writes, also those that change nothing else",
    "status.conditions.message": "for people",
    "status.conditions.observed_generation": "says when the condition was looked at",
    "status.conditions.last_transition_time": "says since when it has been so",
}

_LEFT_OUT = NODE_FIELDS_THAT_DECIDE_NOTHING
_of_metadata = deciding_fields(ObjectMeta, "metadata", _LEFT_OUT)
_beside_metadata_and_status = deciding_fields(Node, "", _LEFT_OUT, ("metadata", "status"))
_of_status = deciding_fields(NodeStatus, "status", _LEFT_OUT, ("conditions",))
_of_condition = deciding_fields(Condition, "status.conditions", _LEFT_OUT)


def same_for_scheduling(old: Node, new: Node) -> bool:
    """Whether replacing the object changes nothing that a column or a plugin's promise may rest on."""
    return (
        _of_metadata(old.metadata) == _of_metadata(new.metadata)
        and _beside_metadata_and_status(old) == _beside_metadata_and_status(new)
        and _of_status(old.status) == _of_status(new.status)
        and _of_conditions(old) == _of_conditions(new)
    )


def _of_conditions(node: Node) -> list[object]:
    return [_of_condition(condition) for condition in node.status.conditions]
