"""Functions as answers: what their signatures allow, and what a call gives back."""

import pickle
import threading
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from annotated_types import Ge, Gt, Interval, Le, MaxLen

from sabm_mesa import Choice, Number, Text, Tools, tool
from sabm_mesa.core.answers import FORMATS, InvalidAnswer, words
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.errors import ParameterError, UsageError

BOOK = PromptBook(Path(__file__).with_name("tiny.toml"))


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def walk(direction: Literal["left", "right"], steps: Annotated[int, Ge(1), Le(3)]) -> str:
    """Walk along the street.

    Args:
        direction: where to.
        steps: how many metres.
    """
    return f"{steps} to the {direction}"


def paint(colour: Colour, coats: Literal[1, 2], shiny: bool, tool: str = "brush") -> Any:
    return colour, coats, shiny, tool


def trade(partner: str, coins: float) -> None:
    """Give coins to somebody."""


def rest() -> None:
    """Do nothing."""


PARTNER = Choice(("Ann", "Bob"))
TOOLS = Tools(
    walk=walk, paint=paint, trade=tool(trade, partner=PARTNER, coins=Number(0, 9)), rest=rest
)


def test_arguments_have_the_types_of_the_signature() -> None:
    specs = {name: dict(fields.fields) for name, fields in TOOLS.options}

    assert specs["walk"] == {"direction": Choice(("left", "right")), "steps": Number(1, 3, True)}
    assert specs["paint"] == {
        "colour": Choice(("red", "blue")), "coats": Choice(("1", "2")),
        "shiny": Choice(("yes", "no")),
    }  # fmt: skip
    assert specs["trade"] == {"partner": PARTNER, "coins": Number(0, 9)}
    assert specs["rest"] == {}


def test_a_limit_may_be_a_spec_or_an_interval() -> None:
    def speak(
        text: Annotated[str, Text(max_words=5)],
        volume: Annotated[float, Interval(ge=0, le=1)],
        times: Annotated[int, Gt(0)],
    ) -> None: ...

    ((_, fields),) = Tools(speak=speak).options
    assert dict(fields.fields) == {
        "text": Text(max_words=5), "volume": Number(0, 1), "times": Number(1, np.inf, True),
    }  # fmt: skip


def test_a_call_gets_the_values_that_its_signature_names() -> None:
    call = TOOLS.call({"paint": {"colour": "blue", "coats": "2", "shiny": "yes"}})

    assert call.result == (Colour.BLUE, 2, True, "brush")
    assert str(TOOLS.call({"walk": {"direction": "left", "steps": 2}})) == (
        "walk(direction='left', steps=2) → 2 to the left"
    )
    assert str(TOOLS.call({"rest": {}})) == "rest()"


def test_functions_are_defined_as_chat_completions_have_them() -> None:
    assert TOOLS.definitions()[0] == {
        "type": "function",
        "function": {
            "name": "walk",
            "description": "Walk along the street.",
            "parameters": {
                "type": "object",
                "properties": {
                    "direction": {
                        "type": "string", "enum": ["left", "right"], "description": "where to.",
                    },
                    "steps": {
                        "type": "integer", "minimum": 1, "maximum": 3,
                        "description": "how many metres.",
                    },
                },
                "required": ["direction", "steps"],
                "additionalProperties": False,
            },
        },
    }  # fmt: skip
    assert "description" not in TOOLS.definitions()[1]["function"]


@pytest.mark.parametrize("answer_format", FORMATS)
def test_a_prompt_says_what_each_function_does_and_how_it_is_called(answer_format: Any) -> None:
    form = BOOK.form(TOOLS, answer_format)

    assert "walk: Walk along the street. direction: where to. steps: how many metres." in form
    assert "trade: Give coins to somebody." in form
    assert "one of left, right" in form


@pytest.mark.parametrize("answer_format", FORMATS)
def test_all_calls_are_read_as_they_are_written(answer_format: Any) -> None:
    for value in TOOLS.cases(np.random.default_rng(1)):
        assert TOOLS.read(TOOLS.as_text(value)).value == value
        assert TOOLS.call(value).name == value.name

    assert TOOLS.read('{"name": "rest", "arguments": {}}', answer_format).value == {"rest": {}}


def test_a_call_out_of_range_names_the_argument() -> None:
    with pytest.raises(InvalidAnswer) as refused:
        TOOLS.read('{"answer": {"walk": {"direction": "left", "steps": 4}}}', "json")

    assert "In steps" in BOOK.reason(refused.value)


def test_functions_are_shown_in_the_opposite_order_with_the_same_values() -> None:
    shown = TOOLS.with_options_reversed()

    assert [name for name, _ in shown.options] == ["rest", "trade", "paint", "walk"]
    assert dict(dict(shown.options)["walk"].fields)["direction"] == Choice(("right", "left"))
    assert shown.call({"walk": {"direction": "left", "steps": 1}}).result == "1 to the left"


def test_tools_are_equal_that_ask_the_same() -> None:
    def also(direction: Literal["left", "right"], steps: Annotated[int, Ge(1), Le(3)]) -> Any:
        """Walk along the street."""
        return direction, steps

    assert Tools(go=walk) == Tools(go=also)
    assert Tools(go=walk, reasoning=words(5)) != Tools(go=walk)


class Shop:
    """Methods of an object are functions, too."""

    open = True

    def close(self, hours: Annotated[int, Ge(0)]) -> str:
        self.open = False
        return f"closed for {hours}"


def test_a_method_is_called_on_its_object() -> None:
    shop = Shop()

    assert Tools(close=shop.close).call({"close": {"hours": 3}}).result == "closed for 3"
    assert not shop.open


def test_questions_go_to_other_processes_without_the_functions() -> None:
    shop = Shop()
    shop.lock = threading.Lock()  # type: ignore[attr-defined]  # as a model has one
    tools = Tools(close=shop.close, walk=walk)
    sent = pickle.loads(pickle.dumps(tools))

    assert sent == tools
    assert BOOK.form(sent, "labelled") == BOOK.form(tools, "labelled")
    assert sent.check({"close": {"hours": 3}}) == {"close": {"hours": 3}}
    with pytest.raises(UsageError, match="in the process of the run"):
        sent.call({"close": {"hours": 3}})


def test_arguments_may_have_the_types_of_the_signature() -> None:
    given = {"paint": {"colour": Colour.RED, "coats": 2, "shiny": True}}
    words_of_it = {"paint": {"colour": "red", "coats": "2", "shiny": "yes"}}

    assert TOOLS.check(given) == TOOLS.check(words_of_it) == words_of_it
    assert TOOLS.call(given).result == (Colour.RED, 2, True, "brush")
    assert TOOLS.read('{"answer": {"paint": {"colour": "red", "coats": 2, "shiny": true}}}', "json")
    shown = TOOLS.with_options_reversed()
    assert shown.call(given).result == (Colour.RED, 2, True, "brush")


def test_a_spec_of_ones_choice_keeps_its_options() -> None:
    def flag(on: Annotated[bool, Choice(("ja", "nein"))]) -> Any:
        return on

    assert Tools(flag=flag).call({"flag": {"on": "ja"}}).result == "ja"


def test_a_function_may_be_called_like_an_argument() -> None:
    def offer(offer: Annotated[int, Ge(0), Le(9)]) -> int:
        return offer

    tools = Tools(offer=offer)
    for text in ('{"offer": {"offer": "3"}}', '{"offer": {"offer": 3, "why": "no"}}'):
        assert tools.read(text, "labelled").value == {"offer": {"offer": 3}}


def thinking(reasoning: str) -> str:
    return reasoning


def limited(text: Annotated[str, MaxLen(5)]) -> str:
    return text


async def later() -> None: ...


@pytest.mark.parametrize(
    ("functions", "said"),
    [
        ({}, "Tools needs a function"),
        ({"walk": 3}, "walk must be a function, not 3"),
        ({"later": later}, "later must be a plain function"),
        ({"f": lambda x: x}, "f, argument x: its legal values are not known"),
        ({"f": lambda *x: x}, r"needs arguments with names, not \*x"),
        ({"keys": rest}, "An option cannot be called 'keys'"),
        ({"f": thinking}, "f cannot have an argument called 'reasoning'"),
        ({"f": limited}, "f, argument text: set the limit of a text"),
        ({"reasoning": rest, "f": rest}, "`reasoning` is None, words"),
    ],
)
def test_what_no_mind_could_call_is_refused(functions: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Tools(**functions)


def test_an_argument_that_a_function_does_not_have_is_refused() -> None:
    with pytest.raises(ParameterError, match="walk has no argument 'speed'"):
        tool(walk, speed=Number(0, 1))


def test_a_limit_that_cannot_be_stated_is_refused() -> None:
    def heat(degrees: Annotated[float, Gt(0)]) -> None: ...

    with pytest.raises(ParameterError, match="degrees: the limit"):
        Tools(heat=heat)


def _unknown() -> Callable[..., Any]:
    def act(what: "Nothing") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    return act


def test_annotations_that_name_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match="annotations of act cannot be read"):
        Tools(act=_unknown())
