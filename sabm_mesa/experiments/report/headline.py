"""What was found in a sentence or two, and who decided."""

from __future__ import annotations

from collections.abc import Sequence

from sabm_mesa.experiments.claims import MOST_RUNS, Verdict
from sabm_mesa.experiments.deciding import asks_language_model
from sabm_mesa.experiments.plan import Plan, described
from sabm_mesa.experiments.report.drawings import runs_in_words
from sabm_mesa.experiments.results import Results


def headline(results: Results) -> str:
    """What was found of the claims, and of the published numbers; ``""`` without either.

    Args:
        results: what came out of the experiment.
    """
    found = lead(results.verdicts, results.outcome.plan.runs)
    outside, n = results.outside()
    if not n:
        return found
    lie = "lies" if outside == 1 else "lie"
    sizes = f"{outside} of {n} published numbers {lie} outside the 95 % intervals of these runs."
    if not found:
        return sizes
    return f"{found} Claims are about directions, orders and limits alone, not about sizes: {sizes}"


def lead(verdicts: Sequence[Verdict], runs: int = 0) -> str:
    """What was found of the claims, in a sentence; ``""`` without claims.

    Args:
        verdicts: one on each claim.
        runs: runs a condition, when that is the same for all of them.
    """
    n = len(verdicts)
    if not n:
        return ""
    agree, disagree, untold = (
        count(verdicts, word) for word in ("agrees", "disagrees", "not told")
    )
    moot = sum(each.word == "cannot tell" and bool(each.why) for each in verdicts)
    few = count(verdicts, "cannot tell") - moot
    so_many = runs_in_words(runs) if runs else "so few runs"
    is_are = "is" if untold == 1 else "are"
    parts = [
        (agree, f"agree{'s' * (agree == 1)} with these runs"),
        (disagree, f"disagree{'s' * (disagree == 1)}"),
        (few, f"cannot be told with {so_many}"),
        (moot, "cannot be judged with these minds, whatever the number of runs"),
        (untold, f"{is_are} not told, since other minds stand in for the language models"),
    ]
    if n == 1:
        return f"The published claim {next(words for found, words in parts if found)}."
    (_, first), second, *more = parts
    more = [second, *((found, words) for found, words in more if found)]
    said = [f"{agree} of {n} published claims {first}"]
    return ", ".join([*said, *(f"{found} {words}" for found, words in more)]) + "."


def count(verdicts: Sequence[Verdict], word: str) -> int:
    """How many verdicts are of a word.

    Args:
        verdicts: the verdicts.
        word: ``agrees``, ``disagrees``, ``cannot tell`` or ``not told``.
    """
    return sum(each.word == word for each in verdicts)


def decided_by(plan: Plan) -> str:
    """Who decides, and that none of them is a language model.

    Args:
        plan: the experiment.
    """
    minds = " / ".join(dict.fromkeys(described(each) for each in plan.minds.values()))
    return minds if language_models(plan) else f"{minds} (no language model)"


def language_models(plan: Plan) -> bool:
    """Whether any language model decides.

    Args:
        plan: the experiment.
    """
    return any(asks_language_model(minds) for minds in plan.minds.values())


def needed(verdict: Verdict) -> str:
    """What it would take to tell, or why more runs would not help; ``""`` when runs do tell.

    Args:
        verdict: what the runs say of a claim.
    """
    if verdict.why:
        return verdict.why
    if verdict.word != "cannot tell":
        return ""
    if verdict.runs_needed is None:
        return f"more than {MOST_RUNS} runs a condition, if it can be told at all"
    return f"about {verdict.runs_needed} runs a condition"
