# SPDX-License-Identifier: Apache-2.0
"""`make_pod_group` and `make_composite_pod_group`: groups of pods for tests.

gang = make_pod_group("gang").gang(2).obj()
member = make_pod("worker-0").in_group("gang").obj()
"""

from __future__ import annotations

from typing import Self, TypeVar

from steersman import api
from steersman.testing.building import Builder, named


def make_pod_group(name: str = "group") -> PodGroupBuilder:
    return PodGroupBuilder(named(api.PodGroup, name))


def make_composite_pod_group(name: str = "composite") -> CompositePodGroupBuilder:
    return CompositePodGroupBuilder(named(api.CompositePodGroup, name))


GroupT = TypeVar("GroupT", api.PodGroup, api.CompositePodGroup)


class _GroupBuilder(Builder[GroupT]):
    """Fields that both kinds of groups have."""

    def parent(self, name: str) -> Self:
        return self._spec(parent_composite_pod_group_name=name)

    def priority(self, priority: int) -> Self:
        return self._spec(priority=priority)

    def preemption_policy(self, policy: str | None) -> Self:
        return self._spec(preemption_policy=policy)

    def topology(self, key: str) -> Self:
        """Require that all members are on nodes with one value of the label."""
        topology = (api.TopologyConstraint(key),)
        return self._spec(scheduling_constraints=api.PodGroupSchedulingConstraints(topology=topology))

    def disrupted_as_one(self) -> Self:
        return self._spec(disruption_mode=api.DisruptionMode(all=api.AllDisruptionMode()))


class PodGroupBuilder(_GroupBuilder[api.PodGroup]):
    """Builds a PodGroup; without further calls it has no policy."""

    def gang(self, min_count: int) -> Self:
        return self._spec(
            scheduling_policy=api.PodGroupSchedulingPolicy(gang=api.GangSchedulingPolicy(min_count=min_count))
        )

    def basic(self) -> Self:
        return self._spec(scheduling_policy=api.PodGroupSchedulingPolicy(basic=api.BasicSchedulingPolicy()))


class CompositePodGroupBuilder(_GroupBuilder[api.CompositePodGroup]):
    """Builds a CompositePodGroup; without further calls it has no policy."""

    def gang(self, min_group_count: int) -> Self:
        gang = api.CompositeGangSchedulingPolicy(min_group_count=min_group_count)
        return self._spec(scheduling_policy=api.CompositePodGroupSchedulingPolicy(gang=gang))
