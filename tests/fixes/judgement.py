# SPDX-License-Identifier: Apache-2.0
"""Judges the fixes of one pending pod: do they help, and can they be smaller?

The fixes are taken as JSON, applied to the documents, and simulated from scratch; nothing of the search is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import NamedTuple

from tests.fixes.applying import Outcome, applied, helps
from tests.fixes.documents import Document
from tests.fixes.pending_pods import POD, PendingPod
from tests.fixes.smaller import smaller_documents

from steersman.explain.fixes import find_fixes
from steersman.simulation import Simulation


class Judgement(NamedTuple):
    """What was found out about one pod."""

    case: PendingPod
    fixes: list[Document]
    #: What is wrong, in sentences.
    complaints: list[str]
    #: How many smaller fixes were tried in vain.
    smaller: int


def outcome_at_rest(case: PendingPod) -> Judgement:
    """Finds the fixes of the pod, and tries them."""
    fixes = fixes_of(case)
    complaints = [] if fixes else [f"{case.obstacles}: no fix"]
    tried = 0
    for fix in fixes:
        complaints += (f"{case.obstacles}: {fix['summary']} {said}" for said in _complaints(case, fix))
        for what, documents in smaller_documents(case.documents, fix):
            tried += 1
            if helps(documents, case, may_evict="RaisePriority" in fix["parts"]):
                complaints.append(f"{case.obstacles}: {fix['summary']} helps as well {what}")
    return Judgement(case, fixes, complaints, tried)


def fixes_of(case: PendingPod) -> list[Document]:
    """The fixes of the pod, or of one that its workload has made, as a program gets them."""
    outcome = Outcome(case.documents, case)
    assert not outcome.is_scheduled, case.obstacles
    pod = outcome.pods[-1] if case.workload is not None else POD
    found = find_fixes(Simulation.load(*deepcopy(case.documents), validate="lenient"), pod)
    decoded: list[Document] = json.loads(json.dumps([fix.to_dict() for fix in found]))
    return decoded


def _complaints(case: PendingPod, fix: Document) -> Iterator[str]:
    outcome = Outcome(applied(case.documents, fix), case)
    if not outcome.is_scheduled:
        yield "does not help"
    if outcome.harmed and "RaisePriority" not in fix["parts"]:
        yield f"harms {outcome.harmed}"
    preempted = {each.pod for each in outcome.result.preempted}
    if preempted != set(fix["evicts"]):
        yield f"preempts {preempted} instead of {fix['evicts']}"
