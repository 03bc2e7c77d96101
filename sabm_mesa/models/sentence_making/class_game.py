"""Joint sentence making as a game for a class."""

from sabm_mesa.models.declarations import ClassGame

GAME = ClassGame(
    rule="Write sentences that use all the given words, each as different from the others as you "
    "can; before that you may talk in pairs.",
    people=(2, 10),
    minutes=20,
    people_answer=("invite", "accept", "say", "write"),
)
