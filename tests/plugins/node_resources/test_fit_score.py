# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesFit scores a node by how full it would be with the pod."""

from __future__ import annotations

import pytest
from tests.plugins.node_resources.fitting import GPU, fit_plugin, fit_score, resources, strategy

from steersman.base.errors import InputError
from steersman.config import NodeResourcesFitArgs, ScoringStrategy, ScoringStrategyType
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import error
from steersman.scheduler.plugins.node_resources.allocation import ERR_NO_RESOURCES
from steersman.testing import make_node, make_pod

LEAST = ScoringStrategyType.LEAST_ALLOCATED
MOST = ScoringStrategyType.MOST_ALLOCATED
MEBIBYTE = 1024 * 1024

#: cpu 3, memory 5000 in two containers.
POD = make_pod().req(cpu=1, memory=2000).req(cpu=2, memory=3000)


@pytest.mark.parametrize(("cpu", "least", "most"), [(4, (25 + 50) // 2, (75 + 50) // 2), (6, 50, 50)])
def test_the_score_is_the_average_free_or_used_share(cpu: int, least: int, most: int) -> None:
    node = make_node().capacity(cpu=cpu, memory=10000).info()

    assert fit_score(POD, node, strategy(LEAST)) == least
    assert fit_score(POD, node, strategy(MOST)) == most


def test_pods_on_the_node_count() -> None:
    node = make_node().capacity(cpu=10, memory=20000).info(make_pod("running").req(cpu=3, memory=5000))

    assert fit_score(POD, node, strategy(LEAST)) == (40 + 50) // 2
    assert fit_score(POD, node, strategy(MOST)) == (60 + 50) // 2


def test_weights_shift_the_average() -> None:
    node = make_node().capacity(cpu=4, memory=10000).info()
    specs = resources(memory=2, cpu=1)

    assert fit_score(POD, node, strategy(LEAST, specs)) == (2 * 50 + 25) // 3
    assert fit_score(POD, node, strategy(MOST, specs)) == (2 * 50 + 75) // 3


def test_more_than_the_capacity_is_as_much_as_the_capacity() -> None:
    node = make_node().capacity(cpu=4, memory=10000).info(make_pod("running").req(cpu=3, memory=0))
    pod = make_pod().req(cpu=3, memory=0)

    assert fit_score(pod, node, strategy(LEAST)) == (0 + 100) // 2
    assert fit_score(pod, node, strategy(MOST)) == (100 + 0) // 2


def test_containers_that_name_no_request_count_with_the_minimum() -> None:
    node = make_node().capacity(cpu=1, memory=800 * MEBIBYTE).info(make_pod("running").container())

    assert fit_score(make_pod().container(), node, strategy(LEAST)) == (80 + 50) // 2
    assert fit_score(make_pod().req(cpu=0, memory=0), node, strategy(LEAST)) == (90 + 75) // 2


def test_a_pod_without_containers_counts_nothing() -> None:
    assert fit_score(make_pod(), make_node().capacity(cpu=1, memory=1).info(), strategy(LEAST)) == 100


def test_sidecars_and_init_containers_count() -> None:
    node = make_node().capacity(cpu=10, memory=10000).info()
    pod = make_pod().req(cpu=1, memory=0).sidecar_req(cpu=2, memory=0).init_req(cpu=4, memory=0)

    assert fit_score(pod, node, strategy(LEAST, resources(cpu=1))) == 40


def test_pod_level_requests_of_the_incoming_pod_do_not_count() -> None:
    node = make_node().capacity(cpu=10, memory=10000).info()

    assert fit_score(make_pod().req(cpu=1, memory=0).pod_req(cpu=5), node, strategy(LEAST, resources(cpu=1))) == 90


def test_pod_level_requests_of_pods_on_the_node_count() -> None:
    node = make_node().capacity(cpu=10, memory=10000).info(make_pod("running").req(cpu=1, memory=0).pod_req(cpu=5))

    assert fit_score(make_pod().req(cpu=1, memory=0), node, strategy(LEAST, resources(cpu=1))) == 40


def test_an_extended_resource_counts_only_for_pods_that_request_it() -> None:
    specs = resources(cpu=1, memory=1, **{GPU: 1})
    node = make_node().capacity(cpu=6, memory=10000, **{GPU: 10}).info()

    assert fit_score(POD, node, strategy(LEAST, specs)) == 50
    assert (
        fit_score(make_pod().req(cpu=3, memory=5000, **{GPU: 2}), node, strategy(LEAST, specs)) == (50 + 50 + 80) // 3
    )
    assert fit_score(make_pod().req(cpu=3, memory=5000, **{GPU: 2}), node, strategy(MOST, specs)) == (50 + 50 + 20) // 3


def test_a_resource_that_the_node_does_not_have_is_left_out_of_the_average() -> None:
    specs = resources(cpu=1, memory=1, **{GPU: 5})
    node = make_node().capacity(cpu=6, memory=10000).info()

    assert fit_score(make_pod().req(cpu=3, memory=4000, **{GPU: 2}), node, strategy(LEAST, specs)) == (50 + 60) // 2


def test_storage_counts_even_if_the_pod_requests_none() -> None:
    node = make_node().capacity(**{"ephemeral-storage": 100}).info(make_pod("running").req(**{"ephemeral-storage": 25}))

    assert fit_score(make_pod(), node, strategy(LEAST, resources(**{"ephemeral-storage": 1}))) == 75


def test_the_number_of_pods_is_not_a_resource_to_score_by() -> None:
    assert fit_score(POD, make_node().capacity(pods=10).info(), strategy(LEAST, resources(pods=1))) == 0


def test_a_node_without_resources_scores_nothing() -> None:
    assert fit_score(POD, make_node().info(), strategy(LEAST)) == 0
    assert fit_score(POD, make_node().info(), strategy(MOST)) == 0


def test_a_hundred_times_a_huge_amount_wraps_around() -> None:
    node = make_node().capacity(memory="1Ei").info()
    specs = resources(memory=1)

    assert fit_score(make_pod().req(memory=0), node, strategy(LEAST, specs)) == 4
    assert fit_score(make_pod().req(memory="1Ei"), node, strategy(MOST, specs)) == 4
    assert fit_score(make_pod().req(memory="2Ei"), node, strategy(LEAST, specs)) == 0


def test_without_resources_scoring_is_a_fault() -> None:
    assert fit_score(POD, make_node().info(), strategy(LEAST, ())) == error(ERR_NO_RESOURCES)


def test_score_works_without_pre_score() -> None:
    node = make_node().capacity(cpu=6, memory=10000).info()

    assert fit_plugin().score(CycleState(), POD.info(), node) == 50


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(InputError, match="scoring strategy Fullest is not supported"):
        fit_plugin(NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="Fullest")))


def test_a_missing_strategy_is_refused() -> None:
    with pytest.raises(InputError, match="scoring strategy not specified"):
        fit_plugin(NodeResourcesFitArgs(scoring_strategy=None))
