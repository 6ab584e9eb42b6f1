# SPDX-License-Identifier: Apache-2.0
"""Fields of a pod that its template does not have: containers and constraints added by webhooks.

A trial creates pods from templates and has no webhooks. So the additional fields of the pending pod
are added to the changed template of a trial, but not to patches and commands.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from steersman import api
from steersman.api import codec
from steersman.explain.fixes.changes import Document
from steersman.explain.fixes.pod_changes import DO_NOT_SCHEDULE

_LISTS: Final = ("containers", "initContainers")
_SPREAD: Final = "topologySpreadConstraints"
_replace: Final = msgspec.structs.replace


class InjectedFields:
    """Fields of one pod that its template does not have; the template is given as the spec of a
    document."""

    def __init__(self, pod: api.Pod, template: Document) -> None:
        self._spec: Document = codec.to_dict(pod).get("spec") or {}
        self._containers = frozenset(
            each["name"] for name in _LISTS for each in self._lacking(name, _names(template, name))
        )
        selector = template.get("nodeSelector") or {}
        wanted: Document = self._spec.get("nodeSelector") or {}
        self._selector = {key: value for key, value in wanted.items() if key not in selector}
        self._affinity: Document = {} if template.get("affinity") else self._spec.get("affinity") or {}
        self._spread = [each for each in self._spec.get(_SPREAD) or () if _topology(each) not in _topologies(template)]

    def __bool__(self) -> bool:
        return bool(self._containers or self._selector or self._affinity or self._spread)

    def _lacking(self, list_name: str, names: Collection[str]) -> list[Document]:
        """Return the containers of the pod with other names."""
        return [each for each in self._spec.get(list_name) or () if each.get("name") and each["name"] not in names]

    def add_to(self, spec: Document) -> None:
        """Add to the spec of a template the fields that a webhook would add to its pods; containers
        keep the pod's order."""
        for list_name in _LISTS:
            own: list[Document] = spec.get(list_name) or []
            names = _names(spec, list_name)
            added = [each for each in self._lacking(list_name, names) if each["name"] in self._containers]
            if added:
                order = [each.get("name", "") for each in self._spec[list_name]]
                spec[list_name] = sorted([*own, *added], key=lambda each: _position(order, each.get("name", "")))
        if self._selector:
            spec["nodeSelector"] = {**self._selector, **(spec.get("nodeSelector") or {})}
        if self._affinity and not spec.get("affinity"):
            spec["affinity"] = self._affinity
        if self._spread:
            spec[_SPREAD] = [*(spec.get(_SPREAD) or ()), *self._spread]

    def without_containers(self, spec: api.PodSpec) -> api.PodSpec:
        """Return the spec with the containers of the template only, which can be changed there."""
        return _replace(
            spec,
            containers=tuple(each for each in spec.containers if each.name not in self._containers),
            init_containers=tuple(each for each in spec.init_containers if each.name not in self._containers),
        )


def _names(spec: Document, list_name: str) -> frozenset[str]:
    return frozenset(each.get("name", "") for each in spec.get(list_name) or ())


def _topologies(spec: Document) -> list[tuple[str, str]]:
    return [_topology(each) for each in spec.get(_SPREAD) or ()]


def _topology(constraint: Document) -> tuple[str, str]:
    """Return topology key and effect of a spread constraint, which identify it."""
    return constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable") or DO_NOT_SCHEDULE


def _position(order: list[str], name: str) -> int:
    """Return the position of the container in the pod; unknown containers come last."""
    return order.index(name) if name in order else len(order)
