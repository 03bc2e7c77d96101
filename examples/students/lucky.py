"""A function: it remembers nothing, and its randomness is that of the question."""


def answer(ask):
    """Any legal number, so that the same seed gives the same picks."""
    if ask.spec.kind != "number":
        return "I leave it to luck."
    return int(ask.rng.integers(ask.spec.low, ask.spec.high + 1))
