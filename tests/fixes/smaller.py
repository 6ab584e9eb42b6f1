# SPDX-License-Identifier: Apache-2.0
"""Smaller fixes: a fix as its JSON has it, less one part, or with one number a step nearer to what it was.

Knows JSON and quantities, and nothing of how fixes are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from tests.fixes.applying import applied, is_named
from tests.fixes.documents import HOSTNAME, Document, Documents

from steersman.api import quantity
from steersman.base.errors import InputError

_MEBIBYTE: Final = 2**20


def smaller_documents(documents: Documents, fix: Document) -> Iterator[tuple[str, Documents]]:
    """The documents with a little less of the fix, and what was left out."""
    for name in ("patches", "create", "delete"):
        for position, left_out in enumerate(fix[name]):
            fewer = [each for index, each in enumerate(fix[name]) if index != position]
            if not _goes_with(left_out, fix):
                yield f"without {name}[{position}]", applied(documents, {**fix, name: fewer})
    whole = applied(documents, fix)
    for before in documents:
        after = next((each for each in whole if is_named(each, _name(before))), None)
        if after is not None and after != before:
            for what, less in _nearer(before, after, ""):
                yield what, [less if each is after else each for each in whole]
    for created in fix["create"]:
        for what, less in _smaller_object(created, documents):
            yield what, [less if each == created else each for each in whole]


def _goes_with(left_out: Document, fix: Document) -> bool:
    """What a driver publishes about a node that is created goes with the node."""
    return left_out.get("kind") in ("CSINode", "ResourceSlice") and any(
        each["kind"] == "Node" for each in fix["create"]
    )


def _name(document: Document) -> Document:
    metadata = document["metadata"]
    return {"kind": document["kind"], "namespace": metadata.get("namespace", ""), "name": metadata["name"]}


# -- one difference less -----------------------------------------------------------------------------------------------


def _nearer(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What comes after, with one difference taken back, or by one step."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _nearer_map(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _nearer_list(before, after, path)
    elif before != after:
        yield f"{path} as before", before
        step = _step(before, after, path)
        if step is not None:
            yield f"{path} {step}", step


def _nearer_map(before: Document, after: Document, path: str) -> Iterator[tuple[str, Document]]:
    for name in {**before, **after}:
        if path.endswith(".limits") and "/" in name:
            continue  # an API server wants the request and the limit of an extended resource to be the same
        if name not in after:
            yield f"{path}.{name} as before", {**after, name: before[name]}
        elif name not in before:
            yield f"{path}.{name} not added", {key: value for key, value in after.items() if key != name}
        else:
            for what, less in _nearer(before[name], after[name], f"{path}.{name}"):
                yield what, {**after, name: less}


def _nearer_list(before: list[Any], after: list[Any], path: str) -> Iterator[tuple[str, list[Any]]]:
    if len(before) == len(after) and all(isinstance(each, dict) for each in (*before, *after)):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            for what, less in _nearer(old, new, f"{path}[{index}]"):
                yield what, [*after[:index], less, *after[index + 1 :]]
        return
    if len(before) == len(after) == 1:
        for what, less in _nearer(before[0], after[0], f"{path}[0]"):
            yield what, [less]
        return
    for index, gone in enumerate(before):
        if gone not in after:
            yield f"{path} with {gone}", [*after[:index], gone, *after[index:]]
    for added in after:
        if added not in before:
            yield f"{path} without {added}", [each for each in after if each != added]


def _step(before: Any, after: Any, path: str) -> Any:
    """The number one step nearer to what it was; None for what is no number."""
    if isinstance(before, bool) or isinstance(after, bool):
        return None
    if isinstance(before, int) and isinstance(after, int):
        return after + (1 if before > after else -1)
    if not isinstance(before, str) or not isinstance(after, str):
        return None
    try:
        rises = quantity.compare(quantity.parse(before), quantity.parse(after)) > 0
    except InputError:
        return None
    return one_step(path.rpartition(".")[2], after, 1 if rises else -1)


def one_step(resource: str, amount: str, sign: int) -> str:
    """The amount, more or less by a millicore, by a piece, or by the unit in which bytes are whole, a mebibyte at most."""
    if resource.endswith("cpu"):
        return f"{quantity.milli_value_of(amount) + sign}m"
    number = quantity.value_of(amount)
    is_bytes = resource.endswith(("memory", "storage"))
    return str(number + sign * (min(_MEBIBYTE, number & -number) if is_bytes and number else 1))


# -- objects that are created ------------------------------------------------------------------------------------------


def _smaller_object(created: Document, documents: Documents) -> Iterator[tuple[str, Document]]:
    if created["kind"] == "PriorityClass":
        yield "lower priority", {**created, "value": created["value"] - 1}
    elif created["kind"] == "PersistentVolume" and not _is_spoken_for(created, documents):
        less = deepcopy(created)
        less["spec"]["capacity"]["storage"] = one_step("storage", created["spec"]["capacity"]["storage"], -1)
        yield "smaller volume", less
    elif created["kind"] == "Node":
        yield from _smaller_node(created, documents)


def _is_spoken_for(volume: Document, documents: Documents) -> bool:
    """Whether a claim has the volume already, which is as large as the claim says then, and is not compared any more."""
    claims = [each for each in documents if each["kind"] == "PersistentVolumeClaim"]
    return any(claim["spec"].get("volumeName") == volume["metadata"]["name"] for claim in claims)


def _smaller_node(created: Document, documents: Documents) -> Iterator[tuple[str, Document]]:
    """One that is no copy, with a little less of everything; instead of a copy, smaller nodes that there are."""
    offered = created["status"]["allocatable"]
    models = [document for document in documents if document["kind"] == "Node"]
    if not any(_amounts(model) == offered for model in models):
        for resource in set(offered) - {"pods"}:
            less = {**offered, resource: one_step(resource, offered[resource], -1)}
            yield f"node with less {resource}", {**created, "status": {"allocatable": less, "capacity": less}}
    for model in models:
        if _is_less(_amounts(model), offered):
            smaller = deepcopy(model)
            name = created["metadata"]["name"]
            smaller["metadata"]["name"] = smaller["metadata"]["labels"][HOSTNAME] = name
            smaller.get("spec", {}).pop("unschedulable", None)
            yield f"a copy of {model['metadata']['name']}", smaller


def _amounts(node: Document) -> Document:
    found: Document = node["status"]["allocatable"]
    return found


def _is_less(amounts: Document, than: Document) -> bool:
    order = [quantity.compare(quantity.parse(amounts.get(name, "0")), quantity.parse(than[name])) for name in than]
    return max(order) <= 0 and min(order) < 0 and set(amounts) <= set(than)
