"""Rules for every file of the repository."""

import ast
import re
import subprocess
import tomllib
from contextlib import suppress
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from itertools import pairwise
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sabm_mesa import __version__

pytestmark = pytest.mark.check_once

ROOT = Path(__file__).parents[1]
PACKAGE_DATA = {"sabm_mesa/py.typed", "sabm_mesa/models/beauty_contest/kbc/prompts.toml"}

# Each pattern is written so that it does not match its own text.
UNWANTED = {
    "a path of one machine": re.compile(r"/(?:work|root|farm)/|[.]pyenv|bash[_]jobs"),
    "a key": re.compile(r"\bsk-[A-Za-z0-9_-]{20,}"),
    "something unfinished": re.compile(r"\b(?:T[O]DO|FIX[M]E|X[X]X)\b"),
    "a package registry": re.compile(r"pypi[.]org|python[h]osted[.]org|anaconda[.]org"),
}
PICTURE = re.compile(r'"image/png": "[^"]*"')
"""A picture in a notebook, as text."""


def repository_files() -> list[Path]:
    """The files that are tracked or would be on `git add --all`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs a git checkout")
    paths = {ROOT / name for name in listed.decode().split("\0") if name}
    return sorted(path for path in paths if path.is_file())


def text_of(path: Path) -> str:
    """The text of a file, empty for a binary one."""
    data = path.read_bytes()
    return "" if b"\0" in data else data.decode(errors="replace")


def unwanted_lines(text: str, pattern: re.Pattern[str]) -> list[int]:
    return [n for n, line in enumerate(text.splitlines(), 1) if pattern.search(line)]


@pytest.mark.parametrize("name", UNWANTED)
def test_no_file_contains(name: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} has {name}"
        for path in repository_files()
        for line in unwanted_lines(PICTURE.sub("", text_of(path)), UNWANTED[name])
    ]

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a path of one machine", "see /{}/main".format("work")),
        ("a key", "key = 'sk-{}'".format("a1" * 12)),
        ("something unfinished", "# {}: later".format("TO" + "DO")),
        ("a package registry", "https://{}.org/simple".format("pypi")),
    ],
)
def test_an_unwanted_line_is_found(name: str, text: str) -> None:
    assert unwanted_lines(f"first line\n{text}\n", UNWANTED[name]) == [2]


def data_files() -> set[str]:
    """The files of the package that are not Python, relative to the repository."""
    paths = (path for path in (ROOT / "sabm_mesa").rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT).as_posix() for path in paths if path.suffix not in {".py", ".pyc"}
    }


def test_the_package_has_its_data() -> None:
    assert data_files() >= PACKAGE_DATA


def test_the_version_is_the_same_wherever_it_stands() -> None:
    """The project file, the package, the citation, and the latest entry of the changelog."""

    def text(name: str) -> str:
        return (ROOT / name).read_text("utf-8")

    citation = re.search(r"^version: (.*)$", text("CITATION.cff"), re.MULTILINE)
    latest = re.search(r"^## \[(\d.*?)\]", text("CHANGELOG.md"), re.MULTILINE)

    assert tomllib.loads(text("pyproject.toml"))["project"]["version"] == __version__
    assert citation is not None
    assert latest is not None
    assert citation[1] == latest[1] == __version__


def test_the_command_has_the_name_of_the_package_too() -> None:
    """``pipx run sabm-mesa`` looks for it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"][project["name"]] == project["scripts"]["sabm"]


def test_the_readme_starts_with_two_commands() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    block = re.search(r"^```\w*\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)

    assert block is not None
    assert block[1].split("\n") == ["make demo", "make test", ""]


def docstrings_with_a_question_word(text: str) -> list[int]:
    """The lines of docstrings, also those of variables, that begin with such a word."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and re.match(r"\s*(?:What|Whatever|Who|Whoever|Where|Which)\b", node.value.value)
    ]


@pytest.mark.slow
def test_no_docstring_begins_with_a_question_word() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("sabm_mesa", "tests", "benchmarks", "docs/_ext")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in docstrings_with_a_question_word(text_of(path))
    ]

    assert not found, "\n".join(found)


LOCKED_LINE = re.compile(
    r"(?P<name>[a-z0-9-]+)==(?P<version>[0-9a-z.+]+)(?: ; (?P<marker>[^\\]+))? \\"
    r"|    --hash=sha256:[0-9a-f]{64}(?: \\)?"
)


def locked_for(python: str) -> dict[str, str]:
    """Name → version of the packages in `requirements-locked.txt` for a Python, here."""
    lines = (ROOT / "requirements-locked.txt").read_text("utf-8").splitlines()
    found = [match for line in lines if (match := LOCKED_LINE.fullmatch(line)) and match["name"]]
    here = {"python_version": python, "python_full_version": f"{python}.0"}
    return {
        each["name"]: each["version"]
        for each in found
        if not each["marker"] or Marker(each["marker"]).evaluate(here)
    }


def test_the_locked_packages_have_hashes_and_no_addresses() -> None:
    lines = (ROOT / "requirements-locked.txt").read_text("utf-8").splitlines()

    assert [line for line in lines if not LOCKED_LINE.fullmatch(line)] == []
    named = [not line.startswith(" ") for line in lines]
    assert not any(one and other for one, other in pairwise([*named, True]))


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_locked_packages_are_those_that_the_package_needs(python: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    locked = locked_for(python)
    needed = [Requirement(each) for each in project["dependencies"]]
    extras = {canonicalize_name(each.name): each.extras for each in needed}
    # Their own requirements, as far as the same versions are installed here.
    for name, version in locked.items():
        with suppress(PackageNotFoundError):
            if metadata.version(name) == version:
                needed += [
                    each
                    for each in map(Requirement, metadata.requires(name) or [])
                    if each.marker is None
                    or any(
                        each.marker.evaluate({"extra": extra, "python_version": python})
                        for extra in {"", *extras.get(name, ())}
                    )
                ]

    unmet = [
        str(each)
        for each in needed
        if not each.specifier.contains(locked.get(canonicalize_name(each.name), "0"))
    ]
    assert unmet == []
    assert len(needed) > len(project["dependencies"])


PINNED = re.compile(r"uses: [a-z-]+/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def test_the_actions_of_workflows_are_pinned_by_digest() -> None:
    workflows = (ROOT / ".github/workflows").glob("*.yml")
    lines = [line for path in workflows for line in path.read_text("utf-8").splitlines()]
    used = [line.strip().removeprefix("- ") for line in lines if "uses:" in line]

    assert used
    assert [line for line in used if not PINNED.fullmatch(line)] == []


def test_each_promise_names_tests_that_exist() -> None:
    promised = re.findall(
        r"\(([A-Z]\d+)\)$", (ROOT / "SECURITY.md").read_text("utf-8"), re.MULTILINE
    )
    tests = tomllib.loads((ROOT / "tests/promises.toml").read_text("utf-8"))

    assert len(promised) > 30
    assert promised == list(tests)
    assert all(tests.values())
    named = {name for names in tests.values() for name in names}
    assert sorted(name for name in named if not is_there(f"tests/{name}")) == []
    assert sorted(name for name in named if "::" not in name) == []  # each names the test itself


def is_there(name: str) -> bool:
    """Whether there is a test, FILE::FUNCTION, or a file or folder of tests."""
    file, _, function = name.partition("::")
    path = ROOT / file
    return path.exists() and (not function or f"def {function}(" in path.read_text("utf-8"))
