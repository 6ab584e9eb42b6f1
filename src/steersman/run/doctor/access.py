# SPDX-License-Identifier: Apache-2.0
"""Check of the scheduler's rights: an access review for every right of the table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec

from steersman.kube.client import ELECTION, LOOKUP, PLUGIN_READS, ApiError, Right, cluster_rights, lease_rights
from steersman.run.doctor.finding import Finding, fail, ok, warn
from steersman.run.doctor.target import DoctorTarget

CHECK: Final = "access"
ADVICE: Final = (
    "grant it: deploy/manifests/rbac.yaml has all rights, and no others; those of plugins come with the plugins"
)
#: A plugin's declaration has neither the namespaces nor the verbs of its reads.
SOMEWHERE: Final = "no ClusterRole grants it; a Role in the namespaces where the plugin reads is enough"
#: Name of the lease that deploy/manifests/rbac.yaml grants.
SHIPPED_LEASE: Final = "steersman"
LEASE_ADVICE: Final = (
    'deploy/manifests/rbac.yaml grants the lease "{shipped}" only: write "{name}" into resourceNames of its Role'
    ' (the chart does, for config.leaderElection.resourceName), or use the lease "{shipped}"'
)
MAX_CONCURRENT_REVIEWS: Final = 8
_API: Final = "/apis/authorization.k8s.io/v1"
_ACCOUNT: Final = "system:serviceaccount:"


async def check_access(target: DoctorTarget) -> list[Finding]:
    """Return a finding for the granted rights, and one per purpose of missing ones."""
    rights = _rights(target)
    refused = await _refused(target, rights)
    granted = f"{len(rights) - len(refused)} of {len(rights)} rights are granted{_to(target)}"
    if not refused:
        return [ok(CHECK, granted)]
    if len(refused) == len(rights):
        return [fail(CHECK, f"none of the {len(rights)} rights is granted{_to(target)}", ADVICE)]
    lease = [right for right in refused if right.name and right.purpose == ELECTION]
    missing = [right for right in refused if right not in (*lease, LOOKUP) and right.purpose != PLUGIN_READS]
    findings: list[Finding] = []
    if missing:
        findings.append(fail(CHECK, f"{granted}; missing: {'; '.join(_by_purpose(missing))}", ADVICE))
    findings += (fail(CHECK, f"{granted}; missing: {text}", _lease_advice(lease[0])) for text in _by_purpose(lease))
    if LOOKUP in refused:
        findings.append(warn(CHECK, f"{granted}; missing: {LOOKUP} (for {LOOKUP.purpose})", ADVICE))
    unread = [right for right in refused if right.purpose == PLUGIN_READS]
    findings += (warn(CHECK, f"{granted}; missing: {text}", SOMEWHERE) for text in _by_purpose(unread))
    return findings


def _lease_advice(right: Right) -> str:
    if right.name == SHIPPED_LEASE:
        return ADVICE
    return LEASE_ADVICE.format(shipped=SHIPPED_LEASE, name=right.name)


async def _refused(target: DoctorTarget, rights: Sequence[Right]) -> list[Right]:
    turns = asyncio.Semaphore(MAX_CONCURRENT_REVIEWS)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_is_granted(target, right, turns)) for right in rights]
    return [right for right, task in zip(rights, tasks, strict=True) if not task.result()]


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
    spec: dict[str, Any] = {
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
        return f"{_API}/selfsubjectaccessreviews", _document("SelfSubjectAccessReview", spec)
    spec |= {"user": subject, "groups": groups_of(subject)}
    return f"{_API}/subjectaccessreviews", _document("SubjectAccessReview", spec)


def _document(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}


def groups_of(user: str) -> list[str]:
    """Return the groups that the API server derives from a user name."""
    groups = ["system:authenticated"]
    if user.startswith(_ACCOUNT):
        namespace = user.removeprefix(_ACCOUNT).partition(":")[0]
        groups += ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return groups
