# SPDX-License-Identifier: Apache-2.0
"""Requests and limits that are derived from others."""

from __future__ import annotations

import pytest
from tests.embedded.stores import admitting_store, raw, with_spec

from steersman import api
from steersman.testing import make_pod


def _admitted(given: api.Pod) -> api.PodSpec:
    return admitting_store().create(given).spec


def _container(
    requests: dict[str, api.Quantity] | None = None, limits: dict[str, api.Quantity] | None = None
) -> api.Container:
    return api.Container(resources=api.ResourceRequirements(requests=requests or {}, limits=limits or {}))


def _spec(
    *containers: api.Container,
    init: tuple[api.Container, ...] = (),
    requests: dict[str, api.Quantity] | None = None,
    limits: dict[str, api.Quantity] | None = None,
    overhead: dict[str, api.Quantity] | None = None,
) -> api.ResourceRequirements:
    """What becomes of pod-level resources."""
    resources = api.ResourceRequirements(requests=requests or {}, limits=limits or {})
    given = with_spec(
        raw(make_pod()), containers=containers, init_containers=init, resources=resources, overhead=overhead or {}
    )
    completed = _admitted(given).resources
    assert completed is not None
    return completed


def test_a_limit_without_a_request_is_a_request_too() -> None:
    given = raw(
        make_pod().container(requests={"cpu": "1"}, limits={"cpu": "2", "memory": "1Gi", "example.com/gpu": "1"})
    )
    (container,) = _admitted(given).containers
    assert container.resources.requests == {"cpu": "1", "memory": "1Gi", "example.com/gpu": "1"}


def test_a_request_of_zero_is_a_request() -> None:
    (container,) = _admitted(raw(make_pod().container(requests={"cpu": "0"}, limits={"cpu": "2"}))).containers
    assert container.resources.requests == {"cpu": "0"}


def test_init_containers_request_their_limits_too() -> None:
    given = with_spec(raw(make_pod()), init_containers=(_container(limits={"cpu": "2"}),))
    assert _admitted(given).init_containers[0].resources.requests == {"cpu": "2"}


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("100u", "1m"),
        ("1.0005", "1001m"),
        ("0.0015", "2m"),
        ("1500m", "1500m"),
        ("1.5Gi", "1.5Gi"),
        ("1n", "1m"),
        (2, 2),
    ],
)
def test_amounts_finer_than_a_thousandth_are_rounded_up(written: api.Quantity, stored: api.Quantity) -> None:
    given = with_spec(raw(make_pod().req(cpu=written)), overhead={"cpu": written})
    spec = _admitted(given)
    assert spec.containers[0].resources.requests == {"cpu": stored}
    assert spec.overhead == {"cpu": stored}


def test_a_pod_without_resources_of_its_own_gets_none() -> None:
    assert _admitted(raw(make_pod().req(cpu="1"))).resources is None
    empty = with_spec(raw(make_pod().req(cpu="1")), resources=api.ResourceRequirements())
    assert _admitted(empty).resources == api.ResourceRequirements()


def test_a_pod_with_limits_requests_what_its_containers_request_together() -> None:
    one, two = _container(requests={"cpu": "500m"}), _container(requests={"cpu": "1", "memory": "1Gi"})
    completed = _spec(one, two, limits={"cpu": "4", "memory": "4Gi"})
    assert completed.requests == {"cpu": "1500m", "memory": "1Gi"}


def test_sidecars_and_init_containers_count_as_they_do_for_the_scheduler() -> None:
    sidecar = api.Container(resources=api.ResourceRequirements(requests={"cpu": "1"}), restart_policy="Always")
    completed = _spec(
        _container(requests={"cpu": "1"}),
        init=(sidecar, _container(requests={"cpu": "3"})),
        limits={"cpu": "8"},
        overhead={"cpu": "5"},
    )
    assert completed.requests == {"cpu": "4"}


def test_a_pod_whose_containers_request_nothing_requests_its_limits() -> None:
    completed = _spec(_container(), limits={"cpu": "4", "hugepages-2Mi": "4Mi", "example.com/gpu": "1"})
    assert completed.requests == {"cpu": "4", "hugepages-2Mi": "4Mi"}


def test_requests_of_the_pod_are_kept() -> None:
    completed = _spec(_container(requests={"cpu": "2"}), requests={"cpu": "1"}, limits={"cpu": "4"})
    assert completed.requests == {"cpu": "1"}


def test_a_pod_without_limits_gets_no_further_requests() -> None:
    completed = _spec(_container(requests={"cpu": "2", "memory": "1Gi"}), requests={"cpu": "3"})
    assert completed == api.ResourceRequirements(requests={"cpu": "3"})


def test_extended_resources_of_containers_are_not_lifted_to_the_pod() -> None:
    completed = _spec(_container(requests={"example.com/gpu": "2"}), limits={"cpu": "4"})
    assert completed.requests == {"cpu": "4"}


def test_huge_pages_of_containers_limit_the_pod_and_are_requested_by_it() -> None:
    pages = _container(limits={"hugepages-2Mi": "4Mi"})
    completed = _spec(pages, pages, requests={"cpu": "1"})
    assert completed.limits == {"hugepages-2Mi": "8Mi"}
    assert completed.requests == {"cpu": "1", "hugepages-2Mi": "8Mi"}


def test_huge_pages_that_the_pod_requests_are_not_limited() -> None:
    completed = _spec(_container(limits={"hugepages-2Mi": "4Mi"}), requests={"hugepages-2Mi": "6Mi"})
    assert completed == api.ResourceRequirements(requests={"hugepages-2Mi": "6Mi"})
