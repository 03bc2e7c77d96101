"""Prices of tokens: a dated table that a user's own file can replace."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sabm_mesa.core.toml_io import read_toml
from sabm_mesa.errors import ParameterError
from sabm_mesa.llm.client import Client, Completion, Request

IN_A_FILE = "gguf:"
"""The names of models in files begin so: they run in this process, and nobody is paid for them."""
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)\Z")
_MILLION = 1_000_000
_NEEDED = {"input", "output"}


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens.

    Attributes:
        input: of a prompt.
        output: of an answer.
        cached: of a prompt that the server had in its cache.
    """

    input: float
    output: float
    cached: float

    def cost(self, prompt_tokens: int, cached_tokens: int, completion_tokens: int) -> float:
        """Dollars for one answer.

        Args:
            prompt_tokens: all tokens sent.
            cached_tokens: those of them that the server had in its cache.
            completion_tokens: tokens received.
        """
        fresh = prompt_tokens - cached_tokens
        dollars = fresh * self.input + cached_tokens * self.cached + completion_tokens * self.output
        return dollars / _MILLION


_FREE = Price(0.0, 0.0, 0.0)


class PriceTable:
    """Model → price.

    Args:
        path: a user's own file, whose entries replace the built-in ones; or None.

    Attributes:
        date: the day on which the built-in prices were noted.

    Raises:
        ParameterError: when the file cannot be read.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.date, built_in = _built_in()
        self._prices = dict(built_in)
        if path is not None:
            self._prices |= _prices(_own(path), str(path))

    def of(self, *models: str) -> Price | None:
        """The price of the first of these names that the table knows.

        A name with a date at its end has the price of the name without it, unless the table
        lists it itself. Models in files are free.

        Args:
            models: names of one model: as served, as requested.
        """
        for model in models:
            if model.startswith(IN_A_FILE):
                return _FREE
            price = self._prices.get(model) or self._prices.get(_DATED.sub("", model))
            if price is not None:
                return price
        return None


@cache
def _built_in() -> tuple[str, dict[str, Price]]:
    text = files(__package__ or "").joinpath("prices.toml").read_text("utf-8")
    table = tomllib.loads(text)
    return str(table.pop("date")), _prices(table, "prices.toml")


def _own(path: str | Path) -> dict[str, Any]:
    table = read_toml(path, "price file", ParameterError)
    table.pop("date", None)
    return table


def _prices(table: dict[str, Any], source: str) -> dict[str, Price]:
    models = table.get("models")
    if set(table) != {"models"} or not isinstance(models, dict):
        raise ParameterError(
            f"{source}: a price file has a table [models] (and may have a date) and nothing else: "
            '"NAME" = { input = 0.15, output = 0.60 }.'
        )
    return {
        model: _price(entry, f'{source}: [models] "{model}"') for model, entry in models.items()
    }


def _price(entry: Any, where: str) -> Price:
    known = isinstance(entry, dict) and _NEEDED <= set(entry) <= _NEEDED | {"cached"}
    if not known or not all(_is_price(dollars) for dollars in entry.values()):
        raise ParameterError(
            f"{where} needs the numbers input and output (and may have cached): dollars for a "
            "million tokens, 0 or more."
        )
    fresh, answer = float(entry["input"]), float(entry["output"])
    return Price(fresh, answer, float(entry.get("cached", fresh)))


def _is_price(dollars: Any) -> bool:
    number = isinstance(dollars, int | float) and not isinstance(dollars, bool)
    return number and 0 <= dollars < math.inf


class PriceClient:
    """Says what each completion cost.

    Args:
        client: the client.
        prices: the table.
    """

    def __init__(self, client: Client, prices: PriceTable) -> None:
        self._client = client
        self._prices = prices

    async def complete(self, request: Request) -> Completion:
        """Complete a chat; its `cost_usd` is NaN when the price or the tokens are not known.

        Args:
            request: the request.

        Raises:
            LLMError: raised by the client.
        """
        done = await self._client.complete(request)
        price = self._prices.of(done.model, request.model)
        if price is None or not done.prompt_tokens:
            return done
        return _paid(done, price)


def _paid(done: Completion, price: Price) -> Completion:
    """The completion and its parts, each with the dollars for its tokens."""
    return replace(
        done,
        cost_usd=price.cost(done.prompt_tokens, done.cached_tokens, done.completion_tokens),
        parts=tuple(_paid(part, price) for part in done.parts),
    )
