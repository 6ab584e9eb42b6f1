# SPDX-License-Identifier: Apache-2.0
"""The status of a Deployment: counters, conditions, maxSurge and maxUnavailable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from steersman.api import (
    Deployment,
    DeploymentCondition,
    DeploymentStatus,
    ReplicaSet,
    RollingUpdateDeployment,
    timestamps,
)
from steersman.cluster.controllers.pod_states import scaled

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
REPLICA_FAILURE: Final = "ReplicaFailure"

REPLICA_SET_UPDATED: Final = "ReplicaSetUpdated"
REPLICA_SET_CREATE_ERROR: Final = "ReplicaSetCreateError"
NEW_REPLICA_SET_CREATED: Final = "NewReplicaSetCreated"
FOUND_NEW_REPLICA_SET: Final = "FoundNewReplicaSet"
NEW_REPLICA_SET_AVAILABLE: Final = "NewReplicaSetAvailable"
PROGRESS_DEADLINE_EXCEEDED: Final = "ProgressDeadlineExceeded"
DEPLOYMENT_PAUSED: Final = "DeploymentPaused"
DEPLOYMENT_RESUMED: Final = "DeploymentResumed"
MINIMUM_REPLICAS_AVAILABLE: Final = "MinimumReplicasAvailable"
MINIMUM_REPLICAS_UNAVAILABLE: Final = "MinimumReplicasUnavailable"

ROLLING_UPDATE: Final = "RollingUpdate"
_UNLIMITED: Final = 2**31 - 1

Conditions = tuple[DeploymentCondition, ...]

_replace = msgspec.structs.replace


# -- numbers ---------------------------------------------------------------------------------------


def wanted(obj: Deployment | ReplicaSet) -> int:
    """Return the desired number of replicas."""
    return obj.spec.replicas or 0


def wanted_in_all(sets: Iterable[ReplicaSet]) -> int:
    return sum(map(wanted, sets))


def available_in_all(sets: Iterable[ReplicaSet]) -> int:
    return sum(replica_set.status.available_replicas for replica_set in sets)


def max_surge(deployment: Deployment) -> int:
    """Return the maximum number of pods above the desired number."""
    return _fence_posts(deployment)[0]


def max_unavailable(deployment: Deployment) -> int:
    """Return the maximum number of unavailable pods."""
    if not wanted(deployment):
        return 0
    return min(_fence_posts(deployment)[1], wanted(deployment))


def _fence_posts(deployment: Deployment) -> tuple[int, int]:
    strategy, desired = deployment.spec.strategy, wanted(deployment)
    if strategy.type != ROLLING_UPDATE:
        return 0, 0
    rolling = strategy.rolling_update or RollingUpdateDeployment()
    surge = scaled(rolling.max_surge, desired, rounds_up=True)
    unavailable = scaled(rolling.max_unavailable, desired, rounds_up=False)
    return surge, unavailable if surge or unavailable else 1


def has_progress_deadline(deployment: Deployment) -> bool:
    return deployment.spec.progress_deadline_seconds not in (None, _UNLIMITED)


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Return whether all replicas are of the latest template and available, without others."""
    counts = (status.updated_replicas, status.replicas, status.available_replicas)
    return all(count == wanted(deployment) for count in counts) and (
        status.observed_generation >= deployment.metadata.generation
    )


# -- conditions ------------------------------------------------------------------------------------


def find_condition(conditions: Conditions, kind: str) -> DeploymentCondition | None:
    return next((condition for condition in conditions if condition.type == kind), None)


def new_condition(kind: str, status: str, reason: str, message: str, now: str) -> DeploymentCondition:
    return DeploymentCondition(
        type=kind, status=status, reason=reason, message=message, last_transition_time=now, last_update_time=now
    )


def set_condition(conditions: Conditions, condition: DeploymentCondition) -> Conditions:
    """Set a condition, moved to the end, unless status and reason are unchanged."""
    present = find_condition(conditions, condition.type)
    if present is not None and present.status == condition.status:
        if present.reason == condition.reason:
            return conditions
        condition = _replace(condition, last_transition_time=present.last_transition_time)
    return (*drop_condition(conditions, condition.type), condition)


def drop_condition(conditions: Conditions, kind: str) -> Conditions:
    return tuple(condition for condition in conditions if condition.type != kind)


# -- the status ------------------------------------------------------------------------------------


def counted_status(
    deployment: Deployment, sets: Sequence[ReplicaSet], newest: ReplicaSet | None, now: str
) -> DeploymentStatus:
    """Return the status with counters and the condition Available; other conditions are kept."""
    available = available_in_all(sets)
    return DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(replica_set.status.replicas for replica_set in sets),
        updated_replicas=0 if newest is None else newest.status.replicas,
        ready_replicas=sum(replica_set.status.ready_replicas for replica_set in sets),
        available_replicas=available,
        unavailable_replicas=max(0, wanted_in_all(sets) - available),
        terminating_replicas=_terminating(sets),
        conditions=set_condition(deployment.status.conditions, _availability(deployment, available, now)),
        collision_count=deployment.status.collision_count,
    )


def _availability(deployment: Deployment, available: int, now: str) -> DeploymentCondition:
    if available >= wanted(deployment) - max_unavailable(deployment):
        message = "Deployment has minimum availability."
        return new_condition(AVAILABLE, "True", MINIMUM_REPLICAS_AVAILABLE, message, now)
    message = "Deployment does not have minimum availability."
    return new_condition(AVAILABLE, "False", MINIMUM_REPLICAS_UNAVAILABLE, message, now)


def _terminating(sets: Iterable[ReplicaSet]) -> int | None:
    """Return the sum over the ReplicaSets; None if one does not report its number."""
    total = 0
    for replica_set in sets:
        status = replica_set.status
        if status.terminating_replicas is None and status.observed_generation:
            return None
        total += status.terminating_replicas or 0
    return total


def rollout_status(
    deployment: Deployment, sets: Sequence[ReplicaSet], newest: ReplicaSet | None, now: str
) -> DeploymentStatus:
    """Return the status with counters and all conditions, also progress and replica failures."""
    status = counted_status(deployment, sets, newest, now)
    conditions = status.conditions
    if has_progress_deadline(deployment):
        conditions = _with_progress(deployment, status, newest, now)
    else:
        conditions = drop_condition(conditions, PROGRESSING)
    failure = _replica_failure(sets, newest)
    if failure is None:
        conditions = drop_condition(conditions, REPLICA_FAILURE)
    else:
        conditions = set_condition(conditions, failure)
    return _replace(status, conditions=conditions)


def _with_progress(deployment: Deployment, status: DeploymentStatus, newest: ReplicaSet | None, now: str) -> Conditions:
    present = find_condition(deployment.status.conditions, PROGRESSING)
    is_settled = present is not None and present.reason == NEW_REPLICA_SET_AVAILABLE
    if is_settled and status.replicas == status.updated_replicas:
        return status.conditions
    who = f'Deployment "{deployment.metadata.name}"' if newest is None else f'ReplicaSet "{newest.metadata.name}"'
    if is_complete(deployment, status):
        message = f"{who} has successfully progressed."
        condition = new_condition(PROGRESSING, "True", NEW_REPLICA_SET_AVAILABLE, message, now)
        return set_condition(status.conditions, condition)
    if _is_progressing(deployment.status, status):
        condition = new_condition(PROGRESSING, "True", REPLICA_SET_UPDATED, f"{who} is progressing.", now)
        if present is not None and present.status == "True":
            condition = _replace(condition, last_transition_time=present.last_transition_time)
        return (*drop_condition(status.conditions, PROGRESSING), condition)
    if has_timed_out(deployment, status.conditions, timestamps.parse(now)):
        message = f"{who} has timed out progressing."
        condition = new_condition(PROGRESSING, "False", PROGRESS_DEADLINE_EXCEEDED, message, now)
        return set_condition(status.conditions, condition)
    return status.conditions


def _is_progressing(old: DeploymentStatus, new: DeploymentStatus) -> bool:
    return (
        new.updated_replicas > old.updated_replicas
        or new.replicas - new.updated_replicas < old.replicas - old.updated_replicas
        or new.ready_replicas > old.ready_replicas
        or new.available_replicas > old.available_replicas
    )


def has_timed_out(deployment: Deployment, conditions: Conditions, now: float) -> bool:
    condition = find_condition(conditions, PROGRESSING)
    if condition is None or condition.reason == NEW_REPLICA_SET_AVAILABLE:
        return False
    if condition.reason == PROGRESS_DEADLINE_EXCEEDED:
        return True
    return progress_deadline(deployment, condition) < now


def progress_deadline(deployment: Deployment, condition: DeploymentCondition) -> float:
    """Return the time at which a rollout without progress has failed."""
    since = condition.last_update_time
    return (timestamps.parse(since) if since else 0.0) + (deployment.spec.progress_deadline_seconds or 0)


def _replica_failure(sets: Iterable[ReplicaSet], newest: ReplicaSet | None) -> DeploymentCondition | None:
    """Return the replica failure of a ReplicaSet, preferably the newest."""
    for replica_set in [*([] if newest is None else [newest]), *sets]:
        for condition in replica_set.status.conditions:
            if condition.type == REPLICA_FAILURE:
                since = condition.last_transition_time or ""
                return new_condition(condition.type, condition.status, condition.reason, condition.message, since)
    return None
