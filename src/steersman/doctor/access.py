# SPDX-License-Identifier: Apache-2.0
"""May the scheduler do what it has to? Every right of the table, asked of the API server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec

from steersman.client import ApiError, Right, cluster_rights, lease_rights
from steersman.client.rights import LOOKUP, PLUGIN_READS
from steersman.doctor.finding import Finding, fail, ok, warn
from steersman.doctor.target import DoctorTarget

CHECK: Final = "access"
ADVICE: Final = (
    "grant it: deploy/manifests/rbac.yaml has all rights, and no others; those of plugins come with the plugins"
)
#: Where a plugin reads, and whether it lists or gets, its declaration does not say.
SOMEWHERE: Final = "no ClusterRole grants it; a Role in the namespaces where the plugin reads is enough"
AT_ONCE: Final = 8
_API: Final = "/apis/authorization.k8s.io/v1"
_ACCOUNT: Final = "system:serviceaccount:"


async def check_access(target: DoctorTarget) -> list[Finding]:
    """One finding for all that is granted, one for every purpose that is not."""
    rights = _rights(target)
    refused = await _refused(target, rights)
    granted = f"{len(rights) - len(refused)} of {len(rights)} rights are granted{_to(target)}"
    if not refused:
        return [ok(CHECK, granted)]
    missing = [right for right in refused if right != LOOKUP and right.purpose != PLUGIN_READS]
    findings = [fail(CHECK, f"{granted}; missing: {text}", ADVICE) for text in _by_purpose(missing)]
    if LOOKUP in refused:
        findings.append(warn(CHECK, f"{granted}; missing: {LOOKUP} (for {LOOKUP.purpose})", ADVICE))
    unread = [right for right in refused if right.purpose == PLUGIN_READS]
    findings += (warn(CHECK, f"{granted}; missing: {text}", SOMEWHERE) for text in _by_purpose(unread))
    return findings


async def _refused(target: DoctorTarget, rights: Sequence[Right]) -> list[Right]:
    turns = asyncio.Semaphore(AT_ONCE)
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(_is_granted(target, right, turns)) for right in rights]
    return [right for right, task in zip(rights, asked, strict=True) if not task.result()]


def _to(target: DoctorTarget) -> str:
    return f" to {target.subject}" if target.subject else ""


def _rights(target: DoctorTarget) -> Sequence[Right]:
    election = target.configuration.leader_election
    lease = lease_rights(election.resource_namespace, election.resource_name) if election.leader_elect else ()
    return (*cluster_rights(target.kinds, target.read_kinds), *lease, LOOKUP)


def _by_purpose(refused: list[Right]) -> Iterator[str]:
    for purpose, rights in groupby(refused, lambda right: right.purpose):
        yield f"{', '.join(map(str, rights))} (for {purpose})"


async def _is_granted(target: DoctorTarget, right: Right, turns: asyncio.Semaphore) -> bool:
    path, document = _review(target.subject, right)
    async with turns:
        try:
            status = (await target.review(path, document, _Review)).status
        except ApiError as refusal:
            raise ApiError(refusal.code, refusal.reason, f"cannot review rights: {refusal}") from refusal
    return status.allowed and not status.denied


class _ReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False
    denied: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


def _review(subject: str, right: Right) -> tuple[str, dict[str, Any]]:
    resource, _, subresource = right.resource.partition("/")
    asked: dict[str, Any] = {
        "resourceAttributes": {
            "verb": right.verb,
            "group": right.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": right.namespace,
            "name": right.name,
        }
    }
    if not subject:
        return f"{_API}/selfsubjectaccessreviews", _document("SelfSubjectAccessReview", asked)
    asked |= {"user": subject, "groups": groups_of(subject)}
    return f"{_API}/subjectaccessreviews", _document("SubjectAccessReview", asked)


def _document(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}


def groups_of(user: str) -> list[str]:
    """The groups that the API server adds to a user by its name."""
    groups = ["system:authenticated"]
    if user.startswith(_ACCOUNT):
        namespace = user.removeprefix(_ACCOUNT).partition(":")[0]
        groups += ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return groups
