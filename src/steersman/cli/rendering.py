# SPDX-License-Identifier: Apache-2.0
"""`--render`: Helm charts and kustomizations among the input, rendered to files."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from steersman.api import Renderer, renderer_of
from steersman.base import InputError


def rendered_files(ctx: click.Context, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths, with a file of manifests in place of each folder that a program has to
    render. Raises `InputError`.

    The files are deleted when the command ends.
    """
    return tuple(_rendered(ctx, path) for path in paths)


def _rendered(ctx: click.Context, path: str) -> str:
    renderer = renderer_of(Path(path))
    if renderer is None:
        return path
    manifests = _output(renderer, path)
    folder = ctx.with_resource(tempfile.TemporaryDirectory(prefix="steersman-"))
    file = Path(folder) / f"{Path(path).resolve().name}.yaml"
    file.write_bytes(manifests)
    return str(file)


def _output(renderer: Renderer, path: str) -> bytes:
    program = renderer.command[0]
    try:
        done = subprocess.run(renderer.command, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise InputError(
            f"is {renderer.folder}, and {program} is not on PATH", file=path, hint=f"install {program}"
        ) from error
    except subprocess.CalledProcessError as error:
        message = " ".join(error.stderr.decode(errors="replace").split())
        raise InputError(f"{program} cannot render it: {message}", file=path) from error
    return done.stdout
