# SPDX-License-Identifier: Apache-2.0
"""Changes of objects that a simulation has already: what `kubectl apply` and `kubectl patch --type=merge` do to them.

`Simulation.apply` and `Simulation.patch` call these. The store of a simulation keeps structs: fields that these do not have
are lost by a patch, as they were when the object came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import msgspec

from steersman import api
from steersman.api import codec, quantity_checks
from steersman.embedded import Invalid, StatusError, Store
from steersman.errors import InputError
from steersman.sim.object_names import given_key

POD_SPEC_STAYS: Final = "pod updates may not change the spec of a pod"

T = TypeVar("T", bound=api.Object)
_replace = msgspec.structs.replace


@contextmanager
def refusals_as_input_errors(obj: str | None = None) -> Iterator[None]:
    """Refusals of the cluster in the block become `InputError`s, which name the object if it is given."""
    try:
        yield
    except StatusError as error:
        raise InputError(error.message, object=obj) from error


def update(store: Store, obj: api.Object) -> bool:
    """Gives the object of this name this spec and these labels, and adds these annotations; the status stays. False: there is
    none of this name. A pod keeps its spec. Raises `StatusError` and `InputError`, as every write does."""
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
    """Writes the object with a JSON merge patch (RFC 7396) applied, status included; raises `StatusError` and `InputError`."""
    old = store.get(kind, key)
    patched = codec.convert(merged(codec.to_dict(old), document), kind)
    quantity_checks.check_quantities(patched)
    if isinstance(old, api.Pod) and isinstance(patched, api.Pod) and patched.spec != old.spec:
        raise Invalid(kind, key, POD_SPEC_STAYS)
    return store.replace(patched)


def merged(document: Any, change: Any) -> Any:
    """A JSON merge patch: maps are merged, null removes, everything else takes the place of what was there."""
    if not isinstance(change, Mapping):
        return change
    result = dict(document) if isinstance(document, Mapping) else {}
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def _brings_status(obj: api.Object) -> bool:
    """Nodes are written with their capacity, which is in the status; conditions of nodes come from elsewhere."""
    return isinstance(obj, api.Node) and bool(obj.status.allocatable or obj.status.capacity)
