"""The files beside a recording: tables, plots and the summary, each written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sabm_mesa.errors import OutputError

if TYPE_CHECKING:
    import pandas as pd

DPI = 160
_NOT_ASCII = re.compile(r"[^\n -~]")


class Animation(Protocol):
    """An animation of matplotlib, as far as it is needed to save it."""

    def save(self, path: Path, **options: Any) -> None:
        """Draw all frames into a file."""


class Figure(Protocol):
    """A figure of matplotlib, as far as it is needed to save it."""

    def savefig(self, path: Path, **options: Any) -> None:
        """Draw into a file."""


def write_outputs(
    folder: Path,
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    summary: Mapping[str, Any],
    figures: Mapping[str, Figure],
    animations: Mapping[str, Animation] | None = None,
) -> list[Path]:
    """Write ``model.csv``, ``agents.csv``, plots as PNG, animations, ``summary.json`` last.

    Args:
        folder: where to; it exists.
        model_data: one row a round and run.
        agent_data: one row an agent, round and run.
        summary: what is said of all runs.
        figures: file name without its ending → figure.
        animations: file name, ending in ``.gif`` or ``.mp4`` → animation.

    Returns:
        The files.

    Raises:
        OutputError: when a file cannot be written.
    """
    files: dict[str, Callable[[Path], object]] = {
        "model.csv": lambda path: model_data.to_csv(path, index=False),
        "agents.csv": lambda path: agent_data.to_csv(path, index=False),
    }
    files |= {f"{name}.png": partial(figure.savefig, dpi=DPI) for name, figure in figures.items()}
    files |= {name: partial(_draw, movie) for name, movie in (animations or {}).items()}
    written = [write_whole(folder / name, write) for name, write in files.items()]
    return [*written, write_words(folder / "summary.json", as_json(summary) + "\n")]


def make_folder(folder: Path) -> None:
    """Make a folder when it does not exist.

    Args:
        folder: the folder.

    Raises:
        OutputError: when it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"Cannot write {folder} ({error.strerror or error}): choose another folder."
        ) from None


def check_folder(folder: Path) -> None:
    """Check that files can be written into a folder, by writing one that nobody sees.

    Args:
        folder: the folder.

    Raises:
        OutputError: when none can be written, or there is no such folder.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        raise OutputError(
            f"Cannot write in {folder} ({error.strerror or error}): choose another folder."
        ) from None


def write_whole(path: Path, write: Callable[[Path], object]) -> Path:
    """Write a file whole or not at all: what was there before stays until the new one is done.

    Args:
        path: the file; its folder exists.
        write: writes to the path that it is given.

    Returns:
        The file.

    Raises:
        OutputError: when it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(path.suffix, f".{path.stem}.", path.parent)
        os.close(handle)
        try:
            write(Path(name))
            Path(name).chmod(0o644)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error.strerror or error}.") from None
    return path


def write_words(path: Path, text: str) -> Path:
    """Write a text as UTF-8, whole or not at all.

    Args:
        path: the file; its folder exists.
        text: the text.

    Returns:
        The file.

    Raises:
        OutputError: when it cannot be written.
    """
    return write_whole(path, lambda part: part.write_text(text, "utf-8"))


def as_json(data: Any) -> str:
    """JSON for people: indented, NaN as null, and what is not printable as its escape."""
    text = json.dumps(_finite(data), indent=2, ensure_ascii=False, default=str)
    return _NOT_ASCII.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    sign = found[0]
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if sign <= "\uffff" else json.dumps(sign)[1:-1]


def _draw(animation: Animation, path: Path) -> None:
    animation.save(path, writer="pillow" if path.suffix == ".gif" else "ffmpeg", dpi=100)


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(name): _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if hasattr(data, "item"):
        data = data.item()
    return None if isinstance(data, float) and not math.isfinite(data) else data
