# SPDX-License-Identifier: Apache-2.0
"""The terms of running pods that speak of the pod being scheduled, found once per kernel.

Term tables (`framework.nodes_view.TermTable`) come with the first pod that has the term and go with the last. A kernel that is
asked often looks only at those that came since; one that was not asked for long finds them anew, by the pod's labels. The
labels of namespaces do not change in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steersman.framework.nodes_view import NodesView, TermKind, Terms, TermTable
from steersman.framework.pod_info import PodInfo


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
        """Without those whose last pod has gone. A table counts no pod that is outside of the term's topology."""
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
