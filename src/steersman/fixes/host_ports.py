# SPDX-License-Identifier: Apache-2.0
"""Host ports that are taken on a node: another number, or none.

In come the pod and the pods of the nodes that object, out go alternatives. Which pod holds a port is part of the sentence.
The pods of the host's network listen on the port that they say, so that theirs stay; for these `moves` has the holder go
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.fixes.changes import Change, Document, SpecPlace, container_of
from steersman.fixes.fix import FixKind
from steersman.fixes.pod_changes import Alternative
from steersman.framework.pod_info import ANY_ADDRESS, HostPort, host_ports
from steersman.plugins.node_ports import ports_conflict

_HIGHEST: Final = 65535


class _WantedPort(NamedTuple):
    """One host port of one container, and who has it on the node."""

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
    """The pods that have a host port that the spec wants."""
    wanted = tuple(host_ports(spec))
    return [pod for pod in pods if ports_conflict(wanted, tuple(host_ports(pod.spec)))]


def change_host_ports(place: SpecPlace, spec: api.PodSpec, nodes: Sequence[Sequence[api.Pod]]) -> Iterator[Alternative]:
    """The taken ports become the next higher ones that are free on one of the nodes, of which the pods are given; or no host
    ports at all."""
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
    """Every port that is taken on the node, with the next higher number that is free there; none if one has none."""
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
    for list_name, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            for port in container.ports:
                wanted = (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
                holder = next(
                    (pod for pod in pods if port.host_port and ports_conflict([wanted], tuple(host_ports(pod.spec)))),
                    None,
                )
                if holder is not None:
                    yield _WantedPort(list_name, index, container.name, wanted, holder)


def _next_free(wanted: _WantedPort, used: set[HostPort]) -> int | None:
    address, protocol, number = wanted.port
    higher = range(number + 1, _HIGHEST + 1)
    return next((each for each in higher if not ports_conflict([(address, protocol, each)], used)), None)


def _port(spec: Document, wanted: _WantedPort) -> Document:
    """The port in the spec that is changed. Raises `LookupError` if the spec does not have it."""
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
