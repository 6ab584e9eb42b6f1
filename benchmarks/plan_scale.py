# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.plan_scale [QUESTION …]`: CPU seconds and memory of `steersman plan` on a large running cluster.

The cluster has 5,000 nodes of four pools in three zones and 50,000 running pods: two DaemonSets, Deployments with their
ReplicaSets, half of them with a PodDisruptionBudget, some with spread constraints, anti-affinity or a priority, and
StatefulSets with zonal volumes. About three quarters of the CPU is requested, so losing a zone leaves pods pending.
Objects of the cluster have what `kubectl get -o json` prints and loading depends on: resource versions and generations.
`--directory DIR` keeps the files and reuses them.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

Document = dict[str, Any]

ZONES: Final = ("zone-a", "zone-b", "zone-c")
CREATED: Final = "2026-01-01T00:00:00Z"
RESOURCE_VERSION: Final = "4711"
REVISION: Final = "5d4f8c7b9"
NAMESPACES: Final = 40
DAEMONS: Final = 2
STATEFUL_SETS: Final = 100
STATEFUL_REPLICAS: Final = 5
GROWTH_DEPLOYMENTS: Final = 100
PRIORITIES: Final = {"low": -100, "high": 1_000}


class Pool(NamedTuple):
    """One node type: its share of the nodes and of the Deployments, and what a node offers."""

    name: str
    share: float
    cpu: int
    memory: int
    price: float
    tainted: bool
    gpus: int = 0


POOLS: Final = (
    Pool("general", 0.65, 16, 64, 0.8, tainted=False),
    Pool("memory", 0.15, 16, 128, 1.1, tainted=True),
    Pool("spot", 0.15, 8, 32, 0.15, tainted=True),
    Pool("gpu", 0.05, 32, 128, 3.2, tainted=True, gpus=4),
)


class Room:
    """Free CPU and memory of every node, filled in a fixed rotation over the nodes of each pool."""

    def __init__(self, nodes: list[Document]) -> None:
        self._by_pool: dict[str, list[str]] = {pool.name: [] for pool in POOLS}
        self.zones: dict[str, str] = {}
        self._free: dict[str, list[float]] = {}
        self._next = dict.fromkeys(self._by_pool, 0)
        for node in nodes:
            name, labels = node["metadata"]["name"], node["metadata"]["labels"]
            offered = node["status"]["allocatable"]
            self._by_pool[labels["pool"]].append(name)
            self.zones[name] = labels["topology.kubernetes.io/zone"]
            gpus = float(offered.get("nvidia.com/gpu", 0))
            self._free[name] = [float(offered["cpu"]), float(offered["memory"][:-2]), gpus]

    def take(self, name: str, wanted: list[float]) -> bool:
        """Reserve the amounts on the node if they are free."""
        free = self._free[name]
        if any(amount > left for amount, left in zip(wanted, free, strict=True)):
            return False
        self._free[name] = [left - amount for amount, left in zip(wanted, free, strict=True)]
        return True

    def place(self, pool: str, wanted: list[float]) -> str:
        """Return the next node of the pool's rotation that has room."""
        nodes = self._by_pool[pool]
        for _ in nodes:
            name = nodes[self._next[pool] % len(nodes)]
            self._next[pool] += 1
            if self.take(name, wanted):
                return name
        raise SystemExit(f"the nodes of pool {pool} have no room for the generated pods")


def make_node(index: int, pool: Pool) -> Document:
    name = f"{pool.name}-{index:05d}"
    amounts = {"cpu": str(pool.cpu), "memory": f"{pool.memory}Gi", "pods": "110", "ephemeral-storage": "200Gi"}
    if pool.gpus:
        amounts["nvidia.com/gpu"] = str(pool.gpus)
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "pool": pool.name,
        "steersman.dev/pool": pool.name,
        "topology.kubernetes.io/zone": ZONES[index % len(ZONES)],
        "topology.kubernetes.io/region": "region-1",
    }
    taints = [{"key": "pool", "value": pool.name, "effect": "NoSchedule"}] if pool.tainted else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"node-{index}",
            "resourceVersion": RESOURCE_VERSION,
            "labels": labels,
            "annotations": {"steersman.dev/price-per-hour": str(pool.price)},
            "creationTimestamp": CREATED,
        },
        "spec": {"taints": taints},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def make_nodes(count: int) -> list[Document]:
    shares = [round(pool.share * count) for pool in POOLS]
    shares[0] += count - sum(shares)
    indices = iter(range(count))
    return [make_node(next(indices), pool) for pool, share in zip(POOLS, shares, strict=True) for _ in range(share)]


def make_template(app: str, pool: Pool, cpu: float, memory: float, spec: Document) -> Document:
    amounts = {"cpu": f"{round(cpu * 1000)}m", "memory": f"{round(memory * 1024)}Mi"}
    requests = amounts | ({"nvidia.com/gpu": "1"} if pool.gpus else {})
    limits = {"memory": amounts["memory"]} | ({"nvidia.com/gpu": "1"} if pool.gpus else {})
    placement: Document = {}
    if pool.tainted:
        placement = {
            "tolerations": [{"key": "pool", "operator": "Equal", "value": pool.name, "effect": "NoSchedule"}],
            "nodeSelector": {"pool": pool.name},
        }
    container = {
        "name": "app",
        "image": f"registry.example/{app}:1.4.2",
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": "LOG_LEVEL", "value": "info"}],
        "resources": {"requests": requests, "limits": limits},
    }
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container], **placement, **spec}}


def make_constraints(app: str, draw: random.Random) -> Document:
    """Return spread constraints, anti-affinity or a priority for some of the workloads."""
    selector = {"labelSelector": {"matchLabels": {"app": app}}}
    spec: Document = {}
    kind = draw.random()
    if kind < 0.2:
        hard = "DoNotSchedule" if kind < 0.1 else "ScheduleAnyway"
        spread = {"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": hard}
        spec["topologySpreadConstraints"] = [spread | selector]
    elif kind < 0.3:
        term = {"topologyKey": "kubernetes.io/hostname"} | selector
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    priority = draw.choices(["", *PRIORITIES], [6, 3, 1])[0]
    return spec | ({"priorityClassName": priority} if priority else {})


class Cluster:
    """The generated objects, in the order in which they are written."""

    def __init__(self, nodes: int, pods: int) -> None:
        self._draw = random.Random(0)
        self.items = make_nodes(nodes)
        self._nodes = list(self.items)
        self._room = Room(self._nodes)
        self.usage: list[list[str]] = []
        self.items += [_object("scheduling.k8s.io/v1", "PriorityClass", "", n, value=v) for n, v in PRIORITIES.items()]
        for number in range(DAEMONS):
            self._add_daemon_set(number)
        for number in range(STATEFUL_SETS):
            self._add_stateful_set(number)
        left = pods - DAEMONS * nodes - STATEFUL_SETS * STATEFUL_REPLICAS
        number = 0
        while left > 0:
            left -= self._add_deployment(number, left)
            number += 1

    def _add_daemon_set(self, number: int) -> None:
        app = f"agent-{number}"
        template = make_template(app, POOLS[0], 0.1, 0.25, {"tolerations": [{"operator": "Exists"}]})
        owner = self._add_workload("DaemonSet", "kube-system", app, template, {})
        for node in self._nodes:
            name = node["metadata"]["name"]
            self._room.take(name, [0.1, 0.25, 0])
            self._add_pod(f"{app}-{name}", "kube-system", template, owner, name)

    def _add_stateful_set(self, number: int) -> None:
        app, namespace = f"db-{number}", f"team-{number % NAMESPACES}"
        pool = POOLS[number % 2]
        template = make_template(app, pool, 1.0, 8.0, {})
        claim = {"metadata": {"name": "data"}, "spec": _claim_spec()}
        spec = {"replicas": STATEFUL_REPLICAS, "serviceName": app, "volumeClaimTemplates": [claim]}
        owner = self._add_workload("StatefulSet", namespace, app, template, spec)
        for ordinal in range(STATEFUL_REPLICAS):
            name = f"{app}-{ordinal}"
            node = self._room.place(pool.name, [1.0, 8.0, 0])
            self._add_volume(f"data-{name}", namespace, self._room.zones[node])
            volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
            self._add_pod(name, namespace, template, owner, node, volumes=volumes)
        self._add_budget(app, namespace, STATEFUL_REPLICAS)

    def _add_volume(self, claim: str, namespace: str, zone: str) -> None:
        term = {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}
        volume = f"pv-{claim}"
        reference = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim, "uid": f"uid-{claim}"}
        common = {"accessModes": ["ReadWriteOnce"], "storageClassName": "zonal"}
        source = {"csi": {"driver": "disk.example.com", "volumeHandle": volume}, "claimRef": reference}
        affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}, "capacity": {"storage": "100Gi"}}
        pv = _object("v1", "PersistentVolume", "", volume, spec=common | source | affinity, status={"phase": "Bound"})
        spec = _claim_spec() | {"volumeName": volume}
        pvc = _object("v1", "PersistentVolumeClaim", namespace, claim, spec=spec, status={"phase": "Bound"})
        pvc["metadata"]["uid"] = f"uid-{claim}"
        self.items += [pv, pvc]

    def _add_deployment(self, number: int, most: int) -> int:
        draw = self._draw
        pool = draw.choices(POOLS, [pool.share * pool.cpu for pool in POOLS])[0]
        replicas = min(most, 1 if pool.gpus else round(1 + draw.expovariate(1 / 35)))
        app, namespace = f"app-{number}", f"team-{number % NAMESPACES}"
        cpu, memory = draw.choice([0.25, 0.5, 1.0, 1.5, 2.0, 2.5]), draw.choice([0.5, 1.0, 2.0, 4.0, 6.0])
        template = make_template(app, pool, cpu, memory, make_constraints(app, draw))
        deployment = self._add_workload("Deployment", namespace, app, template, {"replicas": replicas})
        digest = f"{number * 7919 % 99991:x}"
        template["metadata"]["labels"]["pod-template-hash"] = digest
        owner = self._add_workload(
            "ReplicaSet", namespace, f"{app}-{digest}", template, {"replicas": replicas}, deployment
        )
        for index in range(replicas):
            node = self._room.place(pool.name, [cpu, memory, 1.0 if pool.gpus else 0.0])
            self._add_pod(f"{app}-{digest}-{index:05d}", namespace, template, owner, node)
        if number % 2 and replicas > 1:
            self._add_budget(app, namespace, replicas)
        return replicas

    def _add_workload(
        self, kind: str, namespace: str, name: str, template: Document, spec: Document, owner: Document | None = None
    ) -> Document:
        labels = dict(template["metadata"]["labels"])
        whole = {"selector": {"matchLabels": labels}, "template": json.loads(json.dumps(template))} | spec
        workload = _object("apps/v1", kind, namespace, name, spec=whole)
        workload["metadata"]["generation"] = 1
        replicas = spec.get("replicas", len(self._nodes))
        if kind == "Deployment":
            workload["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "1"}
        if owner is not None:
            workload["metadata"] |= {"ownerReferences": [owner], "labels": labels}
            workload["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "1"}
        if kind == "DaemonSet":
            workload["metadata"]["annotations"] = {"deprecated.daemonset.template.generation": "1"}
        else:
            ready = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}
            workload["status"] = ready | {"observedGeneration": 1}
        if kind == "StatefulSet":
            revision = f"{name}-{REVISION}"
            workload["status"] |= {"currentRevision": revision, "updateRevision": revision, "updatedReplicas": replicas}
        self.items.append(workload)
        return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}

    def _add_pod(
        self,
        name: str,
        namespace: str,
        template: Document,
        owner: Document,
        node: str,
        *,
        volumes: list[Document] | None = None,
    ) -> None:
        spec = dict(template["spec"], nodeName=node, serviceAccountName="default", schedulerName="default-scheduler")
        priority = PRIORITIES.get(spec.get("priorityClassName", ""), 0)
        lasting = [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")
        ]
        spec |= {"priority": priority, "tolerations": [*spec.get("tolerations", ()), *lasting]}
        if volumes:
            spec["volumes"] = volumes
        conditions = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Ready")]
        status = {"phase": "Running", "startTime": CREATED, "qosClass": "Burstable", "conditions": conditions}
        pod = _object("v1", "Pod", namespace, name, spec=spec, status=status)
        labels = dict(template["metadata"]["labels"])
        if owner["kind"] == "DaemonSet":
            labels |= {"controller-revision-hash": REVISION, "pod-template-generation": "1"}
        elif owner["kind"] == "StatefulSet":
            labels["controller-revision-hash"] = f"{owner['name']}-{REVISION}"
        pod["metadata"] |= {"labels": labels, "ownerReferences": [owner]}
        self.items.append(pod)
        requests = template["spec"]["containers"][0]["resources"]["requests"]
        used = self._draw.uniform(0.3, 0.9)
        cpu, memory = float(requests["cpu"][:-1]) * used, float(requests["memory"][:-2]) * used
        self.usage.append([namespace, name, "app", f"{cpu:.0f}m", f"{memory:.0f}Mi"])

    def _add_budget(self, app: str, namespace: str, replicas: int) -> None:
        spec = {"maxUnavailable": "10%", "selector": {"matchLabels": {"app": app}}}
        counts = {"currentHealthy": replicas, "desiredHealthy": replicas - 1, "expectedPods": replicas}
        status = {"disruptionsAllowed": 1} | counts
        self.items.append(_object("policy/v1", "PodDisruptionBudget", namespace, app, spec=spec, status=status))


def _claim_spec() -> Document:
    resources = {"requests": {"storage": "100Gi"}}
    return {"accessModes": ["ReadWriteOnce"], "storageClassName": "zonal", "resources": resources}


def _object(version: str, kind: str, namespace: str, name: str, **fields: Any) -> Document:
    metadata = {"name": name, "uid": f"{kind}-{name}", "resourceVersion": RESOURCE_VERSION}
    metadata["creationTimestamp"] = CREATED
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def make_growth(pods: int) -> list[Document]:
    """Return Deployments with `pods` pods that the cluster does not have yet."""
    draw = random.Random(1)
    items = []
    for number in range(GROWTH_DEPLOYMENTS):
        app = f"more-{number}"
        cpu, memory = draw.choice([0.5, 1.0, 2.0]), draw.choice([1.0, 2.0, 4.0])
        template = make_template(app, POOLS[number % 3], cpu, memory, make_constraints(app, draw))
        replicas = pods * (number + 1) // GROWTH_DEPLOYMENTS - pods * number // GROWTH_DEPLOYMENTS
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": app}}, "template": template}
        metadata = {"name": app, "namespace": f"team-{number % NAMESPACES}"}
        items.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    return items


def make_pools() -> Document:
    pools = []
    for pool in POOLS:
        node = make_node(0, pool)
        labels = {"pool": pool.name}
        template = {"metadata": {"labels": labels}, "spec": node["spec"], "status": node["status"]}
        pools.append({"name": pool.name, "pricePerHour": pool.price, "zones": ZONES, "template": template})
    return {"apiVersion": "steersman.dev/v1alpha1", "kind": "NodePools", "pools": pools}


def write_files(folder: Path, nodes: int, pods: int, growth: int) -> None:
    cluster = Cluster(nodes, pods)
    _write(folder / "cluster.json", {"apiVersion": "v1", "kind": "List", "items": cluster.items})
    _write(folder / "growth.json", {"apiVersion": "v1", "kind": "List", "items": make_growth(growth)})
    _write(folder / "pools.yaml", make_pools())
    with (folder / "usage.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["namespace", "pod", "container", "cpu", "memory"], *cluster.usage])
    template = make_template("web", POOLS[0], 1.0, 2.0, {})
    _write(folder / "pod.yaml", {"apiVersion": "v1", "kind": "Pod", **template, "metadata": {"name": "web"}})
    packing = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    args = {"name": "NodeResourcesFit", "args": {"scoringStrategy": packing}}
    profile = {"schedulerName": "default-scheduler", "pluginConfig": [args]}
    version = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    _write(folder / "pack.yaml", version | {"profiles": [profile]})


def _write(path: Path, document: Document) -> None:
    path.write_text(json.dumps(document), encoding="utf-8")


def questions(folder: Path) -> dict[str, list[str]]:
    """Return the arguments of `steersman plan` for each question."""
    nodes = [f"general-{index:05d}" for index in range(40)]
    growth = ["-f", str(folder / "growth.json")]
    configurations = ["--config", "default", "--config", f"pack={folder / 'pack.yaml'}"]
    return {
        "capacity": ["capacity", "--pod", str(folder / "pod.yaml")],
        "lose": ["lose", "topology.kubernetes.io/zone=zone-a"],
        "drain": ["drain", *nodes],
        "compact": ["compact"],
        "requests": ["requests", "--usage", str(folder / "usage.csv")],
        # One worker runs in the process of the command, so that its CPU time is counted.
        "compare": ["compare", *configurations, "--seeds", "1", "--workers", "1", *growth],
        "nodes": ["nodes", "--pools", str(folder / "pools.yaml"), "--time-limit", "120", *growth],
    }


def ask(folder: Path, arguments: list[str]) -> Iterator[str]:
    """Run one question and yield the last line of its answer, then its costs."""
    command = [sys.executable, "-m", "steersman", "plan", *arguments, "-f", str(folder / "cluster.json")]
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        lines = output.read().decode().strip().splitlines()
    yield lines[-1] if lines else ""
    seconds, wall = usage.ru_utime + usage.ru_stime, time.monotonic() - began
    memory = f"{usage.ru_maxrss / 1024:.0f} MB at most"
    yield f"exit code {process.returncode}, {seconds:.1f} s of CPU, {wall:.1f} s of wall time, {memory}"


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU seconds of `steersman plan` on a large cluster.")
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=f"any of {', '.join(questions(Path()))}")
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--growth", type=int, default=20_000, help="pods that `compare` and `nodes` add")
    parser.add_argument("--directory", type=Path, help="where files are written, or reused if they exist")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.directory or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "cluster.json").exists():
            write_files(folder, options.nodes, options.pods, options.growth)
        known = questions(folder)
        for name in options.questions or known:
            if name not in known:
                parser.error(f"unknown question {name!r}: expected one of {', '.join(known)}")
            print(f"{name}:", *ask(folder, known[name]), sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
