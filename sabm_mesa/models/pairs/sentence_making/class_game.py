"""Joint sentence making as a game for a class."""

from sabm_mesa.core.phrases import Phrase
from sabm_mesa.models.declarations import ClassGame, ToldRound
from sabm_mesa.models.pairs.model import partners_in_words


def result_lines(played: ToldRound) -> list[str]:
    """The partners of the player, and the number of usable sentences."""
    if not (mine := played.own):
        return []
    wrote, valid = int(mine["written"]), int(mine["valid"])
    return [*partners_in_words(played), Phrase("talk.wrote", n=wrote, valid=valid)]


GAME = ClassGame(
    rule=Phrase("rules.sentences"),
    people=(2, 10),
    minutes=20,
    questions={
        "invite": Phrase("asks.invite"),
        "accept": Phrase("asks.accept"),
        "say": Phrase("asks.say_to_partner"),
    },
    told=result_lines,
    people_answer=("invite", "accept", "say", "write"),
)
