# SPDX-License-Identifier: Apache-2.0
"""YAML as Kubernetes reads it."""

from typing import Any

import pytest

from steersman.api import yaml_documents
from steersman.api.yaml_documents import documents
from steersman.base.errors import InputError


def read(text: str) -> Any:
    [document] = documents(text)
    return document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("On", True),
        ("y", "y"),
        ("n", "n"),
        ("off", False),
        ("0777", 511),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", 3),
        ("1_000", 1000),
        ("-5", -5),
        ("08", 8.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("~", None),
        ("null", None),
        ("", None),
        ("500m", "500m"),
        ("1.5Gi", "1.5Gi"),
        ("1:30", "1:30"),
        ("=", "="),
        ("2031-01-01", "2031-01-01"),
        ("2031-01-01T00:00:00Z", "2031-01-01T00:00:00Z"),
        ("!!timestamp 2031-01-01", "2031-01-01"),
        ("'1'", "1"),
        ("!!str 5", "5"),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    result = read(f"a: {text}")["a"]
    assert result == value
    assert type(result) is type(value)


def test_keys_become_strings() -> None:
    assert read("{1: a, true: b, 1.5: c}") == {"1": "a", "true": "b", "1.5": "c"}


def test_merge_keys_are_merged_and_overridden() -> None:
    text = "base: &base {a: 1, b: 2}\nderived:\n  <<: *base\n  b: 3\n"
    assert read(text)["derived"] == {"a": 1, "b": 3}


def test_empty_documents_are_kept_as_none() -> None:
    assert list(documents("---\n---\na: 1\n---\n")) == [None, {"a": 1}, None]


def test_the_whole_text_is_searched_for_aliases_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Searched(str):
        searches = 0

        def __contains__(self, part: object) -> bool:
            self.searches += part == "*"
            return super().__contains__(str(part))

    loader = yaml_documents._Loader
    monkeypatch.setattr(yaml_documents, "_Loader", lambda text: loader(str(text)))
    text = Searched("---\na: 1\n" * 50)
    assert len(list(yaml_documents.nodes(text))) == 50
    assert text.searches == 1


def test_millions_of_empty_documents_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_documents, "MAX_EMPTY_DOCUMENTS", 3)
    assert list(documents("---\n---\n---\n---\na: 1\n")) == [None, None, None, {"a": 1}]
    with pytest.raises(InputError, match="has more than 3 empty documents; remove the superfluous lines `---`"):
        list(documents("---\n" * 3 + "--- null\n" * 2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [1", "line 2: is not YAML: while parsing a flow sequence, did not find expected ',' or ']'"),
        ("a: 1\nb: c: d", "line 2: is not YAML: mapping values are not allowed in this context"),
        ("a: 1\nb: 2\na: 3", 'line 3: is not YAML: the key "a" is given twice'),
        ("a:\n  [1, 2]: x", "line 2: is not YAML: a key must be a string"),
        ("a: *missing", "line 1: is not YAML: found undefined alias"),
        ("a: !!python/object:os.system x", "line 1: is not YAML: could not determine a constructor"),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        list(documents(text))
    assert str(caught.value).startswith(message)


def test_control_characters_are_refused() -> None:
    with pytest.raises(InputError, match="is not YAML"):
        list(documents("a: \x00"))
