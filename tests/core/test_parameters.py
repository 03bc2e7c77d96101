"""Parameters: found in the constructor, bound, and checked with a message that says the limits."""

import math
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from annotated_types import Ge, Gt, Interval, Le, Lt, MultipleOf
from pydantic import AfterValidator

from sabm_mesa import (
    Fishery,
    KeynesianBeautyContest,
    SmartAgent,
)
from sabm_mesa.core.parameters import (
    Parameter,
    bind,
    check,
    check_float,
    check_int,
    parameters_of,
)
from sabm_mesa.errors import ParameterError, UnknownName, UsageError
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import SCENARIOS, UNLISTED, model_at
from sabm_mesa.models.registry import scenario as scenario_of
from sabm_mesa.studies.judging import Judging
from tests.core.support import TINY, Tiny, tiny


def test_a_scenario_has_its_own_parameters_first_and_those_of_the_base_class() -> None:
    found = parameters_of(KeynesianBeautyContest)

    assert list(found)[:3] == ["n_players", "n_rounds", "reward_rule"]
    assert set(parameters_of(SmartModel)) <= set(found)
    assert found["n_rounds"].default == 4
    assert parameters_of(SmartModel)["n_rounds"].default == 1
    assert "self" not in found
    assert "settings" not in found


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
        "answer_format": None,
        "max_attempts": 3,
        "temperature": None,
        "max_tokens": None,
        "top_p": None,
        "reasoning_effort": None,
        "max_thought_tokens": None,
        "extra_body": None,
        "option_order": "given",
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
    with pytest.raises(ParameterError, match=r"n must be a whole number of 1 or more \(got"):
        check_int("n", value, 1)


@pytest.mark.parametrize("value", [0, 4])
def test_a_whole_number_outside_its_limits(value) -> None:
    with pytest.raises(ParameterError) as refused:
        check_int("n", value, 1, 3)

    assert str(refused.value) == f"n must be a whole number from 1 to 3 (got {value})."


@pytest.mark.parametrize("value", [True, math.nan, "0.5", None, [1], 1j], ids=str)
def test_not_a_number(value) -> None:
    with pytest.raises(ParameterError, match=r"p must be a number of 0 or more \(got"):
        check_float("p", value, 0)


@pytest.mark.parametrize("value", [1, 0, "yes", None, np.True_, 1.0], ids=repr)
def test_not_a_truth_value(value) -> None:
    with pytest.raises(ParameterError) as refused:
        check("talk", bool, value)

    assert str(refused.value) == f"talk must be true or false (got {value!r})."


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "a whole number without fixed limits"),
        (Annotated[int, Ge(2)], "a whole number of 2 or more"),
        (Annotated[int, Gt(0), Lt(9)], "a whole number above 0 and below 9"),
        (Annotated[int, Le(3)] | None, "a whole number of 3 or less, or none"),
        (Annotated[int | None, Ge(2)], "a whole number of 2 or more, or none"),
        (Annotated[float, Interval(ge=0, le=1)], "a number from 0 to 1"),
        (Annotated[float, Gt(0), Le(1), "a share"], "a number above 0 and of 1 or less"),
        (Annotated[float, Ge(0.5)] | str, "a number of 0.5 or more, or in another form"),
        (
            Annotated[int, Ge(1), MultipleOf(5)],
            "a whole number of 1 or more and that is a multiple of 5",
        ),
        (bool | None, "true or false, or none"),
        (Literal["a"], "a"),
        (Literal["a", "b", "c"], "a, b or c"),
        (Literal[2, 4] | list[int] | None, "2 or 4, or in another form, or none"),
        (str, ""),
        (list[int] | None, ""),
        (Any, ""),
    ],
    ids=str,
)
def test_legal_values_in_words(annotation, words) -> None:
    assert Parameter("n", annotation, 0).legal == words


@pytest.mark.parametrize(
    ("annotation", "legal", "illegal"),
    [
        (Annotated[int, Gt(0), Lt(9)], [1, 8], [0, 9]),
        (Annotated[float, Gt(0), Lt(1)], [1e-9, 0.9], [0, 1.0]),
        (Annotated[float, Ge(0), Le(1)], [0, 1], [-1e-9, 1.1]),
        (Annotated[int, Ge(2)] | None, [2, None], [1, "2"]),
        (Annotated[float, Ge(0)] | str, [0, "2/3", None], [-1, np.float64(-0.5)]),
        (bool | str, [True, "yes", 3], []),
        (Literal["a"] | list[str], ["a", "c", ["a"]], []),
        (str, ["a", 3, None], []),
    ],
    ids=str,
)
def test_values_within_their_limits_are_legal(annotation, legal, illegal) -> None:
    for value in legal:
        assert check("n", annotation, value) == value
    for value in illegal:
        with pytest.raises(ParameterError, match=r"^n must be"):
            check("n", annotation, value)


def test_true_is_no_number_among_names() -> None:
    assert check("n", Literal[1, 2], 1) == 1
    with pytest.raises(UnknownName, match=r"^Unknown n 'True'\. Known: 1, 2\."):
        check("n", Literal[1, 2], True)


@pytest.mark.parametrize(
    ("value", "told"),
    [(2, "n: must be odd (got 2)."), ("x", "n must be a whole number (got 'x').")],
)
def test_a_function_of_the_annotation_gives_its_own_reason(value, told) -> None:
    def odd(number: int) -> int:
        if number % 2 == 0:
            raise ValueError("must be odd")
        return number

    with pytest.raises(ParameterError) as refused:
        check("n", Annotated[int, AfterValidator(odd)], value)
    assert str(refused.value) == told


class Farm(SmartModel):
    """Declarations of your own scenario."""

    scenario_name = "farm"
    title = "Farm"
    source = "none"
    prompt_file = TINY
    phases = ()

    def __init__(
        self,
        n_fields: Annotated[int, Ge(1), Le(9)] = 3,
        seed: Literal["rye", "oats"] = "rye",
        rain: float = 0.5,
        walls: int = None,  # noqa: RUF013 - as before PEP 484
        plan=None,
        n_rounds: int = 5,
        max_tokens=7,
        **settings: Any,
    ) -> None:
        settings = {"minds": "fixed:1", **settings}
        super().__init__(n_rounds=n_rounds, max_tokens=max_tokens, **settings)
        self.populate(SmartAgent, 1)
        self.n_fields, self.seed, self.rain = n_fields, seed, rain
        self.walls, self.plan = walls, plan


class Hill(Farm):
    """Takes fewer fields, and derives its rounds."""

    def __init__(self, n_fields: Annotated[int, Le(4)] = 2, years: int = 2, **settings: Any):
        super().__init__(n_fields=n_fields, n_rounds=years - 2, **settings)


def test_a_declared_limit_is_checked_without_any_call() -> None:
    farm = Farm(n_fields=np.int64(9), rain=1, plan={"x"}, seed="oats", walls=None)

    assert (farm.n_fields, type(farm.n_fields)) == (9, int)
    assert (farm.rain, type(farm.rain)) == (1.0, float)
    assert (farm.seed, farm.plan) == ("oats", {"x"})
    for given, message in [
        ({"n_fields": 10}, "n_fields must be a whole number from 1 to 9 (got 10)."),
        ({"n_fields": True}, "n_fields must be a whole number from 1 to 9 (got True)."),
        ({"seed": "rice"}, "Unknown seed 'rice'. Known: oats, rye."),
        ({"rain": "much"}, "rain must be a number (got 'much')."),
        ({"max_tokens": "x"}, "max_tokens must be a whole number of 1 or more, or none (got 'x')."),
        ({"walls": 0.5}, "walls must be a whole number, or none (got 0.5)."),
        ({"n_rounds": 0}, "n_rounds must be a whole number of 1 or more (got 0)."),
        ({"max_tokens": 0}, "max_tokens must be a whole number of 1 or more, or none (got 0)."),
        ({"n_fields": 0, "rain": "x"}, "n_fields must be a whole number from 1 to 9 (got 0)."),
    ]:
        with pytest.raises(UsageError) as refused:
            Farm(**given)
        assert str(refused.value) == message
        assert refused.value.parameter == next(iter(given))


def test_the_limits_of_a_base_class_hold_in_its_subclasses() -> None:
    assert parameters_of(Hill)["n_fields"].legal == "a whole number from 1 to 4"
    assert parameters_of(Hill)["rain"] == parameters_of(Farm)["rain"]
    with pytest.raises(ParameterError, match=r"^n_fields must be a whole number from 1 to 4 "):
        Hill(n_fields=5)
    with pytest.raises(ParameterError, match=r"^n_rounds must be a whole number of 1 or more "):
        Hill(years=2)


def test_a_fork_and_a_copy_keep_the_limits() -> None:
    farm = Farm(n_fields=4, rng=1)
    with pytest.raises(ParameterError, match="n_fields must be a whole number from 1 to 9"):
        farm.clone_with({"n_fields": 0}, None)
    with pytest.raises(ParameterError, match="n_fields must be a whole number from 1 to 9"):
        type(farm)(**farm.parameters | {"n_fields": 0})


@pytest.mark.parametrize(
    ("annotation", "told"),
    [
        (Annotated[str, Ge(3)], "n: typing.Annotated[str, Ge(ge=3)] cannot be checked: "),
        ("Annotated[int, AtLeast(3)]", "The annotation Annotated[int, AtLeast(3)] of n cannot be "),
        ("Literal[a, b]", "The annotation Literal[a, b] of n cannot be read: name 'a' is not def"),
    ],
    ids=str,
)
def test_a_limit_that_cannot_be_kept_is_refused(annotation, told) -> None:
    class Odd(SmartModel):
        def __init__(self, n=3, **settings: Any) -> None:
            super().__init__(**settings)
            self.n = n

        __init__.__annotations__["n"] = annotation

    with pytest.raises(ParameterError) as refused:
        parameters_of(Odd)["n"].check("x")

    assert str(refused.value).startswith(told)
    assert refused.value.parameter == "n"


def test_a_type_for_type_checkers_only_is_left_alone() -> None:
    class Typed(Tiny):
        def __init__(self, other: "Absent" = 3, **settings: Any) -> None:  # noqa: F821
            super().__init__(**settings)
            self.other = other

    assert parameters_of(Typed)["other"].annotation == "Absent"
    assert parameters_of(Typed)["other"].legal == ""
    assert Typed(other="x", minds="fixed:1").other == "x"


def test_settings_that_are_not_passed_on_are_named() -> None:
    class Forgetful(Fishery):
        def __init__(self, n_rounds: int = 2, **settings: Any) -> None:  # noqa: ARG002
            super().__init__(n_rounds=n_rounds)

    Forgetful(n_rounds=3)
    told = r"Forgetful.__init__ keeps its settings to itself \(minds, rng\): pass them on, as in "
    with pytest.raises(UsageError, match=told):
        Forgetful(n_rounds=3, minds="fixed:1", rng=1)


def test_phases_are_no_texts() -> None:
    with pytest.raises(UsageError, match=r"Odd.phases has 'act': write Phase\('act'\)"):
        type("Odd", (Tiny,), {"phases": ("act",)})


def test_a_default_without_end_says_nothing_of_the_parameter() -> None:
    class Capped(Tiny):
        def __init__(self, cap=math.inf, share=0.5, **settings: Any) -> None:
            super().__init__(**settings)
            self.cap, self.share = cap, share

    assert Capped(cap=math.inf, minds="fixed:1").cap == math.inf
    with pytest.raises(ParameterError, match="share must be a number"):
        Capped(share="high", minds="fixed:1")


@pytest.mark.parametrize("place", [*SCENARIOS.values(), *UNLISTED.values()])
def test_every_default_is_legal(place) -> None:
    for parameter in parameters_of(model_at(place)).values():
        parameter.check(parameter.default)


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


def test_a_parameter_that_is_passed_on_twice_is_named() -> None:
    class Fixed(SmartModel):
        def __init__(self, **settings: Any) -> None:
            super().__init__(n_rounds=3, **settings)

    with pytest.raises(UsageError, match=r"Fixed passes on n_rounds twice: declare it in Fixed"):
        Fixed(n_rounds=2)
