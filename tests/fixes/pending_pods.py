# SPDX-License-Identifier: Apache-2.0
"""Clusters as JSON documents in which one pod is pending, for one or two of many reasons, drawn by a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.fixes.claim_obstacles import DEVICE_OBSTACLES, VOLUME_OBSTACLES
from tests.fixes.documents import HOSTNAME, ZONE, Document, Documents, Obstacle, object_metadata

POD: Final = "default/web"
SECOND: Final = (
    "affinity",
    "anti-affinity",
    "cordoned",
    "gates",
    "memory",
    "pod affinity",
    "scheduler name",
    "selector",
    "sidecars",
    "spread",
    "taints",
)
"""Reasons that go with every other one."""


class PendingPod(NamedTuple):
    """A cluster, and what stands in the way of the pod; `workload` has made it, unless that is None."""

    documents: list[Document]
    obstacles: tuple[str, ...]
    workload: Document | None

    @property
    def spec(self) -> Document:
        """The spec of the pod, or of the template that it is made from."""
        owner = self.workload or self.documents[-1]
        found: Document = owner["spec"]["template"]["spec"] if self.workload else owner["spec"]
        return found


def pending_pod(seed: int) -> PendingPod:
    """Every reason in turn; every third pod has two, every fourth is made by a workload."""
    rng = random.Random(seed)
    names = sorted(OBSTACLES)
    chosen = [names[seed % len(names)]]
    if seed % 3 == 2:
        chosen.append(rng.choice([name for name in SECOND if name not in chosen]))
    return pending_because(chosen, rng, is_made=seed % 4 == 3 and "quota" not in chosen)


def pending_because(
    reasons: Sequence[str], rng: random.Random, *, is_made: bool = False, nodes: int | None = None
) -> PendingPod:
    """A pod that is pending for these reasons, among so many nodes; `is_made`: a workload has made it."""
    container = {"name": "app", "image": "example.com/app", "resources": {"requests": {"cpu": "500m"}}}
    spec: Document = {"containers": [container]}
    members = [_node(f"n{index}", rng) for index in range(nodes or rng.randint(2, 5))]
    others = [_running(f"busy-{node['metadata']['name']}", node, rng) for node in members]
    extra: Documents = []
    for name in reasons:
        OBSTACLES[name](spec, members, others, extra, rng)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": object_metadata("web", app="web"), "spec": spec}
    workload = _workload(rng, spec) if is_made else None
    return PendingPod([*extra, *members, *others, workload or pod], tuple(reasons), workload)


def _node(name: str, rng: random.Random) -> Document:
    labels = {HOSTNAME: name, ZONE: rng.choice("ab"), "disk": "hdd"}
    allocatable = {"cpu": str(rng.choice([2, 4, 8])), "memory": "8Gi", "pods": "20", "example.com/gpu": "2"}
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}


def _running(name: str, node: Document, rng: random.Random) -> Document:
    requests = {"cpu": f"{rng.randint(1, 14) * 100}m", "memory": f"{rng.randint(1, 30) * 100}Mi"}
    spec = {
        "nodeName": node["metadata"]["name"],
        "priority": rng.choice([0, 0, 5, 10]),
        "containers": [{"name": "app", "image": "app", "resources": {"requests": requests}}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": object_metadata(name, app="busy"), "spec": spec}


def _workload(rng: random.Random, spec: Document) -> Document:
    kind = rng.choice(["Deployment", "StatefulSet", "Job", "ReplicaSet"])
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    if kind == "Job":
        spec["restartPolicy"] = "Never"
        return {
            "apiVersion": "batch/v1",
            "kind": kind,
            "metadata": object_metadata("web"),
            "spec": {"template": template},
        }
    selector = {"matchLabels": {"app": "web"}}
    content = {"replicas": 1, "selector": selector, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": object_metadata("web"), "spec": content}


# -- obstacles ---------------------------------------------------------------------------------------------------------


def _requests(spec: Document) -> Document:
    found: Document = spec["containers"][0]["resources"]["requests"]
    return found


def _much_cpu(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _requests(spec)["cpu"] = f"{rng.randint(8000, 20000)}m"


def _much_memory(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _requests(spec)["memory"] = f"{rng.randint(8300, 12000)}Mi"


def _much_of_both(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _requests(spec).update(cpu="9500m", memory="9000000Ki")


def _many_devices(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    resources = spec["containers"][0]["resources"]
    resources["limits"] = {"example.com/gpu": "4"}
    resources["requests"]["example.com/gpu"] = "4"


def _sidecars(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    spec["containers"].append({"name": "proxy", "image": "proxy", "resources": {"requests": {"cpu": "9"}}})
    spec["initContainers"] = [{"name": "fetch", "image": "fetch", "resources": {"requests": {"cpu": "500m"}}}]


def _tainted(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    for node in nodes:
        taints = [{"key": "dedicated", "value": rng.choice(["gpu", "batch"]), "effect": "NoSchedule"}]
        if rng.random() < 0.5:
            taints.append({"key": "spot", "effect": rng.choice(["NoExecute", "NoSchedule"])})
        node.setdefault("spec", {})["taints"] = taints
    tolerated = {"key": "spot", "operator": "Exists"}
    for other in others:
        other["spec"]["tolerations"] = [tolerated]


def _cordoned(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    for node in nodes:
        node.setdefault("spec", {})["unschedulable"] = True


def _selector(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    spec["nodeSelector"] = {"disk": "ssd", **({"tier": "gold"} if rng.random() < 0.5 else {})}


def _affinity(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    expressions = [{"key": "disk", "operator": "In", "values": ["ssd"]}, {"key": HOSTNAME, "operator": "Exists"}]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    spec.setdefault("affinity", {})["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}


def _spread(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    selector = {"matchLabels": {"app": "lined-up"}}
    constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    spec["topologySpreadConstraints"] = [constraint]
    full = {"name": "full", "labels": {HOSTNAME: "full", ZONE: "full", "disk": "hdd"}}
    allocatable = {"cpu": "1", "memory": "1Gi", "pods": "0"}
    nodes.append({"apiVersion": "v1", "kind": "Node", "metadata": full, "status": {"allocatable": allocatable}})
    for position, other in enumerate(list(others)):
        for index in range(rng.randint(2, 4)):
            metadata = object_metadata(f"lined-up-{position}-{index}", app="lined-up")
            content = {"nodeName": other["spec"]["nodeName"], "containers": [{"name": "app", "image": "app"}]}
            others.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": content})


def _anti_affinity(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "busy"}}}
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spec.setdefault("affinity", {})["podAntiAffinity"] = wanted


def _pod_affinity(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "nobody"}}}
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spec.setdefault("affinity", {})["podAffinity"] = wanted


def _gated(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    spec["schedulingGates"] = [{"name": "example.com/quota"}, {"name": "example.com/image"}][: rng.randint(1, 2)]


def _scheduler(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    spec["schedulerName"] = "somebody-else"


def _host_port(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    ports = [{"hostPort": 8080, "containerPort": 8080}]
    spec["containers"][0]["ports"] = ports
    for other in others:
        other["spec"]["containers"][0]["ports"] = ports


# -- room ---------------------------------------------------------------------------------------------------------------


def _owned_by(owner: str, pods: Documents, extra: Documents) -> None:
    """A ReplicaSet has made the pods."""
    template = {"metadata": {"labels": {"app": owner}}, "spec": {"containers": pods[0]["spec"]["containers"]}}
    spec = {"replicas": len(pods), "selector": {"matchLabels": {"app": owner}}, "template": template}
    metadata = {**object_metadata(owner), "uid": f"uid-{owner}"}
    extra.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec})
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": owner,
        "uid": f"uid-{owner}",
        "controller": True,
    }
    for pod in pods:
        pod["metadata"] |= {"labels": {"app": owner}, "ownerReferences": [reference]}


def _fragments(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    """Every node has half of what the pod wants left; the rest is taken by pods that could be anywhere."""
    others.clear()
    for index, node in enumerate(nodes):
        node["status"]["allocatable"] |= {"cpu": "4", "memory": "8Gi"}
        for _ in range(2):
            other = _running(f"small-{len(others)}", node, rng)
            other["spec"]["containers"][0]["resources"]["requests"] = {"cpu": f"{900 + 10 * index}m"}
            other["spec"].pop("priority")
            others.append(other)
    _owned_by("small", others, extra)
    if rng.random() < 0.5:
        selector = {"matchLabels": {"app": "small"}}
        kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        extra.append(
            {**kind, "metadata": object_metadata("small"), "spec": {"selector": selector, "maxUnavailable": 1}}
        )
    _requests(spec)["cpu"] = "2500m"


def _many_pods(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    for node in nodes:
        node["status"]["allocatable"]["pods"] = "1"


def _held_port(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    """Ports that pods of a ReplicaSet hold, which could be on another node."""
    _host_port(spec, nodes, others, extra, rng)
    for other in others:
        other["spec"].pop("priority")
    _owned_by("busy", others, extra)
    spare = _node("spare", rng)
    spare["status"]["allocatable"] |= {"cpu": "1500m"}
    spec["nodeSelector"] = {HOSTNAME: nodes[0]["metadata"]["name"]}
    nodes.append(spare)


def _quota(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    """The pod is not let in. Only pods that come new count, and those that are there."""
    name = rng.choice(["requests.cpu", "pods", "cpu"])
    hard = {"requests.cpu": "300m", "pods": str(len(others)), "cpu": "200m"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": object_metadata("team")}
    extra.append({**quota, "spec": {"hard": {name: hard[name]}}})


def _existing_anti_affinity(
    spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random
) -> None:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    for other in others:
        wanted = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        other["spec"]["affinity"] = {"podAntiAffinity": wanted}


def _declared_feature(
    spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random
) -> None:
    spec.update(hostNetwork=True, hostUsers=False)


def _affinity_values(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    for index, node in enumerate(nodes):
        node["metadata"]["labels"]["generation"] = str(index)
    expression = rng.choice(
        [
            {"key": "generation", "operator": "Gt", "values": ["7"]},
            {"key": "disk", "operator": "NotIn", "values": ["hdd", "tape"]},
            {"key": ZONE, "operator": "In", "values": ["c"]},
        ]
    )
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    spec.setdefault("affinity", {})["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}


def _disabled_preemption(
    spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random
) -> None:
    """Of high priority, but not allowed to evict anybody."""
    _many_pods(spec, nodes, others, extra, rng)
    spec["preemptionPolicy"] = "Never"
    spec["priority"] = 100
    spec["priorityClassName"] = "patient"
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "patient"}}
    extra.append({**kind, "value": 100, "preemptionPolicy": "Never"})


OBSTACLES: Final[dict[str, Obstacle]] = {
    **VOLUME_OBSTACLES,
    **DEVICE_OBSTACLES,
    "affinity": _affinity,
    "affinity values": _affinity_values,
    "anti-affinity": _anti_affinity,
    "anti-affinity of others": _existing_anti_affinity,
    "cordoned": _cordoned,
    "cpu": _much_cpu,
    "cpu and memory": _much_of_both,
    "declared feature": _declared_feature,
    "extended resource": _many_devices,
    "fragments": _fragments,
    "gates": _gated,
    "host port": _host_port,
    "host port of a ReplicaSet": _held_port,
    "memory": _much_memory,
    "pod affinity": _pod_affinity,
    "pods per node": _many_pods,
    "quota": _quota,
    "scheduler name": _scheduler,
    "selector": _selector,
    "sidecars": _sidecars,
    "spread": _spread,
    "taints": _tainted,
    "without preemption": _disabled_preemption,
}
