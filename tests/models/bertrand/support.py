"""Helpers of the tests of the Bertrand competition: prices computed by hand, and the script."""

from sabm_mesa import BertrandCompetition, ScriptedMind
from sabm_mesa.models.bertrand.theory import (
    LogitMarket,
    Market,
    linear_market,
)

# Prices of two firms from round 0 on; the second one's answers of round 3 cannot be read. Demand
# is 1400 − 200 p_i + 100 p_j, the reference prices are 6 and 8 with profits of 3200 and 3600.
PRICES = [(2, 3), (7, 6.5), (7, 7), (7.5, None), (8, 8), (8.5, 8), (6, 6), (14, 2)]


def follow(ask):
    """The script: the prices above, and nothing to be read where there is none."""
    if ask.name == "communicate":
        return "How about 7?" if ask.key.agent == 1 else "I agree."
    if ask.name == "plan":
        return f"Plan of {ask.key.agent} in {ask.key.round}."
    price = PRICES[ask.key.round][ask.key.agent - 1]
    return "I would rather not say." if price is None else str(price)


def market(answer=follow, **given):
    """A market of scripted firms without a stop."""
    base = {"n_rounds": 8, "minds": ScriptedMind(answer), "rng": 7, "stop_after": None}
    return BertrandCompetition(**{**base, **given})


def played(answer=follow, **given):
    model = market(answer, **given)
    model.run_model()
    return model


def recorded(n_rounds, answer=None, **given):
    """The asks of a run in which everybody charges 7, or what `answer` says."""
    asks = []

    def script(ask):
        asks.append(ask)
        if answer is not None:
            return answer(ask)
        return 7 if ask.name == "act" else f"Words of {ask.key.agent}."

    model = played(script, n_rounds=n_rounds, **given)
    return model, asks


def prompt(ask) -> str:
    return "\n".join(message["content"] for message in ask.messages())


PAPER = linear_market(2, 2, 14, 1 / 150, 1 / 300)
CALVANO = LogitMarket(2, 1, 2, 1 / 4, 0)


def linear(n: int = 2, d: float = 1 / 300) -> Market:
    return linear_market(n, 2, 14, 1 / 150, d)


def logit(n: int = 2) -> Market:
    return LogitMarket(n, 1, 2, 1 / 4, 0)
