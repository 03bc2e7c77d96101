"""Smart agent-based modelling on Mesa: agents whose decisions come from a mind.

A mind is a language model, a classical behavioural rule, or a script. The names of `__all__` are
what the author of a scenario needs; the model class of each scenario of this package can be
imported from here, too. Names are imported when they are first used, so importing the package is
fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sabm_mesa.agents.base import SmartAgent
    from sabm_mesa.agents.memory import Memory, Remembers, Stream
    from sabm_mesa.agents.recollection import Summary, last
    from sabm_mesa.analysis.pictures import ColourScale, NetworkPicture, Portrayal, SpacePicture
    from sabm_mesa.core.answers import Choice, Decision, Number, Reply, Text, free, words
    from sabm_mesa.core.asks import Ask
    from sabm_mesa.core.scheduler import Phase, action, communication, every, planning
    from sabm_mesa.errors import ParameterError, SabmError
    from sabm_mesa.llm import Budget, Connection
    from sabm_mesa.minds.base import ClassicalMind, Mind
    from sabm_mesa.minds.scripted import ScriptedMind
    from sabm_mesa.models.base import SmartModel
    from sabm_mesa.models.beauty_contest.kbc.model import (
        KeynesianBeautyContest as KeynesianBeautyContest,
    )
    from sabm_mesa.models.beauty_contest.repeated.model import (
        RepeatedBeautyContest as RepeatedBeautyContest,
    )
    from sabm_mesa.models.bertrand.model import BertrandCompetition as BertrandCompetition
    from sabm_mesa.models.commons.model import Fishery as Fishery
    from sabm_mesa.models.commons.model import Pasture as Pasture
    from sabm_mesa.models.commons.model import Pollution as Pollution
    from sabm_mesa.models.declarations import Score
    from sabm_mesa.models.evacuation.model import EmergencyEvacuation as EmergencyEvacuation
    from sabm_mesa.models.games.model import FiniteGame as FiniteGame
    from sabm_mesa.models.pairs.cocktail_party.model import CocktailParty as CocktailParty
    from sabm_mesa.models.pairs.sentence_making.model import SentenceMaking as SentenceMaking
    from sabm_mesa.models.public_goods.model import PublicGoods as PublicGoods
    from sabm_mesa.recording import Recording
    from sabm_mesa.recording.frames import Recorded
    from sabm_mesa.runs.plain import Minds
    from sabm_mesa.runs.rerun import fork, replay, resume
    from sabm_mesa.runs.sweep import sweep

__version__ = "0.1.0"

_HOMES = {
    "sabm_mesa.agents.base": ("SmartAgent",),
    "sabm_mesa.agents.memory": ("Memory", "Remembers", "Stream"),
    "sabm_mesa.agents.recollection": ("Summary", "last"),
    "sabm_mesa.analysis.pictures": ("Portrayal", "NetworkPicture", "ColourScale", "SpacePicture"),
    "sabm_mesa.core.answers": ("Choice", "Decision", "Number", "Reply", "Text", "free", "words"),
    "sabm_mesa.core.asks": ("Ask",),
    "sabm_mesa.core.scheduler": ("Phase", "action", "communication", "every", "planning"),
    "sabm_mesa.errors": ("ParameterError", "SabmError"),
    "sabm_mesa.llm": ("Budget", "Connection"),
    "sabm_mesa.minds.base": ("ClassicalMind", "Mind"),
    "sabm_mesa.minds.scripted": ("ScriptedMind",),
    "sabm_mesa.models.base": ("SmartModel",),
    "sabm_mesa.models.declarations": ("Score",),
    "sabm_mesa.recording": ("Recording",),
    "sabm_mesa.recording.frames": ("Recorded",),
    "sabm_mesa.runs.plain": ("Minds",),
    "sabm_mesa.runs.rerun": ("fork", "replay", "resume"),
    "sabm_mesa.runs.sweep": ("sweep",),
}
_SCENARIOS = {
    "sabm_mesa.models.beauty_contest.repeated.model": ("RepeatedBeautyContest",),
    "sabm_mesa.models.bertrand.model": ("BertrandCompetition",),
    "sabm_mesa.models.pairs.cocktail_party.model": ("CocktailParty",),
    "sabm_mesa.models.commons.model": ("Fishery", "Pasture", "Pollution"),
    "sabm_mesa.models.evacuation.model": ("EmergencyEvacuation",),
    "sabm_mesa.models.games.model": ("FiniteGame",),
    "sabm_mesa.models.beauty_contest.kbc.model": ("KeynesianBeautyContest",),
    "sabm_mesa.models.public_goods.model": ("PublicGoods",),
    "sabm_mesa.models.pairs.sentence_making.model": ("SentenceMaking",),
}
_HOME_OF = {name: home for home, names in {**_HOMES, **_SCENARIOS}.items() for name in names}

__all__ = [
    "Ask",
    "Budget",
    "Choice",
    "ClassicalMind",
    "ColourScale",
    "Connection",
    "Decision",
    "Memory",
    "Mind",
    "Minds",
    "NetworkPicture",
    "Number",
    "ParameterError",
    "Phase",
    "Portrayal",
    "Recorded",
    "Recording",
    "Remembers",
    "Reply",
    "SabmError",
    "Score",
    "ScriptedMind",
    "SmartAgent",
    "SmartModel",
    "SpacePicture",
    "Stream",
    "Summary",
    "Text",
    "action",
    "communication",
    "every",
    "fork",
    "free",
    "last",
    "planning",
    "replay",
    "resume",
    "sweep",
    "words",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return [*_HOME_OF, "__version__"]
