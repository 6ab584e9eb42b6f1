# SPDX-License-Identifier: Apache-2.0
"""Strategic merge patches, as sent by `kubectl patch`, `apply`, `edit`, `label` and controllers for
built-in kinds.

Like a JSON merge patch, but lists with a merge key in the schema are merged by element, and a patch
may contain directives: `$patch` (delete, replace), `$retainKeys`, `$deleteFromPrimitiveList/<list>`
and `$setElementOrder/<list>`. The schema determines how each field is merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from steersman.api import FieldSchema
from steersman.cluster.store.documents import Document
from steersman.cluster.store.errors import BadRequest, Unprocessable

DIRECTIVE: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
DELETE_PREFIX: Final = "$deleteFromPrimitiveList/"
ORDER_PREFIX: Final = "$setElementOrder/"

BAD_PRIMITIVE_LIST: Final = "invalid patch format of primitive list"
BAD_RETAIN_KEYS: Final = "invalid patch format of retainKeys"
BAD_ORDER: Final = "invalid patch format of setElementOrder list"
NO_LISTS_OF_LISTS: Final = "lists of lists are not supported"


def strategically_merged(document: Document, patch: Any, schema: FieldSchema | None) -> Document:
    """Return the patched document; fields without a schema are merged if objects, else replaced."""
    if not isinstance(patch, dict):
        raise BadRequest("a strategic merge patch is an object")
    return _merged_map(document, patch, schema)


def _merged_map(original: Document, patch: Document, schema: FieldSchema | None) -> Document:
    if DIRECTIVE in patch:
        return _replaced_map(patch)
    merged = _retained(original, patch)
    ordered = [name.removeprefix(ORDER_PREFIX) for name in patch if name.startswith(ORDER_PREFIX)]
    for name in ordered:
        _set_ordered_list(merged, name, patch, _child(schema, name))
    for name, value in patch.items():
        if name.startswith(DELETE_PREFIX):
            _delete_from_list(merged, name.removeprefix(DELETE_PREFIX), value)
        elif name == RETAIN_KEYS or name.startswith(ORDER_PREFIX) or name in ordered:
            continue
        elif value is None:
            merged.pop(name, None)
        else:
            _set_merged(merged, name, value, _child(schema, name))
    return merged


def _set_merged(merged: Document, name: str, value: Any, schema: FieldSchema | None) -> None:
    """Apply a field of the patch that is neither null nor a directive."""
    before = merged.get(name)
    if isinstance(before, dict) and isinstance(value, dict):
        replaces = schema is not None and "replace" in schema.patch_strategies
        merged[name] = _without_directives(value) if replaces else _merged_map(before, value, schema)
    elif isinstance(before, list) and isinstance(value, list):
        merged[name] = _merged_list(before, value, schema)
    elif isinstance(value, dict) and DIRECTIVE in value:
        merged.pop(name, None)
    else:
        merged[name] = _without_directives(value)


def _replaced_map(patch: Document) -> Document:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {name: _without_directives(value) for name, value in patch.items() if name != DIRECTIVE}
    if directive == "delete":
        return {}
    raise BadRequest(f"unknown patch type: {directive} in map: {_shown(patch)}")


def _retained(original: Document, patch: Document) -> Document:
    """Return a copy of the original, without fields that `$retainKeys` omits."""
    if RETAIN_KEYS not in patch:
        return dict(original)
    kept = patch[RETAIN_KEYS]
    if not isinstance(kept, list):
        raise BadRequest(BAD_RETAIN_KEYS)
    for name, value in patch.items():
        is_directive = name == RETAIN_KEYS or name.startswith((DELETE_PREFIX, ORDER_PREFIX))
        if value is not None and not is_directive and name not in kept:
            raise BadRequest(BAD_RETAIN_KEYS)
    return {name: value for name, value in original.items() if name in kept}


def _delete_from_list(merged: Document, name: str, values: Any) -> None:
    if not isinstance(values, list):
        raise BadRequest(BAD_PRIMITIVE_LIST)
    before = merged.get(name)
    if isinstance(before, list):
        merged[name] = [value for value in before if value not in values]


def _set_ordered_list(merged: Document, name: str, patch: Document, schema: FieldSchema | None) -> None:
    """Merge a list with `$setElementOrder`, then sort it."""
    order, before, changes = patch[ORDER_PREFIX + name], merged.get(name), patch.get(name, [])
    if changes is None:
        merged.pop(name, None)
        return
    if not isinstance(order, list) or not isinstance(changes, list) or not isinstance(before, (list, type(None))):
        raise BadRequest(BAD_ORDER)
    if not changes and before is None:
        return
    merge_key = "" if schema is None else schema.patch_merge_key
    _check_order(changes, order, merge_key)
    both = _merged_list(before, changes, schema) if before is not None and changes else _plain(before or changes)
    listed, others = _partition(both, order, merge_key)
    merged[name] = _in_order(listed, others, order, before or [], merge_key)


def _check_order(changes: list[Any], order: list[Any], merge_key: str) -> None:
    """Raise 400 unless the elements of the patch are in the order that it sets."""
    keyed = [element for element in changes if not _has_directive(element)]
    if not order or not keyed:
        return
    positions = iter([_key(element, merge_key) for element in order])
    if not all(_key(element, merge_key) in positions for element in keyed):
        raise BadRequest(
            f"The order in patch list:\n{_shown(changes)}\n doesn't match $setElementOrder list:\n{_shown(order)}\n"
        )


def _merged_list(original: list[Any], patch: list[Any], schema: FieldSchema | None) -> list[Any]:
    if schema is None or "merge" not in schema.patch_strategies:
        return _plain(patch)
    if not original and not patch:
        return original
    if not _are_objects([*original, *patch]):
        both = list(dict.fromkeys([*original, *patch]))
        listed, others = _partition(both, patch, "")
        return _in_order(listed, others, patch, original, "")
    merge_key = schema.patch_merge_key
    if not merge_key:
        raise BadRequest(f"cannot merge lists without merge key for {schema.definition or 'this list'}")
    original, patch = _after_directives(original, patch, merge_key)
    merged = _merged_elements(original, patch, merge_key, schema.elements)
    listed, others = _partition(merged, patch, merge_key)
    return _in_order(listed, others, patch, original, merge_key)


def _after_directives(original: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Return the list without elements that the patch deletes, and the patch without directives."""
    plain: list[Any] = []
    is_replaced = False
    for element in patch:
        directive = element.get(DIRECTIVE)
        if directive is None:
            plain.append(element)
        elif directive == "delete":
            gone = _key(element, merge_key)
            original = [other for other in original if other.get(merge_key) != gone]
        elif directive == "replace":
            is_replaced = True
        elif directive == "merge":
            raise BadRequest("merging lists cannot yet be specified in the patch")
        else:
            raise BadRequest(f"unknown patch type: {directive} in map: {_shown(element)}")
    return (_plain(plain), []) if is_replaced else (original, plain)


def _merged_elements(original: list[Any], patch: list[Any], merge_key: str, schema: FieldSchema | None) -> list[Any]:
    merged = list(original)
    for element in patch:
        key = _key(element, merge_key)
        place = next((index for index, other in enumerate(merged) if other.get(merge_key) == key), None)
        if place is None:
            merged.append(_without_directives(element))
        else:
            merged[place] = _merged_map(merged[place], element, schema)
    return merged


def _partition(elements: list[Any], by: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Split the elements into those that are also in `by`, and the rest."""
    listed = {_key(element, merge_key) for element in by}
    are_listed: list[Any] = []
    others: list[Any] = []
    for element in elements:
        (are_listed if _key(element, merge_key) in listed else others).append(element)
    return are_listed, others


def _in_order(
    listed: list[Any], others: list[Any], order: Sequence[Any], live_order: Sequence[Any], merge_key: str
) -> list[Any]:
    """Interleave the patch's elements, in its order, and the rest, by live order."""
    wanted, live = _positions(order, merge_key), _positions(live_order, merge_key)
    first = sorted(others, key=_sort_key(live, merge_key))
    second = sorted(listed, key=_sort_key(wanted, merge_key))
    merged: list[Any] = []
    while first and second:
        left, right = live.get(_key(first[0], merge_key)), live.get(_key(second[0], merge_key))
        is_left = left is not None and right is not None and left < right
        merged.append((first if is_left else second).pop(0))
    return [*merged, *first, *second]


def _positions(elements: Iterable[Any], merge_key: str) -> dict[Any, int]:
    positions: dict[Any, int] = {}
    for index, element in enumerate(elements):
        positions.setdefault(_key(element, merge_key), index)
    return positions


def _sort_key(positions: dict[Any, int], merge_key: str) -> Callable[[Any], int]:
    return lambda element: positions.get(_key(element, merge_key), len(positions))


def _key(element: Any, merge_key: str) -> Any:
    """Return the identity of a list element: the merge key of an object, or the scalar."""
    if not merge_key:
        if isinstance(element, (dict, list)):
            raise Unprocessable(
                NO_LISTS_OF_LISTS if isinstance(element, list) else f"expected a scalar: {_shown(element)}"
            )
        return element
    if not isinstance(element, dict):
        raise BadRequest(f"expected a map, but received {_shown(element)}")
    if merge_key not in element or isinstance(element[merge_key], (dict, list)):
        raise BadRequest(f"map: {_shown(element)} does not contain declared merge key: {merge_key}")
    return element[merge_key]


def _are_objects(elements: list[Any]) -> bool:
    if any(isinstance(element, list) for element in elements):
        raise Unprocessable(NO_LISTS_OF_LISTS)
    kinds = {isinstance(element, dict) for element in elements}
    if len(kinds) > 1:
        raise BadRequest(f"list element types are not identical: {_shown(elements)}")
    return kinds == {True}


def _has_directive(element: Any) -> bool:
    return isinstance(element, dict) and DIRECTIVE in element


def _child(schema: FieldSchema | None, name: str) -> FieldSchema | None:
    return None if schema is None else schema.child(name)


def _without_directives(value: Any) -> Any:
    """Return a new value to store, without directives and nulls."""
    if isinstance(value, list):
        return _plain(value)
    if not isinstance(value, dict):
        return value
    return {
        name: _without_directives(member)
        for name, member in value.items()
        if member is not None and name != RETAIN_KEYS and not name.startswith((DELETE_PREFIX, ORDER_PREFIX))
        if not _has_directive(member)
    }


def _plain(elements: list[Any]) -> list[Any]:
    return [_without_directives(element) for element in elements if not _has_directive(element)]


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else text[:199] + "…"
