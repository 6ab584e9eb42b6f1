# SPDX-License-Identifier: Apache-2.0
"""In-tree volumes as the drivers see them that replaced their plugins."""

from __future__ import annotations

import pytest

from steersman import api
from steersman.api.csi_migration import (
    MIGRATED_PLUGINS,
    inline_handle,
    is_migrated_on,
    persistent_handle,
    plugin_named,
    plugin_of,
    translated,
)
from steersman.base.errors import InputError
from steersman.testing import VolumeBuilder, is_in, make_csi_node, make_volume

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
EBS = make_volume("v").aws("vol-1")


@pytest.mark.parametrize(
    ("source", "name", "driver"),
    [
        ({"aws_elastic_block_store": api.AWSElasticBlockStore()}, "kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
        ({"gce_persistent_disk": api.GCEPersistentDisk()}, "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
        ({"cinder": api.Cinder()}, "kubernetes.io/cinder", "cinder.csi.openstack.org"),
        ({"azure_disk": api.AzureDisk()}, "kubernetes.io/azure-disk", "disk.csi.azure.com"),
        ({"azure_file": api.AzureFile()}, "kubernetes.io/azure-file", "file.csi.azure.com"),
        ({"portworx_volume": api.PortworxVolume()}, "kubernetes.io/portworx-volume", "pxd.portworx.com"),
        ({"vsphere_volume": api.VsphereVolume()}, "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
    ],
)
def test_each_in_tree_plugin_has_a_successor(source: dict[str, object], name: str, driver: str) -> None:
    plugin = plugin_of(make_volume("v").source(**source).obj().spec)
    assert plugin is not None
    assert (plugin.name, plugin.driver) == (name, driver)
    assert plugin_named(name) == plugin


def test_other_volumes_have_none() -> None:
    assert plugin_of(make_volume("v").csi("d").obj().spec) is None
    assert plugin_of(api.Volume(name="v", nfs=api.NFS())) is None
    assert plugin_named("disk.example.com") is None


@pytest.mark.parametrize(
    ("volume_id", "handle"),
    [("vol-1", "vol-1"), ("aws://us-east-1a/vol-1", "vol-1"), ("aws:///vol-1", "vol-1"), ("anything", "anything")],
)
def test_ids_of_aws_may_be_addresses(volume_id: str, handle: str) -> None:
    assert persistent_handle(make_volume("v").aws(volume_id).obj()) == handle


@pytest.mark.parametrize("volume_id", ["aws://us-east-1a/strange", "aws://us-east-1a/vol-1/more", "aws://x/vol-%zz"])
def test_other_addresses_make_no_sense(volume_id: str) -> None:
    with pytest.raises(InputError, match="failed to translate Kubernetes ID to EBS Volume ID"):
        persistent_handle(make_volume("v").aws(volume_id).obj())


GCE = make_volume("v").gce("disk")


@pytest.mark.parametrize(
    ("volume", "handle"),
    [
        (GCE, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk"),
        (GCE.label(ZONE, "us-central1-a"), "projects/UNSPECIFIED/zones/us-central1-a/disks/disk"),
        (GCE.label(BETA_ZONE, "us-central1-b"), "projects/UNSPECIFIED/zones/us-central1-b/disks/disk"),
        (GCE.label(ZONE, "us-central1-a__us-central1-c"), "projects/UNSPECIFIED/regions/us-central1/disks/disk"),
    ],
)
def test_disks_of_gce_are_named_with_their_place(volume: VolumeBuilder, handle: str) -> None:
    assert persistent_handle(volume.obj()) == handle


@pytest.mark.parametrize("zones", ["here__there", "us-central1-a__us-east1-b"])
def test_the_zones_of_a_regional_disk_must_be_of_one_region(zones: str) -> None:
    with pytest.raises(InputError, match="failed to get region from zones"):
        persistent_handle(GCE.label(ZONE, zones).obj())


def test_a_disk_of_gce_that_a_pod_names_has_no_place() -> None:
    volume = api.Volume(name="v", gce_persistent_disk=api.GCEPersistentDisk(pd_name="disk"))
    assert inline_handle(volume) == "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk"


def test_disks_of_azure_must_be_managed() -> None:
    assert inline_handle(api.Volume(azure_disk=api.AzureDisk(disk_uri="uri", kind="Managed"))) == "uri"
    assert inline_handle(api.Volume(azure_disk=api.AzureDisk(disk_uri="uri"))) == "uri"
    with pytest.raises(InputError, match=r"kind\(Dedicated\) is not supported in csi migration"):
        inline_handle(api.Volume(azure_disk=api.AzureDisk(disk_uri="uri", kind="Dedicated")))


def test_a_node_says_which_plugins_it_has_handed_over() -> None:
    plugin = plugin_named("kubernetes.io/aws-ebs")
    assert plugin is not None
    node = make_csi_node("n")
    assert not is_migrated_on(None, plugin)
    assert not is_migrated_on(node.obj(), plugin)
    assert not is_migrated_on(node.annotation(MIGRATED_PLUGINS, "kubernetes.io/gce-pd").obj(), plugin)
    handed = node.annotation(MIGRATED_PLUGINS, "kubernetes.io/gce-pd,kubernetes.io/aws-ebs")
    assert is_migrated_on(handed.obj(), plugin)


def terms(volume: VolumeBuilder) -> list[list[tuple[str, str, tuple[str, ...]]]]:
    """Conditions of the node affinity after the translation."""
    plugin = plugin_of(volume.obj().spec)
    assert plugin is not None
    affinity = translated(volume.obj(), plugin).spec.node_affinity
    if affinity is None or affinity.required is None:
        return []
    return [
        [(e.key, e.operator, e.values) for e in term.match_expressions]
        for term in affinity.required.node_selector_terms
    ]


def test_the_zone_of_the_affinity_goes_by_the_label_of_the_driver() -> None:
    assert terms(EBS.on(is_in(ZONE, "a"))) == [[(EBS_ZONE, "In", ("a",))]]
    assert terms(EBS.on(is_in(BETA_ZONE, "a"))) == [[(EBS_ZONE, "In", ("a",))]]
    assert terms(EBS.on(is_in(ZONE, "a"), is_in("other", "x"))) == [[(EBS_ZONE, "In", ("a",)), ("other", "In", ("x",))]]


def test_without_a_zone_in_the_affinity_the_label_of_the_volume_counts() -> None:
    assert terms(EBS.label(ZONE, "a")) == [[(EBS_ZONE, "In", ("a",))]]
    assert terms(EBS.label(BETA_ZONE, "b__a")) == [[(EBS_ZONE, "In", ("a", "b"))]]
    assert terms(EBS.label(ZONE, "a").on(is_in("other", "x"))) == [[("other", "In", ("x",)), (EBS_ZONE, "In", ("a",))]]


def test_a_volume_that_names_no_zone_can_be_used_everywhere() -> None:
    assert terms(EBS) == []
    assert terms(EBS.label(ZONE, "")) == []


def test_the_region_goes_by_its_present_label() -> None:
    early = EBS.on(is_in(BETA_ZONE, "a"), is_in(BETA_REGION, "r"))
    assert terms(early) == [[(EBS_ZONE, "In", ("a",)), (REGION, "In", ("r",))]]


def test_drivers_without_a_label_of_their_own_leave_the_affinity_alone() -> None:
    azure = make_volume("v").source(azure_disk=api.AzureDisk(disk_uri="uri")).on(is_in(ZONE, "a"))
    assert terms(azure) == [[(ZONE, "In", ("a",))]]


def test_the_source_becomes_the_drivers() -> None:
    plugin = plugin_named("kubernetes.io/aws-ebs")
    assert plugin is not None
    spec = translated(EBS.obj(), plugin).spec
    assert spec.csi == api.CSIPersistentVolumeSource(driver="ebs.csi.aws.com", volume_handle="vol-1")
    assert spec.aws_elastic_block_store is None
