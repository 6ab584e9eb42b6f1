# SPDX-License-Identifier: Apache-2.0
"""Clusters as JSON documents in which one pod is pending, for one or two of many reasons, drawn by a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final, NamedTuple

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
POD: Final = "default/web"

Document = dict[str, Any]


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
        chosen.append(rng.choice([name for name in names if name not in chosen]))
    spec: Document = {"containers": [{"name": "app", "command": ["serve"], "resources": {"requests": {"cpu": "500m"}}}]}
    nodes = [_node(f"n{index}", rng) for index in range(rng.randint(2, 5))]
    others = [_running(f"busy-{node['metadata']['name']}", node, rng) for node in nodes]
    extra: list[Document] = []
    for name in chosen:
        OBSTACLES[name](spec, nodes, others, extra, rng)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata("web", app="web"), "spec": spec}
    workload = _workload(rng, spec) if seed % 4 == 3 else None
    return PendingPod([*extra, *nodes, *others, workload or pod], tuple(chosen), workload)


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
        "containers": [{"name": "app", "resources": {"requests": requests}}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(name, app="busy"), "spec": spec}


def _workload(rng: random.Random, spec: Document) -> Document:
    kind = rng.choice(["Deployment", "StatefulSet", "Job", "ReplicaSet"])
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    if kind == "Job":
        spec["restartPolicy"] = "Never"
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": _metadata("web"), "spec": {"template": template}}
    selector = {"matchLabels": {"app": "web"}}
    content = {"replicas": 1, "selector": selector, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": _metadata("web"), "spec": content}


def _metadata(name: str, **labels: str) -> Document:
    return {"name": name, "namespace": "default", **({"labels": labels} if labels else {})}


# -- obstacles ---------------------------------------------------------------------------------------------------------

Documents = list[Document]
Obstacle = Callable[[Document, Documents, Documents, Documents, random.Random], None]


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
    spec["containers"].append({"name": "proxy", "resources": {"requests": {"cpu": "9"}}})
    spec["initContainers"] = [{"name": "fetch", "resources": {"requests": {"cpu": "500m"}}}]


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
            metadata = _metadata(f"lined-up-{position}-{index}", app="lined-up")
            content = {"nodeName": other["spec"]["nodeName"], "containers": [{"name": "app"}]}
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


def _claim(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def _volume(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    _claim(spec, nodes, others, extra, rng)
    name = {"name": "by-hand"}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": name}
    extra.append({**kind, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate"})
    asked = {"accessModes": ["ReadWriteOnce"], "storageClassName": "by-hand"}
    claim = {**asked, "resources": {"requests": {"storage": "5Gi"}}}
    extra.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": _metadata("data"), "spec": claim})


def _scheduler(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    spec["schedulerName"] = "somebody-else"


def _host_port(spec: Document, nodes: Documents, others: Documents, extra: Documents, rng: random.Random) -> None:
    ports = [{"hostPort": 8080, "containerPort": 8080}]
    spec["containers"][0]["ports"] = ports
    for other in others:
        other["spec"]["containers"][0]["ports"] = ports


OBSTACLES: Final[dict[str, Obstacle]] = {
    "affinity": _affinity,
    "anti-affinity": _anti_affinity,
    "claim": _claim,
    "cordoned": _cordoned,
    "cpu": _much_cpu,
    "cpu and memory": _much_of_both,
    "devices": _many_devices,
    "gates": _gated,
    "host port": _host_port,
    "memory": _much_memory,
    "pod affinity": _pod_affinity,
    "scheduler name": _scheduler,
    "selector": _selector,
    "sidecars": _sidecars,
    "spread": _spread,
    "taints": _tainted,
    "volume": _volume,
}
