# SPDX-License-Identifier: Apache-2.0
"""What is sent to an API server, and how pods are seen that come back from it. Requests are tested end to end."""

from __future__ import annotations

from steersman import api
from steersman.testing import make_pod
from steersman.testing.bench.api_server_host import PodWatcher, overlaid
from steersman.testing.bench.templates import Draft, named

Seen = tuple[str | None, str | None]


def test_fields_that_steersman_does_not_read_are_sent_as_the_template_has_them() -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "pod-"},
        "spec": {"hostname": "web", "containers": [{"name": "main", "image": "pause", "command": ["sleep"]}]},
    }
    pod = api.Pod(
        metadata=api.ObjectMeta(generate_name="pod-"), spec=api.PodSpec(containers=(api.Container(name="main"),))
    )
    sent = overlaid(Draft(named(pod, namespace="a"), document))
    assert sent["metadata"] == {"generateName": "pod-", "namespace": "a"}
    assert sent["spec"] == document["spec"]


def test_what_an_operation_changed_goes_before_the_template() -> None:
    document = {"kind": "Node", "status": {"capacity": {"cpu": "1"}, "phase": "Running"}, "spec": {"taints": [1, 2]}}
    node = api.Node(
        spec=api.NodeSpec(taints=(api.Taint(key="k"),)), status=api.NodeStatus(capacity={"cpu": "4", "pods": "9"})
    )
    sent = overlaid(Draft(node, document))
    assert sent["status"] == {"capacity": {"cpu": "4", "pods": "9"}, "phase": "Running"}
    assert [taint["key"] for taint in sent["spec"]["taints"]] == ["k"]


class Ear:
    """Remembers pods, as the scheduler's ear does."""

    def __init__(self) -> None:
        self.pods: dict[str, api.Pod] = {}

    def expect(self, kind: type[api.Object], count: int) -> None:
        """Nothing to prepare."""

    def changed(self, obj: api.Object) -> None:
        if isinstance(obj, api.Pod):
            self.pods[api.key(obj)] = obj

    def deleted(self, obj: api.Object) -> None:
        self.pods.pop(api.key(obj), None)


def test_listeners_see_pods_as_they_were_and_as_they_are_until_they_stop() -> None:
    ear = Ear()
    watcher = PodWatcher(ear, ear.pods)
    seen: list[Seen] = []

    def node_of(pod: api.Pod | None) -> str | None:
        return None if pod is None else pod.spec.node_name

    stop = watcher.listen(lambda old, new: seen.append((node_of(old), node_of(new))))
    pending, bound = make_pod("p").obj(), make_pod("p").node("n").obj()
    watcher.changed(api.Node())
    watcher.changed(pending)
    watcher.changed(bound)
    watcher.deleted(bound)
    stop()
    watcher.changed(pending)
    assert seen == [(None, ""), ("", "n"), ("n", None)]
