"""The cocktail party as a game for a class."""

from sabm_mesa.core.phrases import Phrase
from sabm_mesa.models.declarations import ClassGame
from sabm_mesa.models.pairs.model import partners_in_words

GAME = ClassGame(
    rule=Phrase("rules.party"),
    people=(4, 12),
    minutes=15,
    questions={
        "invite": Phrase("asks.invite"),
        "accept": Phrase("asks.accept"),
        "say": Phrase("asks.say_to_partner"),
    },
    told=partners_in_words,
    people_answer=("invite", "accept", "say"),
)
