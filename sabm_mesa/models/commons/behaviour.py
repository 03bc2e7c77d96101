"""Behavioural models of the harvests of a commons: types of cooperation.

A decision is a degree of cooperation: 1 is a request of the threshold or less, 0 a request of an
equal share of the whole stock or more (`sabm_mesa.models.commons.theory.cooperation`). The expected
cooperation of the others is the mean degree of last month's reported harvests; before the first
report, it is the first belief of the subjects of Fischbacher and Gächter 2010. Months in which the
two amounts are equal are uninformative and left out. Messages and agreed limits are not among the
facts.

Evidence: in field experiments on commons, people follow the others; conformity with increasing best
responses describes the mean harvests, while altruism, reciprocity and inequity aversion do not
(Velez, Stranlund and Murphy 2005, University of Massachusetts Amherst, working paper 2005-4).
Laboratory experiments on commons show the types of public goods games, by linear profiles (van
Klingeren 2022, PLoS ONE 17(5), e0268616).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from sabm_mesa.analysis.behaviour import Behaviour, Decider, PlayedRun, Row
from sabm_mesa.analysis.cooperation import cooperation_facts, cooperation_models
from sabm_mesa.core.asks import Ask
from sabm_mesa.models.commons.minds import ORDINARY
from sabm_mesa.models.commons.theory import cooperation, threshold


def rows(run: PlayedRun) -> Iterator[Row]:
    """The requests of a run."""
    stocks = dict(zip(run.rounds["round"], run.rounds["stock"], strict=True))
    report = run.parameters.get("report")
    reported = bool(run.parameters["communication"] if report is None else report)
    catches: dict[int, float] = {}
    last_stock = 0
    present = run.agents[run.agents["harvest"].notna()]
    for _, month in present.groupby("round"):
        time, n = int(month["round"].iloc[0]), len(month)
        stock = int(stocks[time])
        for row in month.to_dict("records"):
            agent, wanted = int(row["agent"]), row["wanted"]
            if stock // n > threshold(stock, n):
                valid = wanted is not None and not math.isnan(wanted)
                degree = cooperation(wanted, stock, n) if valid else None
                player = Decider(run.run, agent, str(row["mind"]), run.condition)
                yield Row(player, time, degree, _known(agent, catches, last_stock, stock, n))
        last_stock = stock
        catches = dict(zip(month["agent"], month["harvest"], strict=True)) if reported else {}


def known(ask: Ask) -> Mapping[str, Any] | None:
    """The facts of a harvester that requests units; None for other questions."""
    if ask.name != "act":
        return None
    facts = ask.facts
    last = facts.last_month or {"catches": (), "stock": 0}
    catches = {catch["name"]: catch["harvest"] for catch in last["catches"]}
    return _known(facts.name, catches, last["stock"], facts.stock, len(facts.names))


def _known(
    me: object, catches: Mapping[Any, float], last_stock: int, stock: int, n: int
) -> dict[str, float]:
    """The facts of a harvester that knows the catches of last month, its own included."""
    others = [
        cooperation(catch, last_stock, len(catches))
        for name, catch in catches.items()
        if name != me and me in catches
    ]
    return cooperation_facts(others, max(stock // n - threshold(stock, n), 1))


def answer(ask: Ask, degree: float | None) -> object:
    """Request units; otherwise stay silent, and agree to nothing."""
    if degree is not None:
        stock, n = ask.facts.stock, len(ask.facts.names)
        low, high = threshold(stock, n), stock // n
        return round(high - degree * (high - low))
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


BEHAVIOUR = Behaviour(
    what="a request",
    models=cooperation_models(),
    rows=rows,
    known=known,
    answer=answer,
    informed=("last_month",),
)
