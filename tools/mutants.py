"""Change random functions and see whether a test notices: ``python -m tools.mutants [--seed N]``.

A mutant is the package with one change in one function: another operator, comparison, constant or
condition, made by `cosmic-ray`. The functions are drawn at random, equally often from each part of
the package. Only tests of the changed function run, until the first one fails: those of the fast
tier, then those of the slow tier. A measurement shows which fast tests run a function. It does not
cover slow tests and functions that run in other processes: for these, the tests are the test files
that name the module. A mutant that no test kills is a survivor: a fault of this kind would stay
unnoticed. Some survivors change nothing that a user can observe, so read the list.

The package itself is never changed. Each process works in a copy of the checkout.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

import coverage
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGE = "sabm_mesa"
COPIED = (PACKAGE, "tests", "benchmarks", "tools", "course", "docs", "examples", "paper")
# These operators make no real faults: most `|` are in annotations, which are never evaluated. The
# last three need the name of a variable or end in a NameError.
LEFT_OUT = ("BitOr", "RemoveDecorator", "VariableReplacer", "VariableInserter")
# `is` and `==` agree on classes, enumeration members, None and small numbers.
ALIKE = ("Operator_Eq_Is", "Operator_Is_Eq", "Operator_NotEq_IsNot", "Operator_IsNot_NotEq")
STRICT = re.compile(r"strict=\s*\w+")
"""`strict` detects faults of the caller: without such a fault, its value changes nothing."""
FAST, SLOW = "not slow", "slow and not long"
NO_ANSWER, NO_TESTS = "no answer", 5
AT_MOST_TESTS = 400
AT_MOST_S = 300.0


@dataclass(frozen=True)
class Function:
    """A function of the package: its file, its name, its lines, and whether it keeps results."""

    path: str
    name: str
    lines: range
    is_cached: bool = False

    @property
    def part(self) -> str:
        """The part of the package: its first folder."""
        folder, *more = Path(self.path).parts[1:]
        return folder if more else PACKAGE


@dataclass
class Mutant:
    """One change of one function, and the result of the tests."""

    function: Function
    code: str
    line: int
    change: str
    tests: list[str] = field(default_factory=list)
    tier: str = FAST
    killed_by: str | None = None


def functions() -> list[Function]:
    """Return all functions of the package with more than a docstring in their body."""
    return [
        Function(
            str(path.relative_to(CHECKOUT)),
            node.name,
            range(_first(node), _last(node) + 1),
            any("cache" in ast.unparse(decorator) for decorator in node.decorator_list),
        )
        for path in sorted((CHECKOUT / PACKAGE).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _body(node)
    ]


def _body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    has_docstring = ast.get_docstring(node, clean=False) is not None
    return node.body[1:] if has_docstring else node.body


def _first(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return _body(node)[0].lineno


def _last(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return node.end_lineno or node.lineno


def drawn(number: int, seed: int, chosen: Collection[str] = ()) -> Iterator[Mutant]:
    """Yield ``number`` mutants of random functions, equally many from each chosen part."""
    chance = random.Random(seed)
    by_part: dict[str, list[Function]] = {}
    for function in functions():
        if chosen and function.part not in chosen:
            continue
        by_part.setdefault(function.part, []).append(function)
    for candidates in by_part.values():
        chance.shuffle(candidates)
    parts = sorted(by_part)
    chance.shuffle(parts)
    made = 0
    while made < number and any(by_part.values()):
        for part in parts:
            mutant = _next_mutant(by_part[part], chance)
            if mutant is not None and made < number:
                made += 1
                yield mutant


def _next_mutant(candidates: list[Function], chance: random.Random) -> Mutant | None:
    while candidates:
        mutant = mutate(candidates.pop(), chance)
        if mutant is not None:
            return mutant
    return None


def mutate(function: Function, chance: random.Random) -> Mutant | None:
    """Return one random change of a function, or None if no operator fits."""
    source = (CHECKOUT / function.path).read_text("utf-8")
    tree = get_ast(source)
    kinds: dict[str, list[tuple[Operator, int, int]]] = {}
    for name in operator_names():
        if name.endswith(ALIKE) or any(word in name for word in LEFT_OUT):
            continue
        operator = get_operator(name)()
        for occurrence, line in enumerate(_lines(tree, operator)):
            if line in function.lines:
                kinds.setdefault(name.split("_")[0], []).append((operator, occurrence, line))
    while kinds:
        kind = chance.choice(sorted(kinds))
        operator, occurrence, line = kinds[kind].pop(chance.randrange(len(kinds[kind])))
        if not kinds[kind]:
            del kinds[kind]
        code = mutate_code(source, operator, occurrence)
        if code is not None and STRICT.sub("", code) != STRICT.sub("", source) and _compiles(code):
            return Mutant(function, code, line, _change(source, code))
    return None


def _lines(tree: object, operator: Operator) -> Iterator[int]:
    for node in ast_nodes(tree):
        for start, _ in operator.mutation_positions(node):
            yield start[0]


def _compiles(code: str) -> bool:
    try:
        compile(code, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def _change(before: str, after: str) -> str:
    for old, new in zip(before.splitlines(), after.splitlines(), strict=False):
        if old != new:
            return f"{old.strip()}  →  {new.strip()}"
    return "a line was removed"


def contexts() -> coverage.CoverageData:
    """Return the lines that each fast test runs; measured again after the package changed."""
    file = CHECKOUT / ".coverage.mutants"
    newest = max(path.stat().st_mtime for path in (CHECKOUT / PACKAGE).rglob("*.py"))
    if not file.exists() or file.stat().st_mtime < newest:
        with tempfile.TemporaryDirectory() as folder:
            settings = Path(folder) / "coveragerc"
            settings.write_text(
                f"[run]\nsource = {PACKAGE}\nrelative_files = true\ndata_file = {file}\n", "utf-8"
            )
            command = [sys.executable, "-m", "pytest", "-q", "--numprocesses=auto"]
            command += ["--dist=loadfile", "-m", "not slow", f"--cov={PACKAGE}"]
            command += ["--cov-context=test", "--cov-report=", f"--cov-config={settings}"]
            subprocess.run([*command, "--cov-fail-under=0"], cwd=CHECKOUT, check=False)
    data = coverage.CoverageData(str(file))
    data.read()
    return data


def covering(data: coverage.CoverageData, function: Function) -> list[str]:
    """Return the tests that run a function, those of its part first."""
    by_line = data.contexts_by_lineno(function.path)
    tests = {
        context.rsplit("|", 1)[0]
        for line in function.lines
        for context in by_line.get(line, ())
        if context and context.isprintable()
    }
    runs = Counter(test.partition("::")[0] for test in tests)
    stem = Path(function.path).stem

    def distance(test: str) -> tuple[bool, bool, int, str]:
        file = test.partition("::")[0]
        return (stem not in Path(file).stem, f"tests/{function.part}" not in file, runs[file], test)

    if function.is_cached:  # only the first test with the same arguments runs it
        return sorted(runs, key=distance)
    return sorted(tests, key=distance)[:AT_MOST_TESTS]


def naming(function: Function) -> list[str]:
    """Return the test files that name the module of a function, by file name or import."""
    module = Path(function.path).with_suffix("")
    stem = module.parent.name if module.name == "__init__" else module.name
    folder = ".".join(module.parent.parts)
    imported = re.compile(rf"{re.escape(folder)}(\.| import [^\n]*\b){re.escape(stem)}\b")
    return [
        str(file.relative_to(CHECKOUT))
        for file in sorted((CHECKOUT / "tests").rglob("test_*.py"))
        if stem in file.stem or imported.search(file.read_text("utf-8"))
    ]


def kill(mutant: Mutant, folder: Path, tiers: Sequence[str]) -> None:
    """Run the tests of a mutant in a copy of the checkout, until one fails."""
    file = folder / mutant.function.path
    source = file.read_text("utf-8")
    for tier in tiers:
        mutant.tier = tier
        tests = mutant.tests if tier == FAST and mutant.tests else naming(mutant.function)
        others: list[str] = []
        until = time.monotonic() + AT_MOST_S
        while tests and mutant.killed_by is None and time.monotonic() < until:
            file.write_text(mutant.code, "utf-8")
            try:
                failed = _first_failure(tests, others, tier, folder)
            finally:
                file.write_text(source, "utf-8")
            if failed is None:
                break
            again = tests if failed == NO_ANSWER else [failed]
            if _first_failure(again, others, tier, folder) is None:
                mutant.killed_by = failed
            elif failed == NO_ANSWER:
                break  # the tests also take too long without the change
            else:
                others.append(failed)  # it also fails in a copy without the change
        if mutant.killed_by is not None:
            return


def _first_failure(tests: list[str], others: list[str], tier: str, folder: Path) -> str | None:
    """Return the first test that fails, except ``others``; None if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "-n0", "-p"]
    command += ["no:cacheprovider", "--hypothesis-seed=1", "-m", tier, *tests]
    command += [f"--deselect={test}" for test in others]
    try:
        ended = subprocess.run(
            command,
            check=False,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=AT_MOST_S,
        )
    except subprocess.TimeoutExpired:
        return NO_ANSWER
    if ended.returncode in (0, NO_TESTS):
        return None
    for line in ended.stdout.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            test = line.split(" ", 1)[1]
            known = (name for name in tests if f"{test} ".startswith(f"{name} "))
            return next(known, test.split(" - ")[0])
    return tests[0]


def main(arguments: list[str] | None = None) -> int:
    """Draw, run and print. The status is 1 when fast tests killed fewer than 85 %."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--mutants", type=int, default=60, help="number of mutants")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    parser.add_argument(
        "--part", action="append", help="only this folder of the package; repeatable"
    )
    parser.add_argument("--fast", action="store_true", help="run only the fast tests")
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="start no mutant after this time"
    )
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    mutants = list(drawn(given.mutants, given.seed, given.part or ()))
    if given.list:
        for mutant in mutants:
            print(_line(mutant))
        return 0
    data = contexts()
    for mutant in mutants:
        mutant.tests = covering(data, mutant.function)
    tiers = (FAST,) if given.fast else (FAST, SLOW)
    tried = _run(mutants, began + 60 * given.minutes, tiers)
    survivors = [mutant for mutant in tried if mutant.killed_by is None]
    fast = sum(mutant.killed_by is not None and mutant.tier == FAST for mutant in tried)
    slow = len(tried) - len(survivors) - fast
    share = f"{100 * fast / max(len(tried), 1):.0f} %"
    print(
        f"\nSeed {given.seed}: the fast tests kill {fast} of {len(tried)} mutants ({share}),",
        end="",
    )
    print(
        f" the slow tests {slow} more. Survivors:" if survivors else f" the slow tests {slow} more."
    )
    for mutant in survivors:
        print(_line(mutant))
    return int(fast < 0.85 * len(tried))


def _run(mutants: list[Mutant], until: float, tiers: Sequence[str]) -> list[Mutant]:
    tried: list[Mutant] = []
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        workers = os.cpu_count() or 1
        for number in range(workers):
            copies.put(_copy(Path(folder) / str(number)))

        def one(mutant: Mutant) -> None:
            if time.monotonic() > until:
                return
            copy = copies.get()
            try:
                kill(mutant, copy, tiers)
            finally:
                copies.put(copy)
            tried.append(mutant)
            verdict = f"killed by {mutant.killed_by}" if mutant.killed_by else "survived"
            print(f"{len(tried):3} {_line(mutant)}: {verdict}", flush=True)

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(one, mutants))
    return tried


def _copy(folder: Path) -> Path:
    folder.mkdir()
    for name in COPIED:
        shutil.copytree(
            CHECKOUT / name,
            folder / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "_build"),
        )
    for file in CHECKOUT.iterdir():
        if file.is_file() and not file.name.startswith(".coverage"):
            shutil.copy(file, folder / file.name)
    return folder


def _line(mutant: Mutant) -> str:
    where = f"{mutant.function.path}:{mutant.line} {mutant.function.name}"
    return f"{where}: {mutant.change} ({len(mutant.tests)} tests)"


if __name__ == "__main__":
    sys.exit(main())
