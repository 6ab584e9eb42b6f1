# SPDX-License-Identifier: Apache-2.0
"""Container defaults: requests from limits, protocols, host ports of host-network pods."""

from __future__ import annotations

from typing import Final

import msgspec

from steersman.api import Container, ContainerPort, PodSpec, ResourceRequirements
from steersman.base import LruCache
from steersman.cluster.store.admission.amounts import rounded_up

TCP: Final = "TCP"
_MAX_REMEMBERED: Final = 4096

_replace = msgspec.structs.replace

Containers = tuple[Container, ...]


class ContainerDefaults:
    """Defaulting of containers with a cache, so that pods still share equal containers."""

    def __init__(self) -> None:
        #: (id of containers, host network) → containers (keeps the id valid), completed ones.
        self._known: LruCache[tuple[int, bool], tuple[Containers, Containers]] = LruCache(_MAX_REMEMBERED)

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
    """Add a request for each limit without one."""
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
