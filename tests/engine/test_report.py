# SPDX-License-Identifier: Apache-2.0
"""Statuses kept as rows read like any others."""

from __future__ import annotations

import numpy as np

from steersman.framework.status import unresolvable, unschedulable
from steersman.scheduler.engine.report import RowStatuses

FULL, TAINTED = unschedulable("Insufficient cpu"), unresolvable("tainted")
NAMES = ("n0", "n1", "n2", "n3", "n4")


def statuses() -> RowStatuses:
    return RowStatuses({FULL: np.array([0, 3]), TAINTED: np.array([2])}, NAMES, unresolvable("not looked at"))


def test_names_are_those_of_the_rows() -> None:
    assert statuses().groups == {FULL: ["n0", "n3"], TAINTED: ["n2"]}


def test_a_node_has_its_status() -> None:
    assert statuses().status_of("n3") == FULL


def test_other_nodes_have_the_status_of_absent_ones() -> None:
    assert statuses().status_of("n4") == unresolvable("not looked at")


def test_counts_need_no_names() -> None:
    assert dict(statuses().counts()) == {FULL: 2, TAINTED: 1}
    assert len(statuses()) == 3
