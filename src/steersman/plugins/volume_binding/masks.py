# SPDX-License-Identifier: Apache-2.0
"""Node selectors of volumes, classes and capacities as columns: which rows each of them admits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from steersman.api.node_selectors import AnyTerm
from steersman.api.selectors import Operator, Selector
from steersman.framework.nodes_view import BoolColumn, NodesView


class SelectorMasks:
    """Evaluates selectors over all rows. What it answers is the caller's to change."""

    def __init__(self, view: NodesView) -> None:
        self._view = view

    def no_rows(self) -> BoolColumn:
        return np.zeros(self._view.capacity, np.bool_)

    def any_term(self, selectors: Iterable[AnyTerm]) -> BoolColumn:
        """Rows that one of the node selectors admits. Volumes know nothing of names: conditions on them do not count."""
        return self.any_of(Selector(term.labels) for s in selectors for term in s.terms if not term.errors)

    def any_of(self, selectors: Iterable[Selector]) -> BoolColumn:
        """Rows that one of the selectors admits. Conditions on one label are taken together: every local volume names a
        host of its own, and a column for each would be a waste."""
        admitted = self.no_rows()
        values_by_key: dict[str, set[str]] = {}
        for selector in selectors:
            requirements = selector.requirements
            if requirements is None:
                continue
            if len(requirements) == 1 and requirements[0].operator is Operator.IN:
                values_by_key.setdefault(requirements[0].key, set()).update(requirements[0].values)
            else:
                admitted |= self._all(selector)
        for key, values in values_by_key.items():
            admitted |= self._has_one_of(key, values)
        return admitted

    def _all(self, selector: Selector) -> BoolColumn:
        admitted = np.ones(self._view.capacity, np.bool_)
        for requirement in selector.requirements or ():
            admitted &= self._view.requirement(requirement)
        return admitted

    def _has_one_of(self, key: str, values: Iterable[str]) -> BoolColumn:
        ids, known = self._view.label_values(key)
        # One more than there are values: rows without the label have the id -1, which is the last.
        wanted = np.zeros(len(known) + 1, np.bool_)
        wanted[[known[value] for value in values if value in known]] = True
        return wanted.take(ids, mode="wrap")
