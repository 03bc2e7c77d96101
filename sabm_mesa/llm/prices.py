"""Prices of tokens: a dated table, and the user's own price file.

The table comes from the data of genai-prices (MIT; `tools/prices.py` writes it, and says what is
left out). The price of a model that is not in it is unknown, never zero.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sabm_mesa.core.answers import Reply
from sabm_mesa.core.toml_io import read_toml
from sabm_mesa.errors import ParameterError
from sabm_mesa.llm.request import Request

IN_A_FILE = "gguf:"
"""The names of local models begin so: they run on this machine and cost nothing."""
MAKERS = ("openai", "anthropic", "google")
"""Providers whose models in `_SOLD_BY_ITS_MAKER` have one price at every gateway."""
_SOLD_BY_ITS_MAKER = re.compile(
    r"(ft:)?(gpt-(?!oss)|o\d|chatgpt-|text-davinci-|davinci|claude|gemini)"
)
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)\Z")
_MILLION = 1_000_000
_NEEDED = {"input", "output"}
_OPTIONAL = {"cached", "cache_write", "thoughts"}


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens.

    Attributes:
        input: of a prompt.
        output: of an answer.
        cached: of prompt tokens in the server's cache; as `input` when None.
        cache_write: of prompt tokens that the server writes to its cache; as `input` when None.
        thoughts: of thoughts; as `output` when None.
        over: (tokens, price) for longer prompts, the longest last: all tokens of a request with a
            longer prompt have that price.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    thoughts: float | None = None
    over: tuple[tuple[int, Price], ...] = ()

    def cost(
        self,
        prompt_tokens: float,
        cached_tokens: float,
        completion_tokens: float,
        thought_tokens: float = 0,
        cache_write_tokens: float = 0,
    ) -> float:
        """Dollars for one answer.

        Args:
            prompt_tokens: all tokens sent.
            cached_tokens: the part of them that was in the server's cache.
            completion_tokens: all tokens received.
            thought_tokens: the part of them that are thoughts.
            cache_write_tokens: tokens sent that the server put into its cache.
        """
        price = self._of_a_prompt(prompt_tokens)
        read, written, thought = price._each()  # noqa: SLF001 - the same class
        dollars = (
            (prompt_tokens - cached_tokens - cache_write_tokens) * price.input
            + cached_tokens * read
            + cache_write_tokens * written
            + (completion_tokens - thought_tokens) * price.output
            + thought_tokens * thought
        )
        return dollars / _MILLION

    def most(self, prompt_tokens: float, completion_tokens: float) -> float:
        """The maximum cost of one answer in dollars, however its tokens are counted."""
        price = self._of_a_prompt(prompt_tokens)
        read, written, thought = price._each()  # noqa: SLF001 - the same class
        sent = max(price.input, read, written)
        received = max(price.output, thought)
        return (prompt_tokens * sent + completion_tokens * received) / _MILLION

    def _of_a_prompt(self, tokens: float) -> Price:
        reached = [price for start, price in self.over if tokens > start]
        return reached[-1] if reached else self

    def _each(self) -> tuple[float, float, float]:
        """The prices of cached tokens, of those put into a cache, and of thoughts."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        return cached, written, self.output if self.thoughts is None else self.thoughts


_FREE = Price(0.0, 0.0)


class PriceTable:
    """Model → price.

    The built-in prices are those of providers, by their addresses. At any other address, such as
    that of a gateway, only models that their maker alone sells have a price: the maker's.

    Args:
        path: a user's own file, whose entries replace the built-in ones at every address; or None.
        url: the address of the endpoint; None for one that is not known.

    Attributes:
        date: the day of the newest of the built-in prices.

    Raises:
        ParameterError: when the file cannot be read.
    """

    def __init__(self, path: str | Path | None = None, url: str | None = None) -> None:
        self._built_in = _built_in()
        self.date = self._built_in.date
        self._own = {} if path is None else _own_prices(path)
        self._places = self._built_in.at(url)

    def at(self, url: str | None) -> PriceTable:
        """The prices at an endpoint.

        Args:
            url: its address; None for one that is not known.
        """
        table = copy(self)
        table._places = self._built_in.at(url)  # noqa: SLF001 - the same class
        return table

    def of(self, *models: str) -> Price | None:
        """The price of the first of these names in the user's file, or else in the table.

        A name with a date at its end has the price of the name without it, unless the table
        lists it itself. Models in files are free.

        Args:
            models: names of one model: as served, as requested.
        """
        prices = (find(model) for find in (self._find_own, self._find) for model in models)
        return next((price for price in prices if price is not None), None)

    def add_cost(self, reply: Reply, request: Request) -> Price | None:
        """Add the cost of a reply, unless the server reported it; NaN when it is not known.

        A model without a price costs what a gateway computed.

        Returns:
            The price of the model; None when it is not known.
        """
        price = self.of(reply.model, request.model)
        if not math.isnan(reply.cost_usd):
            return price
        if price is None:
            reply.cost_usd = reply.gateway_cost_usd
        elif reply.prompt_tokens and (
            reply.completion_tokens or not reply.answer or request.max_tokens == 0
        ):
            reply.cost_usd = price.cost(
                reply.prompt_tokens,
                reply.cached_tokens,
                reply.completion_tokens,
                reply.thought_tokens,
                reply.cache_write_tokens,
            )
        return price

    def _find_own(self, model: str) -> Price | None:
        if model.startswith(IN_A_FILE):
            return _FREE
        return self._own.get(model) or self._own.get(_DATED.sub("", model))

    def _find(self, model: str) -> Price | None:
        name = model.lower().removeprefix("models/")
        for provider in self._places:
            for variant in (name, name.removeprefix(f"{provider.name}/")):
                if self._places is self._built_in.makers and not _SOLD_BY_ITS_MAKER.match(variant):
                    continue
                entry = provider.find(variant) or provider.find(_DATED.sub("", variant))
                if entry is not None:
                    return price_of_today(entry)
        return None


@dataclass(frozen=True, slots=True)
class _Provider:
    """The models of a provider: entries by exact name, and by pattern."""

    name: str
    url: re.Pattern[str]
    exact: Mapping[str, dict[str, Any]]
    like: Sequence[tuple[str, dict[str, Any]]]

    def find(self, model: str) -> dict[str, Any] | None:
        if model in self.exact:
            return self.exact[model]
        return next((entry for like, entry in self.like if re.search(like, model)), None)


class _BuiltIn:
    """The table of the package, which `tools/prices.py` writes."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.date = str(table["date"])
        providers = table["providers"]
        self._providers = {name: _provider(name, entry) for name, entry in providers.items()}
        self._others = {name: entry["others"] for name, entry in providers.items()}
        self.makers = [self._providers[name] for name in MAKERS]

    def named_at(self, url: str) -> str:
        """The name of the provider at an address, or ``""``."""
        return next(
            (provider.name for provider in self._providers.values() if provider.url.match(url)), ""
        )

    def at(self, url: str | None) -> list[_Provider]:
        """The providers whose prices apply at an address, its own first."""
        for provider in self._providers.values():
            if url is not None and provider.url.match(url):
                others = (self._providers[name] for name in self._others[provider.name])
                return [provider, *others]
        return self.makers


def provider_at(url: str) -> str:
    """The provider at an address, by its name in the price table; otherwise the host."""
    provider = _built_in().named_at(url)
    return provider or urlsplit(url).netloc


def _provider(name: str, table: dict[str, Any]) -> _Provider:
    exact: dict[str, dict[str, Any]] = {}
    like = []
    for names, patterns, entry in table["models"]:
        exact |= dict.fromkeys(names, entry)
        like += [(pattern, entry) for pattern in patterns]
    return _Provider(name, re.compile(table["url"]), exact, like)


def price_of_today(entry: dict[str, Any]) -> Price:
    """The price of an entry today; an entry may have prices that begin later."""
    today = datetime.now(UTC).date().isoformat()
    begun = [day for day in entry.get("from", ()) if day <= today]
    return _as_price(entry["from"][max(begun)] if begun else entry)


def _as_price(entry: dict[str, Any]) -> Price:
    fields: dict[str, Any] = {name: entry.get(name) for name in _NEEDED | _OPTIONAL}
    over = ((int(start), _as_price(step)) for start, step in entry.get("over", {}).items())
    return Price(**fields, over=tuple(sorted(over, key=itemgetter(0))))


@cache
def _built_in() -> _BuiltIn:
    text = files(__package__ or "").joinpath("prices.json").read_text("utf-8")
    return _BuiltIn(json.loads(text))


def _own_prices(path: str | Path) -> dict[str, Price]:
    table = read_toml(path, "price file", ParameterError)
    models = table.get("models")
    if set(table) != {"models"} or not isinstance(models, dict):
        raise ParameterError(
            f"{path}: a price file has a table [models] and nothing else: "
            '"NAME" = { input = 0.15, output = 0.60 }.'
        )
    return {model: _price(entry, f'{path}: [models] "{model}"') for model, entry in models.items()}


def _price(entry: Any, where: str) -> Price:
    known = isinstance(entry, dict) and _NEEDED <= set(entry) <= _NEEDED | _OPTIONAL
    if not known or not all(_is_price(dollars) for dollars in entry.values()):
        raise ParameterError(
            f"{where} needs the numbers input and output (and may have cached, cache_write and "
            "thoughts): dollars for a million tokens, 0 or more."
        )
    fields: dict[str, Any] = {name: float(dollars) for name, dollars in entry.items()}
    return Price(**fields)


def _is_price(dollars: Any) -> bool:
    number = isinstance(dollars, int | float) and not isinstance(dollars, bool)
    return number and 0 <= dollars < math.inf
