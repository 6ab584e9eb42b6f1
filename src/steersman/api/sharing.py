# SPDX-License-Identifier: Apache-2.0
"""Deduplication of equal parts of pods.

Pods of a template differ in little but name and node, yet each decoded pod has its own containers,
tolerations and labels, typically nine kilobytes. `Sharer` replaces equal parts by the first ones,
which leaves three kilobytes. Sharing is safe because objects are frozen. Programs that hold many
pods read them through a `Sharer`.
"""

from __future__ import annotations

from sys import intern
from typing import Any, Final, TypeVar

import msgspec

from steersman.api.pod import Pod

S = TypeVar("S", bound=msgspec.Struct)

_META_PARTS: Final = ("labels", "annotations", "owner_references")
_SPEC_PARTS: Final = (
    "containers",
    "init_containers",
    "node_selector",
    "affinity",
    "tolerations",
    "topology_spread_constraints",
    "overhead",
)
_STATUS_PARTS: Final = ("container_statuses", "init_container_statuses")


class Sharer:
    """Cache of the parts of all pods passed to it, without limit."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[bytes, Any]] = {name: {} for name in (*_META_PARTS, *_SPEC_PARTS, *_STATUS_PARTS)}
        self._encoder = msgspec.msgpack.Encoder()

    def shared(self, pod: Pod) -> Pod:
        """Return an equal pod that shares equal parts with earlier ones."""
        metadata = self._replaced(pod.metadata, _META_PARTS, namespace=intern(pod.metadata.namespace))
        spec = self._replaced(
            pod.spec,
            _SPEC_PARTS,
            node_name=intern(pod.spec.node_name),
            scheduler_name=intern(pod.spec.scheduler_name),
        )
        status = self._replaced(pod.status, _STATUS_PARTS, phase=intern(pod.status.phase))
        return msgspec.structs.replace(pod, metadata=metadata, spec=spec, status=status)

    def _replaced(self, struct: S, parts: tuple[str, ...], **changes: Any) -> S:
        for name in parts:
            part = getattr(struct, name)
            if part:
                encoded = self._encoder.encode(part)
                changes[name] = self._parts[name].setdefault(encoded, part)
        return msgspec.structs.replace(struct, **changes)
