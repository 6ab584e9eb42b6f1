"""What the API server's audit log says of bindings: the server's own word on what was done to whom, and how often."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

POLICY: Final = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
    verbs: [create]
    resources: [{group: "", resources: [pods/binding]}]
  - level: None
"""


class _Reference(msgspec.Struct):
    namespace: str = ""
    name: str = ""


class _Status(msgspec.Struct):
    code: int = 0


class _Entry(msgspec.Struct, rename="camel"):
    object_ref: _Reference
    response_status: _Status = msgspec.field(default_factory=_Status)


class AuditLog:
    """Of a control plane that was started with `flags`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._policy = folder / "policy.yaml"
        self._policy.write_text(POLICY)
        self._log = folder / "audit.log"
        self._begin = 0

    @property
    def flags(self) -> tuple[str, ...]:
        return f"--audit-policy-file={self._policy}", f"--audit-log-path={self._log}", "--audit-log-mode=blocking"

    def forget(self) -> None:
        """Everything so far: names may be used again."""
        self._begin = self._log.stat().st_size if self._log.exists() else 0

    def bindings(self) -> Counter[str]:
        """How often each pod, by namespace/name, was bound: granted requests only."""
        lines = self._log.read_bytes()[self._begin :].splitlines() if self._log.exists() else []
        entries = (msgspec.json.decode(line, type=_Entry) for line in lines)
        return Counter(
            f"{entry.object_ref.namespace}/{entry.object_ref.name}"
            for entry in entries
            if 200 <= entry.response_status.code < 300
        )
