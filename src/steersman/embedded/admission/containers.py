# SPDX-License-Identifier: Apache-2.0
"""Defaults of containers: requests from limits, protocols, and host ports of pods in the node's network."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import Container, ContainerPort, PodSpec, ResourceRequirements
from steersman.bounded_table import RecentTable
from steersman.embedded.admission.amounts import rounded_up

TCP: Final = "TCP"
_MOST_REMEMBERED: Final = 4096

_replace = msgspec.structs.replace

Containers = tuple[Container, ...]


class ContainerDefaults:
    """Remembers what became of containers, so that pods that came in sharing them go out sharing them."""

    def __init__(self) -> None:
        #: By identity and host network; the containers are kept, so that their identity stays theirs.
        self._known: RecentTable[tuple[int, bool], tuple[Containers, Containers]] = RecentTable(_MOST_REMEMBERED)

    def applied(self, spec: PodSpec) -> PodSpec:
        containers = self._completed(spec.containers, spec.host_network)
        init_containers = self._completed(spec.init_containers, spec.host_network)
        overhead = rounded_up(spec.overhead)
        if containers is spec.containers and init_containers is spec.init_containers and overhead is spec.overhead:
            return spec
        return _replace(spec, containers=containers, init_containers=init_containers, overhead=overhead)

    def _completed(self, containers: Containers, host_network: bool) -> Containers:
        if not containers:
            return containers
        known = self._known.get((id(containers), host_network))
        if known is None:
            completed = tuple(_container(container, host_network) for container in containers)
            unchanged = all(new is old for new, old in zip(completed, containers, strict=True))
            known = (containers, containers if unchanged else completed)
            self._known.put((id(containers), host_network), known)
        return known[1]


def with_requests_from_limits(resources: ResourceRequirements) -> ResourceRequirements:
    """A limit without a request is a request, too."""
    missing = resources.limits.keys() - resources.requests.keys()
    if not missing:
        return resources
    requests = resources.requests | {name: amount for name, amount in resources.limits.items() if name in missing}
    return _replace(resources, requests=requests)


def with_rounded_amounts(resources: ResourceRequirements) -> ResourceRequirements:
    requests, limits = rounded_up(resources.requests), rounded_up(resources.limits)
    if requests is resources.requests and limits is resources.limits:
        return resources
    return _replace(resources, requests=requests, limits=limits)


def _container(container: Container, host_network: bool) -> Container:
    resources = with_rounded_amounts(with_requests_from_limits(container.resources))
    ports = container.ports
    if any(not port.protocol or (host_network and not port.host_port) for port in ports):
        ports = tuple(_port(port, host_network) for port in ports)
    if resources is container.resources and ports is container.ports:
        return container
    return _replace(container, resources=resources, ports=ports)


def _port(port: ContainerPort, host_network: bool) -> ContainerPort:
    host_port = port.host_port or (port.container_port if host_network else 0)
    return _replace(port, protocol=port.protocol or TCP, host_port=host_port)
