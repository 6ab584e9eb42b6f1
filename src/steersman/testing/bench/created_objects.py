# SPDX-License-Identifier: Apache-2.0
"""Objects that operations create: nodes, pods, volumes, resource slices and allocated claims.

Turns an operation into the drafts that `workload_executor` creates, in order of creation. Nodes and
pods come from a template or a default.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final
from uuid import UUID

import msgspec

from steersman import api
from steersman.base import InputError
from steersman.scheduler.plugins import (
    DevicesInUse,
    Features,
    NodeDevices,
    PublishedDevices,
    Supply,
    allocation_of,
    find_devices,
    prepare,
)
from steersman.scheduler.state import ObjectStore
from steersman.testing.bench.operations import CreateNodes, CreatePods, CreateResourceDriver, NodeAllocatable
from steersman.testing.bench.templates import Draft, Template, Templates, named, of_kind

_replace = msgspec.structs.replace

# -- nodes -------------------------------------------------------------------------------------------------------------

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
_NODE_AMOUNTS: Final[api.ResourceList] = {"pods": "110", "cpu": "4", "memory": "32Gi"}
_USUAL_NODE: Final = api.Node(
    status=api.NodeStatus(
        capacity=_NODE_AMOUNTS, allocatable=_NODE_AMOUNTS, conditions=(api.Condition(type="Ready", status="True"),)
    )
)


def node_drafts(operation: CreateNodes, prefix: str, templates: Templates) -> Iterator[tuple[Draft, ...]]:
    """Yield the nodes of `createNodes`, each with its CSINode. `prefix` is for default nodes."""
    file = operation.node_template_path
    template = None if file is None else templates(file)
    for index in range(operation.count):
        draft = Draft(_USUAL_NODE)
        if template is not None:
            draft = template.draft(index, operation.count, operation.template_params)
        node = of_kind(api.Node, draft, file)
        node = _named_node(node, prefix if template is None else node.metadata.generate_name, index)
        node = _labelled_node(node, operation, index)
        allocatable = operation.node_allocatable_strategy
        if allocatable is None:
            yield (Draft(node, draft.document),)
        else:
            csi_node = _csi_node(node.metadata.name, allocatable)
            yield Draft(_with_allocatable(node, allocatable), draft.document), Draft(csi_node)


def _named_node(node: api.Node, prefix: str, index: int) -> api.Node:
    """Return the node with its name and hostname label, which requires the name in advance."""
    name = node.metadata.name or f"{prefix}{index:05d}"
    return named(node, name=name, labels={**node.metadata.labels, api.HOSTNAME_LABEL: name})


def _labelled_node(node: api.Node, operation: CreateNodes, index: int) -> api.Node:
    labels = dict(node.metadata.labels)
    if (given := operation.label_node_prepare_strategy) is not None:
        labels[given.label_key] = given.label_values[index % len(given.label_values)]
    if (unique := operation.unique_node_label_strategy) is not None:
        labels[unique.label_key] = str(UUID(int=index, version=4))
    return named(node, labels=labels)


def _with_allocatable(node: api.Node, strategy: NodeAllocatable) -> api.Node:
    offered = node.status.allocatable or node.status.capacity
    return _replace(node, status=_replace(node.status, allocatable={**offered, **strategy.node_allocatable}))


def _csi_node(name: str, strategy: NodeAllocatable) -> api.CSINode:
    drivers = tuple(
        api.CSINodeDriver(name=driver, node_id=name, allocatable=api.VolumeNodeResources(count=resources.count))
        for driver, resources in strategy.csi_node_allocatable.items()
    )
    annotations = {MIGRATED_PLUGINS: ",".join(strategy.migrated_plugins)}
    return api.CSINode(
        metadata=api.ObjectMeta(name=name, annotations=annotations), spec=api.CSINodeSpec(drivers=drivers)
    )


# -- pods and their volumes --------------------------------------------------------------------------------------------

_POD_AMOUNTS: Final[api.ResourceList] = {"cpu": "100m", "memory": "500Mi"}
_USUAL_POD: Final = api.Pod(
    metadata=api.ObjectMeta(generate_name="pod-"),
    spec=api.PodSpec(
        containers=(
            api.Container(
                name="pause",
                image="pause:3.10",
                ports=(api.ContainerPort(container_port=80),),
                resources=api.ResourceRequirements(requests=_POD_AMOUNTS, limits=_POD_AMOUNTS),
            ),
        )
    ),
)
_BOUND: Final = "Bound"


def pod_drafts(
    operation: CreatePods, namespace: str, default_file: str | None, templates: Templates
) -> Iterator[tuple[Draft, ...]]:
    """Yield the objects of every pod of `createPods`: its claim and volume if any, then the pod."""
    file = operation.pod_template_path or default_file
    template = None if file is None else templates(file)
    for index in range(operation.count):
        draft = Draft(_USUAL_POD)
        if template is not None:
            draft = template.draft(index, operation.count, operation.template_params)
        pod = named(of_kind(api.Pod, draft, file), namespace=namespace)
        if operation.signature_batch_size:
            pod = _signed(pod, index // operation.signature_batch_size)
        if operation.persistent_volume_claim_template_path is None:
            yield (Draft(pod, draft.document),)
        else:
            yield _with_volume(Draft(pod, draft.document), operation, index, templates)


def _signed(pod: api.Pod, number: int) -> api.Pod:
    return named(pod, labels={**pod.metadata.labels, "signature": f"signature-label-{number}"})


def _with_volume(pod: Draft, operation: CreatePods, index: int, templates: Templates) -> tuple[Draft, ...]:
    """Return claim, volume and pod; claim and volume are bound to each other."""
    assert isinstance(pod.object, api.Pod)
    namespace, claim_name = pod.object.metadata.namespace, f"pvc-{index}"
    volume = _volume(templates(operation.persistent_volume_template_path or ""), namespace, index, claim_name)
    claim = _claim(
        templates(operation.persistent_volume_claim_template_path or ""),
        namespace,
        claim_name,
        volume.object.metadata.name,
    )
    source = api.PersistentVolumeClaimVolumeSource(claim_name=claim_name)
    mounted = api.Volume(name="vol", persistent_volume_claim=source)
    spec = _replace(pod.object.spec, volumes=(mounted,))
    return claim, volume, Draft(_replace(pod.object, spec=spec), pod.document)


def _claim(template: Template, namespace: str, name: str, volume: str) -> Draft:
    draft = template.draft()
    claim = named(of_kind(api.PersistentVolumeClaim, draft, template.file), name=name, namespace=namespace)
    spec, status = _replace(claim.spec, volume_name=volume), _replace(claim.status, phase=_BOUND)
    return Draft(_replace(claim, spec=spec, status=status), draft.document)


def _volume(template: Template, namespace: str, index: int, claim: str) -> Draft:
    draft = template.draft()
    volume = of_kind(api.PersistentVolume, draft, template.file)
    name, spec = f"{namespace}-vol-{index}", volume.spec
    if spec.csi is not None:
        spec = _replace(spec, csi=_replace(spec.csi, volume_handle=name))
    elif spec.aws_elastic_block_store is not None:
        disk = _replace(spec.aws_elastic_block_store, volume_id=f"vol-{index}")
        spec = _replace(spec, aws_elastic_block_store=disk)
    reference = api.ObjectReference(kind="PersistentVolumeClaim", namespace=namespace, name=claim, api_version="v1")
    spec, status = _replace(spec, claim_ref=reference), _replace(volume.status, phase=_BOUND)
    return Draft(_replace(named(volume, name=name), spec=spec, status=status), draft.document)


# -- devices -----------------------------------------------------------------------------------------------------------


def resource_slice_drafts(operation: CreateResourceDriver, nodes: Iterable[str]) -> Iterator[tuple[Draft]]:
    """Yield a ResourceSlice with upstream's devices for each node of the driver."""
    devices = tuple(_device(number) for number in range(operation.max_claims_per_node))
    for name in nodes:
        if fnmatchcase(name, operation.nodes):
            pool = api.ResourcePool(name=name, resource_slice_count=1)
            spec = api.ResourceSliceSpec(driver=operation.driver_name, node_name=name, pool=pool, devices=devices)
            yield (Draft(api.ResourceSlice(metadata=api.ObjectMeta(name=name), spec=spec)),)


def _device(number: int) -> api.Device:
    return api.Device(
        name=f"instance-{number}",
        attributes={
            "model": api.DeviceAttribute(string_value="A100"),
            "family": api.DeviceAttribute(string_value="GPU"),
            "driverVersion": api.DeviceAttribute(version_value="1.2.3"),
            "dra.example.com/numa": api.DeviceAttribute(int_value=number),
        },
        capacity={"memory": api.DeviceCapacity(value="1Gi")},
    )


class ClaimAllocator:
    """Allocates devices to claims that no pod uses yet, on random nodes with a fixed seed."""

    def __init__(
        self, nodes: Sequence[api.Node], published: Iterable[api.ResourceSlice], classes: Iterable[api.DeviceClass]
    ) -> None:
        self._random = random.Random(0)
        self._nodes = list(nodes)
        self._classes = {one.metadata.name: one for one in classes}
        store = ObjectStore()
        for one in published:
            store.put(one)
        self._published = PublishedDevices(store, partitionable=True)

    def allocated(self, claims: Sequence[api.ResourceClaim], namespace: str) -> Iterator[api.ResourceClaim]:
        """Yield the unallocated claims of the namespace ("" for all) with devices allocated."""
        in_use = DevicesInUse()
        for claim in claims:
            if claim.status.allocation is not None:
                in_use.add(claim.status.allocation)
        for claim in claims:
            if claim.status.allocation is None and namespace in ("", claim.metadata.namespace):
                allocation = self._allocation(claim, in_use)
                in_use.add(allocation)
                yield msgspec.structs.replace(claim, status=api.ResourceClaimStatus(allocation=allocation))

    def _allocation(self, claim: api.ResourceClaim, in_use: DevicesInUse) -> api.AllocationResult:
        features = Features()
        (prepared,) = prepare([claim], self._classes.get, features)
        supply = Supply(in_use, features)
        for node in self._in_any_order():
            found = find_devices([prepared], node, supply)
            if found is not None:
                return allocation_of(prepared, found[0], node.node.metadata.name, features, self._new_share_id)
        raise InputError("cannot be allocated: no node has devices for it", object=f"ResourceClaim {api.key(claim)}")

    def _in_any_order(self) -> Iterator[NodeDevices]:
        """Yield the devices of all nodes from a random node on, which is faster than a shuffle."""
        start = self._random.randrange(len(self._nodes)) if self._nodes else 0
        for node in (*self._nodes[start:], *self._nodes[:start]):
            yield self._published.devices_of(node)

    def _new_share_id(self) -> str:
        return f"{self._random.getrandbits(128):032x}"
