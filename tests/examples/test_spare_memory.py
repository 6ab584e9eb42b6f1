# SPDX-License-Identifier: Apache-2.0
"""The kernel that docs/how-to/kernel.md adds: both forms say the same, and the fast one is the one that is used."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from examples.plugins.spare_memory import MemoryLeft, SpareMemory
from hypothesis import given
from tests.cycle.scheduling import Cycles
from tests.equivalence.events import Event, beginnings
from tests.equivalence.examples import examples
from tests.equivalence.test_engines_agree import check, stories, waiting
from tests.equivalence.vocabulary import Calls

from steersman.scheduler.state.invariants import StateInvariantError
from steersman.testing import Harness, NotPlacedError, check_plugin, make_node, make_pod

NODES = [make_node(name).capacity(cpu="64", memory="10Gi") for name in ("n1", "n2")]
LARGE = make_pod("large").req(memory="5Gi")


@examples(30)
@given(beginnings, stories, waiting)
def test_the_kernel_says_what_the_filter_says(beginning: list[Event], story: list[Event], pods: list[Calls]) -> None:
    check(beginning, story, pods, plugins=[SpareMemory()])


def test_the_check_of_the_page_passes_and_has_seen_rejections() -> None:
    assert check_plugin(SpareMemory).rejections > 100


def test_a_tenth_of_the_memory_stays_free() -> None:
    harness = Harness(plugins=[SpareMemory], nodes=NODES)
    assert {harness.place(make_pod(f"p{i}").req(memory="9Gi")) for i in range(2)} == {"n1", "n2"}
    with pytest.raises(NotPlacedError, match=r"2 node\(s\) would have less than a tenth of their memory left"):
        harness.place(make_pod("small").req(memory="1Mi"))


def test_the_kernel_answers_for_all_pods_with_the_same_fragment() -> None:
    plugin = SpareMemory()
    cycles = Cycles(plugin, nodes=NODES)
    with (
        patch.object(plugin, "filter", side_effect=AssertionError),
        patch.object(plugin, "filter_kernel", wraps=plugin.filter_kernel) as made,
    ):
        assert cycles.feasible(LARGE) == cycles.feasible(make_pod("another").req(memory="5Gi")) == {"n1", "n2"}
        assert made.call_count == 1


def test_a_column_that_does_not_follow_its_kernel_is_found_out() -> None:
    cycles = Cycles(SpareMemory(), nodes=NODES)
    with patch.object(MemoryLeft, "row", lambda self, row: 1):
        cycles.feasible(LARGE)
        cycles.cycle.validate_state()
        cycles.cache.nodes.touch("n1")
        with pytest.raises(
            StateInvariantError, match=r"column of MemoryLeft, row \d+ \(node n1\): answer is 1, expected 0"
        ):
            cycles.cycle.validate_state()
