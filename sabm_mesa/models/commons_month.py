"""How a month of the commons goes: its phases, the division of the stock, and what is measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sabm_mesa.agents.commons_words import Catch
from sabm_mesa.analysis.commons import run_measures
from sabm_mesa.analysis.theory.commons import allocate, regrown, threshold
from sabm_mesa.models.score import Score
from sabm_mesa.scheduler import FIXED, Phase, action, communication, planning

if TYPE_CHECKING:
    from sabm_mesa.agents.commons import Harvester
    from sabm_mesa.models.commons import CommonsGovernance


def talk(model: CommonsGovernance) -> bool:
    """Whether the harvesters talk."""
    return model.communication


def present(model: CommonsGovernance) -> list[Harvester]:
    """Who takes part this month."""
    return model.present


def keeper(model: CommonsGovernance) -> list[Harvester]:
    """Whose mind keeps the minutes: that of the first harvester."""
    return model.present[:1]


def floor(model: CommonsGovernance, harvesters: list[Harvester]) -> Iterator[Harvester]:
    """Who speaks: the first harvester, then whoever is named, until nobody is or the time is up.

    Args:
        model: the commons.
        harvesters: who takes part this month.
    """
    by_name = {each.name: each for each in harvesters}
    speaker = harvesters[0]
    for _ in range(model.turns):
        yield speaker
        if speaker.hands_over_to is None:
            return
        speaker = by_name[speaker.hands_over_to]


PHASES = (
    action(who=present),
    communication(order=floor, when=talk, who=present),
    Phase("minutes", FIXED, when=talk, who=keeper),
    planning(when=talk, who=present),
    Phase("reflect", who=present),
)
"""A harvest, a talk, its minutes, what is remembered of it, and a reflection."""
MODEL_COLUMNS = (
    "stock", "harvest", "over_usage", "left", "threshold", "utterances", "agreed_limit",
)  # fmt: skip
SCORE = Score("Harvest in a run (units)", "n_agents", column="harvest")
AGENT_COLUMNS = ("wanted", "harvest", "gain", "over", "name", "persona")


def begin(model: CommonsGovernance) -> None:
    """Let the commons grow back, and tell everybody how much there is.

    Args:
        model: the commons, at the beginning of a month.
    """
    model.summary, model.agreed_limit = "", None
    if model.round > 0:
        model.stock = regrown(model.left, model.capacity)
    here = model.newcomer_month is None or model.month >= model.newcomer_month
    model.present = model.harvesters if here else model.harvesters[:-1]
    model.threshold = threshold(model.stock, len(model.present))
    told = [
        model.words.render(entry, stock=model.stock, threshold=model.threshold)
        for entry in (f"{model.wording}_remember_stock", "remember_hint")
    ]
    for each in model.present:
        each.begin_month([text for text in told if text])


def divide(model: CommonsGovernance) -> None:
    """Give everybody what they get, and make it known if harvests are.

    Args:
        model: the commons, in which everybody has said how much to take.
    """
    requests = [each.wanted or 0 for each in model.present]
    harvests = allocate(requests, model.stock, model.rng)
    model.harvest = sum(harvests)
    model.left = model.stock - model.harvest
    for each, harvest in zip(model.present, harvests, strict=True):
        each.take(harvest, model.threshold)
    if model.reported:
        named = zip(model.names, harvests, strict=True)
        model.catches = [Catch(name, harvest) for name, harvest in named]
        if not model.communication:
            for each in model.present:
                each.witness(model.words.report(model.catches))


def first_measured(model: CommonsGovernance) -> int:
    """The round from which on a run is measured: with a newcomer its first one."""
    return 0 if model.newcomer_month is None else model.newcomer_month - 1


def measures_of(model: CommonsGovernance) -> dict[str, Any]:
    """What is said of a whole run, of the months that are measured.

    Args:
        model: the commons.
    """
    frames = model.model_frame(), model.agent_frame()
    measures = run_measures(*frames, model.n_rounds, model.capacity, first_measured(model))
    return measures | {"collapsed": model.collapsed}
