# SPDX-License-Identifier: Apache-2.0
"""The score kernels that docs/how-to/kernel.md adds: both forms say the same, and scores are what the page says."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from examples.plugins.memory_scores import FreeMemory, LargeNodes

from steersman.testing import Harness, check_plugin, make_node, make_pod

NODES = [make_node(f"n{size}").capacity(cpu="8", memory=f"{size}Gi") for size in (2, 4, 10)]


@pytest.mark.parametrize("plugin", [FreeMemory, LargeNodes])
def test_the_kernel_says_what_the_score_says(plugin: type) -> None:
    seen = check_plugin(plugin)
    assert len(seen.scores) > 5
    assert not seen.faults


def test_the_free_share_follows_the_pods_of_a_node() -> None:
    harness = Harness(plugins=[FreeMemory], nodes=NODES, pods=[make_pod("old").req(memory="1Gi").node("n4")])
    assert harness.scores(make_pod("web"))["FreeMemory"] == {"n2": 100, "n4": 75, "n10": 100}


def test_the_smallest_feasible_node_gets_0_and_the_largest_100() -> None:
    harness = Harness(plugins=[LargeNodes], nodes=NODES)
    assert harness.scores(make_pod("web"))["LargeNodes"] == {"n2": 0, "n4": 25, "n10": 100}
    assert harness.scores(make_pod("large").req(memory="3Gi"))["LargeNodes"] == {"n4": 0, "n10": 100}


@pytest.mark.parametrize("plugin", [FreeMemory, LargeNodes])
def test_the_kernel_answers_in_place_of_the_score(plugin: type) -> None:
    harness = Harness(plugins=[plugin], nodes=NODES)
    with patch.object(plugin, "score", side_effect=AssertionError):
        assert harness.place(make_pod("web")) == "n10"
