# SPDX-License-Identifier: Apache-2.0
"""Selectors that select no node: the error says which labels nodes have."""

from __future__ import annotations

import pytest

from steersman import Simulation
from steersman.base.errors import InputError
from steersman.plan.node_choice import chosen_nodes
from steersman.testing import make_node

ZONE = "topology.kubernetes.io/zone"


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    nodes = [
        make_node(f"n{number}").capacity(cpu="4").label(ZONE, f"zone-{zone}").label("rack", f"r{number}")
        for number, zone in enumerate("abcaabbccabc")
    ]
    return Simulation.load(*(node.obj() for node in nodes))


@pytest.mark.parametrize(
    ("selector", "hint"),
    [
        (f"{ZONE}=a", f"the values of {ZONE} are: zone-a, zone-b, zone-c; did you mean zone-a?"),
        (f"{ZONE}=zone-1", f"the values of {ZONE} are: zone-a, zone-b, zone-c"),
        (f"{ZONE}=zne-b", f"the values of {ZONE} are: zone-a, zone-b, zone-c; did you mean zone-b?"),
        (f"{ZONE}=eu", f"the values of {ZONE} are: zone-a, zone-b, zone-c"),
        (f"{ZONE} in (a, b)", f"the values of {ZONE} are: zone-a, zone-b, zone-c; did you mean zone-a or zone-b?"),
        (f"{ZONE}>3", f"the values of {ZONE} are: zone-a, zone-b, zone-c"),
        (f"!{ZONE}", f"every node has the label {ZONE}"),
        ("rack=x", "the values of rack are: r0, r1, r10, r11, r2, r3, r4, r5 and 4 more"),
        (
            "topology.kubernets.io/zone=zone-a",
            f"no node has the label topology.kubernets.io/zone; did you mean {ZONE}?",
        ),
        (f"{ZONE}=zone-a,rack=r1", "every condition selects some nodes, and no node meets them all"),
    ],
)
def test_a_selector_without_nodes_is_told_the_labels_there_are(
    simulation: Simulation, selector: str, hint: str
) -> None:
    with pytest.raises(InputError) as refused:
        chosen_nodes(simulation, [selector])
    assert str(refused.value) == f'selects no node (got "{selector}"); {hint}'


def test_nodes_without_the_label_are_not_confused_with_others(simulation: Simulation) -> None:
    with pytest.raises(InputError, match="no node has the label gpu; there are: rack, topology"):
        chosen_nodes(simulation, ["gpu=yes"])
