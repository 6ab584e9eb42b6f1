# SPDX-License-Identifier: Apache-2.0
"""Lower requests: by how much a container asks less, so that a node has enough of one resource.

In comes what a node lacks (`explain.Shortage`), out go changes in steps: millicores, pages, or pieces; bytes in the largest
unit, up to a mebibyte, in which the node's room is a whole number. The container that asks most gives way; requests of the
pod as a whole come first where there are any.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from steersman import api
from steersman.api import quantity
from steersman.explain import Shortage
from steersman.fixes.changes import Change, Document, NumberedChange, SpecPlace, container_of
from steersman.fixes.fix import FixKind

MEBIBYTE: Final = 2**20
_BYTES: Final = ("memory", "ephemeral-storage")
_BYTE_UNITS: Final = {"Gi": 2**30, "Mi": MEBIBYTE, "Ki": 2**10}
_MAY_DIFFER: Final = ("cpu", *_BYTES)
"""Resources whose limit may be larger than the request; of others both are the same."""


class _Asker(NamedTuple):
    """Who asks for the resource: the pod as a whole, or one of its containers."""

    list_name: str
    position: int
    name: str
    asks: int

    def resources(self, spec: Document) -> Document:
        """The `resources` of it, in the spec that is changed."""
        holder = container_of(spec, self.list_name, self.position, self.name) if self.list_name else spec
        found: Document = holder.setdefault("resources", {})
        return found


def lower_request(place: SpecPlace, spec: api.PodSpec, shortage: Shortage) -> NumberedChange | None:
    """The changes that lower the request; None if nobody asks for as much as is missing."""
    resource = shortage.resource
    asker = _largest(spec, resource)
    if asker is None:
        return None
    room = asker.asks - (shortage.asks - shortage.free)
    quantum = _quantum(resource, room)
    highest = (asker.asks - 1) // quantum * quantum
    wanted = room // quantum * quantum
    furthest = highest // quantum
    if furthest < 1:
        return None
    guess = min(furthest, max(1, (highest - wanted) // quantum + 1))

    def make(step: int) -> Change:
        return _lowered(place, asker, resource, highest - (step - 1) * quantum)

    return NumberedChange(f"{resource} {asker.name}", FixKind.REQUESTS, guess, furthest, make)


def _lowered(place: SpecPlace, asker: _Asker, resource: str, number: int) -> Change:
    text = amount_text(resource, number)

    def edit(spec: Document) -> None:
        resources = asker.resources(spec)
        written = resources.get("requests", {}).get(resource)
        if written is not None and _parsed(resource, written) != asker.asks:
            raise KeyError(resource)  # something has changed it in the pod alone, and would do so again
        resources.setdefault("requests", {})[resource] = text
        if resource not in _MAY_DIFFER and resource in resources.get("limits", {}):
            resources["limits"][resource] = text

    whose = f"container {asker.name}" if asker.list_name else "the pod"
    summary = f"lower the {resource} request of {whose} from {amount_text(resource, asker.asks)} to {text}"
    return place.change(FixKind.REQUESTS, summary, edit)


def amount_text(resource: str, number: int) -> str:
    """An amount as a quantity, in the unit of the steps: `1800m`, `512Mi`, `3`."""
    if resource == "cpu":
        return f"{number // 1000}" if number % 1000 == 0 else f"{number}m"
    if number and (resource in _BYTES or resource.startswith("hugepages-")):
        for suffix, unit in _BYTE_UNITS.items():
            if number % unit == 0:
                return f"{number // unit}{suffix}"
    return str(number)


def _quantum(resource: str, room: int) -> int:
    if resource.startswith("hugepages-"):
        return max(1, quantity.value_of(resource.removeprefix("hugepages-")))
    return byte_quantum(room) if resource in _BYTES else 1


def byte_quantum(size: int) -> int:
    """The largest unit, up to a mebibyte, in which the size is a whole number."""
    return min(MEBIBYTE, size & -size) if size > 0 else MEBIBYTE


def _largest(spec: api.PodSpec, resource: str) -> _Asker | None:
    of_pod = _number(spec.resources, resource)
    if of_pod:
        return _Asker("", 0, "", of_pod)
    askers = [
        _Asker(list_name, position, container.name, _number(container.resources, resource))
        for list_name, containers in (("containers", spec.containers), ("initContainers", spec.init_containers))
        for position, container in enumerate(containers)
    ]
    largest = max(askers, key=lambda asker: asker.asks, default=None)
    return largest if largest is not None and largest.asks else None


def _number(resources: api.ResourceRequirements | None, resource: str) -> int:
    if resources is None or resource not in resources.requests:
        return 0
    return _parsed(resource, resources.requests[resource])


def _parsed(resource: str, amount: str | int | float) -> int:
    return quantity.milli_value_of(amount) if resource == "cpu" else quantity.value_of(amount)
