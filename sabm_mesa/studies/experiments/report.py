"""The report of an experiment: tables, figures, and one text in Markdown and HTML."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.analysis.messages import CODES
from sabm_mesa.analysis.tests import Inference
from sabm_mesa.minds.specs import Minds, by_spec
from sabm_mesa.recording import RecordedRun, load_runs
from sabm_mesa.recording.export import (
    make_folder,
    readable_json,
    write_csv,
    write_file,
    write_text_file,
)
from sabm_mesa.studies.experiments.claims import ANOTHER, WORDS, Verdict
from sabm_mesa.studies.experiments.design import (
    Claim,
    Experiment,
    is_own,
    models_of,
    published_models,
)
from sabm_mesa.studies.experiments.figures import (
    ReportFigure,
    drawings,
    labels,
    measure_name,
    runs_in_words,
    without_address,
)
from sabm_mesa.studies.experiments.plan import Plan, asks_language_model, described
from sabm_mesa.studies.experiments.results import Results, is_outside
from sabm_mesa.studies.experiments.running import alike
from sabm_mesa.studies.page import (
    NONE,
    Verbatim,
    effect,
    estimate,
    exact,
    fence,
    html_page,
    markdown,
    p_value,
    percent,
)

FORMATS = ("png", "pdf", "svg")
FIGURES = "figures"

ONLY_RULES = (
    "No language model decided here: the verdicts say what these rules of behaviour do, and "
    "replicate nothing."
)

COMMON_SEEDS = (
    "Run i of every condition has the same seed (common random numbers): the same first positions, "
    "traits and orders. Two conditions are therefore compared pair by pair of runs; a pair in "
    "which a run has no value is left out."
)
MOST_PAIRS = 30
"""The maximum number of pairs of conditions in a report; the CSV file has all."""
MOST_POINTS = 10
"""The maximum number of rounds of a published course in a report; the CSV file has all."""
OUTSIDE = "†"
"""Marks a published number that lies outside the interval of these runs."""
OUTSIDE_SAID = f"{OUTSIDE} Outside the 95 % interval of these runs."
Rows = list[dict[str, Any]]
ASSUMED = {"assumed": "assumed by these minds"}
"""Verdict → its words in the report, if they differ."""

HASH = 12
"""The length of the hash of all prompts, as of single prompts in a recording."""


def write(results: Results, folder: Path) -> list[Path]:
    """Write the report of an experiment into its folder, each file whole or not at all.

    The same recording gives the same files, byte for byte.

    Args:
        results: the results of the experiment.
        folder: where its recording is.

    Returns:
        The files: tidy tables (``measures.csv``, ``estimates.csv``, ``comparisons.csv``,
        ``published.csv``, ``verdicts.csv``, ``prompts.csv``,
        ``model.csv``, ``agents.csv``), ``figures/`` as PNG, PDF and SVG,
        ``report.md``, ``report.html`` (one file that needs no other) and, last, ``summary.json``.

    Raises:
        OutputError: when a file cannot be written.
    """
    make_folder(folder / FIGURES)
    summary = results.summary()
    tables = {
        "measures": results.measures,
        "estimates": results.estimates,
        "comparisons": results.comparisons,
        "published": results.courses,
        "verdicts": pd.DataFrame(summary["claims"]),
        "prompts": prompts(results),
        "model": results.outcome.model_data,
        "agents": results.outcome.agent_data,
    }
    files: dict[Path, Callable[[Path], object]] = {
        folder / f"{name}.csv": partial(write_csv, frame=table)
        for name, table in tables.items()
        if len(table.columns)
    }
    drawn = drawings(results)
    for drawing in drawn:
        for ending in FORMATS:
            path = folder / FIGURES / f"{drawing.name}.{ending}"
            files[path] = partial(
                drawing.figure.savefig, dpi=style.look.get().dpi, metadata=_undated(ending)
            )
    with style.repeatable_svg():
        written = [write_file(path, writing) for path, writing in files.items()]
    values = content(results, drawn)
    links = {drawing.name: f"{FIGURES}/{drawing.name}.png" for drawing in drawn}
    pictures = {name: (folder / link).read_bytes() for name, link in links.items()}
    text = template("report")
    texts = {
        "report.md": markdown(text, values, links),
        "report.html": html_page(values["title"], markdown(text, values), pictures),
        "summary.json": readable_json(summary) + "\n",
    }
    return [*written, *(write_text_file(folder / name, text) for name, text in texts.items())]


def write_index(results: Sequence[Results], folder: Path) -> Path:
    """Write a page that lists several experiments with their verdicts, and links their reports.

    Args:
        results: the experiments; the report of each is in its folder below this one.
        folder: where to.

    Returns:
        ``index.html``; ``index.md`` is beside it.

    Raises:
        OutputError: when a file cannot be written.
    """
    make_folder(folder)
    values = index_content(results)
    text = markdown(template("index"), values)
    write_text_file(folder / "index.md", text)
    return write_text_file(folder / "index.html", html_page(values["title"], text, {}))


def _undated(ending: str) -> dict[str, None]:
    """Metadata without the date, so that the same runs give the same file."""
    return {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(ending, {})


def template(name: str) -> str:
    """The text of a template.

    Args:
        name: ``report`` or ``index``.
    """
    return files(__package__).joinpath(f"{name}.md.jinja").read_text("utf-8")


def content(results: Results, drawn: Sequence[ReportFigure]) -> dict[str, Any]:
    """The values for the template of a report.

    Args:
        results: the results of the experiment.
        drawn: its figures.
    """
    experiment = results.outcome.plan.experiment
    is_users, lines = is_own(experiment), commands(results)
    return {
        "title": f"{experiment.name}: {experiment.title}",
        "lead": headline(results),
        "decided": f"Decided by: {decided_by(results.outcome.plan)}.",
        "registered": [] if results.standing is None else results.standing.lines(),
        "question": experiment.question,
        "source": experiment.source.rstrip("."),
        "own": is_users,
        "published_minds": ("Planned for " if is_users else "Published runs decided by ")
        + f"{_list(_published_minds(experiment))}.",
        "published_models": _published_models(experiment),
        "warnings": warnings(results),
        "verdicts": [_verdict(results, verdict) for verdict in results.verdicts],
        "figures": [drawing for drawing in drawn if not drawing.own],
        "own_figures": [drawing for drawing in drawn if drawing.own],
        "trend": any(verdict.claim.kind == "trend" for verdict in results.verdicts),
        "alpha": f"{100 * experiment.alpha:g} %",
        "common_seeds": COMMON_SEEDS if len(experiment.conditions) > 1 else "",
        "outside": OUTSIDE_SAID if results.outside()[0] else "",
        "estimates": _estimates_rows(results),
        "estimates_published": not is_users or results.estimates["published"].notna().any(),
        "people": _of_people_rows(results),
        "comparisons": _comparisons_rows(results),
        "n_comparisons": len(results.comparisons),
        "courses": _courses_rows(results),
        "n_courses": len(results.courses),
        "codes": [Verbatim(code) for code in CODES],
        "said": _codes_rows(results),
        "facts": _facts(results),
        "conditions": _conditions(results),
        "notes": list(experiment.notes),
        "commands": [Verbatim(line) for line in lines],
        "fence": fence(lines),
        "repeat": _repeat(results),
        **_prompt_table(results),
    }


def index_content(results: Sequence[Results]) -> dict[str, Any]:
    """The values for the template of the index.

    Args:
        results: the experiments.
    """
    every = [verdict for result in results for verdict in result.verdicts]
    llms = any(language_models(result.outcome.plan) for result in results)
    whose = _whose(results)
    return {
        "title": f"{whose}experiments, and what was found".capitalize(),
        "lead": lead(every, whose=whose),
        "warnings": [] if llms else [ONLY_RULES],
        "experiments": [
            {
                "name": result.outcome.plan.experiment.name,
                "address": Verbatim(f"{quote(result.outcome.plan.experiment.name)}/report.html"),
                "title": result.outcome.plan.experiment.title,
                "minds": " / ".join(dict.fromkeys(result.minds().values())),
                "runs": len(result.outcome.runs),
                "counts": [count(result.verdicts, word) for word in _shown(results)],
            }
            for result in results
        ],
        "words": _shown(results),
        "scales": ", ".join(dict.fromkeys(result.outcome.plan.scale for result in results)),
    }


def _shown(results: Sequence[Results]) -> list[str]:
    """The verdicts that the index counts: the usual ones, and others if they occur."""
    seen = {verdict.word for result in results for verdict in result.verdicts}
    usual = {"agrees", "assumed", "disagrees", "inconclusive", "too few runs", "not judged"}
    return [word for word in WORDS if word in usual | seen]


def warnings(results: Results) -> list[str]:
    """The warnings that a reader needs before the verdicts.

    Args:
        results: the results of the experiment.
    """
    plan, runs = results.outcome.plan, results.outcome.runs
    experiment = plan.experiment
    lines = []
    published, minds = _published_minds(experiment), results.minds()
    if any(without_address(minds[name]) != who for name, who in published.items()):
        verb = "Planned for" if is_own(experiment) else "Published with"
        lines.append(f"{verb} {_list(published)}; here: {_list(minds)}.")
        if not language_models(plan):
            lines[-1] += f" {ONLY_RULES}"
    for names in alike(plan):
        called = [f"“{experiment.condition(name).label}”" for name in names]
        quantifier = "Both" if len(names) == 2 else "All"
        lines.append(
            f"{', '.join(called[:-1])} and {called[-1]} were one and the same request, with the "
            f"same parameters and minds. {quantifier} got separate samples: runs of their own, "
            "which differ by chance alone, and not at all where the minds decide by the seed."
        )
    usual = experiment.scales["paper"].runs
    if plan.runs < usual:
        lines.append(f"{runs_in_words(plan.runs)}; at paper scale there are {usual}.")
    quick, paper = (experiment.scales[scale].set for scale in ("quick", "paper"))
    changed = {k: v for k, v in quick.items() if paper.get(k, experiment.set.get(k)) != v}
    if plan.scale == "quick" and changed:
        listed = ", ".join(f"{k} = {v}" for k, v in changed.items())
        whole = "at paper scale" if is_own(experiment) else "what was published"
        lines.append(f"Smaller than {whole}: {listed}.")
    if unchanging := _without_chance(results):
        lines.append(
            f"All runs of {unchanging} are the same, number for number, whatever the seed: these "
            "minds leave nothing to chance there. However many runs they are, they are worth one, "
            "and the p-values of them say nothing."
        )
    for name, n in runs.groupby("condition", sort=False)["invalid"].sum().items():
        if n:
            asks = runs.loc[runs["condition"] == name, "asks"].sum()
            label = experiment.condition(str(name)).label
            lines.append(f"{label}: {n:,} of {asks:,} questions got no usable answer.")
    return lines


def _without_chance(results: Results) -> str:
    """The conditions whose runs are all the same."""
    numbers = results.outcome.model_data.drop(columns="seed").set_index("round")
    unchanging = []
    for name, label in labels(results).items():
        mine = numbers[numbers["condition"] == name]
        first, *others = (run.drop(columns="run") for _, run in mine.groupby("run"))
        if others and all(first.equals(other) for other in others):
            unchanging.append(f"“{label}”")
    return " and of ".join(unchanging)


def _published_minds(experiment: Experiment) -> dict[str, str]:
    """Condition → the minds of the published runs."""
    return {
        condition.name: condition.minds or experiment.minds for condition in experiment.conditions
    }


def _published_models(experiment: Experiment) -> Rows:
    """The language models of the published runs: provider, withdrawal, and successors."""
    known = published_models()
    return [
        {
            "name": name,
            "provider": known[name].provider,
            "withdrawn": known[name].withdrawn or "no",
            "successors": ", ".join(known[name].successors) or NONE,
            "source": known[name].source,
        }
        for name in models_of(experiment)
        if name in known
    ]


def _list(minds: dict[str, str]) -> str:
    return ", ".join(dict.fromkeys(minds.values()))


def _verdict(results: Results, verdict: Verdict) -> dict[str, str]:
    claim, test = verdict.claim, verdict.test
    runs = " and ".join(map(str, test.n)) + (" run" if test.n == (1,) else " runs")
    missing = f", {test.missing} without a value" if test.missing else ""
    runs = f"{test.n[0]} pairs of runs" if test.estimand.paired else runs
    ours = f" Our choice: {claim.ours.rstrip('.')}." if claim.ours else ""
    estimated = estimate(test.estimate, test.low, test.high)
    return {
        "text": f"{claim.text} ({claim.source}){ours}",
        "word": ASSUMED.get(verdict.word, verdict.word),
        "tested": _tested(results, claim),
        "found": f"{_quantity(test)} {estimated}; {test.effect_name} {effect(test.effect)}; "
        f"{runs}{missing}; {test.method}.{_unpaired(verdict)}",
        "p": p_value(verdict.p),
        "needed": needed(verdict) or NONE,
    }


def _quantity(test: Inference) -> str:
    """The estimated quantity in words."""
    of = "mean" if test.estimand.independent else test.estimand.of
    words = {
        1: of,
        2: "median difference" if of == "median" else f"difference of {of}s",
        4: f"difference of differences ({of})",
    }
    return words[test.estimand.n_groups].capitalize()


def _unpaired(verdict: Verdict) -> str:
    """Why a comparison is not paired."""
    return f" Not in pairs: {verdict.unpaired}." if verdict.unpaired else ""


def _tested(results: Results, claim: Claim) -> str:
    """The test of a claim in words."""
    experiment = results.outcome.plan.experiment
    called = labels(results) | {group.name: group.label for group in experiment.groups}
    measure = measure_name(experiment.measure(claim.measure))
    label, than = called[claim.condition], f"“{called.get(claim.than, '')}”"
    if claim.than_measure:
        other = f"“{measure_name(experiment.measure(claim.than_measure))}”"
        than = f"{other} of {than}" if claim.than else other
    words = {
        "below": f"below {exact(claim.value)}",
        "above": f"above {exact(claim.value)}",
        "within": f"from {exact(claim.low)} to {exact(claim.high)}",
        "less": f"less than {than}",
        "more": f"more than {than}",
        "like": f"like {than}, up to {exact(claim.margin)}",
        "equal_effects": f"against {than}, as "
        + " against ".join(f"“{called[name]}”" for name in claim.other_effect)
        + (f", up to {exact(claim.margin)}" if claim.margin else ""),
        "trend": f"{'below' if claim.falling else 'above'} {exact(claim.value)}",
    }[claim.kind]
    return f"{measure}: “{label}” {words}"


def headline(results: Results) -> str:
    """The verdicts and the published numbers in a sentence or two; ``""`` without either.

    Args:
        results: the results of the experiment.
    """
    verdicts_line = lead(results.verdicts, results.outcome.plan.runs, _whose([results]))
    outside, n = results.outside()
    if not n:
        return verdicts_line
    lie = "lies" if outside == 1 else "lie"
    sizes = f"{outside} of {n} published numbers {lie} outside the 95 % intervals of these runs."
    if not verdicts_line:
        return sizes
    about = "Claims are about directions, orders and limits alone, not about sizes"
    return f"{verdicts_line} {about}: {sizes}"


def _whose(results: Sequence[Results]) -> str:
    """``published`` for experiments of the package, ``planned`` for a user's, with a space."""
    of_users = {is_own(result.outcome.plan.experiment) for result in results}
    return "" if len(of_users) > 1 else "planned " if of_users == {True} else "published "


def lead(verdicts: Sequence[Verdict], runs: int = 0, whose: str = "published ") -> str:
    """The verdicts in a sentence; ``""`` without claims.

    Args:
        verdicts: one on each claim.
        runs: the number of runs per condition, if that is the same for all.
        whose: the word before "claims", with a space.
    """
    n = len(verdicts)
    if not n:
        return ""
    agree, assumed, disagree, untold, too_few = (
        count(verdicts, word)
        for word in ("agrees", "assumed", "disagrees", "not judged", "too few runs")
    )
    other_agrees, other_disagrees = (
        count(verdicts, f"{word}{ANOTHER}") for word in ("agrees", "disagrees")
    )
    differ, no_difference = (
        count(verdicts, word) for word in ("effects differ", "no difference detected")
    )
    moot = sum(verdict.word == "inconclusive" and bool(verdict.why) for verdict in verdicts)
    few = count(verdicts, "inconclusive") - moot
    so_many = runs_in_words(runs) if runs else "so few runs"
    is_are, is_assumed = ("is" if n_claims == 1 else "are" for n_claims in (untold, assumed))
    parts = [
        (agree, f"agree{'s' * (agree == 1)} with these runs"),
        (disagree, f"disagree{'s' * (disagree == 1)}"),
        (other_agrees, f"agree{'s' * (other_agrees == 1)} with another model than the named one"),
        (
            other_disagrees,
            f"disagree{'s' * (other_disagrees == 1)} with another model than the named one",
        ),
        (assumed, f"{is_assumed} assumed by these minds"),
        (differ, "of equal effects: they differ"),
        (no_difference, "of equal effects: no difference was detected"),
        (too_few, f"need{'s' * (too_few == 1)} more runs, whatever these show"),
        (few, f"cannot be decided with {so_many}"),
        (moot, "cannot be judged with these minds, whatever the number of runs"),
        (untold, f"{is_are} not judged, since other minds stand in for the language models"),
    ]
    if n == 1:
        return f"The {whose}claim {next(words for n_claims, words in parts if n_claims)}."
    (_, first), second, *more = parts
    more = [second, *((n_claims, words) for n_claims, words in more if n_claims)]
    sentence = [f"{agree} of {n} {whose}claims {first}"]
    return ", ".join([*sentence, *(f"{n_claims} {words}" for n_claims, words in more)]) + "."


def count(verdicts: Sequence[Verdict], word: str) -> int:
    """The number of verdicts with a word.

    Args:
        verdicts: the verdicts.
        word: one of `WORDS`.
    """
    return sum(verdict.word == word for verdict in verdicts)


def decided_by(plan: Plan) -> str:
    """The minds that decide, and a note when none is a language model.

    Args:
        plan: the experiment.
    """
    minds = " / ".join(dict.fromkeys(described(mind) for mind in plan.minds.values()))
    return minds if language_models(plan) else f"{minds} (no language model)"


def language_models(plan: Plan) -> bool:
    """Whether any language model decides.

    Args:
        plan: the experiment.
    """
    return any(asks_language_model(minds) for minds in plan.minds.values())


def needed(verdict: Verdict) -> str:
    """The number of runs for a clear verdict, or why more would not help; ``""`` for a clear one.

    Args:
        verdict: the verdict on a claim.
    """
    if verdict.why:
        return verdict.why
    if verdict.word != "inconclusive":
        return ""
    return verdict.runs_needed and f"{verdict.runs_needed} a condition"


def _estimates_rows(results: Results) -> Rows:
    """Each measure by condition, with the published numbers."""
    experiment, called = results.outcome.plan.experiment, labels(results)
    rows = [
        {
            "measure": measure_name(experiment.measure(row["measure"])),
            "condition": called[row["condition"]],
            "n": row["n"],
            "mean": estimate(row["mean"], row["low"], row["high"]) + _together(row),
            "published": _published(row),
            "source": row["source"] or NONE,
        }
        for _, row in results.estimates.iterrows()
    ]
    return _grouped(rows, "measure")


def _of_people_rows(results: Results) -> Rows:
    """Published numbers of people, by measure."""
    experiment = results.outcome.plan.experiment
    return [
        {
            "measure": measure_name(experiment.measure(published.measure)),
            "who": published.label or NONE,
            "published": exact(number),
            "source": published.source,
        }
        for published in experiment.published
        if published.measure and not published.condition
        for number in published.numbers
    ]


def _comparisons_rows(results: Results) -> Rows:
    """Differences between conditions: all pairs, or those with the smallest p of many."""
    experiment, called = results.outcome.plan.experiment, labels(results)
    shown = results.comparisons
    if len(shown) > MOST_PAIRS:
        smallest = shown["p"].sort_values(kind="stable").index[:MOST_PAIRS]
        shown = shown.loc[sorted(smallest)]
    rows = [
        {
            "measure": measure_name(experiment.measure(row["measure"])),
            "pair": f"{called[row['condition']]} − {called[row['than']]}",
            "difference": estimate(row["difference"], row["low"], row["high"]),
            "delta": effect(row["delta"]),
            "test": row["test"],
            "p": p_value(row["p"]),
        }
        for _, row in shown.iterrows()
    ]
    return _grouped(rows, "measure")


def _courses_rows(results: Results) -> Rows:
    """Published courses and those of these runs: all rounds, or some of many."""
    called = labels(results)
    rows = []
    for (column, condition), course in results.courses.groupby(["column", "condition"], sort=False):
        for index in _spread(len(course)):
            row = course.iloc[index]
            rows.append(
                {
                    "column": str(column).replace("_", " "),
                    "condition": called[str(condition)],
                    "round": row["round"],
                    "published": _published(row),
                    "found": estimate(row["mean"], row["low"], row["high"]),
                    "source": row["source"],
                }
            )
    return rows


def _codes_rows(results: Results) -> Rows:
    """For each condition with messages, their shares by code."""
    messages, called = results.outcome.messages, labels(results)
    by_condition: dict[Any, pd.DataFrame] = dict(list(messages.groupby("condition")))
    return [
        {
            "condition": label,
            "n": f"{len(by_condition[name]):,}",
            "shares": [percent(by_condition[name][code].mean()) for code in CODES],
        }
        for name, label in called.items()
        if name in by_condition
    ]


def _together(row: pd.Series[Any]) -> str:
    """The most frequent value of all runs together, if there is one."""
    value = row["together"]
    return "" if math.isnan(value) else f"; {exact(value)} of all runs together"


def _published(row: pd.Series[Any]) -> str:
    """A published number, marked when it lies outside the interval of these runs."""
    outside = is_outside(row["published"], row["low"], row["high"])
    return f"{exact(row['published'])}{f' {OUTSIDE}' if outside else ''}"


def _grouped(rows: Rows, name: str) -> Rows:
    """The rows with each name only in the first row of its group."""
    before = [None, *(row[name] for row in rows)]
    return [
        {**row, name: "" if row[name] == above else row[name]}
        for row, above in zip(rows, before, strict=False)
    ]


def _spread(n: int) -> Sequence[int]:
    """Evenly spaced indexes below n, including the first and the last."""
    if n <= MOST_POINTS:
        return range(n)
    return [round(i * (n - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS)]


def _facts(results: Results) -> list[tuple[str, str]]:
    """Facts about the runs, as names and values."""
    plan, own_runs, runs = results.outcome.plan, results.outcome.runs, results.outcome.all_runs
    first = _first_runs(results)
    versions = dict.fromkeys(item for past in first.values() for item in past.versions.items())
    asks, invalid = int(runs["asks"].sum()), int(runs["invalid"].sum())
    taken = ", those that forks took over counted again" if runs["parent"].notna().any() else ""
    tokens = int(runs["prompt_tokens"].sum()), int(runs["completion_tokens"].sum())
    paid = float(runs["paid_usd"].sum(skipna=False))
    facts = [
        ("Scenario", ", ".join(_scenarios(plan.experiment))),
        ("Scale", f"{plan.scale}: {runs_in_words(plan.runs)}, {len(own_runs)} in all"),
        ("Seeds", _span(plan.seeds)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions)),
    ]
    if (earlier := results.outcome.earlier) is not None:
        played = "1 run" if len(earlier.runs) == 1 else f"{len(earlier.runs)} runs"
        counted = f"{played} of {earlier.plan.experiment.name}; the numbers below include them"
        facts.append(("Earlier runs", counted))
    facts.append(("Questions", f"{asks:,}, {invalid:,} of them without a usable answer{taken}"))
    if any(tokens):
        facts += [
            ("Tokens", f"{tokens[0]:,} sent, {tokens[1]:,} received"),
            (
                "Paid",
                "not known: a price is missing" if math.isnan(paid) else f"{paid:.2f} dollars",
            ),
        ]
    started, ended = (str(time)[:16].replace("T", " ") for time in
                      (runs["started"].min(), runs["ended"].max()))  # fmt: skip
    return [*facts, ("Run", f"from {started} to {ended} UTC")]


def _scenarios(experiment: Experiment) -> list[str]:
    names = [condition.scenario or experiment.scenario for condition in experiment.conditions]
    return list(dict.fromkeys(names))


def _conditions(results: Results) -> list[dict[str, str]]:
    """The conditions with their parameters and minds."""
    plan = results.outcome.plan
    minds = results.minds()
    builds_on = plan.model.builds_on
    hidden = {"minds"} if builds_on is None else {"minds", builds_on.parameter}
    rows = []
    for condition in plan.experiment.conditions:
        cell = next(cell for cell in plan.cells if cell.condition == condition.name)
        changed = {k: v for k, v in cell.parameters.items() if k not in hidden}
        words = _set(changed) or "none"
        if builds_on is not None and (earlier := cell.parameters.get(builds_on.parameter)):
            words += f"; builds on {condition.builds_on or builds_on.recorded(earlier)}"
        if cell.fork_of:
            parent = plan.experiment.condition(cell.fork_of).label
            words = f"the runs of “{parent}” up to round {cell.at}, then {_set(cell.changes)}"
        rows.append(
            {
                "name": condition.name,
                "label": condition.label,
                "minds": minds[condition.name],
                "set": words,
            }
        )
    return rows


def prompts(results: Results) -> pd.DataFrame:
    """The prompts of the first run of each condition.

    Returns:
        ``entry``, ``hash`` of its template (the beginning of its SHA-256, as recorded), and
        ``condition``, one row per condition and entry; an entry that a fork changes has two rows in
        its condition.
    """
    rows = []
    for condition, past in _first_runs(results).items():
        books = [past.prompts, *(fork["prompts"] or {} for fork in past.forks)]
        used = {(entry, digest) for book in books for entry, digest in book.items()}
        rows += [(entry, digest, condition) for entry, digest in sorted(used)]
    return pd.DataFrame(rows, columns=["entry", "hash", "condition"])


def _prompt_table(results: Results) -> dict[str, Any]:
    """The prompts that differ between conditions, and a sentence on all."""
    table = prompts(results)
    known = results.outcome.plan.experiment.conditions
    by_text: dict[tuple[str, str], list[str]] = {}
    for _, row in table.iterrows():
        by_text.setdefault((row["entry"], row["hash"]), []).append(row["condition"])
    shared = {key for key, using in by_text.items() if len(using) == len(known)}
    lines = "".join(f"{entry} {digest}\n" for entry, digest in sorted(by_text))
    whole = hashlib.sha256(lines.encode()).hexdigest()[:HASH]
    few = "" if len(shared) == len(by_text) else "; the others are below"
    return {
        "prompts_said": (
            f"{len(shared)} of {len(by_text)} prompt entries are the same in all conditions{few}. "
            f"Hashes of all are in prompts.csv; the hash of these together begins with {whole}."
        ),
        "prompts": [
            {
                "entry": entry,
                "hash": digest,
                "conditions": ", ".join(
                    condition.label for condition in known if condition.name in using
                ),
            }
            for (entry, digest), using in sorted(by_text.items())
            if (entry, digest) not in shared
        ],
    }


def commands(results: Results) -> list[str]:
    """Return the commands that resume these runs, and that repeat them."""
    plan, path = results.outcome.plan, results.outcome.path
    name = plan.experiment.name
    words = ["sabm", "reproduce", f"{name}.toml" if is_own(plan.experiment) else name]
    words += ["--scale", plan.scale, "--runs", str(plan.runs), "--seed", str(plan.seeds[0])]
    parents = [condition.name for condition in plan.experiment.conditions if not condition.fork_of]
    minds = {parent: _spec(plan.minds[parent]) for parent in parents}
    if len(set(minds.values())) == 1:
        words += ["--minds", minds[parents[0]]]
    else:
        words += [word for parent in parents for word in ("--minds", f"{parent}={minds[parent]}")]
    if _in_its_folder(results):
        words += ["--out", str(path.parent.parent)]
    return [shlex.join(words), shlex.join(["sabm", "replay", str(path)])]


def _repeat(results: Results) -> str:
    """A sentence on the commands."""
    anew = "runs the experiment again, in its own folder"
    first = "runs what is missing and rewrites this report" if _in_its_folder(results) else anew
    absolute = results.outcome.path.is_absolute()
    where = "" if absolute else "Both in the folder from which it was run. "
    second = "repeats all runs as they were recorded, asking nobody"
    return f"{where}The first {first}; the second {second}."


def _in_its_folder(results: Results) -> bool:
    """Whether the recording has the path that ``sabm reproduce`` gives it."""
    return results.outcome.path.parent.name == results.outcome.plan.experiment.name


def _spec(minds: Minds) -> str:
    """Minds in the form of the command line."""
    given = by_spec(minds)
    if isinstance(given, str):
        return given
    counts = given if isinstance(given, Mapping) else Counter(given)
    return json.dumps(dict(counts))


def _first_runs(results: Results) -> dict[str, RecordedRun]:
    """The first recorded run of each condition; equal conditions share runs."""
    first = results.outcome.runs.drop_duplicates("condition").set_index("condition")["run"]
    numbers = sorted({int(run) for run in first})
    by_number = {past.run: past for past in load_runs(results.outcome.path, numbers)}
    return {str(condition): by_number[run] for condition, run in first.items()}


def _span(seeds: Sequence[int]) -> str:
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"


def _set(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_value(value)}" for name, value in parameters.items())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
