# SPDX-License-Identifier: Apache-2.0
"""Questions to extenders and their answers: the JSON of `kube-scheduler/extender/v1`.

Go writes these types with their Go names (`NodeNames`) and reads them whatever the case of their letters, so that
extenders answer `nodeNames` or `nodenames` as well. Whatever an answer holds instead of what it should is an `ExtenderError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from steersman import api
from steersman.client.errors import UnreadableAnswer
from steersman.client.foreign_input import decode_foreign
from steersman.framework.extender import ExtenderError, NodeVictims
from steersman.framework.pod_info import PodInfo

T = TypeVar("T")
Shown = Callable[[api.Object], msgspec.Raw]
"""An object as an extender is to see it."""
Fields = Mapping[str, Any]
"""The fields of a JSON object by name in lower case."""

UNREADABLE = "cannot read the extender's answer: {}"
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_JSON_TYPES: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    int: "an integer",
    float: "a number with a fraction",
}


def node_args(pod: PodInfo, nodes: Sequence[api.Node], names_only: bool, shown: Shown) -> bytes:
    """ExtenderArgs: for filter and prioritize."""
    names = [node.metadata.name for node in nodes]
    return _encode(
        {
            "Pod": shown(pod.pod),
            "Nodes": None if names_only else {"metadata": {}, "items": [shown(node) for node in nodes]},
            "NodeNames": names if names_only else None,
        }
    )


def binding_args(pod: PodInfo, node_name: str) -> bytes:
    """ExtenderBindingArgs."""
    meta = pod.pod.metadata
    return _encode({"PodName": meta.name, "PodNamespace": meta.namespace, "PodUID": meta.uid, "Node": node_name})


def preemption_args(pod: PodInfo, victims: Mapping[str, NodeVictims], uids_only: bool, shown: Shown) -> bytes:
    """ExtenderPreemptionArgs."""
    by_node = {
        node: {
            "Pods": [{"UID": victim.uid} if uids_only else shown(victim.pod) for victim in its.pods],
            "NumPDBViolations": its.pdb_violations,
        }
        for node, its in victims.items()
    }
    return _encode(
        {
            "Pod": shown(pod.pod),
            "NodeNameToVictims": None if uids_only else by_node,
            "NodeNameToMetaVictims": by_node if uids_only else None,
        }
    )


def fields(answer: bytes) -> Fields:
    """The fields of an answer that is a JSON object, or null."""
    return fields_of(_decode(answer))


def priorities(answer: bytes) -> dict[str, int]:
    """HostPriorityList: by node. A node that is named more than once has the sum."""
    scores: dict[str, int] = {}
    for entry in map(fields_of, items_of(_decode(answer))):
        host = text_of(entry.get("host"))
        scores[host] = scores.get(host, 0) + number_of(entry.get("score"))
    return scores


# -- pieces of an answer; null is as good as nothing ----------------------------------------------------------------------


def fields_of(value: object) -> Fields:
    return {name.lower(): part for name, part in map_of(value).items()}


def map_of(value: object) -> Mapping[str, Any]:
    return {} if value is None else _require(value, dict)


def items_of(value: object) -> Iterable[Any]:
    return () if value is None else _require(value, list)


def text_of(value: object) -> str:
    return "" if value is None else _require(value, str)


def number_of(value: object) -> int:
    """An integer of 64 bits, as Go has it there."""
    number = 0 if value is None else _require(value, int)
    if not _SMALLEST <= number <= _LARGEST:
        raise ExtenderError(UNREADABLE.format("an integer does not fit 64 bits"))
    return number


def texts_by_name(value: object) -> dict[str, str]:
    return {name: text_of(text) for name, text in map_of(value).items()}


def _require(value: object, kind: type[T]) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        got = _JSON_TYPES.get(type(value), "null")
        raise ExtenderError(UNREADABLE.format(f"got {got}, expected {_JSON_TYPES[kind]}"))
    return value


def _decode(answer: bytes) -> object:
    try:
        return _decoded(answer)
    except UnreadableAnswer as cause:
        raise ExtenderError(UNREADABLE.format(cause)) from cause


def _decoded(answer: bytes) -> object:
    """Go reads over bytes that are no UTF-8: they become U+FFFD."""
    found: object
    try:
        found = decode_foreign(answer, object, "it")
    except UnreadableAnswer:
        replaced = answer.decode("utf-8", "replace").encode()
        if replaced == answer:
            raise
        found = decode_foreign(replaced, object, "it")
    return found


def _encode(document: dict[str, Any]) -> bytes:
    return msgspec.json.encode(document)
