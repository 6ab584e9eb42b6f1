# SPDX-License-Identifier: Apache-2.0
"""Extenders are shown objects as the server wrote them, also what the scheduler does not read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steersman import api, config
from steersman.api import codec
from steersman.kube.client import RawObjects

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "uid": "u1", "managedFields": [{"manager": "kubectl"}]},
    "spec": {"containers": [{"name": "main", "env": [{"name": "A", "value": "b"}]}], "serviceAccountName": "robot"},
}
FILTER = config.Extender(url_prefix="http://extender", filter_verb="filter", node_cache_capable=True)


def decoded(document: dict[str, Any]) -> tuple[api.Pod, bytes]:
    text = json.dumps(document).encode()
    return codec.decode(text, api.Pod), text


def test_a_pod_is_shown_with_all_its_fields_but_those_of_its_managers() -> None:
    raw_objects = RawObjects([FILTER])
    pod, text = decoded(POD)
    raw_objects.remember(pod, text)

    shown = json.loads(bytes(raw_objects.shown(pod)))

    assert shown["spec"] == POD["spec"]
    assert shown["metadata"] == {"name": "web", "namespace": "default", "uid": "u1"}


def test_a_pod_that_was_never_seen_raw_is_shown_as_far_as_it_is_known() -> None:
    pod, _ = decoded(POD)

    shown = json.loads(bytes(RawObjects().shown(pod)))

    assert shown["metadata"]["name"] == "web"
    assert "env" not in shown["spec"]["containers"][0]


def test_a_pod_that_has_a_node_is_not_kept() -> None:
    raw_objects = RawObjects([FILTER])
    pod, text = decoded(POD)
    raw_objects.remember(pod, text)
    bound, bound_text = decoded({**POD, "spec": {**POD["spec"], "nodeName": "n1"}})  # type: ignore[dict-item]
    raw_objects.remember(bound, bound_text)

    assert "env" not in json.loads(bytes(raw_objects.shown(bound)))["spec"]["containers"][0]


def test_a_pod_that_has_a_node_is_kept_for_extenders_that_see_victims_whole() -> None:
    raw_objects = RawObjects([config.Extender(url_prefix="http://extender", preempt_verb="preempt")])
    bound, text = decoded({**POD, "spec": {**POD["spec"], "nodeName": "n1"}})  # type: ignore[dict-item]
    raw_objects.remember(bound, text)

    assert json.loads(bytes(raw_objects.shown(bound)))["spec"]["serviceAccountName"] == "robot"


@pytest.mark.parametrize(
    ("extender", "kinds"),
    [
        (FILTER, {api.Pod}),
        (config.Extender(url_prefix="http://extender", prioritize_verb="prioritize"), {api.Pod, api.Node}),
        (config.Extender(url_prefix="http://extender", bind_verb="bind"), set()),
    ],
)
def test_only_what_is_shown_is_kept(extender: config.Extender, kinds: set[type[api.Object]]) -> None:
    raw_objects = RawObjects([extender])

    assert {kind for kind in (api.Pod, api.Node) if raw_objects.keeps(kind)} == kinds
