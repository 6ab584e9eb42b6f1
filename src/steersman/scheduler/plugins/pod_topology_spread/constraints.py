# SPDX-License-Identifier: Apache-2.0
"""Compiled spread constraints, the pods and nodes that they count, and their source.

A pod has its own constraints or else the configured defaults with a selector of its services and
controller (see `default_selector`). Filter uses DoNotSchedule, Score ScheduleAnyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from steersman.api import (
    HOSTNAME_LABEL,
    NO_EXECUTE,
    NO_SCHEDULE,
    ZONE_LABEL,
    Node,
    Pod,
    RequiredNodeAffinity,
    Selector,
    TopologySpreadConstraint,
    find_untolerated_taint,
    from_label_selector,
    from_labels,
)
from steersman.framework import Gates, Objects, PodInfo
from steersman.scheduler.plugins.pod_topology_spread.default_selector import default_selector

Action = Literal["DoNotSchedule", "ScheduleAnyway"]
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
HONOR: Final = "Honor"
IGNORE: Final = "Ignore"


SYSTEM_DEFAULT_CONSTRAINTS: Final = (
    TopologySpreadConstraint(topology_key=HOSTNAME_LABEL, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE_LABEL, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=5),
)


class SpreadConstraint(msgspec.Struct, frozen=True):
    """A constraint with a compiled selector and defaults."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int = 1
    node_affinity_policy: str = HONOR
    node_taints_policy: str = IGNORE

    def counts_node(self, pod: Pod, affinity: RequiredNodeAffinity, node: Node, comparison_operators: bool) -> bool:
        """Return whether the node's pods count, by the constraint's node inclusion policies."""
        if self.node_affinity_policy == HONOR and not affinity.matches(node.metadata.labels, node.metadata.name):
            return False
        if self.node_taints_policy != HONOR:
            return True
        effects = (NO_SCHEDULE, NO_EXECUTE)
        untolerated = find_untolerated_taint(
            node.spec.taints, pod.spec.tolerations, effects, comparison_operators=comparison_operators
        )
        return untolerated is None

    def count_pods(self, pods: Iterable[PodInfo], namespace: str) -> int:
        """Count the matching pods except terminating ones. An empty selector matches none here."""
        if self.selector.empty:
            return 0
        return sum(
            not pod.is_terminating and pod.namespace == namespace and self.selector.matches(pod.labels) for pod in pods
        )


class ConstraintSource(msgspec.Struct, frozen=True):
    """Finds the constraints of a pod."""

    defaults: tuple[TopologySpreadConstraint, ...]
    objects: Objects
    gates: Gates

    def constraints(self, pod: Pod, action: Action) -> tuple[SpreadConstraint, ...]:
        """Return the own or default constraints with this action. Raise `InputError` if invalid."""
        own = pod.spec.topology_spread_constraints
        if own:
            return self._compiled(own, pod, action)
        defaults = self._compiled(self.defaults, pod, action)
        selector = default_selector(pod, self.objects) if defaults else None
        if selector is None or selector.empty:
            return ()
        return tuple(msgspec.structs.replace(constraint, selector=selector) for constraint in defaults)

    def _compiled(
        self, constraints: Iterable[TopologySpreadConstraint], pod: Pod, action: Action
    ) -> tuple[SpreadConstraint, ...]:
        return tuple(self._compile(c, pod.metadata.labels) for c in constraints if c.when_unsatisfiable == action)

    def _compile(self, constraint: TopologySpreadConstraint, pod_labels: Mapping[str, str]) -> SpreadConstraint:
        selector = from_label_selector(constraint.label_selector)
        if self.gates.enabled("MatchLabelKeysInPodTopologySpread"):
            own_labels = {key: pod_labels[key] for key in constraint.match_label_keys if key in pod_labels}
            selector = selector.add(*(from_labels(own_labels).requirements or ()))
        honours_policies = self.gates.enabled("NodeInclusionPolicyInPodTopologySpread")
        return SpreadConstraint(
            max_skew=constraint.max_skew,
            topology_key=constraint.topology_key,
            selector=selector,
            min_domains=1 if constraint.min_domains is None else constraint.min_domains,
            node_affinity_policy=(honours_policies and constraint.node_affinity_policy) or HONOR,
            node_taints_policy=(honours_policies and constraint.node_taints_policy) or IGNORE,
        )


def has_all_keys(labels: Mapping[str, str], constraints: Iterable[SpreadConstraint]) -> bool:
    """Return whether a node with these labels belongs to a domain of every constraint."""
    return all(constraint.topology_key in labels for constraint in constraints)
