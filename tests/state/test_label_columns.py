# SPDX-License-Identifier: Apache-2.0
"""Requirements on node labels as columns that follow the nodes."""

from __future__ import annotations

import pytest
from tests.state.tables import Tables, usual_node

from steersman.api.selectors import Operator, Requirement

REQUIREMENTS = [
    Requirement("disk", Operator.IN, ("ssd",)),
    Requirement("disk", Operator.NOT_IN, ("ssd",)),
    Requirement("disk", Operator.EXISTS),
    Requirement("disk", Operator.DOES_NOT_EXIST),
    Requirement("size", Operator.GT, ("3",)),
    Requirement("size", Operator.LT, ("3",)),
]


def met(tables: Tables, requirement: Requirement) -> set[str]:
    column = tables.table.requirement(requirement)
    return {tables.table.names[row] for row in tables.table.live_rows() if column[row]}


def expected(tables: Tables, requirement: Requirement) -> set[str]:
    nodes = map(tables.table.node, tables.table.live_rows())
    return {node.metadata.name for node in nodes if requirement.matches(node.metadata.labels)}


def three_nodes(tables: Tables) -> None:
    tables.add_node(usual_node("fast").label("disk", "ssd").label("size", "5"))
    tables.add_node(usual_node("slow").label("disk", "hdd").label("size", "1"))
    tables.add_node(usual_node("bare").label("size", "unknown"))


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_a_column_requested_late_is_evaluated_for_all_nodes(requirement: Requirement) -> None:
    tables = Tables()
    three_nodes(tables)
    assert met(tables, requirement) == expected(tables, requirement)


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_a_column_follows_the_nodes_from_then_on(requirement: Requirement) -> None:
    tables = Tables()
    column = tables.table.requirement(requirement)
    three_nodes(tables)
    tables.add_node(usual_node("slow").label("disk", "ssd").label("size", "9"))
    tables.add_node(usual_node("fast"))
    tables.table.remove_node("bare")
    assert tables.table.requirement(requirement) is column
    assert met(tables, requirement) == expected(tables, requirement)
    tables.check()


def test_requirements_on_one_key_share_its_values() -> None:
    tables = Tables()
    three_nodes(tables)
    for requirement in REQUIREMENTS:
        tables.table.requirement(requirement)
    tables.add_node(usual_node("another").label("disk", "nvme"))
    for requirement in REQUIREMENTS:
        assert met(tables, requirement) == expected(tables, requirement)
    tables.check()


def test_columns_are_right_after_the_table_has_grown() -> None:
    tables = Tables(capacity=3)
    three_nodes(tables)
    tables.table.requirement(REQUIREMENTS[0])
    tables.add_node(usual_node("fourth").label("disk", "ssd"))
    assert met(tables, REQUIREMENTS[0]) == {"fast", "fourth"}
    tables.check()
