# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler and kube-controller-manager v1.36 themselves, on a sandbox that has neither of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.sandbox.conftest import Kubectl

from steersman.testing.control_plane import Binaries


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
    scheduler, manager = binaries.program("kube-scheduler"), binaries.program("kube-controller-manager")
    with running(scheduler, tmp_path / "scheduler.log", *known), running(manager, tmp_path / "manager.log", *known):
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
