# SPDX-License-Identifier: Apache-2.0
"""Targets of the steps of a scenario: objects such as `deployment/default/web`, and nodes by name, pattern or label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from steersman import api
from steersman.embedded import Store
from steersman.errors import InputError
from steersman.scenario.document import NodeChoice
from steersman.scenario.parameters import similar

SHORT_NAMES: Final = {
    "deploy": "Deployment",
    "sts": "StatefulSet",
    "ds": "DaemonSet",
    "rs": "ReplicaSet",
    "rc": "ReplicationController",
    "hpa": "HorizontalPodAutoscaler",
    "cj": "CronJob",
    "po": "Pod",
    "no": "Node",
    "svc": "Service",
    "pdb": "PodDisruptionBudget",
    "pvc": "PersistentVolumeClaim",
    "pv": "PersistentVolume",
    "ns": "Namespace",
}
TARGET_HINT: Final = 'write kind/name or kind/namespace/name, such as "deployment/default/web"'


class Target(NamedTuple):
    """An object that a step is about."""

    kind: type[api.Object]
    #: `namespace/name`, or the name where the kind has no namespaces.
    key: str

    @property
    def reference(self) -> str:
        """The object, written as `Simulation.patch` and `delete` take it."""
        return f"{self.kind.KIND.lower()}/{self.key}"

    def __str__(self) -> str:
        return f"{self.kind.KIND} {self.key}"


def parse_target(text: str, path: str, kinds: Iterable[type[api.Object]] = ()) -> Target:
    """`deployment/web` → Deployment default/web; raises `InputError` with the path, also if it is of none of the `kinds`."""
    word, slash, name = text.partition("/")
    names = {alias.lower(): cls for cls in api.KINDS.values() for alias in (cls.KIND, cls.PLURAL)}
    names |= {short: api.KINDS[kind] for short, kind in SHORT_NAMES.items()}
    kind = names.get(word.lower())
    if not slash or not name:
        raise InputError("is no object", field=path, value=text, hint=TARGET_HINT)
    if kind is None:
        known = sorted({cls.KIND.lower() for cls in api.KINDS.values()})
        hint = similar(word.lower(), known)
        raise InputError("is of an unknown kind", field=path, value=text, hint=hint if "mean" in hint else TARGET_HINT)
    allowed = tuple(kinds)
    if allowed and kind not in allowed:
        one_of = ", ".join(cls.KIND for cls in allowed)
        raise InputError(
            "is of a kind that this cannot be done to", field=path, value=text, hint=f"use one of {one_of}"
        )
    if name.count("/") > (1 if kind.NAMESPACED else 0):
        raise InputError("has too many parts", field=path, value=text, hint=TARGET_HINT)
    if kind.NAMESPACED and "/" not in name:
        name = f"default/{name}"
    return Target(kind, name)


def chosen_nodes(choice: NodeChoice, store: Store, path: str) -> list[str]:
    """The names of the nodes that are meant, in the order of the cluster; raises `InputError` for a name that is none.

    Patterns and labels may choose no node at all: which nodes there are may depend on the autoscaler.
    """
    nodes = store.objects(api.Node)
    chosen: set[str] = set()
    for index, text in enumerate(listed(choice)):
        found = [name for name, node in nodes.items() if _is_chosen(text, name, node)]
        if not found and not _is_open(text):
            where = f"{path}[{index}]" if isinstance(choice, list) else path
            raise InputError(
                "is no node of the cluster", field=where, value=text, hint=similar(text, list(nodes)[:1000])
            )
        chosen.update(found)
    return [name for name in nodes if name in chosen]


def listed(choice: NodeChoice) -> Sequence[str]:
    """One text, or a list of them, as a list."""
    return [choice] if isinstance(choice, str) else choice


def _is_open(text: str) -> bool:
    return any(mark in text for mark in "=*?[")


def _is_chosen(text: str, name: str, node: api.Node) -> bool:
    if "=" in text:
        label, _, value = text.partition("=")
        return node.metadata.labels.get(label.strip()) == value.strip()
    return fnmatchcase(name, text.removeprefix("node/"))
