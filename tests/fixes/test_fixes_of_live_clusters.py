# SPDX-License-Identifier: Apache-2.0
"""Fixes of a live cluster are made of whole objects, and are such that an API server takes them.

`tests/e2e/test_fixes_applied.py` carries them out on a real one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.fixes.applying import merged
from tests.fixes.clusters import a_node, a_pod, of_kind
from tests.fixes.test_claims_moves_and_quotas import FRAGMENTED

from steersman import api
from steersman.api import codec
from steersman.explain.fixes import (
    Fix,
    FixKind,
    ObjectDeletion,
    ObjectName,
    PodMove,
    find_fixes,
    without_partial_patches,
)
from steersman.explain.fixes.commands import as_new
from steersman.simulation import Simulation

Document = dict[str, Any]

CONTAINERS: list[Document] = [
    {"name": "proxy", "image": "proxy:2", "args": ["--quiet"]},
    {"name": "app", "image": "app:1", "env": [{"name": "A", "value": "b"}], "resources": {"requests": {"cpu": "6"}}},
]
SERVED_METADATA = {
    "uid": "u-1",
    "resourceVersion": "7",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "managedFields": [{"manager": "kubectl"}],
}


def served_pod(name: str = "web", **spec: Any) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}, **SERVED_METADATA},
        "spec": {"containers": deepcopy(CONTAINERS), "dnsPolicy": "ClusterFirst", **spec},
        "status": {"phase": "Pending"},
    }


def served_workload(kind: str, **spec: Any) -> Document:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": deepcopy(CONTAINERS)}}
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "default", **SERVED_METADATA},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
        "status": {},
    }


def live_fixes(documents: Iterable[Document], *others: Any, pod: str = "web", gone: Collection[str] = ()) -> list[Fix]:
    """The fixes of a pod in a cluster that was read as structs, and serves these documents on demand."""
    served = list(documents)
    given = [codec.convert(deepcopy(each), api.KINDS[each["kind"]]) for each in served]
    simulation = Simulation.load([*given, *(each if isinstance(each, dict) else each.obj() for each in others)])

    def source(names: Collection[ObjectName]) -> dict[ObjectName, Document]:
        known = {_name(each): each for each in served if each["metadata"]["name"] not in gone}
        return {name: known[name] for name in names if name in known}

    return list(find_fixes(simulation, pod, source))


def _name(document: Document) -> ObjectName:
    metadata = document["metadata"]
    return ObjectName(document["kind"], metadata.get("namespace", ""), metadata["name"])


def image_of(containers: Iterable[Document]) -> list[str]:
    return [container["image"] for container in containers]


def test_a_bare_pod_is_removed_and_created_with_all_that_it_has() -> None:
    fix = of_kind(live_fixes([served_pod()], a_node("n1")), FixKind.REQUESTS)
    assert (fix.patches, fix.delete) == ((), (ObjectDeletion("Pod", "default", "web"),))
    [manifest] = fix.create
    assert manifest["metadata"] == {"name": "web", "namespace": "default", "labels": {"app": "web"}}
    assert "status" not in manifest
    assert manifest["spec"]["dnsPolicy"] == "ClusterFirst"
    proxy, app = manifest["spec"]["containers"]
    assert proxy == CONTAINERS[0]
    assert app == {**CONTAINERS[1], "resources": {"requests": {"cpu": "4"}}}


def test_what_may_be_changed_in_a_pod_is_patched() -> None:
    tolerated = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    pod = served_pod(tolerations=[{**tolerated, "tolerationSeconds": 300}])
    pod["spec"]["containers"][1]["resources"] = {}
    fix = of_kind(live_fixes([pod], a_node("n1").taint("team", "other")), FixKind.TOLERATION)
    assert (fix.delete, fix.create) == ((), ())
    tolerations = merged(pod, fix.patches[0].merge_patch)["spec"]["tolerations"]
    assert tolerations[0]["tolerationSeconds"] == 300, "is not lost"
    assert tolerations[1]["key"] == "team"


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_template_is_patched_with_whole_containers(kind: str) -> None:
    workload = served_workload(kind, replicas=1)
    simulation = Simulation.load([codec.convert(deepcopy(workload), api.KINDS[kind])], a_node("n1").obj())
    [pod] = simulation.run().pending
    fix = of_kind(live_fixes([workload], a_node("n1"), pod=pod), FixKind.REQUESTS)
    [patch] = fix.patches
    assert (patch.kind, patch.name) == (kind, "web")
    changed = merged(workload, patch.merge_patch)["spec"]["template"]["spec"]["containers"]
    assert image_of(changed) == ["proxy:2", "app:1"]
    assert changed[1]["resources"] == {"requests": {"cpu": "4"}}
    assert changed[1]["env"] == CONTAINERS[1]["env"]


def test_a_job_is_made_again_without_what_is_made_for_its_uid() -> None:
    job = served_workload("Job")
    job["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}}
    job["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/controller-uid"] = "u-1"
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    new = as_new(job)
    assert "selector" not in new["spec"]
    assert new["spec"]["template"]["metadata"]["labels"] == {"app": "web"}
    assert as_new({**job, "spec": {**job["spec"], "manualSelector": True}})["spec"]["selector"]
    simulation = Simulation.load([codec.convert(deepcopy(job), api.Job)], a_node("n1").obj())
    [pod] = simulation.run().pending
    fix = of_kind(live_fixes([job], a_node("n1"), pod=pod), FixKind.REQUESTS)
    assert fix.delete == (ObjectDeletion("Job", "default", "web", "Background"),), "with its pods"
    assert image_of(fix.create[0]["spec"]["template"]["spec"]["containers"]) == ["proxy:2", "app:1"]


def test_a_claim_is_made_again_without_notes_about_its_binding() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data",
            "annotations": {"volume.kubernetes.io/selected-node": "n1", "team": "a"},
            "finalizers": ["kubernetes.io/pvc-protection"],
            **SERVED_METADATA,
        },
        "spec": {"storageClassName": "slow"},
    }
    assert as_new(claim)["metadata"] == {"name": "data", "annotations": {"team": "a"}}


def test_pods_that_move_are_named_and_not_patched() -> None:
    pods = [each for each in FRAGMENTED if isinstance(each, dict)]
    nodes = [each for each in FRAGMENTED if not isinstance(each, dict)]
    fix = of_kind(live_fixes([*pods, codec.to_dict(a_pod("web", "3").obj())], *nodes), FixKind.MOVE)
    assert fix.moves == (PodMove("default", "s2", "n2", "n1"),)
    assert (fix.patches, fix.delete, fix.create) == ((), (), ())
    assert list(fix.to_dict()["moves"]) == [{"namespace": "default", "name": "s2", "from": "n2", "to": "n1"}]


def test_a_fix_of_an_object_that_is_gone_is_left_out() -> None:
    pod, node = served_pod(), codec.to_dict(a_node("n1").taint("team", "other").obj())
    pod["spec"]["containers"][1]["resources"] = {}
    assert {fix.kind for fix in live_fixes([pod, node])} == {FixKind.TOLERATION, FixKind.NODE_TAINT, FixKind.ADD_NODE}
    assert {fix.kind for fix in live_fixes([pod, node], gone=["n1"])} == {FixKind.TOLERATION, FixKind.ADD_NODE}


def test_a_machine_is_described_and_not_created() -> None:
    large, taken = a_node("n1", "8"), a_pod("taken", "8").node("n1")
    fix = of_kind(live_fixes([served_pod()], large, taken), FixKind.ADD_NODE)
    assert (fix.create, fix.patches, fix.delete, fix.commands) == ((), (), (), ())
    [node] = fix.new_nodes
    assert (node["kind"], node["metadata"]["name"]) == ("Node", fix.node)
    assert node["status"]["allocatable"]["cpu"] == "8"


def test_of_files_the_node_is_created() -> None:
    simulation = Simulation.load(served_pod(), a_node("n1").obj())
    fix = of_kind(list(find_fixes(simulation, "web")), FixKind.ADD_NODE)
    assert ([manifest["kind"] for manifest in fix.create], fix.new_nodes) == (["Node"], ())


def _fixes_in_a_mesh(proxy_cpu: str) -> list[Fix]:
    """The fixes of a pod that needs room, where a webhook puts a proxy into the others, which their template lacks."""
    pods = [deepcopy(each) for each in FRAGMENTED if isinstance(each, dict)]
    nodes = [each for each in FRAGMENTED if not isinstance(each, dict)]
    for pod in pods:
        if pod["kind"] == "Pod":
            resources = {"requests": {"cpu": proxy_cpu}}
            pod["spec"]["containers"].append({"name": "proxy", "image": "proxy:2", "resources": resources})
    return live_fixes([*pods, codec.to_dict(a_pod("web", "3").obj())], *nodes)


def test_a_pod_with_a_container_of_a_webhook_is_moved_with_it() -> None:
    fix = of_kind(_fixes_in_a_mesh("500m"), FixKind.MOVE)
    assert fix.moves == (PodMove("default", "s2", "n2", "n1"),)


def test_a_pod_that_would_fit_nowhere_with_a_container_of_a_webhook_is_not_moved() -> None:
    """Without the proxies there would be room on the other node."""
    assert FixKind.MOVE not in {fix.kind for fix in _fixes_in_a_mesh("600m")}


def _fixes_beside_a_cluster(tmp_path: Path, *present: Document) -> list[Fix]:
    """The fixes of a pod of a file, beside a cluster that has a tainted node, whole, and the present objects."""
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(served_pod(tolerations=[])))
    node = a_node("n1").taint("team", "other")
    served = [{**codec.to_dict(node.obj()), "extra": "is kept"}, *present]

    def source(names: Collection[ObjectName]) -> dict[ObjectName, Document]:
        return {name: each for each in served if (name := _name(each)) in names}

    return list(find_fixes(Simulation.load(str(file), node.obj()), "web", source))


def test_objects_of_files_beside_a_cluster_are_taken_from_there(tmp_path: Path) -> None:
    fixes = _fixes_beside_a_cluster(tmp_path)
    assert {part for fix in fixes for part in fix.parts} >= {FixKind.TOLERATION, FixKind.NODE_TAINT, FixKind.REQUESTS}
    [manifest] = next(fix for fix in fixes if FixKind.TOLERATION in fix.parts).create
    assert manifest["spec"]["containers"][1]["env"] == CONTAINERS[1]["env"]


def test_a_pod_of_a_file_that_the_cluster_does_not_have_is_created_and_not_deleted(tmp_path: Path) -> None:
    fixes = [fix for fix in _fixes_beside_a_cluster(tmp_path) if FixKind.REQUESTS in fix.parts]
    assert fixes
    for fix in fixes:
        assert fix.delete == ()
        assert [manifest["kind"] for manifest in fix.create] == ["Pod"]
        assert all(patch.kind != "Pod" for patch in fix.patches)
        assert sum("kubectl apply -f -" in command for command in fix.commands) == 1
        assert not any("replace --force" in command or "delete" in command for command in fix.commands)


def test_a_pod_of_a_file_that_the_cluster_has_is_deleted_and_created(tmp_path: Path) -> None:
    fixes = [fix for fix in _fixes_beside_a_cluster(tmp_path, served_pod()) if FixKind.REQUESTS in fix.parts]
    assert fixes
    for fix in fixes:
        assert [each.name for each in fix.delete] == ["web"]
        assert [manifest["kind"] for manifest in fix.create] == ["Pod"]


def test_fixes_of_objects_that_are_known_in_part_have_no_patch_of_containers() -> None:
    simulation = Simulation.load(
        codec.convert(served_pod(), api.Pod), a_node("n1").obj(), a_node("n2", "8").taint("team", "other").obj()
    )
    fixes = without_partial_patches(find_fixes(simulation, "web"))
    lowered, tolerated = of_kind(list(fixes), FixKind.REQUESTS), of_kind(list(fixes), FixKind.TOLERATION)
    assert (lowered.patches, lowered.delete, lowered.create) == ((), (), ())
    assert "--type=strategic" in lowered.commands[0], "containers by name"
    assert [patch.kind for patch in tolerated.patches] == ["Pod"]
