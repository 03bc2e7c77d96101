"""Values as they are written on the command line."""

from pathlib import Path

import pytest

from sabm_mesa.cli.options import parameters_from, parse_settings
from sabm_mesa.core.parsing import parse_minds, parse_value
from sabm_mesa.errors import MindSpecError, ParameterError
from tests.cli.support import Sabm, one_line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("none", None),
        ("None", None),
        ("true", True),
        ("False", False),
        ("amplified", "amplified"),
        ('{"agreeable": 2}', {"agreeable": 2}),
        ("[1, 2]", [1, 2]),
        ('"3"', "3"),
        ("", ""),
    ],
)
def test_a_value_is_json_or_a_text(text: str, value: object) -> None:
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


def test_settings_are_split_at_the_first_equals_sign() -> None:
    assert parse_settings(["a=1", " b = x=y "]) == {"a": 1, "b": "x=y"}


@pytest.mark.parametrize(
    ("text", "minds"),
    [
        ("classical", "classical"),
        ("llm:m@http://127.0.0.1:1/v1", "llm:m@http://127.0.0.1:1/v1"),
        ("llm:a=5,fixed:0=1", {"llm:a": 5, "fixed:0": 1}),
        ("llm:a=5, llm:a=2", {"llm:a": 7}),
        ('{"llm:a": 5}', {"llm:a": 5}),
        ("gguf:some/model.gguf", "gguf:some/model.gguf"),
        ("Seller/llm:a", {"Seller": "llm:a"}),
        (
            "Seller/gguf:a/b.gguf; Buyer/llm:b=2,classical=4",
            {"Seller": "gguf:a/b.gguf", "Buyer": {"llm:b": 2, "classical": 4}},
        ),
        ('fixed:{"buy": {"good": "bread", "n": 2}}',) * 2,
        ("fixed:[1, 2]",) * 2,
        ("fixed:act=wait,communicate=hello",) * 2,
        ("fixed:act=3, communicate=hello you",) * 2,
        ("fixed:act=wait",) * 2,
        ("fixed:stag=3", {"fixed:stag": 3}),
        (
            "fixed:act=3,communicate=hello=2,classical=4",
            {"fixed:act=3,communicate=hello": 2, "classical": 4},
        ),
        ("fixed:stag=3,human=1", {"fixed:stag": 3, "human": 1}),
    ],
)
def test_minds_are_one_spec_or_specs_with_counts(text: str, minds: object) -> None:
    assert parse_minds(text) == minds


@pytest.mark.parametrize(
    "text",
    ["llm:a=5,fixed:0", "llm:a=x", "=5", "A/fixed:0; fixed:1", "A/fixed:0; A/fixed:1", "A/a=b"],
)
def test_unreadable_minds_are_refused(text: str) -> None:
    with pytest.raises(MindSpecError, match="minds: "):
        parse_minds(text)


def test_a_parameter_is_given_once() -> None:
    options = {"minds": None, "n_rounds": 3, "rng": None}
    assert parameters_from(["minds=llm:a=2,fixed:0=1", "rng=4"], options) == {
        "minds": {"llm:a": 2, "fixed:0": 1},
        "rng": 4,
        "n_rounds": 3,
    }
    with pytest.raises(
        ParameterError, match="n_rounds is given twice: with --rounds and with --set"
    ):
        parameters_from(["n_rounds=4"], options)
    with pytest.raises(ParameterError, match="--set a is given twice"):
        parameters_from(["a=1", "a=2"], {})


@pytest.mark.parametrize(
    ("command", "minds"),
    [
        *(
            (command, "llm:gpt-4o-mini@")
            for command in (
                "run kbc", "cost kbc", "sweep kbc", "play kbc", "describe kbc", "doctor", "probe",
                "audit guessing-game", "reproduce guessing-game",
                "register guessing-game",
            )
        ),
        ("run kbc", ""), ("run kbc", "classical:"),
    ],
)  # fmt: skip
def test_a_spec_that_is_empty_or_cut_short_is_wrong_use(
    command: str, minds: str, sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = sabm(*command.split(), "--minds", minds)

    assert outcome.status == 2
    assert one_line(outcome)
    assert list(tmp_path.iterdir()) == []
