# SPDX-License-Identifier: Apache-2.0
"""Cluster addresses and node ports of Services: those that a Service asks for, if they are free, else the next that are.

Called by `writes` for every Service that a client creates or changes, after its defaults are filled in. What is taken is read
from the stored Services, so that nothing has to be given back.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from steersman import api
from steersman.api.validation.field_errors import FieldError
from steersman.apiserver.default_fields import CLUSTER_IP, EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT
from steersman.apiserver.invalid_objects import refuse
from steersman.embedded import Document, Store

SERVICE_RANGE: Final = ipaddress.IPv4Network("10.96.0.0/12")
FIRST_ADDRESS: Final = str(SERVICE_RANGE[1])
"""That of the service `kubernetes`."""
NODE_PORTS: Final = range(30_000, 32_768)
HEADLESS: Final = "None"
_ALLOCATED: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def with_addresses(store: Store, document: Document, old: Document | None) -> Document:
    """The Service with address and node ports; what an update leaves out stays as it was. Raises 422."""
    spec = dict(document.get("spec") or {})
    before = (old or {}).get("spec") or {}
    name = document["metadata"].get("name", "")
    place = f"{document['metadata'].get('namespace', '')}/{name}"
    others = [found.get("spec") or {} for other, found in store.documents(api.Service).items() if other != place]
    problems: list[FieldError] = []
    if spec.get("type") == EXTERNAL_NAME:
        spec = {field: value for field, value in spec.items() if field not in _ALLOCATED}
    else:
        spec |= _addressed(spec, before, others, problems)
    if "ports" in spec:
        spec["ports"] = _numbered(spec, before, others, problems)
    refuse("v1", "Service", name, problems)
    return {**document, "spec": spec}


def _addressed(
    spec: Mapping[str, Any],
    before: Mapping[str, Any],
    others: Iterable[Mapping[str, Any]],
    problems: list[FieldError],
) -> Document:
    wanted = spec.get("clusterIP") or next(iter(spec.get("clusterIPs") or ()), "") or before.get("clusterIP") or ""
    taken = {address for other in others for address in (other.get("clusterIP"), *(other.get("clusterIPs") or ()))}
    if wanted and wanted != HEADLESS and wanted in taken:
        reason = f"failed to allocate IP {wanted}: provided IP is already allocated"
        problems.append(FieldError.invalid("spec.clusterIPs", [wanted], reason))
    address = wanted or next(_free(taken))
    found = {"clusterIP": address, "clusterIPs": spec.get("clusterIPs") or [address]}
    family = "IPv6" if ":" in address else "IPv4"
    kept = {name: before[name] for name in ("ipFamilies", "ipFamilyPolicy") if name in before}
    asked = {name: spec[name] for name in ("ipFamilies", "ipFamilyPolicy") if spec.get(name)}
    return {**found, "ipFamilies": [family], "ipFamilyPolicy": "SingleStack", **kept, **asked}


def _free(taken: set[Any]) -> Iterator[str]:
    """Addresses behind the first ten, which people like to choose themselves."""
    return (str(address) for address in islice(SERVICE_RANGE.hosts(), 10, None) if str(address) not in taken)


def _numbered(
    spec: Mapping[str, Any],
    before: Mapping[str, Any],
    others: Iterable[Mapping[str, Any]],
    problems: list[FieldError],
) -> list[Any]:
    """The ports, with node ports where the type of the Service has some."""
    kind = spec.get("type")
    has_node_ports = kind == NODE_PORT or (kind == LOAD_BALANCER and spec.get("allocateLoadBalancerNodePorts", True))
    known = {_port_key(port): port.get("nodePort") for port in before.get("ports") or () if isinstance(port, dict)}
    taken = {port.get("nodePort") for other in others for port in other.get("ports") or () if isinstance(port, dict)}
    numbered = []
    for index, port in enumerate(spec["ports"]):
        number = port.get("nodePort")
        if number and number in taken:
            reason = "provided port is already allocated"
            problems.append(FieldError.invalid(f"spec.ports[{index}].nodePort", number, reason))
        if not number and has_node_ports:
            number = known.get(_port_key(port)) or next((free for free in NODE_PORTS if free not in taken), None)
            if number is None:
                reason = "failed to allocate a nodePort: range is full"
                problems.append(FieldError.invalid(f"spec.ports[{index}].nodePort", 0, reason))
        if kind == CLUSTER_IP and known.get(_port_key(port)) == number:
            number = None  # the Service has no node ports any more
        taken.add(number)
        rest = {name: value for name, value in port.items() if name != "nodePort"}
        numbered.append({**rest, "nodePort": number} if number else rest)
    return numbered


def _port_key(port: Mapping[str, Any]) -> tuple[Any, Any]:
    return port.get("port"), port.get("protocol")
