# SPDX-License-Identifier: Apache-2.0
"""What can be done on the page of a sandbox: objects, files of whole clusters, a reset, and the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import yaml
from tests.web.looked_at import LookedAt

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.timing import Timing
from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.custom_resources import CustomResources
from steersman.cluster.apiserver.pages import Pages
from steersman.cluster.apiserver.reviews import Tokens
from steersman.cluster.apiserver.server import in_memory
from steersman.cluster.apiserver.service import ApiService
from steersman.cluster.apiserver.statuses import RequestRefused
from steersman.cluster.store import KubeAdmission, Store
from steersman.kube.serving.http import Answer
from steersman.sandbox.applied_configuration import AppliedConfiguration
from steersman.sandbox.clock_page import ClockPage
from steersman.sandbox.default_objects import DefaultObjects
from steersman.sandbox.object_templates import template_list, templates
from steersman.sandbox.scheduling import DrivenScheduler, ReplaceableScheduler
from steersman.sandbox.web import ConfigurationSource
from steersman.sandbox.web_actions import SandboxActions, SandboxClock
from steersman.scheduler.host import ScaledClock, SchedulingLoop
from steersman.testing import Harness, make_node, make_pod

NOTHING_WRITTEN = ConfigurationSource()

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "4", "pods": "10"}},
}
CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p1", "namespace": "default"},
    "spec": {"containers": [CONTAINER]},
}


def driven(harness: Harness, loop: SchedulingLoop) -> ReplaceableScheduler:
    """A scheduler that is never replaced."""
    scheduler = harness.scheduler
    fed_by = harness.cluster.subscribe(lambda *_: None, ())
    return ReplaceableScheduler(lambda _: DrivenScheduler(scheduler, loop, fed_by, ()), scheduler.options)


class Acting:
    """A store with its API, and the actions of its page."""

    def __init__(self) -> None:
        clock = ManualClock()
        self.store = Store(clock, admission=KubeAdmission(), keeps_documents=True, awaited_finalizers=None)
        self.catalog = Catalog([])
        customs = CustomResources(self.store, self.catalog)
        DefaultObjects(self.store, self.catalog, "PEM", 6443)
        tokens = Tokens(self.store, "secret")
        service = ApiService(self.store, self.catalog, customs, tokens, Pages(self.catalog, customs, "127.0.0.1:1"))
        harness = Harness()
        self.time = ScaledClock(real=lambda: 0.0)
        schedulers = driven(harness, SchedulingLoop(harness.scheduler, Timing(clock)))
        clock_page, configuration = (
            SandboxClock(self.time, ClockPage(self.time, schedulers.step)),
            AppliedConfiguration(schedulers, NOTHING_WRITTEN),
        )
        actions = SandboxActions(self.store, self.catalog, service, clock_page, configuration, in_memory)
        self.shown = LookedAt(harness, actions=actions.by_path())

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        data = body if isinstance(body, bytes) else (b"" if body is None else msgspec.json.encode(body))
        return self.shown.answer(path, method, data)

    def done(self, method: str, path: str, body: object = None) -> Any:
        answer = self.ask(method, path, body)
        assert answer.status < 300, answer.body
        return msgspec.json.decode(answer.body)

    def names(self, kind: type[api.Object]) -> set[str]:
        return set(self.store.objects(kind))


@pytest.fixture
def acting() -> Acting:
    return Acting()


PODS = "kube/api/v1/namespaces/default/pods"


def test_objects_are_those_of_the_kubernetes_api(acting: Acting) -> None:
    created = acting.done("POST", PODS, POD)
    assert created["metadata"]["uid"]
    assert acting.done("GET", f"{PODS}/p1")["spec"]["containers"][0]["name"] == "c"
    assert [item["metadata"]["name"] for item in acting.done("GET", PODS)["items"]] == ["p1"]
    assert acting.ask("DELETE", f"{PODS}/p1").status == 200
    assert acting.ask("GET", f"{PODS}/none").status == 404


def test_a_dry_run_changes_nothing(acting: Acting) -> None:
    assert acting.ask("POST", f"{PODS}?dryRun=All", POD).status == 201
    assert acting.names(api.Pod) == set()


def test_there_are_no_watches(acting: Acting) -> None:
    assert acting.ask("GET", f"{PODS}?watch=true").status == 400


@pytest.mark.parametrize("chosen", ["manifests", "simulator"])
def test_a_cluster_that_was_exported_can_be_imported(acting: Acting, chosen: str) -> None:
    acting.done("POST", "kube/api/v1/nodes", NODE)
    acting.done("POST", PODS, {**POD, "spec": {**POD["spec"], "nodeName": "n1"}})  # type: ignore[dict-item]
    uid = acting.store.get(api.Pod, "default/p1").metadata.uid
    exported = acting.ask("GET", f"export?format={chosen}")
    assert "attachment" in exported.headers["Content-Disposition"]
    other = Acting()
    result = other.done("POST", f"import?format={chosen}", exported.body)
    assert (result["created"], result["problems"]) == (2, [])
    assert other.store.get(api.Pod, "default/p1").spec.node_name == "n1"
    assert other.store.get(api.Pod, "default/p1").metadata.uid == uid
    again = other.done("POST", f"import?format={chosen}", exported.body)
    assert (again["created"], again["updated"]) == (0, 2)


def test_what_is_not_in_the_file_goes_with_replace(acting: Acting) -> None:
    acting.done("POST", "kube/api/v1/nodes", {**NODE, "metadata": {"name": "old"}})
    acting.done("POST", "import?replace=true", yaml.safe_dump(NODE).encode())
    assert acting.names(api.Node) == {"n1"}


def test_one_bad_object_does_not_stop_the_others(acting: Acting) -> None:
    bad = {"apiVersion": "example.com/v1", "kind": "Unknown", "metadata": {"name": "u"}}
    result = acting.done("POST", "import", yaml.safe_dump_all([bad, NODE]).encode())
    assert result["created"] == 1
    (problem,) = result["problems"]
    assert problem["object"] == "Unknown u"
    assert "CustomResourceDefinition" in problem["hint"]


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("import", b"", 422),
        ("import", b"a: [", 422),
        ("import?format=simulator", b"[]", 422),
        ("import?format=simulator", b'{"pods": 1}', 422),
        ("import?format=simulator", b'{"pods": [1]}', 422),
        ("import?format=tar", b"", 400),
    ],
)
def test_a_file_that_is_none_is_refused(acting: Acting, path: str, body: bytes, code: int) -> None:
    assert acting.ask("POST", path, body).status == code


def test_a_reset_leads_back_to_the_beginning(acting: Acting) -> None:
    namespaces = acting.names(api.Namespace)
    acting.done("POST", "kube/api/v1/nodes", NODE)
    acting.done("POST", PODS, POD)
    assert acting.done("POST", "reset")["deleted"] == 2
    assert (acting.names(api.Node), acting.names(api.Pod)) == (set(), set())
    assert acting.names(api.Namespace) == namespaces


def test_every_template_is_accepted(acting: Acting) -> None:
    """Each is created as it is, by the path that it names."""
    for template in template_list(acting.catalog).kinds:
        if (template.api_version, template.kind) in templates():
            path = template.path.replace("{namespace}", "default")
            answer = acting.ask("POST", f"{path}?dryRun=All&fieldValidation=Strict", yaml.safe_load(template.yaml))
            assert answer.status == 201, (template.kind, answer.body)


def test_templates_name_kinds_that_there_are(acting: Acting) -> None:
    kinds = {(template.api_version, template.kind) for template in template_list(acting.catalog).kinds}
    assert templates().keys() <= kinds


def test_the_clock_is_paused_and_resumed(acting: Acting) -> None:
    assert acting.done("GET", "clock")["paused"] is False
    assert acting.done("POST", "clock", {"paused": True})["paused"] is True
    assert acting.done("POST", "clock", {"speed": "60x"})["speed"] == "60x"
    assert acting.done("POST", "clock", {"paused": False})["paused"] is False


@pytest.mark.parametrize(
    "change",
    [{}, [], {"faster": 1}, {"paused": 1}, {"speed": "no"}, {"decisions": 0}, {"decisions": "1"}, {"step": True}],
)
def test_what_is_no_change_of_a_clock_is_refused(acting: Acting, change: object) -> None:
    answer = acting.ask("POST", "clock", change)
    assert answer.status == 400
    assert b"Traceback" not in answer.body


class Paused:
    """A scheduling loop with four pods in its queue, and a clock that pauses it."""

    def __init__(self) -> None:
        self.harness = Harness(nodes=[make_node("n").capacity(cpu="8", pods="10")])
        self.clock = ScaledClock(real=lambda: 0.0)
        timing = Timing(self.harness.cluster.clock)
        loop = SchedulingLoop(
            self.harness.scheduler, timing, pods_at_a_time=16, is_paused=lambda: self.clock.is_stopped
        )
        self.clock.attach(loop.wake)
        self.page = ClockPage(self.clock, driven(self.harness, loop).step)
        self._loop = loop
        for number in range(4):
            self.add(f"p{number}")

    def add(self, name: str) -> None:
        self.harness.add(make_pod(name).req(cpu="1"))

    def placed_after(self, *acts: Callable[[], object]) -> list[int]:
        """How many pods have a node after each act."""

        async def scenario() -> list[int]:
            running = asyncio.ensure_future(self._loop.run())
            counts = []
            for act in acts:
                act()
                for _ in range(20):
                    await asyncio.sleep(0)
                pods = self.harness.cluster.objects(api.Pod).values()
                counts.append(sum(bool(pod.spec.node_name) for pod in pods))
            running.cancel()
            await asyncio.wait((running,))
            return counts

        return asyncio.run(scenario())


def test_a_paused_clock_holds_decisions_however_it_was_paused() -> None:
    """By the page, by kubectl, or by a program: all of them pause the same clock."""
    paused = Paused()
    paused.clock.pause()
    assert paused.placed_after(lambda: paused.add("p4"), paused.clock.resume) == [0, 5]


def test_single_decisions_are_made_while_time_stands_still() -> None:
    paused = Paused()
    acts = (lambda: paused.page({"decisions": 1}), lambda: paused.page({"decisions": 2}))
    assert paused.placed_after(*acts) == [1, 3]
    assert paused.clock.is_paused


def test_a_step_that_finds_no_pod_is_not_kept_for_the_next_one() -> None:
    paused = Paused()
    acts = (lambda: paused.page({"decisions": 9}), lambda: paused.add("p4"), lambda: paused.page({"decisions": 1}))
    assert paused.placed_after(*acts) == [4, 4, 5]


def test_decisions_are_held_again_after_a_step_of_time() -> None:
    paused = Paused()
    acts = (
        lambda: paused.page({"paused": True}),
        lambda: paused.page({"step": 5}),
        lambda: paused.clock.jump(paused.clock.monotonic() + 5),
        lambda: paused.add("p4"),
    )
    assert paused.placed_after(*acts) == [0, 4, 4, 4]


def test_decisions_cannot_be_stepped_without_a_scheduler() -> None:
    with pytest.raises(RequestRefused, match="this sandbox has no scheduler"):
        ClockPage(ScaledClock(real=lambda: 0.0))({"decisions": 1})
