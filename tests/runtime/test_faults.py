"""A status that is no outcome at an extension point becomes a fault in upstream's words, once."""

from __future__ import annotations

from steersman.framework.status import Code, Status, error
from steersman.runtime.faults import as_fault, fault


def test_a_fault_names_point_plugin_and_cause() -> None:
    assert fault("Score", "P", ValueError("x")) == Status(Code.ERROR, ('running Score plugin "P": ValueError: x',), "P")


def test_a_foreign_status_is_turned_into_a_fault() -> None:
    assert as_fault("Permit", "P", error("boom")) == Status(Code.ERROR, ('running Permit plugin "P": boom',), "P")


def test_a_fault_stays_as_it_is() -> None:
    first = fault("Permit", "P", "boom")
    assert as_fault("Permit", "P", first) is first
