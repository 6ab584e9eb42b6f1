# SPDX-License-Identifier: Apache-2.0
"""Node ports and cluster addresses that a server chooses leave the lower part of their ranges to Services that name theirs."""

from __future__ import annotations

import ipaddress

from tests.apiserver.embedded_api import EmbeddedApi

from steersman.cluster.apiserver import service_addresses
from steersman.cluster.store import Document

SERVICES = "/api/v1/namespaces/default/services"


def service(name: str, **port: int) -> Document:
    return {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80, **port}]}}


def test_chosen_node_ports_and_addresses_come_from_the_upper_band() -> None:
    cluster = EmbeddedApi()
    made = [cluster.create(SERVICES, service(f"s{number}"))["spec"] for number in range(40)]
    ports = {spec["ports"][0]["nodePort"] for spec in made}
    assert len(ports) == 40
    assert ports <= set(range(30_086, 32_768))
    lowest = ipaddress.IPv4Address("10.96.1.0")
    assert all(ipaddress.IPv4Address(spec["clusterIP"]) >= lowest for spec in made)
    for wanted in (30_000, 30_007, 30_080):
        cluster.create(SERVICES, service(f"n{wanted}", nodePort=wanted))


def test_the_lower_band_is_used_when_the_upper_one_is_full() -> None:
    taken = set(range(30_086, 32_768))
    assert service_addresses._free_port(taken) in range(30_000, 30_086)
    assert service_addresses._free_port(taken | set(range(30_000, 30_086))) is None


def test_the_first_address_of_the_default_range_of_a_kube_apiserver_is_taken() -> None:
    named = {"metadata": {"name": "s"}, "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80}]}}
    message = EmbeddedApi().refusal(422, "POST", SERVICES, named)["message"]
    assert message.endswith("failed to allocate IP 10.0.0.1: provided IP is already allocated")


def test_an_address_outside_the_range_is_refused() -> None:
    named = {"metadata": {"name": "s"}, "spec": {"clusterIP": "192.168.1.1", "ports": [{"port": 80}]}}
    message = EmbeddedApi().refusal(422, "POST", SERVICES, named)["message"]
    why = "failed to allocate IP 192.168.1.1: the provided network does not match the current range"
    assert message == f'Service "s" is invalid: spec.clusterIPs: Invalid value: ["192.168.1.1"]: {why}'
