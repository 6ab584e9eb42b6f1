# SPDX-License-Identifier: Apache-2.0
"""Creation of Job pods: with the tracking finalizer and, for Indexed Jobs, the index.

`job_sync` determines the number of pods and their indexes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.api import Job, Pod
from steersman.cluster.controllers.job_indexes import COMPLETION_INDEX
from steersman.cluster.controllers.job_policies import index_failure_annotations
from steersman.cluster.store import NamespaceTerminating, StatusError
from steersman.cluster.store.finalizers import JOB_TRACKING

if TYPE_CHECKING:
    from steersman.cluster.controllers.jobs import JobController
    from steersman.cluster.controllers.pod_template import PodMaker

INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_MAX_PREFIX: Final = 58
"""Generated names have five more characters."""

_replace = msgspec.structs.replace


class JobPodFactory:
    """Creates pods of a Job. `replaced`: index → failed pod whose failure count continues."""

    def __init__(self, controller: JobController, job: Job, replaced: Mapping[int, Pod]) -> None:
        self._controller = controller
        self._job = job
        self._replaced = replaced
        self._is_per_index = job.spec.backoff_limit_per_index is not None
        #: Number of created pods.
        self.made = 0
        #: Latest error.
        self.refusal: StatusError | None = None

    def make(self, count: int, indexes: Sequence[int] | None) -> None:
        """Create `count` pods, with these indexes for an Indexed Job. Batches grow, so that an
        exhausted quota does not cause hundreds of errors."""
        try:
            maker = self._controller.pod_maker(self._job)
        except StatusError as refusal:
            self._refuse(refusal)
            return
        pod = Pod(
            metadata=_replace(maker.metadata, finalizers=_tracked(maker.metadata.finalizers)), spec=maker.template.spec
        )
        fields = {} if indexes is None else _with_index_variable(maker.template.document.get("spec") or {})
        begun, size = 0, 1
        while begun < count and self.refusal is None:
            for number in range(begun, min(begun + size, count)):
                if indexes is None:
                    self._create(maker, pod, fields)
                else:
                    self._create_indexed(maker, pod, indexes[number], fields)
            begun += size
            size *= 2

    def _create_indexed(self, maker: PodMaker, pod: Pod, index: int, fields: dict[str, Any]) -> None:
        named = {**fields, "hostname": f"{self._job.metadata.name}-{index}"}
        self._create(maker, self._with_index(pod, index), named)

    def _create(self, maker: PodMaker, pod: Pod, fields: dict[str, Any]) -> None:
        try:
            made = maker.create_as(pod, **fields)
        except NamespaceTerminating:
            return
        except StatusError as refusal:
            self._refuse(refusal)
            return
        self.made += 1
        self._controller.cluster.record(self._job, "SuccessfulCreate", f"Created pod: {made.metadata.name}")

    def _with_index(self, pod: Pod, index: int) -> Pod:
        """Return the pod with its index in annotation, label and name."""
        meta, number = pod.metadata, {COMPLETION_INDEX: str(index)}
        annotations = {**meta.annotations, **number}
        if self._is_per_index:
            annotations.update(index_failure_annotations(self._job, self._replaced.get(index)))
        suffix = f"-{index}-"
        prefix = f"{self._job.metadata.name}"[: _MAX_PREFIX - len(suffix)] + suffix
        labels = {**meta.labels, **number}
        return _replace(pod, metadata=_replace(meta, annotations=annotations, labels=labels, generate_name=prefix))

    def _refuse(self, refusal: StatusError) -> None:
        message = f"Error creating: {refusal.message}"
        self._controller.cluster.record(self._job, "FailedCreate", message, is_warning=True)
        self.refusal = refusal


def _tracked(finalizers: tuple[str, ...]) -> tuple[str, ...]:
    return finalizers if JOB_TRACKING in finalizers else (*finalizers, JOB_TRACKING)


def _with_index_variable(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the containers of a template with the index variable added."""
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    variable = {"name": INDEX_VARIABLE, "valueFrom": source}
    changed = dict[str, Any]()
    for field in ("containers", "initContainers"):
        if spec.get(field):
            changed[field] = [_with_variable(container, variable) for container in spec[field]]
    return changed


def _with_variable(container: dict[str, Any], variable: dict[str, Any]) -> dict[str, Any]:
    env = container.get("env") or []
    if any(known.get("name") == INDEX_VARIABLE for known in env):
        return container
    return {**container, "env": [*env, variable]}
