"""First steps of a new user: no arguments, no key, a wrong word, the Tab key; and their speed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa.cli import COMMANDS, options
from sabm_mesa.errors import KEY_VARIABLE
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.models.registry import SCENARIOS

from .support import Sabm, one_line

ROOT = Path(__file__).parents[2]
HEAVY = {"mesa", "numpy", "pandas", "openai", "matplotlib", "solara", "scipy", "networkx", "rich"}
WATCH = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
START = "import sys; sys.argv[0] = 'sabm'; from sabm_mesa.cli import main; main()"


def sabm_process(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command in its own process, under the name that it is installed with."""
    command = [sys.executable, "-c", f"{WATCH}; {START}", *arguments]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def imported(done: subprocess.CompletedProcess[str]) -> set[str]:
    """The modules that the process imported."""
    return set(done.stderr.splitlines()[-1].split())


def test_without_arguments_it_says_what_to_do_first(sabm: Sabm) -> None:
    outcome = sabm()

    assert outcome.status == 0
    assert outcome.err == ""
    named = [line.split()[1] for line in outcome.out.splitlines() if line.startswith("  sabm ")]
    assert named == ["run", "view", "describe", "cost", "new", "doctor"]
    assert "sabm --help" in outcome.out
    assert len(outcome.out.splitlines()) <= 10
    commands = sabm("--help").out
    assert all(f"\n  {command} " in commands for command in named)


@pytest.mark.parametrize("arguments", [[], ["run", "--help"], ["rnu"]], ids=str)
def test_what_needs_no_model_imports_nothing_heavy(arguments: list[str]) -> None:
    done = sabm_process(*arguments)

    assert done.returncode == (2 if arguments == ["rnu"] else 0)
    assert "sabm_mesa.cli" in imported(done)
    assert not imported(done) & HEAVY


def test_a_command_imports_no_other_command() -> None:
    done = sabm_process("scenarios")

    commands = {f"sabm_mesa.cli.{module}" for module in COMMANDS.values()}
    assert "evacuation" in done.stdout
    assert imported(done) & commands == {"sabm_mesa.cli.describe"}
    assert not imported(done) & HEAVY


@pytest.mark.parametrize("module", ["typer", "numpy"])
def test_ctrl_c_prints_one_line_while_python_imports(module: str) -> None:
    start = f"""
import os, signal, sys
class Press:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press())
sys.argv = ["sabm", "describe", "kbc"]
from sabm_mesa.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", start], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 130
    assert done.stderr == "sabm: Stopped.\n"


def test_the_help_lists_each_command_in_one_group_and_one_line(sabm: Sabm) -> None:
    groups = sabm("--help").out.partition("Run:\n")[2]
    listed = re.findall(r"^  ([a-z]+) ", groups, re.MULTILINE)

    assert sorted(listed) == sorted(COMMANDS)
    assert re.findall(r"^(\w+):$", groups, re.MULTILINE) == ["Record", "Study", "Teach", "Build"]
    assert max(map(len, groups.splitlines())) <= 80


def test_the_help_of_a_command_has_a_section_for_options_of_language_models(sabm: Sabm) -> None:
    lines = sabm("run", "--help").out.splitlines()
    start = lines.index("Options of language models:")
    section = lines[start + 1 : lines.index("", start)]
    options = [line.split()[0] for line in section if line.startswith("  --")]

    assert options[0] == "--base-url"
    assert {"--budget-usd", "--prices"} <= set(options)
    assert "--minds" not in options
    assert max(map(len, lines)) <= 80


def test_a_command_that_is_mistyped_is_guessed(sabm: Sabm) -> None:
    outcome = sabm("rnu", "kbc")

    assert outcome.status == 2
    assert one_line(outcome).startswith("No such command 'rnu'. Did you mean 'run'")
    assert "'kbc'" in one_line(sabm("run", "kbk"))
    assert "--rounds" in one_line(sabm("run", "kbc", "--ruonds", "3"))


def test_without_a_key_three_ways_on_are_named(
    sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    out = tmp_path / "out"
    arguments = ["run", "kbc", "--minds", "llm:gpt-4o-mini", "--out", out]

    outcome = sabm(*arguments)
    as_object = sabm(*arguments, "--json")

    first, *ways = outcome.err.splitlines()
    assert outcome.status == 1
    assert first == "sabm: There is no API key."
    assert len(ways) == 3
    assert "OPENAI_API_KEY" in ways[0]
    assert "--base-url http://127.0.0.1:8000/v1" in ways[1]
    assert "Ollama" in ways[1]
    assert "--minds classical" in ways[2]
    assert "--minds local" in ways[2]
    found = json.loads(as_object.out)
    assert found == {
        "error": " ".join(["There is no API key.", *(way.strip() for way in ways)]),
        "exit_status": 1,
    }
    assert not out.exists()


def test_completing_imports_nothing_heavy() -> None:
    done = sabm_process(_SABM_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="sabm run be")

    assert "bertrand" in done.stdout
    assert not imported(done) & HEAVY


def test_what_is_completed() -> None:
    assert options.complete_scenarios("be") == ["beauty-contest", "bertrand"]
    assert set(options.complete_scenarios("")) >= set(SCENARIOS)


@pytest.mark.slow
def test_the_shell_completes_commands_and_scenarios(tmp_path: Path) -> None:
    command = tmp_path / "sabm"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{START}" "$@"\n')
    command.chmod(0o755)
    script = """
        eval "$(sabm --show-completion bash)"
        tab() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sabm_completion sabm "${@: -1}" "";
                echo "${COMPREPLY[@]}"; }
        tab sabm des; tab sabm run be; tab sabm view kb
    """
    places = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env={**os.environ, **places},
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stderr == ""
    assert [" ".join(line.split()) for line in done.stdout.splitlines()] == [
        "describe", "beauty-contest bertrand", "kbc",
    ]  # fmt: skip
