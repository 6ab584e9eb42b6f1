# SPDX-License-Identifier: Apache-2.0
"""What pods need from the software of a node, and claims that do not exist (yet)."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import EACH_VERSION, Both, run_both
from tests.e2e.objects import HOSTNAME, on

from steersman.testing import PodBuilder, make_node, make_pod
from steersman.testing.control_plane import ControlPlane, JsonObject, KubeClient, bound_to, manifest

pytestmark = EACH_VERSION

FEATURE = "RestartAllContainersOnContainerExits"
RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}


def restarting(pod: PodBuilder) -> JsonObject:
    made = manifest(pod)
    made["spec"]["containers"][0].update({"restartPolicy": "Never", "restartPolicyRules": [RULE]})
    return made


def prepare(admin: KubeClient) -> None:
    plain = make_node("plain").capacity(cpu="4", memory="8Gi").label(HOSTNAME, "plain")
    able = make_node("able").capacity(cpu="4", memory="8Gi").label(HOSTNAME, "able").declared_features(FEATURE)
    admin.create_nodes(manifest(plain), manifest(able))
    admin.create(restarting(make_pod("restarts")))
    admin.create(restarting(on(make_pod("restarts-nowhere"), "plain")))


@pytest.fixture(scope="module")
def both(shared_plane: ControlPlane) -> Both:
    return run_both(shared_plane, prepare)


def test_everything_written_is_what_kube_scheduler_writes(both: Both) -> None:
    assert both.steersman == both.upstream


def test_a_pod_goes_to_a_node_that_declares_what_it_needs(both: Both) -> None:
    assert both.steersman.node("restarts") == "able"
    assert "1 node(s) didn't match Pod's required features" in both.steersman.message("restarts-nowhere")


def test_a_pod_whose_resource_claim_does_not_exist_is_not_tried(shared_plane: ControlPlane) -> None:
    statuses: list[JsonObject] = []

    def without_claim(admin: KubeClient) -> None:
        admin.create_nodes(manifest(make_node("plain").capacity(cpu="4", memory="8Gi")))
        gated = manifest(make_pod("without-claim"))
        gated["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "missing"}]
        admin.create(gated)
        admin.create(manifest(make_pod("ordinary")))

    def look(admin: KubeClient) -> None:
        admin.wait_until(lambda: bound_to(admin.get("Pod", "ordinary")))
        statuses.append(admin.get("Pod", "without-claim")["status"])
        admin.delete("Pod", "without-claim")

    both = run_both(shared_plane, without_claim, act=look)

    assert both.steersman == both.upstream
    upstream, ours = statuses
    assert ours == upstream == {"phase": "Pending", "qosClass": "BestEffort"}
