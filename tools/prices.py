"""Write the price table of the package from the data of genai-prices: `make prices`.

genai-prices (https://github.com/pydantic/genai-prices, MIT) is only needed here; the package has
its own small file. The table has the prices of text tokens: sent, received, read from a cache,
written to a cache, in long prompts, and announced for a later day. Left out are:

- providers that studies rarely use, and models without a price;
- prices by hour of the day (the highest is used, so that a cap holds), region, service tier or
  batch;
- prices of cache entries that live for an hour, of images, sound, searches and storage.

The date of the table is that of its newest price, since a release of genai-prices has no date.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, date, datetime
from importlib.metadata import distribution, version
from itertools import chain
from pathlib import Path
from typing import Any

from genai_prices.data import providers
from genai_prices.types import (
    ClauseAnd,
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseRegex,
    ClauseStartsWith,
    ModelInfo,
    ModelPrice,
    StartDateConstraint,
    TieredPrices,
    TimeOfDateConstraint,
)

KEPT = (
    "openai", "azure", "anthropic", "google", "mistral", "deepseek", "openrouter", "x-ai", "groq",
    "together", "fireworks", "cerebras", "cohere", "moonshotai", "zai", "minimax",
)  # fmt: skip
FIELDS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cached",
    "cache_write_mtok": "cache_write",
    "output_reasoning_mtok": "thoughts",
}
NO_TEXT = re.compile(
    r"image|audio|realtime|tts|transcribe|-live|robotics|moderation|whisper|ocr|omni-"
)
"""Matches models for anything but text."""
TABLE = Path(__file__).parents[1] / "sabm_mesa" / "llm" / "prices.json"


def names_of(clause: Any) -> tuple[list[str], list[str]]:
    """Return the exact names that a clause matches, and patterns of other names."""
    match clause:
        case ClauseEquals():
            return [clause.equals.lower()], []
        case ClauseOr():
            parts = [names_of(each) for each in clause.or_]
            exact, like = zip(*parts, strict=True)
            return [*chain(*exact)], [*chain(*like)]
        case _:
            return [], [pattern_of(clause)]


def pattern_of(clause: Any) -> str:
    """Return a clause as a pattern to search in a name."""
    match clause:
        case ClauseEquals():
            return f"^{re.escape(clause.equals.lower())}$"
        case ClauseStartsWith():
            return f"^{re.escape(clause.starts_with.lower())}"
        case ClauseEndsWith():
            return f"{re.escape(clause.ends_with.lower())}$"
        case ClauseContains():
            return re.escape(clause.contains.lower())
        case ClauseRegex():
            return clause.regex
        case ClauseOr():
            return "|".join(f"(?:{pattern_of(each)})" for each in clause.or_)
        case ClauseAnd():
            ahead = (f"(?=.*(?:{pattern_of(each).lstrip('^')}))" for each in clause.and_)
            return "^" + "".join(ahead)
        case _:
            raise TypeError(f"unknown kind of clause: {clause!r}")


def price_of(found: ModelPrice) -> dict[str, Any]:
    """Return a price in the form of the table; {} for a model without prices of text tokens."""
    values = {new: getattr(found, old, None) for old, new in FIELDS.items()}
    values = {name: value for name, value in values.items() if value is not None}
    if not {"input", "output"} <= {*values}:
        return {}
    price: dict[str, Any] = {name: base_of(value) for name, value in values.items()}
    tiered = [value for value in values.values() if isinstance(value, TieredPrices)]
    starts = sorted({tier.start for value in tiered for tier in value.tiers})
    if starts:
        price["over"] = {
            str(start): {name: at(value, start) for name, value in values.items()}
            for start in starts
        }
    return price


def base_of(value: Any) -> float:
    """Return the price of a short prompt."""
    return float(value.base if isinstance(value, TieredPrices) else value)


def at(value: Any, start: int) -> float:
    """Return the price of a prompt with more tokens than `start`."""
    if not isinstance(value, TieredPrices):
        return float(value)
    reached = [tier.price for tier in value.tiers if tier.start <= start]
    return float(reached[-1] if reached else value.base)


def entry_of(model: ModelInfo, today: date, seen: set[date]) -> list[Any] | None:
    """Return names, patterns and price of a model; None when its price is unknown."""
    exact, like = names_of(model.match)
    if NO_TEXT.search(model.id):
        return None
    if isinstance(model.prices, ModelPrice):
        price = price_of(model.prices)
        return [exact, like, price] if price else None
    now: dict[str, Any] = {}
    later: dict[str, Any] = {}
    for each in model.prices:
        price, constraint = price_of(each.prices), each.constraint
        if isinstance(constraint, TimeOfDateConstraint):
            now = max(now, price, key=lambda one: one.get("input", 0.0))
        elif isinstance(constraint, StartDateConstraint):
            seen.add(constraint.start_date)
            if constraint.start_date > today and price:
                later[constraint.start_date.isoformat()] = price
            else:
                now = price
        else:
            now = price
    if not now:
        return None
    return [exact, like, {**now, "from": later} if later else now]


def main() -> None:
    """Write the table."""
    today, seen, kept = datetime.now(UTC).date(), set[date](), {}
    by_id = {each.id: each for each in providers}
    for name in KEPT:
        provider = by_id[name]
        models = [entry_of(model, today, seen) for model in provider.models]
        kept[name] = {
            "url": provider.api_pattern,
            "others": [each for each in provider.fallback_model_providers or () if each in KEPT],
            "models": [each for each in models if each],
        }
    files = distribution("genai-prices").files or []
    licence = next(file for file in files if file.name == "LICENSE").read_text()
    head = {
        "date": max(each for each in seen if each <= today).isoformat(),
        "source": f"genai-prices {version('genai-prices')}",
        "licence": licence,
    }
    TABLE.write_text(table(head, kept), "utf-8")
    print(f"{TABLE.name}: {head['source']}, newest price of {head['date']}", file=sys.stderr)


def table(head: dict[str, str], kept: dict[str, Any]) -> str:
    """Return the table as JSON, with one line for each model."""
    lines = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    parts = []
    for name, provider in kept.items():
        models = ",\n".join(json.dumps(each, separators=(",", ":")) for each in provider["models"])
        about = json.dumps({key: provider[key] for key in ("url", "others")})[1:-1]
        parts.append(f'{json.dumps(name)}: {{{about}, "models": [\n{models}\n]}}')
    body = ",\n".join(parts)
    return "\n".join(["{", *lines, '"providers": {', body, "}", "}"]) + "\n"


if __name__ == "__main__":
    main()
