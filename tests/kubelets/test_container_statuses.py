# SPDX-License-Identifier: Apache-2.0
"""Statuses of containers and pods as a kubelet writes them, where clients may read them."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from tests.embedded.stores import START
from tests.kubelets.kubelet_world import KubeletWorld

from steersman import api
from steersman.cluster.kubelets import DEFAULT_POLICY, KubeletPolicy, PodSettings, behaviour
from steersman.cluster.kubelets.containers import waiting_records
from steersman.cluster.kubelets.pod_sync import sync_pod
from steersman.cluster.store import Pods
from steersman.simulation import Simulation
from steersman.testing import PodBuilder, make_node, make_pod

NEVER = "Never"
ON_FAILURE = "OnFailure"


def web(restart_policy: str = "Always", **annotations: str) -> PodBuilder:
    """A pod with the annotations `run_seconds="30"` stand for."""
    built = make_pod("web").image("nginx").restart_policy(restart_policy)
    for name, text in annotations.items():
        built = built.annotation(f"steersman.dev/{name.replace('_', '-')}", text)
    return built


def test_a_running_pod_has_all_that_kubectl_shows() -> None:
    world = KubeletWorld()
    world.run(web())
    status = world.status()
    assert world.shown() == "1/1 Running 0"
    assert (status["hostIP"], status["podIP"], status["podIPs"]) == ("172.16.0.1", "10.0.0.1", [{"ip": "10.0.0.1"}])
    assert (status["startTime"], status["qosClass"]) == ("2031-01-01T00:00:00Z", "BestEffort")
    container = world.container()
    assert container["state"] == {"running": {"startedAt": "2031-01-01T00:00:00Z"}}
    assert (container["image"], container["started"], container["ready"]) == ("nginx", True, True)
    assert container["containerID"].startswith("containerd://")
    assert container["imageID"].startswith("sha256:")


def test_conditions_come_in_the_order_of_the_kubelet() -> None:
    world = KubeletWorld()
    world.run(web())
    assert list(world.conditions()) == [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    assert set(world.conditions().values()) == {"True"}


def test_a_pod_is_being_created_while_it_starts() -> None:
    world = KubeletWorld(policy=KubeletPolicy(pods=PodSettings(start_seconds=3)))
    world.run(web())
    assert world.shown() == "0/1 ContainerCreating 0"
    assert world.condition("Ready") == api.Condition(
        type="Ready",
        status="False",
        reason="ContainersNotReady",
        message="containers with unready status: [con0]",
        observed_generation=1,
        last_transition_time="2031-01-01T00:00:00Z",
    )
    assert world.conditions()["PodReadyToStartContainers"] == "False"
    assert "podIP" not in world.status()
    world.pass_time(3)
    assert world.shown() == "1/1 Running 0"
    assert world.container()["state"]["running"]["startedAt"] == "2031-01-01T00:00:03Z"


def test_images_are_pulled_once_per_node() -> None:
    world = KubeletWorld(policy=KubeletPolicy(pods=PodSettings(image_pull_seconds=10)))
    world.run(web())
    world.pass_time(9)
    assert world.pod().status.phase == "Pending"
    world.pass_time(10)
    assert world.pod().status.phase == "Running"
    assert world.run(make_pod("second").image("nginx")).status.phase == "Running"
    assert world.run(make_pod("third").image("redis")).status.phase == "Pending"


def test_a_pod_that_is_done_is_completed() -> None:
    world = KubeletWorld()
    world.run(web(ON_FAILURE, run_seconds="30"))
    world.pass_time(30)
    assert world.shown() == "0/1 Completed 0"
    assert world.pod().status.phase == "Succeeded"
    assert world.container()["state"]["terminated"] == {
        "exitCode": 0,
        "reason": "Completed",
        "startedAt": "2031-01-01T00:00:00Z",
        "finishedAt": "2031-01-01T00:00:30Z",
        "containerID": world.container()["containerID"],
    }
    assert world.condition("Ready").reason == "PodCompleted"
    assert world.condition("Initialized").reason == "PodCompleted"
    assert world.conditions()["PodReadyToStartContainers"] == "False"


def test_a_pod_that_is_not_restarted_fails() -> None:
    world = KubeletWorld()
    world.run(web(NEVER, run_seconds="30", exit_codes="3"))
    world.pass_time(30)
    assert world.shown() == "0/1 Error 0"
    assert world.pod().status.phase == "Failed"
    assert world.pod().status.container_statuses[0].state == api.ContainerState(
        terminated=api.ContainerStateTerminated(exit_code=3, reason="Error")
    )
    assert world.condition("Ready").reason == "PodFailed"


@pytest.mark.parametrize("keeps_documents", [True, False])
def test_exit_codes_are_there_for_controllers_in_every_store(keeps_documents: bool) -> None:
    world = KubeletWorld(keeps_documents=keeps_documents)
    world.run(web(NEVER, run_seconds="30", exit_codes="3"))
    world.pass_time(30)
    state = world.pod().status.container_statuses[0].state
    assert state is not None
    assert state.terminated is not None
    assert (world.pod().status.phase, state.terminated.exit_code) == ("Failed", 3)


def test_a_container_that_fails_is_restarted_at_once_and_then_backs_off() -> None:
    world = KubeletWorld()
    world.run(web(run_seconds="5", exit_codes="1"))
    world.pass_time(5)
    assert world.shown() == "1/1 Running 1"
    assert world.container()["lastState"]["terminated"]["exitCode"] == 1
    world.pass_time(10)
    assert world.shown() == "0/1 CrashLoopBackOff 1"
    uid = world.pod().metadata.uid
    assert world.container()["state"]["waiting"]["message"] == (
        f"back-off 10s restarting failed container=con0 pod=web_default({uid})"
    )
    assert world.conditions()["Ready"] == "False"
    assert world.pod().status.phase == "Running"
    world.pass_time(20)
    assert world.shown() == "1/1 Running 2"


def test_back_offs_double_up_to_five_minutes() -> None:
    world = KubeletWorld()
    world.run(web(run_seconds="0", exit_codes="1"))
    restarts, moments = 0, list[int]()
    for second in range(1500):
        world.pass_time(second)
        if world.container()["restartCount"] > restarts:
            restarts = world.container()["restartCount"]
            moments.append(second)
    pauses = [after - before for before, after in pairwise(moments)]
    assert pauses == [10, 20, 40, 80, 160, 300, 300, 300]


def test_a_container_may_succeed_after_failures() -> None:
    world = KubeletWorld()
    world.run(web(ON_FAILURE, run_seconds="5", exit_codes="1,2,0"))
    world.pass_time(100)
    assert (world.pod().status.phase, world.shown()) == ("Succeeded", "0/1 Completed 2")
    assert world.container()["lastState"]["terminated"]["exitCode"] == 2


def test_a_simulation_does_not_wait_for_a_pod_that_crashes_forever() -> None:
    sim = Simulation.load(make_node("n1").obj(), web(run_seconds="5", exit_codes="1").obj())
    result = sim.run()
    assert result.stopped == ""
    pod = sim.cluster.get(api.Pod, "default/web")
    assert pod.status.container_statuses[0].restart_count == 1


def test_one_container_of_two_may_fail() -> None:
    world = KubeletWorld()
    pod = make_pod("web").container(name="app").container(name="log").annotation("steersman.dev/run-seconds.log", "5")
    world.run(pod.annotation("steersman.dev/exit-codes.log", "1"))
    world.pass_time(12)
    assert world.shown() == "1/2 CrashLoopBackOff 1"
    assert world.condition("ContainersReady").message == "containers with unready status: [log]"
    assert "running" in world.container(0)["state"]


def test_readiness_may_take_time() -> None:
    world = KubeletWorld()
    world.run(web(ready_after_seconds="7"))
    assert world.shown() == "0/1 Running 0"
    world.pass_time(7)
    assert world.shown() == "1/1 Running 0"
    assert world.condition("Ready").last_transition_time == "2031-01-01T00:00:07Z"


def test_a_pod_may_never_be_ready() -> None:
    world = KubeletWorld()
    world.run(web(ready_after_seconds="never"))
    world.pass_time(10_000)
    assert (world.shown(), world.timers.is_idle) == ("0/1 Running 0", True)


def test_an_annotation_that_is_written_later_counts() -> None:
    world = KubeletWorld()
    pod = world.run(web())
    annotated = msgspec.structs.replace(pod.metadata, annotations={"steersman.dev/ready-after-seconds": "never"})
    world.store.update(msgspec.structs.replace(pod, metadata=annotated))
    assert world.shown() == "0/1 Running 0"


@pytest.mark.parametrize("keeps_documents", [True, False])
def test_a_pod_with_a_readiness_gate_is_ready_when_the_gate_is_open(keeps_documents: bool) -> None:
    world = KubeletWorld(keeps_documents=keeps_documents)
    world.run(web().readiness_gate("example.com/lb"))
    assert world.conditions()["ContainersReady"] == "True"
    assert world.condition("Ready").message == (
        'corresponding condition of pod readiness gate "example.com/lb" does not exist.'
    )
    pods = Pods(world.store)
    pods.patch_status("default/web", condition=api.Condition(type="example.com/lb", status="False"))
    assert 'is not "True", but False' in world.condition("Ready").message
    pods.patch_status("default/web", condition=api.Condition(type="example.com/lb", status="True"))
    assert world.conditions()["Ready"] == "True"


def test_init_containers_run_one_after_the_other() -> None:
    world = KubeletWorld(policy=KubeletPolicy(pods=PodSettings(init_seconds=10)))
    world.run(make_pod("web").req(cpu="1").init_req(cpu="1").init_req(cpu="1"))
    first, second = world.status()["initContainerStatuses"]
    assert "running" in first["state"]
    assert second["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert world.conditions()["Initialized"] == "False"
    world.pass_time(10)
    assert world.status()["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert world.pod().status.phase == "Pending"
    world.pass_time(20)
    assert world.shown() == "1/1 Running 0"
    assert world.conditions()["Initialized"] == "True"


def test_a_sidecar_runs_beside_the_pod_and_ends_with_it() -> None:
    world = KubeletWorld()
    world.run(make_pod("web").req(cpu="1").sidecar_req(cpu="1").annotation("steersman.dev/run-seconds", "9"))
    (sidecar,) = world.status()["initContainerStatuses"]
    assert (sidecar["ready"], sidecar["started"]) == (True, True)
    world.pass_time(9)
    assert world.pod().status.phase == "Succeeded"
    (sidecar,) = world.status()["initContainerStatuses"]
    assert "terminated" in sidecar["state"]


@pytest.mark.parametrize(("restart_policy", "phase"), [(NEVER, "Failed"), (ON_FAILURE, "Pending")])
def test_an_init_container_may_fail(restart_policy: str, phase: str) -> None:
    world = KubeletWorld()
    pod = make_pod("web").req(cpu="1").init_req(cpu="1").restart_policy(restart_policy)
    name = pod.obj().spec.init_containers[0].name
    world.run(pod.annotation(f"steersman.dev/exit-codes.{name}", "1"))
    world.pass_time(5)
    assert world.pod().status.phase == phase
    assert world.conditions()["Initialized"] == "False"


@pytest.mark.parametrize("keeps_documents", [True, False])
def test_a_pod_that_is_active_for_too_long_fails(keeps_documents: bool) -> None:
    world = KubeletWorld(keeps_documents=keeps_documents)
    world.run(web().active_deadline(60))
    world.pass_time(59)
    assert world.pod().status.phase == "Running"
    world.pass_time(60)
    status = world.pod().status
    assert (status.phase, status.reason) == ("Failed", "DeadlineExceeded")
    assert status.message == "Pod was active on the node longer than the specified deadline"


def test_stopping_takes_as_long_as_the_policy_says_but_no_longer_than_the_grace_period() -> None:
    world = KubeletWorld(policy=KubeletPolicy(pods=PodSettings(stop_seconds=10)))
    world.run(web())
    Pods(world.store).delete("default/web", grace_period_seconds=30)
    assert world.shown() == "1/1 Terminating 0"
    world.pass_time(9)
    assert world.exists()
    world.pass_time(10)
    assert not world.exists()
    world.run(web())
    Pods(world.store).delete("default/web", grace_period_seconds=5)
    world.pass_time(15)
    assert not world.exists()


@pytest.mark.parametrize(("stop_seconds", "phase", "code"), [("1", "Succeeded", 0), ("99", "Failed", 137)])
def test_a_stopped_pod_is_written_about_before_it_goes(stop_seconds: str, phase: str, code: int) -> None:
    world = KubeletWorld()
    world.run(web(stop_seconds=stop_seconds))
    Pods(world.store).delete("default/web", grace_period_seconds=30)
    world.pass_time(30)
    *_, last, gone = world.store.commits_since(1)
    assert (gone.type, world.exists()) == ("DELETED", False)
    assert isinstance(last.new, api.Pod)
    assert last.document is not None
    assert last.new.status.phase == phase
    assert last.document["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code


def test_events_tell_the_story_of_a_pod() -> None:
    world = KubeletWorld()
    world.run(web(run_seconds="5", exit_codes="1"))
    world.pass_time(11)
    Pods(world.store).delete("default/web", grace_period_seconds=30)
    started = ["Pulled", "Created", "Started"]
    assert [reason for reason, _ in world.events] == [*started, *started, "BackOff", "Killing"]
    assert world.events[0][1] == 'Container image "nginx" already present on machine'


def test_fields_that_clients_wrote_stay_in_the_document() -> None:
    world = KubeletWorld()
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {
            "containers": [{"name": "c", "image": "nginx", "env": [{"name": "A", "value": "b"}]}],
            "nodeName": "n1",
        },
    }
    world.store.create(api.codec.convert(document, api.Pod), document)
    whole = world.store.document(api.Pod, "default/web")
    assert whole["spec"]["containers"][0]["env"] == [{"name": "A", "value": "b"}]
    assert whole["status"]["phase"] == "Running"


def test_kubelets_that_start_again_go_on_where_documents_say_they_were() -> None:
    world = KubeletWorld()
    world.run(web(run_seconds="5", exit_codes="1"))
    world.pass_time(12)
    before = world.status()
    again = KubeletWorld(nodes=[])
    for kind in (api.Node, api.Pod):
        for name, obj in world.store.objects(kind).items():
            again.store.create(obj, world.store.document(kind, name))
    assert again.status() == before
    again.pass_time(20)
    assert again.shown() == "1/1 Running 2"


def test_a_pod_with_guaranteed_resources_says_so() -> None:
    world = KubeletWorld()
    same = {"cpu": "1", "memory": "1Gi"}
    assert world.run(make_pod("web").container(requests=same, limits=same)).status.qos_class == "Guaranteed"
    assert world.run(make_pod("other").req(cpu="1")).status.qos_class == "Burstable"


@pytest.mark.parametrize(("owner", "is_background"), [("ReplicaSet", True), ("DaemonSet", True), ("Job", False)])
def test_the_deadline_of_a_pod_that_its_controller_replaces_keeps_no_simulation_going(
    owner: str, is_background: bool
) -> None:
    pod = web().owner(owner, "owner").active_deadline(5).obj()
    sync = sync_pod(pod, behaviour(DEFAULT_POLICY, pod), waiting_records(pod), START, START)
    assert (sync.wake, sync.is_background) == (START + 5, is_background)
