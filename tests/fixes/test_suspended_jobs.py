# SPDX-License-Identifier: Apache-2.0
"""A suspended Job has its pods deleted: such a pod is explained by that, and the first fix is to resume the Job."""

from __future__ import annotations

from copy import deepcopy

from tests.fixes.applying import applied
from tests.fixes.clusters import a_node, of_kind
from tests.fixes.test_fixes_of_live_clusters import Document, live_fixes
from tests.fixes.test_jobs_that_begin_again import PENDING, a_job

from steersman import explain
from steersman.api import codec
from steersman.explain.fixes import FixKind, ObjectDeletion, find_fixes
from steersman.scheduler.diagnosis import CauseCode
from steersman.simulation import Simulation

RESUMED = {"spec": {"suspend": False}}


def _documents(cpu: str = "8", succeeded: int = 0) -> list[Document]:
    """A node of this size, and a suspended Job of a pod that asks for 6."""
    return [codec.to_dict(a_node("n1", cpu).obj()), *a_job({"succeeded": succeeded}, suspend=True)]


def test_the_job_is_resumed_in_place() -> None:
    fix = of_kind(list(find_fixes(Simulation.load(*_documents()), PENDING)), FixKind.RESUME_JOB)
    assert fix.summary == "Resume Job work: it goes to n1."
    assert [patch.merge_patch for patch in fix.patches] == [RESUMED]
    assert fix.commands == ("""kubectl patch --type=merge -p '{"spec":{"suspend":false}}' -- job work""",)
    assert (fix.delete, fix.create, fix.evicts) == ((), (), ())


def test_an_api_server_is_asked_to_do_the_same() -> None:
    fix = of_kind(live_fixes(_documents(), pod=PENDING), FixKind.RESUME_JOB)
    assert [patch.merge_patch for patch in fix.patches] == [RESUMED]
    assert (fix.delete, fix.create) == ((), ())


def test_other_changes_go_with_it() -> None:
    documents = _documents("4")
    fixes = list(find_fixes(Simulation.load(*deepcopy(documents)), PENDING))
    lowered = next(fix for fix in fixes if FixKind.REQUESTS in fix.parts)
    assert lowered.parts == (FixKind.REQUESTS, FixKind.RESUME_JOB, FixKind.RECREATE)
    assert all(FixKind.RESUME_JOB in fix.parts for fix in fixes)
    for fix in fixes:
        result = Simulation.load(*applied(documents, fix.to_dict())).run()
        assert {placement.node for placement in result.placements.values()} == {fix.node}


def test_a_job_whose_template_changes_is_written_again_and_resumed() -> None:
    fixes = live_fixes(_documents("4", succeeded=3), pod=PENDING)
    fix = next(fix for fix in fixes if FixKind.REQUESTS in fix.parts)
    assert fix.delete == (ObjectDeletion("Job", "default", "work"),)
    [job] = fix.create
    assert job["spec"]["suspend"] is False
    assert fix.summary.endswith("restart Job work, so that 3 completions are lost: it goes to n1.")


def test_a_pod_that_was_deleted_is_explained() -> None:
    loaded = Simulation.load(*_documents())
    ended = loaded.fork()
    ended.run()
    answer = explain.explain_pod(ended, PENDING, explain.ExplainOptions(loaded=loaded))
    assert answer.cause.code is CauseCode.SUSPENDED
    assert answer.cause.sentence == (
        "The pod is not in the cluster: its Job work is suspended, and the pods of a suspended Job are deleted."
    )
    assert [fix.kind for fix in answer.fixes or ()] == [FixKind.RESUME_JOB]


def test_a_pod_that_has_not_been_deleted_yet_is_explained() -> None:
    loaded = Simulation.load(*_documents("4"))
    answer = explain.explain_pod(loaded, PENDING, explain.ExplainOptions(loaded=loaded, is_live=True))
    assert answer.cause.code is CauseCode.SUSPENDED
    assert answer.cause.sentence.startswith("The pod will be deleted: its Job work is suspended")
    assert "Otherwise: " in answer.cause.sentence
    assert answer.state is explain.PodState.PENDING
