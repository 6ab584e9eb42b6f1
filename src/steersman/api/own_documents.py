# SPDX-License-Identifier: Apache-2.0
"""Documents of Steersman's own kinds, as users write them in files: KubeletPolicy, NodePools, Scenario, Sweep.

A file holds one YAML document. Its `apiVersion` and `kind` are checked here, its fields by the module that has the struct.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from steersman.api import yaml_documents
from steersman.api.text_files import errors_in_file, read_text
from steersman.errors import InputError


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
