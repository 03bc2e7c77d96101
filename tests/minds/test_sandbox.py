"""The sandbox of minds from files: what is asked for, what is seen, which attacks succeed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import sabm_mesa
from sabm_mesa.errors import MindSpecError
from sabm_mesa.minds.files.sandbox import (
    SENTENCES,
    bubblewrap_problem,
    environment,
    files_in,
    is_sandboxed,
    sandbox,
)
from tests.minds.battery import ROOT, SURVIVED

CANARY = "canary-4711-4711"
ROOTS = os.getuid() == 0
"""Whether this is the user whose processes the system does not count."""

SUCCEEDS = {
    # attack: in a sandbox, without one
    "own_key": (False, False),
    "environment_of_others": (False, True),
    "file_of_the_user": (False, True),
    "link_to_that_file": (False, True),
    "read_recording": (False, True),
    "damage_recording": (False, True),
    "change_package": (False, os.access(sabm_mesa.__file__, os.W_OK)),
    "network": (False, True),
    "fill_disk": (False, True),
    "large_file": (False, False),
    "take_message": (False, True),
    "many_processes": (ROOTS, ROOTS),
    "endless_loop": (False, False),
    # These are no attacks, or succeed without doing harm.
    "orphan": (True, True),
    "flood": (True, True),
    "own_data": (True, True),
}


def processes_named(name: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):  # it has just ended
            if path.read_text().strip() == name:
                found.append(int(path.parent.name))
    return found


@pytest.fixture(scope="module", params=["sandbox", "limits"])
def attacked(request, tmp_path_factory):
    """The column of `SUCCEEDS`, the lines of the attacked process, and the name of its orphans."""
    sandboxed = request.param == "sandbox"
    if sandboxed and bubblewrap_problem():
        pytest.skip(bubblewrap_problem())
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "class" / "out").mkdir(parents=True)
    (folder / "class" / "out" / "recording.sqlite").write_text("recorded")
    (folder / "class" / "weights.json").write_text("[1, 2]")
    (folder / "class" / "link.txt").symlink_to(ROOT / "pyproject.toml")
    shutil.copy(Path(__file__).with_name("attacks.py"), folder / "class")
    variables = {**os.environ, "OPENAI_API_KEY": CANARY, "SABM_ISOLATE": str(int(sandboxed))}
    orphan = f"orphan{os.getpid()}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.minds.battery", str(folder), orphan],
        cwd=ROOT, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said, *rest = done.stdout.splitlines() or [done.stderr]
    yield 0 if sandboxed else 1, json.loads(said), rest, orphan
    for pid in processes_named(orphan):
        os.kill(pid, signal.SIGKILL)
    for place in ("/tmp", "/dev/shm"):
        Path(place, "sabm-message").unlink(missing_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize("attack", SUCCEEDS)
def test_an_attack(attack, attacked) -> None:
    column, answers, _, _ = attacked
    answer = answers[attack]

    assert answer.startswith("kept out: ") != SUCCEEDS[attack][column], answer


@pytest.mark.slow
def test_a_sandbox_shields_the_command_and_leaves_nothing_behind(attacked) -> None:
    column, _, rest, orphan = attacked

    assert (rest == [SURVIVED]) == (column == 0)
    assert (processes_named(orphan) == []) == (column == 0)


@pytest.mark.slow
def test_a_sandbox_ends_with_the_command_that_is_killed(tmp_path) -> None:
    if bubblewrap_problem():
        pytest.skip(bubblewrap_problem())
    name = f"sleeper{os.getpid()}"
    (tmp_path / "mind.py").write_text(
        "import ctypes, time\ndef answer(ask):\n"
        f"    ctypes.CDLL(None).prctl(15, b'{name}', 0, 0, 0)\n    time.sleep(600)\n"
    )
    code = f"from tests.core.support import tiny\ntiny(minds='py:{tmp_path}/mind.py').step()"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "SABM_ISOLATE": "1"}
    ) as command:
        until = time.monotonic() + 60
        while not processes_named(name) and time.monotonic() < until:
            time.sleep(0.05)
        assert processes_named(name)
        command.kill()
    while processes_named(name) and time.monotonic() < until:
        time.sleep(0.05)

    assert processes_named(name) == []


# What is asked for.


@pytest.fixture
def no_bubblewrap(monkeypatch, tmp_path):
    """A machine without the program."""
    bubblewrap_problem.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    yield
    bubblewrap_problem.cache_clear()


@pytest.mark.usefixtures("no_bubblewrap")
def test_what_is_demanded_is_refused_in_one_line_where_it_is_not_there(monkeypatch) -> None:
    monkeypatch.setenv("SABM_ISOLATE", "1")
    with pytest.raises(MindSpecError) as refused:
        is_sandboxed()
    assert str(refused.value) == (
        "Minds from files cannot be isolated here: the program bwrap is not there. Install "
        "bubblewrap (bwrap), or do without --isolate."
    )
    monkeypatch.setenv("SABM_ISOLATE", "")
    assert not is_sandboxed()
    monkeypatch.setenv("SABM_ISOLATE", "yes")
    with pytest.raises(MindSpecError, match="SABM_ISOLATE must be 1"):
        is_sandboxed()


def test_nothing_is_wanted(monkeypatch) -> None:
    monkeypatch.setenv("SABM_ISOLATE", "0")
    assert not is_sandboxed()


def test_the_sentence_says_what_is_not_protected() -> None:
    assert "no network" in SENTENCES[True]
    for danger in ("your files", "your keys", "the network", "leave programs behind"):
        assert danger in SENTENCES[False]


def test_minds_get_the_variables_that_are_named(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("MINE", "5")
    monkeypatch.setenv("SABM_PASS_ENV", "MINE")
    assert dict(environment())["MINE"] == "5"
    assert "OPENAI_API_KEY" not in dict(environment())

    monkeypatch.setenv("SABM_PASS_ENV", "MINE OTHER")
    with pytest.raises(MindSpecError, match="OTHER, a variable for minds from files, is not"):
        environment()


# The files that a mind sees.


def test_the_files_beside_a_mind(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    for name in ("mine.py", "weights.json", ".env", "recording.sqlite", "recording.sqlite-wal"):
        (tmp_path / name).touch()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "link.py").symlink_to("/etc/passwd")

    def names(*, modules: bool) -> list[str]:
        return [path.name for path in files_in(tmp_path, modules=modules)]

    assert names(modules=False) == ["mine.py", "package", "weights.json"]
    assert names(modules=True) == ["mine.py", "package"]
    assert files_in(tmp_path / "nowhere", modules=False) == []

    assert str(tmp_path / "weights.json") in sandbox(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert str(tmp_path / "weights.json") not in sandbox(tmp_path)
    assert str(tmp_path / "mine.py") in sandbox(tmp_path)
