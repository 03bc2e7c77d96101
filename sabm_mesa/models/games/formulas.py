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

from simpleeval import SimpleEval

from sabm_mesa.errors import ParameterError, one_line

LONGEST = 400
"""Maximum number of characters of a formula."""
DEEPEST = 50
"""Maximum nesting depth of a formula, counting nested brackets and terms of a sum."""
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: math.pow,
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
FUNCTIONS = {"min": min, "max": max, "abs": abs, "floor": math.floor}

_ARITHMETIC, _LOCK = SimpleEval(operators=OPERATORS, functions=FUNCTIONS, names={}), Lock()
_EITHER = _ARITHMETIC.nodes[ast.BoolOp]
_ARITHMETIC.nodes[ast.BoolOp] = lambda node: bool(_EITHER(node))
_ARITHMETIC.nodes[ast.Constant] = lambda node: float(node.value)


def check_formula(text: str, known: Collection[str]) -> None:
    """Check that a text is a formula with known names.

    Raises:
        ParameterError: when it is not.
    """
    nodes = list(ast.walk(_tree(text)))
    functions = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = {node.id for node in nodes if isinstance(node, ast.Name) and node not in functions}
    if unknown := sorted(names - set(known)):
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
    tree = _tree(text)
    try:
        with _LOCK:
            _ARITHMETIC.names = values
            value = float(_ARITHMETIC.eval(text, previously_parsed=tree))
    except (ArithmeticError, ValueError) as problem:
        raise ParameterError(f"the formula {_shown(text)} gives no number: {problem}.") from None
    if not math.isfinite(value):
        raise ParameterError(f"the formula {_shown(text)} gives no number.")
    return value


@lru_cache(maxsize=1024)
def _tree(text: str) -> ast.expr:
    """The tree of a formula, which holds nothing but arithmetic."""
    if not text.strip():
        raise ParameterError("a formula is empty.")
    if len(text) > LONGEST:
        raise ParameterError(f"a formula has at most {LONGEST} characters.")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(f"{_shown(text)} is no formula.") from None
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    if level:
        raise ParameterError(
            f"the formula {_shown(text)} has more than {DEEPEST} levels: use fewer terms."
        )
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and not _is_arithmetic(node):
            raise ParameterError(
                f"the formula {_shown(text)} holds {one_line(ast.unparse(node))[:40]!r}, which is "
                "not arithmetic."
            )
    return tree


def _is_arithmetic(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return type(value) in (int, float)
        case ast.BinOp(op=op) | ast.UnaryOp(op=op):
            return type(op) in OPERATORS
        case ast.Compare(ops=ops):
            return all(type(op) in OPERATORS for op in ops)
        case ast.Call(func=ast.Name(id="min" | "max"), args=[_, _, *_], keywords=[]):
            return True
        case ast.Call(func=ast.Name(id="abs" | "floor"), args=[_], keywords=[]):
            return True
    return isinstance(node, ast.Name | ast.BoolOp | ast.IfExp)


def _shown(text: str) -> str:
    text = one_line(text)
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
