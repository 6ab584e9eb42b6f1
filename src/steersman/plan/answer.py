# SPDX-License-Identifier: Apache-2.0
"""The answer to a planner's question: a frozen struct that is a versioned JSON document, and a report for people.

Every question of this package has a function that takes a `Simulation` and gives a `PlanAnswer`. The fields of the struct are
the fields of the document, in camel case; `apiVersion` and `kind` come before them. `schema` gives the JSON schema of a kind;
those that are shipped are in `steersman/plan/schemas`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import msgspec

from steersman.report import Report, Section, Table
from steersman.sim import Simulation

API_VERSION: Final = "steersman.dev/plan/v1"
SCHEMA_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

OnEnd = Callable[[Simulation], object]
"""Is given the simulation that an answer is about, at its end; it is closed afterwards."""


class Part(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A part of an answer: its fields in camel case."""


class PlanAnswer(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """An answer to a question of planners: fields of a versioned document, a sentence, rows, and sections of a report."""

    KIND: ClassVar[str]
    #: What the reader should know about the input and the answer, one sentence each.
    notes: tuple[str, ...] = ()

    @property
    @abstractmethod
    def is_met(self) -> bool:
        """Whether the answer is a yes; the exit code of the command."""

    @abstractmethod
    def sentence(self) -> str:
        """The answer in one sentence."""

    @abstractmethod
    def question(self) -> str:
        """The question, as a person would ask it."""

    @abstractmethod
    def sections(self) -> list[Section]:
        """Tables and charts that show why; a terminal shows the tables and texts. Tables without rows are left out."""

    def report(self, commands: Sequence[str] = ()) -> Report:
        """For people: what was asked, the answer, tables and charts; `commands` repeat it."""
        shown = [section for section in self.sections() if not (isinstance(section, Table) and not section.rows)]
        return Report(self.KIND, self.question(), f"{self.sentence()}.", shown, commands, self.notes, self.is_met)

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """For spreadsheets: a row per thing that the answer is about, all with the same columns."""

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists, dicts and values."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        notes = fields.pop("notes")
        return {"apiVersion": API_VERSION, "kind": self.KIND, **fields, "notes": notes}


def schema(answer: type[PlanAnswer]) -> dict[str, Any]:
    """The JSON schema of the answer's document."""
    (reference,), components = msgspec.json.schema_components([answer], ref_template="#/$defs/{name}")
    own = components.pop(reference["$ref"].rpartition("/")[2])
    header = {"apiVersion": {"const": API_VERSION}, "kind": {"const": answer.KIND}}
    return {
        "$schema": SCHEMA_DIALECT,
        "title": answer.KIND,
        "description": own.get("description", ""),
        "type": "object",
        "properties": {**header, **own["properties"]},
        "required": ["apiVersion", "kind", *(name for name in own["properties"])],
        "additionalProperties": False,
        **({"$defs": components} if components else {}),
    }
