# SPDX-License-Identifier: Apache-2.0
"""Members of pod groups: what is missing, which placement comes closest, and what would help."""

from __future__ import annotations

import pytest

from steersman import Simulation, api
from steersman.explain import ExplainOptions, PodExplanation, PodState, explain_pod
from steersman.explain.fixes import FixKind
from steersman.explain.groups import GroupExplanation
from steersman.scheduler.diagnosis import CauseCode
from steersman.testing import make_node, make_pod, make_pod_group

GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}


def nodes(*racks: str, zone: str = "") -> list[api.Object]:
    """Return one node of 4 CPUs for each rack."""
    found: list[api.Object] = []
    for number, rack in enumerate(racks, 1):
        node = make_node(f"n{number}").allocatable(cpu="4", memory="8Gi", pods="110").label("rack", rack)
        found.append((node.label("zone", zone) if zone else node).obj())
    return found


def members(count: int, cpu: str, group: str = "gang") -> list[api.Object]:
    return [make_pod(f"{group}-{n}").req(cpu=cpu).in_group(group).obj() for n in range(count)]


def answer_of(*objects: api.Object, pod: str = "gang-0") -> PodExplanation:
    loaded = Simulation.load(*objects, emulated_version="1.37", gates=GATES)
    ended = loaded.fork()
    ended.run()
    return explain_pod(ended, pod, ExplainOptions(loaded=loaded))


def group_of(answer: PodExplanation) -> GroupExplanation:
    assert answer.group is not None
    return answer.group


def summaries(answer: PodExplanation, kind: FixKind) -> list[str]:
    return [fix.summary for fix in answer.fixes or () if kind in fix.parts]


def test_a_gang_that_is_too_large_names_the_member_that_finds_no_node() -> None:
    answer = answer_of(*nodes("a", "b", "c"), make_pod_group("gang").gang(5).obj(), *members(5, "3"))
    assert (answer.state, answer.cause.code) == (PodState.PENDING, CauseCode.POD_GROUP)
    assert answer.cause.sentence == (
        "Gang default/gang needs 5 pods at the same time: 3 of 5 waiting pods found a node; default/gang-3 did not: "
        "0/3 nodes are available: 3 Insufficient cpu."
    )
    group = group_of(answer)
    assert (group.min_count, group.running, group.waiting, group.missing, group.fits) == (5, 0, 5, 0, False)


def test_a_gang_without_enough_pods_says_how_many_are_missing() -> None:
    answer = answer_of(*nodes("a"), make_pod_group("gang").gang(4).obj(), *members(2, "1"))
    assert (answer.state, answer.cause.code) == (PodState.PENDING, CauseCode.HELD_BACK)
    assert answer.cause.sentence == "Gang default/gang needs 4 pods and has 2: 2 more pods have to be created."
    assert group_of(answer).missing == 2


def test_a_gang_without_enough_pods_may_be_made_smaller() -> None:
    answer = answer_of(*nodes("a"), make_pod_group("gang").gang(4).obj(), *members(2, "1"))
    (smaller,) = summaries(answer, FixKind.MIN_COUNT)
    assert smaller.startswith("Lower minCount of PodGroup gang from 4 to 2: ")


def test_a_member_of_a_missing_group_names_the_group() -> None:
    answer = answer_of(*nodes("a"), *members(2, "1"))
    assert answer.cause.code is CauseCode.HELD_BACK
    assert answer.cause.sentence == "PodGroup default/gang does not exist, and its 2 pods cannot be tried."


def test_placements_are_ordered_by_how_many_members_found_a_node() -> None:
    gang = make_pod_group("gang").gang(3).topology("rack").obj()
    answer = answer_of(*nodes("b", "a", "a"), gang, *members(3, "3"))
    placements = group_of(answer).placements
    assert [(each.placement, each.nodes, each.placed, each.refused) for each in placements] == [
        ("a", 2, 2, "default/gang-2"),
        ("b", 1, 1, "default/gang-1"),
    ]
    assert "rack=a comes closest, where 2 of 3 waiting pods found a node" in answer.cause.sentence
    text = answer.text()
    assert "rack=b (1 node): 1 of 3 found a node; default/gang-1 did not" in text
    assert text.count(placements[0].message) == 2


@pytest.mark.parametrize("form", ["text", "markdown", "_repr_html_"])
def test_every_form_of_the_answer_describes_the_group(form: str) -> None:
    gang = make_pod_group("gang").gang(3).topology("rack").obj()
    answer = answer_of(*nodes("b", "a", "a"), gang, *members(3, "3"))
    assert "0 members with a node, 3 waiting; at least 3 together." in getattr(answer, form)()


def test_a_smaller_gang_and_the_fewest_nodes_are_verified_changes() -> None:
    answer = answer_of(*nodes("a", "b", "c"), make_pod_group("gang").gang(5).obj(), *members(5, "3"))
    (smaller,) = [fix for fix in answer.fixes or () if FixKind.MIN_COUNT in fix.parts]
    assert smaller.summary.startswith("Lower minCount of PodGroup gang from 5 to 3: ")
    assert smaller.commands == (
        'kubectl patch --type=merge -p \'{"spec":{"schedulingPolicy":{"gang":{"minCount":3}}}}\' -- podgroup gang',
    )
    assert summaries(answer, FixKind.ADD_NODE)[0].startswith("Add 2 nodes (copies of n1: 4 cpu, 8Gi memory)")


def test_a_larger_domain_is_preferred_to_the_whole_cluster() -> None:
    gang = make_pod_group("gang").gang(2).topology("rack").obj()
    other = make_node("n9").allocatable(cpu="1").label("rack", "c").label("zone", "z2").obj()
    answer = answer_of(*nodes("a", "b", zone="z1"), other, gang, *members(2, "3"))
    (summary,) = summaries(answer, FixKind.TOPOLOGY_LEVEL)
    assert summary.startswith("Change the topology constraint of PodGroup gang from rack to zone: ")


def test_without_a_larger_domain_the_constraint_is_removed() -> None:
    gang = make_pod_group("gang").gang(2).topology("rack").obj()
    answer = answer_of(*nodes("a", "b"), gang, *members(2, "3"))
    (summary,) = summaries(answer, FixKind.TOPOLOGY_LEVEL)
    assert summary.startswith("Remove the topology constraint of PodGroup gang (now one domain of rack): ")


def test_a_group_that_fits_now_is_not_pending() -> None:
    gang = make_pod_group("gang").gang(2).obj()
    simulation = Simulation.load(*nodes("a"), gang, *members(2, "1"), emulated_version="1.37", gates=GATES)
    answer = explain_pod(simulation, "gang-0")
    assert (answer.state, answer.cause.sentence) == (PodState.FITS, "Gang default/gang fits now.")


def test_explaining_a_group_changes_nothing() -> None:
    gang = make_pod_group("gang").gang(3).obj()
    simulation = Simulation.load(*nodes("a"), gang, *members(3, "3"), emulated_version="1.37", gates=GATES)
    simulation.run()
    before = simulation.result().to_dict()
    explain_pod(simulation, "gang-1")
    assert simulation.result().to_dict() == before
