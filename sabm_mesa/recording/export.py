"""Files beside a recording: tables, plots, the summary, and data frames in other formats.

Each file and folder is written completely or not at all.
"""

from __future__ import annotations

import csv
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from sabm_mesa.core.jsonable import to_json
from sabm_mesa.core.parameters import check_choice
from sabm_mesa.errors import OutputError, ParameterError
from sabm_mesa.recording.keeping import reason

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.recording.frames import Columns, Tables

ROW_GROUP = 50_000
"""The least number of rows of a row group in a Parquet file. The metadata of each group stay in
memory until the end, about 20 kB, and so do the rows of one group."""
_FORMULA = re.compile(r"""(^|[;\t\r\n])(["\s]*)([=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n])""")
"""The beginning of a formula in a cell. A spreadsheet with another separator than the comma begins
a new cell within a quoted text."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_NOT_ASCII = re.compile(r"[^\n -~]")


class Animation(Protocol):
    """The method of a matplotlib animation that saves it."""

    def save(self, path: Path, **options: Any) -> None:
        """Draw all frames into a file."""


def write_outputs(
    folder: Path,
    model_data: pd.DataFrame,
    agent_data: pd.DataFrame,
    summary: Mapping[str, Any],
    pictures: Mapping[str, bytes],
    animations: Mapping[str, Animation] | None = None,
) -> list[Path]:
    """Write ``model.csv``, ``agents.csv``, plots and animations, and ``summary.json`` last.

    Args:
        folder: the folder, which exists.
        model_data: one row per round and run.
        agent_data: one row per agent, round and run.
        summary: the summary of all runs.
        pictures: file name → content.
        animations: file name, ending in ``.gif`` or ``.mp4`` → animation.

    Returns:
        The files.

    Raises:
        OutputError: when a file cannot be written.
    """
    files: dict[str, Callable[[Path], object]] = {
        "model.csv": lambda path: write_csv(path, model_data),
        "agents.csv": lambda path: write_csv(path, agent_data),
    }
    files |= {name: partial(Path.write_bytes, data=data) for name, data in pictures.items()}
    files |= {name: partial(_draw, movie) for name, movie in (animations or {}).items()}
    written = [write_file(folder / name, write) for name, write in files.items()]
    return [*written, write_text_file(folder / "summary.json", readable_json(summary) + "\n")]


def for_spreadsheet(text: str) -> str:
    """A text that a spreadsheet shows as text and does not compute.

    Args:
        text: the text of a cell.

    Returns:
        The text with an apostrophe before the beginning of each formula (``=``, ``+``, ``-``,
        ``@``, tab or line end at the beginning, or after a separator); a number is unchanged.
    """
    if text.isalnum() or _NUMBER.fullmatch(text):
        return text
    return _FORMULA.sub(r"\1\2'\3", text)


def csv_of(frame: pd.DataFrame) -> str:
    """A frame as CSV for people; texts are never formulas (`for_spreadsheet`).

    Args:
        frame: the frame; its index is left out.
    """

    def safe(value: Any) -> Any:
        return for_spreadsheet(value) if isinstance(value, str) else value

    texts = [name for name, column in frame.items() if column.dtype.kind not in "biufc"]
    shown = frame.assign(**{str(name): frame[name].map(safe) for name in texts})
    return shown.rename(columns=safe).to_csv(index=False)


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame as CSV for people; see `csv_of`.

    Args:
        path: the file.
        frame: the frame.
    """
    path.write_text(csv_of(frame), "utf-8", newline="")


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
            f"Cannot write {folder} ({reason(error, folder)}): choose another folder."
        ) from None


def check_folder(folder: Path) -> None:
    """Check that files can be written into a folder, by writing a temporary one.

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


def write_file(path: Path, write: Callable[[Path], object], mode: int = 0o666) -> Path:
    """Write a file completely or not at all: an old file stays until the new one is complete.

    Args:
        path: the file; its folder exists.
        write: writes to a given path.
        mode: its permissions, minus the umask.

    Returns:
        The file.

    Raises:
        OutputError: when it cannot be written.
    """
    with _new_file(path, mode) as part:
        write(part)
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


def write_text_file(path: Path, text: str, mode: int = 0o666) -> Path:
    """Write a text as UTF-8, completely or not at all.

    Args:
        path: the file; its folder exists.
        text: the text.
        mode: the permissions of the file, minus the umask.

    Returns:
        The file.

    Raises:
        OutputError: when it cannot be written.
    """
    return write_file(path, lambda part: part.write_text(text, "utf-8"), mode)


def write_picture(path: Path, png: bytes) -> Path:
    """Write a picture, completely or not at all.

    Args:
        path: the file; its folder exists.
        png: the picture.

    Returns:
        The file.

    Raises:
        OutputError: when it cannot be written.
    """
    return write_file(path, lambda part: part.write_bytes(png))


def readable_json(data: Any) -> str:
    """JSON for readers: indented, NaN as null, characters that cannot be printed escaped."""
    text = json.dumps(_finite(data), indent=2, ensure_ascii=False, default=str)
    return _NOT_ASCII.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    sign = match[0]
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


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes the new folder with all its files, or not at all.

    Args:
        folder: the folder, which does not exist yet; its parents are created.

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
        folder: the folder, which does not exist yet; its parents are created.
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


def check_format(kind: str) -> None:
    """Check that a format can be written here.

    Args:
        kind: the format.

    Raises:
        ParameterError: for an unknown format, or one that needs a package that is not installed.
    """
    check_choice("format", kind, tuple(_WRITERS))
    if kind == "parquet" and find_spec("pyarrow") is None:
        raise ParameterError(
            "Parquet needs pyarrow: pip install 'sabm-mesa[parquet]', or use --to csv"
        )


def write_frames(folder: Path, frames: Mapping[str, pd.DataFrame], kind: str) -> list[Path]:
    """Write each frame to a file of its name, in the formats of `write_tables`.

    Args:
        folder: the folder; it is created when it does not exist.
        frames: name → frame.
        kind: the format: ``csv``, ``parquet`` or ``jsonl``.

    Returns:
        The files.

    Raises:
        OutputError: as by `write_tables`.
        ParameterError: as by `check_format`.
    """
    from sabm_mesa.recording.frames import Tables, columns_of

    types = {
        name: {str(n): _type_of(column) for n, column in f.items()} for name, f in frames.items()
    }
    tables = Tables(types, ((name, columns_of(frame)) for name, frame in frames.items()))
    return list(write_tables(folder, tables, kind))


def write_tables(folder: Path, tables: Tables, kind: str, *, raw: bool = False) -> dict[Path, int]:
    """Write each table to a file of its name, batch by batch; none appears before all are written.

    CSV follows RFC 4180 in UTF-8: lines end in CR LF; missing values and empty texts are empty
    fields; a text that a spreadsheet would compute gets an apostrophe (`for_spreadsheet`). Parquet
    and JSON lines keep the difference, and do not change texts. In CSV and Parquet, a column of
    lists or of mixed types is written as text, its values as JSON. In Parquet all row groups but
    the last have at least `ROW_GROUP` rows.

    Args:
        folder: the folder; it is created when it does not exist.
        tables: the tables.
        kind: the format: ``csv``, ``parquet`` or ``jsonl``.
        raw: whether CSV also has unchanged texts, for programs that read it.

    Returns:
        The files in the order of the tables, with the number of their rows.

    Raises:
        OutputError: when a file cannot be written.
        ParameterError: as by `check_format`.
    """
    check_format(kind)
    make_folder(folder)
    paths = {name: folder / f"{name}.{kind}" for name in tables.types}
    rows: Counter[str] = Counter()
    with ExitStack() as files:
        parts = {name: files.enter_context(_new_file(path)) for name, path in paths.items()}
        opened = {name: files.enter_context(ExitStack()) for name in parts}
        open_writer = _raw_csv if raw and kind == "csv" else _WRITERS[kind]()

        def begin(name: str) -> Callable[[Columns], object]:
            opened[name].close()
            rows[name] = 0
            return opened[name].enter_context(open_writer(parts[name], tables.types[name]))

        writers = {name: begin(name) for name in parts}
        for name, columns in tables.batches:
            if columns is None:
                writers[name] = begin(name)
            else:
                writers[name](columns)
                rows[name] += len(next(iter(columns.values()), ()))
    return {path: rows[name] for name, path in paths.items()}


@contextmanager
def _csv(
    path: Path, types: Mapping[str, type], shown: Callable[[str], str] = for_spreadsheet
) -> Iterator[Callable[[Columns], object]]:
    # Only with this line end does every Python put a text with a lone CR into quotes.
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(map(shown, types))

        def write(columns: Columns) -> None:
            _check(columns, types)
            writer.writerows(zip(*_texts(columns, types, shown), strict=True))

        yield write


def _raw_csv(
    path: Path, types: Mapping[str, type]
) -> AbstractContextManager[Callable[[Columns], object]]:
    return _csv(path, types, str)


@contextmanager
def _jsonl(path: Path, types: Mapping[str, type]) -> Iterator[Callable[[Columns], object]]:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # made once: faster
    with path.open("w", encoding="utf-8", newline="\n") as file:

        def write(columns: Columns) -> None:
            _check(columns, types)
            rows = zip(*(columns[name] for name in types), strict=True)
            file.writelines(encode(dict(zip(types, row, strict=True))) + "\n" for row in rows)

        yield write


class _Parquet:
    """Opens Parquet files; common parts of consecutive batches are converted once."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, Any], tuple[Sequence[Any], Any]] = {}

    @contextmanager
    def __call__(
        self, path: Path, types: Mapping[str, type]
    ) -> Iterator[Callable[[Columns], object]]:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        known = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
        fields = [(name, known.get(kind, pa.large_string())) for name, kind in types.items()]
        schema = pa.schema(fields)
        with ParquetWriter(path, schema) as writer:
            group: list[pa.RecordBatch] = []

            def finish_group() -> None:
                writer.write_table(pa.Table.from_batches(group, schema))
                group.clear()

            def write(columns: Columns) -> None:
                made, arrays = {}, []
                for values, kind in zip(_texts(columns, types), schema.types, strict=True):
                    key = id(values), kind  # the list is kept along: no other one has its id
                    made[key] = self._last.get(key) or (values, pa.array(values, kind))
                    arrays.append(made[key][1])
                self._last = made
                group.append(pa.record_batch(arrays, schema=schema))
                if sum(map(len, group)) >= ROW_GROUP:
                    finish_group()

            yield write
            if group:
                finish_group()


def _texts(
    columns: Columns, types: Mapping[str, type], shown: Callable[[str], str] = str
) -> Iterator[Sequence[Any]]:
    """The columns with only numbers, booleans and texts."""
    for name, kind in types.items():
        values = columns[name]
        if kind is object or (kind is str and shown is not str):
            yield [None if value is None else shown(_as_text(value)) for value in values]
        else:
            yield values


def _check(columns: Columns, types: Mapping[str, type]) -> None:
    """Check the types of values, as Parquet does itself.

    Raises:
        ValueError: when one is not.
    """
    for name, kind in types.items():
        if kind is not object and not {*map(type, columns[name])} <= {kind, type(None)}:
            raise ValueError(f"a value of {name} is not of type {kind.__name__}")


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value)


def _type_of(column: pd.Series[Any]) -> type:
    """The type of the values of a column of a frame; `object` when they differ."""
    from pandas.api import types

    if types.is_bool_dtype(column) or types.infer_dtype(column, skipna=True) == "boolean":
        return bool
    if types.is_integer_dtype(column):
        return int
    if types.is_float_dtype(column):
        return float
    return object


_Open = Callable[[Path, Mapping[str, type]], AbstractContextManager[Callable[["Columns"], object]]]
_WRITERS: Mapping[str, Callable[[], _Open]] = {
    "csv": lambda: _csv,
    "parquet": _Parquet,
    "jsonl": lambda: _jsonl,
}
