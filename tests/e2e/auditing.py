# SPDX-License-Identifier: Apache-2.0
"""The API server's audit log: the server's own word on who asked for what, and what was granted."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

_POLICY: Final = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {rule}
  - level: None
"""
BINDINGS: Final = "{level: Metadata, verbs: [create], resources: [{group: '', resources: [pods/binding]}]}"
"""Rule that keeps nothing but bindings."""


def requests_of(user: str) -> str:
    """Rule that keeps what one user asks for."""
    return f"{{level: Metadata, users: ['{user}']}}"


class Reference(msgspec.Struct, rename="camel", frozen=True):
    """What a request was about."""

    resource: str = ""
    namespace: str = ""
    name: str = ""
    api_group: str = ""
    subresource: str = ""


class _Status(msgspec.Struct, frozen=True):
    code: int = 0


class Entry(msgspec.Struct, rename="camel", frozen=True):
    """One request that has been answered, or a watch that has begun."""

    verb: str
    object_ref: Reference = Reference()
    response_status: _Status = _Status()

    @property
    def granted(self) -> bool:
        return self.response_status.code < 300


class AuditLog:
    """Of a control plane that is started with `flags`; `rule` says what is kept."""

    def __init__(self, folder: Path, rule: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._policy = folder / "policy.yaml"
        self._policy.write_text(_POLICY.format(rule=rule))
        self._log = folder / "audit.log"
        self._begin = 0

    @property
    def flags(self) -> tuple[str, ...]:
        return f"--audit-policy-file={self._policy}", f"--audit-log-path={self._log}", "--audit-log-mode=blocking"

    def forget(self) -> None:
        """Everything so far: names may be used again."""
        self._begin = self._log.stat().st_size if self._log.exists() else 0

    def entries(self) -> list[Entry]:
        lines = self._log.read_bytes()[self._begin :].splitlines() if self._log.exists() else []
        return [msgspec.json.decode(line, type=Entry) for line in lines]
