"""Behavioural models of the harvests of a commons: types of cooperation.

A decision is a degree of cooperation in twentieths: 20 is a request of the threshold or less, 0 a
request of an equal share of the whole stock or more
(`sabm_mesa.models.commons.theory.cooperation`). The expected cooperation of the others is the mean
degree of last month's reported harvests; before the first report, it is the first belief of the
subjects of Fischbacher and Gächter 2010. Months in which the two amounts are equal are
uninformative and left out. Messages and agreed limits are not among the facts.

Evidence: in field experiments on commons, people follow the others; conformity with increasing best
responses describes the mean harvests, while altruism, reciprocity and inequity aversion do not
(Velez, Stranlund and Murphy 2005, University of Massachusetts Amherst, working paper 2005-4).
Laboratory experiments on commons show the types of public goods games, by linear profiles (van
Klingeren 2022, PLoS ONE 17(5), e0268616).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, Row
from sabm_mesa.analysis.contributions import first_belief
from sabm_mesa.analysis.social_behaviour import UNITS, cooperation_models
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.commons.minds import ORDINARY
from sabm_mesa.models.commons.theory import cooperation, threshold


def rows(run: PlayedRun) -> Iterator[Row]:
    """The requests of a run."""
    stocks = dict(zip(run.rounds["round"], run.rounds["stock"], strict=True))
    report = run.parameters.get("report")
    reported = bool(run.parameters["communication"] if report is None else report)
    last: Mapping[int, float] = {}
    present = run.agents[run.agents["harvest"].notna()]
    for _, month in present.groupby("round"):
        time, n = int(month["round"].iloc[0]), len(month)
        stock = int(stocks[time])
        steps = stock // n - threshold(stock, n)
        for row in month.to_dict("records"):
            agent, wanted = int(row["agent"]), row["wanted"]
            if steps:
                valid = wanted is not None and not math.isnan(wanted)
                units = UNITS * cooperation(wanted, stock, n) if valid else None
                player = Decider(run.run, agent, str(row["mind"]), run.condition)
                seen = [degree for other, degree in last.items() if other != agent]
                yield Row(player, time, units, _known(seen if agent in last else [], steps))
        harvests = zip(month["agent"], month["harvest"], strict=True)
        last = {int(i): cooperation(got, stock, n) for i, got in harvests} if reported else {}


def known(ask: Ask) -> Mapping[str, Any] | None:
    """The facts of a harvester that requests units; None for other questions."""
    if ask.name != "act":
        return None
    facts = ask.facts
    n, seen = len(facts.names), []
    catches = facts.last_month["catches"] if facts.last_month else ()
    if any(catch["name"] == facts.name for catch in catches):
        stock, others = facts.last_month["stock"], [c for c in catches if c["name"] != facts.name]
        seen = [cooperation(other["harvest"], stock, len(catches)) for other in others]
    return _known(seen, facts.stock // n - threshold(facts.stock, n))


def answer(ask: Ask, units: float | None) -> object:
    """Request units; otherwise stay silent, and agree to nothing."""
    if units is not None:
        stock, n = ask.facts.stock, len(ask.facts.names)
        low, high = threshold(stock, n), stock // n
        return round(high - units / UNITS * (high - low))
    match ask.name:
        case "communicate":
            return ask.book.render("classical_silent", {})
        case "next_speaker":
            return ask.book.render("nobody", {})
        case "agreed":
            return ask.book.render("no", {})
        case "importance":
            return ORDINARY
    return ask.book.render(f"classical_{ask.name}", {})


def _known(others: Sequence[float], steps: int) -> dict[str, float]:
    """The expected cooperation of the others, and the number of possible amounts.

    Args:
        others: the known degrees of cooperation of the others last month.
        steps: units between full and no cooperation; 0 for an uninformative month.
    """
    expected = sum(others) / len(others) if others else first_belief() / UNITS
    return {"others": expected, "steps": float(max(steps, 1))}


BEHAVIOUR = Behaviour(
    what="a request",
    models=cooperation_models(),
    rows=rows,
    known=known,
    answer=answer,
    informed=("last_month",),
)
