"""The registry of scenarios: name → model class."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sabm_mesa.errors import UnknownName

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

SCENARIOS = {
    "beauty-contest": "sabm_mesa.models.repeated_beauty_contest:RepeatedBeautyContest",
    "bertrand": "sabm_mesa.models.bertrand_competition:BertrandCompetition",
    "cocktail-party": "sabm_mesa.models.cocktail_party:CocktailParty",
    "evacuation": "sabm_mesa.models.emergency_evacuation:EmergencyEvacuation",
    "fishery": "sabm_mesa.models.commons:Fishery",
    "kbc": "sabm_mesa.models.keynesian_beauty_contest:KeynesianBeautyContest",
    "pasture": "sabm_mesa.models.commons:Pasture",
    "pollution": "sabm_mesa.models.commons:Pollution",
    "public-goods": "sabm_mesa.models.public_goods:PublicGoods",
    "sentence-making": "sabm_mesa.models.sentence_making:SentenceMaking",
}
UNLISTED = {
    "commons-screening": "sabm_mesa.models.commons_screening:CommonsScreening",
    "judge": "sabm_mesa.analysis.process.judge:Judging",
    "path-test": "sabm_mesa.models.path_test:PathTest",
}
"""Models that a command of their own runs (``sabm judge``, ``sabm screen``): nobody chooses them as
a scenario, but their recordings are replayed and gone on with like all others."""


def scenario(name: str) -> type[SmartModel]:
    """The model class of a scenario.

    Args:
        name: its name in the registry.

    Raises:
        UnknownName: when there is none of that name.
    """
    if name not in SCENARIOS:
        raise UnknownName("scenario", name, SCENARIOS)
    return _at(SCENARIOS[name])


def model_at(place: str) -> type[SmartModel] | None:
    """The model class that a recording names, when it is one of the package's.

    Args:
        place: ``module:class``.

    Returns:
        The class; None when neither a scenario nor an unlisted model is there: then nothing is
        imported.
    """
    return _at(place) if place in {*SCENARIOS.values(), *UNLISTED.values()} else None


def _at(place: str) -> type[SmartModel]:
    module, _, cls = place.partition(":")
    found: type[SmartModel] = getattr(import_module(module), cls)
    return found
