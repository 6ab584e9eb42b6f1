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
from steersman.explain.fixes.changes import Change, Document, SpecPlace, container_of, containers_in
from steersman.explain.fixes.fix import FixKind
from steersman.explain.fixes.pod_changes import Alternative
from steersman.framework import ANY_ADDRESS, HostPort, host_ports
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
