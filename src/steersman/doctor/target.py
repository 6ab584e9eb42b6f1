# SPDX-License-Identifier: Apache-2.0
"""The target of an examination: a cluster, as one user sees it, and the configuration that a scheduler would run with there."""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import msgspec

from steersman import api
from steersman.client import Response, Transport, decode_foreign, paths
from steersman.client.events import Event
from steersman.client.list_watch import ListPage
from steersman.clock import Clock
from steersman.config import SchedulerConfiguration
from steersman.framework.watching import WATCHED_KINDS

T = TypeVar("T", bound=api.Object)
DocumentT = TypeVar("DocumentT", bound=msgspec.Struct)

SECONDS = 15.0
_PAGE = "500"


class DoctorTarget(msgspec.Struct, frozen=True):
    """A cluster that is examined. `subject` is the user whose rights matter, "" for the one who asks."""

    transport: Transport
    configuration: SchedulerConfiguration
    clock: Clock
    subject: str = ""
    #: What the scheduler would follow: plugins may declare kinds.
    kinds: tuple[type[api.Object], ...] = WATCHED_KINDS
    #: What plugins would read by themselves.
    read_kinds: tuple[type[api.Object], ...] = ()

    @property
    def scheduler_names(self) -> list[str]:
        return [profile.scheduler_name for profile in self.configuration.profiles]

    async def get(self, path: str, **query: str) -> Response:
        """ApiError or ConnectionFailed when there is no answer."""
        return await self.transport.request("GET", path, query, timeout=SECONDS)

    async def document(self, path: str, kind: type[DocumentT]) -> DocumentT:
        """The document at a path. UnreadableAnswer when it is something else."""
        return decode_foreign((await self.get(path)).body, kind, path)

    async def review(self, path: str, document: dict[str, Any], kind: type[DocumentT]) -> DocumentT:
        """The answer to a review of rights, which is created and never stored."""
        body = msgspec.json.encode(document)
        answer = await self.transport.request("POST", path, body=body, timeout=SECONDS)
        return decode_foreign(answer.body, kind, f"the answer to POST {path}")

    async def objects(self, kind: type[T], field_selector: str = "") -> list[T]:
        """All that the selector leaves, page by page."""
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
        """The events that a scheduler of that name has reported and the server still keeps: an hour's, usually."""
        found = await self.objects(Event, f"reportingController={scheduler}")
        return [event for event in found if event.reporting_controller == scheduler]


def server_time(answer: Response) -> float | None:
    """When the server answered, by its clock; None when it does not say."""
    try:
        return parsedate_to_datetime(answer.date).timestamp()
    except (ValueError, OverflowError):
        return None
