# SPDX-License-Identifier: Apache-2.0
"""Pods and namespaces that affinity terms match, for the scalar and for the vector form.

A term of the scheduled pod is resolved once per cycle: the names of all namespaces that its
selector matches are added to the listed ones. As upstream, the selector is still matched with empty
labels. So an empty selector, or one that only excludes labels (NotIn, DoesNotExist), matches every
namespace, even unknown ones. `TermsMatcher` is the vector form, a matcher for the count tables of
`state`: it receives the labels of each pod's namespace and needs no list of namespaces. Equal
matchers share their tables, whatever the topology key and weight of their terms.

A term of an existing pod is matched with the labels of the scheduled pod's namespace. Kernels find
such terms by term tables (`framework.nodes_view.TermTable`), which exist as long as a pod has the
term. A kernel in use checks only new tables; after a long pause it searches again by labels.
Namespace labels do not change in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from steersman.api import EVERYTHING, NOTHING, Namespace, Selector, SelectorSum
from steersman.base import CacheSpec
from steersman.framework import (
    AffinityTerm,
    DomainCounts,
    LabelledPod,
    NodesView,
    Objects,
    PodInfo,
    TermKind,
    Terms,
    TermTable,
)

#: If more terms have one topology key, they share a count table.
MAX_SEPARATE_TERMS: Final = 16
NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})
"""Namespace labels for terms of the scheduled pod, whose namespaces are resolved already."""


def with_selected_namespaces(terms: Iterable[AffinityTerm], objects: Objects) -> tuple[AffinityTerm, ...]:
    """Return the scheduled pod's terms with the names of the namespaces that selectors match."""
    return tuple(msgspec.structs.replace(t, namespaces=t.namespaces | _selected(t, objects)) for t in terms)


def labels_of_namespace(name: str, objects: Objects) -> Mapping[str, str]:
    """Return the labels of a namespace; an unknown one has none."""
    namespace = objects.get(Namespace, name)
    return NO_LABELS if namespace is None else namespace.metadata.labels


def _selected(term: AffinityTerm, objects: Objects) -> frozenset[str]:
    metadata = (namespace.metadata for namespace in objects.list(Namespace))
    return frozenset(m.name for m in metadata if term.namespace_selector.matches(m.labels))


# -- terms of the scheduled pod, as matchers for count tables ----------------------------------------------------------


class NamespaceScope(msgspec.Struct, frozen=True, cache_hash=True):
    """The namespaces that a term reaches."""

    names: frozenset[str]
    selector: Selector

    def contains(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return namespace in self.names or self.selector.matches(labels)


EVERYWHERE = NamespaceScope(frozenset(), EVERYTHING)


class TermsMatcher(msgspec.Struct, frozen=True, cache_hash=True):
    """Implements `framework.nodes_view.PodMatcher`: the pods that match all of several terms."""

    selector: Selector
    #: A pod's namespace must be in all of them.
    scopes: frozenset[NamespaceScope]

    @classmethod
    def from_terms(cls, *terms: AffinityTerm) -> TermsMatcher:
        return cls(_joint_selector(terms), frozenset(_scope(term) for term in terms))

    @property
    def namespace_names(self) -> frozenset[str] | None:
        """Return the namespaces that a scope without selector names, or None."""
        return next((scope.names for scope in self.scopes if scope.selector == NOTHING), None)

    def matches(self, pod: LabelledPod, namespace_labels: Mapping[str, str]) -> bool:
        return self.selector.matches(pod.labels) and self.may_match_namespace(pod.namespace, namespace_labels)

    def may_match_namespace(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        return all(scope.contains(namespace, namespace_labels) for scope in self.scopes)


class TermsSum:
    """Implements `framework.nodes_view.WeighingMatcher`: sums the weights of all matching terms.

    Gives many terms with one key one count table. Reference: `AffinityTerm.matches` of each term.
    """

    __slots__ = ("_hash", "_members", "_reached", "_sums")

    def __init__(self, weighted_terms: Iterable[tuple[AffinityTerm, int]]) -> None:
        """All weights are positive."""
        #: Selectors with their weights, by the namespaces that they reach.
        self._members: dict[NamespaceScope, list[tuple[Selector, int]]] = {}
        for term, weight in weighted_terms:
            self._members.setdefault(_scope(term), []).append((term.selector, weight))
        self._hash = hash(tuple((scope, tuple(members)) for scope, members in self._members.items()))
        #: By namespace name and labels: the sum of selectors that reach it; equal ones are shared.
        self._reached: dict[tuple[str, frozenset[tuple[str, str]]], SelectorSum] = {}
        self._sums: dict[tuple[NamespaceScope, ...], SelectorSum] = {}

    @property
    def selector(self) -> Selector:
        return EVERYTHING

    @property
    def label_keys(self) -> frozenset[str]:
        return frozenset(key for members in self._members.values() for selector, _ in members for key in selector.keys)

    @property
    def namespace_names(self) -> frozenset[str] | None:
        if any(scope.selector != NOTHING for scope in self._members):
            return None
        return frozenset().union(*(scope.names for scope in self._members))

    def weigh(self, pod: LabelledPod, namespace_labels: Mapping[str, str]) -> int:
        namespace = (pod.namespace, frozenset(namespace_labels.items()))
        reached = self._reached.get(namespace)
        if reached is None:
            scopes = tuple(scope for scope in self._members if scope.contains(pod.namespace, namespace_labels))
            reached = self._reached[namespace] = self._sum(scopes)
        return reached.weigh(pod.labels)

    def _sum(self, scopes: tuple[NamespaceScope, ...]) -> SelectorSum:
        if scopes not in self._sums:
            self._sums[scopes] = SelectorSum(member for scope in scopes for member in self._members[scope])
        return self._sums[scopes]

    def selectors_in(self, namespace: str, namespace_labels: Mapping[str, str]) -> list[tuple[Selector, int]]:
        reaching = (scope for scope in self._members if scope.contains(namespace, namespace_labels))
        return [member for scope in reaching for member in self._members[scope]]

    def matches(self, pod: LabelledPod, namespace_labels: Mapping[str, str]) -> bool:
        return self.weigh(pod, namespace_labels) > 0

    def may_match_namespace(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        return any(scope.contains(namespace, namespace_labels) for scope in self._members)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TermsSum) and other._hash == self._hash and other._members == self._members

    def __hash__(self) -> int:
        return self._hash


class TermPods(NamedTuple):
    """The pods of one term, or of many terms with one topology key, by domain."""

    matcher: TermsMatcher | TermsSum
    table: DomainCounts
    #: The weight of a pod in the table; 1 for a `TermsSum`, whose counts include the weights.
    weight: int


def pods_of_terms(terms: Sequence[AffinityTerm], view: NodesView, *, preferred: bool = False) -> list[TermPods]:
    """Return the pods that match terms of the scheduled pod. The weight of a required term is 1."""
    matchers = list(_matchers([(term, term.weight if preferred else 1) for term in terms]))
    counts = view.matching_each([matcher for matcher, _, _ in matchers])
    return [
        TermPods(matcher, pods.by_domain(view.topology(key)), weight)
        for pods, (matcher, key, weight) in zip(counts, matchers, strict=True)
    ]


def _matchers(terms: Iterable[tuple[AffinityTerm, int]]) -> Iterator[tuple[TermsMatcher | TermsSum, str, int]]:
    """Yield matchers with key and weight: one per term, or one for many terms with one key."""
    by_key: dict[str, list[tuple[AffinityTerm, int]]] = {}
    for term, weight in terms:
        by_key.setdefault(term.topology_key, []).append((term, weight))
    for key, alike in by_key.items():
        if len(alike) > MAX_SEPARATE_TERMS and all(weight > 0 for _, weight in alike):
            yield TermsSum(alike), key, 1
        else:
            yield from ((TermsMatcher.from_terms(term), key, weight) for term, weight in alike)


def _scope(term: AffinityTerm) -> NamespaceScope:
    """Return the namespaces; all if the selector matches empty labels (see the module's text)."""
    if term.namespace_selector.matches(NO_LABELS):
        return EVERYWHERE
    return NamespaceScope(term.namespaces, term.namespace_selector)


def _joint_selector(terms: Sequence[AffinityTerm]) -> Selector:
    if any(term.selector.requirements is None for term in terms):
        return NOTHING
    return EVERYTHING.add(*(each for term in terms for each in term.selector.requirements or ()))


# -- terms of existing pods --------------------------------------------------------------------------------------------


MATCHING_TERMS = CacheSpec(
    name="terms that match a pod",
    attributes=("MatchingTerms._matching", "MatchingTerms._position"),
    contents="the tables of running pods' terms that match the pod",
    key="one for each kernel and kind of terms",
    invalidation="position in the log of added term tables: those tables are read; the table's generation: rebuilt",
    limit="terms that match",
    reference="`AffinityTerm.matches` of every table",
    checked_by="tests/equivalence/test_engines_agree.py",
    is_inline=True,
)


class MatchingTerms:
    """The tables of one kind of terms that match the pod."""

    __slots__ = ("_matching", "_namespace_labels", "_pod", "_position", "_terms")

    def __init__(self, pod: PodInfo, view: NodesView, kind: TermKind) -> None:
        self._pod = pod
        self._namespace_labels = view.namespace_labels(pod.namespace)
        self._terms: Terms = view.terms(kind)
        self._matching: list[TermTable] = []
        #: `_terms.end` at the last update; -1 before the first.
        self._position = -1

    def tables(self) -> Sequence[TermTable]:
        """Return the matching tables with pods, which never count pods outside the topology."""
        if self._position != self._terms.end:
            self._catch_up()
        return [table for table in self._matching if table.total] if self._matching else ()

    def _catch_up(self) -> None:
        came = self._terms.since(self._position) if self._position >= 0 else None
        self._position = self._terms.end
        if came is None:
            self._matching = self._matching_tables(self._terms.candidates(self._pod.namespace, self._pod.labels))
        else:
            kept = [table for table in self._matching if table.users]
            self._matching = kept + self._matching_tables(table for table in came if table.users)

    def _matching_tables(self, tables: Iterable[TermTable]) -> list[TermTable]:
        return [table for table in tables if table.term.matches(self._pod, self._namespace_labels)]
