"""Pods of `createPods`: from a template or the usual pod, each with its claim and volume if the operation has them.

In comes the operation, out come the objects of one pod after the other, in the order in which they are created.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman import api
from steersman.perf.operations import CreatePods
from steersman.perf.templates import Templates, named

_AMOUNTS: Final[api.ResourceList] = {"cpu": "100m", "memory": "500Mi"}
_USUAL: Final = api.Pod(
    metadata=api.ObjectMeta(generate_name="pod-"),
    spec=api.PodSpec(
        containers=(
            api.Container(
                name="pause",
                image="pause:3.10",
                ports=(api.ContainerPort(container_port=80),),
                resources=api.ResourceRequirements(requests=_AMOUNTS, limits=_AMOUNTS),
            ),
        )
    ),
)
_BOUND: Final = "Bound"

_replace = msgspec.structs.replace


def pods(
    operation: CreatePods, namespace: str, default_file: str | None, templates: Templates
) -> Iterator[tuple[api.Object, ...]]:
    """The objects of every pod, the pod last."""
    file = operation.pod_template_path or default_file
    template = None if file is None else templates(file)
    for index in range(operation.count):
        pod = _USUAL if template is None else template.make_a(api.Pod, index, operation.count)
        pod = named(pod, namespace=namespace)
        if operation.persistent_volume_claim_template_path is None:
            yield (pod,)
        else:
            yield _with_volume(pod, operation, index, templates)


def _with_volume(
    pod: api.Pod, operation: CreatePods, index: int, templates: Templates
) -> tuple[api.PersistentVolumeClaim, api.PersistentVolume, api.Pod]:
    """Claim and volume are bound to each other from the beginning; the claim comes first, as the volume refers to it."""
    namespace, claim_name = pod.metadata.namespace, f"pvc-{index}"
    volume = _volume(operation, namespace, index, claim_name, templates)
    claim = templates(operation.persistent_volume_claim_template_path or "").make_a(api.PersistentVolumeClaim)
    claim = named(claim, name=claim_name, namespace=namespace)
    claim = _replace(
        claim,
        spec=_replace(claim.spec, volume_name=volume.metadata.name),
        status=_replace(claim.status, phase=_BOUND),
    )
    source = api.PersistentVolumeClaimVolumeSource(claim_name=claim_name)
    mounted = api.Volume(name="vol", persistent_volume_claim=source)
    return claim, volume, _replace(pod, spec=_replace(pod.spec, volumes=(mounted,)))


def _volume(
    operation: CreatePods, namespace: str, index: int, claim_name: str, templates: Templates
) -> api.PersistentVolume:
    volume = templates(operation.persistent_volume_template_path or "").make_a(api.PersistentVolume)
    name = f"{namespace}-vol-{index}"
    spec, reference = (
        volume.spec,
        api.ObjectReference(kind="PersistentVolumeClaim", namespace=namespace, name=claim_name, api_version="v1"),
    )
    if spec.csi is not None:
        spec = _replace(spec, csi=_replace(spec.csi, volume_handle=name))
    elif spec.aws_elastic_block_store is not None:
        disk = _replace(spec.aws_elastic_block_store, volume_id=f"vol-{index}")
        spec = _replace(spec, aws_elastic_block_store=disk)
    spec = _replace(spec, claim_ref=reference)
    return _replace(named(volume, name=name), spec=spec, status=_replace(volume.status, phase=_BOUND))
