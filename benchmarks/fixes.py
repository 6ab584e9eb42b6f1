# SPDX-License-Identifier: Apache-2.0
"""Explanations with fixes in a large cluster: seconds for each reason that a pod can be pending for, alone and among others.

    python -m benchmarks fixes                     # every reason, 5,000 nodes and 30,000 pods
    python -m benchmarks fixes cpu "device count"  # these
    python -m benchmarks fixes together            # twelve pods, pending for a reason each, in one cluster

The reasons are those of `make fixes-check`. A question is everything after the documents were read: the run to rest, the cause,
when the pod is tried again, and the fixes. Time is that of the process; the time on the wall is printed beside it.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Sequence
from copy import deepcopy
from typing import NamedTuple

from tests.fixes.documents import Document, object_metadata
from tests.fixes.pending_pods import OBSTACLES, POD, pending_because

from steersman.explain import ExplainOptions, PodExplanation, explain_pod
from steersman.simulation import Simulation

NODES = 5_000
PODS = 30_000
REPLICA_SETS = 50
TOGETHER = (
    "affinity",
    "anti-affinity",
    "claim",
    "cpu",
    "cpu and memory",
    "declared feature",
    "extended resource",
    "gates",
    "memory",
    "pod affinity",
    "selector",
    "sidecars",
)
"""Reasons that are the pod's own, so that many such pods can be in one cluster."""
_ALL_TOGETHER = "together"


class Question(NamedTuple):
    """One question, and what it cost in seconds."""

    answer: PodExplanation
    cpu: float
    wall: float


def load_pods(nodes: Sequence[Document], count: int) -> list[Document]:
    """Small running pods of ReplicaSets, spread over the nodes, and their owners."""
    documents: list[Document] = []
    for number in range(REPLICA_SETS):
        name, labels = f"load-{number}", {"app": f"load-{number}"}
        resources = {"requests": {"cpu": "10m", "memory": "16Mi"}}
        containers = [{"name": "app", "image": "load", "resources": resources}]
        spec = {"containers": containers, "tolerations": [{"operator": "Exists"}]}
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": f"uid-{name}", "controller": True}
        mine = range(number, count, REPLICA_SETS)
        template = {"metadata": {"labels": labels}, "spec": spec}
        content = {"replicas": len(mine), "selector": {"matchLabels": labels}, "template": template}
        metadata = {**object_metadata(name), "uid": f"uid-{name}"}
        documents.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": content})
        for index in mine:
            placed = {**spec, "nodeName": nodes[index % len(nodes)]["metadata"]["name"]}
            named = {**object_metadata(f"{name}-{index}", **labels), "ownerReferences": [owner]}
            documents.append({"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": placed})
    return documents


def cluster(reasons: Sequence[str], *, together: bool = False) -> list[Document]:
    """The documents of a large cluster in which the last pod is pending for these reasons, or one pod for each of them."""
    rng = random.Random(7)
    case = pending_because(() if together else reasons, rng, nodes=NODES)
    nodes = [each for each in case.documents if each["kind"] == "Node"]
    pods = sum(each["kind"] == "Pod" for each in case.documents)
    *others, pod = case.documents
    pending = [pod]
    if together:
        pending = [deepcopy(pod) for _ in reasons]
        for own, reason in zip(pending, reasons, strict=True):
            own["metadata"]["name"] = pod_name(reason)
            OBSTACLES[reason](own["spec"], nodes, [], others, rng)
    return [*others, *load_pods(nodes, PODS - pods), *pending]


def pod_name(reason: str) -> str:
    """The name of the pod that is pending for the reason."""
    return "web-" + reason.replace(" ", "-")


def asked(loaded: Simulation, pod: str) -> Question:
    """The question about one pod, of a cluster that was loaded."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    loaded.internals.prepare_forks(pod)
    with loaded.fork() as simulation:
        simulation.run()
        answer = explain_pod(simulation, pod, ExplainOptions(loaded=loaded))
    return Question(answer, time.process_time() - cpu, time.perf_counter() - wall)


def _row(reason: str, question: Question) -> None:
    fixes = question.answer.fixes or ()
    kinds = ", ".join(fix.kind for fix in fixes)
    print(f"{question.cpu:6.2f} {question.wall:6.2f} {len(fixes):6}  {reason}: {kinds}", flush=True)


def main(names: Sequence[str] = ()) -> None:
    unknown = sorted(set(names) - {*OBSTACLES, _ALL_TOGETHER})
    if unknown:
        sys.exit(f"unknown reason {unknown[0]!r}; known: {', '.join(sorted(OBSTACLES))}, {_ALL_TOGETHER}")
    print(f"explain with fixes: {NODES:,} nodes, {PODS:,} pods")
    print("   CPU   WALL  FIXES  PENDING BECAUSE OF")
    for reason in [name for name in sorted(OBSTACLES) if not names or name in names]:
        _row(reason, asked(Simulation.load(*cluster([reason])), POD))
    if not names or _ALL_TOGETHER in names:
        loaded = Simulation.load(*cluster(TOGETHER, together=True))
        print(f"{len(TOGETHER)} pending pods in one cluster:")
        for reason in TOGETHER:
            _row(reason, asked(loaded, f"default/{pod_name(reason)}"))


if __name__ == "__main__":
    main(sys.argv[1:])
