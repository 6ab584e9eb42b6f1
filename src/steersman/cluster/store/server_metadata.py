# SPDX-License-Identifier: Apache-2.0
"""Object metadata that the server sets: names, uids, versions, generations, times.

Names and uids are unique and reproducible: they are derived from the version at which an object is
created.
"""

from __future__ import annotations

from hashlib import md5
from typing import Final, TypeVar

import msgspec

from steersman import api
from steersman.api import Object
from steersman.cluster.store.errors import Invalid

T = TypeVar("T", bound=Object)

NO_NAME: Final = "metadata.name: Required value: name or generateName is required"

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels and similar digits, so that no words occur."""
_SUFFIX_LENGTH: Final = 5
_MAX_NAME: Final = 63

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
"""Kinds with a generation, which counts spec changes."""

_replace = msgspec.structs.replace


def name_to_store(obj: Object, version: int) -> tuple[str, str]:
    """Return the name and namespace for storing an object at a version. Raises `Invalid`."""
    meta = obj.metadata
    name = meta.name
    if not name:
        if not meta.generate_name:
            raise Invalid(type(obj), name, NO_NAME)
        name = generated_name(meta.generate_name, version)
    return name, (meta.namespace or api.DEFAULT_NAMESPACE) if obj.NAMESPACED else ""


def stamped(obj: T, name: str, namespace: str, version: int, timestamp: str) -> T:
    """Return the new object with server-set metadata; existing values are kept."""
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
    """Return the new state of an object with the server-set metadata of the old one."""
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
    """Return a name-based UUID: reproducible, and unique as a store never reuses a `version`."""
    digest = md5(f"{kind.KIND}/{namespace}/{name}/{version}".encode(), usedforsecurity=False).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-3{digest[13:16]}-8{digest[17:20]}-{digest[20:]}"


def generated_name(prefix: str, version: int) -> str:
    """Return the (truncated) prefix with `version` encoded in five or more characters."""
    suffix = ""
    while version or len(suffix) < _SUFFIX_LENGTH:
        version, digit = divmod(version, len(_ALPHABET))
        suffix = _ALPHABET[digit] + suffix
    return prefix[: _MAX_NAME - len(suffix)] + suffix
