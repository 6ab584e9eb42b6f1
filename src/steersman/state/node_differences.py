# SPDX-License-Identifier: Apache-2.0
"""Which changes of a Node object matter: kubelets write to it all the time. Asked by `node_table` for every update."""

from __future__ import annotations

from steersman.api import Node


def same_for_scheduling(old: Node, new: Node) -> bool:
    """Whether replacing the object changes nothing that a column or a plugin's promise rests on."""
    before, after = old.status, new.status
    return (
        old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
        and old.metadata.deletion_timestamp == new.metadata.deletion_timestamp
        and old.spec == new.spec
        and before.allocatable == after.allocatable
        and before.capacity == after.capacity
        and before.addresses == after.addresses
        and before.images == after.images
        and before.volumes_attached == after.volumes_attached
        and before.volumes_in_use == after.volumes_in_use
        and before.declared_features == after.declared_features
        and _condition_states(old) == _condition_states(new)
    )


def _condition_states(node: Node) -> dict[str, str]:
    """Without the times, which change with every heartbeat."""
    return {condition.type: condition.status for condition in node.status.conditions}
