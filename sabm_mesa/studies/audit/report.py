"""The report of an audit: tables, figures, and one text in Markdown and HTML."""

from __future__ import annotations

import json
import math
import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.minds.specs import by_spec
from sabm_mesa.recording.export import (
    make_folder,
    readable_json,
    write_csv,
    write_file,
    write_text_file,
)
from sabm_mesa.studies.audit.plan import MODEL, AuditPlan, Factor
from sabm_mesa.studies.audit.running import Audited
from sabm_mesa.studies.audit.verdicts import WORDS, Judged
from sabm_mesa.studies.experiments.claims import limits
from sabm_mesa.studies.experiments.design import Claim, experiment_names
from sabm_mesa.studies.experiments.figures import measure_name
from sabm_mesa.studies.experiments.plan import described
from sabm_mesa.studies.page import (
    Verbatim,
    estimate,
    fence,
    html_page,
    markdown,
    number,
    p_value,
)

FIGURES = "figures"
_COLOURS = {"for": style.GREEN, "against": style.VERMILLION, "": style.GREY}
_DETECTED = {"for": "claim detected", "against": "opposite detected", "": "neither detected"}
_MARKERS = {"for": "o", "against": "s", "": "D"}
_ROW = 0.19
"""The height of a row of levels in inches."""


def write(audited: Audited, folder: Path) -> list[Path]:
    """Write the report of an audit into its folder; each file is complete or not written.

    The same recording gives the same files, byte for byte.

    Args:
        audited: the audit.
        folder: the folder of its recording.

    Returns:
        The files: ``cells.csv``, ``claims.csv``, ``effects.csv`` (by claim and cell),
        ``by_seed.csv``, ``measures.csv``, ``figures/`` with a
        specification curve per claim as PNG, ``report.md``, ``report.html`` (one file that needs no
        other) and, last, ``summary.json``.

    Raises:
        OutputError: when a file cannot be written.
    """
    make_folder(folder / FIGURES)
    written: dict[Path, Callable[[Path], object]] = {
        folder / f"{name}.csv": partial(write_csv, frame=table)
        for name, table in tables(audited).items()
    }
    pictures = {f"claim-{n}": partial(curve, audited, n - 1) for n in _numbers(audited)}
    for name, draw in pictures.items():
        figure = draw()
        style.freeze_layout(figure)
        written[folder / FIGURES / f"{name}.png"] = partial(figure.savefig, dpi=style.DPI)
    done = [write_file(path, writing) for path, writing in written.items()]
    values = content(audited)
    links = {name: f"{FIGURES}/{name}.png" for name in pictures}
    drawn = {name: (folder / link).read_bytes() for name, link in links.items()}
    text = files(__package__).joinpath("audit.md.jinja").read_text("utf-8")
    texts = {
        "report.md": markdown(text, values, links),
        "report.html": html_page(values["title"], markdown(text, values), drawn),
        "summary.json": readable_json(audited.summary()) + "\n",
    }
    return [*done, *(write_text_file(folder / name, text) for name, text in texts.items())]


def _numbers(audited: Audited) -> range:
    return range(1, len(audited.judged) + 1)


def tables(audited: Audited) -> dict[str, pd.DataFrame]:
    """The tables of an audit, by the names of their files.

    Args:
        audited: the audit.
    """
    plan = audited.plan
    cells = _cells(plan)
    effects, claims = [], []
    for n, (claim, judged) in enumerate(audited.claims, 1):
        effects.append(
            cells.merge(judged.cells.assign(cell=judged.cells["cell"] + 1)).assign(claim=n)
        )
        claims.append({
            "claim": n, "text": claim.text, "verdict": judged.word, "why": judged.why,
            "effect": judged.effect, "low": judged.low, "high": judged.high,
            "smallest": judged.cells["effect"].min(), "largest": judged.cells["effect"].max(),
            "survives": judged.survives, "detected_for": judged.detected_for,
            "detected_against": judged.detected_against, "cells": len(judged.cells),
            "seeds": judged.n_seeds,
        })  # fmt: skip
    counted = {"by_seed": audited.effects, "measures": audited.measures}
    return {
        "cells": cells,
        "claims": pd.DataFrame(claims),
        "effects": _claim_first(pd.concat(effects, ignore_index=True)),
        **{name: table.assign(cell=table["cell"] + 1) for name, table in counted.items()},
    }


def _claim_first(table: pd.DataFrame) -> pd.DataFrame:
    return table[["claim", *table.columns.drop("claim")]]


def _cells(plan: AuditPlan) -> pd.DataFrame:
    rows = [(n + 1, *plan.cell_labels(n)) for n in range(len(plan.plans))]
    return pd.DataFrame(rows, columns=["cell", *(factor.name for factor in plan.factors)])


# The figure.


def curve(audited: Audited, index: int) -> Any:
    """The specification curve of a claim (Simonsohn, Simmons and Nelson 2020).

    Args:
        audited: the audit.
        index: the number of the claim, from 0.
    """
    claim, judged = audited.claims[index]
    plan = audited.plan
    table = judged.cells.sort_values("effect", kind="stable").reset_index(drop=True)
    rows = [(factor, level) for factor in plan.factors for level in range(len(factor.levels))]
    below = _ROW * (len(rows) + 1.5 * len(plan.factors))
    subtitle = f"{claim.text} {_sentence(_verdict_in_words(judged))} {plan.runs} seeds."
    title = f"{plan.experiment.name}, claim {index + 1}"
    figure = style.new_figure(title, subtitle, height=2.8 + below)
    top, bottom = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": [2.6, below], "hspace": 0.02}
    )
    _draw_effects(top, table, claim, audited)
    _draw_levels(bottom, table, plan)
    return figure


def _draw_effects(ax: Any, table: pd.DataFrame, claim: Claim, audited: Audited) -> None:
    style.plain_axes(ax, ylabel=_axis(claim, audited))
    for detected, name in _DETECTED.items():
        mine = table[table["detected"] == detected]
        if len(mine):
            ax.errorbar(
                mine.index, mine["effect"],
                yerr=[mine["effect"] - mine["low"], mine["high"] - mine["effect"]],
                fmt=_MARKERS[detected], color=_COLOURS[detected], ecolor=_COLOURS[detected],
                markersize=5, elinewidth=1.2, capsize=0, label=name,
            )  # fmt: skip
    for _, limit in limits(claim):
        ax.axhline(limit, color=style.BLACK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.tick_params(axis="x", length=0, labelbottom=False)
    style.add_legend(ax, loc="lower right", bbox_to_anchor=(1, 1), ncols=3)


def _draw_levels(ax: Any, table: pd.DataFrame, plan: AuditPlan) -> None:
    ticks: list[float] = []
    names: list[str] = []
    y = 0.0
    for column, factor in enumerate(plan.factors):
        ax.text(
            -0.01, y, factor.name, transform=ax.get_yaxis_transform(), ha="right", va="center",
            fontsize=style.TICK, fontweight="bold", parse_math=False,
        )  # fmt: skip
        for level, label in enumerate(factor.labels):
            y += 1
            ticks.append(y)
            names.append(label if len(label) <= 24 else f"{label[:23]}…")
            here = np.array(plan.levels)[table["cell"].to_numpy(), column] == level
            ax.plot(table.index, np.full(len(table), y), ".", color="#D8D8D8", markersize=4)
            ax.plot(table.index[here], np.full(here.sum(), y), "o", color=style.BLUE, markersize=5)
        y += 1.5
    style.plain_axes(ax, xlabel="Cell, in order of the effect")
    ax.set_yticks(ticks, names, fontsize=style.TICK, parse_math=False)
    ax.set_ylim(y - 0.8, -0.7)
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_xticks(table.index, [str(cell + 1) for cell in table["cell"]], fontsize=style.TICK)


def _axis(claim: Claim, audited: Audited) -> str:
    measure = audited.plan.experiment.measure(claim.measure)
    what = "Difference" if claim.than or claim.than_measure else "Median"
    return textwrap.fill(f"{what}: {measure_name(measure)}", 30)


# The text.


def content(audited: Audited) -> dict[str, Any]:
    """The values for the template of the report.

    Args:
        audited: the audit.
    """
    plan = audited.plan
    experiment = plan.experiment
    lines = commands(audited)
    return {
        "title": f"Audit of {experiment.name}: {experiment.title}",
        "lead": headline(audited),
        "decided": f"Decided by: {decided_by(plan)}.",
        "question": experiment.question,
        "warnings": warnings(audited),
        "claims": [_claim(audited, n) for n in _numbers(audited)],
        "factors": [factor.name for factor in plan.factors],
        "cells": [
            {"cell": n + 1, "levels": plan.cell_labels(n)} for n in range(len(plan.plans))
        ],
        "alpha": f"{100 * experiment.alpha:g} %",
        "design": design_in_words(plan),
        "left_out": [f"{name}, since {why}." for name, why in plan.left_out.items()],
        "facts": _facts(audited),
        "commands": [Verbatim(line) for line in lines],
        "fence": fence(lines),
    }  # fmt: skip


def headline(audited: Audited) -> str:
    """The number of claims with each verdict, in one sentence.

    Args:
        audited: the audit.
    """
    words = [judged.word for judged in audited.judged]
    counts = [f"{words.count(word)} {word}" for word in WORDS if word in words]
    claims = "1 claim" if len(words) == 1 else f"{len(words)} claims"
    return f"{claims} in {len(audited.plan.plans)} cells: {', '.join(counts)}."


def decided_by(plan: AuditPlan) -> str:
    """The minds that decide.

    Args:
        plan: the plan of the audit.
    """
    minds = [mind for cell in plan.plans for mind in cell.minds.values()]
    return " / ".join(dict.fromkeys(described(mind) for mind in minds))


def design_in_words(plan: AuditPlan) -> str:
    """The design in a sentence or two.

    Args:
        plan: the plan of the audit.
    """
    varied = ", ".join(f"{factor.name} ({len(factor.levels)})" for factor in plan.factors)
    return (
        f"Factors with their number of levels: {varied}. Cell 1 is the experiment as it is, and "
        "each other cell changes one factor."
    )


def warnings(audited: Audited) -> list[str]:
    """The warnings that a reader needs before the verdicts.

    Args:
        audited: the audit.
    """
    lines = list(dict.fromkeys(_sentence(judged.why) for judged in audited.judged if judged.why))
    if invalid := int(audited.all_runs["invalid"].sum()):
        asks = int(audited.all_runs["asks"].sum())
        lines.append(f"{invalid:,} of {asks:,} questions got no usable answer.")
    return lines


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _verdict_in_words(judged: Judged) -> str:
    if judged.word == "not judged":
        return judged.word
    return f"{judged.word}: on the claim's side in {judged.survives} of {len(judged.cells)} cells"


def said_of(audited: Audited, judged: Judged) -> str:
    """The verdict on a claim in a sentence, with the levels at which it does not hold.

    Args:
        audited: the audit.
        judged: the verdict.
    """
    where = " and ".join(changed(audited.plan, cell) for cell in judged.fragile_in)
    broken = f" It does not hold with {where}." if where and judged.word == "fragile" else ""
    why = f" {_sentence(judged.why)}" if judged.why else ""
    return f"{_sentence(_verdict_in_words(judged))}{broken}{why}"


def changed(plan: AuditPlan, cell: int) -> str:
    """The change of a cell, in words.

    Args:
        plan: the plan of the audit.
        cell: the number of the cell, from 0.
    """
    factor, level = plan.change(cell)
    return f"{factor} = {level}" if factor else "the experiment as it is"


def _claim(audited: Audited, n: int) -> dict[str, Any]:
    claim, judged = audited.claims[n - 1]
    total = len(judged.cells)
    smallest, largest = judged.cells["effect"].min(), judged.cells["effect"].max()
    return {
        "heading": f"Claim {n}",
        "text": claim.text,
        "word": judged.word,
        "word_said": said_of(audited, judged),
        "effect": estimate(judged.effect, judged.low, judged.high),
        "range": f"{number(smallest)} to {number(largest)}",
        "survives": f"{judged.survives} of {total}",
        "detected_for": f"{judged.detected_for} of {total}",
        "detected_against": f"{judged.detected_against} of {total}",
        "alt": f"Specification curve of the claim: {claim.text}",
        "picture": f"claim-{n}",
        "cells": [
            {
                "change": changed(audited.plan, int(row["cell"])),
                "effect": estimate(row["effect"], row["low"], row["high"]),
                "detected": "–"
                if judged.word == "not judged"
                else "fragile"
                if row["fragile"]
                else "yes"
                if row["shown"]
                else "no",
                "p": p_value(row["p_fragile"]),
            }
            for _, row in judged.cells.iterrows()
        ],
    }


def _facts(audited: Audited) -> list[tuple[str, str]]:
    plan, runs, paid_for = audited.plan, audited.runs, audited.all_runs
    paid = float(paid_for["paid_usd"].sum(skipna=False))
    n_earlier = len(paid_for) - len(runs)
    built_on = [("Earlier runs", f"{n_earlier}, the same for all cells")] if n_earlier else []
    seeds, n_conditions = plan.seeds, len(plan.experiment.conditions)
    parts = f"{len(plan.plans)} cells, {n_conditions} conditions, {plan.runs} seeds"
    return [
        ("Scenario", plan.experiment.scenario),
        ("Scale", plan.scale),
        ("Runs", f"{len(runs)}: {parts}"),
        *built_on,
        ("Seeds", f"{seeds[0]} to {seeds[-1]}"),
        ("Questions", f"{int(paid_for['asks'].sum()):,}"),
        ("Paid", "price unknown" if math.isnan(paid) else f"{paid:,.2f} dollars"),
        ("Recording", ", ".join(map(str, audited.paths))),
    ]


def commands(audited: Audited) -> list[str]:
    """The commands that resume this audit, and that repeat its runs.

    Args:
        audited: the audit.
    """
    plan = audited.plan
    name = plan.experiment.name
    words = ["sabm", "audit", name if name in experiment_names() else f"{name}.toml"]
    words += ["--scale", plan.scale, "--runs", str(plan.runs), "--seed", str(plan.seeds[0])]
    for factor in plan.factors:
        if factor.name == MODEL:
            words += [word for level in factor.levels for word in ("--minds", _spec(level))]
        else:
            words += ["--factor", f"{factor.name}={_levels(factor)}"]
    if not any(factor.name == MODEL for factor in plan.factors):
        words += _minds(plan)
    words += ["--out", str(audited.path.parent)]
    return [
        shlex.join(words),
        *(shlex.join(["sabm", "replay", str(path)]) for path in audited.paths),
    ]


def _minds(plan: AuditPlan) -> list[str]:
    first = plan.plans[0]
    given = {
        condition.name: _spec(first.minds[condition.name])
        for condition in plan.experiment.conditions
        if not condition.fork_of
    }
    if len(set(given.values())) == 1:
        return ["--minds", next(iter(given.values()))]
    return [word for name, spec in given.items() for word in ("--minds", f"{name}={spec}")]


def _levels(factor: Factor) -> str:
    plain = all(isinstance(level, str) and "," not in level for level in factor.levels)
    return ",".join(factor.levels) if plain else json.dumps(list(factor.levels))


def _spec(minds: Any) -> str:
    given: Mapping[str, int] | Sequence[str] | str = by_spec(minds)
    return given if isinstance(given, str) else json.dumps(given)
