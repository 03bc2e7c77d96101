"""Fits of behavioural models to the players of a recording.

Every applicable model is fitted to all decisions and to those of each mind. One model is selected
by BIC, and an absolute test checks whether it describes the decisions at all. A random player is
always among the models. The estimates of all decisions under the selected model are the
*fingerprint*: a table, a picture, and a file that ``--minds fitted:FILE`` plays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.behaviour import (
    Behaviour,
    BehaviouralModel,
    Mixture,
    Panel,
    PlayedRun,
    Uniform,
)
from sabm_mesa.analysis.estimation import (
    DATA_SETS,
    MENTIONED,
    MISSES,
    AbsoluteTest,
    Fit,
    absolute_test,
    fit,
    profile_interval,
)
from sabm_mesa.errors import (
    ParameterError,
    RecordingError,
    UnknownName,
    UsageError,
    format_user_error,
)
from sabm_mesa.minds.fitted import Fingerprint
from sabm_mesa.models import registry
from sabm_mesa.recording.decisions import played_runs
from sabm_mesa.studies.report import Report, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL = "all agents"
FEWEST_DATA_SETS = 39
"""With fewer data sets no p-value can be 2.5 % or less."""
NONE = "none of these"
WIDE = 0.5
"""A parameter is not identified when its interval spans at least this share of its limits."""


@dataclass(frozen=True, eq=False)
class FitGroup:
    """The decisions of all agents, or of those with one mind.

    Attributes:
        name: the name of the group.
        panel: its decisions.
        fits: the models, sorted by BIC.
        intervals: model → parameter → its 95 % interval by the profile likelihood.
        test: the absolute test of the selected model; None without it.
    """

    name: str
    panel: Panel
    fits: Sequence[Fit]
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    test: AbsoluteTest | None = None

    @property
    def selected(self) -> Fit:
        """The model with the smallest BIC."""
        return self.fits[0]

    @property
    def verdict(self) -> str:
        """The name of the selected model, or `NONE` if the absolute test rejects it."""
        refused = self.test is not None and self.test.refused
        return NONE if refused else self.selected.model.name

    def interval(self, fit: Fit, parameter: str) -> tuple[float, float, str]:
        """The interval of a parameter, and the remark that the decisions do not identify it.

        They do not if the interval spans half of the limits, on a log scale if the parameter is
        searched on it.
        """
        if not parameter:
            return math.nan, math.nan, ""
        low, high = self.intervals[fit.model.name][parameter]
        share = next(free for free in fit.model.parameters if free.name == parameter).share
        return low, high, "not identified" if share(high) - share(low) >= WIDE else ""


@dataclass(frozen=True, eq=False)
class FitStudy:
    """All fits to one recording.

    Attributes:
        path: the recording.
        scenario: the name of the scenario.
        behaviour: the declaration of the scenario.
        groups: the groups, that of all agents first.
        left_out: inapplicable models → the missing facts.
        unfinished: the numbers of runs that did not end; their finished rounds count.
    """

    path: Path
    scenario: str
    behaviour: Behaviour
    groups: Sequence[FitGroup]
    left_out: dict[str, list[str]]
    unfinished: list[int]

    @property
    def pooled(self) -> FitGroup:
        """The group of all agents."""
        return self.groups[0]

    @property
    def fingerprint(self) -> Fingerprint:
        """The estimates of all decisions under the selected model."""
        best, minds = self.pooled.selected, _minds(self.pooled.panel)
        return Fingerprint(self.scenario, best.model.name, best.by_name, ", ".join(minds))


def fit_recording(
    path: str | Path,
    *,
    models: Sequence[str] = (),
    mind: str = "",
    rounds: int | None = None,
    absolute: int = DATA_SETS,
    seed: int = 0,
    watch: Callable[[str], None] = lambda _: None,
) -> FitStudy:
    """Fit the behavioural models of a scenario to a recording.

    Args:
        models: the names of the models; empty: all applicable ones.
        mind: only agents with this mind; ``""`` for all.
        rounds: only rounds before this number; None for all.
        absolute: data sets of the selected model for the absolute test; 0 for none.
        seed: the seed of these data sets.
        watch: called with what is done.

    Raises:
        RecordingError: when the recording cannot be read, or lacks decisions or facts for a model.
        ParameterError: when it has several scenarios, no model is declared for its scenario, or an
            option is outside its limits.
        UnknownName: for an unknown model or mind.
    """
    if 0 < absolute < FEWEST_DATA_SETS:
        raise ParameterError(
            f"The absolute test needs at least {FEWEST_DATA_SETS} data sets, or 0 for no test (got "
            f"{absolute}): fewer cannot reach its significance level."
        )
    path = Path(path)
    runs = played_runs(path)
    scenario, behaviour, panel = _decisions(path, runs, mind, rounds)
    applicable, left_out = _models(path, behaviour, panel, models)
    rng = np.random.default_rng(seed)
    minds = _minds(panel)
    panels = {ALL: panel} | {
        mind: panel.of_players(lambda player, mind=mind: player.mind == mind)  # type: ignore[misc]
        for mind in (minds if len(minds) > 1 else ())
    }
    groups = [_fitted(name, of, applicable, absolute, rng, watch) for name, of in panels.items()]
    fitted = {player.run for player in panel.players}
    unfinished = [run.run for run in runs if run.run in fitted and not run.finished]
    return FitStudy(path, scenario, behaviour, groups, left_out, unfinished)


def table_of_fits(study: FitStudy) -> pd.DataFrame:
    """One row per parameter of each model and group; a model without parameters has one row.

    The interval from ``low`` to ``high`` is of the profile likelihood, ``free`` the number of free
    parameters, and ``gained`` the share of the log-likelihood of chance that the model gains.
    """
    return pd.DataFrame(
        [
            {
                "group": group.name, "model": fit.model.name, "selected": fit is group.selected,
                "parameter": name, "estimate": value, "low": low, "high": high, "remark": remark,
                "players": len(group.panel.players), "decisions": fit.n_decisions,
                "log_likelihood": fit.log_likelihood, "free": fit.n_free,
                "gained": fit.gained(group.panel), "bic": fit.bic,
            }
            for group in study.groups
            for fit in group.fits
            for name, value in (fit.by_name or {"": math.nan}).items()
            for low, high, remark in [group.interval(fit, name)]
        ]
    )  # fmt: skip


def table_of_types(study: FitStudy) -> pd.DataFrame:
    """The probable type of each agent under the selected model of all agents, if it has types."""
    panel, best = study.pooled.panel, study.pooled.selected
    if not isinstance(best.model, Mixture):
        return pd.DataFrame()
    shares = best.model.posterior(best.parameters, panel)
    return pd.DataFrame(
        {
            "run": [player.run for player in panel.players],
            "agent": [player.agent for player in panel.players],
            "mind": [player.mind for player in panel.players],
            "decisions": np.bincount(panel.player),
            "type": [best.model.types[i].name for i in shares.argmax(axis=1)],
            "probability": shares.max(axis=1),
        }
    )


def report_of(study: FitStudy) -> Report:
    """The report: the tables ``verdicts``, ``models``, ``parameters``, ``people``, ``fit``."""
    fits, types = table_of_fits(study), table_of_types(study)
    rows = [_verdict(group) for group in study.groups]
    verdicts = pd.DataFrame(rows)
    differing = "".join(
        f"\nDecisions of {row['group']} differ from {row['selected']}: {row['differences']}."
        for row in rows
        if row["differences"]
    )
    model, panel = study.pooled.selected.model, study.pooled.panel
    people = pd.DataFrame(
        [
            {"who": person.who, "parameter": name, "estimate": value, "source": person.source}
            for person in study.behaviour.people
            if person.model == model.name
            for name, value in person.parameters.items()
        ],
        columns=["who", "parameter", "estimate", "source"],
    )
    of_group: dict[Any, str] = {} if len(study.groups) == 1 else {"group": "group"}
    tables = [
        Table("verdicts", verdicts, {
            **of_group, "decisions": "decisions", "players": "players", "verdict": "verdict",
            "selected": "best by BIC", "gained": "gained over chance", "p": "p",
            "as_good": "as good",
        }, "Verdict", shares=["gained"],
        note="p: the share of simulated data sets that fit the model as badly as these decisions. "
        "A small p speaks against the model."),
        Table("models", fits.drop_duplicates(["group", "model"]), {
            **of_group, "model": "model", "log_likelihood": "log-likelihood", "gained": "gained",
            "bic": "BIC",
        }, "Models", shares=["gained"]),
        Table("parameters", fits[fits["selected"] & (fits["parameter"] != "")], {
            **of_group, "model": "model", "parameter": "parameter",
            ("estimate", "low", "high"): "estimate (95 %, profile likelihood)", "remark": "remark",
        }, "Estimates of the selected model"),
        Table("people", people, {
            "who": "people", "parameter": "parameter", "estimate": "estimate", "source": "source",
        } if len(people) else {}, "People"),
        Table("fit", fits, {}),
    ]  # fmt: skip
    if len(types):
        tables.append(Table("types", types, {}))
    warnings = [
        f"{name} does not apply: the runs do not have {', '.join(needs)}."
        for name, needs in study.left_out.items()
    ]
    if study.unfinished:
        runs = ", ".join(map(str, study.unfinished))
        warnings.append(f"Not finished: run {runs}. Only the finished rounds are used.")
    if panel.invalid:
        warnings.append(f"Invalid decisions, which are left out: {panel.invalid:,}.")
    return Report(
        f"What kind of player: {study.scenario}",
        f"Verdict: {study.pooled.verdict}. The best by BIC is {model.name}, {model.title} "
        f"({model.source}).{differing}",
        warnings,
        tables,
        {"fingerprint": draw_fingerprint(study)},
        {
            "recording": str(study.path), "scenario": study.scenario, "decisions": len(panel),
            "invalid": panel.invalid, "players": len(panel.players), "left_out": study.left_out,
            "unfinished": study.unfinished, "fingerprint": study.fingerprint.as_json(),
        },
    )  # fmt: skip


def draw_fingerprint(study: FitStudy) -> Figure:
    """The estimates of the selected model with their intervals, and published ones of people."""
    model = study.pooled.selected.model
    people = [person for person in study.behaviour.people if person.model == model.name]
    shares = [p for p in model.parameters if p.name.startswith("share_")]
    blocks = [
        block for block in (shares, *([p] for p in model.parameters if p not in shares)) if block
    ]
    n_shown = len(study.groups) + len(people)
    heights = [0.7 + 0.22 * len(block) * n_shown for block in blocks] or [1.0]
    figure = style.new_figure(
        f"What kind of player: {model.title}",
        f"{study.path.name}, {study.scenario}: estimates with 95 % intervals (profile likelihood)",
        height=sum(heights) + 0.5,
    )
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, block in zip(axes, blocks, strict=False):
        step = 0.8 / n_shown
        names = [parameter.name for parameter in block]
        rows = np.arange(len(block)) - 0.4 + step / 2
        for i, group in enumerate(study.groups):
            best = next(fit for fit in group.fits if fit.model is model)
            values = np.array([best.by_name[name] for name in names])
            ends = np.array([group.intervals[model.name][name] for name in names]).T
            errors = np.abs(ends - values)
            ax.errorbar(values, rows + step * i, xerr=errors, fmt="o", label=group.name)
        for i, person in enumerate(people, len(study.groups)):
            values = np.array([person.parameters.get(name, math.nan) for name in names])
            label = f"{person.who} ({person.source})"
            ax.plot(values, rows + step * i, "Ds^v"[i % 4], color=style.GREY, label=label)
        ticks = [name.removeprefix("share_").replace("_", " ") for name in names]
        ax.set_yticks(range(len(block)), ticks, parse_math=False)
        ax.set_ylim(len(block) - 0.5, -0.5)
        if block is shares:
            ax.set_xlim(0, 1)
        unit = f" ({block[0].unit})" if block[0].unit else ""
        style.plain_axes(ax, "share of players" if block is shares else f"{block[0].label}{unit}")
    style.legend_below(figure, *axes, loc="outside lower left", ncols=1)
    return figure


def _verdict(group: FitGroup) -> dict[str, Any]:
    """The verdict on one group, as a row."""
    test, best = group.test, group.selected
    as_good = [fit.model.name for fit in group.fits[1:] if fit.bic < best.bic + MENTIONED]
    return {
        "group": group.name, "decisions": len(group.panel), "players": len(group.panel.players),
        "verdict": group.verdict, "selected": best.model.name, "as_good": ", ".join(as_good),
        "gained": best.gained(group.panel), "p": math.nan if test is None else test.p,
        "data_sets": 0 if test is None else test.data_sets,
        "differences": "; ".join(MISSES[name] for name in test.misses)
        if test is not None and test.refused else "",
    }  # fmt: skip


def _decisions(
    path: Path, runs: Sequence[PlayedRun], mind: str, rounds: int | None
) -> tuple[str, Behaviour, Panel]:
    """The scenario of a recording, its declaration, and the chosen decisions."""
    names = sorted({run.scenario for run in runs})
    if len(names) > 1:
        raise ParameterError(
            f"{path} has runs of several scenarios ({', '.join(names)}): record each scenario in "
            "its own file to fit it."
        )
    behaviour = registry.scenario(names[0]).study.behaviour
    if behaviour is None:
        raise ParameterError(
            f"No behavioural model is declared for the scenario {names[0]} (`study`: "
            "`Study(behaviour=…)`)."
        )
    try:
        rows = [row for run in runs for row in behaviour.rows(run)]
    except Exception as error:
        raise UsageError(
            f"The rows of the behaviour of {names[0]} fail: {format_user_error(error)}"
        ) from error
    minds = sorted({row.player.mind for row in rows})
    if mind and mind not in minds:
        raise UnknownName(f"mind of {path}", mind, minds)
    if mind:
        rows = [row for row in rows if row.player.mind == mind]
    if rounds is not None:
        rows = [row for row in rows if row.time < rounds]
    panel = Panel.of(rows)
    if not len(panel):
        why = f": all {panel.invalid} answers are invalid" if panel.invalid else ""
        raise RecordingError(
            f"{path} lacks {behaviour.what} that a model of {names[0]} could describe{why}."
        )
    return names[0], behaviour, panel


def _models(
    path: Path, behaviour: Behaviour, panel: Panel, names: Sequence[str]
) -> tuple[list[BehaviouralModel], dict[str, list[str]]]:
    """The chosen applicable models, and the missing facts for the others."""
    asked = [behaviour.model(name) for name in names] or list(behaviour.models)
    if not any(isinstance(model, Uniform) for model in asked):
        asked.append(Uniform())
    lacking = {
        model.name: [need for need in model.needs if need not in panel.known] for model in asked
    }
    left_out = {name: needs for name, needs in lacking.items() if needs}
    models = [model for model in asked if model.name not in left_out]
    refused = [name for name in left_out if name in names or not models]
    if refused:
        name, needs = refused[0], left_out[refused[0]]
        raise RecordingError(
            f"The model {name} does not apply to {path}: it needs {', '.join(needs)}, which these "
            "runs do not have."
        )
    return models, left_out


def _fitted(
    name: str,
    panel: Panel,
    models: Sequence[BehaviouralModel],
    data_sets: int,
    rng: np.random.Generator,
    watch: Callable[[str], None],
) -> FitGroup:
    """Fit all models to one group."""
    watch(f"{name}: {len(models)} models")
    fits = sorted((fit(model, panel) for model in models), key=lambda found: found.bic)
    watch(f"{name}: {fits[0].model.name} is selected by BIC; the intervals")
    intervals = {
        found.model.name: {name: profile_interval(found, panel, name) for name in found.by_name}
        for found in fits
    }
    test = None
    if data_sets:
        watch(f"{name}: {data_sets} data sets drawn from {fits[0].model.name}")
        test = absolute_test(fits[0], panel, rng, data_sets)
    return FitGroup(name, panel, fits, intervals, test)


def _minds(panel: Panel) -> list[str]:
    return sorted({player.mind for player in panel.players})
