# SPDX-License-Identifier: Apache-2.0
"""CronJobs: which jobs they make, and when."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.controllers.batch_cluster import TestCluster

from steersman import api
from steersman.api import codec
from steersman.cluster.controllers.cron_jobs import CronJobController

_replace = msgspec.structs.replace
#: 2031-01-01T00:01:00Z in minutes.
FIRST = 32083201


class CronWorld(TestCluster):
    """A cluster with one CronJob; the test says when its jobs end."""

    def __init__(self, *, keeps_documents: bool = False, **spec: Any) -> None:
        super().__init__(keeps_documents=keeps_documents)
        CronJobController(self.cluster)
        containers = [{"name": "main", "image": "busybox", "env": [{"name": "A", "value": "b"}]}]
        template = {"spec": {"restartPolicy": "Never", "containers": containers}}
        job_template = {"metadata": {"labels": {"app": "tick"}}, "spec": {"template": template}}
        document = {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "tick", "namespace": "default"},
            "spec": {"schedule": "* * * * *", "jobTemplate": job_template, **spec},
        }
        self.store.create(codec.convert_object(document), document if keeps_documents else None)
        self.run()

    @property
    def cron_job(self) -> api.CronJob:
        return self.store.get(api.CronJob, "default/tick")

    @property
    def jobs(self) -> list[int]:
        """The minutes in the names of the jobs, from the first."""
        return [int(name.rpartition("-")[2]) - FIRST for name in self.names(api.Job)]

    def finish(self, minute: int, outcome: str = "Complete") -> None:
        job = self.store.get(api.Job, f"default/tick-{FIRST + minute}")
        now = self.store.timestamp()
        condition = api.JobCondition(type=outcome, status="True", last_transition_time=now)
        status = api.JobStatus(conditions=(condition,), completion_time=now, start_time=now)
        self.store.update_status(_replace(job, status=status))

    def change(self, **spec: Any) -> None:
        self.store.update(_replace(self.cron_job, spec=_replace(self.cron_job.spec, **spec)))


def test_a_job_is_made_at_every_scheduled_time() -> None:
    world = CronWorld()
    world.run(59)
    assert world.jobs == []
    world.run(61)
    assert world.jobs == [0]
    world.run(121)
    assert world.jobs == [0, 1]
    status = world.cron_job.status
    assert [reference.name for reference in status.active] == [f"tick-{FIRST}", f"tick-{FIRST + 1}"]
    assert status.last_schedule_time == "2031-01-01T00:02:00Z"
    assert world.reasons == ["SuccessfulCreate", "SuccessfulCreate"]


def test_a_job_is_what_the_template_says() -> None:
    world = CronWorld(keeps_documents=True, timeZone="Europe/Berlin")
    world.run(61)
    (job,) = world.store.objects(api.Job).values()
    assert job.metadata.labels == {"app": "tick"}
    assert job.metadata.annotations == {
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2031-01-01T01:01:00+01:00",
    }
    (owner,) = job.metadata.owner_references
    assert (owner.kind, owner.name, owner.controller) == ("CronJob", "tick", True)
    document = world.store.document(api.Job, api.key(job))
    assert document["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "b"}]


def test_finished_jobs_are_no_longer_active() -> None:
    world = CronWorld()
    world.run(70)
    world.finish(0)
    world.run(80)
    status = world.cron_job.status
    assert status.active == ()
    assert status.last_successful_time == "2031-01-01T00:01:10Z"
    assert world.reasons[-1] == "SawCompletedJob"


def test_a_job_that_runs_may_forbid_the_next() -> None:
    world = CronWorld(concurrencyPolicy="Forbid")
    world.run(185)
    assert world.jobs == [0]
    assert "JobAlreadyActive" in world.reasons
    world.finish(0)
    world.run(186)
    assert world.jobs == [0, 2]


def test_a_job_that_runs_may_be_replaced_by_the_next() -> None:
    world = CronWorld(concurrencyPolicy="Replace")
    world.run(125)
    assert world.jobs == [1]
    assert [reference.name for reference in world.cron_job.status.active] == [f"tick-{FIRST + 1}"]


def test_finished_jobs_beyond_the_limit_are_deleted() -> None:
    world = CronWorld(successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)
    for minute in range(3):
        world.run(61 + 60 * minute)
        world.finish(minute, "Failed" if minute == 1 else "Complete")
    world.run(190)
    assert world.jobs == [2]


def test_a_suspended_cron_job_makes_none() -> None:
    world = CronWorld(suspend=True)
    world.run(300)
    assert world.jobs == []
    world.change(suspend=False)
    world.run(305)
    assert world.jobs == [4]


def test_a_time_that_was_missed_by_too_much_is_left_out() -> None:
    world = CronWorld(suspend=True, schedule="0 * * * *", startingDeadlineSeconds=30)
    world.run(3640)
    world.change(suspend=False)
    world.run(3700)
    assert world.jobs == []
    world.run(7201)
    assert world.jobs == [119]


def test_another_schedule_counts_from_now_on() -> None:
    world = CronWorld(schedule="0 0 1 1 *")
    world.run(30)
    world.change(schedule="*/2 * * * *")
    world.run(130)
    assert world.jobs == [1]


def test_a_schedule_that_cannot_be_read_is_reported() -> None:
    world = CronWorld(schedule="every day")
    world.run(100)
    assert world.jobs == []
    assert world.events[0].reason == "UnparseableSchedule"


def test_an_unknown_zone_is_reported() -> None:
    world = CronWorld(timeZone="Mars/Olympus")
    assert world.reasons == ["UnknownTimeZone"]


def test_a_job_that_is_deleted_is_missed() -> None:
    world = CronWorld()
    world.run(61)
    world.store.delete(api.Job, f"default/tick-{FIRST}")
    world.run(62)
    assert world.cron_job.status.active == ()
    assert world.reasons[-1] == "MissingJob"
