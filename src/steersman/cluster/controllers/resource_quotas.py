# SPDX-License-Identifier: Apache-2.0
"""The quota controller: writes the usage in admission's ledger to the status of ResourceQuotas."""

from __future__ import annotations

import msgspec

from steersman.api import Object, ResourceList, ResourceQuota, ResourceQuotaStatus, key, quantity
from steersman.cluster.controllers.controller import Cluster, Controller
from steersman.cluster.store import EventType
from steersman.cluster.store.admission.quotas import QuotaLedger, quota_ledger

_replace = msgspec.structs.replace


class ResourceQuotaController(Controller):
    """Quota controller; keys are `namespace/name`."""

    NAME = "resourcequota"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._ledger: QuotaLedger | None = None
        self.store.subscribe(self._on_quota, (ResourceQuota,))

    def _on_quota(self, _: EventType, __: Object | None, new: Object | None) -> None:
        if new is None:
            return
        if self._ledger is None:
            self._ledger = quota_ledger(self.store)
            self._ledger.listen(self._on_change)
        self.enqueue(key(new))

    def _on_change(self) -> None:
        if self._ledger is not None:
            for name in self._ledger.take_changed():
                self.enqueue(name)

    def reconcile(self, name: str) -> None:
        quota = self.store.find(ResourceQuota, name)
        used = None if self._ledger is None else self._ledger.used(name)
        if quota is None or used is None:
            return
        hard: ResourceList = {
            name: quantity.canonical(quantity.parse(limit)) for name, limit in quota.spec.hard.items()
        }
        status = ResourceQuotaStatus(hard, used)
        if status != quota.status:
            self.store.update_status(_replace(quota, status=status))
