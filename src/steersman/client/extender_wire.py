"""What extenders are sent and what they answer: the JSON of `kube-scheduler/extender/v1`.

Go writes these types with their Go names (`NodeNames`) and reads them whatever the case of their letters, so that
extenders answer `nodeNames` or `nodenames` as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from steersman import api
from steersman.framework.extender import ExtenderError, NodeVictims
from steersman.framework.pod_info import PodInfo

T = TypeVar("T")
Shown = Callable[[api.Object], msgspec.Raw]
"""An object as an extender is to see it."""
Fields = Mapping[str, Any]
"""The fields of a JSON object by name in lower case."""

UNREADABLE = "cannot read the extender's answer: {}"


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
    """Of an answer that is a JSON object, or null."""
    return fields_of(_decode(answer))


def priorities(answer: bytes) -> dict[str, int]:
    """HostPriorityList: by node."""
    entries = (fields_of(entry) for entry in items_of(_decode(answer)))
    return {text_of(entry.get("host")): number_of(entry.get("score")) for entry in entries}


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
    return 0 if value is None else _require(value, int)


def texts_by_name(value: object) -> dict[str, str]:
    return {name: text_of(text) for name, text in map_of(value).items()}


def _require(value: object, kind: type[T]) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ExtenderError(UNREADABLE.format(f"got {str(value)[:80]!r}, expected a {kind.__name__}"))
    return value


def _decode(answer: bytes) -> object:
    try:
        return msgspec.json.decode(answer)
    except msgspec.DecodeError as cause:
        raise ExtenderError(UNREADABLE.format(cause)) from cause


def _encode(document: dict[str, Any]) -> bytes:
    return msgspec.json.encode(document)
