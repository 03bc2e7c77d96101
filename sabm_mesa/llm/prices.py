"""What tokens cost: a dated table that a user's own file can replace."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from sabm_mesa.errors import ParameterError
from sabm_mesa.llm.client import Client, Completion, Request

_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)\Z")
_MILLION = 1_000_000


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
        built_in = tomllib.loads(
            files(__package__ or "").joinpath("prices.toml").read_text("utf-8")
        )
        self.date = str(built_in["date"])
        self._prices = _prices(built_in["models"], "prices.toml")
        if path is not None:
            try:
                own = tomllib.loads(Path(path).read_text("utf-8"))
            except OSError as error:
                raise ParameterError(
                    f"Cannot read the price file {path}: {error.strerror or error}."
                ) from None
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise ParameterError(f"The price file {path} is not valid TOML: {error}.") from None
            self._prices |= _prices(own.get("models", {}), str(path))

    def of(self, *models: str) -> Price | None:
        """The price of the first of these names that the table knows.

        A name with a date at its end has the price of the name without it, unless the table
        lists it itself.

        Args:
            models: names of one model: as served, as requested.
        """
        for model in models:
            price = self._prices.get(model) or self._prices.get(_DATED.sub("", model))
            if price is not None:
                return price
        return None


@cache
def price_table(path: str | Path | None = None) -> PriceTable:
    """The table with a user's file over it, read once a process."""
    return PriceTable(path)


def _prices(models: dict[str, dict[str, float]], source: str) -> dict[str, Price]:
    prices = {}
    for model, entry in models.items():
        try:
            price = Price(
                float(entry["input"]),
                float(entry["output"]),
                float(entry.get("cached", entry["input"])),
            )
        except (KeyError, TypeError, ValueError):
            raise ParameterError(
                f'{source}: [models."{model}"] needs the numbers input and output (and may have '
                "cached): dollars for a million tokens."
            ) from None
        if min(price.input, price.output, price.cached) < 0:
            raise ParameterError(f'{source}: [models."{model}"] has a negative price.')
        prices[model] = price
    return prices


class Priced:
    """Says what each completion cost.

    Args:
        client: the client.
        prices: the table.
    """

    def __init__(self, client: Client, prices: PriceTable) -> None:
        self._client = client
        self._prices = prices

    async def complete(self, request: Request) -> Completion:
        """Complete a chat; its `cost_usd` is NaN when the model has no known price.

        Args:
            request: what is asked.

        Raises:
            LLMError: what the client raises.
        """
        done = await self._client.complete(request)
        price = self._prices.of(done.model, request.model)
        if price is None:
            return done
        return replace(
            done,
            cost_usd=price.cost(done.prompt_tokens, done.cached_tokens, done.completion_tokens),
        )
