"""Formulas of payoffs: arithmetic from untrusted files, evaluated by simpleeval.

A formula has numbers, names, ``+ - * / // %``, ``**``, comparisons, ``and or not``,
``A if TEST else B`` and the functions ``min``, ``max``, ``abs``, ``floor``. All numbers are floats,
so they cannot grow without bound.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Collection, Mapping
from functools import lru_cache
from threading import Lock

from simpleeval import InvalidExpression, SimpleEval

from sabm_mesa.errors import ParameterError, one_line

LONGEST = 400
"""Maximum number of characters of a formula."""
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: math.pow,
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
FUNCTIONS = {"min": min, "max": max, "abs": abs, "floor": math.floor}
_NODES = (
    ast.Expr, ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp,
    ast.Call,
)  # fmt: skip

_ARITHMETIC, _LOCK = SimpleEval(operators=OPERATORS, functions=FUNCTIONS, names={}), Lock()
_EITHER = _ARITHMETIC.nodes[ast.BoolOp]
_ARITHMETIC.nodes = {node: _ARITHMETIC.nodes[node] for node in _NODES} | {
    ast.BoolOp: lambda node: bool(_EITHER(node)),
    ast.Constant: lambda node: _number(node.value),
}


def check_formula(text: str, known: Collection[str]) -> None:
    """Check that the names of a formula are known.

    Raises:
        ParameterError: for another name, or a text that is not a formula.
    """
    names = {node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name)}
    if unknown := sorted(names - {*known, *FUNCTIONS}):
        raise ParameterError(
            f"the formula {_shown(text)} uses {unknown[0]!r}, which is not known there; known: "
            f"{', '.join(sorted(known))}."
        )


def evaluate(text: str, values: Mapping[str, float]) -> float:
    """The value of a formula, with the values of its names.

    Raises:
        ParameterError: for a text that is not a formula, or when its value is not a number, as
            after a division by zero.
    """
    tree = _parsed(text)
    try:
        with _LOCK:
            _ARITHMETIC.names = values
            value = float(_ARITHMETIC.eval(text, previously_parsed=tree))
    except (ArithmeticError, ValueError) as problem:
        raise ParameterError(f"the formula {_shown(text)} gives no number: {problem}.") from None
    except (InvalidExpression, KeyError, TypeError, RecursionError):
        raise ParameterError(f"the formula {_shown(text)} is not arithmetic.") from None
    if not math.isfinite(value):
        raise ParameterError(f"the formula {_shown(text)} gives no number.")
    return value


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise ParameterError(f"a formula has at most {LONGEST} characters.")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(f"{_shown(text)} is no formula.") from None


def _number(constant: object) -> float:
    if type(constant) not in (int, float):
        raise TypeError
    return float(constant)  # type: ignore[arg-type]


def _shown(text: str) -> str:
    text = one_line(text)
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
