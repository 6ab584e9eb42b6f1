# SPDX-License-Identifier: Apache-2.0
"""Requests whose sum leaves int64 wrap around as upstream's do, and are given back exactly."""

from __future__ import annotations

from steersman.scheduler.state.node_table import NodeTable
from steersman.testing import make_node, make_pod

FIVE_EXBI = 5 * 2**60


def test_sums_beyond_int64_wrap_around_and_come_back() -> None:
    table = NodeTable(lambda namespace: {})
    table.set_node(make_node("a").obj())
    first, second = (make_pod(name).req(memory="5Ei").info() for name in ("first", "second"))
    table.add_pod(first, "a")
    table.add_pod(second, "a")
    node = table.info(table.rows["a"])
    assert node.requested("memory") == 2 * FIVE_EXBI - 2**64
    table.remove_pod(second, "a")
    assert node.requested("memory") == FIVE_EXBI
