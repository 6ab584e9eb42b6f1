# SPDX-License-Identifier: Apache-2.0
"""What may happen to volumes near the limits of nodes: few nodes, claims, volumes and drivers, so that limits are met all the
time, volumes are shared by pods, and objects change while pods use them."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.plugins.volume_columns.stories import Event, Story

from steersman import api
from steersman.testing import (
    PodBuilder,
    make_claim,
    make_csi_node,
    make_node,
    make_pod,
    make_storage_class,
    make_volume,
)

EBS, DISK = "ebs.csi.aws.com", "disk.example.com"
DRIVERS = (EBS, DISK)
NODES = ("n1", "n2", "n3")
CLAIMS = ("c1", "c2", "c3", "c4", "p1-tmp")
VOLUMES = ("v1", "v2", "v3", "v4")
CLASS = "made-later"


def _csi_node(name: str, limits: tuple[int | None, int | None]) -> api.CSINode:
    """With both drivers; None: that one has no limit."""
    return make_csi_node(name).driver(EBS, limit=limits[0]).driver(DISK, limit=limits[1]).obj()


def _claim(name: str, volume: str) -> api.PersistentVolumeClaim:
    """Bound to the volume, or to be provisioned for without one; that of an ephemeral volume is pod p1's."""
    claim = make_claim(name).asks("1Gi").storage_class(CLASS)
    claim = claim.bound(volume) if volume else claim
    return (claim.owner("Pod", "p1") if name == "p1-tmp" else claim).obj()


def _volume(name: str, source: str) -> api.PersistentVolume:
    volume = make_volume(name).offers("1Gi")
    match source:
        case "in-tree":
            return volume.aws("vol-1").obj()
        case "odd":
            return volume.aws("aws://zone/odd").obj()
        case "local":
            return volume.obj()
        case driver:
            return volume.csi(driver).obj()


def _attachment(name: str, driver: str, volume: str, node: str) -> api.VolumeAttachment:
    source = api.VolumeAttachmentSource(persistent_volume_name=volume)
    spec = api.VolumeAttachmentSpec(attacher=driver, node_name=node, source=source)
    return api.VolumeAttachment(metadata=api.ObjectMeta(name=name), spec=spec)


@st.composite
def pods(draw: st.DrawFn) -> PodBuilder:
    """With one to three claims, and sometimes an ephemeral volume or a disk that it names itself."""
    pod = make_pod(draw(st.sampled_from(["p1", "p2"])))
    for name in draw(st.sets(st.sampled_from(CLAIMS[:4]), min_size=1, max_size=3)):
        pod = pod.pvc(name)
    match draw(st.sampled_from(["", "", "", "", "ephemeral", "disk", "odd"])):
        case "ephemeral":
            pod = pod.volume(api.Volume(name="tmp", ephemeral=api.EphemeralVolumeSource()))
        case "disk":
            pod = pod.volume(_disk("vol-1"))
        case "odd":
            pod = pod.volume(_disk("aws://zone/odd"))
    return pod


def _disk(volume_id: str) -> api.Volume:
    return api.Volume(name="disk", aws_elastic_block_store=api.AWSElasticBlockStore(volume_id=volume_id))


def _put(obj: api.Object) -> Event:
    return lambda story: story.put(obj)


def _remove(kind: type[api.Object], name: str) -> Event:
    def happen(story: Story) -> None:
        found = story.cluster.objects.get(kind, name)
        if found is not None:
            story.cluster.objects.remove(found)

    return happen


def _pod_comes(pod: PodBuilder, node: str) -> Event:
    def happen(story: Story) -> None:
        story.pods += 1
        story.cluster.cache.add_pod(pod.uid(f"running-{story.pods}").node(node).obj())

    return happen


def _pod_goes(which: int) -> Event:
    def happen(story: Story) -> None:
        record = story.cluster.some_pod(which)
        if record is not None:
            story.cluster.cache.remove_pod(record.info.pod)

    return happen


def _node_goes(name: str) -> Event:
    def happen(story: Story) -> None:
        row = story.cluster.cache.nodes.row_of(name)
        if row is not None:
            story.cluster.cache.remove_node(story.cluster.cache.nodes.node(row))

    return happen


def _node_comes(name: str) -> Event:
    return lambda story: story.cluster.cache.set_node(make_node(name).capacity(cpu="8", pods="20").obj())


_nodes, _claims, _volumes = st.sampled_from(NODES), st.sampled_from(CLAIMS), st.sampled_from(VOLUMES)
_drivers, _limits = st.sampled_from(DRIVERS), st.sampled_from([0, 1, 2, 3, None])
_sources = st.sampled_from([EBS, DISK, EBS, DISK, "in-tree", "odd", "local"])
_names = st.sampled_from(["x", "y", "z"])
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(_pod_comes, pods(), _nodes),
    st.builds(_pod_comes, pods(), _nodes),
    st.builds(_pod_comes, pods(), _nodes),
    st.builds(_pod_goes, st.integers(0, 5)),
    st.builds(lambda name, volume: _put(_claim(name, volume)), _claims, st.sampled_from([*VOLUMES, ""])),
    st.builds(lambda name, source: _put(_volume(name, source)), _volumes, _sources),
    st.builds(lambda *parts: _put(_attachment(*parts)), _names, _drivers, _volumes, _nodes),
    st.builds(lambda name: _remove(api.VolumeAttachment, name), _names),
    st.builds(lambda name, *limits: _put(_csi_node(name, limits)), _nodes, _limits, _limits),
    st.builds(lambda driver: _put(make_storage_class(CLASS).provisioner(driver).waits().obj()), _drivers),
    st.builds(lambda name: _remove(api.PersistentVolume, name), _volumes),
    st.builds(lambda name: _remove(api.PersistentVolumeClaim, f"default/{name}"), _claims),
    st.builds(lambda name: _remove(api.CSINode, name), _nodes),
    st.builds(_node_goes, _nodes),
    st.builds(_node_comes, _nodes),
)


def begun() -> Story:
    """Three nodes that take two volumes of each driver, and claims with volumes of both drivers."""
    story = Story()
    for name in NODES:
        _node_comes(name)(story)
        story.put(_csi_node(name, (2, 2)))
    story.put(make_storage_class(CLASS).provisioner(DISK).waits().obj())
    for name, volume, driver in zip(CLAIMS, (*VOLUMES, ""), (EBS, DISK, EBS, DISK, ""), strict=True):
        story.put(_claim(name, volume))
        if volume:
            story.put(_volume(volume, driver))
    return story
