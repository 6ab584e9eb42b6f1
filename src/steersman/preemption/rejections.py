"""Why rows would not do even without any less important pod, for the vector dry run.

Rows that fail in the same way get the same status, which the plain dry run of one of them finds: there are few ways.
"""

from __future__ import annotations

import numpy as np

from steersman.framework.columns import NeedsRoom
from steersman.framework.nodes_view import BoolColumn, IntColumn
from steersman.framework.status import Status
from steersman.preemption.question import Question
from steersman.preemption.removal import Removal
from steersman.preemption.victim_table import RowIndex

#: Bits of a key that say in which way a step fails; those above say which step.
_WAY_BITS = 48


def rejections(removal: Removal, rejected: BoolColumn, question: Question) -> dict[Status, RowIndex] | None:
    """The rejected rows by status. None when the plain dry run does not agree that one is to be rejected."""
    keys = _ways_to_fail(removal, rejected)
    rows = rejected.nonzero()[0]
    groups: dict[Status, list[RowIndex]] = {}
    for key in np.unique(keys[rows]).tolist():
        alike = rows[keys[rows] == key]
        status = question.about(removal.local.table.info(int(alike[0])))
        if not isinstance(status, Status):
            return None
        groups.setdefault(status, []).append(alike)
    return {status: np.concatenate(pieces) for status, pieces in groups.items()}


def _ways_to_fail(removal: Removal, rejected: BoolColumn) -> IntColumn:
    """Equal for rows whose first objection is the same; 0: there is nobody to remove."""
    keys = np.zeros(len(rejected), np.int64)
    undecided = rejected & (removal.removable > 0)
    for index, (_, column) in enumerate(removal.local.steps, start=1):
        rule = column.kernel.rule
        if rule is None:
            ways = column.values.astype(np.int64)
        elif isinstance(rule, NeedsRoom):
            ways = _shortages(removal)
        else:
            ways = removal.port_taken.astype(np.int64)
        failing = undecided & (ways != 0)
        keys[failing] = (index << _WAY_BITS) + ways[failing]
        undecided &= ~failing
    return keys


def _shortages(removal: Removal) -> IntColumn:
    """One bit for the number of pods, and two for each resource: too little left, and too little altogether."""
    ways = (removal.spare_pods < 0).astype(np.int64)
    for index, (resource, need) in enumerate(removal.needs):
        lacking = removal.spare[resource] < 0
        hopeless = lacking & (removal.local.table.allocatable(resource).values < need)
        ways += lacking.astype(np.int64) << (2 * index + 1)
        ways += hopeless.astype(np.int64) << (2 * index + 2)
    return ways
