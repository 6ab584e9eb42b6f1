# SPDX-License-Identifier: Apache-2.0
"""The configuration of a sandbox's scheduler: the initial one, and those applied on the page.

Every configuration starts another scheduler; pages that show the scheduler are notified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steersman import config
from steersman.sandbox.scheduling import ReplaceableScheduler
from steersman.sandbox.web import ConfigurationSource
from steersman.sandbox.web.configuration_page import loaded


class AppliedConfiguration:
    """The configuration in effect. `written` is what the user wrote of it."""

    def __init__(self, schedulers: ReplaceableScheduler, written: ConfigurationSource) -> None:
        self._schedulers = schedulers
        self._beginning = schedulers.current.scheduler.options, written
        self.written = written
        self._followers: list[Callable[[], None]] = []

    def follow(self, follower: Callable[[], None]) -> None:
        """Call back after another scheduler has taken over."""
        self._followers.append(follower)

    def document(self) -> dict[str, Any]:
        """Return the configuration in effect, all values filled in, without secrets."""
        plain: dict[str, Any] = config.public_document(self._schedulers.current.scheduler.options.configuration)
        return plain

    def text(self) -> str:
        """Return the configuration in effect as YAML."""
        return config.dump_yaml(self._schedulers.current.scheduler.options.configuration)

    async def apply(self, text: str) -> None:
        """Apply a configuration. Raise `InputError`, without any change, if it is invalid."""
        options = loaded(text, self._schedulers.current.scheduler.options)
        await self._schedulers.replace(options)
        self._notify(ConfigurationSource(text, is_applied=True))

    async def restore(self) -> None:
        """Restore the initial configuration, if another one was applied."""
        options, written = self._beginning
        if self._schedulers.current.scheduler.options is options:
            return
        await self._schedulers.replace(options)
        self._notify(written)

    def _notify(self, written: ConfigurationSource) -> None:
        self.written = written
        for follower in self._followers:
            follower()
