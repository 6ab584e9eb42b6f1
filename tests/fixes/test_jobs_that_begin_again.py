# SPDX-License-Identifier: Apache-2.0
"""A Job whose template is changed is written again: a fix says which of its running pods end and what work is lost."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from tests.fixes.applying import applied
from tests.fixes.clusters import a_node, of_kind
from tests.fixes.test_fixes_of_live_clusters import Document, live_fixes

from steersman.api import codec
from steersman.explain.fixes import FixKind, ObjectDeletion, find_fixes
from steersman.simulation import Simulation

UID = "j-1"
PENDING = "work-x"
TAINT = "team"


def a_job(status: Document, *placed: str, **spec: Any) -> list[Document]:
    """A Job of large pods, its pending one, and one on each of these nodes."""
    template = {
        "metadata": {"labels": {"app": "work", "batch.kubernetes.io/controller-uid": UID}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "6"}}}],
        },
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work", "namespace": "default", "uid": UID},
        "spec": {
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}},
            "template": template,
            "parallelism": len(placed) + 1,
            "completions": 20,
            **spec,
        },
        "status": status,
    }
    pods = [a_pod_of(job, PENDING)]
    for number, node in enumerate(placed):
        pod = a_pod_of(job, f"work-{number}")
        pod["spec"]["nodeName"], pod["status"] = node, {"phase": "Running"}
        pods.append(pod)
    return [job, *pods]


def a_pod_of(job: Document, name: str) -> Document:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "work", "uid": UID, "controller": True}
    template = deepcopy(job["spec"]["template"])
    metadata = {
        **template["metadata"],
        "name": name,
        "namespace": "default",
        "uid": name,
        "finalizers": ["batch.kubernetes.io/job-tracking"],
        "ownerReferences": [owner],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": template["spec"],
        "status": {"phase": "Pending"},
    }


def test_running_pods_end_and_finished_work_is_lost() -> None:
    documents = a_job({"active": 3, "succeeded": 6}, "big", "big")
    fix = of_kind(live_fixes(documents, a_node("n1"), a_node("big", "12"), pod=PENDING), FixKind.REQUESTS)
    assert fix.evicts == ("default/work-0", "default/work-1")
    assert "restart Job work, so that 2 running pods end and 6 completions are lost" in fix.summary
    assert fix.delete == (ObjectDeletion("Job", "default", "work"),)
    [command] = fix.commands
    assert command.startswith("kubectl get -o json -- job work | ")
    assert [manifest["kind"] for manifest in fix.create] == ["Job"]
    assert "status" not in fix.create[0]


def test_what_ends_no_pod_comes_first() -> None:
    nodes = [codec.to_dict(a_node(name, cpu).obj()) for name, cpu in (("n1", "4"), ("big", "6"))]
    tainted = codec.to_dict(a_node("other", "6").taint(TAINT, "other").obj())
    kinds = [fix.kind for fix in live_fixes([*a_job({"active": 2}, "big"), *nodes, tainted], pod=PENDING)]
    assert kinds.index(FixKind.NODE_TAINT) < kinds.index(FixKind.TOLERATION)
    finished = live_fixes([*a_job({"active": 1, "succeeded": 1}), *nodes[:1], tainted], pod=PENDING)
    assert finished[0].kind is FixKind.NODE_TAINT, "lost work counts as well"
    assert "so that 1 completion is lost" in of_kind(finished, FixKind.TOLERATION).summary


def test_a_job_without_other_pods_begins_again_without_a_loss() -> None:
    fix = of_kind(live_fixes(a_job({"active": 1}), a_node("n1"), pod=PENDING), FixKind.REQUESTS)
    assert fix.evicts == ()
    assert fix.summary == "Lower the cpu request of container app from 6 to 4 and restart Job work: it goes to n1."


def test_all_pods_of_the_job_have_to_find_a_node_again() -> None:
    """The running pods are on a node that takes nobody any more: all three have to share the other one."""
    documents = a_job({"active": 3}, "old", "old")
    nodes = a_node("n1"), a_node("old", "12").unschedulable()
    fix = of_kind(live_fixes(documents, *nodes, pod=PENDING), FixKind.REQUESTS)
    assert fix.summary.startswith("Lower the cpu request of container app from 6 to 1333m and restart Job work")


def test_more_pods_than_the_job_may_lose_begin_again() -> None:
    """Deleted pods count as failures of a Job that stays."""
    documents = a_job({"active": 10}, *["big"] * 9, backoffLimit=2)
    fix = of_kind(live_fixes(documents, a_node("n1"), a_node("big", "54"), pod=PENDING), FixKind.REQUESTS)
    assert len(fix.evicts) == 9


def test_of_files_the_pods_of_the_job_are_removed() -> None:
    nodes = [codec.to_dict(a_node(name, cpu).obj()) for name, cpu in (("n1", "4"), ("big", "12"))]
    documents = [*nodes, *a_job({"active": 3, "succeeded": 6}, "big", "big")]
    fix = of_kind(list(find_fixes(Simulation.load(*deepcopy(documents)), PENDING)), FixKind.REQUESTS)
    assert [each.kind for each in fix.delete] == ["Pod"] * 3
    result = Simulation.load(*applied(documents, json.loads(json.dumps(fix.to_dict())))).run()
    assert not result.pending
    assert len(result.placements) == 3
