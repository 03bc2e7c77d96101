"""Run the tutorials and keep what they show: `make notebooks`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"


def main() -> None:
    """Run each notebook in an empty folder, and write its outputs into it."""
    for path in sorted(TUTORIALS.glob("*.ipynb")):
        notebook = nbformat.read(path, 4)
        metadata = dict(notebook.metadata)
        with tempfile.TemporaryDirectory() as folder:
            where = {"metadata": {"path": folder}}
            NotebookClient(notebook, timeout=300, resources=where, record_timing=False).execute()
        notebook.metadata = metadata
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
