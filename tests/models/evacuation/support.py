"""Helpers of the tests of the evacuation."""

from sabm_mesa import EmergencyEvacuation, ScriptedMind

LEFT = {"left": [[2, 0]]}
"""The exit of the tiny room: 5 × 5 cells, of which 3 × 3 are inside."""


def tiny(script, positions, **options):
    """A tiny room with scripted people."""
    mind = ScriptedMind(script) if callable(script) else script
    options = {"width": 5, "height": 5, "exits": LEFT, "communication": False, **options}
    return EmergencyEvacuation(
        n_people=len(positions), positions=positions, minds=mind, rng=1, **options
    )


def letter_of(facts, cell):
    """The letter of the option that is a cell."""
    return next(letter for letter, at in facts.options.items() if at == cell)


def walkers(ways, target="left"):
    """People who want certain cells, one a round, and then stay."""

    def answer(ask):
        if ask.name == "act":
            seen = ask.facts
            way = ways.get(ask.key.agent, [])
            wanted = way[ask.key.round] if ask.key.round < len(way) else seen.cell
            return letter_of(seen, wanted)
        return target if ask.name == "choose" else "Well."

    return answer
