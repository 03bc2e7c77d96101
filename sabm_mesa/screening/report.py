"""The report of a screening: tables, drawings, and one text in Markdown and HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from sabm_mesa.analysis.plots import image
from sabm_mesa.errors import one_line
from sabm_mesa.experiments.report.page import page
from sabm_mesa.recording.outputs import DPI, make_folder, write_whole, write_words
from sabm_mesa.recording.past import Past, pasts
from sabm_mesa.screening.battery import Published
from sabm_mesa.screening.drawings import Drawing, answers, drawings
from sabm_mesa.screening.running import Screening
from sabm_mesa.screening.scores import Score, as_frame

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$@!#]|:(?=//)|(?<=www)\.)")


def write(screening: Screening, scores: Sequence[Score], folder: Path) -> list[Path]:
    """Write all that is said of a screening, each file whole or not at all.

    Args:
        screening: the answers.
        scores: what they say.
        folder: where the recordings are.

    Returns:
        The measures with the published numbers (CSV), single answers (CSV), the drawings (PNG),
        and the report (Markdown, HTML). Measures and report are named after the set of tests:
        ``screening``, ``commons-screening``.

    Raises:
        OutputError: when a file cannot be written.
    """
    make_folder(folder)
    battery = screening.battery
    drawn = drawings(screening, scores)
    said = content(screening, scores, drawn)
    pictures: dict[str, Callable[[Path], object]] = {
        f"{each.name}.png": partial(each.figure.savefig, dpi=DPI) for each in drawn
    }
    tables: dict[str, Callable[[Path], object]] = {
        name: partial(table.to_csv, index=False)
        for name, table in {
            f"{battery.stem}.csv": as_frame(scores, battery.published), **answers(screening)
        }.items()
    }  # fmt: skip
    written = [write_whole(folder / name, put) for name, put in (tables | pictures).items()]
    text = markdown(said, {each.name: f"{each.name}.png" for each in drawn})
    inside = markdown(said, {each.name: f"picture:{each.name}" for each in drawn})
    html = page(battery.title, inside, {each.name: image.png(each.figure) for each in drawn})
    return [
        *written,
        write_words(folder / f"{battery.stem}.md", text),
        write_words(folder / f"{battery.stem}.html", html),
    ]


def content(
    screening: Screening, scores: Sequence[Score], drawn: Sequence[Drawing]
) -> dict[str, Any]:
    """What the template is given.

    Args:
        screening: the answers.
        scores: what they say.
        drawn: the drawings.
    """
    first, battery = _recorded(screening), screening.battery
    versions = dict.fromkeys(item for past in first for item in past.versions.items())
    last = screening.seeds[-1]
    return {
        "title": battery.title,
        "source": battery.source,
        "about": battery.about,
        "published": _published(battery.published, ""),
        "pictures": [each for each in drawn if not each.test],
        "minds": [
            {"mind": mind, "words": [passed(each) for each in scores if each.mind == mind]}
            for mind in screening.minds
        ],
        "tests": [
            {
                "title": test.title,
                "rule": test.rule,
                "scores": [_row(each) for each in scores if each.test == test],
                "published": _published(battery.published, test.name),
                "pictures": [each for each in drawn if each.test == test.name],
            }
            for test in battery.tests
        ],
        "facts": [
            ("Runs of each test and mind", str(len(screening.seeds))),
            ("Seeds", f"{screening.seeds[0]} to {last}" if len(screening.seeds) > 1 else str(last)),
            ("Versions", ", ".join(f"{name} {version}" for name, version in versions)),
        ],
        "prompts": _prompts(screening, first),
    }


def markdown(said: Mapping[str, Any], addresses: Mapping[str, str]) -> str:
    """The text in Markdown; nothing that is put into the template can act as Markdown or HTML.

    Args:
        said: what it says.
        addresses: name of a drawing → its address.
    """
    environment = Environment(
        finalize=_plain, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined,
        autoescape=False,
    )  # fmt: skip
    source = files(__package__).joinpath("screening.md.jinja").read_text("utf-8")
    text = environment.from_string(source).render(**said, address=addresses.__getitem__)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def passed(score: Score) -> str:
    """Whether a mind passed a test, in a word."""
    return "passes" if score.passes else "fails"


def dollars(cost: float) -> str:
    """A cost in dollars; a word when it is not known."""
    if math.isnan(cost):
        return "price unknown"
    return f"${cost:.4f}" if cost else "nothing"


def _row(score: Score) -> dict[str, str]:
    return {
        "mind": score.mind,
        "passed": passed(score),
        "found": score.words,
        "asks": f"{score.measures['asks']:,.0f}",
        "invalid": f"{score.measures['invalid']:,.0f}",
        "paid": dollars(score.measures["cost_usd"]),
    }


def _published(known: Sequence[Published], test: str) -> list[Published]:
    return [each for each in known if each.test == test]


def _recorded(screening: Screening) -> list[Past]:
    """All runs, as recorded."""
    return [
        past
        for name, path in screening.recordings.items()
        for past in pasts(path, [int(run) for run in screening.frames[name]["runs"]["run"]])
    ]


def _prompts(screening: Screening, recorded: Sequence[Past]) -> list[dict[str, str]]:
    """The prompt entries that were put to the minds, with their hashes."""
    of_path = {screening.recordings[test.name]: test for test in screening.battery.tests}
    rows = []
    for past in recorded:
        test = of_path[past.path]
        asked = screening.frames[test.name]["decisions"]["name"].unique()
        rows += [
            (test.title, entry, past.prompts[entry])
            for entry in ("scenario", *asked)
            if entry in past.prompts
        ]
    return [
        {"test": test, "entry": entry, "hash": digest}
        for test, entry, digest in dict.fromkeys(rows)
    ]


def _plain(value: Any) -> Any:
    """A text in which nothing acts as Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", one_line(value)) if isinstance(value, str) else value
