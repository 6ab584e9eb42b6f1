# SPDX-License-Identifier: Apache-2.0
"""Whatever pods, policies and failures there are: what kubelets write is a history that a real cluster could have.

Random pods run on two nodes while pods are deleted and nodes crash, reboot, recover and are drained. Everything that was
written is then looked at, and a store without documents must have gone the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.kubelets.kubelet_world import KubeletWorld

from steersman import api
from steersman.api import timestamps
from steersman.cluster.kubelets import KubeletPolicy, PodSettings, PolicyRule, drain
from steersman.cluster.store import Commit, Pods
from steersman.testing import PodBuilder, make_node, make_pod

NODES = ("n1", "n2")
TERMINAL = ("Succeeded", "Failed")
LEGAL = {
    "Pending": {"Pending", "Running", *TERMINAL},
    "Running": {"Running", *TERMINAL},
    "Succeeded": {"Succeeded"},
    "Failed": {"Failed"},
}
LONGEST_GRACE = 40

# -- what is drawn -----------------------------------------------------------------------------------------------------

times = st.sampled_from([None, 0, 1, 7, "20s", "uniform(0, 50)", "exponential(mean=15)"])
codes = st.sampled_from([None, (0,), (1,), (1, 0), (3, 3, 0)])
readiness = st.sampled_from([None, 0, 5, "never", "uniform(1, 30)"])
pod_settings = st.builds(
    PodSettings,
    start_seconds=times,
    image_pull_seconds=times,
    init_seconds=times,
    run_seconds=times,
    exit_codes=codes,
    ready_after_seconds=readiness,
    stop_seconds=times,
)
policies = st.builds(
    lambda seed, pods, special: KubeletPolicy(
        seed=seed,
        pods=pods,
        rejects_unfit_pods=False,
        reboot_seconds=25,
        rules=(PolicyRule(pods=special, selector=api.LabelSelector(match_labels={"special": "yes"})),),
    ),
    st.integers(0, 3),
    pod_settings,
    pod_settings,
)


@st.composite
def pods(draw: st.DrawFn, name: str) -> PodBuilder:
    pod = make_pod(name).uid(f"uid-{name}").restart_policy(draw(st.sampled_from(["Always", "OnFailure", "Never"])))
    for _ in range(draw(st.integers(1, 3))):
        pod = pod.req(cpu="1m")
    for kind in draw(st.lists(st.sampled_from(["init", "sidecar"]), max_size=2)):
        pod = pod.init_req(cpu="1m") if kind == "init" else pod.sidecar_req(cpu="1m")
    if draw(st.booleans()):
        pod = pod.label("special", "yes")
    if draw(st.integers(0, 4)) == 0:
        pod = pod.active_deadline(draw(st.integers(1, 60)))
    if draw(st.integers(0, 4)) == 0:
        pod = pod.readiness_gate("example.com/gate")
    if draw(st.booleans()):
        container = draw(st.sampled_from(pod.obj().spec.containers)).name
        pod = pod.annotation(f"steersman.dev/run-seconds.{container}", str(draw(st.integers(0, 20))))
        pod = pod.annotation(f"steersman.dev/exit-codes.{container}", draw(st.sampled_from(["0", "1", "2,0"])))
    return pod


class Step(NamedTuple):
    seconds: int
    act: str
    target: int


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from([0, 1, 3, 11, 60, 400]),
        st.sampled_from(["wait", "delete", "shorten", "crash", "recover", "reboot", "drain", "open gate"]),
        st.integers(0, 3),
    ),
    max_size=8,
)


class Story(NamedTuple):
    pods: list[PodBuilder]
    policy: KubeletPolicy
    steps: list[Step]


stories = st.builds(Story, st.tuples(*(pods(name) for name in "abcd")).map(list), policies, steps)

# -- what is done ------------------------------------------------------------------------------------------------------


class World(KubeletWorld):
    """Plays a story; `samples` has what could be seen after each step."""

    def __init__(self, story: Story, *, keeps_documents: bool) -> None:
        nodes = [make_node(name).capacity(cpu="8", memory="32Gi", pods="110") for name in NODES]
        super().__init__(policy=story.policy, keeps_documents=keeps_documents, nodes=nodes)
        self.commits: list[Commit] = []
        self.samples: list[dict[str, object]] = []
        self._version = int(self.store.resource_version)
        self._now = 0
        for number, pod in enumerate(story.pods):
            self.run(pod, NODES[number % 2])
        for step in story.steps:
            self._play(step)
        for node in NODES:
            self.kubelets.recover(node)
        self._wait(LONGEST_GRACE)

    def run(self, pod: PodBuilder, node: str = "n1") -> api.Pod:
        """With the uid of the builder, by which durations are drawn."""
        name = self.store.create(pod.obj()).metadata.name
        return Pods(self.store).bind("default", name, "", node)

    def _play(self, step: Step) -> None:
        name, node = f"default/{'abcd'[step.target]}", NODES[step.target % 2]
        acts: dict[str, Callable[[], object]] = {
            "wait": lambda: None,
            "delete": lambda: self._delete(name, None),
            "shorten": lambda: self._delete(name, 3),
            "crash": lambda: self.kubelets.crash(node),
            "recover": lambda: self.kubelets.recover(node),
            "reboot": lambda: self.kubelets.reboot(node),
            "drain": lambda: drain(self.store, node),
            "open gate": lambda: self._open_gate(name),
        }
        acts[step.act]()
        self._wait(step.seconds)

    def _delete(self, name: str, grace: int | None) -> None:
        if self.store.find(api.Pod, name) is not None:
            Pods(self.store).delete(name, grace_period_seconds=grace)

    def _open_gate(self, name: str) -> None:
        if self.store.find(api.Pod, name) is not None:
            Pods(self.store).patch_status(name, condition=api.Condition(type="example.com/gate", status="True"))

    def _wait(self, seconds: int) -> None:
        self._now += seconds
        self.pass_time(self._now)
        self.commits += self.store.commits_since(self._version)
        self._version = int(self.store.resource_version)
        self.samples.append({name: _seen(pod) for name, pod in self.store.objects(api.Pod).items()})

    def histories(self) -> Iterator[list[Commit]]:
        by_name: dict[str, list[Commit]] = {}
        for commit in self.commits:
            obj = commit.new or commit.old
            if isinstance(obj, api.Pod):
                by_name.setdefault(obj.metadata.name, []).append(commit)
        yield from by_name.values()


def _seen(pod: api.Pod) -> object:
    ready = [condition.status for condition in pod.status.conditions if condition.type == "Ready"]
    return pod.status.phase, ready or ["False"], pod.metadata.deletion_timestamp


# -- what must hold ----------------------------------------------------------------------------------------------------


@examples(100)
@given(stories)
def test_what_kubelets_write_is_a_legal_history(story: Story) -> None:
    world = World(story, keeps_documents=True)
    for history in world.histories():
        _check_statuses([commit.new for commit in history if isinstance(commit.new, api.Pod)])
        _check_documents([commit.document["status"] for commit in history if commit.document is not None])
    for pod in world.store.objects(api.Pod).values():
        assert pod.metadata.deletion_timestamp is None


@examples(75)
@given(stories)
def test_a_store_without_documents_goes_the_same_way(story: Story) -> None:
    documented, plain = World(story, keeps_documents=True), World(story, keeps_documents=False)
    assert plain.samples == documented.samples
    for history in plain.histories():
        _check_statuses([commit.new for commit in history if isinstance(commit.new, api.Pod)])


def test_the_same_story_is_written_twice_in_the_same_words() -> None:
    policy = KubeletPolicy(pods=PodSettings(run_seconds="exponential(mean=9)", exit_codes=(1, 0)))
    story = Story([make_pod(name).req(cpu="1m") for name in "abcd"], policy, [Step(400, "wait", 0)])
    first, second = ([commit.document for commit in World(story, keeps_documents=True).commits] for _ in range(2))
    assert first == second


def _check_statuses(history: list[api.Pod]) -> None:
    for old, new in pairwise(history):
        before, after = old.status, new.status
        assert after.phase in LEGAL[before.phase], (before.phase, after.phase)
        assert before.start_time in (None, after.start_time)
        assert before.pod_ip in ("", after.pod_ip)
        _check_restarts(before.container_statuses, after.container_statuses)
        _check_restarts(before.init_container_statuses, after.init_container_statuses)
        _check_transitions(before.conditions, after.conditions)
    for pod in history:
        _check_conditions(pod)


def _check_restarts(before: tuple[api.ContainerStatus, ...], after: tuple[api.ContainerStatus, ...]) -> None:
    counts = {status.name: status.restart_count for status in after}
    assert all(status.restart_count <= counts[status.name] for status in before)


def _check_transitions(before: tuple[api.Condition, ...], after: tuple[api.Condition, ...]) -> None:
    known = {condition.type: condition for condition in after}
    for condition in before:
        now = known[condition.type]
        if now.status == condition.status:
            assert now.last_transition_time == condition.last_transition_time
        assert (condition.type, now.status) != ("Initialized", "False") or condition.status == "False"


def _check_conditions(pod: api.Pod) -> None:
    told = {condition.type: condition.status for condition in pod.status.conditions}
    assert len(told) == len(pod.status.conditions)
    if told.get("Ready") == "True":
        assert (told["ContainersReady"], told["Initialized"], pod.status.phase) == ("True", "True", "Running")
    if told.get("ContainersReady") == "True":
        assert pod.status.phase == "Running"
    if pod.status.phase == "Running":
        assert told["Initialized"] == "True"


def _check_documents(history: list[dict[str, Any]]) -> None:
    for status in history:
        containers = status.get("containerStatuses", [])
        for container in (*containers, *status.get("initContainerStatuses", [])):
            _check_container(container)
        states = [container["state"] for container in containers]
        if status["phase"] in TERMINAL and containers:
            exit_codes = [state.get("terminated", {}).get("exitCode", math.nan) for state in states]
            assert (status["phase"] == "Succeeded") == all(code == 0 for code in exit_codes)
        if status["phase"] == "Pending":
            assert not any("running" in state for state in states)
        told = {condition["type"]: condition["status"] for condition in status.get("conditions", ())}
        if told.get("ContainersReady") == "True":
            assert all(container["ready"] for container in containers)


def _check_container(container: dict[str, Any]) -> None:
    (kind,) = container["state"]
    assert not container["ready"] or kind == "running" or container["name"].startswith("init")
    for state in (container["state"], container.get("lastState", {})):
        if "terminated" in state:
            ended = state["terminated"]
            assert timestamps.parse(ended["startedAt"]) <= timestamps.parse(ended["finishedAt"])
    if container["restartCount"]:
        assert "terminated" in container["lastState"] or kind == "terminated"
