"""Input that nobody types on purpose: one line says what is wrong, and no command goes astray."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.support import Sabm, one_line

LONG = "a" * 300
pytestmark = pytest.mark.check_once
IN_PLACE = pytest.mark.usefixtures("place")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with two links that lead to each other."""
    monkeypatch.chdir(tmp_path)
    Path("one").symlink_to("other")
    Path("other").symlink_to("one")
    return tmp_path


@contextmanager
def short_of_memory() -> Iterator[None]:
    """1 GiB more than now: what is without end fails, and does not fill the machine."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + 2**30
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("path", [LONG, "one/below"])
@pytest.mark.parametrize(
    "command",
    [
        ("run", "kbc", "--rounds", "1", "--out"),
        ("run", "kbc", "--prompts"),
        ("run", "kbc", "--endpoints"),
        ("cost", "kbc", "--minds", "llm:a", "--prices"),
        ("run",),
        ("export",),
        ("replay",),
        ("resume",),
        ("describe",),
        ("fit",),
        ("judge",),
        ("bundle",),
    ],
    ids=" ".join,
)
def test_a_path_that_is_too_long_or_a_circle_of_links(
    sabm: Sabm, place: Path, command: tuple[str, ...], path: str
) -> None:
    outcome = sabm(*command, path)

    assert outcome.status in {1, 2}
    assert one_line(outcome)
    assert {each.name for each in place.iterdir()} == {"one", "other"}


@IN_PLACE
@pytest.mark.parametrize("out", ["one", "one/below"])
def test_a_circle_of_links_is_called_so(sabm: Sabm, out: str) -> None:
    said = one_line(sabm("run", "kbc", "--rounds", "1", "--out", out))
    assert said.endswith("(Too many levels of symbolic links): choose another folder.")


@IN_PLACE
def test_a_path_that_is_too_long_is_shortened(sabm: Sabm) -> None:
    said = one_line(sabm("run", "kbc", "--rounds", "1", "--out", LONG))
    assert "File name too long" in said
    assert len(said) < 200


@pytest.mark.parametrize("files", [("",), ("classical", " ")])
def test_an_empty_entrant_of_a_tournament(sabm: Sabm, files: tuple[str, ...]) -> None:
    assert one_line(sabm("tournament", "kbc", *files)).startswith("minds: the spec is empty")


@IN_PLACE
@pytest.mark.parametrize("kind", ["py:", "gguf:", "fitted:"])
@pytest.mark.parametrize("path", [LONG, "one"])
def test_a_mind_in_such_a_file(sabm: Sabm, kind: str, path: str) -> None:
    outcome = sabm("run", "kbc", "--minds", kind + path)

    assert outcome.status in {1, 2}
    assert one_line(outcome)


@IN_PLACE
@pytest.mark.parametrize(
    "command",
    [
        ("run", "kbc", "--prompts", "zero.toml"),
        ("run", "kbc", "--prompts", "pipe.toml"),
        ("run", "kbc", "--endpoints", "zero.toml"),
        ("run", "kbc", "--minds", "py:zero.toml"),
        ("run", "kbc", "--minds", "fitted:zero.toml"),
        ("reproduce", "zero.toml"),
    ],
    ids=" ".join,
)
def test_a_device_or_a_pipe_is_not_read(sabm: Sabm, command: tuple[str, ...]) -> None:
    Path("zero.toml").symlink_to("/dev/zero")
    os.mkfifo("pipe.toml")

    with short_of_memory():
        outcome = sabm(*command)

    assert outcome.status in {1, 2}
    assert one_line(outcome).endswith(
        f" {command[-1].split(':')[-1]} is not a regular file: name one."
    )


@IN_PLACE
@pytest.mark.parametrize(
    "content",
    ["a = " + "[" * 100_000, ".".join("a" * 3000) + " = 1", "scenario." + "a." * 3000 + "a = 1"],
    ids=["brackets", "tables", "tables in an entry"],
)
def test_an_experiment_that_is_too_deep(sabm: Sabm, content: str) -> None:
    Path("deep.toml").write_text(content, "utf-8")

    outcome = sabm("reproduce", "deep.toml")

    assert outcome.status == 2
    assert one_line(outcome) == (
        "The experiment deep.toml has too many brackets in brackets, or tables in tables."
    )


@IN_PLACE
@pytest.mark.parametrize(
    ("minds", "said"),
    [
        ("classical=" + "9" * 18, "9" * 18 + " are given for 24 agents; the counts must add up"),
        ("classical=" + "9" * 20, "the count of classical has 20 digits: give a smaller one."),
        ("classical=" + "9" * 5000, "the count of classical has 5000 digits: give a smaller one."),
        ('{"classical": ' + "9" * 20 + "}", "9" * 20 + " are given for 24 agents; the counts must"),
    ],
    ids=["18 digits", "20 digits", "5000 digits", "JSON"],
)
def test_a_population_that_is_too_large_is_refused_at_once(
    sabm: Sabm, minds: str, said: str
) -> None:
    with short_of_memory():
        outcome = sabm("run", "kbc", "--minds", minds)

    assert outcome.status == 2
    assert one_line(outcome).startswith(f"minds: {said}")


@IN_PLACE
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            "n_players=1e400",
            "n_players must be a whole number of 2 or more (got a number without",
        ),
        (
            "n_players=1e20",
            "n_players must be 1000000000 or less (got 1.00e+20)",
        ),
        ("n_players=" + "9" * 5000, "n_players must be a whole number of 2 or more (got '999"),
        ("n_players=" + "[" * 100_000, "too many brackets in brackets"),
        ("n_rounds=-1e400", "n_rounds must be a whole number of "),
    ],
)
def test_a_number_that_is_too_large_is_named_with_its_parameter(
    sabm: Sabm, setting: str, said: str
) -> None:
    outcome = sabm("run", "kbc", "--set", setting)

    assert outcome.status == 2
    assert said in one_line(outcome)
    assert len(outcome.err) < 300


@IN_PLACE
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--rounds", "9" * 30),
        ("--runs", "9" * 30),
        ("--budget-usd", "1e400"),
        ("--budget-usd", "nan"),
        ("--seed", "9" * 5000),
    ],
)
def test_an_option_that_is_too_large_is_refused_before_anything_is_played(
    sabm: Sabm, option: str, value: str
) -> None:
    outcome = sabm("run", "kbc", option, value, "--out", "out")

    assert outcome.status == 2
    assert option.removeprefix("--") in one_line(outcome)
    assert not Path("out").exists()


def test_output_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    def allow_no_file_to_grow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    with (tmp_path / "said").open("w") as said:
        ended = subprocess.run(
            [sys.executable, "-m", "sabm_mesa", "scenarios"],
            stdout=said, stderr=subprocess.PIPE, text=True, check=False,
            preexec_fn=allow_no_file_to_grow,
        )  # fmt: skip

    assert (ended.returncode, ended.stderr) == (1, "sabm: Failed: File too large.\n")
