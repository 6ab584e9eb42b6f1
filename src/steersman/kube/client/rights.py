# SPDX-License-Identifier: Apache-2.0
"""Table of the rights that a scheduler needs at the API server.

`doctor` checks each; tests compare it with the shipped RBAC and the requests made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from steersman import api
from steersman.framework import WATCHED_KINDS, is_of_plugin
from steersman.kube.client.lease import Lease

#: Purpose of the rights to the lease.
ELECTION: Final = "leader election"
_LEASES: Final = Lease.API_VERSION.rpartition("/")[0]


class Right(msgspec.Struct, frozen=True):
    """A verb on a resource, in one namespace or all ("")."""

    verb: str
    group: str
    #: Including the subresource, such as `pods/status`.
    resource: str
    #: Purpose of the right.
    purpose: str
    namespace: str = ""
    #: The only object for which it is needed; "" for all.
    name: str = ""

    def __str__(self) -> str:
        full = f"{self.resource}.{self.group}" if self.group else self.resource
        one = f" {self.name}" if self.name else ""
        return f"{self.verb} {full}{one}" + (f" in {self.namespace}" if self.namespace else "")


WRITING: Final = (
    Right("create", "", "pods/binding", "binding pods"),
    Right("get", "", "pods", "reading the pod of a binding whose response was lost"),
    Right("patch", "", "pods/status", "telling why a pod waits, and nominating nodes"),
    Right("delete", "", "pods", "preemption"),
    Right("patch", "", "persistentvolumes", "binding volumes"),
    Right("patch", "", "persistentvolumeclaims", "binding volumes"),
    Right("get", "resource.k8s.io", "resourceclaims", "allocating devices when another client writes the claim too"),
    Right("patch", "resource.k8s.io", "resourceclaims", "allocating devices"),
    Right("patch", "resource.k8s.io", "resourceclaims/status", "allocating devices"),
    Right("patch", "resource.k8s.io", "resourceclaims/binding", "allocating devices"),
    Right("create", "resource.k8s.io", "resourceclaims", "extended resources that are backed by devices"),
    Right("delete", "resource.k8s.io", "resourceclaims", "extended resources that are backed by devices"),
    Right("create", "events.k8s.io", "events", "events"),
    Right("patch", "events.k8s.io", "events", "counting events that repeat themselves"),
)
WRITING_GROUPS: Final = (
    Right("patch", "scheduling.k8s.io", "podgroups/status", "reporting whether a pod group was scheduled"),
)
REVIEWS: Final = (
    Right("create", "authentication.k8s.io", "tokenreviews", "knowing who asks for metrics"),
    Right("create", "authorization.k8s.io", "subjectaccessreviews", "knowing who may see metrics"),
)

PLUGIN_READS: Final = "what plugins read by themselves"
"""Purpose of rights that may also be granted in some namespaces only."""
LOOKUP: Final = Right(
    "get",
    "",
    "configmaps",
    "client certificates; without it the scheduler knows its clients by tokens only",
    "kube-system",
    "extension-apiserver-authentication",
)
"""The only optional right."""


def cluster_rights(
    kinds: Iterable[type[api.Object]] = WATCHED_KINDS, read: Iterable[type[api.Object]] = ()
) -> tuple[Right, ...]:
    """Return the rights of `steersman run`, except its lease and `LOOKUP`, to watch these kinds and
    to let plugins read those."""
    kinds = tuple(kinds)
    of_groups = WRITING_GROUPS if api.PodGroup in kinds else ()
    return (*following(kinds), *WRITING, *of_groups, *REVIEWS, *reading(read))


def plugin_rights(watched: Iterable[type[api.Object]], read: Iterable[type[api.Object]]) -> tuple[Right, ...]:
    """Return the additional rights of plugins."""
    return (*following(filter(is_of_plugin, watched)), *reading(read))


def lease_rights(namespace: str, name: str) -> tuple[Right, ...]:
    """Return the rights to a lease. RBAC cannot limit creation to a name."""
    return (
        Right("create", _LEASES, Lease.PLURAL, ELECTION, namespace),
        Right("get", _LEASES, Lease.PLURAL, ELECTION, namespace, name),
        Right("update", _LEASES, Lease.PLURAL, ELECTION, namespace, name),
    )


def following(kinds: Iterable[type[api.Object]]) -> Iterator[Right]:
    """Yield the rights to list and watch these kinds in all namespaces."""
    for kind in kinds:
        group = kind.API_VERSION.rpartition("/")[0]
        purpose = "watching objects that plugins read" if is_of_plugin(kind) else "following the cluster"
        for verb in ("list", "watch"):
            yield Right(verb, group, kind.PLURAL, purpose)


def reading(kinds: Iterable[type[api.Object]]) -> Iterator[Right]:
    """Return the rights to get and list these kinds in all namespaces."""
    for kind in kinds:
        group = kind.API_VERSION.rpartition("/")[0]
        for verb in ("get", "list"):
            yield Right(verb, group, kind.PLURAL, PLUGIN_READS)
