"""Data frames as files: comma-separated values, Parquet, or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from sabm_mesa.errors import OutputError, ParameterError
from sabm_mesa.jsonable import to_json
from sabm_mesa.parameters import one_of
from sabm_mesa.recording.outputs import write_whole


def check_kind(kind: str) -> None:
    """Check that a format can be written here.

    Args:
        kind: the format.

    Raises:
        ParameterError: when there is no such format, or it needs a package that is not installed.
    """
    one_of("format", kind, tuple(_WRITE))
    if kind == "parquet" and find_spec("pyarrow") is None:
        raise ParameterError(
            "Parquet needs pyarrow: pip install 'sabm-mesa[parquet]', or use --to csv"
        )


def write_frames(folder: Path, frames: Mapping[str, pd.DataFrame], kind: str) -> list[Path]:
    """Write each frame to a file of its name, each file whole or not at all.

    Texts are data and are written as they are, whatever they look like. CSV is that of RFC 4180
    in UTF-8: lines end in CR LF, a missing value is an empty field like an empty text. Parquet and
    JSON lines keep the difference. In CSV and Parquet, a column of lists or of mixed types is
    written as text, its values as JSON.

    Args:
        folder: where to; it is made when it does not exist.
        frames: name → frame.
        kind: the format: ``csv``, ``parquet`` or ``jsonl``.

    Returns:
        The files.

    Raises:
        OutputError: when a file cannot be written.
        ParameterError: as by `check_kind`.
    """
    check_kind(kind)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"Cannot write {folder} ({error.strerror or error}): choose another folder with --out."
        ) from None
    return [
        write_whole(folder / f"{name}.{kind}", partial(_WRITE[kind], frame))
        for name, frame in frames.items()
    ]


def _csv(frame: pd.DataFrame, path: Path) -> None:
    # Only with this line end does every Python put a text with a lone CR into quotes.
    _flat(frame).to_csv(path, index=False, lineterminator="\r\n")


def _parquet(frame: pd.DataFrame, path: Path) -> None:
    _flat(frame).to_parquet(path, index=False, engine="pyarrow")


def _jsonl(frame: pd.DataFrame, path: Path) -> None:
    rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # made once: faster
    names = list(frame)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(encode(dict(zip(names, row, strict=True))) + "\n" for row in rows)


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with columns of numbers, booleans and texts only."""
    mixed = [
        name
        for name in frame
        if frame[name].dtype == object
        and pd.api.types.infer_dtype(frame[name], skipna=True) != "boolean"
    ]
    frame = frame.copy(deep=False)
    for name in mixed:
        frame[name] = frame[name].map(_as_text, na_action="ignore").astype("string")
    return frame


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value)


_WRITE: Mapping[str, Callable[[pd.DataFrame, Path], None]] = {
    "csv": _csv,
    "parquet": _parquet,
    "jsonl": _jsonl,
}
