# SPDX-License-Identifier: Apache-2.0
"""Objects that arrive: when, with which run times, and that generators do not disturb each other."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml
from tests.scenario.scenarios import a_job, a_node, a_pod, a_scenario, arriving

from steersman import api
from steersman.simulation.scenario import Scenario, ScenarioResult, load_scenario, run_scenario
from steersman.simulation.scenario.generators import Made

RUN_SECONDS = "steersman.dev/run-seconds"


def objects(generator: dict[str, Any], seed: int = 0, folder: Path | None = None) -> list[tuple[float, Made]]:
    scenario = Scenario(a_scenario(generators=[generator], stop={"after": 10**8}), str(folder or "."))
    (prepared,) = scenario.prepared().generators
    return list(prepared.objects(seed))


def times(generator: dict[str, Any], seed: int = 0) -> list[float]:
    return [at for at, _ in objects(generator, seed)]


def with_arrivals(arrivals: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {**arriving(**parts), "arrivals": arrivals}


def test_arrivals_of_a_poisson_process_have_its_rate_and_differ_by_seed() -> None:
    found = times(arriving(per_hour=3600, count=4000))
    assert 0.95 < found[-1] / 4000 < 1.05
    assert found == sorted(found)
    assert found != times(arriving(per_hour=3600, count=4000), seed=1)
    assert found == times(arriving(per_hour=3600, count=4000))


def test_arrivals_begin_and_end_when_they_are_to() -> None:
    found = times(arriving(per_hour=3600, since="1m", until="2m"))
    assert found[0] > 60
    assert found[-1] < 120


def test_bursts_come_at_once_and_again() -> None:
    found = times(with_arrivals({"bursts": {"every": "1m", "size": 3}}, count=8))
    assert found == [0, 0, 0, 60, 60, 60, 120, 120]
    spread = times(with_arrivals({"bursts": {"every": "1m", "size": 3, "spread": "10s"}}, count=6))
    assert all(at < 10 for at in spread[:3])
    assert all(60 <= at < 70 for at in spread[3:])


def test_a_day_curve_follows_the_time_of_day() -> None:
    curve = {"perHour": {"08:00": 0, "12:00": 400, "16:00": 0}, "begins": "06:00"}
    found = times(with_arrivals({"day": curve}, until=86400))
    hours = [6 + at / 3600 for at in found]
    assert all(8 <= hour <= 16 for hour in hours)
    assert 1400 < len(found) < 1800
    assert 11.5 < fmean(hours) < 12.5


def test_a_recording_is_replayed_in_the_order_of_time(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("when,cores,took\n1m,500m,30\n10,2,1h\n")
    replay = {"file": "trace.csv", "time": "when", "runTime": "took", "requests": {"cpu": "cores"}}
    found = objects(with_arrivals({"replay": replay}), folder=tmp_path)
    assert [at for at, _ in found] == [10, 60]
    pods = [made for _, made in found if isinstance(made, api.Pod)]
    assert [pod.spec.containers[0].resources.requests["cpu"] for pod in pods] == ["2", "500m"]
    assert [pod.metadata.annotations[RUN_SECONDS] for pod in pods] == ["3600.000", "30.000"]


def test_a_recording_gives_jobs_their_requests(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("time,cores\n5,3\n")
    replay = {"file": "trace.csv", "requests": {"cpu": "cores"}}
    ((_, job),) = objects(with_arrivals({"replay": replay}, template=a_job()), folder=tmp_path)
    assert isinstance(job, api.Job)
    assert job.spec.template["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "3"}


def test_run_times_are_drawn_for_each_object(tmp_path: Path) -> None:
    drawn = [
        float(made.metadata.annotations[RUN_SECONDS])
        for _, made in objects(arriving(count=2000, runTime="exponential(mean=60)"))
    ]
    assert 54 < fmean(drawn) < 66
    (tmp_path / "times.csv").write_text("seconds\n10\n1m\n")
    samples = arriving(count=200, runTime={"file": "times.csv"})
    found = {made.metadata.annotations[RUN_SECONDS] for _, made in objects(samples, folder=tmp_path)}
    assert found == {"10.000", "60.000"}


def test_jobs_hand_their_run_time_to_their_pods() -> None:
    ((_, job),) = objects(arriving(count=1, template=a_job(), runTime=5))
    assert isinstance(job, api.Job)
    assert job.spec.template["metadata"]["annotations"] == {RUN_SECONDS: "5.000"}


def test_another_generator_changes_nothing_about_the_first() -> None:
    first, second = arriving("a", count=50, runTime="uniform(1, 9)"), arriving("b", count=70, runTime="uniform(1, 9)")
    roomy = [a_node("n1", cpu="1000")]
    alone = run_scenario(a_scenario(cluster=roomy, generators=[first]))
    both = run_scenario(a_scenario(cluster=roomy, generators=[second, first]))
    assert _fates(alone, "default/a-") == _fates(both, "default/a-")
    assert len(_fates(both, "default/b-")) == 70


def _fates(result: ScenarioResult, prefix: str) -> dict[str, tuple[float | None, str]]:
    pods = result.simulation.cluster.objects(api.Pod)
    return {
        key: (placement.at, pods[key].metadata.annotations[RUN_SECONDS])
        for key, placement in result.placements.items()
        if key.startswith(prefix)
    }


@pytest.mark.parametrize("template", [a_pod(), a_job()], ids=["pods", "jobs"])
def test_what_arrives_runs_and_completes(template: dict[str, Any]) -> None:
    result = run_scenario(a_scenario(generators=[arriving(count=20, template=template, runTime=30)]))
    assert result.numbers["completed"] == 20
    assert result.milestones[0].text == "batch has made 20 objects, the last one now"


def test_a_template_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(a_pod("worker")))
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(a_scenario(generators=[{**arriving(count=2), "template": "pod.yaml"}])))
    assert set(run_scenario(load_scenario(path)).placements) == {"default/worker-0", "default/worker-1"}
