"""Screening: short tests of whether a mind is fit to play, before money is spent on it.

A test is a short run of a scenario in which one mind decides for all agents. The tests are in the
files ``screening.toml`` of the scenarios' folders, and judged there (`SmartModel.screener`). Each
test has a folder with its recording. Finished runs are not run again, interrupted ones continue,
and missing ones are run, all tests of all minds at the same time and within one budget.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.core.parameters import check_int
from sabm_mesa.errors import MindSpecError, ParameterError, UnknownName
from sabm_mesa.llm import Connection
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.declarations import Finding, Frames, Screened, Screener, ScreeningFigure
from sabm_mesa.models.registry import SCENARIOS, UNLISTED, model_at
from sabm_mesa.recording import RecordedRun, load_runs
from sabm_mesa.recording.export import (
    make_folder,
    write_csv,
    write_file,
    write_picture,
    write_text_file,
)
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.planned import RunSpec, find_runs, run_missing
from sabm_mesa.runs.run import Watch
from sabm_mesa.studies.page import html_page, markdown

PLAY = "play"
"""The default set of tests."""
RECORDING = "recording.sqlite"
_PROBLEMS = "n_problems"


@dataclass(frozen=True)
class ScreeningTest:
    """One test: a short run of a scenario in which one mind decides for all agents.

    Attributes:
        name: its name.
        title: its name in reports.
        scenario: the scenario, or the name of an unlisted model.
        source: its description.
        rule: the condition for passing; the limits are ours.
        set: the parameters that differ from the scenario's defaults.
    """

    name: str
    title: str
    scenario: str
    source: str
    rule: str
    set: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> type[SmartModel]:
        """The model class."""
        model = model_at({**SCENARIOS, **UNLISTED}[self.scenario])
        assert model is not None
        return model

    def parameters(self, mind: str) -> dict[str, Any]:
        """The parameters of a run, without the seed.

        Args:
            mind: the spec of the mind.
        """
        return {**self.set, "minds": mind}


@dataclass(frozen=True)
class Published:
    """A published result of a mind in a test.

    Attributes:
        mind: the mind, or several.
        found: the result, in our own words.
        source: its publication.
        test: the name of the test; ``""`` for all tests of the set.
        measure: the measured quantity, if that is a number.
        value: the number, or None.
    """

    mind: str
    found: str
    source: str
    test: str = ""
    measure: str = ""
    value: float | None = None


@dataclass(frozen=True)
class Battery:
    """A set of tests.

    Attributes:
        name: its name.
        title: its name in reports.
        stem: the name of the files with its report, without ending.
        source: its description.
        about: its meaning for a mind, and our choices.
        tests: the tests, in the order of their sources.
        published: the published results, test by test.
    """

    name: str
    title: str
    stem: str
    source: str
    about: str
    tests: Sequence[ScreeningTest]
    published: Sequence[Published]


def battery(name: str = PLAY, problems: int | None = None) -> Battery:
    """A set of tests.

    Args:
        name: its name.
        problems: the number of problems of each kind, for a set with problems; None: as published.

    Raises:
        UnknownName: for an unknown set.
        ParameterError: for a number of problems that cannot be used.
    """
    if name not in _batteries():
        raise UnknownName("set of tests", name, _batteries())
    named = _batteries()[name]
    if problems is None:
        return named
    if not all(_PROBLEMS in test.set for test in named.tests):
        raise ParameterError(f"The tests {name!r} have no problems to count: leave --problems out.")
    given = {_PROBLEMS: check_int("the number of problems", problems, 1)}
    return replace(named, tests=[replace(t, set={**t.set, **given}) for t in named.tests])


@cache
def _batteries() -> dict[str, Battery]:
    """Name → set of tests, from the files ``screening.toml``."""
    of_scenarios = Path(str(files("sabm_mesa.models"))).glob("*/screening.toml")
    paths = [Path(__file__).with_suffix(".toml"), *sorted(of_scenarios)]
    read = [tomllib.loads(path.read_text("utf-8")) for path in paths]
    batteries = {}
    for about in (entry for entry in read if "about" in entry):
        mine = [entry for entry in read if entry["battery"] == about["battery"]]
        tests = [ScreeningTest(**test) for entry in mine for test in entry.get("tests", ())]
        batteries[about["battery"]] = Battery(
            name=about["battery"],
            **about["about"],
            tests=sorted(tests, key=lambda test: test.source),
            published=[
                Published(**known) for entry in mine for known in entry.get("published", ())
            ],
        )
    return batteries


@dataclass(frozen=True)
class Screening:
    """A screening that was run.

    Attributes:
        battery: the set of tests.
        minds: the specs of the minds.
        seeds: the seeds of each test of each mind.
        recordings: test → its recording.
        frames: test → the frames of its recording (see `Recorded.frames`), of these runs only,
            each row with its ``mind``.
        ran: the number of runs that were played or continued now.
    """

    battery: Battery
    minds: Sequence[str]
    seeds: Sequence[int]
    recordings: Mapping[str, Path]
    frames: Mapping[str, Frames]
    ran: int


def screen(
    minds: Sequence[str],
    folder: str | Path,
    *,
    tests: Battery | None = None,
    runs: int = 1,
    seed: int = 1,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
) -> Screening:
    """Run all tests of some minds that are missing in the folder.

    Args:
        minds: their specs, each once.
        folder: the folder of the recordings: ``TEST/recording.sqlite``.
        tests: the set of tests; those of `battery` when None.
        runs: the number of runs per test and mind; run i has the seed ``seed + i``.
        seed: the first seed.
        connection: how language models are reached; its budget also counts the recorded costs.
        watch: called with the models every tenth of a second.

    Raises:
        UsageError: for minds, a number of runs or a seed that cannot be used; nothing has been
            asked or written then.
        RunError: when a run fails; its answers are recorded, and the same call continues.
    """
    if not minds or len(set(minds)) < len(minds):
        raise MindSpecError("A screening needs one mind or more, each named once.")
    seeds = [check_int("seed", seed, 0) + i for i in range(check_int("runs", runs, 1))]
    chosen = battery() if tests is None else tests
    paths = {test.name: Path(folder) / test.name / RECORDING for test in chosen.tests}
    specs = {
        test.name: {
            mind: RunSpec(test.model, test.parameters(mind), seed).with_seeds(seeds)
            for mind in minds
        }
        for test in chosen.tests
    }
    plans = {
        paths[name]: [spec for of_mind in by_mind.values() for spec in of_mind]
        for name, by_mind in specs.items()
    }
    ran = run_missing(plans, connection, watch=watch)
    frames = {name: _frames(paths[name], by_mind) for name, by_mind in specs.items()}
    return Screening(chosen, list(minds), seeds, paths, frames, ran)


def _frames(path: Path, specs: Mapping[str, Sequence[RunSpec]]) -> Frames:
    """The frames of a recording: the rows of the runs of each mind."""
    runs = find_runs([spec for of_mind in specs.values() for spec in of_mind], path)
    minds = {runs[spec.digest].run: mind for mind, of_mind in specs.items() for spec in of_mind}
    frames = Recorded(path).frames()
    return {
        name: frame[frame["run"].isin(list(minds))]
        .assign(mind=lambda rows: rows["run"].map(minds))
        .reset_index(drop=True)
        for name, frame in frames.items()
    }


@dataclass(frozen=True)
class ScreeningResult:
    """The result of a mind in a test.

    Attributes:
        test: the test.
        mind: the spec of the mind.
        passes: whether it passes by the rule of the test.
        words: the main measures in a few words.
        measures: measure → its value, or NaN.
    """

    test: ScreeningTest
    mind: str
    passes: bool
    words: str
    measures: Mapping[str, float]


def scores(screening: Screening) -> list[ScreeningResult]:
    """The scores, test by test and mind by mind.

    Args:
        screening: the answers.
    """
    results = []
    for test in screening.battery.tests:
        screener = _screener(test)
        for mind in screening.minds:
            frames = screening.frames[test.name]
            mine = {name: frame[frame["mind"] == mind] for name, frame in frames.items()}
            result = screener.find(mine)
            measures = {**result.measures, **_spent(mine["runs"])}
            results.append(ScreeningResult(test, mind, result.passes, result.words, measures))
    return results


def as_frame(
    results: Sequence[ScreeningResult], published: Sequence[Published] = ()
) -> pd.DataFrame:
    """The measures as a tidy table, and the published numbers below them.

    Args:
        results: the scores.
        published: published results; only numbers have a row.

    Returns:
        ``mind``, ``test`` (empty for all tests), ``measure``, ``value`` and, of a published
        number, its ``source``.
    """
    rows: list[tuple[str, str, str, float, str]] = [
        (score.mind, score.test.name, measure, value, "")
        for score in results
        for measure, value in ({"passes": float(score.passes)} | dict(score.measures)).items()
    ]
    rows += [
        (score.mind, score.test, score.measure, score.value, score.source)
        for score in published
        if score.value is not None
    ]
    return pd.DataFrame(rows, columns=["mind", "test", "measure", "value", "source"])


def _spent(runs: pd.DataFrame) -> dict[str, float]:
    names = ("asks", "invalid", "prompt_tokens", "completion_tokens")
    paid = {"cost_usd": float(runs["paid_usd"].sum(skipna=False))}
    return {name: float(runs[name].sum()) for name in names} | paid


@cache
def _screener_at(address: str) -> Screener:
    module, _, name = address.partition(":")
    screener: Screener = getattr(import_module(module), name)()
    return screener


def _screener(test: ScreeningTest) -> Screener:
    return _screener_at(test.model.screener)


def _by_screener(
    screening: Screening, results: Sequence[ScreeningResult]
) -> Iterator[tuple[Screener, Screened]]:
    """Each screener of a set of tests, with all answers to its tests."""
    for screener in dict.fromkeys(_screener(test) for test in screening.battery.tests):
        titles = {t.name: t.title for t in screening.battery.tests if _screener(t) is screener}
        yield (
            screener,
            Screened(
                titles=titles,
                minds=screening.minds,
                runs=len(screening.seeds),
                frames={name: screening.frames[name] for name in titles},
                findings={
                    (result.test.name, result.mind): Finding(
                        result.passes, result.words, result.measures
                    )
                    for result in results
                    if result.test.name in titles
                },
            ),
        )


def write(screening: Screening, results: Sequence[ScreeningResult], folder: Path) -> list[Path]:
    """Write the report of a screening, each file whole or not at all.

    Args:
        screening: the answers.
        results: their scores.
        folder: the folder of the recordings.

    Returns:
        The measures with the published numbers (CSV), single answers (CSV), the drawings (PNG),
        and the report (Markdown, HTML). Measures and report have the stem of the set of tests.

    Raises:
        OutputError: when a file cannot be written.
    """
    make_folder(folder)
    chosen = screening.battery
    drawn: list[ScreeningFigure] = []
    frames = {f"{chosen.stem}.csv": as_frame(results, chosen.published)}
    for screener, answers in _by_screener(screening, results):
        drawn += screener.drawings(answers)
        frames |= screener.tables(answers)
    pictures = {figure.name: style.to_png(figure.figure) for figure in drawn}
    written = [
        *(
            write_file(folder / name, partial(write_csv, frame=table))
            for name, table in frames.items()
        ),
        *(write_picture(folder / f"{name}.png", png) for name, png in pictures.items()),
    ]
    template = files(__package__).joinpath("screening.md.jinja").read_text("utf-8")
    values = _content(screening, results, drawn)
    text = markdown(template, values, {figure.name: f"{figure.name}.png" for figure in drawn})
    html = html_page(chosen.title, markdown(template, values), pictures)
    return [
        *written,
        write_text_file(folder / f"{chosen.stem}.md", text),
        write_text_file(folder / f"{chosen.stem}.html", html),
    ]


def _content(
    screening: Screening, results: Sequence[ScreeningResult], drawn: Sequence[ScreeningFigure]
) -> dict[str, Any]:
    """Return the values for the template of a report."""
    first, chosen = _recorded(screening), screening.battery
    versions = dict.fromkeys(item for past in first for item in past.versions.items())
    last = screening.seeds[-1]
    return {
        "title": chosen.title,
        "source": chosen.source,
        "about": chosen.about,
        "published": _published(chosen.published, ""),
        "pictures": [figure for figure in drawn if not figure.test],
        "minds": [
            {"mind": mind, "words": [passed(result) for result in results if result.mind == mind]}
            for mind in screening.minds
        ],
        "tests": [
            {
                "title": test.title,
                "rule": test.rule,
                "scores": [_row(result) for result in results if result.test == test],
                "published": _published(chosen.published, test.name),
                "pictures": [figure for figure in drawn if figure.test == test.name],
            }
            for test in chosen.tests
        ],
        "facts": [
            ("Runs of each test and mind", str(len(screening.seeds))),
            ("Seeds", f"{screening.seeds[0]} to {last}" if len(screening.seeds) > 1 else str(last)),
            ("Versions", ", ".join(f"{name} {version}" for name, version in versions)),
        ],
        "prompts": _prompts(screening, first),
    }


def passed(score: ScreeningResult) -> str:
    """Whether a mind passed a test, in a word."""
    return "passes" if score.passes else "fails"


def dollars(cost: float) -> str:
    """A cost in dollars; a word when it is unknown."""
    if math.isnan(cost):
        return "price unknown"
    return f"${cost:.4f}" if cost else "nothing"


def _row(score: ScreeningResult) -> dict[str, str]:
    return {
        "mind": score.mind,
        "passed": passed(score),
        "found": score.words,
        "asks": f"{score.measures['asks']:,.0f}",
        "invalid": f"{score.measures['invalid']:,.0f}",
        "paid": dollars(score.measures["cost_usd"]),
    }


def _published(known: Sequence[Published], test: str) -> list[Published]:
    return [score for score in known if score.test == test]


def _recorded(screening: Screening) -> list[RecordedRun]:
    """All runs, as recorded."""
    return [
        past
        for name, path in screening.recordings.items()
        for past in load_runs(path, [int(run) for run in screening.frames[name]["runs"]["run"]])
    ]


def _prompts(screening: Screening, recorded: Sequence[RecordedRun]) -> list[dict[str, str]]:
    """Return the used prompt entries, with their hashes."""
    of_path = {screening.recordings[test.name]: test for test in screening.battery.tests}
    rows = []
    for past in recorded:
        test = of_path[past.path]
        asked = screening.frames[test.name]["decisions"]["name"].unique()
        rows += [
            (test.title, entry, past.prompts[entry])
            for entry in ("scenario", *asked)
            if entry in past.prompts
        ]
    return [
        {"test": test, "entry": entry, "hash": digest}
        for test, entry, digest in dict.fromkeys(rows)
    ]
