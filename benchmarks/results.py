"""Results of a benchmark, as tables and as JSON: each keeps its own date and load."""

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
PAGE = FOLDER.parent / "docs" / "benchmarks.md"
IMAGES = PAGE.parent / "images" / "benchmarks"
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
"""The page of the docs has its tables between these two lines."""


@dataclass(frozen=True)
class Result:
    """One number.

    Attributes:
        name: what was measured.
        value: the number: a ratio, unless the name says otherwise; None when it could not be
            measured here, and then `detail` says why.
        target: what it has to reach, such as ``"<= 1.10"``; ``""`` without one.
        detail: what it was computed from.
    """

    name: str
    value: float | None
    target: str = ""
    detail: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; None without one, or without a number."""
        if not self.target or self.value is None:
            return None
        sign, limit = self.target.split()
        value = float(self.value)
        return value <= float(limit) if sign == "<=" else value >= float(limit)


def machine() -> dict[str, Any]:
    """Conditions of the numbers: machine, versions, date, and load of the machine.

    ``load`` is its load average over the last minute: processes that run or want to.
    """
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "versions": versions(),
        "load": round(os.getloadavg()[0], 1),
    }


def keep(name: str, found: Mapping[str, Any], results: Sequence[Result], took_s: float) -> None:
    """Put what one benchmark found in the place of what it found before; the others' stay.

    Args:
        name: of the benchmark.
        found: what `machine` said before it began.
        results: its numbers.
        took_s: seconds it took.
    """
    rows = [{**asdict(r), "reached": r.reached} for r in results]
    everything = kept() | {name: {**found, "took_s": round(took_s, 1), "results": rows}}
    JSON.write_text(json.dumps(everything, indent=2, ensure_ascii=False) + "\n", "utf-8")


def kept() -> dict[str, Any]:
    """Benchmark → what it found last."""
    return json.loads(JSON.read_text("utf-8")) if JSON.exists() else {}


def publish(order: Sequence[str]) -> None:
    """Write what is kept as tables, into ``results.md`` and into the page of the docs.

    Args:
        order: the benchmarks, in the order of their tables; one that is not among them is dropped.
    """
    everything = kept()
    parts = [_part(name, everything[name]) for name in order if name in everything]
    text = "\n\n".join(parts)
    MARKDOWN.write_text(f"# Results\n\n{text}\n", "utf-8")
    if PAGE.exists():
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", "utf-8")


def _part(name: str, found: Mapping[str, Any]) -> str:
    results = [Result(r["name"], r["value"], r["target"], r["detail"]) for r in found["results"]]
    packages = ", ".join(f"{package} {version}" for package, version in found["versions"].items())
    said = (
        f"{found['date']}, on {found['machine']}, load {found['load']} before it began, "
        f"{found['took_s']:.0f} s; {packages}."
    )
    return f"### {name}\n\n{table(results)}\n\n{said}"


def table(results: Sequence[Result]) -> str:
    """The results as a Markdown table."""
    verdicts = {True: "reached", False: "**missed**", None: ""}
    rows = [
        f"| {r.name} | {'–' if r.value is None else number(r.value)} | {_words(r.target)} "
        f"| {verdicts[r.reached]} | {r.detail} |"
        for r in results
    ]
    return "\n".join(["| measured | value | target | | from |", "|---|---|---|---|---|", *rows])


def number(value: float) -> str:
    """Three digits, and all digits of whole thousands."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _words(target: str) -> str:
    return target.replace("<=", "≤").replace(">=", "≥")
