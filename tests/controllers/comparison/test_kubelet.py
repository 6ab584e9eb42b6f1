# SPDX-License-Identifier: Apache-2.0
"""The kubelets of a comparison: what they do next does not depend on random names, and ends."""

from __future__ import annotations

from typing import Any

from tests.controllers.comparison.kubelet import Act, Kubelets
from tests.controllers.comparison.scenario import KubeletRule

NODES: list[dict[str, Any]] = [
    {"metadata": {"name": "n1"}, "spec": {"unschedulable": True}},
    {"metadata": {"name": "n3"}, "spec": {}},
    {"metadata": {"name": "n2"}, "spec": {}},
]


def pod(name: str, owner: str = "", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": name, "ownerReferences": [{"uid": owner}] if owner else []}
    spec = {"containers": [{"name": "main", "image": fields.pop("image", "web:1")}]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}} | fields


def done(act: Act) -> dict[str, Any]:
    """The pod after the act."""
    return act.pod | {"spec": {**act.pod["spec"], "nodeName": act.node}, "status": {**act.pod["status"], **act.status}}


def test_pods_become_ready_on_the_first_node_that_takes_them_and_then_stay() -> None:
    kubelets = Kubelets()
    act = kubelets.next_act([pod("a")], [], NODES)

    assert act is not None
    assert (act.node, act.status["phase"]) == ("n2", "Running")
    assert kubelets.next_act([done(act)], [], NODES) is None


def test_pods_of_older_revisions_come_first_whatever_they_are_called() -> None:
    sets = [
        {"metadata": {"uid": f"rs{number}", "annotations": {"deployment.kubernetes.io/revision": str(number)}}}
        for number in (1, 2)
    ]
    for names in (("a", "z"), ("z", "a")):
        act = Kubelets().next_act([pod(names[0], "rs2"), pod(names[1], "rs1")], sets, NODES)
        assert act is not None
        assert act.pod["metadata"]["name"] == names[1]


def test_a_pod_that_goes_is_let_go_once_before_all_others() -> None:
    kubelets = Kubelets()
    going = pod("z")
    going["metadata"]["deletionTimestamp"] = "2031-01-01T00:00:00Z"

    first = kubelets.next_act([pod("a"), going], [], NODES)
    second = kubelets.next_act([pod("a"), going], [], NODES)

    assert first == Act(going, removed=True)
    assert second is not None
    assert second.pod["metadata"]["name"] == "a"


def test_the_first_rule_that_fits_is_followed_for_as_many_pods_as_it_says() -> None:
    kubelets = Kubelets([KubeletRule(do="fail", image="web:1", most=1, exit_code=42), KubeletRule(do="succeed")])
    pods = [pod("a"), pod("b"), pod("c", image="web:2")]
    phases = {}
    while (act := kubelets.next_act(pods, [], NODES)) is not None:
        pods = [done(act) if found is act.pod else found for found in pods]
        phases[act.pod["metadata"]["name"]] = act.status["phase"]

    assert phases == {"a": "Failed", "b": "Succeeded", "c": "Succeeded"}
    assert pods[0]["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 42


def test_pods_that_are_not_to_be_scheduled_or_have_no_node_stay_as_they_are() -> None:
    assert Kubelets([KubeletRule(do="unscheduled")]).next_act([pod("a")], [], NODES) is None
    assert Kubelets().next_act([pod("a")], [], NODES[:1]) is None
