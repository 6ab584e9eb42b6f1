# SPDX-License-Identifier: Apache-2.0
"""Rejections of documents: 400 if undecodable, 422 with a cause per field error if invalid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from steersman.api import Decoded, DecodingError, Document, FieldSchema, FieldValidation, strict_decoding
from steersman.api.validation import FieldError
from steersman.cluster.store.errors import BadRequest, StatusCause, StatusError, StatusSubject


class InvalidObject(StatusError):
    """Error 422 for an object with field errors, with a cause for each."""

    code = 422
    reason = "Invalid"

    def __init__(self, group_kind: str, name: str, problems: Sequence[FieldError]) -> None:
        texts = list(dict.fromkeys(map(str, problems)))
        why = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        causes = [StatusCause(problem.reason, problem.body, problem.field) for problem in problems]
        kind, _, group = group_kind.partition(".")
        super().__init__(f'{group_kind} "{name}" is invalid: {why}', causes, StatusSubject(name, group, kind))
        self.problems = tuple(problems)


def refuse(api_version: str, kind: str, name: str, problems: Iterable[FieldError]) -> None:
    """Raise `InvalidObject` if there are problems."""
    found = list(problems)
    if found:
        group = api_version.rpartition("/")[0]
        raise InvalidObject(f"{kind}.{group}" if group else kind, name, found)


def decoded(document: Document, schema: FieldSchema, validation: FieldValidation) -> Decoded:
    """Decode a document as Go does. Raises 400."""
    with _bad_requests():
        return strict_decoding.decoded(document, schema, validation)


def check_types(document: Document, value: Any, schema: FieldSchema) -> None:
    """Raise 400 if the value, or a value inside it, has a type other than the schema's."""
    with _bad_requests():
        strict_decoding.check_types(document, value, schema)


@contextmanager
def _bad_requests() -> Iterator[None]:
    try:
        yield
    except DecodingError as error:
        raise BadRequest(str(error)) from error
