"""The report of an experiment: the verdicts, tables and figures, and what was run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.charts import figures, with_runs
from sabm_mesa.analysis.messages import CODES
from sabm_mesa.errors import one_line
from sabm_mesa.recording import load_runs
from sabm_mesa.studies import plots
from sabm_mesa.studies.experiments.claims import TrendClaim
from sabm_mesa.studies.experiments.results import WORDS, Results, Verdict, all_the_same
from sabm_mesa.studies.experiments.running import Outcome
from sabm_mesa.studies.experiments.schema import Plot
from sabm_mesa.studies.people import human_distributions
from sabm_mesa.studies.registration import Standing
from sabm_mesa.studies.report import Report, Table

ONLY_RULES = (
    "No language model decided here: the verdicts say what these rules of behaviour do, and "
    "replicate nothing."
)
VERDICTS = (
    "A claim agrees when a test for it is significant, and disagrees when a test against it is; "
    "else these runs are inconclusive. With too few runs the test could not show it, whatever the "
    "runs give; the last column says how many would do. A claim about named models has a verdict "
    "of its own when another language model decided. A claim that agrees is assumed by these minds "
    "when a mind that decided has it built in. A claim about language models is not judged when "
    "other minds decide instead. The unit is the run: rounds and agents are clustered in it, and "
    "count as one number a run. Run i of every condition has the same seed, and conditions are "
    "compared pair by pair of runs; a pair in which a run has no value is left out. Medians are "
    "tested by signs, shares of runs by the binomial distribution, and means of measures with "
    "known bounds by bets (Waudby-Smith and Ramdas 2024); all are valid at any number of runs, and "
    "the intervals belong to the same tests. The p-values are two-sided and corrected over all "
    "claims (Holm 1979), at a level of {alpha:.3g} %; the intervals are not corrected. How many "
    "runs would tell is a rough guide: it takes these runs for the truth (power 0.8)."
)
TREND = (
    "A trend is Kendall's tau of the values of a run and their rounds: 1 if each round is above "
    "all earlier ones, −1 if each is below them; a change that comes at once has a trend, too."
)
MEANS = "Intervals of means are of Student's t; a dash: fewer than 5 runs, or all alike."
PAIRS = "Two-sided tests, corrected over the pairs of each measure (Holm 1979)."
SAID = (
    "Shares of the messages that state a number, make a proposal, and so on. Coded by rules, with "
    "word lists that can be read; a message may have several codes or none. `sabm judge` has a "
    "language model code the same messages and says how far the two agree."
)
MOST_PAIRS = 30
"""The maximum number of pairs of conditions that readers see."""
MOST_POINTS = 20
"""The maximum number of rounds of published courses that readers see."""


def report_of(results: Results, standing: Standing | None = None) -> Report:
    """The report of an experiment.

    The tables are ``claims``, ``estimates``, ``people``, ``published`` (courses), ``comparisons``,
    ``messages`` (shares by code), ``conditions``; and for files alone ``measures``.
    """
    plan = results.outcome.plan
    experiment = plan.experiment
    trend = any(isinstance(claim, TrendClaim) for claim in experiment.claims)
    names, figures = labels(results), drawings(results)
    kept = "" if not results.outcome.earlier else " They build on earlier runs."
    return Report(
        f"{experiment.name} ({plan.scale}): {experiment.title}",
        f"{headline(results, standing)}{kept}",
        warnings(results),
        [table for table in _tables(results, names) if len(table.frame)],
        {name: figure for name, (figure, _) in figures.items()},
        _facts(results) | {"registration": None if standing is None else standing.summary()},
        [
            f"Question: {experiment.question}",
            f"Source: {experiment.source.rstrip('.')}.",
            *([VERDICTS.format(alpha=100 * experiment.alpha)] if results.verdicts else []),
            *([TREND] if trend else []),
            *experiment.notes,
        ],
        results.outcome.replays,
        {name: caption for name, (_, caption) in figures.items()},
    )


# What readers see first.


def counted(verdicts: Sequence[Verdict]) -> str:
    """The number of claims with each verdict; ``""`` without claims."""
    counts = Counter(verdict.word for verdict in verdicts)
    listed = ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word])
    claims = "1 claim" if len(verdicts) == 1 else f"{len(verdicts)} claims"
    return f"Verdicts on {claims}: {listed}." if verdicts else ""


def headline(results: Results, standing: Standing | None = None) -> str:
    """The verdicts, the registration and the published numbers in a few sentences."""
    lines = [counted(results.verdicts)]
    if standing is not None:
        lines += standing.lines()
    outside, n = results.outside()
    if n:
        lines.append(
            "Claims are about directions, orders and limits, not about sizes: outside the 95 % "
            f"intervals of these runs are {outside} of {n} published numbers."
        )
    return "\n".join(filter(None, lines))


def warnings(results: Results) -> list[str]:
    """The warnings that a reader needs before the verdicts."""
    plan, runs = results.outcome.plan, results.outcome.runs
    experiment, lines = plan.experiment, []
    published = {
        condition.name: condition.minds or experiment.minds for condition in experiment.conditions
    }
    minds = results.minds()
    if any(without_address(minds[name]) != who for name, who in published.items()):
        verb = "Planned for" if experiment.is_own else "Published with"
        lines.append(f"{verb} {_list(published)}; here: {_list(minds)}.")
        if not plan.has_language_models:
            lines[-1] += f" {ONLY_RULES}"
    for names in plan.alike:
        called = [f"“{experiment.condition(name).label}”" for name in names]
        lines.append(
            f"{', '.join(called[:-1])} and {called[-1]} were one and the same request, with the "
            "same parameters and minds. Each got separate samples: runs of its own, which differ "
            "by chance alone, and not at all where the minds decide by the seed."
        )
    usual = experiment.scales["paper"].runs
    if plan.runs < usual:
        lines.append(f"{plan.runs_in_words}; at paper scale there are {usual}.")
    quick, paper = (experiment.scales[scale].set for scale in ("quick", "paper"))
    changed = {k: v for k, v in quick.items() if paper.get(k, experiment.set.get(k)) != v}
    if plan.scale == "quick" and changed:
        listed = ", ".join(f"{k} = {v}" for k, v in changed.items())
        whole = "at paper scale" if experiment.is_own else "what was published"
        lines.append(f"Smaller than {whole}: {listed}.")
    numbers = dict(list(results.outcome.model_data.drop(columns=["run"]).groupby("condition")))
    if same := [
        f"“{label}”"
        for name, label in labels(results).items()
        if name in numbers and all_the_same(numbers[name])
    ]:
        lines.append(
            f"All runs of {' and of '.join(same)} are the same, number for number, whatever the "
            "seed: these minds leave nothing to chance there. However many runs they are, they are "
            "worth one, and the p-values of them say nothing."
        )
    for name, n in runs.groupby("condition", sort=False)["invalid"].sum().items():
        if n:
            asks = runs.loc[runs["condition"] == name, "asks"].sum()
            label = experiment.condition(str(name)).label
            lines.append(f"{label}: {n:,} of {asks:,} questions got no usable answer.")
    return lines


def labels(results: Results) -> dict[str, str]:
    """Condition → its label; with its present minds if it is named after other minds.

    If all conditions have the same minds, the warnings and the subtitles of figures name them.
    """
    minds = results.minds()
    alike = len(set(minds.values())) == 1
    return {
        condition.name: condition.label
        if alike or condition.minds in ("", without_address(minds[condition.name]))
        else f"{condition.label} (here: {minds[condition.name]})"
        for condition in results.outcome.plan.experiment.conditions
    }


def without_address(minds: str) -> str:
    """Minds in words, without the address of the endpoint."""
    return re.sub(r"@https?://[^\s,]*", "", minds)


def needed(verdict: Verdict) -> str:
    """The number of runs for a clear verdict, or why more do not help; ``""`` for a clear one."""
    return verdict.why or (verdict.runs_needed and f"{verdict.runs_needed} a condition")


def _list(minds: Mapping[str, str]) -> str:
    return ", ".join(dict.fromkeys(minds.values()))


# Tables.


def _tables(results: Results, names: Mapping[str, str]) -> list[Table]:
    outcome = results.outcome
    experiment = outcome.plan.experiment
    titles = {measure.name: measure.title for measure in experiment.measures}

    def named(frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with the labels of measures and conditions for readers."""
        new: dict[str, Any] = {"condition_label": frame["condition"].map(names)}
        if "measure" in frame:
            new["measure_label"] = frame["measure"].map(titles)
        if "than" in frame:
            new["than_label"] = frame["than"].map(names)
        return frame.assign(**new)

    more: dict[str | tuple[str, str, str], str] = {}
    if results.estimates["together"].notna().any():
        more["together"] = "all runs together"
    if results.estimates["published"].notna().any():
        more |= {"published": "published", "outside": "outside", "source": "published in"}
    people = [
        (titles[table.measure], table.label, number, table.source)
        for table in experiment.figures
        if table.measure and not table.condition
        for number in table.numbers
    ]
    said = outcome.messages.groupby("condition")[list(CODES)].mean().reset_index()
    said.insert(1, "n", outcome.messages.groupby("condition").size().to_numpy())
    return [
        Table("claims", _claims(results), {
            "verdict": "verdict", "claim": "claim", ("estimate", "low", "high"): "found (95 %)",
            "p": "p", "what_would_decide": "what would decide",
        }, "Claims"),
        Table("tests", _tests(results, names), {
            "claim": "claim", "tested": "tested", "effect": "effect size", "effect_name": "of",
            "runs": "runs", "test": "test", "source": "source", "ours": "our choice",
        }, "How the claims were tested", pages_only=True),
        Table("estimates", named(results.estimates), {
            "measure_label": "measure", "condition_label": "condition", "n": "runs",
            ("mean", "low", "high"): "mean (95 %)", **more,
        }, "Measures by condition", MEANS, pages_only=True),
        Table("people", pd.DataFrame(people, columns=["measure", "who", "published", "source"]), {
            "measure": "measure", "who": "who", "published": "published", "source": "published in",
        }, "People", pages_only=True),
        Table("published", named(results.courses), {
            "column": "column", "condition_label": "condition", "round": "round",
            "published": "published", ("mean", "low", "high"): "found (95 %)", "outside": "outside",
            "source": "published in",
        }, "Published courses", most=MOST_POINTS, pages_only=True),
        Table("comparisons", named(results.comparisons), {
            "measure_label": "measure", "condition_label": "condition", "than_label": "against",
            ("difference", "low", "high"): "median difference (95 %)", "delta": "Cliff's delta",
            "test": "test", "p": "p",
        }, "Differences between conditions", PAIRS, most=MOST_PAIRS, pages_only=True),
        Table("messages", named(said), {
            "condition_label": "condition", "n": "messages", **{code: code for code in CODES},
        }, "What was said", SAID, CODES, pages_only=True),
        Table("conditions", _conditions(results), {
            "label": "condition", "condition": "name", "parameters": "parameters", "minds": "minds",
        }, "Conditions", pages_only=True),
        Table("measures", results.measures, {}),
    ]  # fmt: skip


def _claims(results: Results) -> pd.DataFrame:
    """One row per claim: the verdict and the numbers."""
    return pd.DataFrame([
        {
            "claim": verdict.claim.text, "verdict": verdict.word,
            "estimate": verdict.test.estimate, "low": verdict.test.low, "high": verdict.test.high,
            "p": verdict.p, "what_would_decide": needed(verdict),
            "estimand": verdict.test.estimand.of, "fewest_runs": verdict.test.fewest,
        }
        for verdict in results.verdicts
    ])  # fmt: skip


def _tests(results: Results, names: Mapping[str, str]) -> pd.DataFrame:
    """One row per claim: the test in words, the effect size, the runs, the source."""
    experiment = results.outcome.plan.experiment
    titles = {measure.name: measure.title for measure in experiment.measures}
    groups = {group.name: group.label for group in experiment.groups}
    rows = []
    for verdict in results.verdicts:
        claim, test = verdict.claim, verdict.test
        rows.append({
            "claim": claim.text, "tested": claim.words(titles, {**names, **groups}),
            "effect": test.effect, "effect_name": test.effect_name,
            "runs": min(test.n), "missing": test.missing, "test": test.method,
            "source": claim.source, "ours": claim.ours,
        })  # fmt: skip
    return pd.DataFrame(rows)


def _conditions(results: Results) -> pd.DataFrame:
    """The conditions with their parameters and minds."""
    plan, minds = results.outcome.plan, results.minds()
    builds_on = plan.model.study.builds_on
    hidden = {"minds"} if builds_on is None else {"minds", builds_on.parameter}
    rows = []
    for condition in plan.experiment.conditions:
        cell = plan.first(condition.name)
        changed = {k: v for k, v in cell.parameters.items() if k not in hidden}
        words = _set(changed) or "the defaults"
        if builds_on is not None and (earlier := cell.parameters.get(builds_on.parameter)):
            words += f"; builds on {condition.builds_on or builds_on.recorded(earlier)}"
        if cell.fork_of:
            parent = plan.experiment.condition(cell.fork_of).label
            words = f"the runs of “{parent}” up to round {cell.at}, then {_set(cell.changes)}"
        rows.append((condition.label, condition.name, words, minds[condition.name]))
    return pd.DataFrame(rows, columns=["label", "condition", "parameters", "minds"])


def _set(parameters: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} = {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in parameters.items()
    )


# What was run.


def _facts(results: Results) -> dict[str, Any]:
    """Facts about the runs; the costs include those of earlier runs."""
    plan, runs = results.outcome.plan, results.outcome.all_runs
    experiment = plan.experiment
    first = results.outcome.runs.drop_duplicates("condition")["run"]
    recorded = load_runs(results.outcome.path, sorted(set(map(int, first))))
    versions = dict.fromkeys(f"{name} {v}" for run in recorded for name, v in run.versions.items())
    scenarios = dict.fromkeys(c.scenario or experiment.scenario for c in experiment.conditions)
    return {
        "experiment": experiment.name,
        "scenario": ", ".join(scenarios),
        "scale": plan.scale,
        "runs_per_condition": plan.runs,
        "runs": len(results.outcome.runs),
        "earlier_runs": len(runs) - len(results.outcome.runs),
        "seeds": plan.seeds,
        "minds": results.minds(),
        "asks": int(runs["asks"].sum()),
        "invalid": int(runs["invalid"].sum()),
        "prompt_tokens": int(runs["prompt_tokens"].sum()),
        "completion_tokens": int(runs["completion_tokens"].sum()),
        "paid_usd": float(runs["paid_usd"].sum(skipna=False)),
        "started": str(runs["started"].min())[:16].replace("T", " "),
        "ended": str(runs["ended"].max())[:16].replace("T", " "),
        "versions": ", ".join(versions),
    }


# Figures.


def drawings(results: Results) -> dict[str, tuple[Any, str]]:
    """The figures of a report, in the order in which it shows them.

    Returns:
        Name of a file → figure and caption.
    """
    asked = results.outcome.plan.experiment.plots
    drawn = dict(_plot(results, number, plot) for number, plot in enumerate(asked, 1))
    drawn["measures"] = _measures(results)
    drawn |= _of_scenario(results)
    for figure, _ in drawn.values():
        style.freeze_layout(figure)
    return drawn


def _subtitle(results: Results) -> str:
    """The minds that decided, and the number of runs."""
    plan = results.outcome.plan
    return _drawn(f"Decided by: {plan.decided_by} · {plan.runs_in_words}")


def _plot(results: Results, number: int, plot: Plot) -> tuple[str, tuple[Any, str]]:
    outcome, columns = results.outcome, list(plot.columns)
    theory = theory_marks(outcome, plot.theory) if plot.theory else {}
    column = columns[0] if len(columns) == 1 else "mean"
    name = _file_name(f"{number}-{column}")
    called = {name: _drawn(label) for name, label in labels(results).items()}
    words = {
        "title": _drawn(plot.title), "label": _drawn(plot.label), "subtitle": _subtitle(results),
    }  # fmt: skip
    if plot.kind == "values":
        data = outcome.agent_data
        figure = plots.distributions(
            data[data["round"] == plot.round], column, called, **words, marks=theory,
            people=human_distributions()[plot.human] if plot.human else None,
        )  # fmt: skip
        parts = [f"{plot.title}: the values of round {plot.round}."]
        parts += ["Dotted lines: theory."] if theory else []
        parts += ["Last panel: people."] if plot.human else []
        return name, (figure, " ".join(parts))
    model = outcome.plan.model
    data = model.decided_rounds(outcome.model_data)
    data = data.assign(**{column: data[columns].astype(float).mean(axis=1)})
    courses = results.courses[results.courses["column"] == column]
    figure = plots.by_round(
        data, column, called, **words, published=courses, marks=theory, given=model.given_rounds,
        kept=set(columns) <= set(model.study.kept_columns),
    )  # fmt: skip
    parts = [f"{plot.title}: means over runs with their 95 % intervals."]
    parts += ["Stars: published."] if not courses.empty else []
    parts += ["Thin grey lines: theory."] if theory else []
    return name, (figure, " ".join(parts))


def theory_marks(outcome: Outcome, name: str) -> dict[str, float]:
    """Label → the prediction of a theory that the scenario declares (`Study.theory_marks`)."""
    data, declared = outcome.model_data, outcome.plan.model.study.theory_marks[name]
    return {
        label: float(data[at].iloc[0] if isinstance(at, str) else at)
        for label, at in declared.items()
    }


def _measures(results: Results) -> tuple[Any, str]:
    experiment = results.outcome.plan.experiment
    people: dict[str, list[float]] = {}
    for published in experiment.figures:
        if published.measure and not published.condition:
            people.setdefault(published.measure, []).extend(published.numbers)
    figure = plots.by_condition(
        results.measures,
        {name: _drawn(label) for name, label in labels(results).items()},
        {measure.name: _drawn(measure.title) for measure in experiment.measures},
        title="Measures by condition", subtitle=_subtitle(results), published=results.estimates,
        people=people,
    )  # fmt: skip
    more = " Stars: published." if results.estimates["published"].notna().any() else ""
    more += " Broken lines: people." if people else ""
    caption = "Each measure by condition: one dot per run, and means with their 95 % intervals."
    return figure, caption + more


def _of_scenario(results: Results) -> dict[str, tuple[Any, str]]:
    """The scenario's own plots of each condition."""
    outcome = results.outcome
    plan, shown = outcome.plan, outcome.plan.experiment.show
    minds, names, drawn = results.minds(), labels(results), {}
    for number, condition in enumerate(plan.experiment.conditions if shown else (), 1):
        cell = plan.first(condition.name)
        given = {**cell.parameters, **cell.changes, "minds": "classical"}
        model_class = plan.model_of(condition.name)
        model = model_class(**given, rng=cell.seed, recording=False)
        model_data, agent_data = (
            data[data["condition"] == condition.name].drop(columns=["condition", "seed"])
            for data in (outcome.model_data, outcome.agent_data)
        )
        agents_of = dict(list(agent_data.groupby("run")))
        charts = [
            model.page.drawn(model, rows, agents_of[run], {})
            for run, rows in model_data.groupby("run")
        ]
        words = _drawn(f"{condition.label} · {minds[condition.name]}")
        of_scenario = figures(charts, words)
        if model.page.figures is not None:
            more = with_runs(words, len(charts))
            of_scenario |= model.page.figures(model, model_data, agent_data, more)
        for name, figure in of_scenario.items():
            if name in shown:
                file = _file_name(f"condition-{number}-{condition.name}-{name}")
                drawn[file] = figure, f"{names[condition.name]}: {figure.get_suptitle()}."
    return drawn


def _drawn(text: str) -> str:
    """A text that matplotlib does not read as a formula."""
    return one_line(text).replace("$", r"\$")


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")
