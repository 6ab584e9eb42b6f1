# SPDX-License-Identifier: Apache-2.0
"""Fixes as text: a number and a sentence each, and below it the commands, each on a line of its own to be copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steersman.explain.tables import hanging, wrapped
from steersman.fixes.fix import Fix
from steersman.printable import printable


def fixes_text(pod: str, fixes: Sequence[Fix], width: int | None = None) -> str:
    """The fixes of a pod, the smallest first. Sentences are folded to a width in characters, commands are not."""
    return "\n".join(map(printable, _lines(pod, fixes, width)))


def _lines(pod: str, fixes: Sequence[Fix], width: int | None) -> Iterator[str]:
    if not fixes:
        yield from wrapped(f"No change was found that makes {pod} schedule.", width)
        return
    noun = "change makes" if len(fixes) == 1 else "changes, each by itself, make"
    yield from wrapped(f"{len(fixes)} {noun} {pod} schedule (tried on a copy):", width)
    for number, fix in enumerate(fixes, 1):
        yield from hanging(f"  {number}. ", fix.summary, width)
        yield from (f"     {command}" for command in fix.commands)
