# SPDX-License-Identifier: Apache-2.0
"""Builders for namespaces, services, controllers and disruption budgets.

make_namespace("shop").label("team", "a").obj()
make_replica_set("web").selector({"app": "web"}).replicas(3).obj()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self, TypeVar

import msgspec

from steersman import api
from steersman.testing.building import Builder, named
from steersman.testing.selecting import Selecting, label_selector

Selected = TypeVar("Selected", api.ReplicaSet, api.StatefulSet)


def make_namespace(name: str) -> NamespaceBuilder:
    return NamespaceBuilder(named(api.Namespace, name))


def make_service(name: str) -> ServiceBuilder:
    return ServiceBuilder(named(api.Service, name))


def make_replication_controller(name: str) -> ReplicationControllerBuilder:
    return ReplicationControllerBuilder(named(api.ReplicationController, name))


def make_replica_set(name: str) -> ReplicasBuilder[api.ReplicaSet]:
    return ReplicasBuilder(named(api.ReplicaSet, name))


def make_stateful_set(name: str) -> ReplicasBuilder[api.StatefulSet]:
    return ReplicasBuilder(named(api.StatefulSet, name))


def make_disruption_budget(name: str) -> DisruptionBudgetBuilder:
    return DisruptionBudgetBuilder(named(api.PodDisruptionBudget, name))


class NamespaceBuilder(Builder[api.Namespace]):
    """Builds a namespace, whose labels namespace selectors match."""


class ServiceBuilder(Builder[api.Service]):
    """Builds a service with the selector of its pods."""

    def selector(self, labels: Mapping[str, str]) -> Self:
        return self._with(spec=msgspec.structs.replace(self._object.spec, selector=dict(labels)))


class ReplicationControllerBuilder(Builder[api.ReplicationController]):
    def selector(self, labels: Mapping[str, str]) -> Self:
        return self._with(spec=msgspec.structs.replace(self._object.spec, selector=dict(labels)))

    def replicas(self, count: int) -> Self:
        return self._with(spec=msgspec.structs.replace(self._object.spec, replicas=count))


class ReplicasBuilder(Builder[Selected]):
    """Builds a ReplicaSet or StatefulSet."""

    def selector(self, selecting: Selecting) -> Self:
        return self._with(spec=msgspec.structs.replace(self._object.spec, selector=label_selector(selecting)))

    def replicas(self, count: int) -> Self:
        return self._with(spec=msgspec.structs.replace(self._object.spec, replicas=count))


class DisruptionBudgetBuilder(Builder[api.PodDisruptionBudget]):
    def selector(self, selecting: Selecting) -> Self:
        return self._with(spec=msgspec.structs.replace(self._object.spec, selector=label_selector(selecting)))

    def allows(self, disruptions: int) -> Self:
        """Set the number of pods that may be evicted now."""
        return self._with(status=msgspec.structs.replace(self._object.status, disruptions_allowed=disruptions))
