# SPDX-License-Identifier: Apache-2.0
"""Spread constraints, compiled: which pods count, which nodes count, and where a pod's constraints come from.

A pod has its own constraints or, if it has none, the configured defaults with a selector taken from the services and
controllers that it belongs to (see `default_selector`). Filter looks at those with DoNotSchedule, Score at those with
ScheduleAnyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from steersman.api import Node, Pod, TopologySpreadConstraint
from steersman.api.node_selectors import RequiredNodeAffinity
from steersman.api.selectors import Selector, from_label_selector, from_labels
from steersman.api.tolerations import NO_EXECUTE, NO_SCHEDULE, find_untolerated_taint
from steersman.framework.handle import Gates, Objects
from steersman.framework.pod_info import PodInfo
from steersman.plugins.pod_topology_spread.default_selector import default_selector

Action = Literal["DoNotSchedule", "ScheduleAnyway"]
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
HONOR: Final = "Honor"
IGNORE: Final = "Ignore"

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"

SYSTEM_DEFAULT_CONSTRAINTS: Final = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=3),
    TopologySpreadConstraint(topology_key=ZONE, when_unsatisfiable=SCHEDULE_ANYWAY, max_skew=5),
)


class SpreadConstraint(msgspec.Struct, frozen=True):
    """One constraint with its selector compiled and its defaults filled in."""

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int = 1
    node_affinity_policy: str = HONOR
    node_taints_policy: str = IGNORE

    def counts_node(self, pod: Pod, affinity: RequiredNodeAffinity, node: Node, comparison_operators: bool) -> bool:
        """Whether the pods of the node count, by the constraint's node inclusion policies."""
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
        """How many of the pods match. Terminating pods do not count; an empty selector counts none instead of all."""
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
        """The pod's own constraints with that action, or the default ones. InputError for a selector that is wrong."""
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
    """Whether a node with these labels belongs to a domain of every constraint."""
    return all(constraint.topology_key in labels for constraint in constraints)
