"""Scripted commons that several test files play."""

from sabm_mesa import Fishery, Pasture, Pollution, ScriptedMind

WORDINGS = [Fishery, Pasture, Pollution]
NAMES = ("John", "Kate", "Jack", "Emma", "Luke")


def says(amount=10, words="All is well.", following="nobody", limit=None, rating=5):
    """A script: the same amount, words, next speaker, agreed limit and rating every time.

    Each may be a function of the ask.
    """

    def answer(ask):
        def of(value):
            return value(ask) if callable(value) else value

        match ask.name:
            case "act":
                return of(amount)
            case "next_speaker":
                return of(following)
            case "agreed":
                return "no" if of(limit) is None else "yes"
            case "limit":
                return of(limit)
            case "importance":
                return of(rating)
        return of(words)

    return answer


def commons(answer=None, cls=Fishery, **given):
    minds = "classical" if answer is None else ScriptedMind(answer)
    return cls(**{"minds": minds, "rng": 7} | given)


def played(answer=None, **given):
    model = commons(answer, **given)
    model.run_model()
    return model


# The talk.
def named_in_turn(ask):
    return NAMES[ask.key.agent % 5]


# Memory.
def remembered(model, agent):
    return [each.text for each in model.harvesters[agent - 1].memory.memories]
