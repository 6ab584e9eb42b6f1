# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler and kube-controller-manager v1.36 themselves, on a sandbox that has neither of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from tests.e2e.sandbox.conftest import Kubectl

from steersman import Simulation
from steersman.testing.control_plane import Binaries, wait_until

EXAMPLES = Path(__file__).parents[3] / "examples"
GRACE_SECONDS = 15
"""So long kube-controller-manager waits for a sign of life of a node; kubelets give one every ten seconds."""
STATEFUL_SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 1
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: postgres, volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""


@contextmanager
def running(program: Path, log: Path, *arguments: str) -> Iterator[None]:
    with log.open("w") as output:
        process = subprocess.Popen([str(program), *arguments], stdout=output, stderr=subprocess.STDOUT)
    try:
        yield
        assert process.poll() is None, log.read_text()[-2000:]
    finally:
        process.terminate()
        process.wait(timeout=60)


def test_kube_scheduler_and_kube_controller_manager_roll_out_a_deployment(
    start_sandbox: Callable[..., Kubectl], binaries: Binaries, tmp_path: Path
) -> None:
    kubectl = start_sandbox("--nodes", "5", "--scheduler", "none", "--no-controllers")
    known = ("--kubeconfig", str(kubectl.sandbox.kubeconfig), "--leader-elect=true", "--secure-port=0")
    watchful = (*known, f"--node-monitor-grace-period={GRACE_SECONDS}s")
    scheduler, manager = binaries.program("kube-scheduler"), binaries.program("kube-controller-manager")
    with running(scheduler, tmp_path / "scheduler.log", *known), running(manager, tmp_path / "manager.log", *watchful):
        kubectl("create", "deployment", "web", "--image=nginx", "--replicas=10")
        assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web", "--timeout=120s")
        holders = kubectl("get", "leases", "-n", "kube-system", "-o", "name")
        assert "lease.coordination.k8s.io/kube-scheduler" in holders
        assert "lease.coordination.k8s.io/kube-controller-manager" in holders
        assert "default-scheduler" in kubectl("get", "events", "-o", "jsonpath={..reportingComponent}")
        kubectl("create", "job", "once", "--image=busybox")
        kubectl("delete", "deployment", "web")
        kubectl("wait", "--for=delete", "pod", "-l", "app=web", "--timeout=120s")
        kubectl("create", "namespace", "short")
        kubectl("delete", "namespace", "short", "--timeout=120s")
        kubectl("apply", "-f", "-", stdin=STATEFUL_SET)
        assert "complete" in kubectl("rollout", "status", "statefulset/db", "--timeout=120s")
        kubectl("delete", "statefulset/db", "pvc/data-db-0", "--timeout=120s")
        kubectl("wait", "--for=delete", "pv", "--all", "--timeout=60s")
        silent = ("--for=condition=Ready=Unknown", "node/node-0", f"--timeout={2 * GRACE_SECONDS}s")
        assert "timed out" in kubectl("wait", *silent, code=1), "a node whose kubelet lives renews its Lease"


@pytest.mark.parametrize("example", ["devices", "preemption", "quickstart", "volumes"])
def test_kube_scheduler_places_as_many_pods_as_steersman(
    start_sandbox: Callable[..., Kubectl], binaries: Binaries, tmp_path: Path, example: str
) -> None:
    """Those examples that need no plugin. Which node it is, and which of three equal pods, is left to chance."""
    files = [str(EXAMPLES / example / name) for name in ("cluster.yaml", "pods.yaml")]
    result = Simulation.load(*files).run()
    given = [document for file in files for document in yaml.safe_load_all(Path(file).read_text())]
    bound_before = {one["metadata"]["name"] for one in given if one["kind"] == "Pod" and one["spec"].get("nodeName")}
    expected = sum(bool(placed.node) for placed in result.placements.values())
    kubectl = start_sandbox("-f", files[0], "--scheduler", "none", "--speed", "20x")
    known = ("--kubeconfig", str(kubectl.sandbox.kubeconfig), "--leader-elect=true", "--secure-port=0")

    def placed_pods() -> int:
        fields = "jsonpath={range .items[?(@.spec.nodeName)]}{.metadata.name} {end}"
        return len(set(kubectl("get", "pods", "-A", "-o", fields).split()) - bound_before)

    def is_led() -> bool:
        leases = kubectl("get", "leases", "-n", "kube-system", "-o", "jsonpath={range .items[*]}{.metadata.name} {end}")
        return "kube-scheduler" in leases.split()

    with running(binaries.program("kube-scheduler"), tmp_path / "scheduler.log", *known):
        wait_until(is_led, timeout=120, what="kube-scheduler leads")
        # Pods that it finds when it starts have no order: a pod that stays might take the room of one that ends.
        kubectl("apply", "-f", files[1])
        wait_until(lambda: placed_pods() == expected, timeout=120, what=f"{expected} pods are placed")
