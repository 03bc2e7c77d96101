"""Finding the mind in a student's file."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

MODULE = "student_mind"
"""How the file is called as a module, so that it takes no other module's place."""


class Unfit(Exception):
    """A file that holds no mind that can be used; the message says why."""


@dataclass(frozen=True)
class Found:
    """A mind in a file.

    Attributes:
        name: its name in the file.
        answer: its method or function.
        paid: whether it says that its answers are paid for.
    """

    name: str
    answer: Callable[[Any], object]
    paid: bool


def load(source: bytes, path: str, name: str = "") -> Found:
    """Run a file and make the mind in it.

    Args:
        source: what the file holds.
        path: the file, for tracebacks; modules beside it can be imported.
        name: the name of a class or function; ``""``: the only one.

    Raises:
        Unfit: when it cannot be run, or there is not exactly one mind.
    """
    module = ModuleType(MODULE)
    module.__file__ = path
    sys.modules[MODULE] = module
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        exec(compile(source, path, "exec"), module.__dict__)
    except SyntaxError as error:
        place = f"line {error.lineno}: " if error.filename == path else ""
        raise Unfit(f"{place}{type(error).__name__}: {error.msg}") from None
    except BaseException as error:
        raise Unfit(told(error, path)) from error
    found = _by_name(module, name) if name else _the_only_one(module)
    try:
        answer = found().answer if isinstance(found, type) else found
    except BaseException as error:
        raise Unfit(f"{found.__name__}(): {told(error, path)}") from error
    return Found(found.__name__, answer, bool(getattr(found, "paid", False)))


def told(error: BaseException, path: str) -> str:
    """An exception in one line, with the last line of the file that it passed.

    Args:
        error: the exception.
        path: the file.
    """
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    place = f"line {lines[-1]}: " if lines else ""
    said = ""
    with suppress(Exception):  # one of the file's own may not know what it says
        said = str(error)
    return f"{place}{type(error).__name__}" + (f": {said}" if said else "")


def _by_name(module: ModuleType, name: str) -> Any:
    found = getattr(module, name, None)
    if found is None:
        known = ", ".join(_minds_in(module)) or "none"
        raise Unfit(f"it has no {name} (minds in it: {known})")
    if not _is_mind(found) and not (inspect.isfunction(found) and len(_parameters(found)) == 1):
        raise Unfit(
            f"{name} is neither a class with a method answer(self, ask) nor a function of ask"
        )
    return found


def _the_only_one(module: ModuleType) -> Any:
    known = _minds_in(module)
    if len(known) == 1:
        return next(iter(known.values()))
    if known:
        raise Unfit(f"it has several minds ({', '.join(known)}): add :NAME for one of them")
    raise Unfit("it has neither a class with a method answer(self, ask) nor a function answer(ask)")


def _minds_in(module: ModuleType) -> dict[str, Any]:
    """The minds that are defined in the file itself, by name."""
    return {
        name: each
        for name, each in vars(module).items()
        if not name.startswith("_") and getattr(each, "__module__", "") == MODULE and _is_mind(each)
    }


def _is_mind(each: Any) -> bool:
    if isinstance(each, type):
        method = inspect.getattr_static(each, "answer", None)
        return inspect.isfunction(method) and len(_parameters(method)) == 2
    return inspect.isfunction(each) and _parameters(each) == ["ask"]


def _parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)
