"""Formulas: the arithmetic of payoffs, and nothing that runs."""

import pytest

from sabm_mesa.errors import ParameterError
from sabm_mesa.models.games.formulas import check_formula, evaluate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("own + (20 if own == others - 1 else 0)", 37),
        ("2 * own ** 2 - others // 5 % 2", 577),
        ("min(own, others) + max(1, 2, 3) - abs(-4) + floor(2.9)", 18),
        ("1 if 0 < own < others and not (own > others or own == 3) else -1", 1),
        (" -own / 2 ", -8.5),
    ],
)
def test_a_formula_gives_a_number(text: str, value: float) -> None:
    assert evaluate(text, {"own": 17, "others": 18}) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch /tmp/x')", "open('x')", "own.__class__", "[own]", "'own'",
        "lambda: 1", "own[0]", "(x := 3)", "f'{own}'", "max(*own)", "min(own)", "abs(own, 1)",
        "max(own, key=abs)", "own if", "import os", "", "own" + " + own" * 200, "9" * 390,
        "True", "1j", "own @ own", "own << 9", "~own",
        "own in own", "(own for own in own)",
    ],
)  # fmt: skip
def test_nothing_but_arithmetic_is_a_formula(text: str) -> None:
    with pytest.raises(ParameterError):
        evaluate(text, {"own": 1.0})


@pytest.mark.parametrize("text", ["1 / own", "10.0 ** 400", "(-1) ** 0.5", "1e300 * 1e300 - 1"])
def test_a_formula_without_a_finite_number_is_an_error(text: str) -> None:
    with pytest.raises(ParameterError, match="gives no number"):
        evaluate(text, {"own": 0.0})


def test_names_have_to_be_known() -> None:
    text = "min(own, bonus) if reply == accept else 0"
    check_formula(text, {"own", "bonus", "reply", "accept"})

    with pytest.raises(ParameterError, match="uses 'reply', which is not known there; known: own"):
        check_formula("min(own, reply)", {"own"})
    with pytest.raises(ParameterError, match="'own \\+ min' is not arithmetic"):
        evaluate("own + min", {"own": 1.0})
    assert evaluate(text, {"own": 3.0, "bonus": 2.0, "reply": 1.0, "accept": 1.0}) == 2


@pytest.mark.parametrize(
    ("text", "value"), [("low ** 2", 9), ("-low ** 2", -9), ("2 ** low", 0.125)]
)
def test_a_negative_number_of_a_name_is_one_number(text: str, value: float) -> None:
    assert evaluate(text, {"low": -3.0}) == value


def test_a_truth_value_is_one_or_zero() -> None:
    assert evaluate("(2 and 3) + (0 or 5) * 10 + (not 2)", {}) == 11
