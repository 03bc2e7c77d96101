"""Parameters: found in the constructor, bound, and checked with a message that says the limits."""

import math

import numpy as np
import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.models.base import SmartModel
from sabm_mesa.parameters import bind, one_of, parameters_of, real, whole
from tests.core.support import Tiny, tiny


def test_a_scenario_has_its_own_parameters_first_and_those_of_the_base_class() -> None:
    found = parameters_of(KeynesianBeautyContest)

    assert list(found)[:3] == ["n_players", "n_rounds", "reward_rule"]
    assert set(parameters_of(SmartModel)) <= set(found)
    assert found["n_rounds"].default == 4
    assert parameters_of(SmartModel)["n_rounds"].default == 1
    assert "self" not in found
    assert "settings" not in found


def test_without_settings_to_pass_on_there_are_no_parameters_of_the_base_class() -> None:
    class Closed(SmartModel):
        def __init__(self, n: int = 3) -> None:
            super().__init__()
            self.n = n

    class Inherited(Closed):
        pass

    assert list(parameters_of(Closed)) == ["n"]
    assert list(parameters_of(Inherited)) == ["n"]


def test_all_parameters_are_kept_with_their_values_but_not_the_services(tmp_path) -> None:
    model = tiny(n=4, minds="fixed:1", recording=tmp_path / "r.sqlite", rng=5)

    assert model.parameters == {
        "n": 4,
        "edges": None,
        "n_rounds": 1,
        "condition": "baseline",
        "personas": "none",
        "minds": "fixed:1",
        "rng": 5,
        "variant": "default",
        "prompts": None,
        "answer_format": "paper",
        "max_attempts": 3,
        "temperature": None,
        "max_tokens": None,
        "top_p": None,
    }


def test_a_parameter_that_does_not_exist_is_named_with_its_neighbour() -> None:
    with pytest.raises(UnknownName) as unknown:
        KeynesianBeautyContest(n_player=3)

    message = str(unknown.value)
    assert message.startswith(
        "Unknown parameter of KeynesianBeautyContest 'n_player'. Did you mean 'n_players'? Known: "
    )
    assert "recording" not in message
    with pytest.raises(UnknownName):
        bind(Tiny, {"seed": 1})


def test_parameters_are_given_by_name() -> None:
    with pytest.raises(TypeError, match="KeynesianBeautyContest takes its parameters by name"):
        KeynesianBeautyContest(3)


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3)], ids=["int", "float", "numpy"])
def test_a_whole_number(value) -> None:
    found = whole("n", value, 1, 3)

    assert found == 3
    assert type(found) is int


@pytest.mark.parametrize(
    "value", [True, 2.5, math.nan, math.inf, "3", None, [3], np.True_], ids=repr
)
def test_not_a_whole_number(value) -> None:
    with pytest.raises(ParameterError, match="n has to be a whole number of 1 or more, not"):
        whole("n", value, 1)


@pytest.mark.parametrize("value", [0, 4])
def test_a_whole_number_outside_its_limits(value) -> None:
    with pytest.raises(ParameterError) as refused:
        whole("n", value, 1, 3)

    assert str(refused.value) == f"n has to be a whole number from 1 to 3 (got {value})."


@pytest.mark.parametrize("value", [0, 0.25, np.float32(0.5), 1], ids=repr)
def test_a_number(value) -> None:
    found = real("p", value, 0, 1)

    assert found == value
    assert type(found) is float


@pytest.mark.parametrize("value", [True, math.nan, "0.5", None, [1], 1j], ids=str)
def test_not_a_number(value) -> None:
    with pytest.raises(ParameterError, match="p has to be a number of 0 or more, not"):
        real("p", value, 0)


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_a_number_outside_its_limits(value) -> None:
    with pytest.raises(ParameterError) as refused:
        real("p", value, 0, 1)

    assert str(refused.value) == f"p has to be a number from 0 to 1 (got {value})."


def test_one_of_several_names() -> None:
    assert one_of("reward_rule", "b", ("a", "b")) == "b"
    with pytest.raises(UnknownName, match="Unknown reward rule 'c'"):
        one_of("reward_rule", "c", ("a", "b"))


@pytest.mark.parametrize(
    "given",
    [
        {"n_players": 1},
        {"n_players": 2.5},
        {"n_rounds": 0},
        {"reward_rule": "shared"},
        {"condition": "hasty"},
        {"variant": "hasty"},
        {"personas": "hasty"},
        {"minds": "hasty"},
        {"answer_format": "xml"},
        {"max_attempts": 0},
        {"temperature": -1},
        {"temperature": "hot"},
        {"max_tokens": 0},
        {"top_p": 1.5},
        {"rng": -1},
        {"rng": "x"},
        {"prompts": "absent.toml"},
    ],
    ids=str,
)
def test_a_scenario_refuses_what_it_cannot_use(given) -> None:
    with pytest.raises(ValueError, match=r"\S") as refused:
        KeynesianBeautyContest(**given)

    assert refused.value.exit_status == 2
    assert "\n" not in str(refused.value)
