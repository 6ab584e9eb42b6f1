# SPDX-License-Identifier: Apache-2.0
"""Changes of host ports that are used on a node: another number, or none.

The input is the pod and the pods of the rejecting nodes, the output alternatives whose sentences
name the pod that uses the port. Pods in the host network listen on their port and keep it; for
them, `moves` moves the pod that uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.api import quantity
from steersman.explain.fixes.changes import Change, Document, NumberedChange, SpecPlace, container_of, containers_in
from steersman.explain.fixes.fix import FixKind
from steersman.explain.fixes.pod_changes import Alternative
from steersman.framework import ANY_ADDRESS, HostPort, host_ports
from steersman.scheduler.diagnosis import Shortage
from steersman.scheduler.plugins import ports_conflict

_HIGHEST: Final = 65535


class _WantedPort(NamedTuple):
    """A host port of a container, and the pod that uses it on the node."""

    list_name: str
    container: int
    name: str
    port: HostPort
    holder: api.Pod

    @property
    def number(self) -> int:
        return self.port[2]

    @property
    def text(self) -> str:
        _, protocol, number = self.port
        holder = f"{api.key(self.holder)} has on {self.holder.spec.node_name}"
        return f"host port {number}/{protocol} of container {self.name}, which {holder}"


def holders(spec: api.PodSpec, pods: Iterable[api.Pod]) -> list[api.Pod]:
    """Return the pods that use a host port of the spec."""
    wanted = tuple(host_ports(spec))
    return [pod for pod in pods if ports_conflict(wanted, tuple(host_ports(pod.spec)))]


def change_host_ports(place: SpecPlace, spec: api.PodSpec, nodes: Sequence[Sequence[api.Pod]]) -> Iterator[Alternative]:
    """Yield the used ports changed to the next free ones on one of the nodes, and without host
    ports. `nodes` are the pods of each node."""
    if spec.host_network:
        return
    numbered = [found for found in (_free_numbers(spec, pods) for pods in nodes) if found]
    if numbered:
        least = min(numbered, key=lambda found: [number for _, number in found])
        yield tuple(_changed(place, wanted, number) for wanted, number in least)
    taken = [found for found in (tuple(_taken(spec, pods)) for pods in nodes) if found]
    if taken:
        yield tuple(_dropped(place, wanted) for wanted in min(taken, key=len))


def _free_numbers(spec: api.PodSpec, pods: Sequence[api.Pod]) -> list[tuple[_WantedPort, int]]:
    """Return each used port with the next free number on the node; empty if a port has none."""
    used = {port for pod in pods for port in host_ports(pod.spec)} | set(host_ports(spec))
    found: list[tuple[_WantedPort, int]] = []
    for wanted in _taken(spec, pods):
        number = _next_free(wanted, used)
        if number is None:
            return []
        used.add((*wanted.port[:2], number))
        found.append((wanted, number))
    return found


def _taken(spec: api.PodSpec, pods: Sequence[api.Pod]) -> Iterator[_WantedPort]:
    for list_name, position, container in containers_in(spec):
        for port in container.ports:
            wanted = (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
            holder = next(
                (pod for pod in pods if port.host_port and ports_conflict([wanted], tuple(host_ports(pod.spec)))),
                None,
            )
            if holder is not None:
                yield _WantedPort(list_name, position, container.name, wanted, holder)


def _next_free(wanted: _WantedPort, used: set[HostPort]) -> int | None:
    address, protocol, number = wanted.port
    higher = range(number + 1, _HIGHEST + 1)
    return next((each for each in higher if not ports_conflict([(address, protocol, each)], used)), None)


def _port(spec: Document, wanted: _WantedPort) -> Document:
    """Return the port in the spec, for editing. Raises `LookupError` if there is none."""
    container = container_of(spec, wanted.list_name, wanted.container, wanted.name)
    for port in container.get("ports") or ():
        if (port.get("hostIP") or ANY_ADDRESS, port.get("protocol") or "TCP", port.get("hostPort")) == wanted.port:
            found: Document = port
            return found
    raise KeyError(wanted.text)


def _changed(place: SpecPlace, wanted: _WantedPort, number: int) -> Change:
    def edit(spec: Document) -> None:
        _port(spec, wanted)["hostPort"] = number

    return place.change(FixKind.HOST_PORT, f"change {wanted.text}, to {number}", edit)


def _dropped(place: SpecPlace, wanted: _WantedPort) -> Change:
    def edit(spec: Document) -> None:
        _port(spec, wanted).pop("hostPort", None)

    return place.change(FixKind.NO_HOST_PORT, f"drop {wanted.text}", edit)


# -- requests ----------------------------------------------------------------------------------------------------------


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
            raise KeyError(resource)  # the pod differs from its template, and so would a new pod
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
