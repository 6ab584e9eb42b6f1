# SPDX-License-Identifier: Apache-2.0
"""A sync of a Deployment: moves replicas from old ReplicaSets to the newest, or scales all.

`deployments` calls it with the Deployment's ReplicaSets; `deployment_status` computes the status.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

import msgspec

from steersman.api import FINISHED_PHASES, Deployment, ReplicaSet, key
from steersman.cluster.controllers import deployment_status as status, replica_set_revisions as revisions
from steersman.cluster.controllers.controller import (
    controller_of,
)
from steersman.cluster.controllers.deployment_status import wanted, wanted_in_all
from steersman.cluster.controllers.owned_pods import list_owned_pods
from steersman.cluster.store import AlreadyExists, NotFound, StatusError

if TYPE_CHECKING:
    from steersman.cluster.controllers.deployments import DeploymentController

SCALING_REPLICA_SET: Final = "ScalingReplicaSet"
RECREATE: Final = "Recreate"

_replace = msgspec.structs.replace


class DeploymentRollout:
    """A sync of a Deployment. Its copies of ReplicaSets are replaced as they are written."""

    def __init__(self, controller: DeploymentController, deployment: Deployment, sets: list[ReplicaSet]) -> None:
        self._controller = controller
        self._store = controller.store
        self._deployment = deployment
        self._newest: ReplicaSet | None = None
        self._old: list[ReplicaSet] = []
        self._set_apart(sets)

    @property
    def _all(self) -> list[ReplicaSet]:
        return self._old if self._newest is None else [*self._old, self._newest]

    def take_step(self) -> None:
        if self._deployment.metadata.deletion_timestamp is not None:
            self._find_newest()
            self._write_counts()
            return
        self._update_paused_condition()
        if self._deployment.spec.paused or self._is_to_be_scaled():
            self._scale_all()
        elif self._deployment.spec.strategy.type == RECREATE:
            self._recreate()
        else:
            self._roll()

    def _set_apart(self, sets: Sequence[ReplicaSet]) -> None:
        self._newest = revisions.newest_of(self._deployment, sets)
        self._old = [rs for rs in revisions.by_age(sets) if rs is not self._newest]

    # -- the newest ReplicaSet ---------------------------------------------------------------------

    def _find_newest(self) -> None:
        """Update the revision of the newest ReplicaSet, if it exists, and of the Deployment."""
        if self._newest is None:
            return
        revision = revisions.next_revision(self._old)
        changed = revisions.as_revision(self._newest, self._deployment, revision)
        if changed.spec.min_ready_seconds != self._deployment.spec.min_ready_seconds:
            spec = _replace(changed.spec, min_ready_seconds=self._deployment.spec.min_ready_seconds)
            changed = _replace(changed, spec=spec)
        if changed is not self._newest:
            self._newest = self._store.update(changed)
            return
        conditions = self._deployment.status.conditions
        if status.has_progress_deadline(self._deployment) and not status.find_condition(conditions, status.PROGRESSING):
            conditions = self._with_progress(
                "True", status.FOUND_NEW_REPLICA_SET, f'Found new replica set "{self._newest.metadata.name}"'
            )
        self._write(self._newest.metadata.annotations.get(revisions.REVISION, ""), conditions)

    def _make_newest(self) -> None:
        """Create the ReplicaSet of the template if it does not exist. Raises `StatusError`."""
        self._find_newest()
        if self._newest is not None:
            return
        revision = revisions.next_revision(self._old)
        made = revisions.with_sizes(revisions.new_replica_set(self._deployment), self._deployment)
        made = revisions.as_revision(made, self._deployment, revision)
        made = _replace(made, spec=_replace(made.spec, replicas=self._room_for(made)))
        is_new = True
        try:
            self._newest = self._store.create(made)
        except AlreadyExists:
            self._newest, is_new = self._existing(made), False
        except StatusError as refusal:
            self._report_create_error(made, refusal)
            raise
        name, conditions = self._newest.metadata.name, self._deployment.status.conditions
        if is_new:
            self._record_scaling(name, 0, wanted(made))
            if status.has_progress_deadline(self._deployment):
                message = f'Created new replica set "{name}"'
                conditions = self._with_progress("True", status.NEW_REPLICA_SET_CREATED, message)
        self._write(str(revision), conditions)

    def _existing(self, made: ReplicaSet) -> ReplicaSet:
        """Return the existing ReplicaSet of this name if it is the Deployment's; else count a name
        collision and raise `AlreadyExists`."""
        found = self._store.get(ReplicaSet, key(made))
        owner = controller_of(found)
        is_own = owner is not None and owner.uid == self._deployment.metadata.uid
        if is_own and revisions.has_template_of(found, self._deployment):
            return found
        collisions = (self._deployment.status.collision_count or 0) + 1
        counted = _replace(self._deployment.status, collision_count=collisions)
        self._deployment = self._store.update_status(_replace(self._deployment, status=counted))
        raise AlreadyExists(ReplicaSet, key(made))

    def _report_create_error(self, made: ReplicaSet, refusal: StatusError) -> None:
        message = f'Failed to create new replica set "{made.metadata.name}": {refusal.message}'
        if status.has_progress_deadline(self._deployment):
            conditions = self._with_progress("False", status.REPLICA_SET_CREATE_ERROR, message)
            self._write("", conditions)
        self._record(status.REPLICA_SET_CREATE_ERROR, message, is_warning=True)

    def _room_for(self, newest: ReplicaSet) -> int:
        """Return the size that the newest ReplicaSet may have beside the old ones."""
        if self._deployment.spec.strategy.type == RECREATE:
            return wanted(self._deployment)
        most = wanted(self._deployment) + status.max_surge(self._deployment)
        room = most - wanted_in_all(self._old) - wanted(newest)
        if room <= 0:
            return wanted(newest)
        return wanted(newest) + min(room, wanted(self._deployment) - wanted(newest))

    # -- rolling -----------------------------------------------------------------------------------

    def _roll(self) -> None:
        self._make_newest()
        if not self._grow_newest() and not self._shrink_old() and self._is_complete():
            self._clean_up()
        self._write_rollout()

    def _grow_newest(self) -> bool:
        newest, size = cast("ReplicaSet", self._newest), wanted(self._deployment)
        if wanted(newest) == size:
            return False
        return self._scale(newest, size if wanted(newest) > size else self._room_for(newest))

    def _shrink_old(self) -> bool:
        """Scale old ReplicaSets down, unavailable pods first, while enough pods stay available."""
        newest = cast("ReplicaSet", self._newest)
        if not wanted_in_all(self._old):
            return False
        least = wanted(self._deployment) - status.max_unavailable(self._deployment)
        unavailable = wanted(newest) - newest.status.available_replicas
        surplus = wanted_in_all(self._all) - least - unavailable
        if surplus <= 0:
            return False
        removed = self._remove_unavailable(surplus)
        surplus = status.available_in_all([rs for rs in self._old if wanted(rs)] + [newest]) - least
        return bool(removed + self._remove(surplus))

    def _remove_unavailable(self, most: int) -> int:
        removed = 0
        for replica_set in [rs for rs in self._old if wanted(rs)]:
            unavailable = wanted(replica_set) - replica_set.status.available_replicas
            fewer = min(most - removed, unavailable)
            if fewer > 0:
                self._scale(replica_set, wanted(replica_set) - fewer)
                removed += fewer
        return removed

    def _remove(self, most: int) -> int:
        removed = 0
        for replica_set in [rs for rs in self._old if wanted(rs)]:
            fewer = min(most - removed, wanted(replica_set))
            if fewer > 0:
                self._scale(replica_set, wanted(replica_set) - fewer)
                removed += fewer
        return removed

    def _recreate(self) -> None:
        self._find_newest()
        active = [rs for rs in self._old if wanted(rs)]
        for replica_set in active:
            self._scale(replica_set, 0)
        if not active and not self._have_old_pods():
            self._make_newest()
            self._scale(cast("ReplicaSet", self._newest), wanted(self._deployment))
            if self._is_complete():
                self._clean_up()
        self._write_rollout()

    def _have_old_pods(self) -> bool:
        """Return whether pods of old templates may still run, including terminating ones."""
        owned = list_owned_pods(self._store)
        return any(rs.status.replicas for rs in self._old) or any(
            pod.status.phase not in FINISHED_PHASES
            for rs in self._old
            for pod in owned.owned_by(rs.metadata.uid).values()
        )

    # -- scaling -----------------------------------------------------------------------------------

    def _is_to_be_scaled(self) -> bool:
        """Return whether the size of the Deployment differs from its ReplicaSets' annotations."""
        self._find_newest()
        known = [revisions.size_annotation(rs, revisions.DESIRED_REPLICAS) for rs in self._all if wanted(rs)]
        return any(size is not None and size != wanted(self._deployment) for size in known)

    def _scale_all(self) -> None:
        self._find_newest()
        self._scale_in_proportion()
        if self._deployment.spec.paused:
            self._clean_up()
        self._write_counts()

    def _scale_in_proportion(self) -> None:
        size = wanted(self._deployment)
        active = [rs for rs in self._all if wanted(rs)]
        if len(active) <= 1:
            latest = [*([] if self._newest is None else [self._newest]), *reversed(self._old)]
            for replica_set in (active or latest)[:1]:
                self._scale(replica_set, size)
        elif self._is_saturated():
            for replica_set in [rs for rs in self._old if wanted(rs)]:
                self._scale(replica_set, 0)
        elif self._deployment.spec.strategy.type == status.ROLLING_UPDATE:
            for replica_set, share in self._shares(active):
                self._scale(replica_set, share, rewrites_sizes=True)

    def _is_saturated(self) -> bool:
        """Return whether the newest ReplicaSet has all replicas and they are available."""
        newest, size = self._newest, wanted(self._deployment)
        return newest is not None and (
            wanted(newest) == size
            and revisions.size_annotation(newest, revisions.DESIRED_REPLICAS) == size
            and newest.status.available_replicas == size
        )

    def _shares(self, active: list[ReplicaSet]) -> list[tuple[ReplicaSet, int]]:
        """Return the new sizes of the active ReplicaSets; the largest gets the rounding
        remainder."""
        size = wanted(self._deployment)
        allowed = size + status.max_surge(self._deployment) if size else 0
        more = allowed - wanted_in_all(active)
        if more:
            oldest_first = revisions.by_age(active)
            active = sorted(reversed(oldest_first) if more > 0 else oldest_first, key=wanted, reverse=True)
        shares, added = [], 0
        for replica_set in active:
            share = self._proportion(replica_set, more, added)
            added += share
            shares.append((replica_set, wanted(replica_set) + share))
        if more and shares:
            first, share = shares[0]
            shares[0] = (first, max(0, share + more - added))
        return shares

    def _proportion(self, replica_set: ReplicaSet, more: int, added: int) -> int:
        if not more or more == added:
            return 0
        fraction, allowed = self._fraction(replica_set), more - added
        return min(fraction, allowed) if more > 0 else max(fraction, allowed)

    def _fraction(self, replica_set: ReplicaSet) -> int:
        """Return the change of size that preserves the ReplicaSet's share of the Deployment."""
        size, own = wanted(self._deployment), wanted(replica_set)
        if not size:
            return -own
        before = revisions.size_annotation(replica_set, revisions.MAX_REPLICAS) or self._deployment.status.replicas
        if not before:
            return 0
        return int(own * (size + status.max_surge(self._deployment)) / before + 0.5) - own

    def _scale(self, replica_set: ReplicaSet, size: int, *, rewrites_sizes: bool = False) -> bool:
        """Scale a ReplicaSet; return whether its size changed."""
        before = wanted(replica_set)
        if before == size and not rewrites_sizes:
            return False
        changed = revisions.with_sizes(replica_set, self._deployment)
        if before != size:
            changed = _replace(changed, spec=_replace(changed.spec, replicas=size))
        if changed is replica_set:
            return False
        self._put(self._store.update(changed))
        if before != size:
            self._record_scaling(replica_set.metadata.name, before, size)
        return before != size

    def _put(self, written: ReplicaSet) -> None:
        """Replace a ReplicaSet by its written version."""
        if self._newest is not None and self._newest.metadata.uid == written.metadata.uid:
            self._newest = written
        else:
            self._old = [written if rs.metadata.uid == written.metadata.uid else rs for rs in self._old]

    def _clean_up(self) -> None:
        for replica_set in revisions.superfluous(self._deployment, self._old):
            try:
                self._store.delete(ReplicaSet, key(replica_set))
            except NotFound:
                continue

    # -- what the Deployment says ------------------------------------------------------------------

    def _is_complete(self) -> bool:
        return status.is_complete(self._deployment, self._deployment.status)

    def _update_paused_condition(self) -> None:
        """Suspend the progress deadline while the Deployment is paused."""
        deployment = self._deployment
        present = status.find_condition(deployment.status.conditions, status.PROGRESSING)
        reason = "" if present is None else present.reason
        if not status.has_progress_deadline(deployment) or reason == status.PROGRESS_DEADLINE_EXCEEDED:
            return
        if deployment.spec.paused and reason != status.DEPLOYMENT_PAUSED:
            updated = self._with_progress("Unknown", status.DEPLOYMENT_PAUSED, "Deployment is paused")
        elif not deployment.spec.paused and reason == status.DEPLOYMENT_PAUSED:
            updated = self._with_progress("Unknown", status.DEPLOYMENT_RESUMED, "Deployment is resumed")
        else:
            return
        self._write("", updated)

    def _with_progress(self, answer: str, reason: str, message: str) -> status.Conditions:
        condition = status.new_condition(status.PROGRESSING, answer, reason, message, self._store.timestamp())
        return status.set_condition(self._deployment.status.conditions, condition)

    def _write(self, revision: str, conditions: status.Conditions) -> None:
        """Write the conditions and the revision, unless it is ""."""
        deployment = self._deployment
        meta = deployment.metadata
        if revision and meta.annotations.get(revisions.REVISION) != revision:
            meta = _replace(meta, annotations={**meta.annotations, revisions.REVISION: revision})
        updated = _replace(deployment.status, conditions=conditions)
        self._deployment = self._store.replace(_replace(deployment, metadata=meta, status=updated))

    def _write_counts(self) -> None:
        updated = status.counted_status(self._deployment, self._all, self._newest, self._store.timestamp())
        self._store.update_status(_replace(self._deployment, status=updated))

    def _write_rollout(self) -> None:
        deployment = self._deployment
        updated = status.rollout_status(deployment, self._all, self._newest, self._store.timestamp())
        if updated != deployment.status:
            self._store.update_status(_replace(deployment, status=updated))
            return
        progress = status.find_condition(updated.conditions, status.PROGRESSING)
        is_settled = status.is_complete(deployment, updated)
        if progress is None or is_settled or progress.reason == status.PROGRESS_DEADLINE_EXCEEDED:
            return
        if status.has_progress_deadline(deployment):
            left = status.progress_deadline(deployment, progress) - self._store.clock.now()
            self._controller.enqueue_after(key(deployment), max(left, 0.0) + 1.0, is_background=True)

    def _record_scaling(self, name: str, before: int, after: int) -> None:
        if before != after:
            direction = "up" if before < after else "down"
            self._record(SCALING_REPLICA_SET, f"Scaled {direction} replica set {name} from {before} to {after}")

    def _record(self, reason: str, message: str, *, is_warning: bool = False) -> None:
        self._controller.cluster.record(self._deployment, reason, message, is_warning=is_warning)
