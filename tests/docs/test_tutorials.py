"""The tutorials and the examples of the how-tos, run as they stand there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.llm import read_endpoints
from sabm_mesa.llm.endpoints import is_loopback
from sabm_mesa.llm.prices import PriceTable
from sabm_mesa.models.registry import load
from sabm_mesa.testing import check_scenario

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def code(notebook: Path) -> str:
    """The code of all cells."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def blocks(page: str, language: str) -> list[str]:
    """The blocks of code of a page."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run(folder: Path, scripts: list[str]) -> None:
    """Run scripts in a process of their own in an empty folder, with warnings as errors."""
    for number, script in enumerate(scripts):
        (folder / f"script{number}.py").write_text(script, "utf-8")
    runs = (f"runpy.run_path('script{n}.py', run_name='__main__')" for n in range(len(scripts)))
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {k: v for k, v in os.environ.items() if k != "OPENAI_API_KEY"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(["import runpy", *runs])],
        cwd=folder,
        env={**environment, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_tutorials_are_there() -> None:
    assert [notebook.stem for notebook in TUTORIALS] == [
        "add-a-scenario",
        "experiment",
        "first-run",
        "mixed-populations",
        "one-claim",
        "recordings",
        "study",
    ]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("notebook", TUTORIALS, ids=lambda notebook: notebook.stem)
def test_a_tutorial_runs_without_a_warning(notebook: Path, tmp_path: Path) -> None:
    """`make docs` runs the tutorials too, but accepts warnings."""
    run(tmp_path, [code(notebook)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["how-to/mesa", "scenario-reference", "how-to/sweep", "how-to/recordings"]
)
def test_the_scripts_of_a_page_run(page: str, tmp_path: Path) -> None:
    scripts = blocks(page, "python")

    assert scripts
    run(tmp_path, scripts)


@pytest.mark.slow
def test_the_scenario_of_the_how_to_conforms_and_plays(tmp_path: Path) -> None:
    code, talk = blocks("how-to/own-scenario", "python")
    (tmp_path / "stag_hunt.py").write_text(f"{code}\n\n{talk}", "utf-8")
    model = load(f"{tmp_path / 'stag_hunt.py'}:StagHunt")

    assert len(code.splitlines()) <= 80
    check_scenario(model)
    check_scenario(load(f"{tmp_path / 'stag_hunt.py'}:TalkingHunt"))
    played = model(rng=1, recording=False)
    played.run_model()
    assert played.model_frame()["n_stag"].tolist() == [6] * 5


def test_the_prompt_file_of_the_how_to_is_read(tmp_path: Path) -> None:
    (prompts,) = blocks("how-to/robust", "toml")
    (tmp_path / "own.toml").write_text(prompts, "utf-8")

    model = KeynesianBeautyContest(
        prompts=tmp_path / "own.toml", condition="friendly", personas="gambler"
    )

    assert model.book.entries["reward_independent"].endswith("a box of chocolates.")
    assert model.book.entries["communicate_line"].startswith("You like the other players")
    assert model.book.persona("gambler") == "You like to take risks."


def test_the_caps_and_prices_of_the_how_to_are_read(tmp_path: Path) -> None:
    (script,), (prices,) = blocks("how-to/budget", "python"), blocks("how-to/budget", "toml")
    (tmp_path / "prices.toml").write_text(prices, "utf-8")

    names: dict[str, object] = {}
    exec(script, names)

    assert names["connection"].budget.max_usd == 5
    assert PriceTable(tmp_path / "prices.toml").of("openai/gpt-4o-mini").cached == 0.075


#: A model of each provider whose prices are vendored.
SOLD = {
    "azure": "gpt-4o",
    "azure-dated": "gpt-4o",
    "mistral": "mistral-small-latest",
    "deepseek": "deepseek-chat",
    "openrouter": "qwen/qwen3-8b",
}
LOCAL = {"ollama", "lmstudio"}


def test_the_endpoint_entries_of_the_how_to_are_read(tmp_path: Path) -> None:
    file = tmp_path / "endpoints.toml"
    (entries,) = blocks("how-to/connect", "toml")
    file.write_text(entries, "utf-8")

    found = read_endpoints(file)

    assert set(found) == {*SOLD} | LOCAL
    for name, endpoint in found.items():
        assert bool(endpoint.key_env) == (name in SOLD)
        assert is_loopback(endpoint.url) == (name in LOCAL)
        price = PriceTable(url=endpoint.url).of(SOLD.get(name, "gpt-oss-120b"))
        assert (price is not None) == (name in SOLD)


@pytest.mark.slow
def test_the_mind_of_the_how_to_takes_two_thirds_of_what_it_hears(tmp_path: Path) -> None:
    (mind,) = blocks("how-to/own-minds", "python")
    (tmp_path / "mine.py").write_text(mind, "utf-8")

    model = KeynesianBeautyContest(n_players=2, n_rounds=2, minds=f"py:{tmp_path}/mine.py", rng=1)
    model.run_model()

    # 33 each; then one says 33 and the other two thirds of it, 22, of which both take two thirds.
    assert list(model.agent_frame()["choice"]) == [33, 33, 15, 15]
    assert model.total.invalid == 0
