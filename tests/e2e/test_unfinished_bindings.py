# SPDX-License-Identifier: Apache-2.0
"""Bindings that cannot be finished: volumes that nobody makes, a server that refuses. What is written meanwhile and after."""

from __future__ import annotations

from tests.e2e.comparing import EACH_VERSION, run_both
from tests.e2e.objects import HOSTNAME
from tests.e2e.pictures import scheduling_events
from tests.e2e.volume_controllers import SELECTED_NODE

from steersman.testing import make_claim, make_node, make_pod, make_storage_class
from steersman.testing.control_plane import ControlPlane, JsonObject, KubeClient, manifest

pytestmark = EACH_VERSION

PATIENCE = {
    "name": "VolumeBinding",
    "args": {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "VolumeBindingArgs",
        "bindTimeoutSeconds": 1,
    },
}
IMPATIENT = {"profiles": [{"pluginConfig": [PATIENCE]}]}
POLICY = "no-binding"


def unprovisioned(admin: KubeClient) -> None:
    admin.create_nodes(manifest(make_node("n1").capacity(cpu="1", memory="8Gi").label(HOSTNAME, "n1")))
    admin.create(manifest(make_storage_class("slow").provisioner("disk.example.com").waits()))
    admin.create(manifest(make_claim("data").storage_class("slow").asks("1Gi")))
    admin.create(manifest(make_pod("waiting").pvc("data")))


def test_a_pod_whose_volume_is_being_made_shows_where_it_will_go(shared_plane: ControlPlane) -> None:
    both = run_both(shared_plane, unprovisioned)

    assert both.steersman == both.upstream
    assert both.steersman.pods["waiting"]["nominated"] == "n1"
    assert both.steersman.claims["data"]["annotations"] == {SELECTED_NODE: "n1"}


def test_a_pod_whose_volume_is_not_made_in_time_is_reported(shared_plane: ControlPlane) -> None:
    def failed(admin: KubeClient) -> None:
        admin.wait_until(lambda: scheduling_events(admin, "default"), what="an event")

    both = run_both(shared_plane, unprovisioned, act=failed, config=IMPATIENT)

    assert both.steersman.events == both.upstream.events
    assert both.steersman.events[0]["reason"] == "FailedScheduling"


def policy() -> list[JsonObject]:
    """Admission that refuses to bind pods, whoever asks."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.metadata.name != 'unwelcome'", "message": "not on my cluster"}],
    }
    header = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": POLICY}}
    binding = {"policyName": POLICY, "validationActions": ["Deny"]}
    return [
        {**header, "kind": "ValidatingAdmissionPolicy", "spec": spec},
        {**header, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    ]


def test_a_refused_binding_is_reported_with_the_words_of_the_server(shared_plane: ControlPlane) -> None:
    admin = shared_plane.admin

    def prepare(_: KubeClient) -> None:
        admin.create_nodes(manifest(make_node("n1").capacity(cpu="4", memory="8Gi")))
        admin.create(manifest(make_pod("unwelcome")))
        admin.create(manifest(make_pod("welcome")))

    for document in policy():
        admin.create(document)
    try:
        admin.create(manifest(make_pod("unwelcome")))
        admin.wait_until(lambda: refuses_bindings(admin), what="the policy to be in force")
        both = run_both(shared_plane, prepare)
    finally:
        for document in policy():
            admin.delete(document["kind"], POLICY)

    assert both.steersman == both.upstream
    assert "not on my cluster" in both.steersman.message("unwelcome")
    assert both.steersman.node("welcome") == "n1"


def refuses_bindings(admin: KubeClient) -> bool:
    target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "unwelcome"}, "target": target}
    path = admin.path("Pod", "unwelcome", "default", "binding") + "?dryRun=All"
    return admin.raw("POST", path, body, headers={"Content-Type": "application/json"}).status == 422
