"""What a benchmark found, as a table and as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sabm_mesa.provenance import versions


@dataclass(frozen=True)
class Result:
    """One number.

    Attributes:
        name: what was measured.
        value: the number: a ratio, unless the name says otherwise.
        target: what it has to reach, such as ``"<= 1.10"``; ``""`` without one.
        detail: what it was computed from.
    """

    name: str
    value: float
    target: str = ""
    detail: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; None without one."""
        if not self.target:
            return None
        sign, limit = self.target.split()
        return self.value <= float(limit) if sign == "<=" else self.value >= float(limit)


def table(results: Sequence[Result]) -> str:
    """The results as a Markdown table."""
    verdicts = {True: "reached", False: "**missed**", None: ""}
    rows = [
        f"| {r.name} | {r.value:.3g} | {r.target} | {verdicts[r.reached]} | {r.detail} |"
        for r in results
    ]
    return "\n".join(["| measured | value | target | | from |", "|---|---|---|---|---|", *rows])


def write(results: Sequence[Result], path: Path) -> None:
    """Write the results with machine, versions and date, as JSON and as Markdown beside it."""
    found: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "versions": versions(),
        "results": [{**asdict(r), "reached": r.reached} for r in results],
    }
    path.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    packages = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    head = f"# Results of {found['date']}\n\nOn {found['machine']}, with {packages}.\n\n"
    path.with_suffix(".md").write_text(f"{head}{table(results)}\n", "utf-8")
