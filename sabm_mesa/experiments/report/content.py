"""What a report says, as texts and rows for its template."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from sabm_mesa.analysis.process import CODES
from sabm_mesa.experiments.claims import Verdict
from sabm_mesa.experiments.design import Claim, Experiment
from sabm_mesa.experiments.report import provenance, tables
from sabm_mesa.experiments.report.drawings import (
    Drawing,
    labels,
    measure_name,
    runs_in_words,
    without_address,
)
from sabm_mesa.experiments.report.page import Verbatim, fence
from sabm_mesa.experiments.report.words import NONE, effect, estimate, exact, p_value
from sabm_mesa.experiments.results import Results
from sabm_mesa.minds import language_model

WORDS = ("agrees", "disagrees", "cannot tell")
ONLY_RULES = (
    "No language model decided here: the verdicts say what these rules of behaviour do, and "
    "replicate nothing."
)


def content(results: Results, drawn: Sequence[Drawing]) -> dict[str, Any]:
    """What the template of a report is given.

    Args:
        results: what came out of the experiment.
        drawn: its figures.
    """
    experiment = results.outcome.plan.experiment
    commands = provenance.commands(results)
    return {
        "title": f"{experiment.name}: {experiment.title}",
        "lead": lead(results.verdicts, results.outcome.plan.runs),
        "question": experiment.question,
        "source": experiment.source.rstrip("."),
        "published_minds": f"Published runs decided by {_list(_published_minds(experiment))}.",
        "warnings": warnings(results),
        "verdicts": [_verdict(results, each) for each in results.verdicts],
        "figures": [each for each in drawn if not each.own],
        "own_figures": [each for each in drawn if each.own],
        "estimates": tables.estimates(results),
        "people": tables.of_people(results),
        "comparisons": tables.comparisons(results),
        "n_comparisons": len(results.comparisons),
        "courses": tables.courses(results),
        "n_courses": len(results.courses),
        "shares": tables.shares(results),
        "codes": [Verbatim(code) for code in CODES],
        "said": tables.codes(results),
        "facts": provenance.facts(results),
        "conditions": provenance.conditions(results),
        "notes": list(experiment.notes),
        "commands": [Verbatim(each) for each in commands],
        "fence": fence(commands),
        "repeat": provenance.repeat(results),
        **provenance.prompt_table(results),
    }


def index_content(results: Sequence[Results]) -> dict[str, Any]:
    """What the template of the index is given.

    Args:
        results: the experiments.
    """
    every = [verdict for each in results for verdict in each.verdicts]
    llms = any(_language_models(each) for each in results)
    return {
        "title": "Published experiments, and what was found",
        "lead": lead(every),
        "warnings": [] if llms else [ONLY_RULES],
        "experiments": [
            {
                "name": each.outcome.plan.experiment.name,
                "address": Verbatim(f"{quote(each.outcome.plan.experiment.name)}/report.html"),
                "title": each.outcome.plan.experiment.title,
                "minds": " / ".join(dict.fromkeys(each.minds().values())),
                "runs": len(each.outcome.runs),
                **{word.split()[0]: _count(each.verdicts, word) for word in WORDS},
            }
            for each in results
        ],
        "scales": ", ".join(dict.fromkeys(each.outcome.plan.scale for each in results)),
    }


def lead(verdicts: Sequence[Verdict], runs: int = 0) -> str:
    """What was found, in a sentence; ``""`` without claims.

    Args:
        verdicts: one on each claim.
        runs: runs a condition, when that is the same for all of them.
    """
    if not verdicts:
        return ""
    agrees, disagrees, _ = (_count(verdicts, word) for word in WORDS)
    moot = sum(bool(each.why) for each in verdicts)
    few = _count(verdicts, "cannot tell") - moot
    n = len(verdicts)
    text = (
        f"{agrees} of {n} published claims agree{'s' * (agrees == 1)} with these "
        f"runs, {disagrees} disagree{'s' * (disagrees == 1)}"
    )
    if few:
        text += f", {few} cannot be told with {runs_in_words(runs) if runs else 'so few runs'}"
    if moot:
        text += f", {moot} cannot be judged from such runs, however many"
    return f"{text}."


def warnings(results: Results) -> list[str]:
    """What a reader must know before believing the verdicts.

    Args:
        results: what came out of the experiment.
    """
    plan, runs = results.outcome.plan, results.outcome.runs
    experiment = plan.experiment
    said = []
    published, minds = _published_minds(experiment), results.minds()
    if any(without_address(minds[name]) != who for name, who in published.items()):
        said.append(f"Published with {_list(published)}; here: {_list(minds)}.")
        if not _language_models(results):
            said[-1] += f" {ONLY_RULES}"
    usual = experiment.scales["paper"].runs
    if plan.runs < usual:
        said.append(f"{runs_in_words(plan.runs)}; at paper scale there are {usual}.")
    quick, paper = (experiment.scales[scale].set for scale in ("quick", "paper"))
    changed = {k: v for k, v in quick.items() if paper.get(k, experiment.set.get(k)) != v}
    if plan.scale == "quick" and changed:
        listed = ", ".join(f"{k} = {v}" for k, v in changed.items())
        said.append(f"Smaller than what was published: {listed}.")
    if alike := _without_chance(results):
        said.append(
            f"All runs of {alike} are the same, number for number, whatever the seed: these minds "
            "leave nothing to chance there. However many runs they are, they are worth one, and "
            "the p-values of them say nothing."
        )
    for name, n in runs.groupby("condition", sort=False)["invalid"].sum().items():
        if n:
            asks = runs.loc[runs["condition"] == name, "asks"].sum()
            label = experiment.condition(str(name)).label
            said.append(f"{label}: {n:,} of {asks:,} questions got no usable answer.")
    return said


def _without_chance(results: Results) -> str:
    """The conditions whose runs are all the same."""
    numbers = results.outcome.model_data.drop(columns="seed").set_index("round")
    found = []
    for name, label in labels(results).items():
        mine = numbers[numbers["condition"] == name]
        first, *others = (run.drop(columns="run") for _, run in mine.groupby("run"))
        if others and all(first.equals(other) for other in others):
            found.append(f"“{label}”")
    return " and of ".join(found)


def _published_minds(experiment: Experiment) -> dict[str, str]:
    """Condition → who decided in the published runs."""
    return {each.name: each.minds or experiment.minds for each in experiment.conditions}


def _language_models(results: Results) -> bool:
    """Whether any language model decided."""
    return any(language_model(spec) for text in results.outcome.runs["minds"]
               for spec in json.loads(text))  # fmt: skip


def _list(minds: dict[str, str]) -> str:
    return ", ".join(dict.fromkeys(minds.values()))


def _count(verdicts: Sequence[Verdict], word: str) -> int:
    return sum(each.word == word for each in verdicts)


def _verdict(results: Results, verdict: Verdict) -> dict[str, str]:
    claim, test = verdict.claim, verdict.test
    kind = "Mean" if len(test.n) == 1 else "Difference of means"
    runs = " and ".join(map(str, test.n)) + (" run" if test.n == (1,) else " runs")
    missing = f", {test.missing} without a value" if test.missing else ""
    ours = f" Our choice: {claim.ours.rstrip('.')}." if claim.ours else ""
    found = estimate(test.estimate, test.low, test.high)
    return {
        "text": f"{claim.text} ({claim.source}){ours}",
        "word": verdict.word,
        "tested": _tested(results, claim),
        "found": f"{kind} {found}; {test.effect_name} {effect(test.effect)}; {runs}{missing}.",
        "p": p_value(verdict.p),
        "needed": _needed(verdict),
    }


def _tested(results: Results, claim: Claim) -> str:
    """What was tested, in words."""
    called = labels(results)
    measure = measure_name(results.outcome.plan.experiment.measure(claim.measure))
    label, than = called[claim.condition], called.get(claim.than, "")
    words = {
        "below": f"below {exact(claim.value)}",
        "above": f"above {exact(claim.value)}",
        "within": f"from {exact(claim.low)} to {exact(claim.high)}",
        "less": f"less than “{than}”",
        "more": f"more than “{than}”",
        "like": f"like “{than}”, up to {exact(claim.margin)}",
    }[claim.kind]
    return f"{measure}: “{label}” {words}"


def _needed(verdict: Verdict) -> str:
    if verdict.word != "cannot tell":
        return NONE
    if verdict.why:
        return f"no number of runs: {verdict.why}"
    if verdict.runs_needed is None:
        return "more than 500 runs a condition, if any number"
    return f"about {verdict.runs_needed} runs a condition"
