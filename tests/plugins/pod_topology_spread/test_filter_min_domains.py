# SPDX-License-Identifier: Apache-2.0
"""With fewer domains than `minDomains` the least count is taken to be zero."""

from __future__ import annotations

import pytest
from tests.plugins.pod_topology_spread.spreading import NODE_A, NODE_X, WEB, ZONE, fitting, four_nodes, replicas, web

from steersman.api import HOSTNAME_LABEL
from steersman.scheduler.plugins.pod_topology_spread.filtering import NO_DOMAIN, least_matching


@pytest.mark.parametrize(("min_domains", "expected"), [(None, "abxy"), (4, "abxy"), (5, "y")])
def test_hosts(min_domains: int | None, expected: str) -> None:
    pod = web().spread(HOSTNAME_LABEL, max_skew=2, selector=WEB, min_domains=min_domains)

    assert fitting(pod, four_nodes(2, 2, 2, 1)) == expected


@pytest.mark.parametrize(("min_domains", "expected"), [(1, "abxy"), (2, "abxy"), (3, "xy")])
def test_zones(min_domains: int, expected: str) -> None:
    pod = web().spread(ZONE, max_skew=2, selector=WEB, min_domains=min_domains)

    assert fitting(pod, four_nodes(1, 1, 0, 1)) == expected


def test_domains_without_an_eligible_node_are_no_domains() -> None:
    nodes = [NODE_A.label("disk", "ssd").info(*replicas(1)), NODE_X.info()]
    pod = web().node_selector("disk", "ssd")

    assert fitting(pod.spread(ZONE, selector=WEB), nodes) == "ax"
    assert fitting(pod.spread(ZONE, selector=WEB, min_domains=2), nodes) == "x"


def test_without_any_domain_there_is_no_skew() -> None:
    assert least_matching({}, 0) == NO_DOMAIN
    assert least_matching({}, 1) == 0
    assert least_matching({"a": 3, "b": 2}, 2) == 2
    assert least_matching({"a": 3, "b": 2}, 3) == 0
