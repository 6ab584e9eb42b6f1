# SPDX-License-Identifier: Apache-2.0
"""Files that others fill (tokens, certificates, kubeconfigs), read up to a limit: one may be a device without an end."""

from __future__ import annotations

from pathlib import Path
from typing import Final

LONGEST_SECRET: Final = 1 << 20
"""Of a token, a certificate or a key, in bytes."""
LONGEST_KUBECONFIG: Final = 16 << 20
"""In bytes: those of thousands of clusters are shorter."""


def read_file(path: Path, longest: int) -> bytes:
    """OSError when it cannot be read; ValueError when it is longer, or cannot be the name of a file."""
    with path.open("rb") as file:
        content = file.read(longest + 1)
    if len(content) > longest:
        raise ValueError(f"{path} has more than {longest} bytes")
    return content
