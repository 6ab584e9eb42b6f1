# SPDX-License-Identifier: Apache-2.0
"""Text files that users name: read, with errors that name the file.

Configurations, policies, scenarios, sweeps and templates of benchmarks are read here. Manifests, which may be packed, are read
by `manifests`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

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
