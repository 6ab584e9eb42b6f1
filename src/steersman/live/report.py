# SPDX-License-Identifier: Apache-2.0
"""An explanation of a pod of a live cluster, as data and as text. Made by `pod_explanation`, printed by the command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from steersman.api import Condition
from steersman.explain import Explanation, Waker
from steersman.explain.tables import wrapped
from steersman.printable import printable

#: As upstream, if no event comes first.
TRIED_ANYWAY: Final = "It is tried again anyway when it has waited for five minutes, or when the pod itself changes."


class LiveExplanation(msgspec.Struct, frozen=True, rename="camel"):
    """A pod as it stands, and what every node and plugin says of it now."""

    pod: str
    scheduler_name: str
    phase: str
    #: Where the pod is; "" for a pending one.
    node: str
    nominated_node: str
    #: As the API server shows them.
    conditions: tuple[Condition, ...]
    #: How the pod stands, in a sentence.
    summary: str
    #: What the reader should know before believing the rest.
    notes: tuple[str, ...]
    #: Of a placed pod: as if it had no node yet.
    explanation: Explanation
    #: By what a pending pod would be tried again.
    wakers: tuple[Waker, ...]

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain

    def text(self, most: int | None = None, width: int | None = None) -> str:
        """The explanation as text, with `most` rows per table, None: all, and lines of `width`, None: as they are."""
        return "\n".join(self._lines(most, width))

    def _lines(self, most: int | None, width: int | None) -> Iterator[str]:
        where = f"on {self.node}" if self.node else "without a node"
        yield f"Pod {self.pod}, {self.phase or 'Pending'}, {where}; scheduler {self.scheduler_name}"
        conditions = (_condition(condition) for condition in self.conditions)
        for text in (self.summary, *(f"note: {note}" for note in self.notes), *conditions):
            yield from wrapped(f"  {printable(text)}", width)
        yield ""
        yield self.explanation.table(most, width)
        for line in self._waking():
            yield from wrapped(line, width)

    def _waking(self) -> Iterator[str]:
        if not self.wakers:
            return
        yield ""
        yield "What would have it tried again:"
        for waker in self.wakers:
            yield f"  {waker.plugin}: {'; '.join(waker.events) or 'nothing in particular'}"
        yield f"  {TRIED_ANYWAY}"


def _condition(condition: Condition) -> str:
    words = f"{condition.type}={condition.status}"
    if condition.reason:
        words += f" ({condition.reason})"
    return f"{words}: {condition.message}" if condition.message else words
