"""The benchmarks measure what they say, and keep what they found."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import clients, results
from benchmarks.results import Result
from sabm_mesa.llm import close_all
from tests.llm_server import LLMServer

ROOT = Path(__file__).parents[1]

PLAYERS, REPEATS = 3, 2


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which results are kept, with a page that somebody wrote."""
    for constant, name in (("JSON", "r.json"), ("MARKDOWN", "r.md"), ("PAGE", "page.md")):
        monkeypatch.setattr(results, constant, tmp_path / name)
    page = f"# Words\n\n{results.BEGIN}\nold\n{results.END}\n\nMore words.\n"
    (tmp_path / "page.md").write_text(page, "utf-8")
    return tmp_path


def test_clients_send_the_same_questions() -> None:
    asked = clients.questions(PLAYERS)
    sent = []
    for client in ("sabm", "sabm-recorded", "openai", "aiohttp"):
        with LLMServer() as server:
            took = clients.by(client, server.url, asked, REPEATS)
        close_all()
        assert len(took) == REPEATS
        assert all(wall > 0 for wall, _ in took)
        bodies = sorted(json.dumps(request.body, sort_keys=True) for request in server.requests)
        sent.append(bodies)
    assert len(sent[0]) == PLAYERS * REPEATS
    assert all(bodies == sent[0] for bodies in sent)


def test_a_benchmark_replaces_only_its_own_results(kept: Path) -> None:
    found = results.machine()
    results.keep("one", found, [Result("first", np.float64(1), "<= 2")], 1)
    results.keep("two", found, [Result("other", None, ">= 2", "not installed")], 1)
    results.keep("one", found, [Result("first", 3.0, "<= 2", "a detail")], 1)
    results.publish(["two", "one"])

    text = (kept / "r.md").read_text("utf-8")
    assert "| first | 3 | ≤ 2 | **missed** | a detail |" in text
    assert "| other | – | ≥ 2 |  | not installed |" in text
    assert text.index("### two") < text.index("### one")
    assert f"{found['date']}, on {found['machine']}, load {found['load']} before it began" in text


def test_the_page_of_the_docs_has_the_ratios_that_users_ask_for(kept: Path) -> None:
    found = results.machine()
    name, words = next(iter(results.RATIOS.items()))
    results.keep("one", found, [Result(name, 1.234), Result("detail", 3.0)], 1)
    results.publish(["one"])

    page = (kept / "page.md").read_text("utf-8")
    assert page.startswith("# Words\n\n")
    assert page.endswith("\n\nMore words.\n")
    assert "old" not in page
    assert f"| {words} | 1.23 | {found['date']} |" in page
    assert "detail" not in page


def test_what_fails_is_said_and_the_others_are_measured(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_folder: str) -> list[Result]:
        raise ValueError("no such luck")

    benchmarks = {"broken": broken, "whole": lambda _folder: [Result("measured", 1.0)]}
    monkeypatch.setattr(command, "BENCHMARKS", benchmarks)

    assert command.main([]) == 1
    said = capsys.readouterr()
    assert "no such luck" in said.err
    assert said.err.endswith("Failed: broken.\n")
    assert "| measured | 1 |" in said.out
    assert set(json.loads((kept / "r.json").read_text("utf-8"))) == {"whole"}


def test_an_unknown_benchmark_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["fast"]) == 2
    assert capsys.readouterr().err.startswith("Unknown benchmark 'fast'. Known: llm, ")


def test_the_page_of_the_docs_has_a_place_for_the_results() -> None:
    page = results.PAGE.read_text("utf-8")
    assert page.count(results.BEGIN) == page.count(results.END) == 1
