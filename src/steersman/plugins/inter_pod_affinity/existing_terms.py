"""The terms of running pods that speak of the pod being scheduled, found once per kernel.

Term tables (`framework.nodes_view.TermTable`) come into being as pods with new terms arrive and stay until the view's next
generation; so a kernel looks only at those that it has not seen. The labels of namespaces do not change in between.
"""

from __future__ import annotations

from collections.abc import Sequence

from steersman.framework.nodes_view import NodesView, TermKind, TermTable
from steersman.framework.pod_info import PodInfo


class MatchingTerms:
    """The tables of one kind of terms that match the pod."""

    __slots__ = ("_considered", "_matching", "_namespace_labels", "_pod", "_tables")

    def __init__(self, pod: PodInfo, view: NodesView, kind: TermKind) -> None:
        self._pod = pod
        self._namespace_labels = view.namespace_labels(pod.namespace)
        self._tables: Sequence[TermTable] = view.terms(kind)
        self._considered = 0
        self._matching: list[TermTable] = []

    def tables(self) -> Sequence[TermTable]:
        """Without those whose last pod has gone. A table counts no pod that is outside of the term's topology."""
        if self._considered != len(self._tables):
            self._consider_new()
        return [table for table in self._matching if table.total] if self._matching else ()

    def _consider_new(self) -> None:
        for table in self._tables[self._considered :]:
            if table.term.matches(self._pod, self._namespace_labels):
                self._matching.append(table)
        self._considered = len(self._tables)
