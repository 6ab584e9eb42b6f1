# SPDX-License-Identifier: Apache-2.0
"""Text files named by users, and documents of Steersman's own kinds: KubeletPolicy, NodePools,
Scenario, Sweep.

Configurations, policies, scenarios, sweeps and benchmark templates are read here, with errors that
name the file. A file of an own kind has one YAML document: its `apiVersion` and `kind` are checked
here, its fields by the module with the struct. `manifests` reads manifests, which may be
compressed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec

from steersman.api import yaml_documents
from steersman.api.decode_errors import NOT_UTF8
from steersman.base import InputError

T = TypeVar("T")
DocumentSource: TypeAlias = str | PathLike[str] | Mapping[str, Any]
"""File, or the document as a dict."""


def read_text(file: str | PathLike[str]) -> str:
    """Read a file without its byte order mark. Raises `InputError`."""
    with errors_in_file(str(file)):
        return Path(file).read_bytes().decode("utf-8-sig")


@contextmanager
def errors_in_file(file: str) -> Iterator[None]:
    """Convert errors of the block to `InputError`s that name the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise InputError(NOT_UTF8, file=file) from error
    except InputError as error:
        raise error.located(file=file) from error


class DocumentPart(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Base of document parts; unknown fields are rejected."""


class DocumentKind(NamedTuple):
    """Required version and kind of a document."""

    version: str
    kind: str

    def identified(self, document: Any) -> dict[str, Any]:
        """Return the document if it is of this kind. Raises `InputError`."""
        if not isinstance(document, dict):
            raise self._refusal(document)
        identity = {name: document.get(name) for name in ("apiVersion", "kind")}
        if identity != {"apiVersion": self.version, "kind": self.kind}:
            raise self._refusal(identity)
        return document

    def load(self, source: DocumentSource, convert: Callable[[dict[str, Any]], T]) -> T:
        """Load and convert a document, or the only document of a file. Raises `InputError`."""
        if isinstance(source, Mapping):
            return convert(self.identified(dict(source)))
        if not isinstance(source, str | PathLike):
            hint = f"give a document of kind {self.kind}"
            raise InputError("is neither a path nor a document", value=source, hint=hint)
        path = fspath(source)
        with errors_in_file(path):
            return convert(self.read(path))

    def read(self, path: str | Path) -> dict[str, Any]:
        """Return the only document of a file. Raises `InputError`."""
        text = read_text(path)
        with errors_in_file(str(path)):
            found = [document for document in yaml_documents.documents(text) if document is not None]
            if len(found) != 1:
                raise InputError(f"holds {len(found)} documents", hint=f"write one of kind {self.kind}")
            return self.identified(found[0])

    def _refusal(self, identity: Any) -> InputError:
        hint = f"write apiVersion: {self.version} and kind: {self.kind}"
        return InputError(f"is no {self.kind}", value=identity, hint=hint)
