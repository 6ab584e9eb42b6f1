# SPDX-License-Identifier: Apache-2.0
"""What a scheduler left behind on the API server, without what differs between any two runs: times, uids, versions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from steersman.testing.control_plane import JsonObject, KubeClient, condition

_MASKED: Final = ("uid", "resourceVersion")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIMES: Final = ("lastProbeTime", "lastTransitionTime")
UNTRIED: Final = "untried"
"""Label of pods that a scheduler must leave alone: nothing is written about them."""
OTHER_SCHEDULER: Final = "somebody-else"
"""A scheduler that does not run: a test binds its pods itself, and there is no event."""


@dataclass(frozen=True)
class Picture:
    """Plain data, so that two pictures compare with `==` and a failing test shows the difference."""

    #: By name: node, scheduler, gates, nominated node, conditions, whether it is being deleted.
    pods: dict[str, JsonObject]
    #: Sorted; repetitions of an event are one event, however often it was repeated.
    events: list[JsonObject]
    #: By name: annotations, volume and phase.
    claims: dict[str, JsonObject]
    #: By name: annotations and claim.
    volumes: dict[str, JsonObject]
    #: PodGroups and CompositePodGroups by kind and name: conditions, and whether they are being deleted.
    groups: dict[str, JsonObject]

    def scheduled(self, pod: str) -> JsonObject:
        """The condition PodScheduled, empty when there is none."""
        return condition({"status": {"conditions": self.pods[pod]["conditions"]}}, "PodScheduled") or {}

    def node(self, pod: str) -> str:
        node: str = self.pods[pod]["node"]
        return node

    def message(self, pod: str) -> str:
        message: str = self.scheduled(pod).get("message", "")
        return message

    def events_of(self, pod: str) -> list[JsonObject]:
        return [event for event in self.events if event["regarding"].get("name") == pod]

    def decided(self) -> bool:
        """Every pod has a node, a node that it waits for, or a reason why not; and what a scheduler bound has its event. Else a
        slow machine would show a picture that is not finished."""
        return all(self._is_decided(name) for name in self.pods)

    def _is_decided(self, name: str) -> bool:
        pod, found = self.pods[name], self.scheduled(name)
        if pod["node"]:
            by_scheduler = found.get("status") == "True" and pod["scheduler"] != OTHER_SCHEDULER
            return not by_scheduler or self._has_binding_event(name)
        if found.get("reason") == "SchedulingGated" and not pod["gates"]:
            return False
        return bool(pod["nominated"] or pod["conditions"] or pod["untried"])

    def _has_binding_event(self, name: str) -> bool:
        return any(event["reason"] == "Scheduled" and _regarded(event) == name for event in self.events)


def scheduling_events(admin: KubeClient, namespace: str = "") -> list[JsonObject]:
    """Events about anything but Services: the API server reports, at any moment, that it repairs the address of its own."""
    return [e for e in admin.list("events.k8s.io/Event", namespace) if e["regarding"]["kind"] != "Service"]


def picture(admin: KubeClient) -> Picture:
    events = {json.dumps(_event(event), sort_keys=True) for event in scheduling_events(admin)}
    return Picture(
        pods={_name(pod): _pod(pod) for pod in admin.list("Pod")},
        events=[json.loads(event) for event in sorted(events)],
        claims={_name(claim): _claim(claim) for claim in admin.list("PersistentVolumeClaim")},
        volumes={_name(volume): _volume(volume) for volume in admin.list("PersistentVolume")},
        groups={
            f"{kind} {_name(group)}": _group(group)
            for kind in ("PodGroup", "CompositePodGroup")
            if admin.serves(kind)
            for group in admin.list(kind)
        },
    )


def _name(obj: JsonObject) -> str:
    """Namespaced when it is not of the default one."""
    meta = obj["metadata"]
    namespace = meta.get("namespace", "default")
    return str(meta["name"]) if namespace == "default" else f"{namespace}/{meta['name']}"


def _regarded(event: JsonObject) -> str:
    """The name of the pod that an event is about, as in `Picture.pods`."""
    return _name({"metadata": event["regarding"]})


def _pod(pod: JsonObject) -> JsonObject:
    return {
        "node": pod["spec"].get("nodeName", ""),
        "scheduler": pod["spec"]["schedulerName"],
        "gates": [gate["name"] for gate in pod["spec"].get("schedulingGates", ())],
        "nominated": pod["status"].get("nominatedNodeName", ""),
        "conditions": [_without(found, _TIMES) for found in pod["status"].get("conditions", ())],
        "deleted": "deletionTimestamp" in pod["metadata"],
        "phase": pod["status"]["phase"],
        "untried": UNTRIED in pod["metadata"].get("labels", ()),
    }


def _event(event: JsonObject) -> JsonObject:
    plain = _without(event, ("metadata", "eventTime", "series", "deprecatedCount"))
    plain["name"] = event["metadata"]["name"].rpartition(".")[0]
    plain["note"] = _UID.sub("…", event.get("note", ""))
    plain["namespace"] = event["metadata"]["namespace"]
    for place in ("regarding", "related"):
        if place in plain:
            plain[place] = {field: "…" if field in _MASKED else value for field, value in plain[place].items()}
    return plain


def _claim(claim: JsonObject) -> JsonObject:
    annotations = claim["metadata"].get("annotations", {})
    return {
        "annotations": annotations,
        "volume": claim["spec"].get("volumeName", ""),
        "phase": claim["status"].get("phase", ""),
    }


def _volume(volume: JsonObject) -> JsonObject:
    reference = volume["spec"].get("claimRef", {})
    return {
        "annotations": volume["metadata"].get("annotations", {}),
        "claim": {field: "…" if field in _MASKED else value for field, value in reference.items()},
    }


def _group(group: JsonObject) -> JsonObject:
    status = group.get("status", {})
    return {
        **status,
        "conditions": [_without(found, _TIMES) for found in status.get("conditions", ())],
        "deleted": "deletionTimestamp" in group["metadata"],
    }


def _without(obj: JsonObject, fields: tuple[str, ...]) -> JsonObject:
    return {field: value for field, value in obj.items() if field not in fields}
