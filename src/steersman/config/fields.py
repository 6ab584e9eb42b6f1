"""Building blocks for the tables of `schema` and `args_schema`: the simple kinds, and shorthands for fields."""

from __future__ import annotations

from typing import Final

from steersman.config.configuration import API_VERSION
from steersman.config.kinds import Boolean, DurationText, Field, Integer, Kind, ListOf, Printed, Text

TEXT: Final = Text()
BOOL: Final = Boolean()
INT32: Final = Integer(-(2**31), 2**31 - 1)
INT64: Final = Integer(-(2**63), 2**63 - 1)
DURATION: Final = DurationText()
TEXTS: Final = ListOf(TEXT)


def header(kind: str) -> dict[str, str]:
    """What a printed object of this kind begins with."""
    return {"apiVersion": API_VERSION, "kind": kind}


def always(attribute: str, kind: Kind) -> Field:
    """A field that is printed even when empty."""
    return Field(attribute, kind, printed=Printed.ALWAYS)


def zero_is_default(attribute: str, kind: Kind) -> Field:
    """A field whose explicit zero value stands for the default."""
    return Field(attribute, kind, printed=Printed.ALWAYS, zero_is_absent=True)
