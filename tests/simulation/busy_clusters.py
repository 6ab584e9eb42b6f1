# SPDX-License-Identifier: Apache-2.0
"""Clusters in which much is under way at once, and random things to do to them: for tests of forks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from tests.simulation.clusters import HOSTNAME, ZONE, a_node, a_pod

from steersman.base.errors import InputError
from steersman.simulation import Simulation
from steersman.testing import (
    make_claim,
    make_device_class,
    make_resource_claim,
    make_slice,
    make_storage_class,
    make_volume,
)
from steersman.testing.selecting import is_in

Action = Callable[[Simulation], object]
DELETED = ("pod/near", "pod/with-volume", "deployment/web", "pod/with-port")
NODES = ("n1", "n2", "n3", "n4")


def workload(kind: str, name: str, replicas: int, cpu: str = "500m", priority: int = 0) -> dict[str, Any]:
    """A Deployment or StatefulSet whose pods spread over zones and run for as long as they may."""
    labels = {"app": name}
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
    pod = {
        "metadata": {"labels": labels},
        "spec": {
            "priority": priority,
            "topologySpreadConstraints": [{**spread, "labelSelector": {"matchLabels": labels}}],
            "containers": [{"name": "c", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}],
        },
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def _budget(app: str, least: int) -> dict[str, Any]:
    spec = {"minAvailable": least, "selector": {"matchLabels": {"app": app}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app}, "spec": spec}


def busy_cluster(seed: int = 0, **options: Any) -> Simulation:
    """Workloads, a budget, volumes that wait for their first consumer, devices, ports, affinity, images, quotas."""
    places = zip(NODES, "abab", strict=True)
    nodes = [a_node(name, zone=zone).image("app", size=10**8 + ord(zone)).obj() for name, zone in places]
    return Simulation.load(
        nodes,
        workload("Deployment", "web", 3),
        workload("StatefulSet", "db", 2, cpu="1"),
        _budget("web", 2),
        make_storage_class("local").provisioner("kubernetes.io/no-provisioner").waits().obj(),
        make_volume("pv").offers("1Gi").modes("ReadWriteOnce").storage_class("local").on(is_in(ZONE, "a")).obj(),
        make_claim("data").asks("1Gi").modes("ReadWriteOnce").storage_class("local").obj(),
        a_pod("with-volume").pvc("data").obj(),
        make_device_class("gpu").obj(),
        make_slice("gpus").on_node("n2").driver("gpu.example.com").pool("n2").device("gpu-0").device("gpu-1").obj(),
        make_resource_claim("gpu").asks("gpu", "gpu").obj(),
        a_pod("with-device").resource_claim("gpu").obj(),
        a_pod("with-port").host_port(8080).obj(),
        a_pod("apart-0").label("apart", "yes").anti_affinity(HOSTNAME, {"apart": "yes"}).obj(),
        a_pod("apart-1").label("apart", "yes").anti_affinity(HOSTNAME, {"apart": "yes"}).obj(),
        a_pod("near").pod_affinity(ZONE, {"app": "web"}).obj(),
        a_pod("gated").gate("example.com/wait").obj(),
        a_pod("too-large", cpu="64").obj(),
        a_pod("short").annotation("steersman.dev/run-seconds", "20").obj(),
        seed=seed,
        **options,
    )


def fingerprint(simulation: Simulation) -> dict[str, object]:
    """All that can be seen of a simulation: objects, queue, time, result."""
    store = simulation.cluster
    result = simulation.result()
    return {
        "objects": {kind.KIND: list(store.objects(kind).values()) for kind in sorted(store._objects, key=str)},
        "version": store.version,
        "now": simulation.now,
        "queue": _queued(simulation),
        "result": result.to_dict(),
        "events": result.events,
    }


def _queued(simulation: Simulation) -> dict[str, list[tuple[str, int, float]]]:
    contents = simulation.scheduler.queue.contents()
    lanes = {"active": contents.active, "backoff": contents.backoff, "error": contents.error_backoff}
    lanes["unschedulable"] = contents.unschedulable
    return {name: [(queued.key, queued.attempts, queued.timestamp) for queued in lane] for name, lane in lanes.items()}


def validate(simulation: Simulation) -> None:
    """Everything that is kept equals what it is computed from."""
    scheduler = simulation.scheduler
    scheduler.cache.validate_state()
    scheduler.cycle.validate_state()
    scheduler.queue.validate_state()


def _tolerant(act: Action) -> Action:
    def acted(simulation: Simulation) -> object:
        try:
            outcome = act(simulation)
            return None if outcome is simulation else outcome
        except InputError as error:  # what was added is there already, what is deleted has gone
            return str(error)

    return acted


def _priority_pod(number: int) -> Action:
    return lambda sim: sim.add(a_pod(f"important-{number}", cpu="3").priority(1000).obj())


def _plain_pod(number: int) -> Action:
    return lambda sim: sim.add(a_pod(f"plain-{number}", cpu="500m").annotation("steersman.dev/run-seconds", "7").obj())


def _on_node(method: str, node: str) -> Action:
    return lambda sim: getattr(sim, method)(node)


def _run(seconds: int) -> Action:
    return lambda sim: sim.run(until=sim.now + seconds).to_dict()


def _steps(count: int) -> Action:
    return lambda sim: [described(sim.step()) for _ in range(count)]


def described(decision: Any) -> str:
    """A decision without what belongs to one simulation alone."""
    if decision is None:
        return "nothing"
    return f"{type(decision).__name__} {decision.pod.key} {getattr(decision, 'node', '')} {getattr(decision, 'message', '')}"


numbers = st.integers(0, 3)
actions: st.SearchStrategy[Action] = st.one_of(
    st.builds(_priority_pod, numbers),
    st.builds(_plain_pod, numbers),
    st.builds(_on_node, st.sampled_from(["crash", "recover", "reboot", "drain", "uncordon"]), st.sampled_from(NODES)),
    st.builds(lambda node: lambda sim: sim.delete(f"node/{node}"), st.sampled_from(NODES)),
    st.builds(lambda node: lambda sim: sim.add(a_node(node, zone="b").obj()), st.sampled_from((*NODES, "n5"))),
    st.builds(
        lambda name: lambda sim: sim.delete(name),
        st.sampled_from(DELETED),
    ),
    st.builds(_run, st.sampled_from([0, 3, 40, 400])),
    st.builds(_steps, st.integers(1, 4)),
).map(_tolerant)
histories = st.lists(actions, max_size=5)
