"""A folder of texts, written whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from sabm_mesa.errors import OutputError
from sabm_mesa.recording.outputs import make_folder


def write_folder(folder: Path, texts: Mapping[str, str]) -> Path:
    """Write a new folder with all its files, or nothing.

    Args:
        folder: the folder, which does not exist yet; those above it are made.
        texts: file, by its path in the folder → text, in UTF-8.

    Returns:
        The folder.

    Raises:
        OutputError: when it cannot be written, or is there already.
    """
    make_folder(folder.parent)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
            whole = Path(scratch, folder.name)
            for name, text in texts.items():
                path = whole / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
            if folder.exists():  # an empty one would be replaced
                raise OutputError(f"{folder} is there already: choose another name or place.")
            whole.rename(folder)
    except OSError as error:
        raise OutputError(f"Cannot write {folder}: {error.strerror or error}.") from None
    return folder
