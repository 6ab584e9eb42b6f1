# SPDX-License-Identifier: Apache-2.0
"""Runs a notebook in Jupyter's kernel, in an environment that has one.

`execute_notebook.py FILE` prints the outputs of its cells: a JSON list with a list per code cell, of the MIME bundles and texts
that the cell gave.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

CELL_SECONDS = 120


def main(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=CELL_SECONDS, resources={"metadata": {"path": str(path.parent)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [
        [{**output.get("data", {}), "text": output.get("text", "")} for output in cell.outputs] for cell in cells
    ]
    json.dump(outputs, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
