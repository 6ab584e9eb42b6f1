# SPDX-License-Identifier: Apache-2.0
"""Changes of existing objects as by `kubectl apply` and `kubectl patch --type=merge`.

Used by `Simulation.apply` and `Simulation.patch`. The store of a simulation contains structs: a
patch loses fields that these do not have, as creation does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import msgspec

from steersman import api
from steersman.api import codec, merge_patch, quantity_checks
from steersman.base import InputError
from steersman.cluster.store import Invalid, StatusError, Store
from steersman.simulation.inputs.object_names import given_key

POD_SPEC_STAYS: Final = "pod updates may not change the spec of a pod"

T = TypeVar("T", bound=api.Object)
_replace = msgspec.structs.replace


@contextmanager
def refusals_as_input_errors(obj: str | None = None) -> Iterator[None]:
    """Convert the cluster's `StatusError`s in the block to `InputError`s with the given object."""
    try:
        yield
    except StatusError as error:
        raise InputError(error.message, object=obj) from error


def update(store: Store, obj: api.Object) -> bool:
    """Set spec and labels of the object with this name, and add annotations; keep status and pod
    specs. Return False if there is none. Raises `StatusError` and `InputError`."""
    old = store.find(type(obj), given_key(obj))
    if old is None:
        return False
    meta = old.metadata
    annotations = {**meta.annotations, **obj.metadata.annotations}
    metadata = _replace(meta, labels=obj.metadata.labels, annotations=annotations)
    applied = _replace(obj, metadata=metadata)
    if isinstance(applied, api.Pod) and isinstance(old, api.Pod):
        applied = _replace(applied, spec=old.spec)
    if _brings_status(applied):
        store.replace(applied)
    else:
        store.update(applied)
    return True


def patch(store: Store, kind: type[T], key: str, document: Mapping[str, Any]) -> T:
    """Apply a JSON merge patch (RFC 7396), status included. Raises `StatusError`, `InputError`."""
    old = store.get(kind, key)
    patched = codec.convert(merge_patch(codec.to_dict(old), document), kind)
    quantity_checks.check_quantities(patched)
    if isinstance(old, api.Pod) and isinstance(patched, api.Pod) and patched.spec != old.spec:
        raise Invalid(kind, key, POD_SPEC_STAYS)
    return store.replace(patched)


def _brings_status(obj: api.Object) -> bool:
    """Return whether the object is a node with capacity, which is in the status."""
    return isinstance(obj, api.Node) and bool(obj.status.allocatable or obj.status.capacity)
