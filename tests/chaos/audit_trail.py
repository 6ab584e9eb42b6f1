# SPDX-License-Identifier: Apache-2.0
"""What the API server wrote down in a chaos run: every write of a replica with the moment at which it was sent, every new pod.

The log has two lines per request, when it was received and when it was answered. A server that is killed in between leaves
the first only: then nobody can know what came of it. `lease_history` and `judgement` read the requests.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

_POLICY: Final = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted]
rules:
  - level: Request
    users: [{users}]
    verbs: [create, update, patch]
    resources: [{{group: coordination.k8s.io, resources: [leases]}}]
  - level: None
    resources: [{{group: authentication.k8s.io}}, {{group: authorization.k8s.io}}]
  - level: Metadata
    users: [{users}]
    verbs: [create, update, patch, delete, deletecollection]
  - level: Metadata
    verbs: [create]
    resources: [{{group: "", resources: [pods]}}]
  - level: None
"""
_ANSWERED: Final = ("ResponseComplete", "Panic")


class LifeKey(NamedTuple):
    """A process of a replica: its first, second … life."""

    replica: str
    number: int


@dataclass(frozen=True, slots=True)
class AuditedRequest:
    """Times are seconds since the epoch. `code` is None when the server was killed before it answered."""

    verb: str
    resource: str
    namespace: str
    name: str
    #: None when the request did not come from a replica.
    sender: LifeKey | None
    #: When it left the replica, or, if nobody knows, when the server received it.
    sent: float
    received: float
    answered: float | None = None
    code: int | None = None
    #: Of a lease that is written.
    holder: str | None = None

    @property
    def granted(self) -> bool:
        return self.code is not None and self.code < 300

    @property
    def writes_lease(self) -> bool:
        return self.resource == "leases"


class _Reference(msgspec.Struct, rename="camel"):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class _Status(msgspec.Struct):
    code: int = 0


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None


class _LeaseBody(msgspec.Struct):
    spec: _LeaseSpec = msgspec.field(default_factory=_LeaseSpec)


class AuditLine(msgspec.Struct, rename="camel"):
    audit_id: str = msgspec.field(name="auditID")
    stage: str
    verb: str
    request_received_timestamp: datetime.datetime
    stage_timestamp: datetime.datetime
    object_ref: _Reference = msgspec.field(default_factory=_Reference)
    response_status: _Status = msgspec.field(default_factory=_Status)
    request_object: _LeaseBody | None = None


class AuditTrail:
    """The log of a control plane that is started with `flags`."""

    def __init__(self, folder: Path, users: Sequence[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._policy = folder / "policy.yaml"
        self._policy.write_text(_POLICY.format(users=", ".join(users)))
        self._log = folder / "audit.log"

    @property
    def flags(self) -> tuple[str, ...]:
        return (
            f"--audit-policy-file={self._policy}",
            f"--audit-log-path={self._log}",
            "--audit-log-mode=blocking",
            "--audit-log-maxsize=4000",
        )

    def requests(self) -> list[AuditedRequest]:
        """In the order in which they were received."""
        with self._log.open("rb") as log:
            return read_requests(log)


def read_requests(lines: Iterable[bytes]) -> list[AuditedRequest]:
    """The lines of one request are joined. A last line that a kill cut off is left out."""
    found: dict[str, AuditedRequest] = {}
    for line in lines:
        try:
            read = msgspec.json.decode(line, type=AuditLine)
        except msgspec.DecodeError:
            continue
        known = found.get(read.audit_id) or _received(read)
        found[read.audit_id] = _answered(known, read) if read.stage in _ANSWERED else known
    return sorted(found.values(), key=lambda request: request.received)


def _received(line: AuditLine) -> AuditedRequest:
    ref = line.object_ref
    sender, sent = _stamp(line.audit_id)
    received = line.request_received_timestamp.timestamp()
    resource = f"{ref.resource}/{ref.subresource}" if ref.subresource else ref.resource
    return AuditedRequest(line.verb, resource, ref.namespace, ref.name, sender, sent or received, received)


def _answered(request: AuditedRequest, line: AuditLine) -> AuditedRequest:
    holder = line.request_object.spec.holder_identity or "" if line.request_object is not None else None
    return replace(
        request,
        name=line.object_ref.name or request.name,
        answered=line.stage_timestamp.timestamp(),
        code=line.response_status.code,
        holder=holder,
    )


def _stamp(audit_id: str) -> tuple[LifeKey | None, float]:
    """What `replicas` wrote: replica, life, number of the request, seconds."""
    parts = audit_id.split(".")
    if len(parts) != 5:
        return None, 0.0
    return LifeKey(parts[0], int(parts[1])), float(f"{parts[3]}.{parts[4]}")
