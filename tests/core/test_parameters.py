"""Parameters: found in the constructor, bound, and checked with a message that says the limits."""

import math

import numpy as np
import pytest

from sabm_mesa import (
    BertrandCompetition,
    EmergencyEvacuation,
    Fishery,
    KeynesianBeautyContest,
    RepeatedBeautyContest,
)
from sabm_mesa.core.parameters import (
    bind,
    check_bool,
    check_choice,
    check_float,
    check_int,
    parameters_of,
)
from sabm_mesa.errors import ParameterError, UnknownName, UsageError
from sabm_mesa.llm import Budget, Connection
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import SCENARIOS, UNLISTED, model_at
from sabm_mesa.models.registry import scenario as scenario_of
from sabm_mesa.studies.judging import Judging
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
    found = check_int("n", value, 1, 3)

    assert found == 3
    assert type(found) is int


@pytest.mark.parametrize(
    "value", [True, 2.5, math.nan, math.inf, "3", None, [3], np.True_], ids=repr
)
def test_not_a_whole_number(value) -> None:
    with pytest.raises(ParameterError, match="n has to be a whole number of 1 or more, not"):
        check_int("n", value, 1)


@pytest.mark.parametrize("value", [0, 4])
def test_a_whole_number_outside_its_limits(value) -> None:
    with pytest.raises(ParameterError) as refused:
        check_int("n", value, 1, 3)

    assert str(refused.value) == f"n has to be a whole number from 1 to 3 (got {value})."


@pytest.mark.parametrize("value", [0, 0.25, np.float32(0.5), 1], ids=repr)
def test_a_number(value) -> None:
    found = check_float("p", value, 0, 1)

    assert found == value
    assert type(found) is float


@pytest.mark.parametrize("value", [True, math.nan, "0.5", None, [1], 1j], ids=str)
def test_not_a_number(value) -> None:
    with pytest.raises(ParameterError, match="p has to be a number of 0 or more, not"):
        check_float("p", value, 0)


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_a_number_outside_its_limits(value) -> None:
    with pytest.raises(ParameterError) as refused:
        check_float("p", value, 0, 1)

    assert str(refused.value) == f"p has to be a number from 0 to 1 (got {value})."


def test_true_and_false_alone_are_truth_values() -> None:
    assert check_bool("talk", True) is True
    assert check_bool("talk", False) is False


@pytest.mark.parametrize("value", [1, 0, "yes", None, np.True_, 1.0], ids=repr)
def test_not_a_truth_value(value) -> None:
    with pytest.raises(ParameterError) as refused:
        check_bool("talk", value)

    assert str(refused.value) == f"talk has to be true or false, not {value!r}."


@pytest.mark.parametrize(
    ("scenario", "name"),
    [
        (BertrandCompetition, "communication"),
        (EmergencyEvacuation, "communication"),
        (Fishery, "communication"),
        (Fishery, "report"),
        (RepeatedBeautyContest, "integer"),
    ],
)
def test_all_scenarios_take_the_same_truth_values(scenario, name) -> None:
    with pytest.raises(ParameterError, match=f"{name} has to be true or false, not 1."):
        scenario(**{name: 1}, rng=1)


def test_one_of_several_names() -> None:
    assert check_choice("reward_rule", "b", ("a", "b")) == "b"
    with pytest.raises(UnknownName, match="Unknown reward rule 'c'"):
        check_choice("reward_rule", "c", ("a", "b"))


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


def refusal(scenario, **given) -> UsageError | None:
    """The error of a scenario for parameters, or None."""
    more = {"texts": ("Agreed.",)} if scenario is Judging else {}
    try:
        scenario(**more | given)
    except UsageError as error:
        return error
    return None


@pytest.mark.parametrize("place", [*SCENARIOS.values(), *UNLISTED.values()])
def test_each_refusal_names_its_parameter(place) -> None:
    scenario = model_at(place)
    values = ("x", -1, 0.5, [], ["x"], {"x": 0})
    known = sorted(set(parameters_of(scenario)) - {"connection", "texts"})
    refused = [(name, refusal(scenario, **{name: value})) for name in known for value in values]
    named = [(name, error.parameter) for name, error in refused if error is not None]

    assert [name for name, parameter in named if parameter != name] == []
    assert {name for name, _ in named} == set(known)


@pytest.mark.parametrize(
    ("place", "given", "name"),
    [
        ("evacuation", {"exits": {"north": [["x", 1]]}}, "exits"),
        ("evacuation", {"exits": {"north": [[5, 5]]}}, "exits"),
        ("evacuation", {"obstacles": ["?" * 33] * 33}, "obstacles"),
        ("evacuation", {"n_people": 2, "positions": [[1, 1], [0, -1]]}, "positions"),
        ("evacuation", {"n_people": 10, "width": 5, "height": 5}, "n_people"),
        ("beauty-contest", {"p": "two thirds"}, "p"),
        ("beauty-contest", {"high": [50, 20]}, "high"),
        ("beauty-contest", {"revealed": "mean,median"}, "revealed"),
        ("bertrand", {"changes": {5: {"cost": -1}}}, "changes"),
        ("bertrand", {"changes": {5: {"n_firms": 3}}}, "changes"),
        ("bertrand", {"a": 1, "cost": 2}, "a"),
        ("public-goods", {"members": [1, 1]}, "members"),
        ("public-goods", {"n_players": 5, "group_size": 2}, "group_size"),
        ("sentence-making", {"interaction": "bridged"}, "party"),
        ("fishery", {"names": "Ann,Ann"}, "names"),
        ("fishery", {"memory_relevance": "embedding:a@ftp://b"}, "memory_relevance"),
        ("kbc", {"personas": {"none": 1}}, "personas"),
        ("kbc", {"minds": "llm:a@http://"}, "minds"),
        ("kbc", {"minds": {"classical": 1, "fixed:3": 1}}, "minds"),
        ("kbc", {"n_player": 3}, "n_player"),
    ],
    ids=str,
)
def test_a_refusal_of_a_part_names_the_parameter(place, given, name) -> None:
    error = refusal(scenario_of(place), **given)

    assert error is not None
    assert error.parameter == name


def test_a_refused_service_is_named() -> None:
    for name, make in (
        ("base_url", lambda: Connection("example.org")),
        ("max_retries", lambda: Connection(max_retries=-1)),
        ("timeout_s", lambda: Connection(timeout_s=0)),
        ("max_asks", lambda: Budget(max_asks=-1)),
    ):
        with pytest.raises(UsageError) as refused:
            make()
        assert refused.value.parameter == name


def test_a_name_in_several_words_is_no_parameter() -> None:
    with pytest.raises(ParameterError, match=r"^the number of agents has to be") as refused:
        check_int("the number of agents", 0, 1)

    assert refused.value.parameter == ""
