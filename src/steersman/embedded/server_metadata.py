# SPDX-License-Identifier: Apache-2.0
"""The part of an object's metadata that a server sets: names and uids, versions, generations, times.

Names and uids are different for every object and the same in every run: they are made of the version in which an object is
created.
"""

from __future__ import annotations

from functools import cache
from typing import Final, TypeVar

import msgspec

from steersman import api
from steersman.api import Object
from steersman.embedded.errors import Invalid

T = TypeVar("T", bound=Object)

DEFAULT_NAMESPACE: Final = "default"
NO_NAME: Final = "metadata.name: Required value: name or generateName is required"

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no digits that look like them, so that no words come out."""
_SUFFIX_LENGTH: Final = 5
_LONGEST_NAME: Final = 63

COUNTED_GENERATIONS: Final[frozenset[type[Object]]] = frozenset(
    {
        api.CronJob,
        api.DaemonSet,
        api.Deployment,
        api.DeviceClass,
        api.Job,
        api.Pod,
        api.PodDisruptionBudget,
        api.PriorityClass,
        api.ReplicaSet,
        api.ReplicationController,
        api.ResourceSlice,
        api.StatefulSet,
    }
)
"""The kinds whose changes of spec an API server counts."""

_replace = msgspec.structs.replace


def name_to_store(obj: Object, version: int) -> tuple[str, str]:
    """Name and namespace under which the object is to be stored as that version. Raises `Invalid`."""
    meta = obj.metadata
    name = meta.name
    if not name:
        if not meta.generate_name:
            raise Invalid(type(obj), name, NO_NAME)
        name = generated_name(meta.generate_name, version)
    return name, (meta.namespace or DEFAULT_NAMESPACE) if obj.NAMESPACED else ""


def stamped(obj: T, name: str, namespace: str, version: int, timestamp: str) -> T:
    """The new object with all that a server adds to its metadata; what was given of it stays."""
    meta = obj.metadata
    metadata = _replace(
        meta,
        name=name,
        namespace=namespace,
        uid=meta.uid or assigned_uid(type(obj), name, namespace, version),
        resource_version=str(version),
        generation=meta.generation or int(type(obj) in COUNTED_GENERATIONS),
        creation_timestamp=meta.creation_timestamp or timestamp,
    )
    return _replace(obj, metadata=metadata)


def with_metadata_of_server(old: T, new: T) -> T:
    """The new state of an object, in which what only the server may set is as it was."""
    kept = old.metadata
    metadata = _replace(
        new.metadata,
        name=kept.name,
        namespace=kept.namespace,
        uid=kept.uid,
        resource_version=kept.resource_version,
        generation=kept.generation,
        creation_timestamp=kept.creation_timestamp,
        deletion_timestamp=kept.deletion_timestamp,
        deletion_grace_period_seconds=kept.deletion_grace_period_seconds,
    )
    return _replace(new, metadata=metadata)


def assigned_uid(kind: type[Object], name: str, namespace: str, version: int) -> str:
    """`uid-pod-default-web-0-17`: `version`, in which the object is created, never comes twice."""
    if namespace:
        return f"uid-{_lower(kind.KIND)}-{namespace}-{name}-{version}"
    return f"uid-{_lower(kind.KIND)}-{name}-{version}"


def generated_name(prefix: str, version: int) -> str:
    """`prefix`, cut if the name would get too long, with a suffix of five or more characters that stands for `version`."""
    suffix = ""
    while version or len(suffix) < _SUFFIX_LENGTH:
        version, digit = divmod(version, len(_ALPHABET))
        suffix = _ALPHABET[digit] + suffix
    return prefix[: _LONGEST_NAME - len(suffix)] + suffix


@cache
def _lower(kind: str) -> str:
    return kind.lower()
