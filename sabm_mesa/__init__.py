"""Smart agent-based modelling on Mesa: agents whose decisions come from a mind.

A mind is a language model, a classical behavioural rule, or a script. Names are imported when they
are first used, so importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sabm_mesa.agents.base import SmartAgent
    from sabm_mesa.agents.memory import Memory, Remembers, Stream
    from sabm_mesa.agents.recollection import Summary, last
    from sabm_mesa.analysis.pictures import ColourScale, NetworkPicture, Portrayal, SpacePicture
    from sabm_mesa.core.answers import AnswerSpec, Choice, Decision, Number, Reply, Text
    from sabm_mesa.core.asks import Ask, Observation
    from sabm_mesa.core.images import Picture
    from sabm_mesa.core.scheduler import Phase, action, communication, every, planning
    from sabm_mesa.errors import SabmError
    from sabm_mesa.llm import Budget, Connection, ScriptedClient
    from sabm_mesa.minds.base import ClassicalMind, Mind
    from sabm_mesa.minds.llm import LLMMind, LLMSettings
    from sabm_mesa.minds.scripted import FixedMind, ScriptedMind
    from sabm_mesa.models.base import SmartModel
    from sabm_mesa.models.beauty_contest.model import RepeatedBeautyContest
    from sabm_mesa.models.bertrand.model import BertrandCompetition
    from sabm_mesa.models.cocktail_party.model import CocktailParty
    from sabm_mesa.models.commons.model import Fishery, Pasture, Pollution
    from sabm_mesa.models.evacuation.model import EmergencyEvacuation
    from sabm_mesa.models.games.model import FiniteGame
    from sabm_mesa.models.kbc.model import KeynesianBeautyContest
    from sabm_mesa.models.public_goods.model import PublicGoods
    from sabm_mesa.models.sentence_making.model import SentenceMaking
    from sabm_mesa.recording import Recording
    from sabm_mesa.recording.frames import Recorded
    from sabm_mesa.runs.door import Minds
    from sabm_mesa.runs.rerun import fork, replay, resume
    from sabm_mesa.runs.sweep import sweep

__version__ = "0.1.0"

_HOMES = {
    "sabm_mesa.agents.base": ("SmartAgent",),
    "sabm_mesa.agents.memory": ("Memory", "Remembers", "Stream"),
    "sabm_mesa.agents.recollection": ("Summary", "last"),
    "sabm_mesa.core.asks": ("Ask", "Observation"),
    "sabm_mesa.core.answers": ("AnswerSpec", "Choice", "Decision", "Number", "Reply", "Text"),
    "sabm_mesa.core.images": ("Picture",),
    "sabm_mesa.errors": ("SabmError",),
    "sabm_mesa.llm": ("Budget", "Connection", "ScriptedClient"),
    "sabm_mesa.minds.base": ("ClassicalMind", "Mind"),
    "sabm_mesa.minds.scripted": ("FixedMind", "ScriptedMind"),
    "sabm_mesa.minds.llm": ("LLMMind", "LLMSettings"),
    "sabm_mesa.models.base": ("SmartModel",),
    "sabm_mesa.models.bertrand.model": ("BertrandCompetition",),
    "sabm_mesa.models.cocktail_party.model": ("CocktailParty",),
    "sabm_mesa.models.commons.model": ("Fishery", "Pasture", "Pollution"),
    "sabm_mesa.models.evacuation.model": ("EmergencyEvacuation",),
    "sabm_mesa.models.games.model": ("FiniteGame",),
    "sabm_mesa.models.kbc.model": ("KeynesianBeautyContest",),
    "sabm_mesa.analysis.pictures": ("Portrayal", "NetworkPicture", "ColourScale", "SpacePicture"),
    "sabm_mesa.models.public_goods.model": ("PublicGoods",),
    "sabm_mesa.models.beauty_contest.model": ("RepeatedBeautyContest",),
    "sabm_mesa.models.sentence_making.model": ("SentenceMaking",),
    "sabm_mesa.recording": ("Recording",),
    "sabm_mesa.recording.frames": ("Recorded",),
    "sabm_mesa.runs.door": ("Minds",),
    "sabm_mesa.runs.rerun": ("fork", "replay", "resume"),
    "sabm_mesa.core.scheduler": ("Phase", "action", "communication", "every", "planning"),
    "sabm_mesa.runs.sweep": ("sweep",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AnswerSpec",
    "Ask",
    "BertrandCompetition",
    "Budget",
    "Choice",
    "ClassicalMind",
    "CocktailParty",
    "ColourScale",
    "Connection",
    "Decision",
    "EmergencyEvacuation",
    "FiniteGame",
    "Fishery",
    "FixedMind",
    "KeynesianBeautyContest",
    "LLMMind",
    "LLMSettings",
    "Memory",
    "Mind",
    "Minds",
    "NetworkPicture",
    "Number",
    "Observation",
    "Pasture",
    "Phase",
    "Picture",
    "Pollution",
    "Portrayal",
    "PublicGoods",
    "Recorded",
    "Recording",
    "Remembers",
    "RepeatedBeautyContest",
    "Reply",
    "SabmError",
    "ScriptedClient",
    "ScriptedMind",
    "SentenceMaking",
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
    "last",
    "planning",
    "replay",
    "resume",
    "sweep",
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
    return [*__all__, "__version__"]
