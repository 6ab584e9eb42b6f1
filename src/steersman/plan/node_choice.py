# SPDX-License-Identifier: Apache-2.0
"""Which nodes a question is about: names, and label selectors such as `topology.kubernetes.io/zone=a`."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from steersman import api
from steersman.api.selector_text import label_selector
from steersman.errors import InputError
from steersman.sim import Simulation
from steersman.sim.node_costs import pool_of

POOL: Final = "pool/"
_MARKS: Final = ("=", "!", " in ", " notin ", ",")


def chosen_nodes(simulation: Simulation, wanted: Iterable[str]) -> list[str]:
    """The names of the nodes, in the order of `wanted`, each of which is a name, a label selector, or `pool/NAME`.

    Raises `InputError` for a name that no node has, and for a selector that selects none.
    """
    nodes = simulation.cluster.objects(api.Node)
    found = list(dict.fromkeys(name for text in wanted for name in _selected(nodes.values(), text)))
    if not found:
        raise InputError("no node is named", hint="give names of nodes, label selectors or pool/NAME")
    return found


def _selected(nodes: Iterable[api.Node], text: str) -> list[str]:
    names = [node.metadata.name for node in nodes]
    if text.startswith(POOL):
        pool = text.removeprefix(POOL)
        selected = [node.metadata.name for node in nodes if pool_of(node) == pool]
        pools = ", ".join(sorted({pool_of(node) for node in nodes} - {""})) or "none that a label names"
        hint = f"pools are: {pools}"
    elif any(mark in text for mark in _MARKS):
        selector = label_selector(text)
        selected = [node.metadata.name for node in nodes if selector.matches(node.metadata.labels)]
        hint = "no node has such labels"
    else:
        name = text.removeprefix("node/")
        selected = [name] if name in names else []
        close = get_close_matches(name, names, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are {len(names)} nodes"
    if not selected:
        raise InputError("selects no node", value=text, hint=hint)
    return selected
