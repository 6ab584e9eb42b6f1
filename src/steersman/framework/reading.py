# SPDX-License-Identifier: Apache-2.0
"""The read-only client `handle.client` of plugins: uncached reads of single objects and lists of
any kind.

The host implements `ApiReader`: by requests to the API server (`client.api_reader`), or from the
embedded cluster (`cluster.store.store_reader`). Objects needed in every cycle belong in
`Plugin.kinds` instead, which are watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn, Protocol, TypeVar

from steersman import api
from steersman.base import SteersmanError

T = TypeVar("T", bound=api.Object)

NO_NAMESPACE: Final = "namespace: is missing; {} are namespaced"
NOT_NAMESPACED: Final = 'namespace: {} have none, got "{}"; leave it out'
NO_NAME: Final = "name: is missing; list() reads all {}"
NO_SERVER: Final = "this scheduler runs without a cluster that could be read"


class ApiReadError(SteersmanError):
    """A read failed; `code` is the API server's HTTP status (403: missing permission), or 0 without
    a response."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class ApiReader(Protocol):
    """Reads the current objects of the API server. Every method raises `ApiReadError`.

    Await it in coroutines only: `refresh`, `pre_bind`, `bind`, and coroutines given to `spawn`.
    Other methods of a plugin cannot wait, because they block the scheduling of all pods.
    """

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """Return the object with this name, or None if it does not exist."""

    async def list(
        self, kind: type[T], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[T]:
        """Return the objects of a namespace or, without one, of all; selectors have kubectl's
        syntax. Objects that do not match the class are skipped with a warning in the log."""

    async def get_document(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        """Return the object as JSON; `kind` is a kind or a plural: `get_document("v1", "ConfigMap",
        "prices", "shop")`."""

    async def list_documents(
        self, api_version: str, kind: str, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[dict[str, Any]]:
        """Return the objects as JSON, each with `apiVersion` and `kind`."""


def check_place(kind: type[api.Object], namespace: str, name: str | None = None) -> None:
    """Raise ApiReadError unless the namespace and name are valid for the kind; without `name`, for
    a list."""
    resource = resource_text(kind)
    if name is not None and not name:
        raise ApiReadError(NO_NAME.format(resource))
    if namespace and not kind.NAMESPACED:
        raise ApiReadError(NOT_NAMESPACED.format(resource, namespace))
    if name is not None and kind.NAMESPACED and not namespace:
        raise ApiReadError(NO_NAMESPACE.format(resource))


def resource_text(kind: type[api.Object]) -> str:
    """Return the resource as kubectl writes it: `pods`, `quotas.example.com`."""
    group = kind.API_VERSION.rpartition("/")[0]
    return f"{kind.PLURAL}.{group}" if group else kind.PLURAL


class NoReader:
    """The `ApiReader` of schedulers without a cluster: every call raises ApiReadError."""

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
