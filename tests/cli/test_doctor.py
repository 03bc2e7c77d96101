"""Findings of `sabm doctor`, on a real machine."""

import json
import tomllib
import webbrowser
from importlib.metadata import version
from pathlib import Path

import pytest

from sabm_mesa.cli import doctor_checks as checks
from sabm_mesa.errors import KEY_VARIABLE
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.minds.files.sandbox import bubblewrap_problem

from .support import Outcome, Sabm

ROOT = Path(__file__).parents[2]

KEY = "sk-" + "doctor-1234567890"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.delenv(URL_VARIABLE, raising=False)


def lines(outcome: Outcome) -> dict[str, str]:
    """The state and the words of each check, by its name."""
    found = {}
    for line in outcome.out.splitlines():
        state, _, rest = line.partition(" ")
        if state in {"ok", "warning", "problem"}:
            name, _, said = rest.strip().partition(" ")
            found[name] = f"{state} {said.strip()}"
    return found


def test_all_that_is_looked_at_without_a_key_or_server(sabm: Sabm) -> None:
    outcome = sabm("doctor")

    found = lines(outcome)
    assert outcome.status == 0
    assert list(found) == [
        "python", "packages", "folder", "browser", "minds", "key",
        "local", "ray", "docs",
    ]  # fmt: skip
    assert f"mesa {version('mesa')}" in found["packages"]
    assert found["packages"].startswith("ok ")
    assert found["folder"].startswith(f"ok {Path.cwd()} can be written")
    assert found["key"].startswith(f"warning {KEY_VARIABLE} is not set")
    end = outcome.out.splitlines()[-1]
    assert end.startswith("No problem found; see the warnings on ")
    assert end.endswith("key.")


def test_which_isolation_holds_for_minds_from_files(
    sabm: Sabm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SABM_ISOLATE", "")
    said = lines(sabm("doctor"))["minds"]
    isolated = "ok Minds from files: isolated by bubblewrap: no network"
    assert said.startswith(isolated) == (not bubblewrap_problem())

    bubblewrap_problem.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    without = lines(sabm("doctor"))["minds"]
    monkeypatch.setenv("SABM_ISOLATE", "1")
    demanded = lines(sabm("doctor"))["minds"]
    bubblewrap_problem.cache_clear()
    assert without.startswith("warning Minds from files: ")
    assert without.endswith(
        "(install bubblewrap, or trust them). Reason: the program bwrap is not there."
    )
    assert demanded.startswith(
        "warning Minds from files cannot be isolated here: the program bwrap"
    )


def test_a_key_that_is_none_is_a_problem_and_not_shown(
    sabm: Sabm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-…")
    outcome = sabm("doctor")

    assert outcome.status == 1
    assert lines(outcome)["key"].startswith("problem OPENAI_API_KEY has characters")
    assert outcome.out.endswith("Fix each problem in the list above.\n")
    assert "sk-…" not in outcome.out


def test_as_json(sabm: Sabm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    found = json.loads(sabm("doctor", "--json").out)

    assert found["fine"] is True
    assert {check["state"] for check in found["checks"]} <= {"ok", "warning"}
    (of_key,) = [check for check in found["checks"] if check["name"] == "key"]
    assert of_key["said"] == f"{KEY_VARIABLE} is set (it is not shown)"
    monkeypatch.setenv(KEY_VARIABLE, "sk-…")
    wrong = sabm("doctor", "--json")
    assert wrong.status == 1
    assert json.loads(wrong.out)["fine"] is False


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    found = checks.writable(tmp_path / "nowhere")

    assert found.state == "problem"
    assert found.said.endswith("choose another folder.")
    assert not list(tmp_path.iterdir())
    assert checks.writable(tmp_path).state == "ok"
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_gone_is_a_problem_like_others(
    sabm: Sabm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    outcome = sabm("doctor")

    assert outcome.status == 1
    assert lines(outcome)["folder"].startswith("problem Cannot write in . (No such file")
    assert "docs" in lines(outcome)


def test_without_a_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def found() -> checks.Check:
        monkeypatch.setattr(webbrowser, "_tryorder", None)  # Python looks once in a process
        monkeypatch.setattr(webbrowser, "_browsers", {})
        return checks.browser()

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BROWSER", raising=False)
    assert found().state == "warning"
    mine = tmp_path / "mine"
    mine.write_text("")
    mine.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(mine))
    assert found() == checks.Check("ok", "browser", str(mine))


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        ("mesa<3", f"mesa is {version('mesa')}, but must be <3: pip install 'mesa<3'"),
        (
            "no-such-package>=1",
            "no-such-package is not installed: pip install 'no-such-package>=1'",
        ),
        ("mesa>=3", None),
    ],
)
def test_a_package_that_does_not_fit(needed: str, said: str | None) -> None:
    found = checks.misfit(checks.Requirement(needed))

    assert (found and found.said) == said
    assert found is None or found.state == "problem"


def test_the_optional_parts_are_those_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    parts = {
        part: {checks.Requirement(each).name for each in needed}
        for part, needed in project["optional-dependencies"].items()
    }
    found = {check.name: check.said for check in checks.extras()}

    assert set(found) == set(parts) - {"dev", "check"}
    assert all(checks.EXTRAS[part][0] in parts[part] for part in found)
    monkeypatch.setattr(checks, "EXTRAS", {"a": ("pytest", "tests"), "b": ("no-such", "nothing")})
    there, absent = (check.said for check in checks.extras())
    assert there == f"pytest {version('pytest')}, for tests"
    assert absent == "not installed, only for nothing: pip install 'sabm-mesa[b]'"
