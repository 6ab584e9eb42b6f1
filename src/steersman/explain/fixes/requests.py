# SPDX-License-Identifier: Apache-2.0
"""Lower requests of a container, so that a node has enough of one resource.

The input is a `Shortage` of a node, the output a change in steps: millicores, pages, or pieces;
bytes in the largest unit, up to a mebibyte, in which the node's room is a whole number. The largest
request is lowered; a request of the pod as a whole takes precedence.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from steersman import api
from steersman.api import quantity
from steersman.explain.fixes.changes import Change, Document, NumberedChange, SpecPlace, container_of, containers_in
from steersman.explain.fixes.fix import FixKind
from steersman.scheduler.diagnosis import Shortage

MEBIBYTE: Final = 2**20
_BYTES: Final = ("memory", "ephemeral-storage")
_BYTE_UNITS: Final = {"Gi": 2**30, "Mi": MEBIBYTE, "Ki": 2**10}
_MAY_DIFFER: Final = ("cpu", *_BYTES)
"""Resources whose limit may be larger than the request; for others both are equal."""


class _Request(NamedTuple):
    """A request for the resource: of the pod as a whole, or of one container."""

    list_name: str
    position: int
    name: str
    asks: int

    def resources(self, spec: Document) -> Document:
        """Return its `resources` in the spec, for editing."""
        holder = container_of(spec, self.list_name, self.position, self.name) if self.list_name else spec
        found: Document = holder.setdefault("resources", {})
        return found


def lower_request(place: SpecPlace, spec: api.PodSpec, shortage: Shortage) -> NumberedChange | None:
    """Return the changes that lower the request; None if no request is large enough."""
    resource = shortage.resource
    request = _largest(spec, resource)
    if request is None:
        return None
    room = request.asks - (shortage.asks - shortage.free)
    quantum = _quantum(resource, room)
    highest = (request.asks - 1) // quantum * quantum
    wanted = room // quantum * quantum
    furthest = highest // quantum
    if furthest < 1:
        return None
    guess = min(furthest, max(1, (highest - wanted) // quantum + 1))

    def make(step: int) -> Change:
        return _lowered(place, request, resource, highest - (step - 1) * quantum)

    return NumberedChange(f"{resource} {request.name}", FixKind.REQUESTS, guess, furthest, make)


def _lowered(place: SpecPlace, request: _Request, resource: str, number: int) -> Change:
    text = amount_text(resource, number)

    def edit(spec: Document) -> None:
        resources = request.resources(spec)
        written = resources.get("requests", {}).get(resource)
        if written is not None and _parsed(resource, written) != request.asks:
            raise KeyError(resource)  # something has changed it in the pod alone, and would do so again
        resources.setdefault("requests", {})[resource] = text
        if resource not in _MAY_DIFFER and resource in resources.get("limits", {}):
            resources["limits"][resource] = text

    whose = f"container {request.name}" if request.list_name else "the pod"
    summary = f"lower the {resource} request of {whose} from {amount_text(resource, request.asks)} to {text}"
    return place.change(FixKind.REQUESTS, summary, edit)


def amount_text(resource: str, number: int) -> str:
    """Return an amount as a quantity, in the unit of the steps: `1800m`, `512Mi`, `3`."""
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
    """Return the largest unit, up to a mebibyte, in which the size is a whole number."""
    return min(MEBIBYTE, size & -size) if size > 0 else MEBIBYTE


def _largest(spec: api.PodSpec, resource: str) -> _Request | None:
    of_pod = _number(spec.resources, resource)
    if of_pod:
        return _Request("", 0, "", of_pod)
    requests = [
        _Request(list_name, position, container.name, _number(container.resources, resource))
        for list_name, position, container in containers_in(spec)
    ]
    largest = max(requests, key=lambda request: request.asks, default=None)
    return largest if largest is not None and largest.asks else None


def _number(resources: api.ResourceRequirements | None, resource: str) -> int:
    if resources is None or resource not in resources.requests:
        return 0
    return _parsed(resource, resources.requests[resource])


def _parsed(resource: str, amount: str | int | float) -> int:
    return quantity.milli_value_of(amount) if resource == "cpu" else quantity.value_of(amount)
