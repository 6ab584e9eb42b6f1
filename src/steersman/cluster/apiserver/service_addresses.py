# SPDX-License-Identifier: Apache-2.0
"""Cluster IPs and node ports of Services: requested ones if free, else random free ones.

Random numbers come from the upper part of each range while it has free ones, so that the lower part
stays available for explicit requests, as in upstream's allocators.

Called by `writes` for every Service that a client creates or updates, after defaulting. Allocations
are read from the stored Services, so nothing has to be released.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, Final

from steersman import api
from steersman.api.defaults import CLUSTER_IP, EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT, unavailable_families
from steersman.api.validation import FieldError
from steersman.cluster.apiserver.invalid_objects import refuse
from steersman.cluster.store import Document, Store

SERVICE_RANGE: Final = ipaddress.IPv4Network("10.96.0.0/12")
NAMED_RANGE: Final = ipaddress.IPv4Network("10.0.0.0/8")
"""Addresses that a Service may request; includes common ranges such as 10.96.0.0/12."""
RESERVED: Final = "10.0.0.1"
"""Address of the service `kubernetes` in the default range of a kube-apiserver, 10.0.0.0/24."""
FIRST_ADDRESS: Final = str(SERVICE_RANGE[1])
"""Address of the service `kubernetes`."""
NODE_PORTS: Final = range(30_000, 32_768)
NOT_A_NODE_PORT: Final = (
    f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
)
_PORT_BAND: Final = 86
"""Size of the lower part, for explicit requests: upstream's min(max(16, size / 32), 128)."""
HEADLESS: Final = "None"
_ALLOCATED: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def with_addresses(store: Store, document: Document, old: Document | None) -> Document:
    """Return the Service with addresses and node ports; an update keeps omitted ones. Raise 422."""
    spec = dict(document.get("spec") or {})
    before = (old or {}).get("spec") or {}
    name = document["metadata"].get("name", "")
    place = f"{document['metadata'].get('namespace', '')}/{name}"
    others = [found.get("spec") or {} for other, found in store.documents(api.Service).items() if other != place]
    problems = list(unavailable_families(spec))
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
    named = (address for other in others for address in (other.get("clusterIP"), *(other.get("clusterIPs") or ())))
    taken = {RESERVED, *named}
    is_kept = wanted == before.get("clusterIP")
    reason = "" if wanted in ("", HEADLESS) else _unusable(wanted, taken, is_kept=is_kept)
    if reason:
        problems.append(FieldError.invalid("spec.clusterIPs", [wanted], f"failed to allocate IP {wanted}: {reason}"))
    address = wanted or _free_address(taken) or ""
    found = {"clusterIP": address, "clusterIPs": spec.get("clusterIPs") or [address]}
    family = "IPv6" if ":" in address else "IPv4"
    kept = {name: before[name] for name in ("ipFamilies", "ipFamilyPolicy") if name in before}
    requested = {name: spec[name] for name in ("ipFamilies", "ipFamilyPolicy") if spec.get(name)}
    return {**found, "ipFamilies": [family], "ipFamilyPolicy": "SingleStack", **kept, **requested}


def _unusable(address: str, taken: set[Any], *, is_kept: bool) -> str:
    """Return why an address cannot be allocated, or "". The current one may be of any range."""
    if not is_kept and ipaddress.ip_address(address) not in NAMED_RANGE:
        return "the provided network does not match the current range"
    return "provided IP is already allocated" if address in taken else ""


def _free_address(taken: set[Any]) -> str | None:
    size, band = SERVICE_RANGE.num_addresses, 256  # min(max(16, size / 16), 256)
    used = {int(ipaddress.IPv4Address(address)) for address in taken if address and "." in address}
    base = int(SERVICE_RANGE.network_address)
    found = _random_free(range(base + band, base + size - 1), used) or _random_free(range(base + 1, base + band), used)
    return None if found is None else str(ipaddress.IPv4Address(found))


def _free_port(taken: set[Any]) -> int | None:
    return _random_free(NODE_PORTS[_PORT_BAND:], taken) or _random_free(NODE_PORTS[:_PORT_BAND], taken)


def _random_free(numbers: range, taken: set[Any]) -> int | None:
    """Return a random number that is not taken, or the next free one after it."""
    start = random.randrange(len(numbers))
    return next((number for number in chain(numbers[start:], numbers[:start]) if number not in taken), None)


def _numbered(
    spec: Mapping[str, Any],
    before: Mapping[str, Any],
    others: Iterable[Mapping[str, Any]],
    problems: list[FieldError],
) -> list[Any]:
    """Return the ports, with node ports if the Service type has them."""
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
        elif number and has_node_ports and number not in NODE_PORTS:
            problems.append(FieldError.invalid(f"spec.ports[{index}].nodePort", number, NOT_A_NODE_PORT))
        if not number and has_node_ports:
            number = known.get(_port_key(port)) or _free_port(taken)
            if number is None:
                reason = "failed to allocate a nodePort: range is full"
                problems.append(FieldError.invalid(f"spec.ports[{index}].nodePort", 0, reason))
        if kind == CLUSTER_IP and known.get(_port_key(port)) == number:
            number = None  # the Service no longer has node ports
        taken.add(number)
        rest = {name: value for name, value in port.items() if name != "nodePort"}
        numbered.append({**rest, "nodePort": number} if number else rest)
    return numbered


def _port_key(port: Mapping[str, Any]) -> tuple[Any, Any]:
    return port.get("port"), port.get("protocol")
