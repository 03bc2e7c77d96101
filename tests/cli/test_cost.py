"""`sabm cost`: what a person finds out before spending anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sabm_mesa.llm import close_all
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.llm.translation import KEY_VARIABLE

from .support import Sabm, one_line

PRICE = '[models]\n"stub" = { input = 2, output = 8 }\n'


@pytest.fixture(autouse=True)
def without_key_and_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.setenv(URL_VARIABLE, "http://127.0.0.1:9/v1")
    yield
    close_all()


def test_without_language_models_there_is_nothing_to_pay(sabm: Sabm) -> None:
    done = sabm("cost", "kbc", "--rounds", 5)
    assert (done.status, done.err) == (0, "")
    first, second = done.out.splitlines()
    assert first.endswith("1 run of up to 5 rounds, minds classical")
    assert second == "There is nothing to pay: no mind is a language model."
    data = json.loads(sabm("cost", "kbc", "--rounds", 5, "--json").out)
    assert data["lines"] == []
    assert data["total"]["usd"] == {"low": 0.0, "likely": 0.0, "high": 0.0}


def test_a_table_by_question_and_mind(sabm: Sabm) -> None:
    done = sabm("cost", "kbc", "--minds", "llm:gpt-4o-mini=20,classical=4", "--runs", 15)
    assert (done.status, done.err) == (0, "")
    head, columns, *rows, note = done.out.splitlines()
    assert head == (
        "Keynesian beauty contest: 15 runs of up to 4 rounds, about 35 questions a round, "
        "minds 20 × llm:gpt-4o-mini, 4 × classical"
    )
    assert columns.split() == [
        *("question", "mind", "asks", "requests", "tokens", "sent", "tokens", "received"),
        "dollars",
    ]
    assert [row.split()[:3] for row in rows] == [
        ["act", "llm:gpt-4o-mini", "1,200"],
        ["communicate", "llm:gpt-4o-mini", "900"],
        ["in", "all", "2,100"],
        ["likely", "2,100", "2,100"],
    ]
    assert len({len(row) for row in (columns, *rows)}) == 1
    assert note.startswith("Assumed: 2.5 to 5 characters a token;")


def test_the_json_holds_what_the_table_says(sabm: Sabm, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(PRICE)
    options = ("--minds", "llm:stub", "--set", "n_players=3", "--prices", tmp_path / "prices.toml")
    data = json.loads(sabm("cost", "kbc", *options, "--json").out)
    assert data["scenario"] == "kbc"
    assert data["total"]["asks"] == {"low": 21, "likely": 21, "high": 21}
    for end in ("low", "likely", "high"):
        sent, received = (
            data["total"][part][end] for part in ("prompt_tokens", "completion_tokens")
        )
        assert data["total"]["usd"][end] == pytest.approx((2 * sent + 8 * received) / 1e6, abs=1e-4)
    assert sum(line["cost"]["asks"]["low"] for line in data["lines"]) == 21


@pytest.mark.slow
def test_options_reach_the_runs(sabm: Sabm) -> None:
    def tokens(*options: object) -> float:
        given = ("--minds", "llm:m", "--rounds", 2, "--set", "n_players=6", *options, "--json")
        return float(json.loads(sabm("cost", "kbc", *given).out)["total"]["prompt_tokens"]["low"])

    once = tokens()
    assert tokens("--condition", "cooperative") > once
    assert tokens("--set", "answer_format=json", "--rounds", 3) > once
    assert tokens("--runs", 3) == pytest.approx(3 * once)


def test_an_unknown_price(sabm: Sabm) -> None:
    done = sabm("cost", "kbc", "--minds", "llm:nobody", "--set", "n_players=3")
    assert [line.endswith("  price unknown") for line in done.out.splitlines()[2:5]] == [True] * 3
    assert "The price of nobody is not known" in done.out
    data = json.loads(
        sabm("cost", "kbc", "--minds", "llm:nobody", "--set", "n_players=3", "--json").out
    )
    assert data["total"]["usd"] == {"low": None, "likely": None, "high": None}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--prices", "none.toml"), "none.toml"),
        (("--minds", "llm:a=3"), "must add up to 24"),
        (("--set", "player=3"), "Did you mean 'n_players'?"),
    ],
)
def test_wrong_use_is_one_line(sabm: Sabm, options: tuple[str, ...], words: str) -> None:
    done = sabm("cost", "kbc", *options)
    assert done.status in {1, 2}
    assert words in one_line(done)
