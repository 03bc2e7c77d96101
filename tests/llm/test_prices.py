"""Prices of tokens; a price that is not known is never zero."""

import json
import math
import re
from datetime import date
from pathlib import Path

import pytest

from sabm_mesa.core.answers import Reply
from sabm_mesa.errors import ParameterError
from sabm_mesa.llm import prices
from sabm_mesa.llm.prices import Price, PriceTable
from tests.llm.support import ROOT, ask, completion

OPENAI, ROUTER = "https://api.openai.com/v1", "https://openrouter.ai/api/v1"
AZURE = "https://a-lab.openai.azure.com/openai/v1"
ANTHROPIC, GOOGLE = "https://api.anthropic.com", "https://generativelanguage.googleapis.com/v1beta"
OWN_SERVER = "http://127.0.0.1:8000/v1"


def cost(done: Reply, path: Path | None = None, model: str = "asked") -> float:
    PriceTable(path).add_cost(done, ask(model=model))
    return done.cost_usd


def test_cached_tokens_have_their_own_price() -> None:
    assert Price(1.0, 10.0, 0.1).cost(1_000_000, 400_000, 50_000) == pytest.approx(0.6 + 0.04 + 0.5)


def test_thoughts_and_what_is_put_into_a_cache_have_their_own_prices_where_they_are_given() -> None:
    price = Price(1.0, 10.0, cache_write=1.25, thoughts=20.0)
    assert price.cost(1_000_000, 200_000, 50_000, 40_000, 400_000) == pytest.approx(
        0.4 + 0.2 + 0.4 * 1.25 + 0.01 * 10 + 0.04 * 20
    )
    assert Price(1.0, 10.0).cost(1_000_000, 200_000, 50_000, 40_000, 400_000) == 1.5
    assert price.most(1_000_000, 50_000) == 1.25 + 1.0


def test_all_of_a_long_prompt_has_the_price_of_long_ones() -> None:
    price = PriceTable(url=GOOGLE).of("gemini-2.5-pro")
    assert price is not None
    assert price.cost(200_000, 0, 1000) == pytest.approx(0.2 * 1.25 + 0.001 * 10)
    assert price.cost(200_001, 0, 1000) == pytest.approx(0.200001 * 2.5 + 0.001 * 15)


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


@pytest.mark.parametrize("name", ["", "stub", "gpt-4-64k", "gpt-4o-mini-fine-tuned", "my-gpt-4o"])
def test_an_unknown_name_has_no_price(name: str) -> None:
    assert PriceTable().of(name) is None
    assert math.isnan(cost(completion("", model=name, prompt_tokens=10)))


@pytest.mark.parametrize(
    ("url", "name", "dollars"),
    [
        (OPENAI, "gpt-4o", (2.5, 10)),
        (AZURE, "gpt-4o-2024-08-06", (2.5, 10)),
        (AZURE, "my-deployment", None),
        (ROUTER, "openai/gpt-4o", (2.5, 10)),
        (ROUTER, "gpt-4o", None),
        ("http://127.0.0.1:4000/v1", "openai/gpt-4o", (2.5, 10)),
        (OWN_SERVER, "gpt-4o", (2.5, 10)),
        (GOOGLE + "/openai", "models/gemini-2.0-flash", (0.1, 0.4)),
        (GOOGLE, "gemini-2.0-flash-001", (0.1, 0.4)),
        (ANTHROPIC, "claude-3-5-haiku-latest", (0.8, 4)),
        ("https://api.mistral.ai/v1", "open-mistral-nemo", (0.15, 0.15)),
        # Weights that anybody can serve have no price where nobody has named one.
        (OWN_SERVER, "open-mistral-nemo", None),
        (OWN_SERVER, "openai/gpt-oss-120b", None),
        (OWN_SERVER, "gemma-2-27b-it", None),
        (OPENAI, "claude-3-5-haiku-latest", None),
    ],
)
def test_a_price_is_that_of_the_endpoint(
    url: str, name: str, dollars: tuple[float, float] | None
) -> None:
    price = PriceTable(url=url).of(name)
    assert (price and (price.input, price.output)) == dollars
    assert PriceTable().at(url).of(name) == price


#: OpenAI's price page of 2023 and 2024, Anthropic's of March 2024: as genai-prices has them.
PUBLISHED = {
    "gpt-4-0314": (30, 60),
    "gpt-4-0613": (30, 60),
    "gpt-4": (30, 60),
    "gpt-4-1106-preview": (10, 30),
    "gpt-3.5-turbo-0613": (1.5, 2),
    "gpt-3.5-turbo-16k-0613": (3, 4),
    "gpt-4o-2024-05-13": (5, 15),
    "claude-3-opus-20240229": (15, 75),
    "claude-3-sonnet-20240229": (3, 15),
    "claude-3-haiku-20240307": (0.25, 1.25),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_models_of_the_published_studies_have_their_price(name: str) -> None:
    price = PriceTable().of(name)
    assert price is not None
    assert (price.input, price.output) == PUBLISHED[name]


def test_an_announced_price_holds_from_its_day_on() -> None:
    later = {"input": 2.0, "output": 4.0}
    entry = {"input": 1.0, "output": 2.0, "from": {"2000-01-01": later, "2999-01-01": {}}}
    assert prices.price_of_today(entry) == Price(2.0, 4.0)
    del entry["from"]["2000-01-01"]
    assert prices.price_of_today(entry) == Price(1.0, 2.0)


def test_the_served_model_is_what_is_paid() -> None:
    done = completion("", model="gpt-4-0613", prompt_tokens=1_000_000)
    assert cost(done, model="gpt-4o-mini") == 30.0
    done = completion("", model="served-here", prompt_tokens=1_000_000)
    assert cost(done, model="gpt-4o-mini") == 0.15


def days_at_release(changelog: str, noted: str) -> list[int]:
    """For each release of a changelog the days by which the prices are older."""
    released = re.findall(r"^## \[[\d.]+\] - (\d{4}-\d{2}-\d{2})$", changelog, re.MULTILINE)
    newest = max(map(date.fromisoformat, released), default=None)
    return [] if newest is None else [(newest - date.fromisoformat(noted)).days]


def test_the_prices_are_at_most_90_days_old_at_release() -> None:
    """`make prices` brings new ones; a version that is not released is not compared."""
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert all(days <= 90 for days in days_at_release(changelog, PriceTable().date))
    dated = "## [0.2.0] - Unreleased\n\n## [0.1.0] - 2027-03-01\n"
    assert days_at_release(dated, "2026-11-09") == [112]


def test_the_table_names_its_source_and_licence() -> None:
    table = json.loads((ROOT / "sabm_mesa" / "llm" / "prices.json").read_text("utf-8"))
    assert table["source"].startswith("genai-prices ")
    assert "Permission is hereby granted, free of charge" in table["licence"]
    assert "Copyright (c) Pydantic" in table["licence"]
    assert {"openai", "azure", "anthropic", "google", "mistral", "deepseek", "openrouter"} <= {
        *table["providers"]
    }


def test_the_users_own_entries_replace_the_built_in_ones(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("[models]\nstub = { input = 0, output = 2, cached = 0 }\n")
    table = PriceTable(path)
    assert table.of("stub") == Price(0.0, 2.0, 0.0)
    assert table.of("gpt-4o") == PriceTable().of("gpt-4o")
    assert cost(completion("", model="stub", prompt_tokens=9, completion_tokens=500), path) == 0.001
    path.write_text('[models]\n"gpt-4o" = { input = 1, output = 2 }\n')
    assert PriceTable(path, OPENAI).of("gpt-4o") == Price(1.0, 2.0)
    assert PriceTable(path).at(ROUTER).of("gpt-4o-2024-08-06") == Price(1.0, 2.0)
    path.write_text("[models]\nm = { input = 1, output = 2, cache_write = 3, thoughts = 4 }\n")
    assert PriceTable(path).of("m") == Price(1.0, 2.0, None, 3.0, 4.0)


def test_an_own_price_of_the_name_that_was_asked_for_goes_before_a_built_in_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[models]\n"my-deployment" = { input = 9, output = 90 }\n')
    for url in (AZURE, OWN_SERVER):
        table = PriceTable(path, url)
        assert table.of("gpt-4o-2024-08-06", "my-deployment") == Price(9.0, 90.0)
        assert table.of("gpt-4o-2024-08-06", "gpt-4o") == PriceTable(None, url).of("gpt-4o")
    done = completion("", model="gpt-4o-2024-08-06", prompt_tokens=10**6)
    assert cost(done, path, "my-deployment") == 9.0


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
    "negative thoughts": "[models]\nm = { input = 1, output = 1, thoughts = -0.1 }",
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
