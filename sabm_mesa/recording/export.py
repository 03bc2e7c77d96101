"""Files beside a recording: tables, plots, the summary, and data frames in other formats.

Each file and folder is written completely or not at all.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sabm_mesa.core.jsonable import to_json
from sabm_mesa.core.parameters import check_choice
from sabm_mesa.errors import OutputError
from sabm_mesa.recording.keeping import reason

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "jsonl")
"""The formats of tables."""
_FORMULA = re.compile(r"""(^|[;\t\r\n])(["\s]*)([=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n])""")
"""The beginning of a formula in a cell. A spreadsheet with another separator than the comma begins
a new cell within a quoted text."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_NOT_ASCII = re.compile(r"[^\n -~]")


def write_outputs(
    folder: Path,
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    summary: Mapping[str, Any],
    pictures: Mapping[str, bytes],
) -> list[Path]:
    """Write ``model.csv``, ``agents.csv``, plots, and ``summary.json`` last.

    Returns:
        The files.

    Raises:
        OutputError: when a file cannot be written.
    """
    files: dict[str, str | bytes] = {
        "model.csv": csv_of(model_data),
        "agents.csv": csv_of(agent_data),
        **pictures,
        "summary.json": readable_json(summary) + "\n",
    }
    return [write_file(folder / name, content) for name, content in files.items()]


def for_spreadsheet(text: str) -> str:
    """A text that a spreadsheet shows as text and does not compute.

    Returns:
        The text with an apostrophe before the beginning of each formula (``=``, ``+``, ``-``,
        ``@``, tab or line end at the beginning, or after a separator); a number is unchanged.
    """
    if text.isalnum() or _NUMBER.fullmatch(text):
        return text
    return _FORMULA.sub(r"\1\2'\3", text)


def csv_of(frame: pd.DataFrame, line_end: str = "\n") -> str:
    """A frame as CSV for people; texts are never formulas (`for_spreadsheet`)."""

    def safe(value: Any) -> Any:
        return for_spreadsheet(value) if isinstance(value, str) else value

    texts = [name for name, column in frame.items() if column.dtype.kind not in "biufc"]
    shown = frame.assign(**{str(name): frame[name].map(safe) for name in texts})
    return shown.rename(columns=safe).to_csv(index=False, lineterminator=line_end)


def make_folder(folder: Path) -> None:
    """Make a folder when it does not exist.

    Raises:
        OutputError: when it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"Cannot write {folder} ({reason(error, folder)}): choose another folder."
        ) from None


def check_folder(folder: Path) -> None:
    """Check that files can be written into a folder, by writing a temporary one.

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


def write_file(path: Path, content: str | bytes, mode: int = 0o666) -> Path:
    """Write a file completely or not at all: an old file stays until the new one is complete.

    Args:
        content: what is in the file; a text is written as UTF-8, its line ends unchanged.
        mode: its permissions, minus the umask.

    Returns:
        The file.

    Raises:
        OutputError: when it cannot be written.
    """
    with _new_file(path, mode) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@contextmanager
def _new_file(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """A temporary path, which becomes the file at the end of the block unless it fails."""
    part = path.with_name(f".{path.stem}.{uuid4().hex}{path.suffix}")
    try:
        part.touch(mode, exist_ok=False)  # with the rights of the umask, unlike those of tempfile
        try:
            yield part
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error.strerror or error}.") from None


def readable_json(data: Any) -> str:
    """JSON for readers: indented, NaN as null, characters that cannot be printed escaped."""
    text = json.dumps(_finite(data), indent=2, ensure_ascii=False, default=str)
    return _NOT_ASCII.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    sign = match[0]
    if sign.isprintable():
        return sign
    return f"\\u{ord(sign):04x}" if sign <= "\uffff" else json.dumps(sign)[1:-1]


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(name): _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if hasattr(data, "item"):
        data = data.item()
    return None if isinstance(data, float) and not math.isfinite(data) else data


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes the new folder with all its files, or not at all.

    Yields:
        Where to write; it becomes the folder at the end.

    Raises:
        OutputError: when it cannot be written, or exists already.
    """
    make_folder(folder.parent)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
            complete = Path(scratch, folder.name)
            complete.mkdir()
            yield complete
            if folder.exists():  # an empty one would be replaced
                raise OutputError(f"{folder} already exists: choose another name or place.")
            complete.rename(folder)
    except OSError as error:
        raise OutputError(f"Cannot write {folder}: {error.strerror or error}.") from None


def write_folder(folder: Path, texts: Mapping[str, str]) -> Path:
    """Write a new folder with all its files, or nothing.

    Args:
        texts: file, by its path in the folder → text, in UTF-8.

    Returns:
        The folder.

    Raises:
        OutputError: as by `new_folder`.
    """
    with new_folder(folder) as target:
        for name, text in texts.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return folder


def write_frames(folder: Path, frames: Mapping[str, pd.DataFrame], kind: str) -> list[Path]:
    """Write each frame to a file of its name; none appears before all are written.

    CSV follows RFC 4180 in UTF-8: lines end in CR LF; missing values and empty texts are empty
    fields; a text that a spreadsheet would compute gets an apostrophe (`for_spreadsheet`); a
    column of lists or of mixed types is written as text, its values as JSON. JSON lines have all
    values unchanged.

    Returns:
        The files, in the order of the frames.

    Raises:
        OutputError: when a file cannot be written.
        UnknownName: for an unknown format.
    """
    check_choice("format", kind, FORMATS)
    make_folder(folder)
    paths = {name: folder / f"{name}.{kind}" for name in frames}
    with ExitStack() as files:
        for name, frame in frames.items():
            part = files.enter_context(_new_file(paths[name]))
            if kind == "jsonl":
                present = frame.astype(object).where(frame.notna(), None)
                rows = (json.dumps(row, ensure_ascii=False) for row in present.to_dict("records"))
                part.write_text("".join(f"{row}\n" for row in rows), "utf-8", newline="\n")
            else:
                # Only with this line end does every Python put a text with a lone CR into quotes.
                text = csv_of(_with_texts(frame), "\r\n")
                part.write_text(text, "utf-8", newline="")
    return list(paths.values())


def _with_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with columns of lists and of mixed types as texts, their values as JSON."""
    from pandas.api.types import infer_dtype

    def text(value: Any) -> Any:
        missing = value is None or (isinstance(value, float) and math.isnan(value))
        return value if missing or isinstance(value, str) else to_json(value)

    plain = {"string", "boolean", "empty"}
    mixed = [
        str(name)
        for name, column in frame.items()
        if column.dtype == object and infer_dtype(column, skipna=True) not in plain
    ]
    return frame.assign(**{name: frame[name].map(text).astype(object) for name in mixed})
