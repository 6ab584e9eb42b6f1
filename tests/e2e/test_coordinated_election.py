# SPDX-License-Identifier: Apache-2.0
"""A real API server chooses the leader among candidates of both schedulers (gate CoordinatedLeaderElection)."""

from __future__ import annotations

from pathlib import Path

from steersman.testing import make_node, make_pod
from steersman.testing.control_plane import (
    Binaries,
    ControlPlane,
    KubeScheduler,
    Steersman,
    bound_to,
    manifest,
    wait_until,
)

GATE = "--feature-gates=CoordinatedLeaderElection=true"
SERVED = "--runtime-config=coordination.k8s.io/v1beta1=true"
ELECTING = {
    "leaderElection": {
        "leaderElect": True,
        "resourceName": "kube-scheduler",
        "leaseDuration": "6s",
        "renewDeadline": "4s",
        "retryPeriod": "1s",
    }
}
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
CANDIDATES = "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates"


def holder(plane: ControlPlane) -> str:
    answer = plane.admin.raw("GET", LEASE)
    return "" if answer.status == 404 else str(answer.json()["spec"].get("holderIdentity") or "")


def candidates(plane: ControlPlane) -> dict[str, str]:
    """The emulated version of each candidate."""
    items = plane.admin.raw("GET", CANDIDATES).json()["items"]
    return {item["metadata"]["name"]: item["spec"]["emulationVersion"] for item in items}


def test_the_candidate_of_the_oldest_version_leads_until_it_ends(tmp_path: Path) -> None:
    with ControlPlane(Binaries.find("1.37"), tmp_path, extra_flags=(GATE, SERVED)) as plane:
        admin = plane.admin
        admin.create_nodes(manifest(make_node("a").capacity(cpu="4", memory="8Gi")))
        older = (GATE, "--emulated-version=1.36")
        with (
            KubeScheduler(plane, config=ELECTING, leader_elect=None, flags=(GATE,)),
            Steersman(plane, config=ELECTING, leader_elect=None, flags=(GATE,)),
            Steersman(plane, config=ELECTING, leader_elect=None, flags=older) as oldest,
        ):
            wait_until(lambda: len(candidates(plane)) == 3, what="three candidates", timeout=60)
            assert sorted(candidates(plane).values()) == ["1.36.0", "1.37.0", "1.37.0"]
            by_version = {version: name for name, version in candidates(plane).items()}
            wait_until(lambda: holder(plane) == by_version["1.36.0"], what="the oldest version leads", timeout=90)
            admin.create(manifest(make_pod("first").req(cpu="1")))
            assert admin.wait_until(lambda: bound_to(admin.get("Pod", "first"))) == "a"

            assert oldest.stop() == 0
            wait_until(lambda: holder(plane) not in ("", by_version["1.36.0"]), what="another leader", timeout=90)
            admin.create(manifest(make_pod("second").req(cpu="1")))
            assert admin.wait_until(lambda: bound_to(admin.get("Pod", "second"))) == "a"
