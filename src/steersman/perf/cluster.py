"""The cluster that workloads are run on, as its users see it: the seam between the operations and the API server.

`running` and its neighbours know nothing else. `embedded_host` implements it in the process, `api_server_cluster` on an API
server behind HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

from steersman import api
from steersman.perf.templates import Draft

T = TypeVar("T", bound=api.Object)
PodListener: TypeAlias = Callable[[api.Pod | None, api.Pod | None], None]
"""Called with a pod as it was and as it is: None before it came, and after it went."""


class Cluster(Protocol):
    """Refusals of the API server are raised as `SteersmanError`."""

    async def create(self, draft: Draft) -> str:
        """The key of the new object, which has the status that it came with."""

    async def create_all(self, groups: Iterable[Sequence[Draft]]) -> None:
        """Group after group, or several of them at the same time; within a group one after the other."""

    async def provide_namespace(self, namespace: api.Namespace) -> None:
        """Creates it unless it exists."""

    async def update(self, draft: Draft, subresources: Sequence[str] = ()) -> None:
        """Writes what the draft says to the object of its name, or to its subresources; the status too, if it has any."""

    async def delete(self, kind: type[api.Object], key: str, *, grace_period_seconds: int | None = None) -> None:
        """None is the object's own period. What is gone already is no error."""

    async def delete_pods(self, keys: Iterable[str], *, grace_period_seconds: int | None = None) -> None:
        """All of them, as fast as it goes."""

    async def list(self, kind: type[T]) -> Sequence[T]:
        """All objects of a kind, as they are now."""

    def pods(self) -> Mapping[str, api.Pod]:
        """All pods by key, as last seen."""

    def listen(self, listener: PodListener) -> Callable[[], None]:
        """Tells of every change of a pod from now on, until what is returned is called."""
