"""The cluster that workloads are run on, as its users see it: the seam between the operations and the API server.

`running` and its neighbours know nothing else. `embedded_host` implements it in the process; an API server behind HTTP is
reached through the same five methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias, TypeVar

from steersman import api

T = TypeVar("T", bound=api.Object)

PodListener: TypeAlias = Callable[[api.Pod | None, api.Pod | None], None]
"""Called with a pod as it was and as it is: None before it came, and after it went."""


class Cluster(Protocol):
    """Refusals of the API server are raised as `SteersmanError`."""

    async def create(self, obj: T) -> T:
        """The object as stored, with the status that it came with."""

    async def update(self, obj: api.Object) -> None:
        """Writes what the object says to the one of its name; the status too, if it has any."""

    async def delete(self, kind: type[api.Object], key: str, *, grace_period_seconds: int | None = None) -> None:
        """None is the object's own period. What is gone already is no error."""

    def has(self, kind: type[api.Object], key: str) -> bool: ...

    def pods(self) -> Mapping[str, api.Pod]:
        """All pods by key, as last seen."""

    def listen(self, listener: PodListener) -> Callable[[], None]:
        """Tells of every change of a pod from now on, until what is returned is called."""
