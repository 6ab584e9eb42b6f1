# SPDX-License-Identifier: Apache-2.0
"""A pending pod of a live cluster: as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.client.api_server import SERVED_KINDS
from tests.live.asking import cluster, explained

from steersman import api
from steersman.run.app import RunOptions
from steersman.scheduler.diagnosis import Outcome
from steersman.testing import make_claim, make_disruption_budget, make_node, make_pod


def test_a_pod_that_fits_is_told_where_it_would_go() -> None:
    server = cluster()
    server.store.create(make_pod("busy").req(cpu="3").node("n0").phase("Running").obj())
    server.store.create(make_pod("web").req(cpu="1").obj())
    answer = explained(server, "web")
    assert answer.explanation.node == "n1"
    assert answer.summary == "fits now: the scheduler would choose n1; no scheduler has reported an attempt yet"
    assert "would go to n1, the best score" in answer.text()
    assert answer.requeue_events == ()


def test_a_pod_that_fits_nowhere_has_the_message_of_a_scheduler_and_every_node() -> None:
    server = cluster()
    server.store.create(make_node("tainted").capacity(cpu="64", pods="10").taint("k", "v").obj())
    server.store.create(make_pod("large").req(cpu="32").obj())
    answer = explained(server, "large")
    assert answer.explanation.outcome is Outcome.UNSCHEDULABLE
    assert answer.explanation.message.startswith(
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insuffi"
    )
    assert answer.explanation.node_explanation("tainted").verdicts[0].plugin == "TaintToleration"
    assert answer.explanation.node_explanation("n0").verdicts[0].reasons == ("Insufficient cpu",)


def test_it_says_which_events_would_have_the_pod_tried_again() -> None:
    server = cluster()
    server.store.create(make_pod("large").req(cpu="32").obj())
    answer = explained(server, "large")
    (waker,) = answer.requeue_events
    assert waker.plugin == "NodeResourcesFit"
    assert "a node is added" in " ".join(waker.events)
    assert "a pod on a node is deleted" in " ".join(waker.events)
    assert "NodeResourcesFit: " in answer.text().rpartition("Events that lead to another attempt:")[2]


def test_preemption_is_predicted_without_evictions() -> None:
    server = cluster(nodes=2)
    for name, node in (("guarded", "n0"), ("batch", "n1")):
        pod = make_pod(name).req(cpu="4").label("app", name).node(node).phase("Running")
        server.store.create(pod.started("2025-12-31T00:00:00Z").obj())
    server.store.create(make_disruption_budget("guard").selector({"app": "guarded"}).allows(0).obj())
    server.store.create(make_pod("mighty").req(cpu="4").priority(100).obj())
    answer = explained(server, "mighty")
    room = answer.explanation.preemption
    assert room is not None
    assert room.nominated_node == "n1"
    assert {candidate.node for candidate in room.candidates} == {"n0", "n1"}


def test_a_gated_pod_is_held_back_and_still_compared_with_all_nodes() -> None:
    server = cluster()
    server.store.create(make_pod("later").req(cpu="1").gate("example.com/wait").obj())
    answer = explained(server, "later")
    assert answer.summary.startswith("held back by SchedulingGates: ")
    assert [waker.plugin for waker in answer.requeue_events] == ["SchedulingGates"]
    assert answer.explanation.node


def test_conditions_are_shown_as_the_server_has_them() -> None:
    server = cluster()
    pod = (
        make_pod("web")
        .req(cpu="32")
        .condition("PodScheduled", "False", reason="Unschedulable", message="0/2 nodes are available")
    )
    server.store.create(pod.obj())
    assert "PodScheduled=False (Unschedulable): 0/2 nodes are available" in explained(server, "web").text()


def test_without_nodes_there_is_nothing_to_compare() -> None:
    server = cluster(nodes=0)
    server.store.create(make_pod("web").obj())
    answer = explained(server, "web")
    assert answer.explanation.message == "no nodes available to schedule pods"


def test_a_plugin_sees_the_objects_of_the_kinds_that_it_declares(tmp_path: Path) -> None:
    groups = api.custom_kind("example.com/v1", "Group", "groups", namespaced=False)
    plugin = tmp_path / "grouped.py"
    plugin.write_text(
        "from steersman import api\n"
        "from steersman.framework import FilterPlugin\n\n"
        "class Grouped(FilterPlugin):\n"
        "    name = 'Grouped'\n"
        "    kinds = (api.custom_kind('example.com/v1', 'Group', 'groups', namespaced=False),)\n\n"
        "    def __init__(self, args, handle):\n"
        "        self.objects = handle.objects\n\n"
        "    def filter(self, pod, node):\n"
        "        return f'there are {len(self.objects.list(self.kinds[0]))} groups'\n"
    )
    server = cluster(kinds=(*SERVED_KINDS, groups))
    server.store.create(groups(metadata=api.ObjectMeta(name="a")))
    server.store.create(make_pod("web").obj())
    answer = explained(server, "web", options=RunOptions(plugin_files=(str(plugin),)))
    assert "2 there are 1 groups" in answer.explanation.message


def test_a_plugin_reads_the_cluster_by_itself(tmp_path: Path) -> None:
    plugin = tmp_path / "counting.py"
    plugin.write_text(
        "from steersman import api\n"
        "from steersman.framework import BackgroundPlugin, FilterPlugin\n\n"
        "class Counting(FilterPlugin, BackgroundPlugin):\n"
        "    name = 'Counting'\n"
        "    reads = (api.Deployment,)\n\n"
        "    def __init__(self, args, handle):\n"
        "        self.client = handle.client\n\n"
        "    async def refresh(self):\n"
        "        self.known = await self.client.list(api.Deployment)\n\n"
        "    def filter(self, pod, node):\n"
        "        return f'there are {len(self.known)} deployments'\n"
    )
    server = cluster()
    server.store.create(api.Deployment(metadata=api.ObjectMeta(name="d", namespace="default")))
    server.store.create(make_pod("web").obj())
    answer = explained(server, "web", options=RunOptions(plugin_files=(str(plugin),)))
    assert "2 there are 1 deployments" in answer.explanation.message


@pytest.mark.parametrize("class_name", ["nope", ""])
def test_a_storage_class_that_the_cluster_lacks_is_not_assumed(class_name: str) -> None:
    server = cluster()
    claim = make_claim("data").asks("1Gi")
    server.store.create((claim.storage_class(class_name) if class_name else claim).obj())
    server.store.create(make_pod("web").pvc("data").obj())
    answer = explained(server, "web", fixes=True)
    assert answer.explanation.outcome is Outcome.UNSCHEDULABLE
    assert "unbound immediate PersistentVolumeClaims" in answer.explanation.message
    assert not any("assumed" in note for note in answer.notes)


def test_pods_of_other_schedulers_wait_in_queues_of_their_own() -> None:
    server = cluster()
    tried = {"reason": "Unschedulable", "message": "0/2 nodes are available"}
    for name, scheduler in (("a", "other"), ("b", "other"), ("web", "default-scheduler")):
        pod = make_pod(name).req(cpu="32").scheduler(scheduler).condition("PodScheduled", "False", **tried)
        server.store.create(pod.obj())
    when = explained(server, "web").when
    assert when is not None
    assert when.queue is not None
    assert (when.queue.position, when.queue.waiting, when.queue.ahead) == (1, 1, ())


def test_a_scheduler_that_does_not_try_a_pod_which_fits_is_called_silent() -> None:
    server = cluster()
    server.store.create(make_pod("web").req(cpu="1").created("2025-12-31T00:00:00Z").obj())
    assert "scheduler default-scheduler may not be running" in explained(server, "web").summary


def test_the_owner_of_a_scheduling_gate_is_named_and_no_command_lifts_it() -> None:
    server = cluster()
    server.store.create(make_pod("web").req(cpu="32").gate("kueue.x-k8s.io/admission").obj())
    answer = explained(server, "web", fixes=True)
    assert "Kueue sets and lifts the scheduling gate kueue.x-k8s.io/admission." in answer.cause.sentence
    assert answer.fixes
    for fix in answer.fixes:
        assert "have Kueue lift the scheduling gate" in fix.summary
        assert not any("schedulingGates" in command for command in fix.commands)


def test_a_pod_that_only_its_gate_holds_back_has_no_command_at_all() -> None:
    server = cluster()
    server.store.create(make_pod("web").req(cpu="1").gate("example.com/quota").obj())
    (fix,) = explained(server, "web", fixes=True).fixes or ()
    assert (
        fix.summary == "Have the controller of example.com lift the scheduling gate example.com/quota: it goes to n1."
    )
    assert fix.commands == ()
