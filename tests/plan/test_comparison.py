# SPDX-License-Identifier: Apache-2.0
"""Configurations beside each other: a row per configuration and seed, and what is certain of their difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np
import pytest

from steersman import Simulation, api, plan
from steersman.base.errors import InputError
from steersman.plan.comparison import Variant, interval
from steersman.plan.measures import measure, moved_between
from steersman.simulation.results.confidence import estimate
from steersman.testing import make_node, make_pod

PACKED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                        }
                    },
                }
            ],
            "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
        }
    ],
}

RANDOM_STARTS = {
    "apiVersion": "steersman.dev/v1",
    "kind": "KubeletPolicy",
    "pods": {"startSeconds": "uniform(1, 9)"},
}


def a_cluster(**node: Any) -> list[api.Object]:
    nodes = [make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=10).obj() for number in range(4)]
    pods = [make_pod(f"p{number}").req(cpu="1", memory="1Gi").obj() for number in range(6)]
    return [*nodes, *pods]


def test_a_packing_strategy_uses_fewer_nodes_with_every_seed() -> None:
    answer = plan.compare(a_cluster(), [Variant("default"), Variant("packed", PACKED)], seeds=5, workers=1)
    assert len(answer.runs) == 10
    assert [run["nodesUsed"] for run in answer.runs if run["configuration"] == "packed"] == [2] * 5
    assert answer.means["default"]["nodesUsed"].mean == 4
    assert answer.differences["packed"]["nodesUsed"] == plan.comparison.Interval(-2, -2, -2)
    assert "nodesUsed -2" in answer.sentence()
    assert answer.is_met


def test_processes_give_the_rows_that_one_process_gives() -> None:
    variants = [Variant("default"), Variant("packed", PACKED)]
    here = plan.compare(a_cluster(), variants, seeds=2, workers=1)
    assert plan.compare(a_cluster(), variants, seeds=2, workers=2) == here


def test_pods_on_nodes_stay_there_unless_everything_is_placed_again() -> None:
    nodes = [make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=10).obj() for number in range(4)]
    pods = [make_pod(f"p{number}").req(cpu="1", memory="1Gi").node(f"n{number}").obj() for number in range(4)]
    variants = [Variant("default"), Variant("packed", PACKED)]
    assert plan.compare([*nodes, *pods], variants, seeds=1, workers=1).means["packed"]["nodesUsed"].mean == 4
    anew = plan.compare([*nodes, *pods], variants, seeds=1, workers=1, reschedule=True)
    assert anew.means["packed"]["nodesUsed"].mean == 1
    assert anew.runs[1]["moved"] == 3


def test_a_configuration_that_leaves_more_pods_pending_is_a_no() -> None:
    nodes = [make_node("n1").capacity(cpu="4", memory="8Gi", pods=10).obj()]
    pod = make_pod("p").req(cpu="1").toleration("x").obj()
    alone = {**PACKED, "profiles": [{"schedulerName": "other"}]}
    answer = plan.compare([*nodes, pod], [Variant("default"), Variant("other", alone)], seeds=1, workers=1)
    assert [run["pending"] for run in answer.runs] == [0, 1]
    assert not answer.is_met


def test_intervals_of_five_seeds_hold_the_mean_in_nineteen_of_twenty_cases() -> None:
    random, hits = np.random.default_rng(1), 0
    for _ in range(400):
        found = interval(list(random.normal(10, 2, 5)))
        hits += found.low <= 10 <= found.high
    assert 365 <= hits <= 395


def test_a_comparison_and_a_sweep_tell_the_same_interval() -> None:
    values = [3.0, 5.0, 4.0, 9.0]
    found, estimated = interval(values), estimate(values)
    assert (found.mean, found.low, found.high) == pytest.approx((estimated.mean, estimated.low, estimated.high))
    assert interval([3.0]) == plan.comparison.Interval(3, 3, 3)


def test_waiting_and_fragmentation_are_those_of_the_series_of_the_run() -> None:
    nodes = [make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods=10).obj() for number in range(3)]
    pods = [make_pod(f"p{number}").req(cpu="3", memory="1Gi").obj() for number in range(5)]
    (run, _) = plan.compare([*nodes, *pods], [Variant("one"), Variant("two")], seeds=1, workers=1).runs
    series = Simulation.load(*nodes, *pods, seed=0).run().series
    assert (run["pending"], run["fragmentationCpu"]) == (2, 0.25)
    assert run["fragmentationMemory"] == pytest.approx(series.fragmentation["memory"][-1], abs=1e-6)
    assert (run["waitP50"], run["waitP99"]) == pytest.approx((series.waiting.p50[-1], series.waiting.p99[-1]), abs=1e-6)


def test_moved_pods_are_counted_by_their_owners() -> None:
    assert moved_between({("web", "n1"): 2}, {("web", "n1"): 1, ("web", "n2"): 1}) == 1


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ([Variant("a")], "one configuration alone cannot be compared"),
        ([Variant("a"), Variant("a")], "two configurations have one name"),
    ],
)
def test_what_cannot_be_compared_is_refused(variants: list[Variant], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan.compare(a_cluster(), variants)


def test_kinds_that_plugins_declare_are_read() -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "coscheduling"
    sources = [str(example / "cluster.yaml"), str(example / "pods.yaml")]
    variants = [Variant(name, str(example / "config.yaml")) for name in ("one", "two")]
    answer = plan.compare(sources, variants, seeds=1, workers=1)
    alone = Simulation.load(sources, config=str(example / "config.yaml")).run()
    assert answer.runs[0]["pending"] == len(alone.pending)
    assert answer.runs[0] == {**answer.runs[1], "configuration": "one"}


@pytest.mark.parametrize("kubelets", [None, RANDOM_STARTS], ids=["forked for each seed", "loaded for each seed"])
def test_every_run_is_that_of_a_cluster_loaded_with_its_seed(kubelets: dict[str, Any] | None) -> None:
    objects = [*a_cluster(), make_pod("running").req(cpu="1", memory="1Gi").node("n0").obj()]
    variants = [Variant("default"), Variant("packed", PACKED)]
    answer = plan.compare(objects, variants, seeds=3, first_seed=5, workers=1, kubelets=kubelets)
    alone = []
    for variant in variants:
        for seed in (5, 6, 7):
            with Simulation.load(*objects, config=variant.config, seed=seed, kubelets=kubelets) as simulation:
                measured = measure(simulation, simulation.run())
            alone.append({"configuration": variant.name, "seed": seed, **msgspec.to_builtins(measured)})
    assert [{name: run[name] for name in run if name != "moved"} for run in answer.runs] == alone


def test_the_objects_are_loaded_once_for_each_configuration() -> None:
    loads: list[int] = []
    load = Simulation.load

    def counting(*sources: Any, **options: Any) -> Simulation:
        loads.append(len(sources[0]) if sources else 0)
        return load(*sources, **options)

    with patch.object(Simulation, "load", counting):
        plan.compare(a_cluster(), [Variant("default"), Variant("packed", PACKED)], seeds=4, workers=1)
    assert [count for count in loads if count] == [10, 10]
