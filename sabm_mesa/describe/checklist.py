"""A reporting checklist for language models in empirical research, filled from a recording.

The items are those of GUIDE-LLM, in our own words (``checklist.toml``). Each has a template of what
the scenario or the recording says, and the parts that only the author can write.

Source: Feuerriegel et al. 2026, "A Consensus-Based Reporting Checklist for Large Language Models in
Behavioral and Social Science", version 1.0, https://llm-checklist.com.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined

from sabm_mesa.describe.rendering import table
from sabm_mesa.describe.subject import Subject, of_recording, of_scenario
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.specs import is_local, language_model
from sabm_mesa.models.base import SmartModel
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.rows import AskRow, columns

KNOWN, PARTLY, OPEN, NONE = "known", "partly", "not known", "does not apply"
"""The answer is complete, needs an addition, is missing, or does not apply."""
_SETTINGS = (
    "temperature", "top_p", "max_tokens", "max_thought_tokens", "reasoning_effort", "extra_body",
    "answer_format", "max_attempts",
)  # fmt: skip
NO_ASKS = pd.DataFrame(columns=columns(AskRow))
"""The asks of a scenario before its runs."""


@cache
def checklist_texts() -> Mapping[str, Any]:
    """The name of the checklist, and its items."""
    text = files("sabm_mesa.describe").joinpath("checklist.toml").read_text("utf-8")
    return tomllib.loads(text)


def checklist(
    model: type[SmartModel], parameters: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The checklist of a scenario before its runs.

    Args:
        model: the model class.
        parameters: the parameters that differ from the defaults.

    Returns:
        ``name`` of the checklist, ``recording`` (``""``), and ``items``: for each its ``number``,
        what it ``asks``, ``status`` (known, partly, not known, does not apply), ``answer``, and
        what is ``left`` to the author.

    Raises:
        UsageError: for parameters that cannot be used.
    """
    return _filled(of_scenario(model, dict(parameters or {})))


def checklist_of_recording(path: str | Path, runs: Sequence[int] | None = None) -> dict[str, Any]:
    """The checklist of recorded runs, as `checklist` returns it.

    Args:
        runs: the numbers of the runs, of one scenario; those of the latest command when None.

    Raises:
        RecordingError: when the recording cannot be read, or has no such run.
        UsageError: when the runs are of different scenarios, or cannot be rebuilt.
    """
    subject = of_recording(path, runs)
    asks = Recorded(path).asks()
    return _filled(subject, asks[asks["run"].isin(subject.numbers)])


def checklist_as_markdown(filled: Mapping[str, Any]) -> str:
    """A checklist in Markdown, for the supplement of a paper.

    Args:
        filled: as `checklist` returns it.
    """
    counts = dict.fromkeys((KNOWN, PARTLY, OPEN, NONE), 0)
    for item in filled["items"]:
        counts[item["status"]] += 1
    states = ", ".join(f"{n} {status}" for status, n in counts.items() if n)
    head = f"{filled['name']}, for {filled['of']}: {states}."
    rows = [["item", "asked", "status", "what the runs say", "for the author to add"]]
    rows += [
        [item["number"], item["asks"], item["status"], item["answer"], item["left"]]
        for item in filled["items"]
    ]
    return f"# Reporting checklist\n\n{head}\n\n{table(rows)}\n"


def _filled(subject: Subject, asks: pd.DataFrame = NO_ASKS) -> dict[str, Any]:
    texts, facts = checklist_texts(), _facts(subject, asks)
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, autoescape=False)
    items = []
    for number, item in texts["items"].items():
        template = environment.from_string(item.get("answer", ""))
        answer, left = " ".join(template.render(facts).split()), item["left"]
        if not facts["models"] and not item.get("without_models"):
            status, answer, left = NONE, "No language model decides.", ""
        elif not answer:
            status = OPEN
        else:
            status = PARTLY if left else KNOWN
        items.append(
            {"number": number, "asks": item["asks"], "status": status, "answer": answer,
             "left": left}
        )  # fmt: skip
    of = subject.recording or f"the scenario {subject.scenario.scenario_name}"
    return {"name": texts["name"], "of": of, "recording": subject.recording, "items": items}


def _facts(subject: Subject, asks: pd.DataFrame) -> dict[str, Any]:
    """The facts of the templates of answers."""
    specs = list(dict.fromkeys(spec for population in subject.minds for spec in population))
    models = [spec for spec in specs if language_model(spec)]
    of_models = asks[asks["mind"].map(language_model) != ""]
    provenances = [json.loads(text) for text in of_models["provenance"].dropna().unique()]
    given, book = subject.parameters, subject.model.book
    places = [*(spec.partition("@")[2] for spec in models), subject.connection.get("base_url")]
    cost = asks["cost_usd"].sum(skipna=False)
    return {
        **given,
        "name": subject.scenario.scenario_name,
        "title": subject.scenario.title,
        "recording": subject.recording,
        "versions": [f"{package} {number}" for package, number in subject.versions.items()],
        "n_runs": len(subject.numbers),
        "runs": [f"{k}: {text}" for k, text in subject.runs.items() if k.startswith("run")],
        "begun_on": subject.runs.get("begun on"),
        "varied": subject.varied,
        "agents": [f"{n} of {spec}" for minds in subject.minds for spec, n in minds.items()],
        "specs": specs,
        "models": models,
        "people": HUMAN in specs,
        "local": all(map(is_local, models)),
        "places": list(dict.fromkeys(str(place) for place in places if place)),
        "served": sorted({*of_models["served_model"]} - {""}),
        "provenance": {
            name.replace("_", " "): sorted({str(p[name]) for p in provenances if p.get(name)})
            for name in ("provider", "system_fingerprint")
        },
        "settings": [f"{name} {given[name]}" for name in _SETTINGS if given.get(name) is not None],
        "mended": {
            spec: json.dumps(mended["sent"], ensure_ascii=False)
            for spec, mended in subject.mended.items()
        },
        "entries": len(book.entries),
        "wordings": list(book.variants),
        "hash": book.digest(
            {agent.persona for agent in subject.model.population} if subject.numbers else None
        ),
        "answers": len(asks),
        "exact": (asks["read_as"] == "exact").sum(),
        "unusable": (~asks["valid"]).sum(),
        "prompt_tokens": f"{asks['prompt_tokens'].sum():,}",
        "answer_tokens": f"{asks['completion_tokens'].sum():,}",
        "cost": "cost not known" if math.isnan(cost) else f"{cost:.4g} dollars",
        "waited": f"{asks['latency_s'].sum():.3g}",
    }
