# SPDX-License-Identifier: Apache-2.0
"""Admission of workloads, Jobs and CronJobs: the defaults of `api.defaults.workloads`, applied to
structs.

Objects are converted to JSON, defaulted and converted back, so that defaults are defined once.
Complete objects stay identical, so that writers detect that nothing changed.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from steersman.api import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    codec,
    group_kind,
    part,
)
from steersman.api.defaults import with_workload_defaults
from steersman.cluster.store.store import ClusterView

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"

W = TypeVar("W", CronJob, DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet)

_replace = msgspec.structs.replace


def admit_workload(workload: W, old: W | None, _: ClusterView) -> W:
    """Return the workload with defaults; an empty (invalid) template stays empty."""
    document = codec.to_dict(workload)
    filled = with_workload_defaults(document, group_kind(document), is_new=old is None)
    spec, template = filled["spec"], part(document, "spec", "template")
    if "template" in spec and "spec" not in template:
        spec = {**spec, "template": template}
    completed = codec.convert(spec, type(workload.spec))
    labels: dict[str, str] = part(filled, "metadata", "labels")
    if completed != workload.spec:
        workload = _replace(workload, spec=completed)
    if labels != workload.metadata.labels:
        workload = _replace(workload, metadata=_replace(workload.metadata, labels=labels))
    return workload


def admit_daemon_set(daemon_set: DaemonSet, old: DaemonSet | None, view: ClusterView) -> DaemonSet:
    """Return the DaemonSet with defaults; an annotation counts template changes."""
    filled = admit_workload(daemon_set, old, view)
    generation = _template_generation(filled, old)
    if filled.metadata.annotations.get(TEMPLATE_GENERATION) == generation:
        return filled
    annotations = {**filled.metadata.annotations, TEMPLATE_GENERATION: generation}
    return _replace(filled, metadata=_replace(filled.metadata, annotations=annotations))


def _template_generation(daemon_set: DaemonSet, old: DaemonSet | None) -> str:
    if old is None:
        given = daemon_set.metadata.annotations.get(TEMPLATE_GENERATION, "")
        return given if given.isdecimal() else "1"
    before = old.metadata.annotations.get(TEMPLATE_GENERATION, "")
    number = int(before) if before.isdecimal() else 1
    return str(number + (daemon_set.spec.template != old.spec.template))


def template_labels(template: dict[str, Any]) -> dict[str, str]:
    """Return the labels of pods of the template."""
    labels: dict[str, str] = part(template, "metadata", "labels")
    return labels
