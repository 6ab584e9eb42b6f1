"""One kind of objects, kept equal to what the API server has: lists, then watches, and lists again when it must.

    list ─► replace ─► watch ─► changed, deleted ─► ear (`ingest`)
      ▲                  └─ cut: watch again from the last version
      └──── 410 Gone, errors of the server ──┘

`informers` runs one per kind. Never gives up: what goes wrong is logged, remembered, and tried again after a pause.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import Final, Generic, TypeVar

from steersman import api
from steersman.client.errors import ApiError
from steersman.client.list_watch import BOOKMARK, DELETED, Change, Listing, ListWatch
from steersman.client.retry import Backoff, Pauses
from steersman.client.timing import Timing
from steersman.errors import SteersmanError
from steersman.framework.watching import Ear

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=api.Object)

ABSENT_SECONDS: Final = 60.0
"""After so long a missing API group is looked for again."""
SHORT_SECONDS: Final = 1.0
"""A watch that ends sooner, without a word, is a failure."""
BREATH: Final = 512
"""After so many objects of a list others may run."""


class Reflector(Generic[T]):
    """See the module's text."""

    def __init__(self, source: ListWatch[T], ear: Ear, timing: Timing, pauses: Pauses | None = None) -> None:
        self._source = source
        self._ear = ear
        self._timing = timing
        self._backoff = Backoff(pauses or Pauses(), timing)
        self._synced = asyncio.Event()
        #: By key, as the ear was last told.
        self.objects: dict[str, T] = {}
        #: Everything up to here is known.
        self.resource_version = ""
        #: How often the whole list was fetched.
        self.lists = 0
        #: What went wrong last, None while all is well.
        self.failure: SteersmanError | None = None

    @property
    def kind(self) -> type[T]:
        return self._source.kind

    @property
    def has_synced(self) -> bool:
        """The ear has been told of everything that was there at the start."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            if await self._listed():
                await self._follow()

    # -- listing -----------------------------------------------------------------------------------------------------

    async def _listed(self) -> bool:
        try:
            listing = await self._source.list()
        except ApiError as refusal:
            if refusal.is_not_found and self._may_be_absent():
                await self._absent()
            else:
                await self._failed(refusal)
            return False
        except SteersmanError as failure:
            await self._failed(failure)
            return False
        self.lists += 1
        self.failure = None
        await self._replace(listing)
        self._synced.set()
        return True

    def _may_be_absent(self) -> bool:
        """Groups other than the core one need not exist; one that did will come back."""
        return "/" in self.kind.API_VERSION and not self.objects

    async def _absent(self) -> None:
        if not self.has_synced:
            logger.info("the server does not know %s of %s: none are assumed", self.kind.PLURAL, self.kind.API_VERSION)
        self._synced.set()
        await self._timing.sleep(self._timing.jittered(ABSENT_SECONDS, 0.5))

    async def _replace(self, listing: Listing[T]) -> None:
        """What the list lacks is gone; what it has in the same version is known."""
        listed = {api.key(obj): obj for obj in listing.objects}
        for key in [key for key in self.objects if key not in listed]:
            self._ear.deleted(self.objects.pop(key))
        for count, (key, obj) in enumerate(listed.items(), start=1):
            self._put(key, obj)
            if count % BREATH == 0:
                await asyncio.sleep(0)
        self.resource_version = listing.resource_version

    # -- watching ----------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Watches, again and again, until a new list is due."""
        while True:
            began = self._timing.clock.monotonic()
            version = self.resource_version
            try:
                await self._watch()
            except ApiError as refusal:
                await self._failed(refusal)
                if not refusal.is_overload:
                    return
            except SteersmanError as failure:
                await self._failed(failure)
            else:
                silent = version == self.resource_version
                if silent and self._timing.clock.monotonic() - began < SHORT_SECONDS:
                    await self._backoff.pause()

    async def _watch(self) -> None:
        async with aclosing(self._source.watch(self.resource_version)) as changes:
            async for change in changes:
                self.failure = None
                self._apply(change)

    def _apply(self, change: Change[T]) -> None:
        obj = change.object
        if change.type != BOOKMARK:
            key = api.key(obj)
            if change.type == DELETED:
                self.objects.pop(key, None)
                self._ear.deleted(obj)
            else:
                self._put(key, obj)
        self.resource_version = obj.metadata.resource_version or self.resource_version

    def _put(self, key: str, obj: T) -> None:
        known = self.objects.get(key)
        if known is not None and known.metadata.resource_version == obj.metadata.resource_version:
            return
        self.objects[key] = obj
        self._ear.changed(obj)

    async def _failed(self, failure: SteersmanError) -> None:
        self.failure = failure
        expired = isinstance(failure, ApiError) and failure.is_expired
        level = logging.INFO if expired else logging.WARNING
        logger.log(level, "following %s: %s", self.kind.PLURAL, failure)
        await self._backoff.pause(failure.retry_after if isinstance(failure, ApiError) else None)
