# SPDX-License-Identifier: Apache-2.0
"""Label classes: pods with the same namespace, labels and termination state, which every selector
treats alike.

`pod_counts` matches classes instead of pods. A new selector finds the classes that it may match by
namespace or, for frequently queried label keys, by the value of the label.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from weakref import ref

from steersman.api import Operator, Requirement
from steersman.base import CacheSpec, LruCache
from steersman.base.graph_copy import GraphCopy, copied_attributes, copied_by, emptied
from steersman.framework import PodInfo, PodMatcher
from steersman.scheduler.state.domain_counts import MatchCountsTable

ClassKey = tuple[str, frozenset[tuple[str, str]], bool]
Classes = dict["LabelClass", None]

#: Maximum number of label keys by which classes are indexed, and of keys whose first query is
#: remembered.
_MAX_INDEXED_KEYS = 8
_MAX_QUERIED_KEYS = 1024
#: Up to this number of classes are matched one by one.
_MAX_CLASSES_ONE_BY_ONE = 16


def _copied_class(copies: GraphCopy, original: LabelClass) -> LabelClass:
    """Return a copy without count tables: kernels of the fork request their own."""
    made = copies.note(original, LabelClass.__new__(LabelClass))
    made.owner, made.key, made.namespace = original.owner, original.key, original.namespace
    made.labels, made.is_terminating = original.labels, original.is_terminating
    made.rows, made.tables, made.weighted = original.rows.copy(), [], []
    made.generation, made._sweep_at = original.generation, original._sweep_at
    return made


@copied_by(_copied_class)
class LabelClass:
    """Pods that every selector treats alike; implements `framework.nodes_view.LabelledPod`."""

    __slots__ = (
        "_sweep_at",
        "generation",
        "is_terminating",
        "key",
        "labels",
        "namespace",
        "owner",
        "rows",
        "tables",
        "weighted",
    )

    def __init__(self, owner: object, key: ClassKey, pod: PodInfo) -> None:
        #: Token of the `PodCounts` that owns the class: templates reference it, and forks of a
        #: simulation share templates.
        self.owner = owner
        self.key = key
        self.namespace = pod.namespace
        self.labels: Mapping[str, str] = pod.labels
        self.is_terminating = pod.is_terminating
        #: Number of pods of the class by row.
        self.rows: dict[int, int] = {}
        #: Count tables that match the class, including some freed ones, valid for `generation`.
        self.tables: list[ref[MatchCountsTable]] = []
        #: The same for tables in which a pod of the class has a weight other than 1, with the
        #: weight.
        self.weighted: list[tuple[ref[MatchCountsTable], int]] = []
        self.generation = -1
        self._sweep_at = 8

    def follow(self, table: MatchCountsTable, weight: int = 1) -> None:
        """Add a table in which each pod of the class counts with the weight."""
        if len(self.tables) + len(self.weighted) >= self._sweep_at:
            self.tables = [reference for reference in self.tables if reference() is not None]
            self.weighted = [entry for entry in self.weighted if entry[0]() is not None]
            self._sweep_at = 2 * (len(self.tables) + len(self.weighted)) + 8
        if weight == 1:
            self.tables.append(ref(table))
        else:
            self.weighted.append((ref(table), weight))

    def reset(self, generation: int) -> None:
        self.generation = generation
        self.tables = []
        self.weighted = []


def class_key(pod: PodInfo) -> ClassKey:
    return pod.namespace, frozenset(pod.labels.items()), pod.is_terminating


LABEL_CLASSES = CacheSpec(
    name="label classes",
    attributes=("LabelClasses._known", "LabelClasses._by_namespace"),
    contents="pods that every selector treats alike: their number on each row, and the count tables that match them",
    key="namespace, labels, termination state",
    invalidation="`PodCounts._generation`: the count tables of a class are looked up again",
    limit="classes of pods on rows",
    reference="the classes of all pods on rows",
)


INDEXED_CLASSES = CacheSpec(
    name="indexed label classes",
    attributes=("LabelClasses._by_label", "LabelClasses._asked"),
    contents="the classes with a value of a label",
    key="label key, value",
    invalidation="never: updated with every change of the cluster state",
    limit="8 label keys that were queried more than once",
    reference="a scan of all classes",
)


def _copied_known(copies: GraphCopy, known: dict[ClassKey, LabelClass]) -> dict[ClassKey, LabelClass]:
    return copies.note(known, dict(zip(known, map(copies.copy_of, known.values()), strict=True)))


def _copied_groups(copies: GraphCopy, groups: dict[str, Classes]) -> dict[str, Classes]:
    return copies.note(groups, {name: dict.fromkeys(map(copies.copy_of, classes)) for name, classes in groups.items()})


@copied_attributes(_known=_copied_known, _by_namespace=_copied_groups, _by_label=emptied)
class LabelClasses:
    """The classes of pods on rows."""

    def __init__(self) -> None:
        self._known: dict[ClassKey, LabelClass] = {}
        self._by_namespace: dict[str, Classes] = {}
        #: Classes by label key and value, for indexed label keys.
        self._by_label: dict[str, dict[str, Classes]] = {}
        self._asked: LruCache[str, bool] = LruCache(_MAX_QUERIED_KEYS)

    def get(self, key: ClassKey) -> LabelClass | None:
        return self._known.get(key)

    def add(self, label_class: LabelClass) -> LabelClass:
        """Add the class, and return it or the existing one with the same key."""
        registered = self._known.setdefault(label_class.key, label_class)
        self._by_namespace.setdefault(label_class.namespace, {})[registered] = None
        for key, by_value in self._by_label.items():
            _index(by_value, key, registered)
        return registered

    def remove(self, label_class: LabelClass) -> None:
        del self._known[label_class.key]
        _take_out(self._by_namespace, label_class.namespace, label_class)
        for key, by_value in self._by_label.items():
            value = label_class.labels.get(key)
            if value is not None:
                _take_out(by_value, value, label_class)

    def namespaces(self) -> Collection[str]:
        """Return the namespaces of all classes."""
        return self._by_namespace

    def in_namespace(self, namespace: str) -> Collection[LabelClass]:
        return self._by_namespace.get(namespace, {})

    def candidates(self, matcher: PodMatcher) -> Iterator[LabelClass]:
        """Yield a superset of the classes that the matcher matches."""
        return chain.from_iterable(self._narrowest(matcher))

    def _narrowest(self, matcher: PodMatcher) -> list[Collection[LabelClass]]:
        requirements = matcher.selector.requirements
        if requirements is None:
            return []
        narrowest: list[Collection[LabelClass]] = [self._known.values()]
        if matcher.namespace_names is not None:
            narrowest = [self._by_namespace.get(name, {}) for name in matcher.namespace_names]
        for requirement in requirements:
            if requirement.operator is Operator.IN and _size(narrowest) > _MAX_CLASSES_ONE_BY_ONE:
                found = self._classes_with_value(requirement)
                if found is not None and _size(found) < _size(narrowest):
                    narrowest = found
        return narrowest

    def _classes_with_value(self, requirement: Requirement) -> list[Collection[LabelClass]] | None:
        """Return the classes with a value of the requirement, or None if the label is not indexed.
        The second query indexes it."""
        key = requirement.key
        by_value = self._by_label.get(key)
        if by_value is None:
            if self._asked.get(key) is None:
                self._asked.put(key, True)
                return None
            by_value = self._index_all(key)
        return [by_value.get(value, {}) for value in requirement.values]

    def _index_all(self, key: str) -> dict[str, Classes]:
        if len(self._by_label) >= _MAX_INDEXED_KEYS:
            del self._by_label[next(iter(self._by_label))]
        by_value: dict[str, Classes] = {}
        for label_class in self._known.values():
            _index(by_value, key, label_class)
        self._by_label[key] = by_value
        return by_value

    def __iter__(self) -> Iterator[LabelClass]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)


def _index(by_value: dict[str, Classes], key: str, label_class: LabelClass) -> None:
    value = label_class.labels.get(key)
    if value is not None:
        by_value.setdefault(value, {})[label_class] = None


def _take_out(groups: dict[str, Classes], name: str, label_class: LabelClass) -> None:
    group = groups[name]
    del group[label_class]
    if not group:
        del groups[name]


def _size(groups: list[Collection[LabelClass]]) -> int:
    return sum(map(len, groups))
