"""Finite games as games for a class."""

from sabm_mesa.models.declarations import ClassGame
from sabm_mesa.models.games.rules import library

GAME = ClassGame(people=(2, 40), minutes=6, choices={"game": library})
