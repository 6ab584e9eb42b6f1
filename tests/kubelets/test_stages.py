# SPDX-License-Identifier: Apache-2.0
"""Stages of KWOK as policies of simulated kubelets. `stages.yaml` has the shape of the stages that KWOK ships."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.embedded.stores import START
from tests.kubelets.kubelet_world import KubeletWorld

from steersman.api import timestamps
from steersman.base.errors import InputError
from steersman.cluster.kubelets import KubeletPolicy, load_policy
from steersman.cluster.store import Pods
from steersman.testing import PodBuilder, make_pod

STAGES = Path(__file__).with_name("stages.yaml")
DELAY = "pod-complete.stage.kwok.x-k8s.io/delay"


def stage(template: str = "phase: Succeeded", name: str = "complete", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {"resourceRef": {"kind": "Pod"}, "selector": {}, "next": {"statusTemplate": template}, **spec},
    }


def stages(*documents: dict[str, Any]) -> KubeletPolicy:
    return load_policy({"apiVersion": "v1", "kind": "List", "items": list(documents)})


def pod_with_container(name: str = "web") -> PodBuilder:
    return make_pod(name).req(cpu=1)


def job_pod(name: str = "web") -> PodBuilder:
    return pod_with_container(name).owner("Job", "work").restart_policy("Never")


def ran_with(policy: KubeletPolicy, pod: PodBuilder, until: float = 1000.0) -> KubeletWorld:
    world = KubeletWorld(policy=policy)
    world.run(pod)
    world.pass_time(until)
    return world


def seconds_to_start(world: KubeletWorld, name: str = "web") -> float:
    started = world.container(name=name)["state"]["running"]["startedAt"]
    return timestamps.parse(started) - START


def test_the_delays_of_consecutive_stages_before_running_add_up() -> None:
    assert seconds_to_start(ran_with(load_policy(STAGES), pod_with_container())) == 3.0


def test_a_pod_that_no_stage_ends_runs_on() -> None:
    assert ran_with(load_policy(STAGES), pod_with_container()).pod().status.phase == "Running"


def test_a_stage_of_jobs_ends_their_pods_after_the_delay_in_an_annotation() -> None:
    world = ran_with(load_policy(STAGES), job_pod().annotation(DELAY, "30s"), until=32.0)
    assert world.pod().status.phase == "Running"
    world.pass_time(33.5)
    assert world.pod().status.phase == "Succeeded"


def test_a_deleted_pod_is_gone_after_the_delay_of_the_stage_that_deletes() -> None:
    world = ran_with(load_policy(STAGES), pod_with_container(), until=10.0)
    Pods(world.store).delete("default/web", grace_period_seconds=30)
    world.pass_time(10.9)
    assert world.exists()
    world.pass_time(11.1)
    assert not world.exists()


def test_a_failed_pod_has_the_exit_code_of_the_template() -> None:
    policy = stages(
        stage('{{ $now := Now }}\ncontainerStatuses:\n- state: {terminated: {exitCode: 3}}\nphase: "Failed"')
    )
    world = ran_with(policy, pod_with_container().restart_policy("Never"))
    assert world.pod().status.phase == "Failed"
    assert world.container()["state"]["terminated"]["exitCode"] == 3


@pytest.mark.parametrize(
    ("selector", "phase"),
    [
        ({"matchLabels": {"app": "batch"}}, "Succeeded"),
        ({"matchLabels": {"app": "web"}}, "Running"),
        ({"matchAnnotations": {"ends": "true"}}, "Succeeded"),
        (
            {"matchExpressions": [{"key": '.metadata.labels["app"]', "operator": "NotIn", "values": ["web"]}]},
            "Succeeded",
        ),
        ({"matchExpressions": [{"key": ".spec.containers.[].name", "operator": "In", "values": ["other"]}]}, "Running"),
        ({"matchExpressions": [{"key": ".spec.priorityClassName", "operator": "DoesNotExist"}]}, "Succeeded"),
        ({"matchExpressions": [{"jq": {"expression": ".spec.nodeName", "operator": "Exists"}}]}, "Succeeded"),
        (None, "Running"),
    ],
)
def test_selectors_choose_pods_by_labels_annotations_and_fields(selector: dict[str, Any] | None, phase: str) -> None:
    pod = pod_with_container().label("app", "batch").annotation("ends", "true").restart_policy("Never")
    assert ran_with(stages(stage(selector=selector)), pod).pod().status.phase == phase


def test_steps_with_patches_are_read_like_templates() -> None:
    steps = [{"patch": {"subresource": "status", "root": "status", "template": "phase: Succeeded"}}]
    policy = stages(stage(next=None, steps=steps))
    assert ran_with(policy, pod_with_container().restart_policy("Never")).pod().status.phase == "Succeeded"


def test_of_competing_stages_one_is_drawn_by_weight() -> None:
    heavy = stage("phase: Failed", name="fail", weight=10_000, delay={"durationMilliseconds": 1000})
    policy = stages(stage(weight=1), heavy)
    phases = [ran_with(policy, job_pod(f"p{number}")).pod(f"p{number}").status.phase for number in range(5)]
    assert phases == ["Failed"] * 5


def test_a_delay_is_drawn_between_the_duration_and_the_jitter_duration() -> None:
    delay = {"durationMilliseconds": 1000, "jitterDurationMilliseconds": 9000}
    policy = stages(stage("phase: Running", name="ready", delay=delay))
    drawn = {seconds_to_start(ran_with(policy, pod_with_container(name)), name) for name in ("a", "b", "c")}
    assert len(drawn) > 1
    assert all(1.0 <= seconds <= 9.0 for seconds in drawn)


def test_stages_of_nodes_are_accepted_because_simulated_nodes_are_ready() -> None:
    assert stages(stage(name="node-heartbeat", resourceRef={"kind": "Node"})).stages


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (stage(resourceRef={"kind": "Service"}), r"Stage complete: spec\.resourceRef\.kind: is not a stage of pods"),
        (stage(name="node-not-ready", resourceRef={"kind": "Node"}), r"use the annotation steersman\.dev/crash-at"),
        (stage("labels: {a: b}"), r"Stage complete: spec\.next: neither starts nor ends pods"),
        (
            stage("phase: Running", selector={"matchExpressions": [{"key": ".status.phase", "values": ["Running"]}]}),
            r"neither starts nor ends pods",
        ),
        (stage("phase: Sleeping"), r'is not a phase of pods \(got "Sleeping"\)'),
        (
            stage(selector={"matchExpressions": [{"key": ".spec.x", "operator": "Gt"}]}),
            r'is not supported \(got "Gt"\)',
        ),
        (
            stage(selector={"matchExpressions": [{"key": ".spec | length"}]}),
            r'is not a path \(got "\.spec \| length"\)',
        ),
        (stage(next={"finalizers": {"empty": True}}), "finalizers"),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, "ConfigMap: is not a Stage"),
    ],
)
def test_what_policies_cannot_express_is_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        stages(stage(), document)


def test_errors_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "stage.yaml"
    file.write_text(STAGES.read_text(encoding="utf-8").replace("phase: Succeeded", "phase: Gone"), encoding="utf-8")
    with pytest.raises(InputError, match=r"stage\.yaml: Stage pod-complete: spec\.next\.statusTemplate"):
        load_policy(file)


def test_a_policy_may_contain_stages_and_rules() -> None:
    header = {"apiVersion": "steersman.dev/v1", "kind": "KubeletPolicy"}
    policy = load_policy(
        {**header, "pods": {"startSeconds": 2}, "stages": [stage(delay={"durationMilliseconds": 500})]}
    )
    settings = policy.settings_for(job_pod().obj())
    assert (settings.start_seconds, settings.run_seconds, settings.exit_codes) == (2, 0.5, (0,))
