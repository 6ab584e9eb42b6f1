# SPDX-License-Identifier: Apache-2.0
"""Equal parts of pods, stored once.

Pods of one template differ in little but name and node, yet each decoded pod has containers, tolerations and labels of
its own, nine kilobytes for a typical one. `Sharer` replaces such parts by the first equal ones it saw, which leaves
three. Objects are frozen, so that sharing shows nowhere else. Whoever keeps many pods reads them through a `Sharer`.
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
    """Remembers the parts of the pods that went through it, for as long as it lives."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[bytes, Any]] = {name: {} for name in (*_META_PARTS, *_SPEC_PARTS, *_STATUS_PARTS)}
        self._encoder = msgspec.msgpack.Encoder()

    def shared(self, pod: Pod) -> Pod:
        """An equal pod that shares its parts with earlier ones."""
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
