"""Joint sentence making as a game for a class."""

from sabm_mesa.core.languages import Phrase
from sabm_mesa.models.declarations import ClassGame, ToldRound
from sabm_mesa.models.pairs import partners_in_words


def told(played: ToldRound) -> list[str]:
    """The partners of the person, and how many sentences could be used.

    Args:
        played: the round.
    """
    if not (own := played.own):
        return []
    wrote, valid = int(own["written"]), int(own["valid"])
    return [*partners_in_words(played), Phrase("talk.wrote", n=wrote, valid=valid)]


GAME = ClassGame(
    rule=Phrase("rules.sentences"),
    people=(2, 10),
    minutes=20,
    told=told,
    people_answer=("invite", "accept", "say", "write"),
)
