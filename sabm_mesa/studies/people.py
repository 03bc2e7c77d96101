"""Data of people, and how the decisions of runs compare with them.

A data set is a codebook, a TOML table, with the known facts on people's decisions: the decisions in
a CSV file (``columns`` gives the meaning of its columns), or published summaries (``bins`` of one
period, the means of ``sessions`` by period, a ``mean``). The codebooks of published data are the
tables of ``people.toml`` in the folders of the scenarios; a table with only ``scenarios`` adds
scenarios to the data set of that name. Only facts are taken from the publications, nothing that
needs a licence.

A comparison has two parts. *Effects*: the sign test of each effect, on one number a session of
people and one number a run; ``same`` when both reach the same conclusion. *Distributions*: an
energy test by permutation for each period, with the ratio of the variances, which is far below 1
when every agent plays the average person. The decisions of the first period are independent if
nobody has talked before, so persons are permuted; in all other cases sessions and runs are.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sabm_mesa.analysis.intervals import LEVEL, Floats
from sabm_mesa.analysis.tests import Inference, energy_test, holm, infer
from sabm_mesa.core.toml_io import read_toml
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.recording.decisions import played_runs
from sabm_mesa.recording.reading import load_runs
from sabm_mesa.studies.report import Report, Table

SAME, DIFFERENT, NOT_JUDGED = "same", "different", "not judged"
NOT_DETECTED, NOT_FOUND = "no difference detected", "not found"
NOTE = (
    "Same inference: the sign test of the effect, on one number a run, reaches the conclusion of "
    f"the people (one-sided, {100 * LEVEL:g} %). Same distribution: energy test by permutation of "
    "persons (first period) or of sessions and runs, adjusted for the number of periods (Holm "
    "1979). “No difference detected” is no proof of equality."
)
Bin = tuple[float, float, float]
"""From, to (both inclusive), and per cent of the people."""
ALL = ""
"""The treatment of data without treatments."""


class CodebookEntry(BaseModel):
    """A table of a codebook: no other keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Effect(CodebookEntry):
    """An effect that people showed, and how it is tested.

    The numbers are means of a session (of people) or of a run. Two periods of the same sessions
    are compared in pairs, two treatments as independent groups, one number with ``value``.
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
    """The columns of a CSV file; without a person or session, each row is one of its own."""

    decision: str
    person: str = ""
    session: str = ""
    round: str = ""
    treatment: str = ""


class Codebook(CodebookEntry):
    """Facts on a data set of people; ``docs/how-to/humans.md`` explains the keys."""

    who: str
    source: str
    licence: str = "facts"
    scenarios: tuple[str, ...]
    decision: str
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
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
    """A data set of people; treatment ``""`` is all, and periods are numbered as in the data.

    Attributes:
        name: its name, or that of its file.
        book: its codebook.
        decisions: one row per decision, with ``treatment``, ``session``, ``person``, ``round`` and
            ``value``; None when only summaries are published.
    """

    name: str
    book: Codebook
    decisions: pd.DataFrame | None = None

    @property
    def described(self) -> str:
        """The people in words, with the source."""
        return f"{self.book.who} ({self.book.source})"

    @property
    def _has_sessions(self) -> bool:
        return self.book.columns is not None and self.book.columns.session != ""

    def session_means(self, treatment: str, period: int) -> Floats | None:
        """Mean decision of each session in a period; None when it is not known."""
        if self.decisions is None:
            means = dict(enumerate(zip(*self.book.sessions, strict=True), self.book.first_round))
            return np.array(means[period]) if treatment == ALL and period in means else None
        rows = _chosen(self.decisions, treatment, period)
        if rows.empty or not self._has_sessions:
            return None
        return rows.groupby("session")["value"].mean().to_numpy(np.float64)

    def of(self, treatment: str, period: int) -> tuple[Floats, list[str] | None]:
        """People's decisions in a period, and their sessions if these are known."""
        if self.decisions is None:
            middles = [(low + high) / 2 for low, high, _ in self.book.bins]
            counts = [round(share * (self.book.n or 0) / 100) for *_, share in self.book.bins]
            return np.repeat(np.array(middles), counts), None
        rows = _chosen(self.decisions, treatment, period)
        sessions = rows["session"].tolist() if self._has_sessions else None
        return rows["value"].to_numpy(float), sessions

    def coarsened(self, values: Floats) -> Floats:
        """Decisions as the middles of the bins in which they lie."""
        starts = np.array([low for low, *_ in self.book.bins])
        middles = np.array([(low + high) / 2 for low, high, _ in self.book.bins])
        places = np.searchsorted(starts, values, side="right") - 1
        coarse: Floats = middles[np.maximum(places, 0)]
        return coarse


def _chosen(decisions: pd.DataFrame, treatment: str, period: int) -> pd.DataFrame:
    rows = decisions[decisions["round"] == period]
    return rows if treatment == ALL else rows[rows["treatment"] == treatment]


@cache
def published_people() -> Mapping[str, PeopleData]:
    """Published data sets of people, by name (``people.toml`` of the scenarios)."""
    texts = [
        path.read_text("utf-8")
        for path in Path(str(files("sabm_mesa.models"))).rglob("people.toml")
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
    """A data set of the package by name, or a CSV file with its codebook.

    The default codebook is the file beside the CSV file with the ending ``.toml``.

    Raises:
        UnknownName: when there is no data set of that name.
        ParameterError: when a file cannot be read, or its codebook is wrong or does not fit it.
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


def _read_csv(path: Path) -> pd.DataFrame:
    """A CSV file, with commas, or with semicolons and decimal commas."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.readline()
        between = max(",;\t", key=head.count)  # spreadsheets of many languages write semicolons
        given = pd.read_csv(path, sep=between, encoding="utf-8-sig", dtype=str)
    except OSError as error:
        raise ParameterError(f"Cannot read {path}: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not UTF-8 text.") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ParameterError(f"{path} is not a CSV table: {str(error).strip()}.") from None
    commas = {r"^\s*(-?\d+),(\d+)\s*$": r"\1.\2"} if between == ";" else {}
    return given.replace(commas, regex=True)


def _decisions(path: Path, book: Codebook, columns: Columns) -> pd.DataFrame:
    """The rows of a CSV file, as in `PeopleData.decisions`."""
    given = _read_csv(path)
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
    outside = rows[~rows["value"].between(book.low, book.high)]
    if len(outside):
        raise ParameterError(
            f"{path}, row {int(outside.index[0]) + 2}: the decision {outside['value'].iloc[0]:g} "
            f"is outside {book.low:g} to {book.high:g}, the limits of the codebook."
        )
    known = set(book.treatments)
    if columns.treatment and known and (odd := sorted(set(rows["treatment"]) - known)):
        raise UnknownName(f"treatment of {path}", odd[0], known)
    rows["round"] = rows["round"].astype(int)
    return rows.reset_index(drop=True)


def _named(given: pd.DataFrame, column: str, otherwise: Any) -> pd.Series[str]:
    names = given[column] if column else pd.Series(otherwise, index=given.index)
    return names.fillna("").astype(str)


def numbers_of(given: pd.Series[Any], codes: Mapping[str, float], where: str) -> pd.Series[float]:
    """Decisions as numbers; missing ones are NaN."""
    coded = given.map(lambda text: codes.get(str(text), text), na_action="ignore")
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


@dataclass(frozen=True, eq=False)
class Played:
    """The decisions of a recording.

    Attributes:
        decisions: one row per decision: ``run``, ``round``, ``agent``, ``value`` (NaN when it could
            not be read) and ``treatment``.
        talked: whether players talked in the first round.
        warnings: parameters that differ from those of people's game, and runs that were left out.
    """

    scenario: str
    decisions: pd.DataFrame
    talked: bool = False
    warnings: Sequence[str] = ()

    def of(self, treatment: str, number: int) -> pd.DataFrame:
        """The decisions of a round; of all treatments for ``""``."""
        return _chosen(self.decisions, treatment, number).dropna(subset="value")


def read_runs(path: str | Path, people: PeopleData) -> Played:
    """The decisions of the finished runs of a recording, without forks, which repeat others.

    Raises:
        RecordingError: when the recording cannot be read.
        ParameterError: when it is of another scenario, has no such decisions, or no run has the
            parameters of a treatment.
    """
    book = people.book
    recorded = load_runs(path)
    chosen = [run for run in recorded if run.finished and not run.parent]
    if not chosen:
        raise ParameterError(f"{path} has no finished run, so there is nothing to compare.")
    scenarios = sorted({run.scenario for run in chosen})
    if other := [name for name in scenarios if name not in book.scenarios]:
        raise ParameterError(
            f"{path} has runs of {other[0]}; {people.name} has data for "
            f"{', '.join(book.scenarios)}."
        )
    treatment = {run.run: _treatment(people, run.parameters) for run in chosen}
    if book.treatments:
        treatment = {run: name for run, name in treatment.items() if name != ALL}
        if not treatment:
            raise ParameterError(
                f"No run of {path} has the parameters of a treatment of {people.name}: "
                f"{', '.join(book.treatments)}."
            )
    played = [run for run in played_runs(path) if run.run in treatment]
    data = pd.concat([run.agents for run in played], ignore_index=True)
    if book.decision not in data.columns:
        raise ParameterError(f"The runs of {path} have no column {book.decision} of decisions.")
    data["value"] = numbers_of(data[book.decision], book.codes, f"{path}, {book.decision}")
    if data["value"].isna().all():
        raise ParameterError(f"No decision was recorded in the column {book.decision} of {path}.")
    data["treatment"] = data["run"].map(treatment)
    differing = {
        f"People played with {key} {value}, the runs with {run.parameters[key]}."
        for run in chosen
        for key, value in book.set.items()
        if key in run.parameters and not _equal(run.parameters[key], value)
    }
    left = len(recorded) - len(treatment)
    why = f"Left out: {left} of {len(recorded)} runs (not finished, forks, or of no treatment)."
    talked = any((run.messages["round"] == 0).any() for run in played)
    rows = data[["run", "round", "agent", "value", "treatment"]]
    return Played(
        ", ".join(scenarios), rows, talked, [*sorted(differing), *([why] if left else [])]
    )


def _treatment(people: PeopleData, parameters: Mapping[str, Any]) -> str:
    for name, wanted in people.book.treatments.items():
        if all(_equal(parameters.get(key), value) for key, value in wanted.items()):
            return name
    return ALL


def _equal(first: Any, second: Any) -> bool:
    try:
        return abs(Fraction(str(first)) - Fraction(str(second))) < Fraction(1, 10**6)
    except (ValueError, ZeroDivisionError):
        return bool(first == second)


def compare(people: PeopleData, played: Played) -> Report:
    """Compare the decisions of runs with those of people.

    Returns:
        A report with the tables ``effects`` and ``distributions``.
    """
    book = people.book
    none = _row("effects", NOT_JUDGED, f"the codebook of {people.name} names no effect.")
    effects = pd.DataFrame([_effect(people, played, each) for each in book.effects] or [none])
    distributions = _distributions(people, played)
    effects_seen, seen = set(effects["verdict"]), set(distributions["verdict"])
    verdicts = {
        "same_inference": next((v for v in (DIFFERENT, SAME) if v in effects_seen), NOT_JUDGED),
        "same_distribution": next((v for v in (DIFFERENT, NOT_DETECTED) if v in seen), NOT_JUDGED),
    }
    n_runs = int(played.decisions["run"].nunique())
    without = int(played.decisions["value"].isna().sum())
    facts = {
        "against": people.name, "people": book.who, "source": book.source,
        "licence": book.licence, "scenario": played.scenario, "decision": book.decision,
        "unit": book.unit, "runs": n_runs,
        "decisions": len(played.decisions) - without, "without_value": without, **verdicts,
    }  # fmt: skip
    return Report(
        f"{played.scenario} beside {people.name}: {people.described}",
        lead=f"Same inference: {verdicts['same_inference']}. Same distribution: "
        f"{verdicts['same_distribution']}. Runs: {n_runs}.",
        warnings=[*played.warnings, *([f"Decisions without a value: {without}."] * (without > 0))],
        tables=[
            Table(
                "effects", effects,
                {"effect": "effect", "people": "people", ("runs", "low", "high"): "runs (95 %)",
                 "p": "p", "verdict": "verdict", "why": "remark"},
                title="Same inference",
            ),
            Table(
                "distributions", distributions,
                {"period": "period", "people": "people's mean", "runs": "runs' mean",
                 "distance": "distance", "by_chance": "by chance", "p": "p",
                 "variances": "variances", "verdict": "verdict", "why": "remark"},
                title="Same distribution",
                note="distance: Wasserstein, and how far chance alone goes; variances: runs by "
                "people.",
            ),
        ],
        facts=facts,
        notes=[NOTE],
    )  # fmt: skip


def _row(effect: str, verdict: str, why: str = "", people: float = math.nan,
         test: Inference | None = None) -> dict[str, Any]:  # fmt: skip
    nan = math.nan
    runs, low, high, p = (
        (nan, nan, nan, nan) if test is None else (test.estimate, test.low, test.high, test.p)
    )
    return {
        "effect": effect, "people": people, "runs": runs, "low": low, "high": high, "p": p,
        "n_runs": 0 if test is None else min(test.n), "verdict": verdict, "why": why,
    }  # fmt: skip


def _effect(people: PeopleData, played: Played, effect: Effect) -> dict[str, Any]:
    """The conclusions of runs and people on an effect, as a row of the table."""
    book = people.book
    places = [(effect.treatment, effect.round)]
    if effect.value is None:
        period = effect.round if effect.than_round is None else effect.than_round
        places.append((effect.than_treatment or effect.treatment, period))
    paired = effect.value is None and not effect.than_treatment
    of_runs = []
    for treatment, period in places:
        rows = played.of(treatment, period - book.first_round)
        if rows.empty:
            why = f"the runs have no decision in period {period} (their round "
            return _row(effect.says, NOT_JUDGED, f"{why}{period - book.first_round}).")
        of_runs.append(rows.groupby("run")["value"].mean())
    if paired:
        of_runs = [means for _, means in pd.concat(of_runs, axis=1).dropna().items()]
    of_people = [people.session_means(treatment, period) for treatment, period in places]
    known = [means for means in of_people if means is not None]
    mine = _tested([means.to_numpy(float) for means in of_runs], effect, paired)
    theirs = _tested(known, effect, paired) if len(known) == len(places) else None
    concluded = effect.published or (_conclusion(theirs) if theirs else "")
    size = math.nan if theirs is None else theirs.estimate
    if not concluded:
        why = f"{people.name} has neither sessions nor a published conclusion for it."
        return _row(effect.says, NOT_JUDGED, why, size, mine)
    for name, test in (("runs", mine), ("sessions of people", theirs)):
        least = 0.0 if test is None else 0.5 ** min(test.n)
        published = name != "runs" and effect.published
        if test and not published and _conclusion(test) == NOT_FOUND and least > LEVEL:
            why = f"{min(test.n)} {name} are too few: the test cannot come below p = {least:.2g}."
            return _row(effect.says, NOT_JUDGED, why, size, mine)
    result = _conclusion(mine)
    where = f"; published: {effect.where}" if effect.published and effect.where else ""
    why = f"people: {concluded}, runs: {result}{where}"
    return _row(effect.says, SAME if result == concluded else DIFFERENT, why, size, mine)


def _tested(samples: Sequence[Floats], effect: Effect, paired: bool) -> Inference:
    """The sign test of an effect, with means of sessions or of runs."""
    limit = 0.0 if effect.value is None else effect.value
    above, below = (None, limit) if effect.direction == "less" else (limit, None)
    return infer(*samples, paired=paired, above=above, below=below)


def _conclusion(test: Inference) -> str:
    if test.p_for <= LEVEL:
        return "found"
    return "the opposite" if test.p_against <= LEVEL else NOT_FOUND


def _distributions(people: PeopleData, played: Played) -> pd.DataFrame:
    """One row per treatment and period."""
    book = people.book
    places = [(ALL, book.round)] if book.bins else []
    if people.decisions is not None:
        known = people.decisions[["treatment", "round"]].drop_duplicates()
        places = sorted(
            {(str(t) if book.treatments else ALL, int(n)) for t, n in known.itertuples(index=False)}
        )
    rows: list[dict[str, Any]] = []
    if not places:
        mine = played.of(ALL, book.round - book.first_round)
        why = f"{people.name} has neither decisions nor their distribution."
        rows.append(
            {"period": f"period {book.round}", "people": book.mean, "runs": mine["value"].mean(),
             "verdict": NOT_JUDGED, "why": why}
        )  # fmt: skip
    for treatment, period in places:
        name = f"period {period}" + (f", {treatment}" if treatment else "")
        number = period - book.first_round
        mine = played.of(treatment, number)
        if mine.empty:
            why = f"the runs have no decision in {name} (their round {number})."
            rows.append({"period": name, "verdict": NOT_JUDGED, "why": why})
            continue
        theirs, sessions = people.of(treatment, period)
        values = mine["value"].to_numpy(float)
        values = people.coarsened(values) if people.decisions is None else values
        independent = number == 0 and not played.talked
        rows.append(
            {"period": name, "why": "", **_cell(theirs, sessions, values, mine["run"], independent)}
        )
    tested = [row for row in rows if "verdict" not in row]
    for row, p in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row |= {"p": float(p), "verdict": DIFFERENT if p <= 2 * LEVEL else NOT_DETECTED}
    names = ["period", "people", "runs", "distance", "by_chance", "p", "variances", "n_people"]
    return pd.DataFrame(rows, columns=[*names, "n_runs", "verdict", "why"])


def _cell(
    theirs: Floats, sessions: Sequence[str] | None, mine: Floats, runs: Any, independent: bool
) -> dict[str, Any]:
    """The energy test of a period; units are persons if their decisions are independent."""
    if sessions is None and not independent:
        why = "runs and sessions are the units here, and the data have no sessions."
        return {"verdict": NOT_JUDGED, "why": why}
    test = energy_test(theirs, mine, *((None, None) if independent else (sessions, list(runs))))
    n_people, n_runs = test.units
    spread = float(theirs.var(ddof=1)) if theirs.size > 1 else 0.0
    row = {
        "people": float(theirs.mean()), "runs": float(mine.mean()), "distance": test.wasserstein,
        "by_chance": test.by_chance, "p": test.p,
        "variances": float(mine.var(ddof=1)) / spread if spread > 0 < mine.size - 1 else math.nan,
        "n_people": n_people, "n_runs": n_runs,
    }  # fmt: skip
    if test.least_p <= 2 * LEVEL:
        return row
    why = f"{n_people} and {n_runs} units are too few for a test at {2 * LEVEL:g}."
    return {**row, "p": math.nan, "verdict": NOT_JUDGED, "why": why}
