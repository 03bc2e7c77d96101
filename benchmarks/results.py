"""Results of benchmarks, as tables and JSON. Each benchmark has its own date and load."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sabm_mesa.recording.store import versions

FOLDER = Path(__file__).parent
JSON, MARKDOWN = FOLDER / "results.json", FOLDER / "results.md"
PAGE = FOLDER.parent / "docs" / "comparison.md"
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
"""The marks around the table in the page of the docs."""
RATIOS = {
    "KBC, 24 players, 4 rounds, 200 ms: time / critical path":
        "time of a run with a language model / shortest possible time",
    "KBC, 24 players, 4 rounds, 200 ms: 15 runs at once / one run":
        "time of 15 such runs at once / time of one",
    "KBC, 200 ms: time recorded / not recorded": "time with a recording / without",
    "CPU: mesa-llm / this project, recorded":
        "CPU of a question in mesa-llm / of a recorded question here",
    "CPU: this project, recorded / the bare openai client":
        "CPU of a recorded question here / of a question by the openai client alone",
    "sweep of 45 evacuations: one process / 2 workers on processes":
        "time of a sweep in one process / in two (classical minds)",
    "beauty-contest: an agent among 10,000 / among 1,000":
        "CPU of an agent among 10,000 / among 1,000 (classical minds)",
    "bertrand: a round among 10,000 / among 1,000":
        "CPU of a round of 10,000 rounds / of 1,000 (classical minds)",
    "kbc with the model in the box / bare runtime":
        "time of a beauty contest with the included model / of its messages without this package",
    "bertrand with the model in the box / bare runtime":
        "time of ten rounds of price competition with this model / "
        "of their messages without this package",
    "fishery with the model in the box / bare runtime":
        "time of three months of the fishery with this model / "
        "of their messages without this package",
}  # fmt: skip
"""Name of a result → its description in the table of the docs."""


@dataclass(frozen=True)
class Result:
    """One number.

    Attributes:
        name: what was measured.
        value: the number: a ratio, unless the name says otherwise. None if it could not be measured
            here; then `detail` is the reason.
        target: the target, such as ``"<= 1.10"``; ``""`` without one.
        detail: the numbers from which it was computed.
    """

    name: str
    value: float | None
    target: str = ""
    detail: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; None without a target or number."""
        if not self.target or self.value is None:
            return None
        sign, limit = self.target.split()
        value = float(self.value)
        return value <= float(limit) if sign == "<=" else value >= float(limit)


def machine() -> dict[str, Any]:
    """Return the conditions of the numbers: machine, versions, date, and load of the machine.

    ``load`` is the load average over the last minute: the number of runnable processes.
    """
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "versions": versions(),
        "load": round(os.getloadavg()[0], 1),
    }


def keep(name: str, found: Mapping[str, Any], results: Sequence[Result], took_s: float) -> None:
    """Replace the earlier results of one benchmark; the results of others stay.

    Args:
        name: the name of the benchmark.
        found: the result of `machine` before it began.
        results: its numbers.
        took_s: its duration in seconds.
    """
    rows = [{**asdict(r), "reached": r.reached} for r in results]
    everything = kept() | {name: {**found, "took_s": round(took_s, 1), "results": rows}}
    JSON.write_text(json.dumps(everything, indent=2, ensure_ascii=False) + "\n", "utf-8")


def kept() -> dict[str, Any]:
    """Return benchmark → its last results."""
    return json.loads(JSON.read_text("utf-8")) if JSON.exists() else {}


def publish(order: Sequence[str]) -> None:
    """Write all results into ``results.md``, and the ratios of `RATIOS` into the docs.

    Args:
        order: the benchmarks, in the order of their tables; other benchmarks are dropped.
    """
    everything = kept()
    parts = [_part(name, everything[name]) for name in order if name in everything]
    text = "\n\n".join(parts)
    MARKDOWN.write_text(f"# Results\n\n{text}\n", "utf-8")
    if PAGE.exists():
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{_ratios(everything)}\n\n{END}{after}", "utf-8")


def _ratios(everything: Mapping[str, Any]) -> str:
    """Return the table of the docs: ratio, value, and the day of its measurement."""
    rows = {
        result["name"]: f"{number(result['value'])} | {found['date']} |"
        for found in everything.values()
        for result in found["results"]
        if result["value"] is not None
    }
    lines = [f"| {words} | {rows[name]}" for name, words in RATIOS.items() if name in rows]
    return "\n".join(["| ratio | value | measured |", "|---|---|---|", *lines])


def _part(name: str, found: Mapping[str, Any]) -> str:
    results = [Result(r["name"], r["value"], r["target"], r["detail"]) for r in found["results"]]
    packages = ", ".join(f"{package} {version}" for package, version in found["versions"].items())
    said = (
        f"{found['date']}, on {found['machine']}, load {found['load']} before it began, "
        f"{found['took_s']:.0f} s; {packages}."
    )
    return f"### {name}\n\n{table(results)}\n\n{said}"


def table(results: Sequence[Result]) -> str:
    """Return the results as a Markdown table."""
    verdicts = {True: "reached", False: "**missed**", None: ""}
    rows = [
        f"| {r.name} | {'–' if r.value is None else number(r.value)} | {_words(r.target)} "
        f"| {verdicts[r.reached]} | {r.detail} |"
        for r in results
    ]
    return "\n".join(["| measured | value | target | | from |", "|---|---|---|---|---|", *rows])


def number(value: float) -> str:
    """Format a number with three digits, or as an integer from 1,000 on."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _words(target: str) -> str:
    return target.replace("<=", "≤").replace(">=", "≥")
