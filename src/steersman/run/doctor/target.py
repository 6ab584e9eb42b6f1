# SPDX-License-Identifier: Apache-2.0
"""Target of the checks: a cluster, as seen by a user, and a scheduler configuration."""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import msgspec

from steersman import api
from steersman.base import Clock
from steersman.config import DEFAULT_VERSION, KubernetesVersion, SchedulerConfiguration
from steersman.framework import WATCHED_KINDS
from steersman.kube.client import Event, ListPage, Request, Response, Transport, decode_foreign, paths

T = TypeVar("T", bound=api.Object)
DocumentT = TypeVar("DocumentT", bound=msgspec.Struct)

SECONDS = 15.0
_PAGE = "500"


class DoctorTarget(msgspec.Struct, frozen=True):
    """A cluster to check. `subject` is the user whose rights are checked; "" for the caller."""

    transport: Transport
    configuration: SchedulerConfiguration
    clock: Clock
    subject: str = ""
    #: Kinds that the scheduler would watch, including those of plugins.
    kinds: tuple[type[api.Object], ...] = WATCHED_KINDS
    #: Kinds that plugins would read.
    read_kinds: tuple[type[api.Object], ...] = ()
    #: The version whose kube-scheduler is emulated.
    version: KubernetesVersion = DEFAULT_VERSION

    @property
    def scheduler_names(self) -> list[str]:
        return [profile.scheduler_name for profile in self.configuration.profiles]

    async def get(self, path: str, **query: str) -> Response:
        """Send a GET request. Raise `ApiError` or `ConnectionFailed` on failure."""
        return await self.transport.request(Request("GET", path, query, timeout=SECONDS))

    async def document(self, path: str, kind: type[DocumentT]) -> DocumentT:
        """Return the document at a path. Raise `UnreadableAnswer` if it is malformed."""
        return decode_foreign((await self.get(path)).body, kind, path)

    async def review(self, path: str, document: dict[str, Any], kind: type[DocumentT]) -> DocumentT:
        """Create an access review, which is not stored, and return it."""
        body = msgspec.json.encode(document)
        answer = await self.transport.request(Request("POST", path, body=body, timeout=SECONDS))
        return decode_foreign(answer.body, kind, f"the answer to POST {path}")

    async def objects(self, kind: type[T], field_selector: str = "") -> list[T]:
        """Return the objects that match the selector, page by page."""
        query = {"limit": _PAGE, **({"fieldSelector": field_selector} if field_selector else {})}
        found: list[T] = []
        while True:
            path = paths.collection(kind)
            page = decode_foreign((await self.get(path, **query)).body, ListPage, path)
            found += (decode_foreign(raw, kind, f"{kind.KIND} in {path}") for raw in page.items or ())
            if not page.metadata.next_page:
                return found
            query["continue"] = page.metadata.next_page

    async def events_of(self, scheduler: str) -> Sequence[Event]:
        """Return the stored events of the scheduler with this name, usually of the last hour."""
        found = await self.objects(Event, f"reportingController={scheduler}")
        return [event for event in found if event.reporting_controller == scheduler]


def server_time(answer: Response) -> float | None:
    """Return the server's time of the answer; None if missing."""
    try:
        return parsedate_to_datetime(answer.date).timestamp()
    except (ValueError, OverflowError):
        return None
