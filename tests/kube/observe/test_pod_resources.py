# SPDX-License-Identifier: Apache-2.0
"""Requests and limits of pods, as the scheduler sums them up."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from tests.kube.observe.pod_resources_twin import pod_resources_twin

from steersman import api
from steersman.kube.observe import pod_resources
from steersman.kube.observe.pod_resources import limits, unit
from steersman.testing import make_pod


def limited(name: str, **amounts: str) -> api.Container:
    return api.Container(name=name, resources=api.ResourceRequirements(limits=dict(amounts)))


def a_pod(**spec: object) -> api.Pod:
    meta = api.ObjectMeta(name="web", namespace="shop")
    return api.Pod(metadata=meta, spec=api.PodSpec(**spec))  # type: ignore[arg-type]


def in_units(pod: api.Pod) -> dict[str, float]:
    return {name: amount.unscaled * 10.0**amount.scale for name, amount in limits(pod).items()}


def test_limits_of_containers_add_up() -> None:
    pod = a_pod(containers=(limited("a", cpu="500m"), limited("b", cpu="1", memory="1Ki")))
    assert in_units(pod) == {"cpu": 1.5, "memory": 1024}


def test_an_init_container_counts_if_it_is_allowed_more() -> None:
    pod = a_pod(containers=(limited("a", cpu="1"),), init_containers=(limited("i", cpu="3"),))
    assert in_units(pod) == {"cpu": 3}


def test_overhead_is_added_only_to_what_is_limited() -> None:
    pod = a_pod(containers=(limited("a", cpu="1"),), overhead={"cpu": "250m", "memory": "1Mi"})
    assert in_units(pod) == {"cpu": 1.25}


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("cpu", "cores"),
        ("memory", "bytes"),
        ("hugepages-2Mi", "bytes"),
        ("attachable-volumes-aws-ebs", "integer"),
        ("example.com/gpu", ""),
    ],
)
def test_units_are_upstreams(resource: str, expected: str) -> None:
    assert unit(resource) == expected


def test_pods_that_have_ended_and_amounts_of_nothing_are_left_out() -> None:
    pods = [
        make_pod("over").req(cpu="1").node("n1").phase("Succeeded").obj(),
        make_pod("idle").req(cpu="0").obj(),
        make_pod("waits").req(cpu="2").priority(7).scheduler("night").obj(),
    ]
    lines = [line for line in "".join(pod_resources(pods)).splitlines() if not line.startswith("#")]
    (line,) = lines
    assert line.endswith("} 2.0")
    assert 'pod="waits",priority="7",resource="cpu",scheduler="night",unit="cores"' in line


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", 'example.com/"odd\\']),
    st.sampled_from(["0", "1", "100m", "1500m", "256Mi", "3", "1e3", "1Ki", "7n"]),
    max_size=3,
)
RESOURCES = st.builds(api.ResourceRequirements, requests=AMOUNTS, limits=AMOUNTS)
CONTAINERS = st.lists(
    st.builds(api.Container, name=st.just("c"), resources=RESOURCES, restart_policy=st.sampled_from([None, "Always"])),
    max_size=2,
).map(tuple)
NAMES = st.sampled_from(["web", 'a"b', "back\\slash", "line\nend", "ü", ""])
PODS = st.builds(
    api.Pod,
    metadata=st.builds(api.ObjectMeta, name=NAMES, namespace=NAMES),
    spec=st.builds(
        api.PodSpec,
        containers=CONTAINERS,
        init_containers=CONTAINERS,
        overhead=AMOUNTS,
        node_name=NAMES,
        scheduler_name=NAMES,
        priority=st.sampled_from([None, 0, 7, -3]),
        resources=st.none() | RESOURCES,
    ),
    status=st.builds(api.PodStatus, phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"])),
)


@given(st.lists(PODS, max_size=6))
def test_the_text_is_what_the_client_of_prometheus_writes(pods: list[api.Pod]) -> None:
    assert "".join(pod_resources(pods)).encode() == pod_resources_twin(pods)
