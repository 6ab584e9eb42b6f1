# SPDX-License-Identifier: Apache-2.0
"""Applies fixes to documents as another program would, without `steersman.explain.fixes`, and simulates from scratch."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.fixes.documents import Document
from tests.fixes.pending_pods import POD, PendingPod

from steersman import api
from steersman.base.errors import SteersmanError
from steersman.simulation import Result, Simulation


def merged(document: Any, patch: Any) -> Any:
    """RFC 7396, as its pseudocode has it."""
    if not isinstance(patch, dict):
        return patch
    target = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = merged(target.get(name), value)
    return target


def applied(documents: list[Document], fix: Document) -> list[Document]:
    """The documents with a fix, given as its JSON, carried out."""
    result = deepcopy(documents)
    for patch in fix["patches"]:
        for position, document in enumerate(result):
            if is_named(document, patch):
                result[position] = merged(document, patch["mergePatch"])
    gone = [name for name in fix["delete"] for document in result if is_named(document, name)]
    left = [document for document in result if not any(is_named(document, name) for name in gone)]
    return [*left, *deepcopy(list(fix["create"]))]


def is_named(document: Document, name: Document) -> bool:
    metadata = document["metadata"]
    key = (document["kind"], metadata.get("namespace", ""), metadata["name"])
    return key == (name["kind"], name["namespace"], name["name"])


class Outcome:
    """A simulation of documents from scratch, looked at with the pod's eyes."""

    def __init__(self, documents: list[Document], case: PendingPod) -> None:
        self._case = case
        self.simulation = Simulation.load(*deepcopy(documents), validate="lenient")
        self.result: Result = self.simulation.run()

    @property
    def pods(self) -> list[str]:
        """The pod itself, or those that its workload has made."""
        if self._case.workload is None:
            return [POD]
        pods = self.simulation.cluster.objects(api.Pod)
        return [key for key, pod in pods.items() if pod.metadata.labels.get("app") == "web"]

    @property
    def is_scheduled(self) -> bool:
        mine = self.pods
        return bool(mine) and all(key in self.result.placements and key not in self.result.pending for key in mine)

    @property
    def harmed(self) -> set[str]:
        """Other pods that are pending or were preempted."""
        return {*self.result.pending, *(each.pod for each in self.result.preempted)} - set(self.pods)


def helps(documents: list[Document], case: PendingPod, *, may_evict: bool = False) -> bool:
    """Whether the pod is scheduled in the documents, and nobody else suffers; documents that are refused help nobody."""
    try:
        outcome = Outcome(documents, case)
    except SteersmanError:
        return False
    return outcome.is_scheduled and (may_evict or not outcome.harmed)
