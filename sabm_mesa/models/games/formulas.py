"""Formulas of payoffs: a safe subset of arithmetic for untrusted files.

A formula has numbers, names, ``+ - * / // %``, ``**``, comparisons, ``and or not``,
``A if TEST else B`` and the functions ``min``, ``max``, ``abs``, ``floor``. It is parsed into a
tree whose nodes are looked up in the tables below; unknown nodes are refused, and no text is
executed. All numbers are floats, so numbers cannot grow without bound.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

from sabm_mesa.errors import ParameterError, one_line

Values = Mapping[str, float]
Formula = Callable[[Values], float]
LONGEST = 400
"""Maximum number of characters of a formula."""
DEEPEST = 50
"""Maximum nesting depth of a formula, counting nested brackets and terms of a sum."""
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: math.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: lambda x: float(not x),
}
_TESTS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, tuple[Callable[..., float], int, int]] = {
    "min": (min, 2, LONGEST),
    "max": (max, 2, LONGEST),
    "abs": (abs, 1, 1),
    "floor": (lambda x: float(math.floor(x)), 1, 1),
}
"""Name → function, and its minimum and maximum number of arguments."""


@cache
def read_formula(text: str) -> Formula:
    """Compile a formula into a function from a mapping name → value to a number.

    Args:
        text: the formula.

    Raises:
        ParameterError: for a text that is not a formula.
    """
    return _compiled(_tree(text), text)


def names_in(text: str) -> set[str]:
    """The names that a formula uses.

    Args:
        text: the formula.

    Raises:
        ParameterError: for a text that is not a formula.
    """
    read_formula(text)
    return {
        node.id
        for node in ast.walk(_tree(text))
        if isinstance(node, ast.Name) and node.id not in _FUNCTIONS
    }


def check_names(text: str, known: Collection[str]) -> None:
    """Check that a formula uses only known names.

    Args:
        text: the formula.
        known: the names.

    Raises:
        ParameterError: for a text that is not a formula, or an unknown name.
    """
    if unknown := sorted(names_in(text) - set(known)):
        raise ParameterError(
            f"the formula {_shown(text)} uses {unknown[0]!r}, which is not known there; known: "
            f"{', '.join(sorted(known))}."
        )


def with_numbers(text: str, numbers: Values) -> str:
    """Replace some names of a formula by numbers.

    Args:
        text: the formula.
        numbers: name → number.

    Raises:
        ParameterError: for a text that is not a formula.
    """
    read_formula(text)

    class _Numbers(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id not in numbers:
                return node
            size = ast.Constant(abs(numbers[node.id]))  # a sign binds less tightly than a power
            return ast.UnaryOp(ast.USub(), size) if numbers[node.id] < 0 else size

    return ast.unparse(_Numbers().visit(_tree(text)))


def evaluate(text: str, values: Values) -> float:
    """The value of a formula.

    Args:
        text: the formula.
        values: name → value.

    Raises:
        ParameterError: when the value is not a number, as after a division by zero.
    """
    try:
        value = float(read_formula(text)(values))
    except (ArithmeticError, ValueError) as problem:
        raise ParameterError(f"the formula {_shown(text)} gives no number: {problem}.") from None
    if not math.isfinite(value):
        raise ParameterError(f"the formula {_shown(text)} gives no number.")
    return value


def _tree(text: str) -> ast.expr:
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
    return tree


def _compiled(node: ast.expr, text: str) -> Formula:
    """The function of a node, composed of the functions of its parts."""
    make = _MAKERS.get(type(node))
    made = make(node, text) if make else None
    if made is None:
        raise ParameterError(
            f"the formula {_shown(text)} holds {one_line(ast.unparse(node))[:40]!r}, which is not "
            "arithmetic."
        )
    return made


def _of_constant(node: Any, text: str) -> Formula | None:
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        return None
    try:
        fixed = float(node.value)
    except OverflowError:
        raise ParameterError(f"{_shown(text)} holds a number that is too large.") from None
    return lambda _: fixed


def _of_name(node: Any, text: str) -> Formula:
    del text
    name: str = node.id
    return lambda values: values[name]


def _of_two(node: Any, text: str) -> Formula | None:
    both = _BINARY.get(type(node.op))
    one, other = _compiled(node.left, text), _compiled(node.right, text)
    return both and (lambda values: both(one(values), other(values)))


def _of_one(node: Any, text: str) -> Formula | None:
    of, inner = _UNARY.get(type(node.op)), _compiled(node.operand, text)
    return of and (lambda values: of(inner(values)))


def _of_comparison(node: Any, text: str) -> Formula | None:
    if not all(type(op) in _TESTS for op in node.ops):
        return None
    tests = [_TESTS[type(op)] for op in node.ops]
    sides = [_compiled(part, text) for part in (node.left, *node.comparators)]

    def compare(values: Values) -> float:
        results = [side(values) for side in sides]
        pairs = zip(tests, results[:-1], results[1:], strict=True)
        return float(all(test(a, b) for test, a, b in pairs))

    return compare


def _of_several(node: Any, text: str) -> Formula:
    parts = [_compiled(part, text) for part in node.values]
    joined = all if isinstance(node.op, ast.And) else any
    return lambda values: float(joined(part(values) for part in parts))


def _of_condition(node: Any, text: str) -> Formula:
    asked, yes, no = (_compiled(part, text) for part in (node.test, node.body, node.orelse))
    return lambda values: yes(values) if asked(values) else no(values)


def _of_call(node: Any, text: str) -> Formula | None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _FUNCTIONS or node.keywords or not node.args:
        return None
    function, least, most = _FUNCTIONS[name]
    if any(isinstance(arg, ast.Starred) for arg in node.args):
        return None
    if not least <= len(node.args) <= most:
        numbers = "one number" if most == 1 else "two numbers or more"
        raise ParameterError(f"{name} in the formula {_shown(text)} takes {numbers}.")
    given = [_compiled(arg, text) for arg in node.args]
    return lambda values: function(*(argument(values) for argument in given))


_MAKERS: dict[type[ast.expr], Callable[[Any, str], Formula | None]] = {
    ast.Constant: _of_constant,
    ast.Name: _of_name,
    ast.BinOp: _of_two,
    ast.UnaryOp: _of_one,
    ast.Compare: _of_comparison,
    ast.BoolOp: _of_several,
    ast.IfExp: _of_condition,
    ast.Call: _of_call,
}
"""Kind of node → the function that compiles it; None for nodes that are not allowed."""


def _shown(text: str) -> str:
    text = one_line(text)
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
