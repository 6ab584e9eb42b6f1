# SPDX-License-Identifier: Apache-2.0
"""The read-only client that plugins have as `handle.client`: single objects and lists, of any kind, read when asked for.

The host implements `ApiReader`: by requests to the API server (`client.api_reader`), or from the embedded cluster
(`embedded.store_reader`). What a plugin looks at in every cycle belongs into `Plugin.kinds` instead, which are watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn, Protocol, TypeVar

from steersman import api
from steersman.errors import SteersmanError

T = TypeVar("T", bound=api.Object)

NO_NAMESPACE: Final = "namespace: is missing; {} are kept by namespace"
NOT_NAMESPACED: Final = 'namespace: {} have none, got "{}"; leave it out'
NO_NAME: Final = "name: is missing; list() reads all {}"
NO_SERVER: Final = "this scheduler runs without a cluster that could be read"


class ApiReadError(SteersmanError):
    """Something could not be read; `code` is the API server's HTTP status (403: a right is missing), 0 without an answer."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class ApiReader(Protocol):
    """Reads objects as the API server has them now. Every method raises `ApiReadError`.

    To be awaited in coroutines only: `refresh`, `pre_bind`, `bind`, and work that was given to `spawn`. No other method of a
    plugin can wait, because the scheduling of all pods would wait with it.
    """

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """The object of that name; None: there is none."""

    async def list(
        self, kind: type[T], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[T]:
        """The objects of a namespace or, without one, of all; selectors as kubectl takes them. Objects that do not fit the
        class are left out, with a warning in the log."""

    async def get_document(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        """The object as JSON has it; `kind` is a kind or a plural: `get_document("v1", "ConfigMap", "prices", "shop")`."""

    async def list_documents(
        self, api_version: str, kind: str, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[dict[str, Any]]:
        """The objects as JSON has them, each with `apiVersion` and `kind`."""


def check_place(kind: type[api.Object], namespace: str, name: str | None = None) -> None:
    """ApiReadError unless an object of that kind can be there; without `name`, a list of them."""
    resource = resource_text(kind)
    if name is not None and not name:
        raise ApiReadError(NO_NAME.format(resource))
    if namespace and not kind.NAMESPACED:
        raise ApiReadError(NOT_NAMESPACED.format(resource, namespace))
    if name is not None and kind.NAMESPACED and not namespace:
        raise ApiReadError(NO_NAMESPACE.format(resource))


def resource_text(kind: type[api.Object]) -> str:
    """`pods`, `quotas.example.com`: as kubectl writes it."""
    group = kind.API_VERSION.rpartition("/")[0]
    return f"{kind.PLURAL}.{group}" if group else kind.PLURAL


class NoReader:
    """The `ApiReader` of schedulers that have no cluster to read: every question is an `ApiReadError`."""

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        _refuse()

    async def list(
        self, kind: type[T], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[T]:
        _refuse()

    async def get_document(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        _refuse()

    async def list_documents(
        self, api_version: str, kind: str, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[dict[str, Any]]:
        _refuse()


def _refuse() -> NoReturn:
    raise ApiReadError(NO_SERVER)
