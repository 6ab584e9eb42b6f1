# SPDX-License-Identifier: Apache-2.0
"""A registration that can never fire is refused when the profile is built, and the error names the plugin."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from steersman.framework import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EnqueueExtensions,
    EventResource,
    FilterPlugin,
    NodeInfo,
    PodInfo,
)
from steersman.framework.watching import WATCHED_KINDS
from steersman.scheduler.runtime import PluginError
from steersman.scheduler.runtime.event_registrations import events_by_resource, registrations
from steersman.testing import Harness, make_namespace, make_node, make_pod

EVENTS = events_by_resource(WATCHED_KINDS)


class Registers(EnqueueExtensions):
    name = "Registers"

    def __init__(self, *events: ClusterEvent) -> None:
        self._events = events

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return [ClusterEventWithHint(event) for event in self._events]


def refusal(resource: str, action: ActionType = ActionType.ALL) -> str:
    with pytest.raises(PluginError) as refused:
        registrations("Registers", Registers(ClusterEvent(resource, action)), EVENTS)
    return str(refused.value)


def test_a_core_kind_with_its_version_is_refused_and_put_right() -> None:
    expected = (
        'plugin "Registers": events_to_register(): there are no events of "v1/Namespace"; did you mean "Namespace"?'
    )
    assert refusal("v1/Namespace") == expected


def test_an_unwatched_kind_is_refused() -> None:
    assert "there are those of Pod, Namespace, Node, Service," in refusal("example.com/Rate")


def test_an_action_that_never_happens_to_a_kind_is_refused() -> None:
    assert refusal("Service", ActionType.UPDATE_NODE_LABEL) == (
        'plugin "Registers": events_to_register(): UPDATE_NODE_LABEL never happens to "Service"; '
        "its actions are ADD, DELETE, UPDATE"
    )
    assert "NONE never happens" in refusal(EventResource.NODE, ActionType.NONE)


@pytest.mark.parametrize(
    ("resource", "action"),
    [
        ("Namespace", ActionType.UPDATE),
        ("apps/ReplicaSet", ActionType.DELETE),
        (EventResource.POD, ActionType.UPDATE_POD_LABEL),
        (EventResource.ASSIGNED_POD, ActionType.DELETE),
        (EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT),
        (EventResource.CSI_NODE, ActionType.ADD),
        (EventResource.WILDCARD, ActionType.ALL),
    ],
)
def test_what_happens_can_be_registered_for(resource: str, action: ActionType) -> None:
    assert len(registrations("Registers", Registers(ClusterEvent(resource, action)), EVENTS)) == 1


def test_what_is_no_registration_is_shown() -> None:
    class Wrong(EnqueueExtensions):
        def events_to_register(self) -> Iterable[ClusterEventWithHint]:
            return [ClusterEvent("Node", ActionType.ADD)]  # type: ignore[list-item]

    with pytest.raises(PluginError, match=r'plugin "Wrong": events_to_register\(\) returned ClusterEvent\(.*expected'):
        registrations("Wrong", Wrong(), EVENTS)


def test_a_plugin_that_raises_is_named_with_the_place() -> None:
    class Broken(EnqueueExtensions):
        def events_to_register(self) -> Iterable[ClusterEventWithHint]:
            raise KeyError("Rate")

    with pytest.raises(PluginError) as refused:
        registrations("Broken", Broken(), EVENTS)
    text = str(refused.value)
    assert text.startswith("plugin \"Broken\": events_to_register() raised KeyError: 'Rate' (")
    assert "test_registrations.py, line " in text
    assert text.endswith("in events_to_register)")


class QuietNamespaces(FilterPlugin, EnqueueExtensions):
    """Rejects the pods of namespaces that are labelled quiet."""

    name = "QuietNamespaces"
    quiet = True

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
        return not self.quiet

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return [ClusterEventWithHint(ClusterEvent("Namespace", ActionType.UPDATE))]


def test_an_event_of_a_namespace_wakes_the_pod_that_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness(plugins=[QuietNamespaces], nodes=[make_node("n")])
    harness.add(make_namespace("shop").obj())
    harness.add(make_pod("web").namespace("shop"))
    harness.run()
    monkeypatch.setattr(QuietNamespaces, "quiet", False)

    harness.add(make_namespace("shop").label("open", "yes").obj())

    assert [decision.pod.key for decision in harness.run()] == ["shop/web"]


def test_new_pods_without_a_node_requeue_no_pods_as_in_kube_scheduler() -> None:
    text = refusal(EventResource.UNSCHEDULABLE_POD, ActionType.ADD)
    assert text.startswith(
        'plugin "Registers": events_to_register(): ADD never happens to "UnschedulablePod"; its actions'
    )
