# SPDX-License-Identifier: Apache-2.0
"""What may happen to storage: objects that come, change and go, and pods that use them. Everything has few names and few
values, so that things meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st
from tests.equivalence.cluster import PROFILE, Cluster

from steersman import api
from steersman.api.csi_migration import MIGRATED_PLUGINS
from steersman.api.persistent_volumes import NO_PROVISIONER, SELECTED_NODE
from steersman.framework.cycle_state import CycleState
from steersman.scheduler.plugins.volume_binding import VolumeBinding
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

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
EBS, OTHER = "ebs.csi.aws.com", "disk.example.com"
NODES, ZONES = ("n1", "n2", "n3"), ("a", "b")
CLASSES = ("fast", "local", "now")
CLAIMS = ("c1", "c2", "c3", "p1-tmp")
VOLUMES = ("v1", "v2", "v3")
SIZES = ("1Gi", "2Gi", "2147483648")


@dataclass
class Story:
    """A cluster on the way; `changes` numbers the versions of objects."""

    cluster: Cluster = field(default_factory=Cluster)
    changes: int = 0
    pods: int = 0

    def version(self) -> int:
        self.changes += 1
        return self.changes

    def put(self, obj: api.Object) -> None:
        self.cluster.objects.put(obj)


Event = Callable[[Story], None]


# -- objects -------------------------------------------------------------------------------------------------------------


@st.composite
def claims(draw: st.DrawFn) -> ClaimBuilder:
    claim = make_claim(draw(st.sampled_from(CLAIMS))).asks(draw(st.sampled_from(SIZES)))
    claim = claim.modes(draw(st.sampled_from(["ReadWriteOnce", "ReadWriteOncePod"])))
    if draw(st.integers(0, 3)):
        claim = claim.storage_class(draw(st.sampled_from(["fast", "local", "local", "now"])))
    how = draw(st.sampled_from(["free", "free", "bound", "bound", "bound", "wants", "lost", "selected"]))
    match how:
        case "bound":
            claim = claim.bound(draw(st.sampled_from(VOLUMES)))
        case "wants":
            claim = claim.wants(draw(st.sampled_from(VOLUMES)))
        case "lost":
            claim = claim.phase("Lost")
        case "selected":
            claim = claim.annotation(SELECTED_NODE, draw(st.sampled_from(NODES)))
    return claim.owner("Pod", "p1") if draw(st.booleans()) else claim


@st.composite
def volumes(draw: st.DrawFn) -> VolumeBuilder:
    volume = make_volume(draw(st.sampled_from(VOLUMES))).offers(draw(st.sampled_from(SIZES)))
    volume = volume.modes("ReadWriteOnce", "ReadWriteOncePod").storage_class(
        draw(st.sampled_from(["local", "local", "fast"]))
    )
    volume = volume.phase(draw(st.sampled_from(["Available", "Available", "Bound"])))
    match draw(st.sampled_from(["csi", "aws", "odd", "other"])):
        case "csi":
            volume = volume.csi(EBS)
        case "aws":
            volume = volume.aws("vol-1")
        case "odd":
            volume = volume.aws("aws://zone/odd")
    key = draw(st.sampled_from(["", HOST, ZONE]))
    if key:
        volume = volume.on(is_in(key, draw(st.sampled_from(NODES if key == HOST else ZONES))))
    if draw(st.booleans()):
        label = draw(st.sampled_from([ZONE, BETA_ZONE]))
        volume = volume.label(label, draw(st.sampled_from(["a", "b", "a__b"])))
    if draw(st.integers(0, 3)) == 0:
        volume = volume.claimed(make_claim(draw(st.sampled_from(CLAIMS))), uid=draw(st.sampled_from([None, ""])))
    return volume


@st.composite
def storage_classes(draw: st.DrawFn) -> api.StorageClass:
    name = draw(st.sampled_from(CLASSES))
    provisioner = NO_PROVISIONER if name == "local" else draw(st.sampled_from([EBS, OTHER, "kubernetes.io/aws-ebs"]))
    made = make_storage_class(name).provisioner(provisioner)
    if name != "now":
        made = made.waits()
    if draw(st.booleans()):
        made = made.allows(ZONE, draw(st.sampled_from(ZONES)))
    return made.obj()


@st.composite
def csi_nodes(draw: st.DrawFn) -> api.CSINode:
    node = make_csi_node(draw(st.sampled_from(NODES)))
    if draw(st.integers(0, 3)):
        node = node.driver(EBS, limit=draw(st.sampled_from([0, 1, 2, None])))
    if draw(st.booleans()):
        node = node.driver(OTHER, limit=draw(st.sampled_from([1, None])))
    return (node.annotation(MIGRATED_PLUGINS, "kubernetes.io/aws-ebs") if draw(st.booleans()) else node).obj()


@st.composite
def published(draw: st.DrawFn) -> api.Object:
    """What drivers publish, and what is attached."""
    match draw(st.sampled_from(["driver", "capacity", "attachment"])):
        case "driver":
            spec = api.CSIDriverSpec(storage_capacity=draw(st.booleans()))
            return api.CSIDriver(metadata=api.ObjectMeta(name=draw(st.sampled_from([EBS, OTHER]))), spec=spec)
        case "capacity":
            pool = make_storage_capacity(draw(st.sampled_from(["s1", "s2"]))).storage_class("fast")
            key = draw(st.sampled_from([HOST, ZONE]))
            pool = pool.on({key: draw(st.sampled_from(NODES if key == HOST else ZONES))})
            return pool.capacity(draw(st.sampled_from(SIZES))).obj()
        case _:
            source = api.VolumeAttachmentSource(persistent_volume_name=draw(st.sampled_from(VOLUMES)))
            node = draw(st.sampled_from(NODES))
            spec_of = api.VolumeAttachmentSpec(attacher=EBS, node_name=node, source=source)
            return api.VolumeAttachment(metadata=api.ObjectMeta(name=draw(st.sampled_from(["x", "y"]))), spec=spec_of)


def _gce(name: str) -> api.Volume:
    return api.Volume(name=f"gce-{name}", gce_persistent_disk=api.GCEPersistentDisk(pd_name=name))


def _aws(volume_id: str) -> api.Volume:
    return api.Volume(name="aws", aws_elastic_block_store=api.AWSElasticBlockStore(volume_id=volume_id))


@st.composite
def pods(draw: st.DrawFn) -> PodBuilder:
    """With volumes of all kinds, few of each."""
    pod = make_pod(draw(st.sampled_from(["p1", "p2"])))
    for name in draw(st.lists(st.sampled_from(CLAIMS[:3]), min_size=draw(st.integers(0, 2)), max_size=3)):
        pod = pod.pvc(name)
    match draw(st.sampled_from(["", "", "", "ephemeral", "gce", "aws", "odd"])):
        case "ephemeral":
            pod = pod.volume(api.Volume(name="tmp", ephemeral=api.EphemeralVolumeSource()))
        case "gce":
            pod = pod.volume(_gce(draw(st.sampled_from(["d1", "d2"]))))
        case "aws":
            pod = pod.volume(_aws("vol-1"))
        case "odd":
            pod = pod.volume(_aws("aws://zone/odd"))
    return pod


# -- events --------------------------------------------------------------------------------------------------------------


def _put_claim(claim: ClaimBuilder) -> Event:
    return lambda story: story.put(claim.resource_version(story.version()).obj())


def _put_volume(volume: VolumeBuilder) -> Event:
    return lambda story: story.put(volume.resource_version(story.version()).obj())


def _put(obj: api.Object) -> Event:
    return lambda story: story.put(obj)


def _remove(obj: api.Object) -> Event:
    def happen(story: Story) -> None:
        story.cluster.objects.remove(obj)

    return happen


def _set_node(name: str, labels: dict[str, str]) -> Event:
    return lambda story: story.cluster.cache.set_node(
        make_node(name).capacity(cpu="8", pods="20").label(HOST, name).labels(labels).obj()
    )


def _remove_node(name: str) -> Event:
    def happen(story: Story) -> None:
        row = story.cluster.cache.nodes.row_of(name)
        if row is not None:
            story.cluster.cache.remove_node(story.cluster.cache.nodes.node(row))

    return happen


def _pod_comes(pod: PodBuilder, node: str) -> Event:
    def happen(story: Story) -> None:
        story.pods += 1
        uid = f"running-{story.pods}"
        story.cluster.cache.add_pod(pod.uid(uid).node(node).obj())

    return happen


def _pod_goes(which: int) -> Event:
    def happen(story: Story) -> None:
        record = story.cluster.some_pod(which)
        if record is not None:
            story.cluster.cache.remove_pod(record.info.pod)

    return happen


def _reserve(pod: PodBuilder, node: str) -> Event:
    """Another pod gets its volumes, if it can."""

    def happen(story: Story) -> None:
        cluster = story.cluster
        plugin = cluster.profiles[PROFILE].plugins[VolumeBinding.name]
        assert isinstance(plugin, VolumeBinding)
        row = cluster.cache.nodes.row_of(node)
        info, state = cluster.pending(pod.obj()), CycleState()
        if row is None or plugin.pre_filter(state, info, ()) is not None:
            return
        if plugin.filter(state, info, cluster.cache.nodes.info(row)) is None:
            plugin.reserve(state, info, node)

    return happen


NODE_LABELS = st.dictionaries(st.sampled_from([ZONE, BETA_ZONE, EBS_ZONE]), st.sampled_from(ZONES))
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(_put_claim, claims()),
    st.builds(_put_claim, claims()),
    st.builds(_put_volume, volumes()),
    st.builds(_put_volume, volumes()),
    st.builds(_put, storage_classes()),
    st.builds(_put, csi_nodes()),
    st.builds(_put, published()),
    st.builds(_remove, st.one_of(storage_classes(), csi_nodes(), published())),
    st.builds(lambda volume: _remove(volume.obj()), volumes()),
    st.builds(_set_node, st.sampled_from(NODES), NODE_LABELS),
    st.builds(_remove_node, st.sampled_from(NODES)),
    st.builds(_pod_comes, pods(), st.sampled_from(NODES)),
    st.builds(_pod_goes, st.integers(0, 5)),
    st.builds(_reserve, pods(), st.sampled_from(NODES)),
)


def begun() -> Story:
    """Nodes, classes and a few claims with volumes: most pods have something to look at."""
    story = Story()
    for name, zone in zip(NODES, ("a", "b", "a"), strict=True):
        _set_node(name, {ZONE: zone, EBS_ZONE: zone})(story)
    for name in CLASSES:
        provisioner = NO_PROVISIONER if name == "local" else EBS
        made = make_storage_class(name).provisioner(provisioner)
        story.put((made if name == "now" else made.waits()).obj())
    for name, storage_class in (("c1", "fast"), ("c2", "local"), ("c3", "fast"), ("p1-tmp", "fast")):
        claim = make_claim(name).asks("1Gi").storage_class(storage_class)
        story.put((claim.owner("Pod", "p1") if name == "p1-tmp" else claim).obj())
    for name, zone in zip(VOLUMES, ("a", "b", "a"), strict=True):
        volume = make_volume(name).offers("2Gi").modes("ReadWriteOnce", "ReadWriteOncePod").storage_class("local")
        story.put(volume.label(ZONE, zone).csi(EBS).obj())
    return story
