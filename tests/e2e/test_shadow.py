# SPDX-License-Identifier: Apache-2.0
"""`steersman shadow` beside the real kube-scheduler: what it finds, and what it asks of the API server."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.race.workloads import WORKLOADS, node, pod_manifest
from tests.cli.commands import refused, steersman
from tests.deploy.shipped import manifests
from tests.e2e.auditing import AuditLog, requests_of

from steersman.testing.control_plane import ControlPlane, JsonObject, KubeClient, KubeScheduler, ShadowProcess, bound_to

ACCOUNT = "system:serviceaccount:kube-system:steersman-shadow"
NAMESPACE = "default"
#: More than 100, so that kube-scheduler looks at a part of them.
NODES = 160
PODS_OF_EACH = 40
WORKLOADS_TRIED = ("basic", "zone spread", "preferred affinity", "20 deployments")
NODES_LOOKED_AT = {"percentageOfNodesToScore": 100}
WAIT_SECONDS = 300.0


def in_namespace(pod: JsonObject) -> JsonObject:
    pod["metadata"]["namespace"] = NAMESPACE
    return pod


def wait_bound(admin: KubeClient, count: int) -> None:
    admin.wait_until(lambda: sum(bool(bound_to(pod)) for pod in admin.list("Pod", NAMESPACE)) >= count, WAIT_SECONDS)


def wait_compared(admin: KubeClient, shadow: ShadowProcess, count: int) -> None:
    admin.wait_until(lambda: len(shadow.bindings()) >= count, WAIT_SECONDS)


def wait_for_node(admin: KubeClient, pod: str) -> None:
    admin.wait_until(lambda: bound_to(admin.get("Pod", pod, NAMESPACE)), WAIT_SECONDS)


def create_one_at_a_time(admin: KubeClient, pods: Sequence[JsonObject]) -> None:
    for pod in pods:
        admin.create(in_namespace(pod))
        wait_for_node(admin, pod["metadata"]["name"])


def looking_at_all_nodes(folder: Path) -> Path:
    """The configuration of a shadow beside a scheduler that looks at every node."""
    file = folder / "all-nodes.json"
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    file.write_text(json.dumps({**header, **NODES_LOOKED_AT}))
    return file


def test_decisions_of_kube_scheduler_are_explained_with_the_shipped_rights_and_without_a_write(
    new_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    audit = AuditLog(tmp_path / "audit", requests_of(ACCOUNT))
    plane = new_plane(extra_flags=audit.flags)
    for document in manifests("shadow").values():
        plane.admin.apply(document)
    reader = plane.kubeconfig(ACCOUNT, ())
    with plane.client(ACCOUNT, ()) as client:
        client.wait_until(lambda: client.raw("GET", "/api/v1/pods").status == 200, what="the rights of the shadow")
    audit.forget()
    with KubeScheduler(plane), ShadowProcess(plane, kubeconfig=reader) as shadow:
        plane.admin.create_nodes(*(node(index) for index in range(NODES)))
        pods = [in_namespace(WORKLOADS[name].pod(index)) for name in WORKLOADS_TRIED for index in range(PODS_OF_EACH)]
        plane.admin.create_many(pods)
        wait_bound(plane.admin, len(pods))
        wait_compared(plane.admin, shadow, len(pods))
        status, metrics = shadow.get("/metrics")
        code = shadow.stop()
    classes = Counter(one["class"] for one in shadow.bindings())
    assert classes["disagreement"] == 0, [one for one in shadow.bindings() if one["class"] == "disagreement"]
    assert classes["unproven"] <= len(pods) // 20, classes
    assert classes["same"] + classes["tie"] >= len(pods) // 2, classes
    assert code == 0
    assert status == 200
    assert 'steersman_shadow_decisions_total{class="tie",decision="binding",profile="default-scheduler"}' in metrics
    entries = audit.entries()
    assert {entry.verb for entry in entries} <= {"get", "list", "watch"}
    assert all(entry.granted for entry in entries if entry.object_ref.resource), entries


def test_one_at_a_time_and_with_all_nodes_every_decision_is_the_same_or_a_tie(
    plane: ControlPlane, tmp_path: Path
) -> None:
    pods = [WORKLOADS["20 deployments"].pod(index) for index in range(30)]
    flags = [f"--config={looking_at_all_nodes(tmp_path)}"]
    plane.admin.create_nodes(*(node(index) for index in range(NODES)))
    with KubeScheduler(plane, config=NODES_LOOKED_AT), ShadowProcess(plane, flags=flags) as shadow:
        create_one_at_a_time(plane.admin, pods)
        wait_compared(plane.admin, shadow, len(pods))
        assert shadow.stop() == 0
    assert {one["class"] for one in shadow.bindings()} <= {"same", "tie"}


def test_a_scheduler_with_other_weights_disagrees_and_the_state_repeats_it(plane: ControlPlane, tmp_path: Path) -> None:
    """It packs pods where kube-scheduler spreads them."""
    packing: dict[str, Any] = {
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "pluginConfig": [
                    {
                        "name": "NodeResourcesFit",
                        "args": {
                            "apiVersion": "kubescheduler.config.k8s.io/v1",
                            "kind": "NodeResourcesFitArgs",
                            "scoringStrategy": {
                                "type": "MostAllocated",
                                "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                            },
                        },
                    }
                ],
            }
        ]
    }
    plane.admin.create_nodes(*(node(index) for index in range(8)))
    folder = tmp_path / "differences"
    pods = [pod_manifest(f"packed-{index}", cpu="500m") for index in range(6)]
    with KubeScheduler(plane, config=packing), ShadowProcess(plane, flags=[f"--differences={folder}"]) as shadow:
        create_one_at_a_time(plane.admin, pods)
        wait_compared(plane.admin, shadow, len(pods))
        assert shadow.stop() == 1
    found = [one for one in shadow.bindings() if one["class"] == "disagreement"]
    assert len(found) == len(pods) - 1  # the first one finds all nodes empty
    assert {one["scores"]["plugin"] for one in found} == {"NodeResourcesFit"}
    first = Path(found[0]["directory"])
    files = ("-f", first / "cluster.json", "-f", first / "pod.json", "--config", first / "config.yaml")
    version = f"--emulated-version={plane.binaries.version}"
    repeated = steersman("simulate", *files, "--no-controllers", "--explain", found[0]["pod"], version, "-o", "json")
    assert repeated.exit_code == 0, repeated.output
    (explained,) = json.loads(repeated.stdout)["explanations"]
    totals = {one["node"]: one["total"] for one in explained["explanation"]["nodes"] if one["fits"]}
    assert totals[found[0]["theirNode"]] == found[0]["scores"]["theirs"]
    assert max(totals.values()) == found[0]["scores"]["ours"]


def test_a_user_who_may_not_read_pods_is_told_so(plane: ControlPlane) -> None:
    line = refused("shadow", "--kubeconfig", plane.kubeconfig("visitor", ()), "--duration", "1s")
    assert "does not allow this: list " in line
