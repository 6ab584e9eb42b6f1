# SPDX-License-Identifier: Apache-2.0
"""A node must have enough left of everything that the pod requests."""

from __future__ import annotations

import pytest
from tests.plugins.node_resources.fitting import FPGA, GPU, HUGE_PAGES, NATIVE, fit_plugin, verdict

from steersman.framework.cycle_state import CycleState
from steersman.framework.status import Code, Status, unresolvable, unschedulable
from steersman.scheduler.plugins.node_resources.fit import ERR_SIDECARS_DISABLED
from steersman.scheduler.plugins.node_resources.insufficient import REASON_TOO_MANY_PODS, insufficient_reason
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

NO_CPU = insufficient_reason("cpu")
NO_MEMORY = insufficient_reason("memory")


def small_node() -> NodeBuilder:
    return make_node().capacity(pods=32, cpu="10m", memory=20, **{"ephemeral-storage": 20, GPU: 5, HUGE_PAGES: 5})


def using(**requests: str | int) -> PodBuilder:
    return make_pod("running").req(**requests)


def test_pod_without_requests_fits_a_full_node() -> None:
    assert verdict(make_pod(), small_node().info(using(cpu="10m", memory=20))) is None


def test_every_lacking_resource_is_named_cpu_before_memory_before_storage() -> None:
    node = small_node().info(using(cpu="10m", memory=20, **{"ephemeral-storage": 20}))

    found = verdict(make_pod().req(**{"ephemeral-storage": "1", "memory": "1", "cpu": "1m"}), node)

    assert found == unschedulable(NO_CPU, NO_MEMORY, insufficient_reason("ephemeral-storage"))


def test_further_resources_are_named_in_alphabetical_order() -> None:
    pod = make_pod().req(**{NATIVE: "1", GPU: "9", FPGA: "1", "cpu": "11m"})

    found = verdict(pod, small_node().info())

    assert found == unresolvable(NO_CPU, *map(insufficient_reason, (FPGA, GPU, NATIVE)))


@pytest.mark.parametrize(
    ("pod", "used", "expected"),
    [
        pytest.param(make_pod().req(cpu="1m", memory=1), ("5m", 5), None, id="both fit"),
        pytest.param(make_pod().req(cpu="5m", memory=1), ("5m", 19), None, id="exactly what is left"),
        pytest.param(make_pod().req(cpu="2m", memory=1), ("9m", 5), unschedulable(NO_CPU), id="cpu lacks"),
        pytest.param(make_pod().req(cpu="1m", memory=2), ("5m", 19), unschedulable(NO_MEMORY), id="memory lacks"),
        pytest.param(make_pod().req(cpu="1m").req(cpu="2m"), ("8m", 0), unschedulable(NO_CPU), id="containers add up"),
        pytest.param(
            make_pod().req(cpu="1m").init_req(cpu="3m").init_req(cpu="2m"),
            ("8m", 0),
            unschedulable(NO_CPU),
            id="the greatest init container decides",
        ),
        pytest.param(
            make_pod().req(cpu="1m").init_req(cpu="1m").init_req(cpu="1m"), ("9m", 0), None, id="init containers share"
        ),
        pytest.param(
            make_pod().req(cpu="1m").sidecar_req(cpu="1m"), ("9m", 0), unschedulable(NO_CPU), id="sidecars add up"
        ),
        pytest.param(
            make_pod().req(cpu="1m", memory=1).overhead(cpu="1m", memory=15),
            ("5m", 5),
            unschedulable(NO_MEMORY),
            id="overhead comes on top",
        ),
        pytest.param(
            make_pod().req(cpu="1m", memory=1).pod_req(cpu="7m", memory=2),
            ("5m", 5),
            unschedulable(NO_CPU),
            id="pod-level requests replace the sum",
        ),
        pytest.param(
            make_pod().req(cpu="1m").pod_req(cpu="3m").overhead(cpu="3m"),
            ("5m", 5),
            unschedulable(NO_CPU),
            id="overhead comes on top of pod-level requests",
        ),
    ],
)
def test_requests_are_compared_with_what_is_left(
    pod: PodBuilder, used: tuple[str, int], expected: Status | None
) -> None:
    assert verdict(pod, small_node().info(using(cpu=used[0], memory=used[1]))) == expected


@pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage", GPU, FPGA, NATIVE, HUGE_PAGES])
def test_asking_for_more_than_the_node_has_cannot_be_resolved(resource: str) -> None:
    assert verdict(make_pod().req(**{resource: 21}), small_node().info()) == unresolvable(insufficient_reason(resource))


def test_one_hopeless_resource_makes_the_rejection_unresolvable() -> None:
    node = small_node().info(using(cpu="10m"))

    assert verdict(make_pod().req(cpu="1m", memory=21), node) == unresolvable(NO_CPU, NO_MEMORY)


def test_asking_for_more_of_an_extended_resource_than_is_left_can_be_resolved() -> None:
    node = small_node().info(using(**{GPU: 3}))

    assert verdict(make_pod().req(**{GPU: 3}), node) == unschedulable(insufficient_reason(GPU))
    assert verdict(make_pod().req(**{GPU: 2}), node) is None


def test_zero_of_an_extended_resource_fits_an_overcommitted_node() -> None:
    assert verdict(make_pod().req(**{GPU: 0}), small_node().info(using(**{GPU: 6}))) is None
    assert verdict(make_pod().req(**{FPGA: 0}), small_node().info()) is None


def test_a_request_of_a_name_without_account_is_not_checked() -> None:
    assert verdict(make_pod().req(unknown=100), small_node().info()) is None


def test_a_node_takes_no_more_pods_than_it_allows() -> None:
    node = make_node().capacity(pods=1, cpu="10m").info(using(cpu="9m"))

    assert verdict(make_pod(), node) == unschedulable(REASON_TOO_MANY_PODS)
    assert verdict(make_pod().req(cpu="2m"), node) == unschedulable(REASON_TOO_MANY_PODS, NO_CPU)


def test_a_node_that_does_not_say_how_many_pods_it_takes_takes_none() -> None:
    node = make_node().capacity(pods=0).info()

    assert verdict(make_pod(), node) == unschedulable(REASON_TOO_MANY_PODS)


def test_filter_without_pre_filter_is_a_fault() -> None:
    status = fit_plugin().filter(CycleState(), make_pod().info(), small_node().info())

    assert status == Status(Code.ERROR, ('error reading "PreFilterNodeResourcesFit" from cycleState: not found',))


def test_sidecars_are_rejected_where_their_feature_is_disabled() -> None:
    plugin = fit_plugin(gates={"SidecarContainers": False})
    node = small_node().info()

    assert plugin.pre_filter(CycleState(), make_pod().sidecar_req().info(), [node]) == unresolvable(
        ERR_SIDECARS_DISABLED
    )
    assert plugin.pre_filter(CycleState(), make_pod().init_req().info(), [node]) is None
