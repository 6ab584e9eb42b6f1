"""Pods of `createPods`: from a template or the usual pod, each with its claim and volume if the operation has them.

In comes the operation, out come the objects of one pod after the other, in the order in which they are created.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman import api
from steersman.perf.operations import CreatePods
from steersman.perf.templates import Draft, Template, Templates, named, of_kind

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
) -> Iterator[tuple[Draft, ...]]:
    """The objects of every pod, the pod last."""
    file = operation.pod_template_path or default_file
    template = None if file is None else templates(file)
    for index in range(operation.count):
        draft = Draft(_USUAL) if template is None else template.draft(index, operation.count)
        pod = named(of_kind(api.Pod, draft, file), namespace=namespace)
        if operation.persistent_volume_claim_template_path is None:
            yield (Draft(pod, draft.document),)
        else:
            yield _with_volume(Draft(pod, draft.document), operation, index, templates)


def _with_volume(pod: Draft, operation: CreatePods, index: int, templates: Templates) -> tuple[Draft, ...]:
    """Claim and volume are bound to each other from the beginning; the claim comes first, as the volume refers to it."""
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
