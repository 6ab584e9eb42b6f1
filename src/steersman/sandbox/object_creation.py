# SPDX-License-Identifier: Apache-2.0
"""Creation of objects from YAML or JSON text on the web page: one or more documents, any kinds.

    text ─► documents ─► unknown fields, kinds ─► the Kubernetes API of the sandbox ─► what was created, and problems by line

An invalid object does not stop the creation of others. An existing object is updated by server-side
apply, so that a partly refused text can be sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

import msgspec
import yaml

from steersman.api import DEFAULT_NAMESPACE, UNKNOWN, Found, codec, find_objects, find_unknown_fields, schema_of
from steersman.base import InputError
from steersman.cluster.apiserver import Catalog, Resource
from steersman.sandbox.object_templates import collection_path
from steersman.sandbox.web import WebRefusal
from steersman.sandbox.web.answers import InputProblem, WebPart, problem_of
from steersman.sandbox.web.configuration_page import line_in

TYPED: Final = "text"
APPLY: Final = "application/apply-patch+yaml"
_DRY_RUN: Final = {"dryRun": "All"}
_APPLIED: Final = {"fieldManager": "steersman-web", "force": "true"}
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Call = Callable[[str, str, dict[str, str], str, bytes], tuple[int, dict[str, Any]]]
"""Sends method, path, query, content type and body; returns status and document."""


class CreationResult(WebPart, frozen=True):
    """The outcome by object, named like `Deployment default/web`."""

    created: list[str]
    updated: list[str]
    problems: list[InputProblem]


def create_objects(text: str, namespace: str, *, dry_run: bool, catalog: Catalog, call: Call) -> CreationResult:
    """Create or update every object of `text`, by default in `namespace`. Raise `WebRefusal` if the
    text is malformed."""
    result = CreationResult([], [], [])
    try:
        found = list(find_objects(TYPED, text.encode(), is_json=False))
    except InputError as error:
        raise WebRefusal(422, "Invalid", str(error), [problem_of(error)]) from error
    if not found:
        raise WebRefusal(422, "Invalid", "holds no objects: paste one or more Kubernetes manifests", [])
    query = _DRY_RUN if dry_run else {}
    nodes = cache(lambda: list(yaml.compose_all(text, Loader=_LOADER)))
    for one in found:
        document = one.data if isinstance(one.data, dict) else codec.plain(one.data)
        document |= {"apiVersion": one.header.api_version, "kind": one.header.kind}
        name, problems = _description(document), list(_problems(document, catalog))
        if not problems:
            resource = catalog.of_kind(str(document["apiVersion"]), document["kind"])
            assert resource is not None, "another kind is a problem"
            outcome, problems = _created(document, resource, namespace, query, call)
            if not problems:
                (result.created if outcome == 201 else result.updated).append(name)
        result.problems.extend(
            msgspec.structs.replace(problem, object=name, line=_line(nodes(), one, problem.field))
            for problem in problems
        )
    return result


def _created(
    document: dict[str, Any], resource: Resource, namespace: str, query: dict[str, str], call: Call
) -> tuple[int, list[InputProblem]]:
    meta = _metadata(document)
    path = collection_path(resource, str(meta.get("namespace") or namespace or DEFAULT_NAMESPACE))
    body = msgspec.json.encode(document)
    code, answer = call("POST", path, {**query, "fieldValidation": "Strict"}, "application/json", body)
    if code == 409 and answer.get("reason") == "AlreadyExists":
        code, answer = call("PATCH", f"{path}/{meta['name']}", {**query, **_APPLIED}, APPLY, body)
    if code < 400:
        return code, []
    causes = (answer.get("details") or {}).get("causes") or [{"message": answer.get("message", "")}]
    return code, [InputProblem(cause.get("message", ""), cause.get("field") or None) for cause in causes]


def _problems(document: dict[str, Any], catalog: Catalog) -> Iterator[InputProblem]:
    version, kind = str(document["apiVersion"]), str(document["kind"])
    if catalog.of_kind(version, kind) is None:
        known = {resource.kind: resource.api_version for resource in catalog.all()}
        near = [kind] if kind in known else get_close_matches(kind, known, 1, 0.7)
        hint = (
            f'did you mean "{near[0]}" of "{known[near[0]]}"?' if near else "create its CustomResourceDefinition first"
        )
        yield InputProblem(f'no resource is served for {kind} of "{version}"', "kind", kind, hint)
        return
    schema = schema_of(version, kind)
    for field in () if schema is None else find_unknown_fields(document, schema):
        yield InputProblem(UNKNOWN, field.path, hint=field.hint)


def _line(nodes: list[yaml.Node], found: Found, field: str | None) -> int | None:
    """Return the line of a field of an object, or of the object if it lacks the field."""
    node = nodes[found.place.document - 1]
    item = "" if found.place.item is None else f"items[{found.place.item - 1}]"
    begin = line_in(node, item) or int(node.start_mark.line) + 1
    return line_in(node, f"{item}.{field}".strip(".")) if field else begin


def _metadata(document: dict[str, Any]) -> dict[str, Any]:
    meta = document.get("metadata")
    return meta if isinstance(meta, dict) else {}


def _description(document: dict[str, Any]) -> str:
    meta = _metadata(document)
    names = (meta.get("namespace"), meta.get("name") or f"{meta.get('generateName', '')}*")
    return f"{document['kind']} {'/'.join(str(name) for name in names if name)}"
