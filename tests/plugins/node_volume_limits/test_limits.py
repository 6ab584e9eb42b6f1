# SPDX-License-Identifier: Apache-2.0
"""How many volumes of a driver fit on a node."""

from __future__ import annotations

from tests.plugins.node_volume_limits.limits import DRIVER, EXCEEDED, LIMITED_TO_2, NODE, bound, verdict

from steersman import api
from steersman.framework.status import SKIP, Code, unresolvable, unschedulable
from steersman.testing import make_claim, make_csi_node, make_pod, make_storage_class, make_volume

NEW = make_pod("new").pvc("new")
OBJECTS = bound("new", "one", "two", "three")
ONE, TWO = make_pod("one").pvc("one"), make_pod("two").pvc("two")


def test_there_is_room_up_to_the_limit() -> None:
    assert verdict(NEW, objects=OBJECTS) is None
    assert verdict(NEW, ONE, objects=OBJECTS) is None
    assert verdict(NEW, ONE, TWO, objects=OBJECTS) == EXCEEDED


def test_a_pod_may_bring_more_than_fit() -> None:
    assert verdict(make_pod().pvc("one").pvc("two").pvc("three"), objects=OBJECTS) == EXCEEDED


def test_a_volume_that_is_on_the_node_needs_no_further_place() -> None:
    assert verdict(make_pod("again").pvc("one"), ONE, TWO, objects=OBJECTS) is None


def test_a_volume_that_two_pods_use_counts_once() -> None:
    assert verdict(NEW, ONE, make_pod("also").pvc("one"), objects=OBJECTS) is None


def test_volumes_of_other_drivers_do_not_count() -> None:
    others = [*bound("a", "b", driver="other.example.com"), *bound("new")]
    assert verdict(NEW, make_pod("x").pvc("a").pvc("b"), objects=others) is None


def test_each_driver_has_its_own_limit() -> None:
    node = make_csi_node(NODE).driver(DRIVER, limit=1).driver("other.example.com", limit=0)
    objects = [*bound("new"), *bound("a", driver="other.example.com")]
    assert verdict(NEW, objects=objects, csi_node=node) is None
    assert verdict(NEW.pvc("a"), objects=objects, csi_node=node) == EXCEEDED


def test_a_node_without_limits_takes_everything() -> None:
    assert verdict(NEW, ONE, TWO, objects=OBJECTS, csi_node=None) is None
    assert verdict(NEW, ONE, TWO, objects=OBJECTS, csi_node=make_csi_node(NODE).driver(DRIVER)) is None


def test_pods_without_such_volumes_are_left_out() -> None:
    assert verdict(make_pod()) == SKIP
    assert verdict(make_pod().volume(api.Volume(name="tmp", empty_dir=api.EmptyDir()))) == SKIP


def test_a_missing_claim_of_the_new_pod_is_reported() -> None:
    text = 'looking up PVC default/new: persistentvolumeclaim "new" not found'
    assert verdict(NEW) == unresolvable(text)


def test_a_missing_claim_of_another_pod_does_not_count() -> None:
    assert verdict(NEW, make_pod("x").pvc("gone"), ONE, objects=OBJECTS) is None


def test_a_claim_without_a_name_is_a_fault() -> None:
    status = verdict(make_pod().pvc(""))
    assert status is not None
    assert status.code is Code.ERROR


# -- claims without a volume ---------------------------------------------------------------------------------------------

FAST = make_storage_class("fast").provisioner(DRIVER).waits().obj()


def test_a_claim_to_be_provisioned_counts_for_the_driver_of_its_class() -> None:
    objects = [*OBJECTS, make_claim("lazy").storage_class("fast").obj(), FAST]
    assert verdict(make_pod().pvc("lazy"), ONE, objects=objects) is None
    assert verdict(make_pod().pvc("lazy"), ONE, TWO, objects=objects) == EXCEEDED
    assert verdict(NEW, ONE, make_pod("x").pvc("lazy"), objects=objects) == EXCEEDED


def test_so_does_one_whose_volume_is_gone() -> None:
    objects = [*OBJECTS, make_claim("lazy").storage_class("fast").bound("gone").obj(), FAST]
    assert verdict(make_pod().pvc("lazy"), ONE, TWO, objects=objects) == EXCEEDED


def test_a_claim_without_a_class_does_not_count() -> None:
    objects = [*OBJECTS, make_claim("lazy").obj(), make_claim("odd").storage_class("gone").obj()]
    assert verdict(make_pod().pvc("lazy").pvc("odd"), ONE, TWO, objects=objects) is None


def test_a_class_of_an_in_tree_plugin_counts_for_the_driver_that_replaced_it() -> None:
    old = make_storage_class("fast").provisioner("kubernetes.io/aws-ebs").waits().obj()
    objects = [*OBJECTS, make_claim("lazy").storage_class("fast").obj(), old]
    assert verdict(make_pod().pvc("lazy"), ONE, TWO, objects=objects) == EXCEEDED


# -- in-tree volumes -----------------------------------------------------------------------------------------------------


def aws(volume_id: str) -> api.Volume:
    return api.Volume(name="disk", aws_elastic_block_store=api.AWSElasticBlockStore(volume_id=volume_id))


def test_an_in_tree_volume_counts_for_the_driver_that_replaced_its_plugin() -> None:
    objects = [*OBJECTS, make_claim("old").bound("old").obj(), make_volume("old").aws("vol-1").obj()]
    assert verdict(make_pod().pvc("old"), ONE, objects=objects) is None
    assert verdict(make_pod().pvc("old"), ONE, TWO, objects=objects) == EXCEEDED


def test_a_disk_that_the_pod_names_counts_too() -> None:
    assert verdict(make_pod().volume(aws("vol-1")), ONE, TWO, objects=OBJECTS) == EXCEEDED
    assert verdict(NEW, ONE, make_pod("x").volume(aws("vol-1")), objects=OBJECTS) == EXCEEDED


def test_one_disk_is_one_volume_however_it_is_named() -> None:
    objects = [*OBJECTS, make_claim("old").bound("old").obj(), make_volume("old").aws("aws://zone/vol-1").obj()]
    assert verdict(make_pod().volume(aws("vol-1")), ONE, make_pod("x").pvc("old"), objects=objects) is None


def test_a_disk_that_makes_no_sense_is_a_fault_and_a_volume_does_not_count() -> None:
    status = verdict(make_pod().volume(aws("aws://zone/strange")))
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message.startswith("converting volume(disk) from inline to csi: ")
    objects = [*OBJECTS, make_claim("old").bound("old").obj(), make_volume("old").aws("aws://zone/strange").obj()]
    assert verdict(make_pod().pvc("old"), ONE, TWO, objects=objects) is None


def test_plugins_that_the_scheduler_never_migrated_do_not_count() -> None:
    node = make_csi_node(NODE).driver("csi.vsphere.vmware.com", limit=0)
    inline = api.Volume(name="v", vsphere_volume=api.VsphereVolume(volume_path="p"))
    assert verdict(make_pod().volume(inline), csi_node=node) is None


# -- ephemeral volumes ---------------------------------------------------------------------------------------------------

EPHEMERAL = make_pod("web").volume(api.Volume(name="tmp", ephemeral=api.EphemeralVolumeSource()))


def test_the_claim_of_an_ephemeral_volume_counts() -> None:
    mine = make_claim("web-tmp").storage_class("fast").owner("Pod", "web").obj()
    assert verdict(EPHEMERAL, ONE, objects=[*OBJECTS, mine, FAST]) is None
    assert verdict(EPHEMERAL, ONE, TWO, objects=[*OBJECTS, mine, FAST]) == EXCEEDED


def test_it_must_be_the_pods_own() -> None:
    foreign = make_claim("web-tmp").storage_class("fast").obj()
    status = verdict(EPHEMERAL, objects=[foreign, FAST])
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message == "PVC default/web-tmp was not created for pod default/web (pod is not owner)"
    assert verdict(NEW, EPHEMERAL, objects=[*OBJECTS, foreign, FAST]) == status


def test_it_must_exist() -> None:
    text = 'looking up PVC default/web-tmp: persistentvolumeclaim "web-tmp" not found'
    assert verdict(EPHEMERAL) == unresolvable(text)


# -- the gate VolumeLimitScaling -----------------------------------------------------------------------------------------


def test_a_driver_may_insist_on_being_installed() -> None:
    spec = api.CSIDriverSpec(prevent_pod_scheduling_if_missing=True)
    driver = api.CSIDriver(metadata=api.ObjectMeta(name=DRIVER), spec=spec)
    objects, bare = [*OBJECTS, driver], make_csi_node(NODE)
    scaling = {"VolumeLimitScaling": True}
    missing = unschedulable(f"{DRIVER} CSI driver is not installed on the node")
    assert verdict(NEW, objects=objects, csi_node=bare, gates=scaling) == missing
    assert verdict(NEW, objects=objects, csi_node=None, gates=scaling) == missing
    assert verdict(NEW, objects=objects, csi_node=LIMITED_TO_2, gates=scaling) is None
    assert verdict(NEW, objects=OBJECTS, csi_node=bare, gates=scaling) is None
    assert verdict(NEW, objects=objects, csi_node=bare) is None
