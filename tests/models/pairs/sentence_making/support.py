"""Scripted runs that several test files play."""

from sabm_mesa import ScriptedMind, SentenceMaking
from sabm_mesa.models.pairs.sentence_making.model import WORD_SETS


def sentence(ask, words=WORD_SETS):
    """A valid sentence with the number of the writer and of the sentence in words."""
    names = ("one", "two", "three", "four", "five")
    place = names[ask.key.agent - 1], names[ask.key.call % 5]
    return f"Here {place[0]} wrote in line {place[1]} of {', '.join(words[ask.key.round])}."


def answer(ask):
    """Everybody invites the next one, accepts, says a line and leaves, and writes."""
    if ask.name == "invite":
        return ask.spec.options[0]
    if ask.name == "accept":
        return "accept"
    if ask.name == "say":
        return "Some ocean. LEAVE"
    return sentence(ask)


def making(script=answer, **more):
    minds = {"minds": ScriptedMind(script)} if script else {}
    given = {"n_agents": 3, "n_rounds": 1, "n_sentences": 2, "rng": 5, **minds, **more}
    return SentenceMaking(**given)


def played(script=answer, **more):
    model = making(script, **more)
    model.run_model()
    return model
