# SPDX-License-Identifier: Apache-2.0
"""Which pods and namespaces the affinity terms of a pod speak of, for the scalar and for the vector form.

A term of the pod that is being scheduled is resolved once per cycle: the names of all namespaces that its selector
finds are added to those it lists. The selector itself stays and is then asked about a namespace without labels, as
upstream does. So an empty selector reaches every namespace, even one whose object is not known yet, and so does a
selector that only rules labels out (NotIn, DoesNotExist). `TermsMatcher` is the columnar twin, a matcher for the count
tables of `state`: it is asked with the labels of each pod's namespace, so it needs no list of namespaces. Equal matchers
share their tables, whatever the topology key and weight of their terms.

A term of a pod that runs already is asked about the labels of one namespace, that of the pod being scheduled. Kernels find
such terms once, by term tables (`framework.nodes_view.TermTable`), which come with the first pod that has the term and go
with the last. A kernel that is asked often looks only at the tables that came since; one that was not asked for long finds
them anew, by the pod's labels. The labels of namespaces do not change in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from steersman.api import Namespace
from steersman.api.selectors import EVERYTHING, NOTHING, Selector
from steersman.framework.handle import Objects
from steersman.framework.nodes_view import DomainCounts, LabelledPod, NodesView, TermKind, Terms, TermTable
from steersman.framework.pod_info import AffinityTerm, PodInfo
from steersman.kept import Kept

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})
"""The labels that the terms of the pod being scheduled are asked with: their namespaces are resolved already."""


def with_selected_namespaces(terms: Iterable[AffinityTerm], objects: Objects) -> tuple[AffinityTerm, ...]:
    """The terms of the pod being scheduled, each with the names of the namespaces that its selector finds."""
    return tuple(msgspec.structs.replace(t, namespaces=t.namespaces | _selected(t, objects)) for t in terms)


def labels_of_namespace(name: str, objects: Objects) -> Mapping[str, str]:
    """A namespace whose object is not known (yet) counts as one without labels."""
    namespace = objects.get(Namespace, name)
    return NO_LABELS if namespace is None else namespace.metadata.labels


def _selected(term: AffinityTerm, objects: Objects) -> frozenset[str]:
    metadata = (namespace.metadata for namespace in objects.list(Namespace))
    return frozenset(m.name for m in metadata if term.namespace_selector.matches(m.labels))


# -- terms of the pod being scheduled, as a matcher for count tables ---------------------------------------------------


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
        """The namespaces that one of the scopes names, if it reaches no others."""
        return next((scope.names for scope in self.scopes if scope.selector == NOTHING), None)

    def matches(self, pod: LabelledPod, namespace_labels: Mapping[str, str]) -> bool:
        return self.selector.matches(pod.labels) and self.may_match_namespace(pod.namespace, namespace_labels)

    def may_match_namespace(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        return all(scope.contains(namespace, namespace_labels) for scope in self.scopes)


def pods_of_term(term: AffinityTerm, view: NodesView) -> DomainCounts:
    """The pods that one term of the pod being scheduled speaks of, by domain of its topology key."""
    return view.matching(TermsMatcher.of(term)).by_domain(view.topology(term.topology_key))


def _scope(term: AffinityTerm) -> NamespaceScope:
    """A selector that accepts a namespace without labels reaches all of them: see the module's text."""
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


# -- terms of pods that run --------------------------------------------------------------------------------------------


MATCHING_TERMS = Kept(
    name="terms that match a pod",
    attributes=("MatchingTerms._matching", "MatchingTerms._position"),
    holds="the tables of running pods' terms that speak of the pod",
    key="one for each kernel and kind of terms",
    stamps="position in the log of term tables that came: those are looked at; the table's generation: made anew",
    bound="terms that match",
    twin="`AffinityTerm.matches` of every table",
    held_equal="tests/equivalence/test_engines_agree.py",
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
        #: `_terms.end` when the tables were last looked at; -1: never.
        self._position = -1

    def tables(self) -> Sequence[TermTable]:
        """The tables that match, without those whose last pod has gone. A table counts no pod that is
        outside of the term's topology."""
        if self._position != self._terms.end:
            self._catch_up()
        return [table for table in self._matching if table.total] if self._matching else ()

    def _catch_up(self) -> None:
        came = self._terms.since(self._position) if self._position >= 0 else None
        self._position = self._terms.end
        if came is None:
            self._matching = self._that_match(self._terms.candidates(self._pod.namespace, self._pod.labels))
        else:
            kept = [table for table in self._matching if table.users]
            self._matching = kept + self._that_match(table for table in came if table.users)

    def _that_match(self, tables: Iterable[TermTable]) -> list[TermTable]:
        return [table for table in tables if table.term.matches(self._pod, self._namespace_labels)]
