# SPDX-License-Identifier: Apache-2.0
"""Pod Security admission of requests: rejects pods, and warns about pods, workloads and namespaces.

`cluster.store.admission.pod_security` has the policies and checks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from steersman import api
from steersman.api import Document, elements, part
from steersman.cluster.apiserver.admission_requests import CREATE, UPDATE, AdmissionRequest
from steersman.cluster.store.admission.pod_security import (
    LEVELS,
    PRIVILEGED,
    LevelVersion,
    details,
    enforce_pod_security,
    policy_of,
    violations_of,
)

_UNCHECKED: Final = frozenset({"status", "eviction", "binding", "exec", "attach", "log", "portforward", "proxy"})
"""Pod subresources that cannot change the checked fields."""
_TEMPLATES: Final = {
    ("", "podtemplates"): ("template",),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
}
"""Paths of pod templates, by group and plural."""
_MAX_PODS: Final = 3000


def check(request: AdmissionRequest, warnings: list[str]) -> None:
    """Raise the PodSecurity rejection of a request, or add its warnings."""
    place, document = (request.resource.group, request.resource.plural), request.document
    if request.operation not in (CREATE, UPDATE) or document is None:
        return
    if place == ("", "namespaces"):
        if not request.subresource:
            warnings += _check_namespace(request, document)
    elif place == ("", "pods"):
        if request.subresource not in _UNCHECKED and (request.old is None or _is_significant(document, request.old)):
            metadata = document["metadata"]
            name, spec = metadata.get("name", ""), part(document, "spec")
            enforce_pod_security(request.store, metadata["namespace"], name, metadata, spec)
            warnings += _warnings(request, metadata, spec)
    elif place in _TEMPLATES and not request.subresource:
        template = part(document, *_TEMPLATES[place])
        if template:
            warnings += _warnings(request, part(template, "metadata"), part(template, "spec"))


def _warnings(request: AdmissionRequest, metadata: Document, spec: Document) -> Iterator[str]:
    level = policy_of(part(request.namespace or {}, "metadata", "labels")).warn
    violations = violations_of(level, metadata, spec)
    if violations:
        yield f'would violate PodSecurity "{level}": {details(violations)}'


def _is_significant(document: Document, old: Document) -> bool:
    """Return whether an update of a pod changes images or adds containers."""
    new_spec, old_spec = part(document, "spec"), part(old, "spec")
    for field in ("containers", "initContainers"):
        images, before = ([one.get("image") for one in elements(spec, field)] for spec in (new_spec, old_spec))
        if images != before:
            return True
    known = {one.get("name"): one.get("image") for one in elements(old_spec, "ephemeralContainers")}
    added = elements(new_spec, "ephemeralContainers")
    return any(one.get("name") not in known or known[one["name"]] != one.get("image") for one in added)


# -- namespaces ------------------------------------------------------------------------------------


def _check_namespace(request: AdmissionRequest, document: Document) -> Iterator[str]:
    """Yield warnings about existing pods that violate the new level of a namespace."""
    level, old = (policy_of(part(found or {}, "metadata", "labels")).enforce for found in (document, request.old))
    is_relaxed = level.version == old.version and LEVELS.index(level.level) <= LEVELS.index(old.level)
    if request.old is not None and level.level != PRIVILEGED and not is_relaxed:
        yield from _violating_pods(request, document["metadata"]["name"], level)


def _violating_pods(request: AdmissionRequest, namespace: str, level: LevelVersion) -> Iterator[str]:
    pods = _one_of_each_controller_first(request, namespace)
    names = defaultdict[str, list[str]](list)
    for pod in pods[:_MAX_PODS]:
        reasons = [violation.reason for violation in violations_of(level, pod["metadata"], part(pod, "spec"))]
        if reasons:
            names[", ".join(reasons)].append(pod["metadata"]["name"])
    if len(pods) > _MAX_PODS:
        count = f"{_MAX_PODS} of {len(pods)}"
        yield f"new PodSecurity enforce level only checked against the first {count} existing pods"
    if names:
        yield f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{level}"'
    yield from sorted(f"{min(found)}{_others(len(found) - 1)}: {reasons}" for reasons, found in names.items())


def _one_of_each_controller_first(request: AdmissionRequest, namespace: str) -> list[Document]:
    first, rest, seen = list[Document](), list[Document](), set[str]()
    for key, pod in request.store.documents(api.Pod).items():
        if not key.startswith(f"{namespace}/"):
            continue
        owners = elements(pod, "metadata", "ownerReferences")
        owner = next((one.get("uid") for one in owners if one.get("controller")), None)
        (rest if owner in seen else first).append(pod)
        seen.update([owner] if owner else [])
    return first + rest


def _others(count: int) -> str:
    return f" (and {count} other {'pod' if count == 1 else 'pods'})" if count else ""
