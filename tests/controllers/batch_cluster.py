# SPDX-License-Identifier: Apache-2.0
"""A store, time and recorded events for controllers under test, without scheduler or kubelets."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from tests.embedded.stores import START
from tests.embedded.timers import FakeTimers

from steersman import api
from steersman.base.clock import ManualClock
from steersman.cluster.controllers import Cluster
from steersman.cluster.store import KubeAdmission, Store

T = TypeVar("T", bound=api.Object)


class RecordedEvent(NamedTuple):
    """An event that a controller recorded."""

    name: str
    reason: str
    message: str
    is_warning: bool


class TestCluster:
    """A store that waits for all finalizers, and the future."""

    __test__ = False

    def __init__(self, *, keeps_documents: bool = False) -> None:
        self.store = Store(
            ManualClock(START), admission=KubeAdmission(), awaited_finalizers=None, keeps_documents=keeps_documents
        )
        self.timers = FakeTimers(self.store)
        self.events: list[RecordedEvent] = []
        self.cluster = Cluster(self.store, self.timers, self._record)

    def _record(self, obj: api.Object, reason: str, message: str, *, is_warning: bool = False) -> None:
        self.events.append(RecordedEvent(obj.metadata.name, reason, message, is_warning))

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self.store.clock.now() - START

    def run(self, seconds: float = 0.0) -> None:
        """Until so many seconds after the start."""
        self.timers.run_until(seconds)

    def create(self, obj: T) -> T:
        return self.store.create(obj)

    def names(self, kind: type[api.Object]) -> list[str]:
        return [obj.metadata.name for obj in self.store.objects(kind).values()]

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.events]


def owner_reference(
    owner: api.Object, *, blocks: bool | None = True, controls: bool | None = True
) -> api.OwnerReference:
    return api.OwnerReference(
        api_version=owner.API_VERSION,
        kind=owner.KIND,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=controls,
        block_owner_deletion=blocks,
    )
