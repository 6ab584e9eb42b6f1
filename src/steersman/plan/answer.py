# SPDX-License-Identifier: Apache-2.0
"""The answer to a planning question: a frozen struct with a versioned JSON document and a report.

The fields of the struct are those of the document in camel case, after `apiVersion` and `kind`.
`schema` returns the JSON schema of a kind; `steersman/plan/schemas` contains the shipped ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from steersman.base import PLAN_VERSION, document_schema
from steersman.base.report import Report, Section, Table
from steersman.simulation import Simulation

OnEnd = Callable[[Simulation], object]
"""Callback with the final simulation of an answer, which is closed afterwards."""


class Part(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A part of an answer: its fields in camel case."""


class PlanAnswer(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """An answer to a question of planners: fields of a versioned document, a sentence, rows, and
    sections of a report."""

    KIND: ClassVar[str]
    #: Remarks about the input and the answer, one sentence each.
    notes: tuple[str, ...] = ()

    @property
    @abstractmethod
    def is_met(self) -> bool:
        """Whether the answer is positive; determines the command's exit code."""

    @abstractmethod
    def sentence(self) -> str:
        """Return the answer in one sentence."""

    @abstractmethod
    def question(self) -> str:
        """Return the question in one sentence."""

    @abstractmethod
    def sections(self) -> list[Section]:
        """Return tables and charts; terminals show tables and texts. Empty tables are omitted."""

    def report(self, commands: Sequence[str] = ()) -> Report:
        """Return question, answer, tables and charts as a report; `commands` reproduce it."""
        shown = [section for section in self.sections() if not (isinstance(section, Table) and not section.rows)]
        return Report(self.KIND, self.question(), f"{self.sentence()}.", shown, commands, self.notes, self.is_met)

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return rows with the same columns, for spreadsheets."""

    def to_dict(self) -> dict[str, Any]:
        """Return the document as plain lists, dicts and values."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        notes = fields.pop("notes")
        return {"apiVersion": PLAN_VERSION, "kind": self.KIND, **fields, "notes": notes}


def grouped(pods: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return rows (pods, text), one for all pods of a namespace with the same text."""
    names: dict[tuple[str, str], list[str]] = {}
    for pod, text in pods.items():
        names.setdefault((pod.partition("/")[0], text), []).append(pod)
    return [
        (found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more", text)
        for (_, text), found in names.items()
    ]


def schema(answer: type[PlanAnswer]) -> dict[str, Any]:
    """Return the JSON schema of the answer's document."""
    return document_schema(answer, PLAN_VERSION, answer.KIND)
