# SPDX-License-Identifier: Apache-2.0
"""The report of a simulation."""

from __future__ import annotations

import pickle
from typing import TypeVar

import pytest

from steersman import Simulation
from steersman.api import ZONE_LABEL, Node
from steersman.base.report import BarChart, Figures, HeatMap, LineChart, Report, Section, Table, render_html
from steersman.simulation import Result
from steersman.simulation.report import node_groups, pending_causes, pending_reasons, reasons_of, simulation_report
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

SectionT = TypeVar("SectionT", bound=Section)


def node(name: str, cpu: str = "4") -> NodeBuilder:
    return make_node(name).capacity(cpu=cpu)


def pod(name: str, cpu: str) -> PodBuilder:
    return make_pod(name).req(cpu=cpu)


def ran(simulation: Simulation) -> tuple[Result, Result]:
    before = simulation.result()
    return before, simulation.run()


def section(report: Report, title: str, kind: type[SectionT]) -> SectionT:
    (found,) = (section for section in report.sections if section.title == title)
    assert isinstance(found, kind)
    return found


@pytest.fixture
def crowded() -> Simulation:
    """Two nodes of 4 cpu each, one of them half full, and three pods of 3 cpu."""
    nodes = [node("a").label(ZONE_LABEL, "one"), node("b").label(ZONE_LABEL, "two")]
    pods = [pod("old", "2").node("a"), *(pod(f"new-{number}", "3") for number in range(3))]
    return Simulation.load(*(node.obj() for node in nodes), *(pod.obj() for pod in pods))


def test_the_answer_counts_pods(crowded: Simulation) -> None:
    before, after = ran(crowded)
    report = simulation_report(after, before)
    assert report.answer == "1 of 3 pods are scheduled on 2 nodes; 2 pending."
    assert report.fits is False


def test_pods_with_one_message_are_explained_by_one_of_them(crowded: Simulation) -> None:
    _, after = ran(crowded)
    assert pending_causes(after) == (
        [
            (
                2,
                "default/new-1",
                "The pod needs 3 cpu on one node; 2 nodes have 3 or more, none has more than 2 free; "
                "3 are free in total, but fragmented.",
            )
        ],
        [],
    )


def test_causes_of_more_messages_are_counted(crowded: Simulation) -> None:
    crowded.add(pod("taller", "5").obj())
    _, after = ran(crowded)
    causes = pending_causes(after, most=1)
    assert len(causes.rows) == 1
    assert len(causes.others) == 1


def test_a_result_that_was_pickled_gives_messages_for_causes(crowded: Simulation) -> None:
    _, after = ran(crowded)
    ((_, pod, cause),) = pending_causes(pickle.loads(pickle.dumps(after))).rows
    assert cause == after.pending[pod].message


def test_a_run_in_which_all_fits_is_a_yes() -> None:
    report = simulation_report(Simulation.load(node("a").obj(), pod("p", "1").obj()).run())
    assert report.answer == "All 1 pods are scheduled, on 1 node."
    assert report.fits is True


def test_heat_maps_show_nodes_before_and_after_by_zone(crowded: Simulation) -> None:
    before, after = ran(crowded)
    groups = node_groups(crowded.cluster.objects(Node).values())
    heat = section(simulation_report(after, before, groups), "cpu requested by node", HeatMap)
    assert heat.before == {"a": 0.5, "b": 0.0}
    assert heat.after == {"a": 0.5, "b": 0.75}
    assert heat.groups == {"a": "one", "b": "two"}


def test_pools_are_groups_where_a_node_names_one() -> None:
    nodes = [node("a").label("steersman.dev/pool", "general").obj(), node("b").label(ZONE_LABEL, "one").obj()]
    assert node_groups(nodes) == {"a": "general", "b": ""}


def test_a_run_that_takes_time_has_charts_over_time() -> None:
    first = pod("first", "3").annotation("steersman.dev/run-seconds", "60").obj()
    report = simulation_report(Simulation.load(node("a").obj(), first, pod("second", "3").obj()).run())
    cpu = section(report, "Utilisation over time", LineChart).series["cpu"]
    assert (cpu.x[-1] >= 60, max(value or 0 for value in cpu.y)) == (True, 0.75)
    assert section(report, "Pending pods over time", LineChart).unit == "pods"
    assert any(section(report, "Waiting for a node", LineChart).series["p99"].y)


def test_prices_of_nodes_add_up_to_the_cost() -> None:
    priced = [node(name).annotation("steersman.dev/price-per-hour", "0.25").obj() for name in "ab"]
    figures = section(simulation_report(Simulation.load(priced).run()), "At a glance", Figures)
    assert figures.values["cost per hour"] == 0.5


def test_a_run_that_takes_no_time_has_none(crowded: Simulation) -> None:
    assert not any(isinstance(part, LineChart) for part in simulation_report(crowded.run()).sections)


def test_tables_have_a_row_per_pod_and_node(crowded: Simulation) -> None:
    before, after = ran(crowded)
    report = simulation_report(after, before)
    assert [row[:2] for row in section(report, "Placements", Table).rows] == [
        ("default/new-0", "b"),
        ("default/new-1", None),
        ("default/new-2", None),
    ]
    assert [row[:5] for row in section(report, "Nodes", Table).rows] == [
        ("a", None, 0.5, 2.0, 4.0),
        ("b", None, 0.75, 3.0, 4.0),
    ]
    assert len(section(report, "Pending pods", Table).rows) == 2
    assert section(report, "At a glance", Figures).values["pending"] == 2


def test_reasons_are_counted_by_pods_and_then_by_nodes() -> None:
    nodes = [*(node(f"n{number}", "1") for number in range(3)), node("off").unschedulable()]
    pods = [pod("big", "2"), pod("bigger", "3")]
    result = Simulation.load(*(node.obj() for node in nodes), *(pod.obj() for pod in pods)).run()
    assert list(pending_reasons(result).items()) == [("Insufficient cpu", 2), ("node(s) were unschedulable", 2)]
    chart = section(simulation_report(result), "Pending pods by reason", BarChart)
    assert list(chart.categories) == ["Insufficient cpu", "node(s) were unschedulable"]


def test_reasons_keep_dots_and_commas_of_their_own() -> None:
    message = (
        "0/6 nodes are available: 1 node(s) had volume node affinity conflict, 5 Insufficient example.com/gpu. preemption: 0/6 "
        "nodes are available: 6 No preemption victims found for incoming pod."
    )
    assert reasons_of(message) == {"node(s) had volume node affinity conflict": 1, "Insufficient example.com/gpu": 5}
    assert reasons_of("held back") == {}


def test_a_pod_that_was_never_tried_is_counted_by_its_state() -> None:
    result = Simulation.load(node("a").obj(), pod("gated", "1").gate("wait").obj()).run()
    assert pending_reasons(result) == {"SchedulingGated": 1}


def test_an_empty_cluster_has_a_report_too() -> None:
    page = render_html(simulation_report(Simulation.load(pod("p", "1").obj()).run()))
    assert "0 of 1 pods are scheduled on 0 nodes" in page
