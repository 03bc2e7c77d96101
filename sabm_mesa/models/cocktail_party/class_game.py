"""The cocktail party as a game for a class."""

from sabm_mesa.models.declarations import ClassGame

GAME = ClassGame(
    rule="Choose whom you want to talk with, and talk in pairs: about anything that you like.",
    people=(4, 12),
    minutes=15,
    people_answer=("invite", "accept", "say"),
)
