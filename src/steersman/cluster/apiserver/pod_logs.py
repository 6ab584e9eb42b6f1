# SPDX-License-Identifier: Apache-2.0
"""`pods/log`: simulated containers write one line at their start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from steersman.api import timestamps
from steersman.cluster.apiserver.lists import parsed_integer
from steersman.cluster.apiserver.requests import ApiAnswer
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.statuses import bad_request, invalid
from steersman.cluster.store import Document

TEXT: Final = "text/plain"
_COUNTS: Final = ("tailLines", "limitBytes", "sinceSeconds")
_TRUE: Final = ("true", "1")


def log_answer(pod: Document, query: Mapping[str, str], now: float) -> ApiAnswer:
    """Return the log of a container. Raises 400 and 422 as kube-apiserver and kubelet do."""
    name = pod["metadata"]["name"]
    counts = {field: parsed_integer(query[field]) for field in _COUNTS if query.get(field)}
    _check_counts(name, counts, query)
    container = _container(pod, query.get("container", ""))
    if not pod["spec"].get("nodeName"):
        return ApiAnswer(200, b"", TEXT)
    if query.get("previous") in _TRUE:
        raise bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
    started = _started(pod, container)
    since = now - counts["sinceSeconds"] if "sinceSeconds" in counts else _since(query)
    if counts.get("tailLines") == 0 or (since is not None and timestamps.parse(started) < since):
        return ApiAnswer(200, b"", TEXT)
    line = (
        f"container {container} of pod {pod['metadata'].get('namespace', '')}/{name} is simulated and writes no more\n"
    )
    line = f"{started} {line}" if query.get("timestamps") in _TRUE else line
    return ApiAnswer(200, line.encode()[: counts.get("limitBytes")], TEXT)


def _check_counts(name: str, counts: Mapping[str, int], query: Mapping[str, str]) -> None:
    least = {"tailLines": 0, "limitBytes": 1, "sinceSeconds": 1}
    problems = [
        f"{field}: Invalid value: {count}: must be greater than {'or equal to 0' if not least[field] else '0'}"
        for field, count in counts.items()
        if count < least[field]
    ]
    if query.get("sinceTime") and "sinceSeconds" in counts:
        problems.append("[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified")
    if problems:
        raise invalid(Resource("v1", "", "PodLogOptions"), name, problems)


def _container(pod: Document, wanted: str) -> str:
    """Return the name of the requested container; without a name, the pod's only container."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    main, init, ephemeral = (
        [one["name"] for one in spec.get(field) or ()]
        for field in ("containers", "initContainers", "ephemeralContainers")
    )
    if wanted and wanted not in (*main, *init, *ephemeral):
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    if wanted or (len(main) == 1 and not init and not ephemeral):
        return wanted or str(main[0])
    others = f" or one of the init containers: [{' '.join(init)}]" if init else ""
    choice = f"choose one of: [{' '.join((*main, *ephemeral))}]{others}"
    raise bad_request(f"a container name must be specified for pod {name}, {choice}")


def _started(pod: Document, container: str) -> str:
    """Return the start time of the container. Raises 400 if it has not started."""
    status: Document = pod.get("status") or {}
    fields = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    found: dict[str, Any] = {one["name"]: one for field in fields for one in status.get(field) or ()}
    state = (found.get(container) or {}).get("state") or {}
    for part in ("running", "terminated"):
        if (state.get(part) or {}).get("startedAt"):
            return str(state[part]["startedAt"])
    reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
    raise bad_request(f'container "{container}" in pod "{pod["metadata"]["name"]}" is waiting to start: {reason}')


def _since(query: Mapping[str, str]) -> float | None:
    return timestamps.parse(query["sinceTime"]) if query.get("sinceTime") else None
