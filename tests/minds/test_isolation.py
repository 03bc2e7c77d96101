"""The isolation of minds from files: what is asked for, what is seen, which attacks succeed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa.errors import MindSpecError
from sabm_mesa.minds.files.client import client
from sabm_mesa.minds.files.isolation import (
    NOT_ISOLATED,
    SCRATCH,
    Isolation,
    _is_large,
    _make_place,
    _outside,
    _tasks_of_user,
    beside,
    bubblewrap_problem,
    environment,
    isolation_wanted,
    names_passed,
)
from sabm_mesa.minds.files.mind import mind_file
from tests.core.support import tiny
from tests.minds.battery import ROOT, SURVIVED

CANARY = "canary-4711-4711"

WITH, SANDBOX, NAMESPACES, LIMITS = (True, True), (True, False), (False, True), (False, False)
"""Bubblewrap and namespaces, bubblewrap alone, namespaces alone, neither."""
MEANS = {"both": WITH, "bubblewrap": SANDBOX, "namespaces": NAMESPACES, "limits": LIMITS}

SUCCEEDS = {
    # attack: with both, with bubblewrap alone, with namespaces alone, with neither
    "own_key": (False, False, False, False),
    "environment_of_others": (False, False, False, False),
    "memory_of_parent": (False, False, False, False),
    "file_of_the_user": (False, False, True, True),
    "link_to_that_file": (False, False, True, True),
    "read_recording": (False, False, True, True),
    "damage_recording": (False, False, False, True),
    "change_package": (False, False, False, True),
    "network": (False, False, False, True),
    "signal_others": (False, True, False, True),
    "kill_parent": (False, False, False, True),
    "fill_disk": (False, False, False, True),
    "large_file": (False, False, False, False),
    "take_message": (False, True, False, True),
    "many_processes": (False, False, False, False),
    "endless_loop": (False, False, False, False),
    # These are no attacks, or succeed without doing harm: see the other assertions.
    "orphan": (True, True, True, True),
    "flood": (True, True, True, True),
    "own_data": (True, True, True, True),
}


@pytest.fixture(scope="module", params=MEANS.values(), ids=MEANS)
def attacked(request, tmp_path_factory):
    """The lines that the attacked process printed, by the means that were there."""
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "class" / "out").mkdir(parents=True)
    (folder / "class" / "out" / "recording.sqlite").write_text("recorded")
    (folder / "class" / "weights.json").write_text("[1, 2]")
    (folder / "class" / "link.txt").symlink_to(ROOT / "pyproject.toml")
    shutil.copy(Path(__file__).with_name("attacks.py"), folder / "class")
    environment = {**os.environ, "OPENAI_API_KEY": CANARY, "SABM_ISOLATE": ""}
    command = [sys.executable, "-m", "tests.minds.battery", str(folder)]
    done = subprocess.run(
        [*command, *(str(int(each)) for each in request.param)],
        cwd=ROOT, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    said, *rest = done.stdout.splitlines() or [done.stderr]
    yield json.loads(said), rest
    for place in ("/tmp", "/dev/shm"):
        Path(place, "sabm-message").unlink(missing_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize("attack", [name for name in SUCCEEDS if name != "kill_parent"])
def test_an_attack(attack, attacked) -> None:
    found, _ = attacked
    column = list(MEANS.values()).index(tuple(found["isolation"]))
    answer = found["answers"][attack]

    assert answer.startswith("kept out: ") != SUCCEEDS[attack][column], answer


@pytest.mark.slow
def test_the_parent_is_killed_only_where_it_is_in_sight(attacked) -> None:
    found, rest = attacked
    column = list(MEANS.values()).index(tuple(found["isolation"]))

    assert (rest != [SURVIVED]) == SUCCEEDS["kill_parent"][column]


@pytest.mark.slow
def test_nothing_outlives_the_run(attacked) -> None:
    del attacked
    names = [each.read_text().strip() for each in Path("/proc").glob("[0-9]*/comm")]

    assert "sabm-orphan" not in names


# The isolation that is asked for.


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
        isolation_wanted()
    assert str(refused.value) == (
        "Minds from files cannot be isolated here: the program bwrap is not there. Install "
        "bubblewrap (bwrap), or do without --isolate."
    )
    monkeypatch.setenv("SABM_ISOLATE", "")
    assert not isolation_wanted().bubblewrap
    monkeypatch.setenv("SABM_ISOLATE", "yes")
    with pytest.raises(MindSpecError, match="SABM_ISOLATE must be 1"):
        isolation_wanted()


def test_nothing_is_wanted(monkeypatch) -> None:
    monkeypatch.setenv("SABM_ISOLATE", "0")
    assert isolation_wanted() == NOT_ISOLATED


def test_minds_get_the_variables_that_are_named(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("MINE", "5")
    monkeypatch.setenv("SABM_PASS_ENV", "MINE")
    assert environment(names_passed())["MINE"] == "5"
    assert "OPENAI_API_KEY" not in environment(names_passed())

    monkeypatch.setenv("SABM_PASS_ENV", "MINE OTHER")
    with pytest.raises(MindSpecError, match="OTHER, a variable for minds from files, is not"):
        names_passed()


# The files that a mind sees.


def test_the_files_beside_a_mind(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    for name in ("mine.py", "weights.json", ".env", "recording.sqlite", "recording.sqlite-wal"):
        (tmp_path / name).touch()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    assert sorted({each.name for each in beside(tmp_path)}) == [
        "mine.py",
        "package",
        "weights.json",
    ]

    monkeypatch.setenv("HOME", str(tmp_path))
    assert sorted({each.name for each in beside(tmp_path)}) == ["mine.py", "package"]
    assert list(beside(tmp_path / "nowhere")) == []


@pytest.mark.slow
def test_a_file_that_was_added_or_replaced_is_seen(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("SABM_ISOLATE")
    file = tmp_path / "mine.py"
    file.write_text("import helper\ndef answer(ask):\n    return helper.NUMBER\n")
    with pytest.raises(MindSpecError, match="No module named 'helper'"):
        mind_file(f"py:{file}")
    first = client(str(file))

    def answered(number: int) -> int:
        (tmp_path / "new.py").write_text(f"NUMBER = {number}")
        (tmp_path / "new.py").replace(tmp_path / "helper.py")
        mind_file.__globals__["_facts_of"].cache_clear()
        model = tiny(n=1, minds=f"py:{file}", rng=1)
        model.step()
        return model.values[1]

    assert [answered(5), answered(6)] == [5, 6]
    if client(str(file)).isolation.bubblewrap:
        assert first is not client(str(file))
        assert first.closed  # nobody needs it any more


# What is there, and how large it is.


@pytest.mark.parametrize(
    ("means", "name", "says"),
    [
        ((True, True), "bubblewrap", "each alone"),
        ((True, False), "bubblewrap", "reach one another"),
        ((False, True), "namespaces", "can read your files"),
        ((False, False), "limits", "read and write your files"),
    ],
)
def test_the_strongest_means_of_isolation_and_its_gaps(
    means: tuple[bool, bool], name: str, says: str
) -> None:
    isolated = Isolation(*means)

    assert isolated.name == name
    assert says in str(isolated)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_file_system_is_large_when_it_takes_more_than_a_mind_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def large(blocks: int, flags: int = 0, path: Path = tmp_path) -> bool:
        given = (4096, 4096, blocks, 0, 0, 0, 0, 0, flags, 255)
        monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(given))
        return _is_large(str(path))

    most = SCRATCH // 4096
    assert [large(n) for n in (0, 1, most, most + 1)] == [True, False, False, True]
    assert not large(most + 1, os.ST_RDONLY)
    assert not large(most + 1, path=Path("/proc/bus"))
    monkeypatch.undo()
    assert not _is_large(str(tmp_path / "nowhere"))


def test_the_highest_folders_outside_of_what_is_in_memory(tmp_path: Path) -> None:
    for folder in ("a/memory/below", "a/disk", "b", "c"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    top = str(tmp_path)

    def outside(*mounts: tuple[str, bool]) -> set[str]:
        found = _outside(top, {f"{top}/{name}".rstrip("/"): m for name, m in mounts})
        return {str(Path(path).relative_to(top)) for path in found}

    assert outside() == {"."}
    assert outside(("a", False)) == {"."}
    assert outside(("", True)) == set()
    assert outside(("a/memory", True)) == {"a/disk", "a/file", "b", "c"}
    assert outside(("a/memory", True), ("a/memory/below", False)) == {
        "a/disk", "a/file", "a/memory/below", "b", "c",
    }  # fmt: skip
    assert outside(("", True), ("b", False)) == {"b"}
    assert outside(("abc", True)) == {"a", "b", "c"}


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_processes_of_the_user_are_counted_with_their_threads() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE):
        assert _tasks_of_user() >= 2


def test_a_place_for_a_file_or_a_folder_is_made_with_the_folders_above(tmp_path: Path) -> None:
    _make_place(tmp_path / "a" / "folder", is_folder=True)
    _make_place(tmp_path / "a" / "b" / "c" / "file", is_folder=False)
    _make_place(tmp_path / "a" / "b" / "other", is_folder=False)

    assert (tmp_path / "a" / "folder").is_dir()
    assert (tmp_path / "a" / "b" / "c" / "file").is_file()
    assert (tmp_path / "a" / "b" / "other").is_file()
