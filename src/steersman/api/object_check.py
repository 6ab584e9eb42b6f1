# SPDX-License-Identifier: Apache-2.0
"""Checks of objects from files or dicts: unknown fields, and values that no API server would store.

`manifests`, `simulation.sources` and `sandbox.manifest_files` pass every object to an `ObjectCheck`
and finally call `raise_errors`, so that all errors are reported together. The rules are those of
the sandbox's API server (`api.validation`). An unknown field is reported once per kind, with the
number of affected objects, because a dump repeats it in every object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec

from steersman.api import codec
from steersman.api.defaults import with_default_fields
from steersman.api.defaults.service_fields import with_normal_addresses
from steersman.api.documents import Found, SourcePlace
from steersman.api.json_values import Document, group_kind, part, repeated_fields
from steersman.api.schemas import schema_of
from steersman.api.source_lines import SourceLines
from steersman.api.strict_decoding import DecodingError, decoded
from steersman.api.unknown_fields import UnknownField, closest, find_unknown_fields, quick_verdict
from steersman.api.unknown_kinds import unknown_kind
from steersman.api.validation import FieldError, validate
from steersman.api.validation.metadata import validate_metadata, with_metadata_errors
from steersman.base import InputError, InputErrors

Validation: TypeAlias = Literal["strict", "warn", "lenient", "ignore"]
"""strict: unknown fields and invalid values are errors. warn: unknown fields are notes, invalid
values errors. lenient: both are notes. ignore: no checks."""
VALIDATIONS: Final[tuple[Validation, ...]] = get_args(Validation)

ExtraRules: TypeAlias = Callable[[Document], Iterable[FieldError]]
"""Rules of higher packages for a new object with defaults."""

UNKNOWN: Final = "is not a field of this kind"
MAX_LINES: Final = 20
MAX_ERRORS_OF_AN_OBJECT: Final = 8
_MAX_WALKS: Final = 200
"""Maximum number of objects of a kind whose unknown fields are listed; others are counted."""
_UNSUPPORTED: Final = re.compile(r'Unsupported value: ("[^"]*"): supported values: (.*)')


class _StoredMetadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Stored(msgspec.Struct):
    metadata: _StoredMetadata = msgspec.field(default_factory=_StoredMetadata)


class ObjectCheck:
    """Checks objects and collects notes and errors."""

    def __init__(self, validation: Validation, extra_rules: ExtraRules | None = None) -> None:
        if validation not in VALIDATIONS:
            raise InputError("is not a way to validate", value=validation, hint=f"use one of {', '.join(VALIDATIONS)}")
        self.validation = validation
        self._extra_rules = extra_rules
        self._errors: list[InputError] = []
        #: (kind, path, message) → error of the first object, and number of affected objects.
        self._notes: dict[tuple[str, str, str], tuple[InputError, int]] = {}
        self._walks: dict[str, int] = {}
        self._unwalked: dict[str, int] = {}
        self._valid: set[int] = set()

    def check(self, found: Found, api_version: str, describe: Callable[[], str], *, checks_values: bool = True) -> None:
        """Check an object of a file. `api_version` is the default version; `describe` returns the
        object's name."""
        if self.validation == "ignore":
            return
        kind, version = found.header.kind or "", found.header.api_version or api_version
        if schema_of(version, kind) is None:
            return
        if isinstance(found.data, dict):
            self._check_document(found.data, version, kind, found.place, describe, checks_values=checks_values)
            return
        verdict = quick_verdict(found.data, version, kind)
        checks_fields = verdict != "known" and not (verdict == "unknown" and self._has_enough_walks(kind))
        checks_values = checks_values and not _is_stored(found.data)
        if not (checks_fields or checks_values):
            return
        try:
            document = codec.plain(found.data)
        except InputError:
            return  # decoding the object reports it
        if checks_values and (repeated := next(repeated_fields(bytes(found.data)), None)):
            error = InputError("is given twice", field=repeated, hint="remove one of the two values")
            self._report(error, kind, found.place, describe, is_error=self.validation != "lenient")
        self._check_document(
            document, version, kind, found.place, describe, checks_fields=checks_fields, checks_values=checks_values
        )

    def check_kind(self, found: Found, describe: Callable[[], str]) -> None:
        """Check an object of an unread kind: kind or version may be misspelt or removed."""
        error = unknown_kind(found.header.api_version or "", found.header.kind or "")
        if error is not None and self.validation != "ignore":
            self._report(error, found.header.kind or "", found.place, describe, is_error=self.validation == "strict")

    def check_document(self, document: Any, object_name: str) -> None:
        """Check an object given as a dict."""
        if self.validation == "ignore" or not isinstance(document, dict):
            return
        version, kind = document.get("apiVersion"), document.get("kind")
        if isinstance(version, str) and isinstance(kind, str):
            self._check_document(document, version, kind, None, lambda: object_name)

    def add_note(self, kind: str, note: InputError) -> None:
        """Add a note about a usable object."""
        if self.validation != "ignore":
            identity = (kind, note.field or "", note.message)
            known = self._notes.get(identity)
            self._notes[identity] = (note, 1) if known is None else (known[0], known[1] + 1)

    def add_error(self, error: InputError) -> None:
        """Add an error about an unusable object."""
        self._errors.append(error)

    def raise_errors(self) -> None:
        """Raise `InputError` if there are errors."""
        if self._errors:
            shown = map(SourceLines().with_line, self._errors[:MAX_LINES])
            errors = [*shown, *self._errors[MAX_LINES:]]
            raise errors[0] if len(errors) == 1 else InputErrors(errors)

    def lines(self) -> Iterator[str]:
        """Yield a line per problem and kind, most frequent first, at most `MAX_LINES`."""
        noted = sorted(self._notes.items(), key=lambda item: -item[1][1])
        for (kind, _, _), (error, count) in noted[:MAX_LINES]:
            others = f" (and {count - 1:,} other {kind} objects)" if count > 1 else ""
            yield f"{error}{others}"
        if len(noted) > MAX_LINES:
            yield f"{len(noted) - MAX_LINES:,} more fields are unknown or invalid"
        for kind, count in self._unwalked.items():
            yield f"{count:,} more {kind} objects have unknown fields"

    def _has_enough_walks(self, kind: str) -> bool:
        self._walks[kind] = self._walks.get(kind, 0) + 1
        is_enough = self.validation != "strict" and self._walks[kind] > _MAX_WALKS
        if is_enough:
            self._unwalked[kind] = self._unwalked.get(kind, 0) + 1
        return is_enough

    def _check_document(
        self,
        document: Document,
        version: str,
        kind: str,
        place: SourcePlace | None,
        describe: Callable[[], str],
        *,
        checks_fields: bool = True,
        checks_values: bool = True,
    ) -> None:
        schema = schema_of(version, kind)
        if schema is None:
            return
        unknown = list(find_unknown_fields(document, schema)) if checks_fields else []
        checks_values = checks_values and not _has_stored_metadata(part(document, "metadata"))
        invalid = self._invalid_values({"apiVersion": version, **document, "kind": kind}) if checks_values else []
        if not (unknown or invalid):
            return
        describe = cache(describe)
        for field in unknown:
            self._report(_unknown(field), kind, place, describe, is_error=self.validation == "strict")
        if len(invalid) > MAX_ERRORS_OF_AN_OBJECT:
            more = InputError(f"{len(invalid) - MAX_ERRORS_OF_AN_OBJECT:,} more fields are invalid")
            invalid = [*invalid[:MAX_ERRORS_OF_AN_OBJECT], more]
        for error in invalid:
            self._report(error, kind, place, describe, is_error=self.validation != "lenient")

    def _invalid_values(self, document: Document) -> list[InputError]:
        """Return an API server's errors for a new object; replicas of valid ones are skipped."""
        replica = _without_identity(document)
        if replica in self._valid:
            whole = {**document, "metadata": _named(part(document, "metadata"))}
            return [_input_error(error) for error in validate_metadata(whole, None)]
        errors = self._field_errors(document)
        if not errors:
            self._valid.add(replica)
        return errors

    def _field_errors(self, document: Document) -> list[InputError]:
        schema = schema_of(document["apiVersion"], document["kind"])
        assert schema is not None, "the caller has read it"
        try:
            known = decoded(document, schema, "Ignore").document
        except DecodingError as error:
            return [InputError(str(error))]
        whole = with_default_fields({**known, "metadata": _named(part(known, "metadata"))})
        if group_kind(whole) == ("", "Service"):
            whole = with_normal_addresses(whole, None)
        errors = with_metadata_errors(whole, validate(whole, is_decoded=True))
        errors += self._extra_rules(whole) if self._extra_rules is not None else ()
        return [_input_error(error) for error in errors]

    def _report(
        self, error: InputError, kind: str, place: SourcePlace | None, describe: Callable[[], str], *, is_error: bool
    ) -> None:
        identity = (kind, error.field or "", error.message)
        known = self._notes.get(identity)
        if known is not None and not is_error:
            self._notes[identity] = (known[0], known[1] + 1)
            return
        error = error.located(object=describe())
        if place is not None:
            error = error.located(**place._asdict())
        if is_error:
            self._errors.append(error)
        else:
            self._notes[identity] = (error, 1)


def _named(metadata: Document) -> Document:
    """Return the metadata with a name like a generated one."""
    if metadata.get("name") or not metadata.get("generateName"):
        return metadata
    return {**metadata, "name": f"{metadata['generateName']}xxxxx"}


def _unknown(field: UnknownField) -> InputError:
    return InputError(UNKNOWN, field=field.path, hint=field.hint)


def _input_error(error: FieldError) -> InputError:
    return InputError(error.body, field=error.field, hint=_suggestion(error.body))


def _suggestion(body: str) -> str | None:
    """Return "did you mean" with a similar supported value, or None."""
    unsupported = _UNSUPPORTED.fullmatch(body)
    if unsupported is None:
        return None
    meant = closest(json.loads(unsupported[1]), json.loads(f"[{unsupported[2]}]"))
    return f'did you mean "{meant}"?' if meant else None


def _without_identity(document: Document) -> int:
    """Return a hash of the parts that replicas of an object share."""
    metadata, spec = part(document, "metadata"), part(document, "spec")
    common = {name: value for name, value in document.items() if name not in ("metadata", "spec", "status")}
    common["labels"], common["annotations"] = metadata.get("labels"), metadata.get("annotations")
    common["spec"] = (
        {name: value for name, value in spec.items() if name != "nodeName"} if spec else document.get("spec")
    )
    if document["kind"] != "Pod":
        common["status"] = document.get("status")
    return hash(msgspec.json.encode(common))


def _is_stored(data: bytes | msgspec.Raw) -> bool:
    try:
        stored = msgspec.json.decode(data, type=_Stored).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return bool(stored.uid and stored.resource_version)


def _has_stored_metadata(metadata: Document) -> bool:
    """Return whether an API server has stored, thus validated, the object: accept dumps."""
    return bool(metadata.get("uid") and metadata.get("resourceVersion"))
