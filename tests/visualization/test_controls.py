"""The controls that are made from the parameters of a model."""

from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Lt

from sabm_mesa import (
    BertrandCompetition,
    EmergencyEvacuation,
    FiniteGame,
    Fishery,
    KeynesianBeautyContest,
    PublicGoods,
)
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.errors import ParameterError, UsageError
from sabm_mesa.models.games.rules import library
from sabm_mesa.visualization.viewer.controls import LEFT_OUT, controls_of, parameters_from

MODELS = [BertrandCompetition, EmergencyEvacuation, Fishery, KeynesianBeautyContest]


@pytest.mark.parametrize("model", MODELS)
def test_every_parameter_has_a_control(model):
    controls = {control.name: control for control in controls_of(model)}

    assert set(controls) == set(parameters_of(model)) - LEFT_OUT
    assert all(control.help and "`" not in control.help for control in controls.values())
    assert list(controls)[:3] == ["minds", "condition", "personas"]


def test_no_path_on_the_server_can_be_set_in_a_browser():
    assert {"prompts", "party", "recording"} <= LEFT_OUT
    controls = controls_of(FiniteGame)
    assert parameters_from(controls, {"game": "chicken"}) == {"game": "chicken"}
    with pytest.raises(ParameterError, match="no file of the server can be named here"):
        parameters_from(controls, {"game": "/home/me/secrets.TOML "})


@pytest.mark.parametrize("model", MODELS)
def test_untouched_controls_are_the_defaults(model):
    assert parameters_from(controls_of(model), {}) == {}


@pytest.mark.parametrize(
    ("model", "name", "kind", "options"),
    [
        (FiniteGame, "game", "suggest", (*library(),)),
        (KeynesianBeautyContest, "n_players", "number", ()),
        (
            KeynesianBeautyContest,
            "reward_rule",
            "select",
            ("independent", "amplified", "exclusive"),
        ),
        (
            KeynesianBeautyContest,
            "condition",
            "select",
            ("baseline", "cooperative", "uncooperative"),
        ),
        (BertrandCompetition, "n_rounds", "number", ()),
        (BertrandCompetition, "communication", "checkbox", ()),
        (BertrandCompetition, "demand", "select", ("linear", "logit")),
        (EmergencyEvacuation, "movement", "select", ("sequential", "simultaneous")),
    ],
)
def test_the_kind_follows_from_the_default(model, name, kind, options):
    (control,) = [each for each in controls_of(model) if each.name == name]
    assert (control.kind, control.options, control.main) == (kind, options, True)


@pytest.mark.parametrize(
    ("model", "name", "low", "high"),
    [
        (KeynesianBeautyContest, "n_players", 2, None),
        (KeynesianBeautyContest, "n_rounds", 1, None),
        (BertrandCompetition, "n_firms", 2, 26),
        (EmergencyEvacuation, "width", 5, 500),
        (PublicGoods, "malicious", 0, None),
    ],
)
def test_the_limits_of_a_number_are_the_declared_ones(model, name, low, high):
    (control,) = [each for each in controls_of(model) if each.name == name]
    assert (control.kind, control.low, control.high) == ("number", low, high)


def test_a_scenario_of_ones_own_declares_its_controls():
    class Own(KeynesianBeautyContest):
        def __init__(
            self,
            sites: Annotated[int, Gt(2), Lt(8)] = 3,
            free: int = 4,
            none: int = 0,
            share: Annotated[float, Ge(0)] = 1,
            kind: Literal["a", "b"] | None = None,
            **settings: Any,
        ) -> None:
            super().__init__(**settings)
            self.own = sites, free, none, share, kind

    found = {each.name: each for each in controls_of(Own)}
    shown = {n: (found[n].kind, found[n].low, found[n].high) for n in ("sites", "free", "none")}
    assert shown == {
        "sites": ("number", 3, 7),
        "free": ("number", 1, None),
        "none": ("text", 1, None),
    }
    assert (found["share"].kind, found["share"].legal) == ("text", "a number of 0 or more")
    assert (found["kind"].kind, found["kind"].options) == ("select", ("a", "b"))


def test_classical_minds_are_offered():
    (control,) = [c for c in controls_of(BertrandCompetition) if c.name == "minds"]
    assert {"classical", "classical:tit_for_tat"} <= set(control.options)


def test_texts_are_read_as_on_the_command_line():
    controls = controls_of(BertrandCompetition)
    values = {
        "minds": "classical:tit_for_tat=1, fixed:3=1", "rng": " 4 ", "stop_after": "",
        "communication": False, "demand": "linear",
    }  # fmt: skip
    assert parameters_from(controls, values) == {
        "minds": {"classical:tit_for_tat": 1, "fixed:3": 1},
        "rng": 4,
        "stop_after": None,
        "communication": False,
    }
    controls = controls_of(EmergencyEvacuation)
    exits = parameters_from(controls, {"exits": '{"north": [[5, 0]]}'})
    assert exits == {"exits": {"north": [[5, 0]]}}
    with pytest.raises(UsageError, match="not valid JSON") as refused:
        parameters_from(controls, {"exits": "{"})
    assert refused.value.parameter == "exits"
