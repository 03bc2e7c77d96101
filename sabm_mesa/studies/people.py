"""Data of people: published ones in the scenarios, and users' files with a codebook.

A data set is a codebook, a TOML table, with the known facts on people's decisions: the decisions in
a CSV file (``columns`` gives the meaning of its columns), or published summaries (``bins`` of one
period, the means of ``sessions`` by period, a ``mean``). The codebooks of published data are the
tables of ``people.toml`` in the folders of the scenarios; a table with only ``scenarios`` adds
scenarios to the data set of that name. Only facts are taken from the publications, nothing that
needs a licence.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sabm_mesa.analysis.intervals import Floats
from sabm_mesa.core.toml_io import read_toml
from sabm_mesa.errors import ParameterError, UnknownName

Bin = tuple[float, float, float]
"""From, to (both inclusive), and per cent of the people."""
PEOPLE_COLUMNS = ("treatment", "session", "person", "round", "value")
ALL = ""
"""The treatment of data without treatments."""


class CodebookEntry(BaseModel):
    """A table of a codebook: no other keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Effect(CodebookEntry):
    """An effect that people showed, and how it is tested.

    The numbers are means of a session (of people) or of a run. Two periods of the same sessions
    are compared in pairs, two treatments as independent groups, one number with ``value``.

    Attributes:
        says: the effect as a sentence.
        round: the period, numbered as in the data.
        treatment: the treatment; ``""``: all.
        than_round: the period for comparison; None: the same.
        than_treatment: the treatment for comparison; ``""``: the same.
        value: a number for comparison, in place of a period or treatment.
        direction: whether the first is less or more than the second.
        published: the published conclusion, if the data here do not decide it: ``found`` or
            ``not found``; ``""``: the test of the data decides.
        where: the place of that conclusion.
    """

    says: str
    round: int = 1
    treatment: str = ALL
    than_round: int | None = None
    than_treatment: str = ALL
    value: float | None = None
    direction: Literal["less", "more"]
    published: Literal["", "found", "not found"] = ""
    where: str = ""


class Columns(CodebookEntry):
    """The columns of a CSV file.

    Attributes:
        decision: the decision, a number (or a text of ``codes``).
        person: who decided; ``""``: each row is another person.
        session: the group whose members may depend on one another; ``""``: each person by itself.
        round: the period; ``""``: there is one.
        treatment: the treatment; ``""``: there is one.
    """

    decision: str
    person: str = ""
    session: str = ""
    round: str = ""
    treatment: str = ""


class Codebook(CodebookEntry):
    """Facts on a data set of people.

    Attributes:
        who: the people and their game, in a few words.
        source: the publication, with the table or figure.
        licence: under which the data may be used; of published facts ``"facts"``.
        scenarios: the scenarios whose runs can be compared.
        decision: the column of ``agents.csv`` with the same decision.
        unit: its unit.
        low: the smallest legal decision.
        high: the largest.
        codes: a decision in words → its number, in the data and in the runs.
        set: the parameters of the scenario with which people's game is played.
        treatments: the name of a treatment → the parameters of its runs.
        first_round: the number of the first period in the data; in runs it is 0.
        n: number of people.
        round: the period of the bins and of the mean.
        bins: from, to (both inclusive) and per cent of the people, in ascending order.
        sessions: for each session its mean decision by period.
        mean: mean decision of all.
        columns: the columns of the CSV file.
        effects: the effects that people showed.
    """

    who: str
    source: str
    licence: str = "facts"
    scenarios: tuple[str, ...]
    decision: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    codes: Mapping[str, float] = Field(default_factory=dict)
    set: Mapping[str, Any] = Field(default_factory=dict)
    treatments: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    first_round: int = 1
    n: int | None = None
    round: int = 1
    bins: tuple[Bin, ...] = ()
    sessions: tuple[tuple[float, ...], ...] = ()
    mean: float | None = None
    columns: Columns | None = None
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, eq=False)
class PeopleData:
    """A data set of people.

    Attributes:
        name: its name, or that of its file.
        book: its codebook.
        decisions: one row per decision, with `PEOPLE_COLUMNS`; None when only summaries are
            published.
    """

    name: str
    book: Codebook
    decisions: pd.DataFrame | None = None

    @property
    def described(self) -> str:
        """The people in words, with the source."""
        return f"{self.book.who} ({self.book.source})"

    def session_means(self, treatment: str, period: int) -> Floats | None:
        """Mean decision of each session in a period; None when it is not known.

        Args:
            treatment: the treatment; ``""``: all.
            period: numbered as in the data.
        """
        if self.decisions is not None:
            rows = self.decisions[self.decisions["round"] == period]
            rows = rows if treatment == ALL else rows[rows["treatment"] == treatment]
            if rows.empty or not self.book.columns or not self.book.columns.session:
                return None
            means: Floats = rows.groupby("session")["value"].mean().to_numpy(dtype=np.float64)
            return means
        number = period - self.book.first_round
        if treatment == ALL and self.book.sessions and 0 <= number < len(self.book.sessions[0]):
            return np.array([session[number] for session in self.book.sessions], dtype=np.float64)
        return None

    def counted(self) -> tuple[Floats, Floats] | None:
        """The middle of each bin, and the number of people in it; None without bins."""
        if not self.book.bins or self.book.n is None:
            return None
        middles = np.array([(low + high) / 2 for low, high, _ in self.book.bins])
        counts = np.round([share * self.book.n / 100 for *_, share in self.book.bins])
        return middles, counts

    def coarsened(self, values: Floats) -> Floats:
        """Decisions as the middles of the bins in which they lie."""
        starts = np.array([low for low, *_ in self.book.bins])
        middles = np.array([(low + high) / 2 for low, high, _ in self.book.bins])
        places = np.searchsorted(starts, values, side="right") - 1
        coarse: Floats = middles[np.maximum(places, 0)]
        return coarse


@cache
def published_people() -> Mapping[str, PeopleData]:
    """Published data sets of people, by name (``people.toml`` of the scenarios)."""
    texts = [
        path.read_text("utf-8")
        for path in Path(str(files("sabm_mesa.models"))).glob("*/people.toml")
    ]
    tables = [
        (name, table) for text in sorted(texts) for name, table in tomllib.loads(text).items()
    ]
    also: dict[str, list[str]] = {}
    for name, table in tables:
        also.setdefault(name, []).extend(table["scenarios"])
    return {
        name: PeopleData(name, _codebook(name, {**table, "scenarios": sorted(also[name])}))
        for name, table in sorted(tables, key=lambda name_and_table: name_and_table[0])
        if table.keys() != {"scenarios"}
    }


def load_people(against: str, codebook: str | Path | None = None) -> PeopleData:
    """A data set of the package, or a CSV file with its codebook.

    Args:
        against: the name of a data set, or the path of a CSV file.
        codebook: the codebook of the CSV file; by default the file beside it with the ending
            ``.toml``.

    Raises:
        UnknownName: when there is no data set of that name.
        ParameterError: when a file cannot be read, the codebook has a key that does not exist or a
            value that cannot be used, or the CSV file has other columns than the codebook says.
    """
    if not (against.lower().endswith(".csv") or "/" in against):
        if codebook is not None:
            raise ParameterError(f"{against} is a published data set, which has its own codebook.")
        if against not in published_people():
            hint = "Data of your own: a CSV file, FILE.csv, with a codebook."
            raise UnknownName("data set of people", against, published_people(), hint)
        return published_people()[against]
    path = Path(against)
    if not path.exists():
        raise ParameterError(f"There is no file {path}.")
    book_path = Path(codebook) if codebook is not None else path.with_suffix(".toml")
    table = read_toml(book_path, "codebook", ParameterError)
    book = _codebook(str(book_path), table)
    if book.columns is None:
        raise ParameterError(
            f"The codebook {book_path} has no table columns: say with decision = NAME which "
            f"column of {path.name} holds the decision."
        )
    return PeopleData(path.name, book, _decisions(path, book, book.columns))


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ParameterError(f"Cannot read {path}: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not UTF-8 text.") from None


def _codebook(name: str, table: Mapping[str, Any]) -> Codebook:
    try:
        book = Codebook.model_validate(table)
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        where = ".".join(map(str, error["loc"]))
        say = {"missing": "is missing", "extra_forbidden": "is no key of a codebook"}
        problem = say.get(error["type"], f"cannot be used: {error['msg']}")
        raise ParameterError(f"Codebook {name}: {where} {problem}.") from None
    for effect in book.effects:
        compared = (effect.than_round, effect.than_treatment or None, effect.value)
        if sum(limit is not None for limit in compared) != 1:
            raise ParameterError(
                f"Codebook {name}, effect {effect.says!r}: give one of than_round, "
                "than_treatment and value."
            )
        for treatment in (effect.treatment, effect.than_treatment):
            if treatment and treatment not in book.treatments:
                raise UnknownName(f"treatment of codebook {name}", treatment, book.treatments)
    if len({len(session) for session in book.sessions}) > 1:
        raise ParameterError(f"Codebook {name}: every session needs the same number of periods.")
    if book.bins and book.n is None:
        raise ParameterError(f"Codebook {name}: bins need n, the number of people.")
    return book


def _decisions(path: Path, book: Codebook, columns: Columns) -> pd.DataFrame:
    """The rows of a CSV file, with `PEOPLE_COLUMNS`."""
    _text(path)
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.readline()
        between = max(",;\t", key=head.count)  # spreadsheets of many languages write semicolons
        given = pd.read_csv(
            path, sep=between, encoding="utf-8-sig", dtype=str, keep_default_na=True
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ParameterError(f"{path} is not a CSV table: {str(error).strip()}.") from None
    if between == ";":
        given = given.replace(r"^\s*(-?\d+),(\d+)\s*$", r"\1.\2", regex=True)
    named = {what: name for what, name in columns.model_dump().items() if name}
    if missing := [name for name in named.values() if name not in given.columns]:
        listed = ", ".join(map(str, given.columns[:12]))
        raise ParameterError(
            f"{path} has no column {', '.join(missing)}; it has {listed}. [columns] of the "
            "codebook says which column of the file is which."
        )
    rows = pd.DataFrame(index=given.index)
    rows["value"] = numbers_of(given[columns.decision], book.codes, f"{path}, {columns.decision}")
    rows["person"] = _named(given, columns.person, given.index.astype(str))
    rows["session"] = _named(given, columns.session, rows["person"])
    if columns.session and columns.person:  # persons may be numbered anew in each session
        rows["person"] = rows["session"] + "/" + rows["person"]
    rows["round"] = float(book.first_round)
    if columns.round:
        rows["round"] = numbers_of(given[columns.round], {}, f"{path}, {columns.round}")
    rows["treatment"] = _named(given, columns.treatment, ALL)
    rows = rows.dropna(subset=["value", "round"])
    if rows.empty:
        raise ParameterError(f"{path} has no decision in its column {columns.decision}.")
    outside = rows[
        (rows["value"] < (-math.inf if book.low is None else book.low))
        | (rows["value"] > (math.inf if book.high is None else book.high))
    ]
    if len(outside):
        raise ParameterError(
            f"{path}, row {int(outside.index[0]) + 2}: the decision {outside['value'].iloc[0]:g} "
            f"is outside {book.low:g} to {book.high:g}, the limits of the codebook."
        )
    known = set(book.treatments)
    if columns.treatment and known and (odd := sorted(set(rows["treatment"]) - known)):
        raise UnknownName(f"treatment of {path}", odd[0], known)
    rows["round"] = rows["round"].astype(int)
    return rows[list(PEOPLE_COLUMNS)].reset_index(drop=True)


def _named(given: pd.DataFrame, column: str, otherwise: Any) -> pd.Series[str]:
    names = given[column] if column else pd.Series(otherwise, index=given.index)
    return names.fillna("").astype(str)


def numbers_of(given: pd.Series[Any], codes: Mapping[str, float], where: str) -> pd.Series[float]:
    """Decisions as numbers; missing ones are NaN.

    Args:
        given: the decisions, as texts or numbers.
        codes: a decision in words → its number.
        where: the file and column, for the error.

    Raises:
        ParameterError: for a decision that is neither a number nor in the codes.
    """
    texts = given.where(given.notna(), None)
    coded = texts.map(lambda text: codes.get(str(text), text) if text is not None else None)
    numbers = pd.to_numeric(coded, errors="coerce").astype(float)
    unread = given[given.notna() & numbers.isna()]
    if len(unread) or np.isinf(numbers).any():
        text = unread.iloc[0] if len(unread) else "an infinite number"
        raise ParameterError(
            f"{where}: {str(text)!r} is not a number; say in codes of the codebook which number it "
            "stands for."
        )
    return numbers


def human_distributions() -> dict[str, tuple[str, list[Bin]]]:
    """The published distributions: name → the people with the source, and the bins."""
    return {
        name: (people.described, list(people.book.bins))
        for name, people in published_people().items()
        if people.book.bins
    }
