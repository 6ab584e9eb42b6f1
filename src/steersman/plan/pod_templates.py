# SPDX-License-Identifier: Apache-2.0
"""The pods that a plan adds, read from a file with a Pod or a workload with a template.

    web.yaml:3 ─► load_pods ─► PlannedPods ─► mixed ─► NewPod, NewPod, …      (`simulation.fill` places them)

Pods of a workload are as created by its controller: with the labels and owner for default spreading
and `matchLabelKeys`, and with claims for a StatefulSet. The number of replicas is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from steersman import api
from steersman.api import codec, manifests
from steersman.base import InputError
from steersman.cluster.controllers import claim_name, controller_reference, new_replica_set, template_name
from steersman.simulation import NewPod

TEMPLATED: Final = (
    api.Deployment,
    api.ReplicaSet,
    api.StatefulSet,
    api.DaemonSet,
    api.Job,
    api.CronJob,
    api.ReplicationController,
)
"""Kinds with a pod template."""
NO_PODS: Final = "has no pods"
ONE_OF: Final = "use a file with one Pod, or with one Deployment, StatefulSet, Job or the like"

PodSource: TypeAlias = "str | PathLike[str] | api.Object | Mapping[str, Any]"
"""A file, an API object, or an object as a JSON document."""

_replace = msgspec.structs.replace


class PlannedPods(msgspec.Struct, frozen=True):
    """A template of pods that a plan adds, with its weight."""

    name: str
    pod: api.Pod
    weight: int = 1
    #: Other objects in the file, such as a priority class; added before the pods.
    others: tuple[api.Object, ...] = ()
    #: The controller of the pods, such as a ReplicaSet.
    owner: api.Object | None = None
    #: The StatefulSet with the claim templates of the pods.
    stateful_set: api.StatefulSet | None = None

    def new_pod(self, template: int, number: int) -> NewPod:
        """Return the pod with this number and its claims."""
        name = f"{self.pod.metadata.name}-{number}"
        pod = _replace(self.pod, metadata=_replace(self.pod.metadata, name=name))
        if self.stateful_set is None:
            return NewPod(template, pod)
        claims = _claims(self.stateful_set, number)
        return NewPod(template, _with_claims(pod, self.stateful_set, claims), claims)


def load_pods(source: PodSource, weight: int = 1) -> PlannedPods:
    """Load the pods of a file or object. Raises `InputError`."""
    if isinstance(source, Mapping):
        source = codec.convert_object(dict(source))
    if isinstance(source, api.Object):
        return _planned(source, weight)
    path = fspath(source)
    loaded = manifests.load([path], custom=(api.PodGroup,))
    found = [entry for entry in loaded.objects if isinstance(entry.object, (api.Pod, *TEMPLATED))]
    if len(found) != 1:
        what = NO_PODS if not found else f"has {len(found)} objects with pods"
        raise InputError(what, file=path, hint=ONE_OF)
    others = tuple(entry.object for entry in loaded.objects if entry is not found[0])
    try:
        return _replace(_planned(found[0].object, weight), others=others)
    except InputError as error:
        named = f"{found[0].object.KIND} {api.key(found[0].object)}"
        raise error.located(object=named, **found[0].place._asdict()) from error


def parse_weight(text: str) -> tuple[str, int]:
    """Parse `web.yaml:3` as web.yaml, 3, unless a file has that name. Raises `InputError`."""
    path, _, weight = text.rpartition(":")
    if not path or Path(text).exists():
        return text, 1
    if not weight.isascii() or not weight.isdecimal() or not int(weight):
        raise InputError("is not a weight", object=f"--pod {text}", value=weight, hint="use a whole number from 1 on")
    return path, int(weight)


def mixed(templates: Sequence[PlannedPods], taken: frozenset[str] = frozenset()) -> Iterator[NewPod]:
    """Yield pods endlessly, by smooth weighted round robin over the templates.

    `taken` are the keys of existing pods, whose names are skipped.
    """
    total = sum(planned.weight for planned in templates)
    credit, numbers = [0] * len(templates), [0] * len(templates)
    while True:
        for index, planned in enumerate(templates):
            credit[index] += planned.weight
        chosen = max(range(len(templates)), key=lambda index: (credit[index], -index))
        credit[chosen] -= total
        new = templates[chosen].new_pod(chosen, numbers[chosen])
        while api.key(new.pod) in taken:
            numbers[chosen] += 1
            new = templates[chosen].new_pod(chosen, numbers[chosen])
        numbers[chosen] += 1
        yield new


# -- reading -----------------------------------------------------------------------------------------------------------


def _planned(obj: api.Object, weight: int) -> PlannedPods:
    if isinstance(obj, api.Pod):
        name = obj.metadata.name or obj.metadata.generate_name.rstrip("-") or "pod"
        return PlannedPods(name, _fresh(obj, name), weight)
    if not isinstance(obj, TEMPLATED):
        raise InputError(NO_PODS, object=f"{obj.KIND} {api.key(obj)}", hint=ONE_OF)
    owner = _identified(new_replica_set(obj) if isinstance(obj, api.Deployment) else obj)
    pod = _pod_from_template(owner)
    stateful_set = obj if isinstance(obj, api.StatefulSet) and obj.spec.volume_claim_templates else None
    shown = None if isinstance(obj, (api.CronJob, api.Job, api.DaemonSet)) else owner
    return PlannedPods(obj.metadata.name, pod, weight, (), shown, stateful_set)


def _identified(owner: api.Object) -> api.Object:
    meta = owner.metadata
    uid = meta.uid or f"uid-plan-{owner.KIND.lower()}-{meta.namespace}-{meta.name}"
    return _replace(owner, metadata=_replace(meta, uid=uid, namespace=meta.namespace or api.DEFAULT_NAMESPACE))


def _pod_from_template(owner: api.Object) -> api.Pod:
    """Return a pod as created by the owner's controller, as far as relevant for scheduling."""
    document, path = _template(owner)
    if not document:
        raise InputError("is missing", field=path, hint="a workload needs a pod template")
    template = codec.convert_part(document, api.PodTemplateSpec, path)
    metadata = api.ObjectMeta(
        name=owner.metadata.name,
        namespace=owner.metadata.namespace,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        owner_references=(controller_reference(owner),),
    )
    return api.Pod(metadata=metadata, spec=template.spec)


def _template(owner: api.Object) -> tuple[dict[str, Any], str]:
    if isinstance(owner, api.CronJob):
        job = (owner.spec.job_template or {}).get("spec") or {}
        return job.get("template") or {}, "spec.jobTemplate.spec.template"
    return getattr(owner, "spec").template or {}, "spec.template"  # noqa: B009 - each of `TEMPLATED` has one


def _fresh(pod: api.Pod, name: str) -> api.Pod:
    """Return the pod as before its creation, without fields written by the server or scheduler."""
    meta = pod.metadata
    labels = {key: value for key, value in meta.labels.items() if key != "statefulset.kubernetes.io/pod-name"}
    metadata = api.ObjectMeta(
        name=name,
        namespace=meta.namespace or api.DEFAULT_NAMESPACE,
        labels=labels,
        annotations=meta.annotations,
        owner_references=meta.owner_references,
    )
    return api.Pod(metadata=metadata, spec=_replace(pod.spec, node_name=""))


# -- claims of StatefulSets --------------------------------------------------------------------------------------------


def _claims(stateful_set: api.StatefulSet, number: int) -> tuple[api.PersistentVolumeClaim, ...]:
    return tuple(_claim(stateful_set, template, number) for template in stateful_set.spec.volume_claim_templates)


def _claim(stateful_set: api.StatefulSet, template: dict[str, Any], number: int) -> api.PersistentVolumeClaim:
    claim = codec.convert_part(template, api.PersistentVolumeClaim, "spec.volumeClaimTemplates")
    name = f"plan-{claim_name(stateful_set, template, number)}"
    namespace = stateful_set.metadata.namespace or api.DEFAULT_NAMESPACE
    metadata = api.ObjectMeta(name=name, namespace=namespace, labels=claim.metadata.labels)
    return api.PersistentVolumeClaim(metadata=metadata, spec=claim.spec)


def _with_claims(pod: api.Pod, stateful_set: api.StatefulSet, claims: Sequence[api.PersistentVolumeClaim]) -> api.Pod:
    names = [template_name(template) for template in stateful_set.spec.volume_claim_templates]
    kept = tuple(volume for volume in pod.spec.volumes if volume.name not in names)
    made = tuple(
        api.Volume(name=name, persistent_volume_claim=api.PersistentVolumeClaimVolumeSource(claim.metadata.name))
        for name, claim in zip(names, claims, strict=True)
    )
    return _replace(pod, spec=_replace(pod.spec, volumes=(*made, *kept)))
