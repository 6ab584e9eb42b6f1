# SPDX-License-Identifier: Apache-2.0
"""Volumes on a real API server: restrictions, zones, limits, and binding when the first pod needs it."""

from __future__ import annotations

import pytest
from tests.e2e.comparing import EACH_VERSION, Both, assert_same, run_both
from tests.e2e.objects import HOSTNAME, ZONE, on
from tests.e2e.volume_controllers import BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE, VolumeControllers

from steersman import api
from steersman.testing import (
    ClaimBuilder,
    PodBuilder,
    VolumeBuilder,
    is_in,
    make_claim,
    make_csi_node,
    make_node,
    make_pod,
    make_storage_capacity,
    make_storage_class,
    make_volume,
)
from steersman.testing.control_plane import ControlPlane, JsonObject, KubeClient, manifest

pytestmark = EACH_VERSION

SCRATCH_CLAIM = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "scratch-scratch"'
DRIVER, SMALL_DRIVER = "disk.example.com", "small.example.com"
STATIC, DYNAMIC, AT_ONCE, SMALL, ELSEWHERE = "static", "dynamic", "at-once", "small", "elsewhere"
CLASSES = [
    make_storage_class(STATIC).provisioner("kubernetes.io/no-provisioner").waits(),
    make_storage_class(DYNAMIC).provisioner(DRIVER).waits(),
    make_storage_class(AT_ONCE).provisioner(DRIVER),
    make_storage_class(SMALL).provisioner(SMALL_DRIVER).waits(),
    make_storage_class(ELSEWHERE).provisioner(DRIVER).waits().allows(ZONE, "z9"),
]


def claim(name: str, storage_class: str = AT_ONCE) -> ClaimBuilder:
    return make_claim(name).storage_class(storage_class).asks("10Gi")


def volume(name: str, storage_class: str = AT_ONCE) -> VolumeBuilder:
    return make_volume(name).storage_class(storage_class).offers("10Gi").csi(DRIVER)


def disk(pod: PodBuilder, name: str) -> PodBuilder:
    return pod.volume(api.Volume(name="disk", gce_persistent_disk=api.GCEPersistentDisk(pd_name=name)))


def scratch(name: str) -> api.Volume:
    """A volume with a claim of its own, which a controller would make."""
    template = api.PersistentVolumeClaimTemplate(spec=claim(name, DYNAMIC).obj().spec)
    return api.Volume(name=name, ephemeral=api.EphemeralVolumeSource(volume_claim_template=template))


CLAIMS = [
    claim("leaving", DYNAMIC),
    claim("immediate"),
    claim("far").bound("far"),
    claim("zoned").bound("zoned"),
    claim("first").bound("first"),
    claim("second").bound("second"),
    claim("lonely").modes("ReadWriteOncePod").bound("lonely"),
    claim("dangling").bound("gone"),
    claim("local", STATIC),
    claim("huge", STATIC).asks("100Gi"),
    claim("provisioned", DYNAMIC),
    claim("scarce", SMALL),
    claim("banned", ELSEWHERE),
]
VOLUMES = [
    volume("far").on(is_in(HOSTNAME, "v2")).claimed(claim("far")),
    volume("zoned").label(ZONE, "z2").claimed(claim("zoned")),
    volume("first").claimed(claim("first")),
    volume("second").claimed(claim("second")),
    volume("lonely").modes("ReadWriteOncePod").claimed(claim("lonely")),
    volume("local", STATIC).on(is_in(HOSTNAME, "v2")),
]
ASSIGNED = [
    make_pod("first-user").pvc("first").node("full"),
    make_pod("lonely-user").pvc("lonely").node("v2"),
    disk(make_pod("disk-user"), "shared").node("v2"),
]
PODS = [
    make_pod("without-claim").pvc("missing"),
    make_pod("scratch").volume(scratch("scratch")),
    make_pod("leaving").pvc("leaving"),
    make_pod("immediate").pvc("immediate"),
    on(make_pod("far"), "v1").pvc("far"),
    on(make_pod("zoned"), "v1").pvc("zoned"),
    on(make_pod("limited"), "full").pvc("second"),
    disk(on(make_pod("same-disk"), "v2"), "shared"),
    make_pod("lonely").pvc("lonely"),
    make_pod("dangling").pvc("dangling"),
    make_pod("local").pvc("local"),
    make_pod("huge").pvc("huge"),
    on(make_pod("provisioned"), "v2").pvc("provisioned"),
    make_pod("scarce").pvc("scarce"),
    make_pod("banned").pvc("banned"),
]


def csi_driver(name: str) -> JsonObject:
    spec = {"storageCapacity": True}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}


def prepare(admin: KubeClient) -> None:
    zones = {"v1": "z1", "v2": "z2", "full": "z2"}
    nodes = (
        make_node(name).capacity(cpu="8", memory="16Gi").labels({HOSTNAME: name, ZONE: zones[name]}) for name in zones
    )
    admin.create_nodes(*map(manifest, nodes))
    admin.create(manifest(make_csi_node("full").driver(DRIVER, limit=1)))
    admin.create(csi_driver(SMALL_DRIVER))
    admin.create_many([manifest(made) for made in CLASSES])
    admin.create(manifest(make_storage_capacity("little").storage_class(SMALL).capacity("1Gi").on({ZONE: "z1"})))
    for made in [*map(manifest, VOLUMES), *map(manifest, CLAIMS)]:
        admin.create_with_status(made)
    # Protected as long as a finalizer says so, which nobody takes away here.
    admin.delete("PersistentVolumeClaim", "leaving")
    admin.create_many([manifest(pod) for pod in [*ASSIGNED, *PODS]])


@pytest.fixture(scope="module")
def both(shared_plane: ControlPlane) -> Both:
    with VolumeControllers(shared_plane.admin, DYNAMIC):
        return run_both(shared_plane, prepare)


@pytest.mark.parametrize("pod", [pod.obj().metadata.name for pod in PODS])
def test_conditions_and_events_are_those_of_kube_scheduler(both: Both, pod: str) -> None:
    assert_same(both, pod)


def test_claims_and_volumes_are_written_as_kube_scheduler_writes_them(both: Both) -> None:
    assert both.steersman.claims == both.upstream.claims
    assert both.steersman.volumes == both.upstream.volumes


def test_a_waiting_claim_is_bound_to_a_volume_that_exists_where_the_pod_goes(both: Both) -> None:
    assert both.steersman.node("local") == "v2"
    assert both.steersman.claims["local"]["volume"] == "local"
    assert both.steersman.volumes["local"]["annotations"] == {BOUND_BY_CONTROLLER: "yes"}


def test_a_waiting_claim_is_provisioned_on_the_node_that_was_chosen(both: Both) -> None:
    assert both.steersman.node("provisioned") == "v2"
    annotations = both.steersman.claims["provisioned"]["annotations"]
    assert annotations == {SELECTED_NODE: "v2", BIND_COMPLETED: "yes"}


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        ("without-claim", 'persistentvolumeclaim "missing" not found'),
        ("scratch", SCRATCH_CLAIM),
        ("leaving", 'persistentvolumeclaim "leaving" is being deleted'),
        ("immediate", "pod has unbound immediate PersistentVolumeClaims"),
        ("dangling", 'persistentvolume "gone" not found'),
        ("far", "1 node(s) didn't match PersistentVolume's node affinity"),
        ("zoned", "1 node(s) had no available volume zone"),
        ("limited", "1 node(s) exceed max volume count"),
        ("same-disk", "1 node(s) had no available disk"),
        ("lonely", "PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"),
        ("huge", "3 node(s) didn't find available persistent volumes to bind"),
        ("scarce", "3 node(s) did not have enough free storage"),
        ("banned", "2 node(s) didn't find available persistent volumes to bind"),
    ],
)
def test_the_pod_waits_and_its_condition_says_why(both: Both, pod: str, reason: str) -> None:
    assert both.steersman.node(pod) == ""
    assert reason in both.steersman.message(pod)
