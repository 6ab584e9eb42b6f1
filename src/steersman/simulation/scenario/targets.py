# SPDX-License-Identifier: Apache-2.0
"""Targets of steps: objects such as `deployment/default/web`; nodes by name, pattern or label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from steersman import api
from steersman.api import similar
from steersman.base import InputError
from steersman.cluster.store import Store
from steersman.simulation.scenario.document import NodeChoice

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
    """The object of a step."""

    kind: type[api.Object]
    #: `namespace/name`, or the name for cluster-scoped kinds.
    key: str

    @property
    def reference(self) -> str:
        """The reference for `Simulation.patch` and `delete`."""
        return f"{self.kind.KIND.lower()}/{self.key}"

    def __str__(self) -> str:
        return f"{self.kind.KIND} {self.key}"


def parse_target(text: str, path: str, kinds: Iterable[type[api.Object]] = ()) -> Target:
    """Parse a target such as `deployment/web`. Raises `InputError`, also if not one of `kinds`."""
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
    """Return the chosen nodes in the order of the cluster. Raises `InputError` for unknown names.

    Patterns and labels may match no nodes, because these may depend on the autoscaler.
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
    """Return a single text or a list of texts as a list."""
    return [choice] if isinstance(choice, str) else choice


def _is_open(text: str) -> bool:
    return any(mark in text for mark in "=*?[")


def _is_chosen(text: str, name: str, node: api.Node) -> bool:
    if "=" in text:
        label, _, value = text.partition("=")
        return node.metadata.labels.get(label.strip()) == value.strip()
    return fnmatchcase(name, text.removeprefix("node/"))
