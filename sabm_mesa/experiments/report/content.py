"""What a report says, as texts and rows for its template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from sabm_mesa.analysis.process import CODES
from sabm_mesa.experiments.claims import WORDS, Verdict
from sabm_mesa.experiments.design import Claim, Experiment
from sabm_mesa.experiments.finding import alike
from sabm_mesa.experiments.report import provenance, tables
from sabm_mesa.experiments.report.drawings import (
    Drawing,
    labels,
    measure_name,
    runs_in_words,
    without_address,
)
from sabm_mesa.experiments.report.headline import (
    count,
    decided_by,
    headline,
    language_models,
    lead,
    needed,
)
from sabm_mesa.experiments.report.page import Verbatim, fence
from sabm_mesa.experiments.report.words import NONE, effect, estimate, exact, p_value
from sabm_mesa.experiments.results import Results

ONLY_RULES = (
    "No language model decided here: the verdicts say what these rules of behaviour do, and "
    "replicate nothing."
)

COMMON_SEEDS = (
    "Run i of every condition has the same seed (common random numbers), so that the runs of minds "
    "that decide by the seed come in pairs. The tests take conditions to be independent all the "
    "same, which is cautious where such pairs are alike."
)
OUTSIDE_SAID = f"{tables.OUTSIDE} Outside the 95 % interval of these runs."


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
        "lead": headline(results),
        "decided": f"Decided by: {decided_by(results.outcome.plan)}.",
        "question": experiment.question,
        "source": experiment.source.rstrip("."),
        "published_minds": f"Published runs decided by {_list(_published_minds(experiment))}.",
        "warnings": warnings(results),
        "verdicts": [_verdict(results, each) for each in results.verdicts],
        "figures": [each for each in drawn if not each.own],
        "own_figures": [each for each in drawn if each.own],
        "common_seeds": COMMON_SEEDS if len(experiment.conditions) > 1 else "",
        "outside": OUTSIDE_SAID if results.outside()[0] else "",
        "estimates": tables.estimates(results),
        "people": tables.of_people(results),
        "comparisons": tables.comparisons(results),
        "n_comparisons": len(results.comparisons),
        "courses": tables.courses(results),
        "n_courses": len(results.courses),
        "ratios": tables.ratios(results),
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
    llms = any(language_models(each.outcome.plan) for each in results)
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
                **{word.split()[-1]: count(each.verdicts, word) for word in WORDS},
            }
            for each in results
        ],
        "scales": ", ".join(dict.fromkeys(each.outcome.plan.scale for each in results)),
    }


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
        if not language_models(plan):
            said[-1] += f" {ONLY_RULES}"
    for names in alike(plan):
        called = [f"“{experiment.condition(name).label}”" for name in names]
        each = "Both" if len(names) == 2 else "All"
        said.append(
            f"{', '.join(called[:-1])} and {called[-1]} were one and the same request, with the "
            f"same parameters and minds. {each} got separate samples: runs of their own, which "
            "differ by chance alone, and not at all where the minds decide by the seed."
        )
    usual = experiment.scales["paper"].runs
    if plan.runs < usual:
        said.append(f"{runs_in_words(plan.runs)}; at paper scale there are {usual}.")
    quick, paper = (experiment.scales[scale].set for scale in ("quick", "paper"))
    changed = {k: v for k, v in quick.items() if paper.get(k, experiment.set.get(k)) != v}
    if plan.scale == "quick" and changed:
        listed = ", ".join(f"{k} = {v}" for k, v in changed.items())
        said.append(f"Smaller than what was published: {listed}.")
    if unchanging := _without_chance(results):
        said.append(
            f"All runs of {unchanging} are the same, number for number, whatever the seed: these "
            "minds leave nothing to chance there. However many runs they are, they are worth one, "
            "and the p-values of them say nothing."
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


def _list(minds: dict[str, str]) -> str:
    return ", ".join(dict.fromkeys(minds.values()))


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
        "needed": needed(verdict) or NONE,
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
