# SPDX-License-Identifier: Apache-2.0
"""Selection of nodes by name, or by label selectors such as `topology.kubernetes.io/zone=a`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Final

from steersman import api
from steersman.api import Operator, Requirement, Selector, label_selector
from steersman.base import InputError, counted
from steersman.simulation import Simulation, pool_of

POOL: Final = "pool/"
MAX_NAMED: Final = 8
"""Maximum number of values or keys named in a hint."""
_MARKS: Final = ("=", "!", "<", ">", " in ", " notin ", ",")


def chosen_nodes(simulation: Simulation, wanted: Iterable[str]) -> list[str]:
    """Return the nodes in the order of `wanted`: names, label selectors, or `pool/NAME`.

    Raises `InputError` for an unknown name, and for a selector that selects no nodes.
    """
    nodes = simulation.cluster.objects(api.Node)
    found = list(dict.fromkeys(name for text in wanted for name in _selected(nodes.values(), text)))
    if not found:
        raise InputError("no node is named", hint="give names of nodes, label selectors or pool/NAME")
    return found


def _selected(nodes: Collection[api.Node], text: str) -> list[str]:
    names = [node.metadata.name for node in nodes]
    if text.startswith(POOL):
        pool = text.removeprefix(POOL)
        selected = [node.metadata.name for node in nodes if pool_of(node) == pool]
        pools = ", ".join(sorted({pool_of(node) for node in nodes} - {""})) or "none that a label names"
        hint = f"pools are: {pools}"
    elif any(mark in text for mark in _MARKS):
        selector = label_selector(text)
        selected = [node.metadata.name for node in nodes if selector.matches(node.metadata.labels)]
        hint = "" if selected else _unknown_label_message(nodes, selector)
    else:
        name = text.removeprefix("node/")
        selected = [name] if name in names else []
        close = get_close_matches(name, names, 1)
        hint = f"did you mean {close[0]}?" if close else f"the cluster has {counted(len(names), 'node')}"
    if not selected:
        raise InputError("selects no node", value=text, hint=hint)
    return selected


def _unknown_label_message(nodes: Collection[api.Node], selector: Selector) -> str:
    """Return a hint for a selector without nodes: values or keys for its first unmet condition."""
    labels = [node.metadata.labels for node in nodes]
    for requirement in selector.requirements or ():
        if not any(map(requirement.matches, labels)):
            values = sorted({own[requirement.key] for own in labels if requirement.key in own})
            keys = sorted({key for own in labels for key in own})
            return (
                _unknown_value_message(requirement, values) if values else _unknown_key_message(requirement.key, keys)
            )
    return "every condition selects some nodes, and no node meets them all"


def _unknown_value_message(requirement: Requirement, values: Sequence[str]) -> str:
    if requirement.operator is Operator.DOES_NOT_EXIST:
        return f"every node has the label {requirement.key}"
    wanted = requirement.values if requirement.operator is Operator.IN else ()
    meant = list(dict.fromkeys(filter(None, (_closest(value, values) for value in wanted))))
    question = f"; did you mean {' or '.join(meant)}?" if meant else ""
    return f"the values of {requirement.key} are: {_named(values)}{question}"


def _unknown_key_message(wanted: str, keys: Sequence[str]) -> str:
    if not keys:
        return "no node has any label"
    meant = _closest(wanted, keys)
    return f"no node has the label {wanted}; " + (f"did you mean {meant}?" if meant else f"there are: {_named(keys)}")


def _closest(text: str, known: Sequence[str]) -> str:
    """Return the one of `known` that starts or ends with `text` (`a` in `zone-a`), else the most
    similar one; "" for none or a tie."""
    around = [name for name in known if text and (name.endswith(text) or name.startswith(text))]
    if len(around) == 1:
        return around[0]
    close = get_close_matches(text, known, 2)
    likeness = [SequenceMatcher(a=name, b=text).ratio() for name in close]
    return close[0] if close and likeness.count(likeness[0]) == 1 else ""


def _named(texts: Sequence[str]) -> str:
    more = len(texts) - MAX_NAMED
    return ", ".join(texts[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
