# SPDX-License-Identifier: Apache-2.0
"""Which pods the terms of the pod being scheduled speak of, as a matcher for the count tables of `state`.

The columnar twin of `namespaces`: a matcher is asked with the labels of each pod's namespace, so it needs no list of the
namespaces that a selector finds. Equal matchers share their tables, whatever the topology key and weight of their terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from steersman.api.selectors import EVERYTHING, NOTHING, Selector
from steersman.framework.nodes_view import DomainCounts, LabelledPod, NodesView
from steersman.framework.pod_info import AffinityTerm
from steersman.plugins.inter_pod_affinity.namespaces import NO_LABELS


class NamespaceScope(msgspec.Struct, frozen=True, cache_hash=True):
    """The namespaces that a term reaches."""

    names: frozenset[str]
    selector: Selector

    def contains(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return namespace in self.names or self.selector.matches(labels)


EVERYWHERE = NamespaceScope(frozenset(), EVERYTHING)


class TermsMatcher(msgspec.Struct, frozen=True, cache_hash=True):
    """Implements `framework.nodes_view.PodMatcher`: the pods that match every one of some terms."""

    selector: Selector
    #: A pod's namespace must be in all of them.
    scopes: frozenset[NamespaceScope]

    @classmethod
    def of(cls, *terms: AffinityTerm) -> TermsMatcher:
        return cls(_joint_selector(terms), frozenset(_scope(term) for term in terms))

    @property
    def namespace_names(self) -> frozenset[str] | None:
        """Those that one of the scopes names, if it reaches no others."""
        return next((scope.names for scope in self.scopes if scope.selector == NOTHING), None)

    def matches(self, pod: LabelledPod, namespace_labels: Mapping[str, str]) -> bool:
        return self.selector.matches(pod.labels) and self.may_match_namespace(pod.namespace, namespace_labels)

    def may_match_namespace(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        return all(scope.contains(namespace, namespace_labels) for scope in self.scopes)


def pods_of_term(term: AffinityTerm, view: NodesView) -> DomainCounts:
    """The pods that one term of the pod being scheduled speaks of, by domain of its topology key."""
    return view.matching(TermsMatcher.of(term)).by_domain(view.topology(term.topology_key))


def _scope(term: AffinityTerm) -> NamespaceScope:
    """A selector that accepts a namespace without labels reaches all of them: see `namespaces`."""
    if term.namespace_selector.matches(NO_LABELS):
        return EVERYWHERE
    return NamespaceScope(term.namespaces, term.namespace_selector)


def _joint_selector(terms: Sequence[AffinityTerm]) -> Selector:
    joint = EVERYTHING
    for term in terms:
        if term.selector.requirements is None:
            return NOTHING
        joint = joint.add(*term.selector.requirements)
    return joint
