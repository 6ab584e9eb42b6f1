# SPDX-License-Identifier: Apache-2.0
"""ReplicaSets as revisions of a Deployment: the newest one, annotations, cleanup.

`kubectl rollout history` and `undo` read the annotations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from steersman.api import Deployment, LabelSelector, ObjectMeta, ReplicaSet, ReplicaSetSpec
from steersman.cluster.controllers.controller import controller_reference
from steersman.cluster.controllers.deployment_status import max_surge, wanted
from steersman.cluster.controllers.pod_template import template_hash, without_empty
from steersman.cluster.store.admission.workloads import template_labels

REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
POD_TEMPLATE_HASH: Final = "pod-template-hash"
_NOT_COPIED: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
    }
)
_MAX_HISTORY: Final = 2000
_MAX_NAME: Final = 253
_MAX: Final = 2**31 - 1

_replace = msgspec.structs.replace


def by_age(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Sort by creation time, oldest first, then by name."""
    return sorted(sets, key=lambda rs: (rs.metadata.creation_timestamp or "", rs.metadata.name))


def newest_of(deployment: Deployment, sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """Return the ReplicaSet with the Deployment's template; the oldest of several."""
    template = _comparable(deployment.spec.template)
    return next((rs for rs in by_age(sets) if _comparable(rs.spec.template) == template), None)


def has_template_of(replica_set: ReplicaSet, deployment: Deployment) -> bool:
    return bool(_comparable(replica_set.spec.template) == _comparable(deployment.spec.template))


def _comparable(template: dict[str, Any]) -> Any:
    labels = {name: value for name, value in template_labels(template).items() if name != POD_TEMPLATE_HASH}
    return without_empty({**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}})


def new_replica_set(deployment: Deployment) -> ReplicaSet:
    """Return a new ReplicaSet for the Deployment's template, without replicas and annotations."""
    spec, meta = deployment.spec, deployment.metadata
    digest = template_hash(spec.template, deployment.status.collision_count)
    labels = {**template_labels(spec.template), POD_TEMPLATE_HASH: digest}
    selector = spec.selector or LabelSelector()
    return ReplicaSet(
        metadata=ObjectMeta(
            name=f"{meta.name[: _MAX_NAME - 1 - len(digest)]}-{digest}",
            namespace=meta.namespace,
            labels=labels,
            owner_references=(controller_reference(deployment),),
        ),
        spec=ReplicaSetSpec(
            replicas=0,
            min_ready_seconds=spec.min_ready_seconds,
            selector=_replace(selector, match_labels={**selector.match_labels, POD_TEMPLATE_HASH: digest}),
            template={**spec.template, "metadata": {**(spec.template.get("metadata") or {}), "labels": labels}},
        ),
    )


def revision_of(replica_set: ReplicaSet) -> int:
    """Return the revision number; 0 if missing or invalid."""
    text = replica_set.metadata.annotations.get(REVISION, "")
    return int(text) if text.isascii() and text.isdecimal() else 0


def next_revision(old_sets: Iterable[ReplicaSet]) -> int:
    return max(map(revision_of, old_sets), default=0) + 1


def as_revision(replica_set: ReplicaSet, deployment: Deployment, revision: int) -> ReplicaSet:
    """Return the ReplicaSet with the Deployment's annotations and the later revision."""
    annotations = dict(replica_set.metadata.annotations)
    copied = deployment.metadata.annotations.items()
    annotations.update((name, value) for name, value in copied if name not in _NOT_COPIED)
    before = annotations.get(REVISION, "")
    if (not before or before.isdecimal()) and revision_of(replica_set) < revision:
        annotations[REVISION] = str(revision)
        if before:
            annotations[REVISION_HISTORY] = _history(annotations.get(REVISION_HISTORY, ""), before)
    return _annotated(replica_set, annotations)


def _history(history: str, revision: str) -> str:
    """Append a revision to the history, dropping the oldest if it is too long."""
    revisions = [*history.split(","), revision] if history else [revision]
    while len(",".join(revisions)) > _MAX_HISTORY:
        del revisions[0]
    return ",".join(revisions)


def with_sizes(replica_set: ReplicaSet, deployment: Deployment) -> ReplicaSet:
    """Return the ReplicaSet with annotations for the Deployment's size, and its maximum size during
    rollouts."""
    sizes = {
        DESIRED_REPLICAS: str(wanted(deployment)),
        MAX_REPLICAS: str(wanted(deployment) + max_surge(deployment)),
    }
    return _annotated(replica_set, {**replica_set.metadata.annotations, **sizes})


def size_annotation(replica_set: ReplicaSet, name: str) -> int | None:
    """Return the number in an annotation; None if missing or invalid."""
    text = replica_set.metadata.annotations.get(name, "")
    if not text.isascii() or not text.isdecimal() or int(text) > _MAX:
        return None
    return int(text)


def _annotated(replica_set: ReplicaSet, annotations: dict[str, str]) -> ReplicaSet:
    if annotations == replica_set.metadata.annotations:
        return replica_set
    return _replace(replica_set, metadata=_replace(replica_set.metadata, annotations=annotations))


def superfluous(deployment: Deployment, old_sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Return idle ReplicaSets (no pods, status up to date) beyond the history limit."""
    limit = deployment.spec.revision_history_limit
    kept = [rs for rs in old_sets if rs.metadata.deletion_timestamp is None]
    if limit is None or limit == _MAX or len(kept) <= limit:
        return []
    kept.sort(key=lambda rs: (revision_of(rs), rs.metadata.creation_timestamp or "", rs.metadata.name))
    return [rs for rs in kept[: len(kept) - limit] if _is_idle(rs)]


def _is_idle(rs: ReplicaSet) -> bool:
    return not (rs.status.replicas or wanted(rs)) and rs.metadata.generation <= rs.status.observed_generation
