# SPDX-License-Identifier: Apache-2.0
"""Makes the objects of two runs comparable: what differs between any two runs is replaced by what it stands for.

| in an object or a message | becomes |
|---|---|
| a time | `<time>` |
| the uid of an object that is there | `<uid of ReplicaSet web-<revision 1>>`, so that a reference to the wrong object shows |
| any other uid | `<uid>` |
| the hash of a pod template, or of a revision | `<revision 2>`: the number that its ReplicaSet or ControllerRevision has |
| one of a revision that is gone | `<hash>` |
| the random end of a name | `*` |
| a node of a scenario that may choose any | `<node>` |
| in a status, a field that is 0, false or empty; elsewhere one that is null, `{}` or `[]` | nothing |
| minutes since 1970 in names of Jobs of CronJobs | `<minutes>` |

Comes in: objects by kind as an API server gives them, and events. Goes out: by kind a sorted list, in which objects that are
equal after masking are one with their `number`, and a sorted list of events without repetitions. `differences` compares two.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tests.controllers.comparison.changes import TIME, without_job_labels
from tests.controllers.comparison.scenario import Document

_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\buid-[a-z]+-[a-z0-9.-]+-\d+\b")
"""Those of a real API server, and those of the embedded one."""
_SAFE: Final = "bcdfghjklmnpqrstvwxz2456789"
"""What API servers and controllers make random names and hashes of."""
_HASH: Final = re.compile(rf"(?<=[-\"])[{_SAFE}]{{8,10}}(?![a-z0-9])")
_RANDOM_END: Final = re.compile(rf"(?<=-)[{_SAFE}]{{5}}(?![a-z0-9-])")
_MINUTES: Final = re.compile(r"(?<=-)\d{8}(?![a-z0-9])")
_DROPPED_METADATA: Final = ("managedFields", "selfLink", "uid", "creationTimestamp", "namespace")
_HASH_LABELS: Final = ("pod-template-hash", "controller-revision-hash", "controller.kubernetes.io/hash")
_REVISION: Final = "deployment.kubernetes.io/revision"
_NOT_COMPARED: Final = ("RegisteredNode", "FailedBinding")
"""Reasons of events that are not about a scenario: of nodes that come, and of claims that nobody has a volume for."""
_COMBINED: Final = "(combined from similar events): "
"""What client-go writes before the message of an event that comes often; how often it came is a matter of time."""
_NODE_FIELDS: Final = ("taints", "unschedulable")
_SERVERS_POD_FIELDS: Final = ("enableServiceLinks", "priority", "preemptionPolicy", "securityContext", "schedulerName")
"""Fields of a pod's spec that the API server fills in and no controller; so is `status.qosClass`."""


def masked(
    objects: Mapping[str, Sequence[Document]], events: Iterable[Document], hidden_nodes: Iterable[str] = ()
) -> Document:
    """By kind, and under `Event`, what the run left; kinds of which there is nothing are left out. Of `hidden_nodes` it is not
    said which is which."""
    mask = _Mask(objects, hidden_nodes)
    result: Document = {}
    for kind, found in objects.items():
        shown = _counted(mask.value(_shown(kind, obj)) for obj in found)
        if shown:
            result[kind] = shown
    result["Event"] = _unique(mask.value(dict(event)) for event in events if event["reason"] not in _NOT_COMPARED)
    return result


def differences(expected: Any, found: Any, path: str = "") -> list[str]:
    """One line for each field that differs; empty if all is equal."""
    if isinstance(expected, dict) and isinstance(found, dict):
        names = sorted({*expected, *found})
        return [line for name in names for line in _field_differences(expected, found, name, f"{path}.{name}")]
    if isinstance(expected, list) and isinstance(found, list):
        return _list_differences(expected, found, path)
    return [] if _same(expected, found) else [f"{path.lstrip('.')}: expected {_short(expected)}, found {_short(found)}"]


def _field_differences(expected: Document, found: Document, name: str, path: str) -> list[str]:
    if name not in found:
        return [f"{path.lstrip('.')}: expected {_short(expected[name])}, found nothing"]
    if name not in expected:
        return [f"{path.lstrip('.')}: expected nothing, found {_short(found[name])}"]
    return differences(expected[name], found[name], path)


def _list_differences(expected: list[Any], found: list[Any], path: str) -> list[str]:
    """Items that both have are passed over; the others are compared in pairs."""
    missing, surplus = list(expected), []
    for item in found:
        if item in missing:
            missing.remove(item)
        else:
            surplus.append(item)
    lines = []
    for number in range(max(len(missing), len(surplus))):
        place = f"{path}[{_label((missing + surplus)[number])}]"
        if number >= len(surplus):
            lines.append(f"{place.lstrip('.')}: expected {_short(missing[number])}, found nothing")
        elif number >= len(missing):
            lines.append(f"{place.lstrip('.')}: expected nothing, found {_short(surplus[number])}")
        else:
            lines.extend(differences(missing[number], surplus[number], place))
    if not lines and expected != found:
        lines.append(f"{path.lstrip('.')}: the same items in another order")
    return lines


def _label(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    return str(item.get("metadata", item).get("name") or item.get("type") or item.get("reason") or "")


def _same(one: Any, other: Any) -> bool:
    """True is not 1 here, as it is to Python."""
    return type(one) is type(other) and bool(one == other)


def _short(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


class _Mask:
    """Knows the objects of one run, and what in them is due to chance."""

    def __init__(self, objects: Mapping[str, Sequence[Document]], hidden_nodes: Iterable[str]) -> None:
        found = [(kind, obj) for kind, some in objects.items() for obj in some]
        self._uids: dict[str, str] = {}
        self._hidden = tuple(hidden_nodes)
        self._hashes = dict(entry for kind, obj in found for entry in _hashes(kind, obj))
        self._uids = {obj["metadata"]["uid"]: f"<uid of {kind} {self.text(_name(obj))}>" for kind, obj in found}

    def value(self, value: Any) -> Any:
        if isinstance(value, dict):
            shown = {name: item for name, item in value.items() if name != "resourceVersion"}
            return {self.text(name): self._field(name, item) for name, item in shown.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _field(self, name: str, value: Any) -> Any:
        masked_value = self.value(value)
        return "<hash>" if name in _HASH_LABELS and masked_value == value else masked_value

    def text(self, text: str) -> str:
        text = text.removeprefix(_COMBINED)
        if text in self._hashes:
            return self._hashes[text]
        text = _UID.sub(lambda match: self._uids.get(match[0], "<uid>"), text)
        for found, stands_for in self._hashes.items():
            text = re.sub(rf"(?<=-){re.escape(found)}(?![a-z0-9])", stands_for, text)
        text = TIME.sub("<time>", text)
        for name in self._hidden:
            text = text.replace(name, "<node>")
        text = _HASH.sub("<hash>", text)
        return _MINUTES.sub("<minutes>", _RANDOM_END.sub("*", text))


def _name(obj: Document) -> str:
    return str(obj["metadata"]["name"])


def _hashes(kind: str, obj: Document) -> Iterable[tuple[str, str]]:
    """The hash by which pods of a revision are known, and what stands for it."""
    metadata = obj["metadata"]
    for label in _HASH_LABELS:
        found = metadata.get("labels", {}).get(label)
        if found and kind == "ReplicaSet":
            yield found, f"<revision {metadata.get('annotations', {}).get(_REVISION, '?')}>"
        elif found and kind == "ControllerRevision":
            yield found.rpartition("-")[2], f"<revision {obj['revision']}>"


def _shown(kind: str, obj: Document) -> Document:
    """The object without what says nothing about controllers."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _DROPPED_METADATA}
    shown = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")} | {"metadata": metadata}
    if kind == "Pod":
        shown["spec"] = {name: value for name, value in obj["spec"].items() if name not in _SERVERS_POD_FIELDS}
        shown["status"] = {name: value for name, value in obj.get("status", {}).items() if name != "qosClass"}
    if kind == "Job":
        shown["metadata"] = metadata | {"labels": without_job_labels(obj)}
    if kind == "Node":
        shown = _shown_node(obj, metadata)
    if "status" in shown:
        shown["status"] = _without_zeros(shown["status"])
    bare: Document = _without_nothing(shown)
    return bare


def _without_zeros(value: Any) -> Any:
    """A status in which fields that are 0, false or empty are left out: clients read one that is absent the same way."""
    if isinstance(value, dict):
        return {name: _without_zeros(item) for name, item in value.items() if item not in (0, False, "")}
    return [_without_zeros(item) for item in value] if isinstance(value, list) else value


def _without_nothing(value: Any) -> Any:
    """Without fields that are null, an empty object or an empty list."""
    if isinstance(value, dict):
        shown = {name: _without_nothing(item) for name, item in value.items()}
        return {name: item for name, item in shown.items() if item is not None and item != {} and item != []}
    return [_without_nothing(item) for item in value] if isinstance(value, list) else value


def _shown_node(obj: Document, metadata: Document) -> Document:
    conditions = [
        {name: value for name, value in found.items() if name != "lastHeartbeatTime"}
        for found in obj["status"].get("conditions", ())
    ]
    spec = {name: value for name, value in obj.get("spec", {}).items() if name in _NODE_FIELDS}
    return {"metadata": {"name": metadata["name"]}, "spec": spec, "status": {"conditions": conditions}}


def _counted(values: Iterable[Any]) -> list[Any]:
    numbers = Counter(json.dumps(value, sort_keys=True) for value in values)
    return [{"number": number, **json.loads(text)} for text, number in sorted(numbers.items())]


def _unique(values: Iterable[Any]) -> list[Any]:
    return [json.loads(text) for text in sorted({json.dumps(value, sort_keys=True) for value in values})]
