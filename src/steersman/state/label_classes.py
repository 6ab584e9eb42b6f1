# SPDX-License-Identifier: Apache-2.0
"""Pods with the same namespace, labels and termination state form a *label class*: every selector treats them alike.

`pod_counts` matches classes, not pods. A new selector finds the classes that it may match by namespace or, for label keys that
selectors ask about again and again, by the value of the label.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from weakref import ref

from steersman.api.selectors import Operator, Requirement
from steersman.bounded_table import RecentTable
from steersman.framework.nodes_view import PodMatcher
from steersman.framework.pod_info import PodInfo
from steersman.graph_copy import GraphCopy, copied_attributes, copied_by, emptied
from steersman.kept import Kept
from steersman.state.domain_counts import MatchCountsTable

ClassKey = tuple[str, frozenset[tuple[str, str]], bool]
Classes = dict["LabelClass", None]

#: Label keys by which classes are filed; and how many keys it is remembered for that they were asked about before.
_MOST_FILED = 8
_MOST_ASKED = 1024
#: So few are asked one by one.
_FEW_CLASSES = 16


def _copied_class(copies: GraphCopy, original: LabelClass) -> LabelClass:
    """Follows no table: none of the copy's kernels has asked for one."""
    made = copies.note(original, LabelClass.__new__(LabelClass))
    made.owner, made.key, made.namespace = original.owner, original.key, original.namespace
    made.labels, made.is_terminating = original.labels, original.is_terminating
    made.rows, made.tables = original.rows.copy(), []
    made.generation, made._look_for_freed = original.generation, original._look_for_freed
    return made


@copied_by(_copied_class)
class LabelClass:
    """Pods that every selector treats alike; implements `framework.nodes_view.LabelledPod`."""

    __slots__ = (
        "_look_for_freed",
        "generation",
        "is_terminating",
        "key",
        "labels",
        "namespace",
        "owner",
        "rows",
        "tables",
    )

    def __init__(self, owner: object, key: ClassKey, pod: PodInfo) -> None:
        #: Stands for whoever counts the class: templates refer to it, which forks of a simulation share.
        self.owner = owner
        self.key = key
        self.namespace = pod.namespace
        self.labels: Mapping[str, str] = pod.labels
        self.is_terminating = pod.is_terminating
        #: Number of pods of the class by row.
        self.rows: dict[int, int] = {}
        #: The count tables whose matchers match the class, and some that have been freed. As of `generation`.
        self.tables: list[ref[MatchCountsTable]] = []
        self.generation = -1
        self._look_for_freed = 8

    def follow(self, table: MatchCountsTable) -> None:
        """From now on the class counts in the table."""
        if len(self.tables) >= self._look_for_freed:
            self.tables = [reference for reference in self.tables if reference() is not None]
            self._look_for_freed = 2 * len(self.tables) + 8
        self.tables.append(ref(table))

    def start_afresh(self, generation: int) -> None:
        self.generation = generation
        self.tables = []


def class_key(pod: PodInfo) -> ClassKey:
    return pod.namespace, frozenset(pod.labels.items()), pod.is_terminating


LABEL_CLASSES = Kept(
    name="label classes",
    attributes=("LabelClasses._known", "LabelClasses._by_namespace"),
    holds="pods that every selector treats alike: how many are on which row, and which count tables count them",
    key="namespace, labels, termination state",
    stamps="`PodCounts._generation`: the count tables of a class are looked for anew",
    bound="classes that a pod on a row has",
    twin="the classes of all pods on rows",
)


FILED_CLASSES = Kept(
    name="filed label classes",
    attributes=("LabelClasses._by_label", "LabelClasses._asked"),
    holds="the classes that have a value of a label",
    key="label key, value",
    stamps="never: written with every change of the facts",
    bound="8 label keys that were asked about more than once",
    twin="a look at all classes",
)


def _copied_known(copies: GraphCopy, known: dict[ClassKey, LabelClass]) -> dict[ClassKey, LabelClass]:
    return copies.note(known, dict(zip(known, map(copies.of, known.values()), strict=True)))


def _copied_groups(copies: GraphCopy, groups: dict[str, Classes]) -> dict[str, Classes]:
    return copies.note(groups, {name: dict.fromkeys(map(copies.of, classes)) for name, classes in groups.items()})


@copied_attributes(_known=_copied_known, _by_namespace=_copied_groups, _by_label=emptied)
class LabelClasses:
    """The classes that pods on rows are of."""

    def __init__(self) -> None:
        self._known: dict[ClassKey, LabelClass] = {}
        self._by_namespace: dict[str, Classes] = {}
        #: By label key and value, for the label keys that matter most.
        self._by_label: dict[str, dict[str, Classes]] = {}
        self._asked: RecentTable[str, bool] = RecentTable(_MOST_ASKED)

    def get(self, key: ClassKey) -> LabelClass | None:
        return self._known.get(key)

    def add(self, label_class: LabelClass) -> LabelClass:
        """The class, or the one with its key that is there already."""
        registered = self._known.setdefault(label_class.key, label_class)
        self._by_namespace.setdefault(label_class.namespace, {})[registered] = None
        for key, by_value in self._by_label.items():
            _file(by_value, key, registered)
        return registered

    def remove(self, label_class: LabelClass) -> None:
        del self._known[label_class.key]
        _take_out(self._by_namespace, label_class.namespace, label_class)
        for key, by_value in self._by_label.items():
            value = label_class.labels.get(key)
            if value is not None:
                _take_out(by_value, value, label_class)

    def candidates(self, matcher: PodMatcher) -> Iterator[LabelClass]:
        """All classes that the matcher may match, and some that it does not."""
        return chain.from_iterable(self._narrowest(matcher))

    def _narrowest(self, matcher: PodMatcher) -> list[Collection[LabelClass]]:
        requirements = matcher.selector.requirements
        if requirements is None:
            return []
        narrowest: list[Collection[LabelClass]] = [self._known.values()]
        if matcher.namespace_names is not None:
            narrowest = [self._by_namespace.get(name, {}) for name in matcher.namespace_names]
        for requirement in requirements:
            if requirement.operator is Operator.IN and _size(narrowest) > _FEW_CLASSES:
                found = self._with_one_of(requirement)
                if found is not None and _size(found) < _size(narrowest):
                    narrowest = found
        return narrowest

    def _with_one_of(self, requirement: Requirement) -> list[Collection[LabelClass]] | None:
        """None: classes are not filed by the label, and will be when it is next asked about."""
        key = requirement.key
        by_value = self._by_label.get(key)
        if by_value is None:
            if self._asked.get(key) is None:
                self._asked.put(key, True)
                return None
            by_value = self._file_all(key)
        return [by_value.get(value, {}) for value in requirement.values]

    def _file_all(self, key: str) -> dict[str, Classes]:
        if len(self._by_label) >= _MOST_FILED:
            del self._by_label[next(iter(self._by_label))]
        by_value: dict[str, Classes] = {}
        for label_class in self._known.values():
            _file(by_value, key, label_class)
        self._by_label[key] = by_value
        return by_value

    def __iter__(self) -> Iterator[LabelClass]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)


def _file(by_value: dict[str, Classes], key: str, label_class: LabelClass) -> None:
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
