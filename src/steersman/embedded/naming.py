"""Names and uids that the store assigns: different for every object, the same in every run."""

from __future__ import annotations

from typing import Final

from steersman.api import Object

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no digits that look like them, so that no words come out."""
_SUFFIX_LENGTH: Final = 5


def assigned_uid(obj: Object, version: int) -> str:
    """`uid-pod-default-web-0-17`: `version`, in which the object is created, never comes twice."""
    meta = obj.metadata
    if obj.NAMESPACED:
        return f"uid-{obj.KIND.lower()}-{meta.namespace}-{meta.name}-{version}"
    return f"uid-{obj.KIND.lower()}-{meta.name}-{version}"


def generated_name(prefix: str, version: int) -> str:
    """`prefix` with a suffix of five or more characters that stands for `version`."""
    suffix = ""
    while version or len(suffix) < _SUFFIX_LENGTH:
        version, digit = divmod(version, len(_ALPHABET))
        suffix = _ALPHABET[digit] + suffix
    return prefix + suffix
