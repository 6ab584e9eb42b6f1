# SPDX-License-Identifier: Apache-2.0
"""Label classes as columns: many selectors are matched with many classes by a few array operations
each.

Built by `pod_counts` for pods with many terms, used immediately and dropped: adding or removing a
pod invalidates it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain

import numpy as np

from steersman.api import MAX_SEPARATE_REQUIREMENTS, Selector
from steersman.framework import BoolColumn, IntColumn, PodMatcher, WeighingMatcher, is_weighing, weighing
from steersman.scheduler.state.label_classes import LabelClass, LabelClasses
from steersman.scheduler.state.label_columns import LabelValues

#: Minimum number of classes to match by array operations.
_MIN_CLASSES_FOR_COLUMNS = 64


class ClassColumns:
    """The classes of one namespace with the same termination state."""

    def __init__(self, classes: Collection[LabelClass]) -> None:
        self._classes = list(classes)
        self._keys = frozenset(chain.from_iterable(c.labels for c in self._classes))
        self._values: dict[str, LabelValues] = {}
        rows = [c.rows for c in self._classes]
        #: Class, row and number of pods, for each row of each class.
        self._class = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
        self._row = np.fromiter(chain.from_iterable(rows), np.intp)
        self._pods = np.fromiter(chain.from_iterable(r.values() for r in rows), np.int64)

    def count(
        self, matcher: PodMatcher | WeighingMatcher, namespace_labels: Mapping[str, str], per_row: IntColumn
    ) -> None:
        """Add the weights of matching pods to the per-row column."""
        weights = self._weights(matcher, namespace_labels)
        if weights.any():
            counts = np.bincount(self._row, self._pods * weights[self._class], len(per_row))
            per_row += counts.astype(np.int64)

    def _weights(self, matcher: PodMatcher | WeighingMatcher, namespace_labels: Mapping[str, str]) -> IntColumn:
        """Return the weight of a pod of each class. Reference: `weighing(matcher)` of each
        class."""
        weights = np.zeros(len(self._classes), np.int64)
        if len(weights) < _MIN_CLASSES_FOR_COLUMNS:
            weigh = weighing(matcher)
            weights[:] = [weigh(c, namespace_labels) for c in self._classes]
        elif is_weighing(matcher):
            for selector, weight in matcher.selectors_in(self._classes[0].namespace, namespace_labels):
                weights += self.selected(selector) * np.int64(weight)
        else:
            selected = self.selected(matcher.selector)
            if selected.any() and matcher.matches(self._classes[int(selected.argmax())], namespace_labels):
                weights += selected
        return weights

    def selected(self, selector: Selector) -> BoolColumn:
        """Return the classes that the selector selects. Reference: `Selector.matches` of each
        class."""
        requirements = selector.requirements
        if requirements is None:
            return np.zeros(len(self._classes), np.bool_)
        if len(requirements) > MAX_SEPARATE_REQUIREMENTS:
            return np.array([selector.matches(c.labels) for c in self._classes], np.bool_)
        selected = np.ones(len(self._classes), np.bool_)
        for requirement in requirements:
            if requirement.key in self._keys:
                selected &= self._values_of(requirement.key).meeting(requirement)
            elif not requirement.matches({}):
                selected[:] = False
        return selected

    def _values_of(self, key: str) -> LabelValues:
        values = self._values.get(key)
        if values is None:
            values = self._values[key] = LabelValues(len(self._classes))
            for index, label_class in enumerate(self._classes):
                values.set(index, label_class.labels.get(key))
        return values


class NamespaceColumns:
    """Columns of all classes, built per namespace on first use."""

    def __init__(self, classes: LabelClasses, namespace_labels: Callable[[str], Mapping[str, str]]) -> None:
        self._classes = classes
        self._namespace_labels = namespace_labels
        self._known: dict[str, list[ClassColumns]] = {}

    def count(self, matcher: PodMatcher | WeighingMatcher, per_row: IntColumn) -> None:
        """Add the weights of matching pods to the per-row column."""
        if matcher.selector.requirements is None:
            return
        for namespace in self._classes.namespaces() if matcher.namespace_names is None else matcher.namespace_names:
            labels = self._namespace_labels(namespace)
            if matcher.may_match_namespace(namespace, labels):
                for columns in self._columns(namespace):
                    columns.count(matcher, labels, per_row)

    def _columns(self, namespace: str) -> list[ClassColumns]:
        if namespace not in self._known:
            self._known[namespace] = list(self._make(self._classes.in_namespace(namespace)))
        return self._known[namespace]

    def _make(self, classes: Collection[LabelClass]) -> Iterator[ClassColumns]:
        for is_terminating in (False, True):
            alike = [c for c in classes if c.is_terminating is is_terminating]
            if alike:
                yield ClassColumns(alike)
