"""Fits of behavioural models to the players of a recording.

Every applicable model is fitted to all decisions (pooled), to those of each mind and, on request,
of each agent. One model is selected by BIC, and an absolute test checks whether it describes the
decisions at all. A random player is always among the models. The estimates of the pooled decisions
under the selected model are the *fingerprint*: a table, a picture, and a file that
``--minds fitted:FILE`` plays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis.behaviour import (
    Behaviour,
    BehaviouralModel,
    Chance,
    Decider,
    Floats,
    Mixture,
    Panel,
    PlayedRun,
    TypesModel,
    load_behaviour,
)
from sabm_mesa.analysis.estimation import (
    MENTIONED,
    AbsoluteTest,
    Fit,
    absolute_test,
    bootstrap_intervals,
    by_rank,
    confusion,
    fit,
    held_out,
    n_free,
    profile_interval,
    units_of,
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

POOLED = "all agents"
DRAWS = 200
"""Samples of the bootstrap."""
DATA_SETS = 10
"""The number of data sets drawn from each model for the confusion matrix."""
TESTS = 99
"""The number of data sets drawn from the selected model for the absolute test."""
FEWEST_TESTS = 39
"""With fewer data sets no p-value can be 2.5 % or less."""
NONE = "none of these"
WIDE = 0.5
"""A parameter is not identified when its interval spans at least this share of its limits."""
_UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class Fitted:
    """One model, fitted to the decisions of one group.

    Attributes:
        fit: the estimates.
        intervals: parameter → its 95 % interval by the profile likelihood.
        resampled: parameter → its 95 % bootstrap interval, only for the selected model.
        held_out: the mean log-likelihood of a held-out decision; NaN with a single unit.
        gained: the share of the log-likelihood of chance that the model gains (`Fit.gained`); NaN
            if the scenario declares no random player.
    """

    fit: Fit
    intervals: dict[str, tuple[float, float]]
    resampled: dict[str, tuple[float, float]]
    held_out: float
    gained: float = math.nan

    @property
    def unidentified(self) -> list[str]:
        """The parameters that the decisions do not identify: the interval spans half of the limits.

        A parameter that is searched on a log scale is measured on it.
        """
        return [
            parameter.name
            for parameter in self.fit.model.parameters
            if parameter.name in self.intervals
            and np.diff([parameter.share(end) for end in self.intervals[parameter.name]])[0] >= WIDE
        ]

    def open_ends(self, name: str) -> tuple[bool, bool]:
        """Whether the interval of a parameter ends at the limits of the search, below and above.

        Natural limits, such as 0 and 1 of a share, do not count.

        Args:
            name: the parameter.
        """
        limits = next(
            parameter for parameter in self.fit.model.parameters if parameter.name == name
        )
        low, high = self.intervals.get(name, _UNKNOWN)
        return (
            limits.low != 0 and math.isclose(low, limits.low, rel_tol=1e-4),
            limits.high not in (0.5, 1) and math.isclose(high, limits.high, rel_tol=1e-4),
        )


@dataclass(frozen=True, eq=False)
class FitGroup:
    """The decisions of all agents, of those with one mind, or of one agent.

    Attributes:
        name: the name of the group.
        kind: ``pooled``, ``mind`` or ``agent``.
        panel: its decisions.
        fitted: the models, the selected one first.
        test: the absolute test of the selected model; None without it.
    """

    name: str
    kind: str
    panel: Panel
    fitted: Sequence[Fitted]
    test: AbsoluteTest | None = None

    @property
    def verdict(self) -> str:
        """The name of the selected model, or `NONE` if the absolute test rejects it."""
        refused = self.test is not None and self.test.refused
        return NONE if refused else self.selected.fit.model.name

    @property
    def by_players(self) -> Fitted:
        """The model that is selected when players count as independent, and not decisions."""
        n = len(self.panel.players)
        return min(self.fitted, key=lambda fitted: fitted.fit.bic_of(n))

    @property
    def selected(self) -> Fitted:
        """The model that is selected by BIC (`by_rank`)."""
        return self.fitted[0]

    @property
    def undecided(self) -> list[str]:
        """The models that fit as well as the selected one, by BIC."""
        bic = self.selected.fit.bic
        return [
            fitted.fit.model.name for fitted in self.fitted[1:] if fitted.fit.bic < bic + MENTIONED
        ]


@dataclass(frozen=True, eq=False)
class FitStudy:
    """All fits to one recording.

    Attributes:
        path: the recording.
        scenario: the name of the scenario.
        behaviour: the declaration of the scenario.
        unit: the unit of the bootstrap and of the held-out score: ``run`` or ``agent``.
        groups: the groups, the pooled one first.
        left_out: inapplicable models → the missing facts.
        unfinished: the numbers of runs that did not end; their finished rounds count.
        confusion: shape (models, models): see `sabm_mesa.analysis.estimation.confusion`; the models
            in the order of the pooled group; None without it.
    """

    path: Path
    scenario: str
    behaviour: Behaviour
    unit: str
    groups: Sequence[FitGroup]
    left_out: dict[str, list[str]]
    unfinished: list[int]
    confusion: Floats | None = None

    @property
    def pooled(self) -> FitGroup:
        """The group of all agents."""
        return self.groups[0]

    @property
    def fingerprint(self) -> Fingerprint:
        """The estimates of all decisions under the selected model."""
        best, minds = self.pooled.selected.fit, _minds(self.pooled.panel)
        return Fingerprint(self.scenario, best.model.name, best.by_name, ", ".join(minds))


@dataclass(frozen=True)
class FitOptions:
    """The choice of decisions and models to fit.

    Attributes:
        models: the names of the models; empty: all applicable ones.
        mind: only agents with this mind; ``""`` for all.
        rounds: only rounds before this number; None for all.
        agents: whether each agent is a group, too.
        bootstrap: samples of the bootstrap; 0 for none.
        confusion: data sets of each model for the confusion matrix; 0 for none.
        absolute: data sets of the selected model for the absolute test; 0 for none.
        seed: the seed of the bootstrap and of these data sets.
    """

    models: Sequence[str] = field(default=())
    mind: str = ""
    rounds: int | None = None
    agents: bool = False
    bootstrap: int = DRAWS
    confusion: int = DATA_SETS
    absolute: int = TESTS
    seed: int = 0


def fit_recording(
    path: str | Path,
    options: FitOptions | None = None,
    watch: Callable[[str], None] = lambda _: None,
) -> FitStudy:
    """Fit the behavioural models of a scenario to a recording.

    Args:
        path: the recording, of runs of one scenario.
        options: the choice of decisions and models.
        watch: receives a few words on the current computation.

    Raises:
        RecordingError: when the recording cannot be read, or lacks decisions or facts for a model.
        ParameterError: when it has several scenarios, no model is declared for its scenario, or an
            option is outside its limits.
        UnknownName: for an unknown model or mind.
    """
    wanted = options or FitOptions()
    if 0 < wanted.absolute < FEWEST_TESTS:
        raise ParameterError(
            f"The absolute test needs at least {FEWEST_TESTS} data sets, or 0 for no test (got "
            f"{wanted.absolute}): fewer cannot reach its significance level."
        )
    path = Path(path)
    runs = played_runs(path)
    scenario, behaviour, panel = _decisions(path, runs, wanted)
    models, left_out = _models(path, behaviour, panel, wanted.models)
    rng = np.random.default_rng(wanted.seed)
    groups = []
    for name, kind, members in _groups(panel, wanted.agents):
        groups.append(_fitted(name, kind, members, models, wanted, rng, watch))
    table = None
    pooled = groups[0]
    if wanted.confusion and len(models) > 1:
        watch(f"the confusion matrix: {wanted.confusion} data sets of each of {len(models)} models")
        ranked = [models.index(fitted.fit.model) for fitted in pooled.fitted]
        fits = [pooled.fitted[ranked.index(i)].fit for i in range(len(models))]
        table = confusion(fits, pooled.panel, wanted.confusion, rng)
        table = table[np.ix_(ranked, ranked)]
    fitted = {player.run for player in panel.players}
    unit = "run" if len(fitted) > 1 else "agent"
    unfinished = [run.run for run in runs if run.run in fitted and not run.finished]
    return FitStudy(path, scenario, behaviour, unit, groups, left_out, unfinished, table)


def table_of_fits(study: FitStudy) -> pd.DataFrame:
    """One row per parameter of each model and group.

    Args:
        study: the fits.

    Returns:
        ``group``, its ``kind``, ``model``, ``selected``, ``parameter``, ``estimate``; ``low`` and
        ``high`` (profile likelihood), ``identified`` (`Fitted.unidentified`; None without an
        interval), ``bootstrap_low`` and ``bootstrap_high``; ``players``,
        ``decisions``, ``log_likelihood``, ``free`` (parameters), ``gained`` (the share of the
        log-likelihood of chance), ``aic``, ``bic`` (by decisions), ``bic_players`` (by players),
        ``held_out``.
        A model without parameters has one row without one.
    """
    rows = []
    for group in study.groups:
        for fitted in group.fitted:
            fit = fitted.fit
            scores = {
                "players": len(group.panel.players),
                "decisions": fit.n_decisions,
                "log_likelihood": fit.log_likelihood,
                "free": n_free(fit.model),
                "gained": fitted.gained,
                "aic": fit.aic,
                "bic": fit.bic,
                "bic_players": fit.bic_of(len(group.panel.players)),
                "held_out": fitted.held_out,
            }
            for name, value in (fit.by_name or {"": math.nan}).items():
                low, high = fitted.intervals.get(name, _UNKNOWN)
                least, most = fitted.resampled.get(name, _UNKNOWN)
                rows.append(
                    {
                        "group": group.name,
                        "kind": group.kind,
                        "model": fit.model.name,
                        "selected": fitted is group.selected,
                        "parameter": name,
                        "estimate": value,
                        "low": low,
                        "high": high,
                        "identified": name not in fitted.unidentified if fitted.intervals else None,
                        "bootstrap_low": least,
                        "bootstrap_high": most,
                        **scores,
                    }
                )
    return pd.DataFrame(rows)


def table_of_types(study: FitStudy) -> pd.DataFrame:
    """The probable type of each agent under the selected model of all agents.

    Args:
        study: the fits.

    Returns:
        One row per agent: ``run``, ``agent``, ``mind``, ``decisions``, ``type`` and its
        ``probability``; empty when the selected model has no types.
    """
    panel, best = study.pooled.panel, study.pooled.selected.fit
    if not isinstance(best.model, TypesModel):
        return pd.DataFrame()
    names = _types(best.model)
    shares = best.model.posterior(best.parameters, panel)
    counts = np.bincount(panel.player, minlength=len(panel.players))
    return pd.DataFrame(
        [
            {
                "run": player.run,
                "agent": player.agent,
                "mind": player.mind,
                "decisions": int(counts[i]),
                "type": names[int(np.argmax(shares[i]))],
                "probability": float(shares[i].max()),
            }
            for i, player in enumerate(panel.players)
        ]
    )


def summary(study: FitStudy) -> dict[str, Any]:
    """All results as JSON values.

    Args:
        study: the fits.
    """
    names = [fitted.fit.model.name for fitted in study.pooled.fitted]
    return {
        "recording": str(study.path),
        "scenario": study.scenario,
        "decisions": len(study.pooled.panel),
        "invalid": study.pooled.panel.invalid,
        "players": len(study.pooled.panel.players),
        "unit": study.unit,
        "verdicts": [_verdict(group) for group in study.groups],
        "fits": table_of_fits(study).to_dict("records"),
        "left_out": study.left_out,
        "unfinished": study.unfinished,
        "confusion": None
        if study.confusion is None
        else {"models": names, "selected": study.confusion.tolist()},
        "people": [
            {"who": person.who, "model": person.model, "parameters": dict(person.parameters),
             "source": person.source}
            for person in study.behaviour.people
        ],
        "fingerprint": study.fingerprint.as_json(),
    }  # fmt: skip


def _verdict(group: FitGroup) -> dict[str, Any]:
    """The verdict on one group, as JSON values."""
    test = group.test
    return {
        "group": group.name,
        "kind": group.kind,
        "verdict": group.verdict,
        "selected": group.selected.fit.model.name,
        "selected_by_players": group.by_players.fit.model.name,
        "as_good": group.undecided,
        "gained": group.selected.gained,
        "absolute_test": None
        if test is None
        else {"p": test.p, "data_sets": test.data_sets, "misses": list(test.misses)},
    }


def _decisions(
    path: Path, runs: Sequence[PlayedRun], wanted: FitOptions
) -> tuple[str, Behaviour, Panel]:
    """The scenario of a recording, its declaration, and the chosen decisions."""
    names = sorted({run.scenario for run in runs})
    if len(names) > 1:
        raise ParameterError(
            f"{path} has runs of several scenarios ({', '.join(names)}): record each scenario in "
            "its own file to fit it."
        )
    behaviour = load_behaviour(registry.scenario(names[0]).behaviour)
    if behaviour is None:
        raise ParameterError(
            f"No behavioural model is declared for the scenario {names[0]} (class attribute "
            "`behaviour`)."
        )
    try:
        rows = [row for run in runs for row in behaviour.rows(run)]
    except Exception as error:
        raise UsageError(
            f"The rows of the behaviour of {names[0]} fail: {format_user_error(error)}"
        ) from error
    minds = sorted({row.player.mind for row in rows})
    if wanted.mind and wanted.mind not in minds:
        raise UnknownName(f"mind of {path}", wanted.mind, minds)
    if wanted.mind:
        rows = [row for row in rows if row.player.mind == wanted.mind]
    if wanted.rounds is not None:
        rows = [row for row in rows if row.time < wanted.rounds]
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
    asked += [
        model for model in behaviour.models if isinstance(model, Chance) and model not in asked
    ]
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


def _groups(panel: Panel, agents: bool) -> list[tuple[str, str, Panel]]:
    groups = [(POOLED, "pooled", panel)]
    minds = _minds(panel)
    if len(minds) > 1:
        groups += [(mind, "mind", panel.of_players(partial(_decides, mind=mind))) for mind in minds]
    if agents:
        groups += [
            (f"run {player.run}, agent {player.agent}", "agent", panel.of_players(player.__eq__))
            for player in panel.players
        ]
    return groups


def _decides(player: Decider, mind: str) -> bool:
    return player.mind == mind


def _fitted(
    name: str,
    kind: str,
    panel: Panel,
    models: Sequence[BehaviouralModel],
    wanted: FitOptions,
    rng: np.random.Generator,
    watch: Callable[[str], None],
) -> FitGroup:
    """Fit all models to one group."""
    watch(f"{name}: {len(models)} models")
    fits = by_rank([fit(model, panel) for model in models])
    units = units_of(panel)
    alone, several = kind == "agent", int(units.max()) > 0
    samples = f", with {wanted.bootstrap} samples of the bootstrap" if several else ""
    if not alone:
        watch(f"{name}: {fits[0].model.name} is selected by BIC; the intervals{samples}")
    chance = next((model for model in models if isinstance(model, Chance)), None)
    fitted = []
    for candidate in fits:
        names = [parameter.name for parameter in candidate.model.parameters]
        resampled = {}
        if wanted.bootstrap and several and not alone and candidate is fits[0]:
            resampled = bootstrap_intervals(candidate, panel, units, wanted.bootstrap, rng)
        fitted.append(
            Fitted(
                candidate,
                {} if alone else {p: profile_interval(candidate, panel, p) for p in names},
                resampled,
                math.nan if alone else held_out(candidate, panel, units),
                math.nan if chance is None else candidate.gained(chance, panel),
            )
        )
    test = None
    if wanted.absolute and not alone:
        watch(f"{name}: {wanted.absolute} data sets drawn from {fits[0].model.name}")
        test = absolute_test(fits[0], panel, rng, wanted.absolute)
    return FitGroup(name, kind, panel, fitted, test)


def _minds(panel: Panel) -> list[str]:
    return sorted({player.mind for player in panel.players})


def _types(model: TypesModel) -> list[str]:
    """The names of the types of a model."""
    if isinstance(model, Mixture):
        return list(model.types)
    n = len(model.shares(np.array([p.low for p in model.parameters])))
    return [f"{k} step{'' if k == 1 else 's'}" for k in range(n)]
