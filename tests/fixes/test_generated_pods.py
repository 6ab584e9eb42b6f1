# SPDX-License-Identifier: Apache-2.0
"""Fixes of generated pending pods hold: applied to the documents and simulated from scratch, and they cannot be smaller."""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from tests.fixes.applying import Outcome, applied, helps
from tests.fixes.pending_pods import Document, PendingPod, pending_pod

from steersman.api import quantity
from steersman.fixes import find_fixes
from steersman.sim import Simulation

CASES = 40 * int(os.environ.get("STEERSMAN_EXAMPLES", "1"))


def fixes_of(case: PendingPod) -> list[Document]:
    pod = Outcome(case.documents, case).pods[-1]
    return [fix.to_dict() for fix in find_fixes(Simulation.load(*deepcopy(case.documents)), pod)]


@pytest.mark.parametrize("seed", range(CASES))
def test_every_pending_pod_has_fixes_that_hold_and_cannot_be_smaller(seed: int) -> None:
    case = pending_pod(seed)
    assert not Outcome(case.documents, case).is_scheduled, case.obstacles
    fixes = fixes_of(case)
    assert fixes, case.obstacles
    for fix in fixes:
        may_evict = "RaisePriority" in fix["parts"]
        outcome = Outcome(applied(case.documents, fix), case)
        assert outcome.is_scheduled, fix["summary"]
        assert may_evict or not outcome.harmed, fix["summary"]
        assert {each.pod for each in outcome.result.preempted} == set(fix["evicts"]), fix["summary"]
        for smaller in smaller_documents(case, fix):
            assert not helps(smaller, case, may_evict=may_evict), fix["summary"]


def smaller_documents(case: PendingPod, fix: Document) -> Iterator[list[Document]]:
    """The documents with a little less of the fix."""
    for name in ("patches", "create"):
        for position in range(len(fix[name])):
            fewer = [each for index, each in enumerate(fix[name]) if index != position]
            yield applied(case.documents, {**fix, name: fewer})
    whole = applied(case.documents, fix)
    for before, after in zip(case.documents, whole[: len(case.documents)], strict=True):
        for less in _less(before, after):
            yield [less if document is after else document for document in whole]
    for created in fix["create"]:
        if created["kind"] == "PriorityClass":
            lower = {**created, "value": created["value"] - 1}
            yield [lower if document == created else document for document in whole]


def _less(before: Document, after: Document) -> Iterator[Document]:
    """The changed object with one change taken back, or by a step."""
    for key, value in after["metadata"].get("labels", {}).items():
        if before["metadata"].get("labels", {}).get(key) != value:
            less = deepcopy(after)
            less["metadata"]["labels"] = {
                **{name: each for name, each in after["metadata"]["labels"].items() if name != key},
                **({key: before["metadata"]["labels"][key]} if key in before["metadata"].get("labels", {}) else {}),
            }
            yield less
    for old, new, put in _specs(before, after):
        yield from (put({**new, name: kept}) for name, kept in _taken_back(old, new))


def _specs(before: Document, after: Document) -> Iterator[tuple[Document, Document, Any]]:
    """The specs of a node or pod, or of the template: before, after, and how the object is with another one."""
    old, new = before.get("spec", {}), after.get("spec", {})
    if "template" not in new:
        yield old, new, lambda spec: {**after, "spec": spec}
        return

    def put(spec: Document) -> Document:
        return {**after, "spec": {**new, "template": {**new["template"], "spec": spec}}}

    yield old["template"]["spec"], new["template"]["spec"], put


def _taken_back(old: Document, new: Document) -> Iterator[tuple[str, Any]]:
    """A field of the spec with a little less of the change."""
    added = [each for each in new.get("tolerations", ()) if each not in old.get("tolerations", ())]
    for toleration in added:
        yield "tolerations", [each for each in new["tolerations"] if each != toleration]
    for taint in old.get("taints", ()):
        if taint not in new.get("taints", ()):
            yield "taints", [*new.get("taints", ()), taint]
    for key, value in old.get("nodeSelector", {}).items():
        if key not in new.get("nodeSelector", {}):
            yield "nodeSelector", {**new.get("nodeSelector", {}), key: value}
    for position, constraint in enumerate(new.get("topologySpreadConstraints", ())):
        if constraint["maxSkew"] != old["topologySpreadConstraints"][position]["maxSkew"]:
            less = deepcopy(new["topologySpreadConstraints"])
            less[position]["maxSkew"] -= 1
            yield "topologySpreadConstraints", less
    yield from (("containers", containers) for containers in _larger_requests(old, new))


def _larger_requests(old: Document, new: Document) -> Iterator[list[Document]]:
    for position, container in enumerate(new.get("containers", ())):
        for resource, amount in container.get("resources", {}).get("requests", {}).items():
            if amount != old["containers"][position].get("resources", {}).get("requests", {}).get(resource):
                containers = deepcopy(new["containers"])
                resources = containers[position]["resources"]
                resources["requests"][resource] = one_more(resource, amount)
                if resource in resources.get("limits", {}):
                    resources["limits"][resource] = one_more(resource, amount)
                yield containers


def one_more(resource: str, amount: str) -> str:
    """A millicore, a mebibyte or a piece more."""
    if resource == "cpu":
        return f"{quantity.milli_value_of(amount) + 1}m"
    return str(quantity.value_of(amount) + (2**20 if resource == "memory" else 1))
