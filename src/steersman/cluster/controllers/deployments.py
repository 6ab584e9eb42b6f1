# SPDX-License-Identifier: Apache-2.0
"""The Deployment controller: creates a ReplicaSet per template and moves replicas to the newest.

`reconcile` takes one step: it claims the Deployment's ReplicaSets, then `deployment_rollout` scales
them all or continues the rollout. Status changes of ReplicaSets trigger the next step.
"""

from __future__ import annotations

from typing import Final, cast

import msgspec

from steersman.api import Deployment, LabelSelector, Object, ReplicaSet, Selector, key
from steersman.base import GroupedDict
from steersman.cluster.controllers.controller import (
    Cluster,
    Controller,
    controller_of,
    controller_reference,
    owned_key,
)
from steersman.cluster.controllers.deployment_rollout import DeploymentRollout
from steersman.cluster.controllers.owned_pods import OwnerSelectors, compiled_selector
from steersman.cluster.store import EventType

SELECTING_ALL: Final = "SelectingAll"
SELECTS_ALL: Final = "This deployment is selecting all pods. A non-empty selector is required."

_replace = msgspec.structs.replace


class DeploymentController(Controller):
    NAME = "deployment"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._selectors = OwnerSelectors()
        #: Keys of ReplicaSets by uid of the controller; of orphans by namespace.
        self._sets: GroupedDict[str, str, None] = GroupedDict()
        self._orphans: GroupedDict[str, str, None] = GroupedDict()
        self.store.subscribe(self._on_deployment, (Deployment,))
        self.store.subscribe(self._on_replica_set, (ReplicaSet,))

    def _on_deployment(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(new, Deployment):
            self._selectors.put(key(new), new.metadata.namespace, new.spec.selector)
        else:
            self._selectors.remove(key(cast("Deployment", old)))
        self.enqueue(key(cast("Deployment", new or old)))

    def _on_replica_set(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(old, ReplicaSet):
            groups, group = self._place(old)
            groups.remove(group, key(old))
            self._enqueue_owner(old)
        if isinstance(new, ReplicaSet):
            groups, group = self._place(new)
            groups.put(group, key(new), None)
            self._enqueue_owner(new)
            if controller_of(new) is None:
                for name in self._selectors.matching(new.metadata.namespace, new.metadata.labels):
                    self.enqueue(name)

    def _place(self, replica_set: ReplicaSet) -> tuple[GroupedDict[str, str, None], str]:
        """Return the index of the ReplicaSet, and its group there."""
        owner = controller_of(replica_set)
        return (self._orphans, replica_set.metadata.namespace) if owner is None else (self._sets, owner.uid)

    def _enqueue_owner(self, replica_set: ReplicaSet) -> None:
        owner = owned_key(replica_set, Deployment)
        if owner is not None:
            self.enqueue(owner)

    # -- reconciling -------------------------------------------------------------------------------

    def reconcile(self, key: str) -> None:
        deployment = self.store.find(Deployment, key)
        if deployment is None or not deployment.spec.template:
            return  # an API server rejects objects without a template
        if deployment.spec.selector == LabelSelector():
            self._refuse(deployment)
            return
        selector = compiled_selector(deployment.spec.selector)
        if not self.is_template_selected(deployment, selector, deployment.spec.template):
            return
        DeploymentRollout(self, deployment, self._claimed(deployment)).take_step()

    def _refuse(self, deployment: Deployment) -> None:
        self.cluster.record(deployment, SELECTING_ALL, SELECTS_ALL, is_warning=True)
        seen = _replace(deployment.status, observed_generation=deployment.metadata.generation)
        self.store.update_status(_replace(deployment, status=seen))

    def _claimed(self, deployment: Deployment) -> list[ReplicaSet]:
        """Return the Deployment's ReplicaSets after adopting selected and releasing unselected
        ones."""
        selector, uid = compiled_selector(deployment.spec.selector), deployment.metadata.uid
        claimed = []
        for name in list(self._sets.entries_of(uid)):
            replica_set = self.store.get(ReplicaSet, name)
            if selector.matches(replica_set.metadata.labels):
                claimed.append(replica_set)
            elif deployment.metadata.deletion_timestamp is None:
                kept = tuple(ref for ref in replica_set.metadata.owner_references if ref.uid != uid)
                self._own(replica_set, kept)
        if deployment.metadata.deletion_timestamp is None:
            claimed += self._adopted(deployment, selector)
        return claimed

    def _adopted(self, deployment: Deployment, selector: Selector) -> list[ReplicaSet]:
        orphans = [self.store.get(ReplicaSet, name) for name in self._orphans.entries_of(deployment.metadata.namespace)]
        return [
            self._own(orphan, (*orphan.metadata.owner_references, controller_reference(deployment)))
            for orphan in orphans
            if orphan.metadata.deletion_timestamp is None and selector.matches(orphan.metadata.labels)
        ]

    def _own(self, replica_set: ReplicaSet, owners: tuple[object, ...]) -> ReplicaSet:
        return self.store.update(
            _replace(replica_set, metadata=_replace(replica_set.metadata, owner_references=owners))
        )
