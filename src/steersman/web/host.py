# SPDX-License-Identifier: Apache-2.0
"""The host of a web page: the scheduler that is looked at, and what may be done besides looking.

`steersman sandbox` and `steersman run --web` make a `WebHost` each; `http_api` serves it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
import yaml

from steersman import api
from steersman.assembly import Scheduler
from steersman.embedded import Document
from steersman.embedded.documents import document_of
from steersman.observe import DecisionLog
from steersman.serving import Ask, ask_here
from steersman.serving.http import Answer, Request
from steersman.web.attempt_feed import AttemptFeed
from steersman.web.configuration_page import ConfigurationSource
from steersman.web.event_rows import EventRows

_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
Action: TypeAlias = Callable[[Request], Awaitable[Answer]]
PastPages: TypeAlias = Callable[[float, Request], Awaitable[Answer]]
"""Answers a request as one would have at that time."""


class WebHost(msgspec.Struct, frozen=True):
    """A scheduler to look at. `ask` puts questions to the loop that schedules."""

    #: "sandbox", "run" or "file".
    kind: str
    scheduler: Scheduler
    decisions: DecisionLog
    attempts: AttemptFeed
    events: EventRows
    ask: Ask = ask_here
    #: What can be done here besides what all servers can, as docs/web-api.md names it.
    more_capabilities: tuple[str, ...] = ()
    #: An object with all its fields, as far as they are known.
    document: Callable[[api.Object], Document] = document_of
    #: Further paths behind `/web/v1/`, by method and beginning: `POST clock`.
    actions: Mapping[str, Action] = {}
    kubeconfig: str = ""
    #: In the past: the nodes that were decided on at that very moment, by pod. None: it shows the present.
    chosen: Mapping[str, str] | None = None
    #: The pages of a former moment; None: nothing is remembered.
    past: PastPages | None = None
    #: What the user wrote of the configuration.
    written: ConfigurationSource = ConfigurationSource()

    @property
    def capabilities(self) -> tuple[str, ...]:
        """A file shows its configuration and does nothing."""
        return (
            ("configuration",) if self.kind == "file" else ("stream", "configuration", "try", *self.more_capabilities)
        )

    @property
    def is_read_only(self) -> bool:
        return self.kind != "sandbox"


def observed(scheduler: Scheduler, decisions: DecisionLog | None = None) -> tuple[DecisionLog, AttemptFeed]:
    """The observers that pages need, attached to a scheduler that may have one of them already."""
    attempts = AttemptFeed(scheduler)
    scheduler.observe(attempts)
    if decisions is None:
        decisions = DecisionLog(scheduler)
        scheduler.observe(decisions)
    return decisions, attempts


def manifest_text(document: Document) -> str:
    """A document as people write it: YAML, without the bookkeeping of server-side apply."""
    meta = {name: value for name, value in document.get("metadata", {}).items() if name != "managedFields"}
    return str(yaml.dump({**document, "metadata": meta}, Dumper=_DUMPER, sort_keys=False, allow_unicode=True))
