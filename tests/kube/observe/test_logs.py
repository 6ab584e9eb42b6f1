# SPDX-License-Identifier: Apache-2.0
"""Log lines in klog's form and as JSON."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from steersman.kube.observe import LogFormat, set_up
from steersman.kube.observe.logs import ROOT, SILENCE


@pytest.fixture(autouse=True)
def unchanged_logging() -> Iterator[None]:
    logger = logging.getLogger(ROOT)
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)
    logger.propagate = propagate


def test_text_has_the_form_of_klog() -> None:
    stream = io.StringIO()
    set_up(stream=stream).info("Pod bound", pod="default/web", attempts=2, fits=True)
    pattern = (
        r'I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ test_logs\.py:\d+\] "Pod bound" pod="default/web" attempts=2 fits=true\n'
    )
    assert re.fullmatch(pattern, stream.getvalue())


def test_line_breaks_and_quotes_in_values_stay_on_the_line() -> None:
    stream = io.StringIO()
    set_up(stream=stream).error("Failed", ValueError('no "such"\nnode'))
    assert stream.getvalue().startswith("E")
    assert stream.getvalue().endswith('"Failed" err="no \\"such\\"\\nnode"\n')


def test_json_has_one_object_per_line() -> None:
    stream = io.StringIO()
    log = set_up(verbosity=3, form=LogFormat.JSON, stream=stream)
    log.v(3).info("Pod bound", pod="default/web", attempts=2)
    log.error("Failed", ValueError("no"))
    bound, failed = map(json.loads, stream.getvalue().splitlines())
    assert bound.items() >= {"msg": "Pod bound", "v": 3, "pod": "default/web", "attempts": 2}.items()
    assert failed.items() >= {"msg": "Failed", "err": "no"}.items()
    assert "v" not in failed
    assert bound["caller"].startswith("test_logs.py:")


def test_messages_above_the_verbosity_are_not_said() -> None:
    stream = io.StringIO()
    log = set_up(verbosity=2, stream=stream)
    log.v(3).info("Detail")
    log.v(3).error("Detail")
    assert log.v(3) is SILENCE
    assert stream.getvalue() == ""
    log.v(2).info("Known")
    assert '"Known"' in stream.getvalue()


@pytest.mark.parametrize(("verbosity", "said"), [(0, False), (4, True)])
def test_debug_messages_of_modules_need_verbosity(verbosity: int, said: bool) -> None:
    stream = io.StringIO()
    set_up(verbosity, stream=stream)
    logging.getLogger(f"{ROOT}.queue").debug("moved %s", "web")
    assert ('"moved web"' in stream.getvalue()) is said


@pytest.mark.parametrize("form", list(LogFormat))
def test_exceptions_that_modules_log_bring_their_traceback(form: LogFormat) -> None:
    stream = io.StringIO()
    set_up(form=form, stream=stream)
    try:
        raise LookupError("gone")
    except LookupError:
        logging.getLogger(f"{ROOT}.binding").exception("cannot bind")
    assert "Traceback" in stream.getvalue()
    assert "gone" in stream.getvalue()


HOSTILE = "\x1b[2J\x9b31m\u202e\u2028\x7f"


@pytest.mark.parametrize("form", list(LogFormat))
def test_control_characters_and_marks_of_direction_are_escaped(form: LogFormat) -> None:
    stream = io.StringIO()
    log = set_up(form=form, stream=stream)
    log.error("Failed", ValueError(f"server says {HOSTILE}"), node=HOSTILE)
    try:
        raise LookupError(f"gone {HOSTILE}\nI0101 00:00:00.000000 forged.py:1] forged")
    except LookupError:
        logging.getLogger(f"{ROOT}.binding").exception("cannot bind %s", HOSTILE)
    assert not set(HOSTILE) - set("[2J31m") & set(stream.getvalue())
    assert not any(line.startswith("I0101") for line in stream.getvalue().splitlines())
    assert r"\u202e" in stream.getvalue()


def test_json_with_escapes_is_still_the_same_json() -> None:
    stream = io.StringIO()
    set_up(form=LogFormat.JSON, stream=stream).info("Seen", text=HOSTILE)
    assert json.loads(stream.getvalue())["text"] == HOSTILE
