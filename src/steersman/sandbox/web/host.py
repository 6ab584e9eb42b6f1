# SPDX-License-Identifier: Apache-2.0
"""Host of the web page: the scheduler that it shows, and its capabilities.

`steersman sandbox` and `steersman run --web` create a `WebHost`, which `http_api` serves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
import yaml

from steersman import api
from steersman.cluster.store import Document, document_of
from steersman.kube.observe import DecisionLog
from steersman.kube.serving import Answer, LoopRunner, Request, ask_here
from steersman.sandbox.web.attempt_feed import AttemptFeed
from steersman.sandbox.web.configuration_page import ConfigurationSource
from steersman.sandbox.web.event_rows import EventRows
from steersman.scheduler.assembly import Scheduler

_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
Action: TypeAlias = Callable[[Request], Awaitable[Answer]]
PastPages: TypeAlias = Callable[[float, Request], Awaitable[Answer]]
"""Function that answers a request as of a past time."""


class WebHost(msgspec.Struct, frozen=True):
    """A scheduler to show. `ask` runs a function in the scheduling thread."""

    #: "sandbox", "run" or "file".
    kind: str
    scheduler: Scheduler
    decisions: DecisionLog
    attempts: AttemptFeed
    events: EventRows
    ask: LoopRunner = ask_here
    #: Additional capabilities of this host, as named in docs/web-api.md.
    more_capabilities: tuple[str, ...] = ()
    #: Returns an object with all known fields.
    document: Callable[[api.Object], Document] = document_of
    #: Additional paths after `/web/v1/`, by method and first part: `POST clock`.
    actions: Mapping[str, Action] = {}
    kubeconfig: str = ""
    #: For a past time: the nodes of pods that were decided at that time. None for the present.
    chosen: Mapping[str, str] | None = None
    #: Pages of past times; None if there are none.
    past: PastPages | None = None
    #: The user's configuration.
    written: ConfigurationSource = ConfigurationSource()

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Capabilities of the host; a file only shows its configuration."""
        return (
            ("configuration",) if self.kind == "file" else ("stream", "configuration", "try", *self.more_capabilities)
        )

    @property
    def is_read_only(self) -> bool:
        return self.kind != "sandbox"


def observed(
    scheduler: Scheduler, decisions: DecisionLog | None = None, attempts: AttemptFeed | None = None
) -> tuple[DecisionLog, AttemptFeed]:
    """Attach the observers that pages need. `decisions` already observes the scheduler; `attempts`
    is the feed of a replaced scheduler."""
    attempts = attempts or AttemptFeed(scheduler)
    scheduler.observe(attempts)
    if decisions is None:
        decisions = DecisionLog(scheduler)
        scheduler.observe(decisions)
    return decisions, attempts


def manifest_text(document: Document) -> str:
    """Return a document as YAML without managed fields."""
    meta = {name: value for name, value in document.get("metadata", {}).items() if name != "managedFields"}
    return str(yaml.dump({**document, "metadata": meta}, Dumper=_DUMPER, sort_keys=False, allow_unicode=True))
