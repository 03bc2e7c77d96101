"""What tokens cost; a price that is not known is never zero."""

import math
from datetime import date
from pathlib import Path

import pytest

from sabm_mesa.errors import ParameterError
from sabm_mesa.llm import Completion, ScriptedClient
from sabm_mesa.llm.prices import Price, PriceClient, PriceTable
from tests.llm.support import ask, complete


def cost(done: Completion, path: Path | None = None, model: str = "asked") -> float:
    client = PriceClient(ScriptedClient([done]), PriceTable(path))
    return complete(client, ask(model=model))[0].cost_usd


def test_cached_tokens_have_their_own_price() -> None:
    assert Price(1.0, 10.0, 0.1).cost(1_000_000, 400_000, 50_000) == pytest.approx(0.6 + 0.04 + 0.5)


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-4-0613", "gpt-4"),
        ("claude-3-haiku-20240307", "claude-3-haiku"),
        ("claude-3-sonnet-latest", "claude-3-sonnet"),
    ],
)
def test_a_dated_name_has_the_price_of_the_name_without_it(name: str, listed: str) -> None:
    table = PriceTable()
    assert table.of(name) == table.of(listed) is not None


@pytest.mark.parametrize("name", ["gpt-3.5-turbo-1106", "gpt-4o-2024-05-13"])
def test_a_dated_name_may_have_its_own_price(name: str) -> None:
    table = PriceTable()
    own, later = table.of(name), table.of(name.rpartition("-")[0][: len("gpt-3.5-turbo")], "gpt-4o")
    assert own is not None
    assert later is not None
    assert own.output > later.output


@pytest.mark.parametrize("name", ["", "stub", "gpt-4-32k", "gpt-4o-mini-fine-tuned", "my-gpt-4o"])
def test_an_unknown_name_has_no_price(name: str) -> None:
    assert PriceTable().of(name) is None
    assert math.isnan(cost(Completion("", model=name, prompt_tokens=10)))


def test_the_served_model_is_what_is_paid() -> None:
    done = Completion("", model="gpt-4-0613", prompt_tokens=1_000_000)
    assert cost(done, model="gpt-4o-mini") == 30.0
    done = Completion("", model="served-here", prompt_tokens=1_000_000)
    assert cost(done, model="gpt-4o-mini") == 0.15


def test_tokens_that_are_not_reported_have_no_known_cost() -> None:
    assert math.isnan(cost(Completion("a long answer", model="gpt-4o")))


def test_the_table_is_dated() -> None:
    assert date.fromisoformat(PriceTable().date) > date(2025, 1, 1)


def test_the_users_own_entries_replace_the_built_in_ones(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("date = 2026-01-01\n[models]\nstub = { input = 0, output = 2, cached = 0 }\n")
    table = PriceTable(path)
    assert table.of("stub") == Price(0.0, 2.0, 0.0)
    assert table.of("gpt-4o") == PriceTable().of("gpt-4o")
    assert cost(Completion("", model="stub", prompt_tokens=9, completion_tokens=500), path) == 0.001
    path.write_text('[models]\n"gpt-4o" = { input = 1, output = 2 }\n')
    assert PriceTable(path).of("gpt-4o") == Price(1.0, 2.0, 1.0)


BAD = {
    "not TOML": "models = ",
    "no text": b"\xff\xfe\x00",
    "no table": "models = 3",
    "nothing": "",
    "an entry outside": "[other]\nx = 1\n[models]\n",
    "a list": "[models]\nm = [1, 2]",
    "a number": "[models]\nm = 1",
    "no output": "[models]\nm = { input = 1 }",
    "no input": "[models]\nm = { output = 1 }",
    "an unknown field": "[models]\nm = { input = 1, output = 1, chached = 1 }",
    "a text": '[models]\nm = { input = "1", output = 1 }',
    "a truth": "[models]\nm = { input = true, output = 1 }",
    "negative": "[models]\nm = { input = -1, output = 1 }",
    "negative cached": "[models]\nm = { input = 1, output = 1, cached = -0.1 }",
    "no number": "[models]\nm = { input = nan, output = 1 }",
    "without end": "[models]\nm = { input = inf, output = 1 }",
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_bad_file_is_refused_in_one_line_that_names_it(
    content: str | bytes, tmp_path: Path
) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ParameterError, match=r"own\.toml") as caught:
        PriceTable(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="No such file"):
        PriceTable(tmp_path / "none.toml")
