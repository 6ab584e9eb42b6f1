# SPDX-License-Identifier: Apache-2.0
"""Text files that users name, and documents of Steersman's own kinds in them: KubeletPolicy, NodePools, Scenario, Sweep.

Configurations, policies, scenarios, sweeps and templates of benchmarks are read here, with errors that name the file. A file of
an own kind holds one YAML document: its `apiVersion` and `kind` are checked here, its fields by the module that has the struct.
Manifests, which may be packed, are read by `manifests`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from steersman.api import yaml_documents
from steersman.api.decode_errors import NOT_UTF8
from steersman.errors import InputError


def read_text(file: str | PathLike[str]) -> str:
    """The text of a file, without a byte order mark. Raises `InputError`."""
    with errors_in_file(str(file)):
        return Path(file).read_bytes().decode("utf-8-sig")


@contextmanager
def errors_in_file(file: str) -> Iterator[None]:
    """Errors of the block, which reads and checks the file, become `InputError`s that name it."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise InputError(NOT_UTF8, file=file) from error
    except InputError as error:
        raise error.located(file=file) from error


class DocumentPart(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Base of the parts of a document: unknown fields are refused."""


class DocumentKind(NamedTuple):
    """The kind of a document, as its author has to write it."""

    version: str
    kind: str

    def identified(self, document: Any) -> dict[str, Any]:
        """The document, which is of this kind; raises `InputError` for any other value."""
        if not isinstance(document, dict):
            raise self._refusal(document)
        told = {name: document.get(name) for name in ("apiVersion", "kind")}
        if told != {"apiVersion": self.version, "kind": self.kind}:
            raise self._refusal(told)
        return document

    def read(self, path: str | Path) -> dict[str, Any]:
        """The only document of a file. Raises `InputError`."""
        text = read_text(path)
        with errors_in_file(str(path)):
            found = [document for document in yaml_documents.documents(text) if document is not None]
            if len(found) != 1:
                raise InputError(f"holds {len(found)} documents", hint=f"write one of kind {self.kind}")
            return self.identified(found[0])

    def _refusal(self, told: Any) -> InputError:
        hint = f"write apiVersion: {self.version} and kind: {self.kind}"
        return InputError(f"is no {self.kind}", value=told, hint=hint)
