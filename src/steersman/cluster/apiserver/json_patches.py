# SPDX-License-Identifier: Apache-2.0
"""JSON patches (RFC 6902), applied as by kube-apiserver.

kube-apiserver differs from the RFC: `replace`, `copy` and `test` treat a missing member of an
object as null, and a negative index counts from the end. Python's `jsonpatch` follows the RFC, so
it cannot be used here: see ADR 0056.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from steersman.cluster.store.documents import Document
from steersman.cluster.store.errors import BadRequest, RequestEntityTooLarge, StatusCause, Unprocessable

MAX_OPERATIONS: Final = 10_000
MAX_COPIED_BYTES: Final = 3 * 1024 * 1024
REJECTED: Final = "the server rejected our request due to an error in our request"
"""Message of kube-apiserver for every patch that does not apply; the cause has the details."""

_MISSING: Final = "missing value"


class _DoesNotApply(Exception):
    """Operation that does not apply to the document."""


def apply_json_patch(document: Document, operations: Any) -> Document:
    """Return the document after all operations. Raise `StatusError` if one does not apply."""
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        raise BadRequest("error decoding patch: a JSON patch is a list of operations, each an object")
    if len(operations) > MAX_OPERATIONS:
        raise RequestEntityTooLarge(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    target = _Target(copy.deepcopy(document))
    for index, operation in enumerate(operations):
        try:
            target.apply(operation)
        except _DoesNotApply as refusal:
            raise Unprocessable(REJECTED, [StatusCause("FieldValueInvalid", str(refusal), f"patch[{index}]")]) from None
    if not isinstance(target.root, dict):
        raise Unprocessable(REJECTED, [StatusCause("FieldValueInvalid", "the result is no object", "patch")])
    return target.root


class _Target:
    """Document that operations are applied to."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._copied_bytes = 0

    def apply(self, operation: Mapping[str, Any]) -> None:
        kind = operation.get("op")
        apply = self._KINDS.get(kind) if isinstance(kind, str) else None
        if apply is None:
            raise _DoesNotApply(f"Unexpected kind: {kind}")
        apply(self, operation, _text(operation, "path"))

    def _add(self, operation: Mapping[str, Any], path: str) -> None:
        self._insert(path, operation.get("value"), f'add operation does not apply: doc is missing path: "{path}"')

    def _remove(self, _: Mapping[str, Any], path: str) -> None:
        parent, key = self._parent(path, f'remove operation does not apply: doc is missing path: "{path}"')
        _pop(parent, key)

    def _replace(self, operation: Mapping[str, Any], path: str) -> None:
        value = operation.get("value")
        if path == "":
            self.root = value
            return
        parent, key = self._parent(path, f"replace operation does not apply: doc is missing path: {path}")
        if isinstance(parent, list):
            parent[_index(key, len(parent))] = value
        else:
            parent[key] = value

    def _move(self, operation: Mapping[str, Any], path: str) -> None:
        source = _text(operation, "from")
        parent, key = self._parent(source, f"move operation does not apply: doc is missing from path: {source}")
        value = _pop(parent, key)
        self._insert(path, value, f"move operation does not apply: doc is missing destination path: {path}")

    def _copy(self, operation: Mapping[str, Any], path: str) -> None:
        source = _text(operation, "from")
        parent, key = self._parent(source, f"copy operation does not apply: doc is missing from path: {source}")
        value = copy.deepcopy(_member(parent, key))
        self._copied_bytes += len(msgspec.json.encode(value))
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise _DoesNotApply(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{self._copied_bytes}, exceeding the limit {MAX_COPIED_BYTES}"
            )
        self._insert(path, value, f"copy operation does not apply: doc is missing destination path: {path}")

    def _test(self, operation: Mapping[str, Any], path: str) -> None:
        if path == "":
            found = self.root
        else:
            parent, key = self._parent(path, f"test operation does not apply: is missing path: {path}")
            found = _member(parent, key)
        if not _is_same(found, operation.get("value")):
            raise _DoesNotApply(f"testing value {path} failed: test failed")

    def _insert(self, path: str, value: Any, if_missing: str) -> None:
        parent, key = self._parent(path, if_missing)
        if isinstance(parent, list):
            parent.insert(len(parent) if key == "-" else _index(key, len(parent) + 1), value)
        else:
            parent[key] = value

    def _parent(self, path: str, if_missing: str) -> tuple[Any, str]:
        """Return the object or list with the last part of a JSON pointer, and that part."""
        parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
        if len(parts) < 2:
            raise _DoesNotApply(f"{if_missing}: {_MISSING}")
        parent = self.root
        for part in parts[1:-1]:
            try:
                parent = _member(parent, part)
            except _DoesNotApply:
                parent = None
        if not isinstance(parent, (dict, list)):
            raise _DoesNotApply(f"{if_missing}: {_MISSING}")
        return parent, parts[-1]

    _KINDS: Final[Mapping[str, Callable[[_Target, Mapping[str, Any], str], None]]] = {
        "add": _add,
        "remove": _remove,
        "replace": _replace,
        "move": _move,
        "copy": _copy,
        "test": _test,
    }


def _text(operation: Mapping[str, Any], name: str) -> str:
    value = operation.get(name)
    if not isinstance(value, str):
        raise _DoesNotApply(f"{operation.get('op')} operation failed to decode {name}: {_MISSING}")
    return value


def _member(parent: Any, key: str) -> Any:
    """Return the member of an object or list; None if an object does not have it."""
    if isinstance(parent, dict):
        return parent.get(key)
    if isinstance(parent, list):
        return parent[_index(key, len(parent))]
    return None


def _pop(parent: Any, key: str) -> Any:
    if isinstance(parent, list):
        return parent.pop(_index(key, len(parent)))
    if key not in parent:
        raise _DoesNotApply(f"Unable to remove nonexistent key: {key}: {_MISSING}")
    return parent.pop(key)


def _index(key: str, length: int) -> int:
    """Return the index below `length` of a pointer part; negative ones count from the end."""
    try:
        index = int(key)
    except ValueError:
        raise _DoesNotApply(f"value was not a proper array index: '{key}'") from None
    if not -length <= index < length:
        raise _DoesNotApply(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + length if index < 0 else index


def _is_same(left: Any, right: Any) -> bool:
    """Return whether both are the same JSON; Python compares `true`, `1` and `1.0` as equal."""
    if left is None or right is None:
        return left is right
    return msgspec.json.encode(left, order="sorted") == msgspec.json.encode(right, order="sorted")
