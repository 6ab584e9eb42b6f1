# SPDX-License-Identifier: Apache-2.0
"""What every task of the event loop is doing: `/debug/tasks`, what a dump of goroutines is elsewhere."""

from __future__ import annotations

import asyncio
import io


def dump_tasks() -> str:
    """By name, each with its stack, innermost call last. In the event loop that is to be looked at."""
    tasks = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    return f"{len(tasks)} tasks\n\n" + "\n".join(map(_stack, tasks))


def _stack(task: asyncio.Task[object]) -> str:
    text = io.StringIO()
    task.print_stack(file=text)
    return f"{task.get_name()}\n{text.getvalue()}"
