# SPDX-License-Identifier: Apache-2.0
"""A scenario from its start to its end: parameters, stop conditions, numbers, expectations, repetition."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.scenario.scenarios import a_deployment, a_node, a_pod, a_scenario, arriving

from steersman import Simulation
from steersman.simulation.scenario import load_scenario, open_scenario, run_scenario


def test_parameters_fill_in_values_with_their_types_and_texts() -> None:
    document = a_scenario(
        parameters={"count": 3, "name": "web", "cost": "$5"},
        name="${name}-of-${count} for $${cost}",
        timeline=[{"at": 0, "apply": a_deployment("${name}")}],
    )
    document["timeline"][0]["apply"]["spec"]["replicas"] = "${count}"
    result = run_scenario(document)
    assert result.summary.scheduled == 3
    other = run_scenario(document, parameters={"count": 5, "name": "api"})
    assert other.summary.scheduled == 5
    assert all(pod.startswith("default/api-") for pod in other.placements)
    assert load_scenario(document).prepared().document.name == "web-of-3 for ${cost}"


def test_a_scenario_ends_when_nothing_would_change_any_more() -> None:
    result = run_scenario(a_scenario(timeline=[{"at": 60, "apply": a_pod("p", run_seconds="30")}]))
    assert result.summary.seconds == 90
    assert result.milestones[-1].text == "ends: nothing would change any more"


def test_a_scenario_ends_at_its_time() -> None:
    document = a_scenario(generators=[arriving()], stop={"after": "10m"})
    assert run_scenario(document).summary.seconds == 600
    assert run_scenario(document, until=300).summary.seconds == 300


def test_a_scenario_may_end_at_rest_before_its_time() -> None:
    step = {"at": 60, "apply": a_pod("p", run_seconds="30")}
    document = a_scenario(timeline=[step], stop={"after": "10m", "atRest": True})
    assert run_scenario(document).summary.seconds == 90


def test_a_scenario_ends_when_a_pod_has_waited_too_long() -> None:
    step = {"at": 100, "apply": a_pod("huge", cpu="100")}
    result = run_scenario(a_scenario(timeline=[step], stop={"after": "1h", "pendingLongerThan": "5m"}))
    assert result.summary.seconds == 400
    assert result.milestones[-1].text == "stops: pod default/huge has waited for 5m0s"


def test_a_scenario_ends_when_too_many_wait_or_enough_are_done() -> None:
    crowd = a_scenario(generators=[arriving(per_hour=3600)], stop={"after": "1h", "pendingMoreThan": 5})
    assert run_scenario(crowd).milestones[-1].text.endswith("pods wait")
    busy = a_scenario(generators=[arriving(runTime=5)], stop={"after": "1h", "completed": 10})
    assert 10 <= run_scenario(busy).numbers["completed"] < 20


def test_numbers_count_waiting_pods_and_their_time() -> None:
    first, second = a_pod("first", cpu="4", run_seconds="100"), a_pod("second", cpu="4", run_seconds="100")
    step = {"at": 10, "apply": [first, second]}
    numbers = run_scenario(a_scenario(cluster=[a_node("n1")], timeline=[step])).numbers
    assert (numbers["arrived"], numbers["completed"], numbers["maxPending"]) == (2, 2, 1)
    assert (numbers["waitP50"], numbers["waitMax"]) == (0, 100)
    assert numbers["nodeHours"] == pytest.approx(210 / 3600, abs=1e-6)


def test_utilisation_is_averaged_over_time_and_series_are_kept() -> None:
    step = {"at": 100, "apply": a_pod("half", cpu="2")}
    result = run_scenario(a_scenario(cluster=[a_node("n1")], timeline=[step], stop={"after": 400}))
    assert result.numbers["cpuShare"] == pytest.approx(0.375, abs=0.02)
    assert result.series.utilisation["cpu"][-1] == 0.5


def test_only_the_numbers_that_are_requested_are_reported() -> None:
    result = run_scenario(a_scenario(measure=["nodes", "cost"], expect={"pending": 0}))
    assert list(result.numbers) == ["nodes", "cost"]
    assert result.is_as_expected


@pytest.mark.parametrize(
    ("expected", "is_met"),
    [
        (1, True),
        (0, False),
        ("<= 1", True),
        ("< 1", False),
        ("> 0", True),
        ("!= 1", False),
        ("0..3", True),
        ("2..3", False),
    ],
)
def test_expectations_are_compared(expected: Any, is_met: bool) -> None:
    document = a_scenario(timeline=[{"at": 0, "apply": a_pod("huge", cpu="100")}], expect={"pending": expected})
    result = run_scenario(document)
    assert result.is_as_expected == is_met
    assert (result.checks[0].value, result.checks[0].expected) == (1, str(expected))


def test_expectations_may_be_durations() -> None:
    document = a_scenario(timeline=[{"at": "2m", "cordon": "n1"}], expect={"seconds": "== 2m"})
    assert run_scenario(document).is_as_expected


def test_a_result_is_pickled_without_its_simulation() -> None:
    result = run_scenario(a_scenario(generators=[arriving(count=5)], expect={"pending": 0}))
    copy = pickle.loads(pickle.dumps(result))
    assert copy.to_dict() == result.to_dict()
    assert not hasattr(copy, "simulation")


def test_pods_of_a_scenario_are_explained_afterwards() -> None:
    document = a_scenario(
        generators=[arriving(count=5, runTime=600)],
        timeline=[{"at": 30, "cordon": "n1"}, {"at": 60, "apply": a_pod("huge", cpu="100")}],
    )
    result = run_scenario(document, seed=2)
    for pod in ("default/batch-4", "default/huge"):
        assert result.explain(pod).node == result.placements[pod].node


def test_a_scenario_goes_on_where_it_ended() -> None:
    result = run_scenario(a_scenario(timeline=[{"at": 0, "apply": a_deployment(replicas=2)}], stop={"after": "1m"}))
    later = result.simulation.patch("deployment/web", {"spec": {"replicas": 4}}).run()
    assert later.summary.scheduled == 4


def test_configuration_plugins_and_gates_from_outside_are_used() -> None:
    packing = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
                        },
                    }
                ]
            }
        ],
    }
    document = a_scenario(timeline=[{"at": 0, "apply": [a_pod(f"p{index}") for index in range(3)]}])
    spread = {placement.node for placement in run_scenario(document).placements.values()}
    packed = {placement.node for placement in run_scenario(document, config=packing).placements.values()}
    assert (len(spread), len(packed)) == (2, 1)


# -- properties --------------------------------------------------------------------------------------------------------

sizes = st.lists(st.integers(1, 6), min_size=1, max_size=12)


@given(sizes, st.integers(0, 5))
@examples(10)
def test_a_scenario_of_applies_at_the_start_is_the_plain_simulation(cpus: list[int], seed: int) -> None:
    pods = [a_pod(f"p{index}", str(cpu)) for index, cpu in enumerate(cpus)]
    workload = a_deployment(replicas=len(cpus))
    document = a_scenario(timeline=[{"at": 0, "apply": [*pods, workload]}])
    plain = Simulation.load(document["cluster"], seed=seed).add(pods, workload).run()
    result = run_scenario(document, seed=seed).to_dict()
    del result["scenario"]
    assert result == plain.to_dict()


@given(st.integers(0, 1000), st.floats(30, 120), st.integers(1, 30))
@examples(3)
def test_the_same_seed_gives_the_same_result(seed: int, rate: float, crash: int) -> None:
    document = a_scenario(
        generators=[arriving(per_hour=rate, until="10m", runTime="lognormal(median=60, sigma=1)")],
        timeline=[{"at": crash, "reboot": "n1"}, {"at": "5m", "drain": "n2"}, {"at": "6m", "uncordon": "n2"}],
        stop={"after": "15m"},
    )
    assert run_scenario(document, seed=seed).to_dict() == run_scenario(document, seed=seed).to_dict()


def test_a_scenario_played_decision_by_decision_ends_as_one_that_is_run() -> None:
    document = a_scenario(
        timeline=[{"at": "1m", "apply": [a_deployment(replicas=3)]}, {"at": "2m", "cordon": "n1"}],
        generators=[arriving(per_hour=600, count=30, runTime="exponential(mean=200)")],
    )
    whole = run_scenario(document, seed=3)
    played = open_scenario(document, seed=3)
    decided = 0
    while (upcoming := played.next_decision()) is not None:
        assert upcoming.pod == played.simulation.decide().pod.key
        decided += 1
    assert played.is_over
    result = played.result()
    assert decided == whole.summary.decisions > 30
    assert (result.placements, result.numbers) == (whole.placements, whole.numbers)
    assert result.milestones == whole.milestones
    assert played.next_decision() is None


def test_a_caller_may_decide_otherwise_and_the_scenario_goes_on() -> None:
    document = a_scenario(generators=[arriving(per_hour=3600, count=4)], stop={"after": "1m"})
    played = open_scenario(document)
    while played.next_decision() is not None:
        played.simulation.decide("n2")
    assert {each.node for each in played.result().placements.values()} == {"n2"}
    assert played.simulation.now == 60


def test_makespan_and_fairness_count_pods_that_are_gone() -> None:
    """Each namespace has a pod of a minute; there is room for one at a time, and finished pods are deleted."""
    one, two = (a_pod("job", cpu="3", run_seconds="60") for _ in range(2))
    one["metadata"]["namespace"], two["metadata"]["namespace"] = "x", "y"
    document = a_scenario(
        cluster=[a_node("n1")],
        timeline=[
            {"at": "10s", "apply": [one, two]},
            {"at": "5m", "delete": ["pod/x/job", "pod/y/job"]},
        ],
    )
    result = run_scenario(document)
    assert not result.placements
    assert result.numbers["makespan"] == 120
    assert result.numbers["jainIndex"] == 0.9
