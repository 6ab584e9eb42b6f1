# SPDX-License-Identifier: Apache-2.0
"""Jobs: which pods they make, what they count, and how they end."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.controllers.batch_cluster import TestCluster

from steersman import api
from steersman.api import codec
from steersman.cluster.controllers.garbage_collector import GarbageCollector
from steersman.cluster.controllers.jobs import JobController, TtlAfterFinished
from steersman.cluster.store import Pods, delete
from steersman.cluster.store.finalizers import JOB_TRACKING, without_finalizer
from steersman.testing import make_pod

_replace = msgspec.structs.replace


class JobWorld(TestCluster):
    """A cluster with one job, the life of whose pods is up to the test."""

    def __init__(self, *, keeps_documents: bool = False, **spec: Any) -> None:
        super().__init__(keeps_documents=keeps_documents)
        JobController(self.cluster)
        TtlAfterFinished(self.cluster)
        GarbageCollector(self.cluster)
        containers = [{"name": "main", "image": "busybox"}]
        template = {"spec": {"restartPolicy": "Never", "containers": containers}}
        document = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "pi", "namespace": "default"},
            "spec": {"template": template, **spec},
        }
        self.store.create(codec.convert_object(document), document if keeps_documents else None)
        self.run()

    @property
    def job(self) -> api.Job:
        return self.store.get(api.Job, "default/pi")

    @property
    def status(self) -> api.JobStatus:
        return self.job.status

    @property
    def conditions(self) -> list[tuple[str, str, str]]:
        return [(known.type, known.status, known.reason) for known in self.status.conditions]

    @property
    def counts(self) -> tuple[int, int, int]:
        """active, succeeded, failed"""
        return self.status.active, self.status.succeeded, self.status.failed

    def pods(self, phase: str = "Pending") -> list[api.Pod]:
        return [pod for pod in self.store.objects(api.Pod).values() if pod.status.phase == phase]

    def finish(self, pod: api.Pod, phase: str = "Succeeded", exit_code: int | None = None, **status: Any) -> None:
        ready = api.Condition(type="Ready", status="False", last_transition_time=self.store.timestamp())
        state = api.ContainerState(terminated=api.ContainerStateTerminated(exit_code=exit_code or 0))
        statuses = (api.ContainerStatus(name="main", state=state),)
        current = self.store.get(api.Pod, api.key(pod))
        fields = {"conditions": (ready,), "container_statuses": statuses, **status}
        self.store.update_status(_replace(current, status=_replace(current.status, phase=phase, **fields)))

    def change(self, **spec: Any) -> None:
        self.store.update(_replace(self.job, spec=_replace(self.job.spec, **spec)))

    def wait(self, seconds: float) -> None:
        self.run(self.seconds + seconds)


def test_a_job_makes_one_pod_and_is_complete_when_it_has_succeeded() -> None:
    world = JobWorld()
    (pod,) = world.pods()
    assert pod.metadata.generate_name == "pi-"
    assert pod.metadata.finalizers == (JOB_TRACKING,)
    assert pod.metadata.labels["batch.kubernetes.io/job-name"] == "pi"
    assert world.counts == (1, 0, 0)
    assert world.status.start_time == "2031-01-01T00:00:00Z"
    world.wait(5)
    world.finish(pod)
    world.wait(1)
    assert world.counts == (0, 1, 0)
    assert world.conditions == [
        ("SuccessCriteriaMet", "True", "CompletionsReached"),
        ("Complete", "True", "CompletionsReached"),
    ]
    assert world.status.completion_time == "2031-01-01T00:00:06Z"
    assert world.status.uncounted_terminated_pods == api.UncountedTerminatedPods()
    assert (world.status.ready, world.status.terminating) == (0, 0)
    assert world.pods("Succeeded")[0].metadata.finalizers == ()
    assert world.reasons == ["SuccessfulCreate", "Completed"]


def test_parallelism_pods_run_at_a_time_until_the_completions_are_reached() -> None:
    world = JobWorld(parallelism=2, completions=3)
    assert len(world.pods()) == 2
    for _ in range(2):
        world.finish(world.pods()[0])
        world.wait(1)
    assert world.counts == (1, 2, 0)
    assert len(world.pods()) == 1
    world.finish(world.pods()[0])
    world.wait(1)
    assert world.conditions[-1] == ("Complete", "True", "CompletionsReached")


def test_without_completions_one_success_is_enough_and_the_others_may_end() -> None:
    world = JobWorld(parallelism=3)
    first, second, third = world.pods()
    world.finish(first)
    world.wait(1)
    assert world.counts == (2, 1, 0)
    world.finish(second)
    world.finish(third, "Failed")
    world.wait(1)
    assert world.counts == (0, 2, 1)
    assert world.conditions[-1][0] == "Complete"


def test_other_parallelism_makes_or_deletes_pods() -> None:
    world = JobWorld(parallelism=3, completions=9)
    world.change(parallelism=1)
    world.wait(3)
    assert world.counts == (1, 0, 0)
    assert len(world.pods()) == 1
    world.change(parallelism=4)
    world.wait(3)
    assert len(world.pods()) == 4


# -- failures ------------------------------------------------------------------------------------------------------------


def test_a_failed_pod_is_replaced_after_a_delay_that_doubles() -> None:
    world = JobWorld(backoffLimit=6)
    made = list[float]()
    for delay in (10, 20, 40):
        world.finish(world.pods()[0], "Failed")
        failed_at = world.seconds
        while not world.pods():
            world.wait(1)
        made.append(world.seconds - failed_at)
        assert made[-1] == delay
    assert world.status.failed == 3


def test_too_many_failures_fail_the_job() -> None:
    world = JobWorld(backoffLimit=1, parallelism=2, completions=2)
    for _ in range(2):
        world.finish(world.pods()[0], "Failed")
        world.wait(11)
    assert world.conditions == [
        ("FailureTarget", "True", "BackoffLimitExceeded"),
        ("Failed", "True", "BackoffLimitExceeded"),
    ]
    assert world.status.conditions[-1].message == "Job has reached the specified backoff limit"
    assert world.counts == (0, 0, 3)
    assert world.pods() == []
    assert world.events[-1].reason == "BackoffLimitExceeded"
    assert world.events[-1].is_warning


def test_a_failed_job_waits_for_pods_that_terminate() -> None:
    world = JobWorld(backoffLimit=0, parallelism=2, completions=2)
    failing, running = world.pods()
    Pods(world.store).bind("default", running.metadata.name, "", "n1")
    world.finish(failing, "Failed")
    world.wait(2)
    assert [kind for kind, _, _ in world.conditions] == ["FailureTarget"]
    assert world.status.terminating == 1
    world.store.delete(api.Pod, api.key(running))
    world.wait(2)
    assert [kind for kind, _, _ in world.conditions] == ["FailureTarget", "Failed"]


def test_deleted_pods_count_as_failed_and_are_replaced() -> None:
    world = JobWorld()
    Pods(world.store).delete(api.key(world.pods()[0]))
    world.wait(12)
    assert world.status.failed == 1
    assert len(world.pods()) == 1


def test_restarts_count_for_pods_that_restart_on_failure() -> None:
    containers = [{"name": "main", "image": "busybox"}]
    world = JobWorld(backoffLimit=2, template={"spec": {"restartPolicy": "OnFailure", "containers": containers}})
    restarted = (api.ContainerStatus(name="main", restart_count=2),)
    world.finish(world.pods()[0], "Running", container_statuses=restarted)
    world.wait(2)
    assert world.conditions[0] == ("FailureTarget", "True", "BackoffLimitExceeded")


def test_a_job_has_a_deadline() -> None:
    world = JobWorld(activeDeadlineSeconds=30)
    world.wait(29)
    assert world.conditions == []
    world.wait(3)
    assert world.conditions[-1] == ("Failed", "True", "DeadlineExceeded")
    assert world.pods() == []


@pytest.mark.parametrize(
    ("action", "expected"),
    [("FailJob", "Failed"), ("Ignore", ""), ("Count", "")],
)
def test_a_policy_says_what_failures_mean(action: str, expected: str) -> None:
    rule = {"action": action, "onExitCodes": {"operator": "In", "values": [42]}}
    world = JobWorld(podFailurePolicy={"rules": [rule]})
    name = world.pods()[0].metadata.name
    world.finish(world.pods()[0], "Failed", exit_code=42)
    world.wait(2)
    assert (world.conditions[-1][0] if world.conditions else "") == expected
    assert world.status.failed == (0 if action == "Ignore" else 1)
    if expected:
        assert world.status.conditions[-1].message == (
            f"Container main for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
        )
        assert world.conditions[-1][2] == "PodFailurePolicy"


def test_a_policy_may_look_at_conditions() -> None:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    world = JobWorld(backoffLimit=0, podFailurePolicy={"rules": [rule]})
    disrupted = (api.Condition(type="DisruptionTarget", status="True"),)
    world.finish(world.pods()[0], "Failed", exit_code=1, conditions=disrupted)
    world.wait(20)
    assert world.status.failed == 0
    assert len(world.pods()) == 1


def test_terminating_pods_are_replaced_at_once_or_when_they_have_failed() -> None:
    for policy, active in (("TerminatingOrFailed", 1), ("Failed", 0)):
        world = JobWorld(podReplacementPolicy=policy)
        pod = world.pods()[0]
        Pods(world.store).bind("default", pod.metadata.name, "", "n1")
        delete(world.store, api.Pod, api.key(pod))
        world.wait(15)
        assert (world.status.active, world.status.terminating) == (active, 1), policy


# -- indexes -------------------------------------------------------------------------------------------------------------


def test_indexed_pods_have_an_index_and_a_name_of_it() -> None:
    world = JobWorld(keeps_documents=True, completionMode="Indexed", completions=3, parallelism=2)
    pods = world.pods()
    assert [pod.metadata.generate_name for pod in pods] == ["pi-0-", "pi-1-"]
    index = "batch.kubernetes.io/job-completion-index"
    assert [pod.metadata.annotations[index] for pod in pods] == ["0", "1"]
    assert [pod.metadata.labels[index] for pod in pods] == ["0", "1"]
    spec = world.store.document(api.Pod, api.key(pods[1]))["spec"]
    assert spec["hostname"] == "pi-1"
    assert spec["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"


def test_indexes_that_succeeded_are_listed() -> None:
    world = JobWorld(completionMode="Indexed", completions=6, parallelism=6)
    for pod in world.pods()[1:5]:
        world.finish(pod)
    world.wait(1)
    assert (world.status.completed_indexes, world.status.succeeded) == ("1-4", 4)
    for pod in world.pods():
        world.finish(pod)
    world.wait(1)
    assert world.status.completed_indexes == "0-5"
    assert world.conditions[-1][0] == "Complete"


def test_an_indexed_job_grows_and_shrinks_with_completions_and_parallelism_together() -> None:
    world = JobWorld(completionMode="Indexed", completions=2, parallelism=2)
    world.finish(world.pods()[0])
    world.wait(1)
    world.change(completions=4, parallelism=4)
    world.wait(3)
    assert sorted(_index(pod) for pod in world.pods()) == [1, 2, 3]
    assert (world.counts, world.status.completed_indexes) == ((3, 1, 0), "0")
    world.change(completions=2, parallelism=2)
    world.wait(3)
    assert [_index(pod) for pod in world.pods()] == [1]
    assert (world.counts, world.status.completed_indexes) == ((1, 1, 0), "0")
    world.finish(world.pods()[0])
    world.wait(3)
    assert (world.status.completed_indexes, world.conditions[-1][0]) == ("0,1", "Complete")


def test_completed_indexes_beyond_the_completions_of_a_shrunk_job_do_not_count() -> None:
    world = JobWorld(completionMode="Indexed", completions=4, parallelism=4)
    for pod in world.pods()[2:]:
        world.finish(pod)
    world.wait(1)
    world.change(completions=3, parallelism=3)
    world.wait(3)
    assert (world.counts, world.status.completed_indexes) == ((2, 1, 0), "2")


def _index(pod: api.Pod) -> int:
    return int(pod.metadata.annotations["batch.kubernetes.io/job-completion-index"])


def test_a_failed_index_gets_another_pod() -> None:
    world = JobWorld(completionMode="Indexed", completions=2, parallelism=2)
    world.finish(world.pods()[1], "Failed")
    world.wait(12)
    assert sorted(pod.metadata.generate_name for pod in world.pods()) == ["pi-0-", "pi-1-"]
    assert world.status.failed == 1


def test_every_index_may_have_a_limit_of_its_own() -> None:
    world = JobWorld(completionMode="Indexed", completions=2, parallelism=2, backoffLimitPerIndex=1)
    for _ in range(2):
        failing = next(pod for pod in world.pods() if pod.metadata.generate_name == "pi-0-")
        world.finish(failing, "Failed")
        world.wait(30)
    assert world.status.failed_indexes == "0"
    assert world.status.failed == 2
    assert [pod.metadata.generate_name for pod in world.pods()] == ["pi-1-"]
    world.finish(world.pods()[0])
    world.wait(3)
    assert world.conditions[-1] == ("Failed", "True", "FailedIndexes")
    assert world.status.completed_indexes == "1"


def test_the_next_pod_of_an_index_knows_how_often_it_failed() -> None:
    world = JobWorld(completionMode="Indexed", completions=1, backoffLimitPerIndex=5)
    counts = list[str]()
    for _ in range(3):
        (pod,) = world.pods()
        counts.append(pod.metadata.annotations["batch.kubernetes.io/job-index-failure-count"])
        world.finish(pod, "Failed")
        world.wait(60)
    assert counts == ["0", "1", "2"]


def test_more_failed_indexes_than_allowed_fail_the_job() -> None:
    world = JobWorld(completionMode="Indexed", completions=5, parallelism=5, backoffLimitPerIndex=0, maxFailedIndexes=1)
    for pod in world.pods()[:2]:
        world.finish(pod, "Failed")
    world.wait(3)
    assert world.conditions[-1] == ("Failed", "True", "MaxFailedIndexesExceeded")


def test_a_success_policy_may_be_content_with_some_indexes() -> None:
    rules = [{"succeededIndexes": "0-1", "succeededCount": 1}]
    world = JobWorld(completionMode="Indexed", completions=3, parallelism=3, successPolicy={"rules": rules})
    world.finish(world.pods()[1])
    world.wait(3)
    assert world.conditions == [("SuccessCriteriaMet", "True", "SuccessPolicy"), ("Complete", "True", "SuccessPolicy")]
    assert world.status.conditions[-1].message == "Matched rules at index 0"
    assert world.pods() == []
    assert world.status.failed == 0


# -- suspension, deletion, others ----------------------------------------------------------------------------------------


def test_a_suspended_job_has_no_pods_and_starts_again_when_it_is_resumed() -> None:
    world = JobWorld(parallelism=2, completions=2)
    world.wait(5)
    world.change(suspend=True)
    world.wait(3)
    assert world.pods() == []
    assert world.conditions == [("Suspended", "True", "JobSuspended")]
    assert world.status.start_time is None
    assert world.counts == (0, 0, 0)
    world.wait(10)
    world.change(suspend=False)
    world.wait(3)
    assert world.conditions == [("Suspended", "False", "JobResumed")]
    assert world.status.start_time == "2031-01-01T00:00:18Z"
    assert len(world.pods()) == 2


def test_a_finished_job_goes_after_its_time_to_live() -> None:
    world = JobWorld(ttlSecondsAfterFinished=60)
    world.finish(world.pods()[0])
    world.wait(30)
    assert world.names(api.Job) == ["pi"]
    world.wait(40)
    assert (world.names(api.Job), world.names(api.Pod)) == ([], [])


def test_pods_of_a_deleted_job_go() -> None:
    world = JobWorld(parallelism=2, completions=2)
    delete(world.store, api.Job, "default/pi", propagation="Background")
    world.wait(3)
    assert world.names(api.Pod) == []


def test_orphaned_pods_lose_their_finalizer() -> None:
    world = JobWorld()
    delete(world.store, api.Job, "default/pi", propagation="Orphan")
    world.wait(3)
    (pod,) = world.pods()
    assert (pod.metadata.finalizers, pod.metadata.owner_references) == ((), ())


def _labelled(pod: api.Pod, labels: dict[str, str], owners: tuple[api.OwnerReference, ...]) -> api.Pod:
    return _replace(pod, metadata=_replace(pod.metadata, labels=labels, owner_references=owners))


def test_a_job_adopts_its_orphaned_pods_and_releases_pods_that_it_no_longer_selects() -> None:
    world = JobWorld(parallelism=2, completions=4)
    pod = world.pods()[0]
    name = api.key(pod)
    world.store.update(without_finalizer(_labelled(pod, pod.metadata.labels, ()), JOB_TRACKING))
    world.run(2)
    adopted = world.store.get(api.Pod, name)
    assert [owner.name for owner in adopted.metadata.owner_references] == ["pi"]
    assert adopted.metadata.finalizers == (JOB_TRACKING,)

    world.store.update(_labelled(adopted, {}, adopted.metadata.owner_references))
    world.run(4)
    released = world.store.get(api.Pod, name)
    assert (released.metadata.owner_references, released.metadata.finalizers) == ((), ())
    assert world.counts == (2, 0, 0), "a released pod is replaced"


def test_a_new_job_adopts_pods_that_its_own_selector_matches() -> None:
    world = JobWorld(parallelism=1)
    world.store.create(make_pod("older").label("run", "later").obj())
    template = world.job.spec.template
    spec = {"template": template, "selector": {"matchLabels": {"run": "later"}}, "manualSelector": True}
    metadata = {"name": "later", "namespace": "default"}
    later = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    world.store.create(codec.convert_object(later))
    world.run()
    assert world.store.get(api.Pod, "default/older").metadata.owner_references[0].name == "later"


def test_jobs_of_other_controllers_are_left_alone() -> None:
    world = JobWorld(managedBy="example.com/mine")
    assert world.names(api.Pod) == []


def test_a_large_job_is_counted_pod_by_pod() -> None:
    world = JobWorld(parallelism=1200, completions=1200)
    world.wait(10)
    assert world.status.active == 1200
    for pod in world.pods():
        world.finish(pod)
    world.wait(10)
    assert world.counts == (0, 1200, 0)
    assert world.conditions[-1][0] == "Complete"
