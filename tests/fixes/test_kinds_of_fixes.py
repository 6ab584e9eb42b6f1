# SPDX-License-Identifier: Apache-2.0
"""What each kind of fix says, patches and prints."""

from __future__ import annotations

import json
import shlex
from typing import Any

import msgspec
import pytest
from tests.fixes.applying import applied
from tests.fixes.clusters import HOSTNAME, a_node, a_pod, found, of_kind

from steersman import api
from steersman.api import codec
from steersman.api.persistent_volumes import NO_PROVISIONER
from steersman.base.errors import InputError
from steersman.explain.fixes import FixKind, find_fixes, verification
from steersman.explain.text import fixes_text
from steersman.simulation import Simulation
from steersman.simulation.virtual_time.tasks import SimulationError
from steersman.testing import make_pod, make_storage_class

CORDONED = "node.kubernetes.io/unschedulable"


def test_a_request_is_lowered_to_what_the_best_node_has_left() -> None:
    fixes = found(
        a_node("n1"), a_node("n2"), a_pod("a", "2200m").node("n1"), a_pod("b", "3").node("n2"), a_pod("web", "3")
    )
    fix = of_kind(fixes, FixKind.REQUESTS)
    assert fix.summary == "Lower the cpu request of container con0 from 3 to 1800m: it goes to n1."
    assert fix.patches[0].merge_patch == {
        "spec": {"containers": [{"name": "con0", "resources": {"requests": {"cpu": "1800m"}}}]}
    }
    assert fix.commands == (
        "kubectl get -o json -- pod web | kubectl patch --local -f - --type=strategic -p "
        '\'{"spec":{"containers":[{"name":"con0","resources":{"requests":{"cpu":"1800m"}}}]}}\' -o json'
        " | kubectl replace --force -f -",
    )
    assert fix.node == "n1"


def test_a_taint_is_tolerated_or_removed() -> None:
    fixes = found(a_node("n1").taint("dedicated", "gpu"), a_pod("web"))
    tolerated, removed = of_kind(fixes, FixKind.TOLERATION), of_kind(fixes, FixKind.NODE_TAINT)
    toleration = {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
    assert tolerated.patches[0].merge_patch == {"spec": {"tolerations": [toleration]}}
    assert tolerated.commands[0].startswith("kubectl patch --type=merge -p ")
    assert removed.commands == ("kubectl taint -- nodes n1 dedicated=gpu:NoSchedule-",)
    assert removed.patches[0].merge_patch == {"spec": {"taints": None}}


def test_a_cordoned_node_is_uncordoned_and_its_taint_goes_along() -> None:
    node = a_node("n1").taint(CORDONED).unschedulable()
    fix = found(node, a_pod("web"))[0]
    assert fix.kind is FixKind.UNCORDON
    assert fix.commands == ("kubectl uncordon -- n1",)
    assert fix.patches[0].merge_patch == {"spec": {"taints": None, "unschedulable": None}}


def test_a_selector_loses_a_key_or_a_node_gets_a_label() -> None:
    fixes = found(
        a_node("n1").label("disk", "hdd"), a_pod("web").node_selector("disk", "ssd").node_selector(HOSTNAME, "n1")
    )
    dropped, labelled = of_kind(fixes, FixKind.NODE_SELECTOR), of_kind(fixes, FixKind.NODE_LABEL)
    assert dropped.patches[0].merge_patch == {"spec": {"nodeSelector": {"disk": None}}}
    assert labelled.commands == ("kubectl label --overwrite -- node n1 disk=ssd",)
    assert "which is hdd now" in labelled.summary


def test_a_higher_priority_names_who_is_evicted_and_uses_a_class_that_there_is() -> None:
    ours = codec.convert_object(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}
    )
    busy = (a_node("n1"), a_pod("a", "3").node("n1"), a_pod("web", "3"))
    created, known = of_kind(found(*busy), FixKind.PRIORITY), of_kind(found(*busy, ours), FixKind.PRIORITY)
    assert created.evicts == known.evicts == ("default/a",)
    assert created.create[0]["value"] == 1
    assert known.create == ()
    assert known.patches[0].merge_patch == {"spec": {"priorityClassName": "high"}}
    assert '"priority":null' in known.commands[0], "an API server has written the number of the old class into the pod"


def test_a_fix_leaves_no_other_pod_pending() -> None:
    fixes = found(a_node("n1"), a_pod("first", "3"), a_pod("web", "3"))
    assert FixKind.PRIORITY not in [fix.kind for fix in fixes], "the other pod would wait in its place"
    assert of_kind(fixes, FixKind.REQUESTS).summary.startswith("Lower the cpu request of container con0 from 3 to 1:")


def test_one_more_node_for_a_pod_that_asks_for_no_amounts_has_the_labels_that_it_wants() -> None:
    measured = of_kind(found(make_pod("web").node_selector("disk", "ssd")), FixKind.ADD_NODE)
    assert measured.summary == "Add a node (labelled disk=ssd): it goes to new-node."


def test_one_more_node_is_a_copy_of_the_smallest_that_would_do_or_made_to_measure() -> None:
    copied = of_kind(
        found(a_node("n1", "2"), a_node("n2", "8"), a_pod("a", "6").node("n2"), a_pod("web", "3")), FixKind.ADD_NODE
    )
    assert copied.summary == "Add a node (a copy of n2: 8 cpu, 8Gi memory): it goes to new-node."
    assert copied.create[0]["metadata"]["labels"] == {HOSTNAME: "new-node"}
    measured = of_kind(found(a_pod("web", "3").node_selector("disk", "ssd")), FixKind.ADD_NODE)
    assert measured.create[0]["status"]["allocatable"] == {"cpu": "3", "pods": "110"}
    assert measured.create[0]["metadata"]["labels"]["disk"] == "ssd"


def test_two_changes_are_proposed_where_one_does_not_help() -> None:
    fix = found(a_node("n1", "2").taint("dedicated", "gpu"), a_pod("web", "3").node_selector(HOSTNAME, "n1"))[0]
    assert fix.kind is FixKind.SEVERAL
    assert set(fix.parts) == {FixKind.REQUESTS, FixKind.TOLERATION}


def test_a_pod_that_is_scheduled_anyway_needs_no_fix() -> None:
    assert found(a_node("n1"), a_pod("web")) == []


def test_a_pod_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(InputError, match="does not exist"):
        found(a_node("n1"), pod="web")


def test_a_simulation_that_has_run_is_refused_and_a_fresh_one_stays_fresh() -> None:
    simulation = Simulation.load([a_node("n1").obj(), a_pod("web", "5").obj()])
    before = simulation.cluster.resource_version
    assert find_fixes(simulation, "web") == find_fixes(simulation, "web")
    assert simulation.cluster.resource_version == before
    simulation.run()
    with pytest.raises(SimulationError, match="before a simulation has run"):
        find_fixes(simulation, "web")


def test_the_template_of_a_workload_is_patched_and_keeps_what_scheduling_does_not_read() -> None:
    container = {"name": "app", "image": "app:1", "env": [{"name": "A", "value": "b"}]}
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{**container, "resources": {"requests": {"cpu": "3"}}}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    }
    documents = [codec.to_dict(a_node("n1").obj()), deployment]
    simulation = Simulation.load(*documents)
    (pending,) = simulation.fork().run().pending
    fix = of_kind(list(find_fixes(simulation, pending)), FixKind.REQUESTS)
    assert fix.summary.startswith("Lower the cpu request of container app from 3 to 2:"), "for both replicas"
    patched = fix.patches[0].merge_patch["spec"]["template"]["spec"]["containers"][0]
    assert patched == {**container, "resources": {"requests": {"cpu": "2"}}}
    assert fix.commands[0].startswith("kubectl patch --type=strategic -p ")
    assert not Simulation.load(*applied(documents, fix.to_dict())).run().pending


def test_a_job_is_made_again_without_the_selector_that_ties_its_pods_to_it() -> None:
    spec = {
        "restartPolicy": "Never",
        "containers": [{"name": "app", "image": "app", "resources": {"requests": {"cpu": "5"}}}],
    }
    name = {"name": "web", "namespace": "default"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": name, "spec": {"template": {"spec": spec}}}
    simulation = Simulation.load(a_node("n1").obj(), job)
    (pending,) = simulation.fork().run().pending
    fix = of_kind(list(find_fixes(simulation, pending)), FixKind.REQUESTS)
    (command,) = fix.commands
    patch = json.loads(shlex.split(command)[shlex.split(command).index("-p") + 1])
    assert command.startswith("kubectl get -o json -- job web | ")
    assert command.endswith(" | kubectl replace --force -f -")
    assert patch["spec"]["selector"] is None
    uid = {"controller-uid": None, "batch.kubernetes.io/controller-uid": None}
    assert patch["spec"]["template"]["metadata"] == {"labels": uid}
    assert list(fix.patches[0].merge_patch["spec"]["template"]) == ["spec"]


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet"])
def test_a_pod_that_its_workload_would_keep_is_deleted_along_with_the_change(kind: str) -> None:
    spec = {"containers": [{"name": "app", "image": "app", "resources": {"requests": {"cpu": "3"}}}]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    wanted = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    name = {"namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"}
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": "u", "controller": True}
    meta = {**name, "name": "web-0", "labels": {"app": "web"}, "ownerReferences": [owner]}
    documents = [
        codec.to_dict(a_node("n1", "2").obj()),
        {"apiVersion": "apps/v1", "kind": kind, "metadata": {**name, "name": "web", "uid": "u"}, "spec": wanted},
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec},
    ]
    fix = of_kind(list(find_fixes(Simulation.load(*documents), "web-0")), FixKind.REQUESTS)
    assert [gone.name for gone in fix.delete] == ["web-0"]
    assert fix.commands[-1] == "kubectl delete --ignore-not-found -- pod web-0"
    result = Simulation.load(*applied(documents, fix.to_dict())).run()
    assert not result.pending
    assert len(result.placements) == 1


def test_the_text_numbers_the_fixes_and_keeps_commands_in_one_line() -> None:
    lines = fixes_text("default/web", found(a_node("n1"), a_pod("web", "5")), 60).splitlines()
    assert lines[0] == "2 changes, each by itself, make default/web schedule (tried"
    assert lines[2:4] == ["  1. Lower the cpu request of container con0 from 5 to 4: it", "     goes to n1."]
    assert lines[4].startswith("     kubectl get -o json -- pod web | ")
    assert fixes_text("default/web", ()) == "No change was found that makes default/web schedule."


def test_in_a_large_cluster_few_trials_find_the_same() -> None:
    nodes = [a_node(f"n{number}", "2") for number in range(1000)]
    fixes = found(*nodes, a_node("last", "3"), a_pod("web", "5"))
    assert [fix.summary for fix in fixes] == [
        "Lower the cpu request of container con0 from 5 to 3: it goes to last.",
        "Add a node (5 cpu): it goes to new-node.",
    ]


def test_the_search_ends_when_no_more_trials_are_to_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "MAX_TRIALS", 3)
    claims = [api.Volume(name=f"v{number}", persistent_volume_claim=_claim(f"c{number}")) for number in range(5)]
    pod = a_pod("web").obj()
    pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, volumes=tuple(claims)))
    assert found(a_node("n1"), pod) == [], "that no claim can be left out takes five trials"
    monkeypatch.setattr(verification, "MAX_TRIALS", 200)
    assert [len(fix.create) for fix in found(a_node("n1"), pod)] == [5]


def _claim(name: str) -> api.PersistentVolumeClaimVolumeSource:
    return api.PersistentVolumeClaimVolumeSource(claim_name=name)


def test_a_pod_of_a_cron_job_is_changed_in_its_job() -> None:
    def owned_by(kind: str, name: str) -> list[dict[str, Any]]:
        return [{"apiVersion": "batch/v1", "kind": kind, "name": name, "uid": name, "controller": True}]

    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "6"}}}
    spec = {"restartPolicy": "Never", "containers": [container]}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    given: list[dict[str, Any]] = [
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "nightly", "uid": "nightly"},
            "spec": {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": {"template": template}}},
        },
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "nightly-1", "uid": "nightly-1", "ownerReferences": owned_by("CronJob", "nightly")},
            "spec": {"template": template},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "labels": {"app": "web"}, "ownerReferences": owned_by("Job", "nightly-1")},
            "spec": spec,
        },
    ]
    fix = of_kind(found(a_node("n1"), *given), FixKind.REQUESTS)
    assert [(patch.kind, patch.name) for patch in fix.patches] == [("Job", "nightly-1")]
    assert [gone.name for gone in fix.delete] == ["web"], "its Job makes it again"


def test_all_required_terms_about_absent_pods_are_dropped_together() -> None:
    web = a_pod("web", "1").pod_affinity(HOSTNAME, {"app": "cache"}).pod_affinity(HOSTNAME, {"app": "db"})
    (fix,) = (fix for fix in found(a_node("n1"), web) if fix.kind is FixKind.POD_AFFINITY)
    assert "app=cache" in fix.summary
    assert "app=db" in fix.summary
    assert fix.patches[0].merge_patch == {"spec": {"affinity": None}}


def test_a_missing_claim_is_created_with_a_class_that_makes_volumes_if_none_is_the_default() -> None:
    classes = [make_storage_class(name).obj() for name in ("local", "ssd")]
    provisioners = {"local": NO_PROVISIONER, "ssd": "csi.example.com"}
    known = [msgspec.structs.replace(each, provisioner=provisioners[each.metadata.name]) for each in classes]
    fixes = find_fixes(Simulation.load(a_node("n1").obj(), known, a_pod("web", "20").pvc("data").obj()), "web")
    assert fixes[0].summary.startswith("Lower the cpu request of container")
    assert "create the PersistentVolumeClaim data (1Gi, class ssd)" in fixes[0].summary


def test_a_new_node_says_how_much_of_it_the_pod_needs_if_others_come_first() -> None:
    waiting = [a_pod(f"first-{number}", "64") for number in range(3)]
    fix = of_kind(found(a_node("n1"), *waiting, a_pod("web", "64")), FixKind.ADD_NODE)
    assert fix.summary.startswith("Add a node (256 cpu, 64 cpu of it for this pod, the rest for 3 that come first)")
