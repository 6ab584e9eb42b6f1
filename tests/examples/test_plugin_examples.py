# SPDX-License-Identifier: Apache-2.0
"""The plugins of docs/plugins.md do what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from examples.plugins.cheap_nodes import CheapNodes
from examples.plugins.quiet_hours import QuietHours

from steersman.scheduler.assembly import default_registry
from steersman.testing import Harness, NotPlacedError, make_node, make_pod

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"


def test_cheaper_nodes_are_preferred() -> None:
    nodes = [make_node("cheap").label("price", "10"), make_node("dear").label("price", "80")]
    harness = Harness(plugins=[CheapNodes], nodes=nodes)
    assert harness.scores(make_pod("web"))["CheapNodes"] == {"cheap": 90, "dear": 20}
    assert harness.place(make_pod("web")) == "cheap"


def test_scores_follow_a_change_of_the_price_label() -> None:
    harness = Harness(
        plugins=[CheapNodes], nodes=[make_node("a").label("price", "10"), make_node("b").label("price", "30")]
    )
    assert harness.place(make_pod("first")) == "a"
    harness.add(make_node("b").label("price", "0"))
    assert harness.scores(make_pod("second"))["CheapNodes"] == {"a": 90, "b": 100}


def test_batch_pods_wait_for_a_node_that_is_not_reserved() -> None:
    harness = Harness(plugins=[QuietHours], nodes=[make_node("office").label("quiet", "true")])
    batch = make_pod("report").label("tier", "batch")
    with pytest.raises(NotPlacedError, match=r"0/1 nodes are available: 1 node\(s\) are reserved for interactive work"):
        harness.place(batch)
    harness.add(make_node("office").label("quiet", "true").label("floor", "2"))
    assert harness.run() == []
    harness.add(make_node("office").label("quiet", "false"))
    assert [type(decision).__name__ for decision in harness.run()] == ["Scheduled"]


@pytest.mark.parametrize("name", ["cheap_nodes.py", "cheap_racks.py", "quiet_hours.py", "spare_memory.py"])
def test_every_example_can_be_given_as_a_file(name: str) -> None:
    assert default_registry().add_file(EXAMPLES / name) == [name.removesuffix(".py").title().replace("_", "")]


def test_an_example_may_define_two_plugins() -> None:
    assert default_registry().add_file(EXAMPLES / "memory_scores.py") == ["FreeMemory", "LargeNodes"]
