# SPDX-License-Identifier: Apache-2.0
"""The journal: what is noted survives, what was cut off does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from steersman.base.errors import InputError
from steersman.simulation.sweep.journal import SweepJournal
from steersman.simulation.sweep.runs import RunOutcome

MANIFEST = {"runs": 9}


def outcome(run: int) -> RunOutcome:
    return RunOutcome(run, {"pending": run, "cost": 0.1 * run, "error": None}, 0.5, 0.25, "host:1")


def written(path: Path, runs: int) -> bytes:
    journal = SweepJournal.create(path, MANIFEST)
    for run in range(runs):
        journal.add(outcome(run))
    journal.close()
    return path.read_bytes()


def reopened(path: Path) -> list[RunOutcome]:
    journal, manifest, outcomes = SweepJournal.open(path)
    journal.close()
    assert manifest == MANIFEST
    return outcomes


def test_a_journal_gives_back_what_was_noted_to_the_last_bit(tmp_path: Path) -> None:
    written(tmp_path / "journal", 5)
    assert reopened(tmp_path / "journal") == [outcome(run) for run in range(5)]


def test_wherever_it_is_cut_off_the_whole_lines_before_count(tmp_path: Path) -> None:
    whole = written(tmp_path / "journal", 3)
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("\n")]
    for size in {*range(ends[0], len(whole) + 1, 17), *ends, *(end - 1 for end in ends[1:])}:
        path = tmp_path / "cut"
        path.write_bytes(whole[:size])
        assert len(reopened(path)) == sum(end <= size for end in ends[1:])
        assert path.read_bytes() == whole[: max(end for end in ends if end <= size)]


def test_a_line_that_was_damaged_ends_what_counts(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    lines = written(path, 3).splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2].replace(b"0.25", b"0.26"), lines[3]]))
    assert reopened(path) == [outcome(0)]


def test_it_goes_on_after_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = written(path, 2)
    path.write_bytes(whole[:-3])
    journal, _, outcomes = SweepJournal.open(path)
    journal.add(outcome(7))
    journal.close()
    assert outcomes == [outcome(0)]
    assert reopened(path) == [outcome(0), outcome(7)]


def test_runs_that_are_done_are_not_written_over(tmp_path: Path) -> None:
    written(tmp_path / "journal", 1)
    with pytest.raises(InputError, match="has results of a sweep already; go on with --resume"):
        SweepJournal.create(tmp_path / "journal", MANIFEST)


def test_a_journal_without_a_run_is_begun_again(tmp_path: Path) -> None:
    written(tmp_path / "journal", 0)
    assert written(tmp_path / "journal", 0) == written(tmp_path / "journal", 0)


def test_two_sweeps_do_not_write_into_one_journal(tmp_path: Path) -> None:
    journal = SweepJournal.create(tmp_path / "journal", MANIFEST)
    with pytest.raises(InputError, match="another sweep is writing there"):
        SweepJournal.open(tmp_path / "journal")
    with pytest.raises(InputError, match="another sweep is writing there"):
        SweepJournal.create(tmp_path / "journal", MANIFEST)
    journal.close()


def test_another_file_is_not_taken_for_a_journal(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("hello\n")
    with pytest.raises(InputError, match="is not a journal of a sweep"):
        SweepJournal.open(tmp_path / "journal")
