"""What was run: minds, parameters, versions, prompts, costs, and the command that repeats it."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from sabm_mesa.experiments import reading
from sabm_mesa.experiments.report.drawings import runs_in_words
from sabm_mesa.experiments.results import Results
from sabm_mesa.minds import Minds, by_spec
from sabm_mesa.recording.past import Past, pasts

HASH = 12
"""Letters of the hash of all prompts: as many as a recording keeps of the hash of each."""


def facts(results: Results) -> list[tuple[str, str]]:
    """What was run, as names and values."""
    plan, own, runs = results.outcome.plan, results.outcome.runs, results.outcome.all_runs
    first = _first_runs(results)
    versions = dict.fromkeys(item for past in first.values() for item in past.versions.items())
    asks, invalid = int(runs["asks"].sum()), int(runs["invalid"].sum())
    taken = ", those that forks took over counted again" if runs["parent"].notna().any() else ""
    tokens = int(runs["prompt_tokens"].sum()), int(runs["completion_tokens"].sum())
    paid = float(runs["paid_usd"].sum(skipna=False))
    found = [
        ("Scenario", plan.experiment.scenario),
        ("Scale", f"{plan.scale}: {runs_in_words(plan.runs)}, {len(own)} in all"),
        ("Seeds", _span(plan.seeds)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions)),
    ]
    if (parties := results.outcome.parties) is not None:
        held = "1 run" if len(parties.runs) == 1 else f"{len(parties.runs)} runs"
        told = f"{held} of {parties.plan.experiment.name} before; all that follows counts them, too"
        found.append(("Parties", told))
    found.append(("Questions", f"{asks:,}, {invalid:,} of them without a usable answer{taken}"))
    if any(tokens):
        found += [
            ("Tokens", f"{tokens[0]:,} sent, {tokens[1]:,} received"),
            (
                "Paid",
                "not known: a price is missing" if math.isnan(paid) else f"{paid:.2f} dollars",
            ),
        ]
    started, ended = (str(time)[:16].replace("T", " ") for time in
                      (runs["started"].min(), runs["ended"].max()))  # fmt: skip
    return [*found, ("Run", f"from {started} to {ended} UTC")]


def conditions(results: Results) -> list[dict[str, str]]:
    """The conditions with their parameters and minds."""
    plan = results.outcome.plan
    minds = results.minds()
    told = []
    for each in plan.experiment.conditions:
        cell = next(cell for cell in plan.cells if cell.condition == each.name)
        changed = {k: v for k, v in cell.parameters.items() if k not in {"minds", "party"}}
        words = _set(changed) or "none"
        if memories := cell.parameters.get("party"):
            words += f"; remembers the party {each.party or memories.reference}"
        if cell.fork_of:
            trunk = plan.experiment.condition(cell.fork_of).label
            words = f"the runs of “{trunk}” up to round {cell.at}, then {_set(cell.changes)}"
        told.append(
            {"name": each.name, "label": each.label, "minds": minds[each.name], "set": words}
        )
    return told


def prompts(results: Results) -> pd.DataFrame:
    """The prompts of the first run of each condition.

    Returns:
        ``entry``, ``hash`` of its template (the beginning of its SHA-256, as recorded), and
        ``condition``, one row a condition and entry; an entry that a fork changes has two rows in
        its condition.
    """
    rows = []
    for condition, past in _first_runs(results).items():
        books = [past.prompts, *(fork["prompts"] or {} for fork in past.forks)]
        found = {(entry, digest) for book in books for entry, digest in book.items()}
        rows += [(entry, digest, condition) for entry, digest in sorted(found)]
    return pd.DataFrame(rows, columns=["entry", "hash", "condition"])


def prompt_table(results: Results) -> dict[str, Any]:
    """The prompts that differ between conditions, and a sentence on all."""
    found = prompts(results)
    known = results.outcome.plan.experiment.conditions
    by_text: dict[tuple[str, str], list[str]] = {}
    for _, row in found.iterrows():
        by_text.setdefault((row["entry"], row["hash"]), []).append(row["condition"])
    shared = {key for key, using in by_text.items() if len(using) == len(known)}
    lines = "".join(f"{entry} {digest}\n" for entry, digest in sorted(by_text))
    whole = hashlib.sha256(lines.encode()).hexdigest()[:HASH]
    few = "" if len(shared) == len(by_text) else "; the others are below"
    return {
        "prompts_said": (
            f"{len(shared)} of {len(by_text)} prompt entries are the same in all conditions{few}. "
            f"Hashes of all are in prompts.csv; the hash of these together begins with {whole}."
        ),
        "prompts": [
            {
                "entry": entry,
                "hash": digest,
                "conditions": ", ".join(each.label for each in known if each.name in using),
            }
            for (entry, digest), using in sorted(by_text.items())
            if (entry, digest) not in shared
        ],
    }


def commands(results: Results) -> list[str]:
    """The commands that go on with these runs, and that repeat them."""
    plan, path = results.outcome.plan, results.outcome.path
    name = plan.experiment.name
    words = ["sabm", "reproduce", name if name in reading.names() else f"{name}.toml"]
    words += ["--scale", plan.scale, "--runs", str(plan.runs), "--seed", str(plan.seeds[0])]
    trunks = [each.name for each in plan.experiment.conditions if not each.fork_of]
    minds = {trunk: _spec(plan.minds[trunk]) for trunk in trunks}
    if len(set(minds.values())) == 1:
        words += ["--minds", minds[trunks[0]]]
    else:
        words += [word for trunk in trunks for word in ("--minds", f"{trunk}={minds[trunk]}")]
    if _in_its_folder(results):
        words += ["--out", str(path.parent.parent)]
    return [shlex.join(words), shlex.join(["sabm", "replay", str(path)])]


def repeat(results: Results) -> str:
    """What the commands do."""
    anew = "runs the experiment anew, in a folder of its own"
    first = "runs what is missing and writes this report anew" if _in_its_folder(results) else anew
    absolute = results.outcome.path.is_absolute()
    where = "" if absolute else "Both in the folder from which it was run. "
    second = "repeats all runs as they were recorded, asking nobody"
    return f"{where}The first {first}; the second {second}."


def _in_its_folder(results: Results) -> bool:
    """Whether the recording is where ``sabm reproduce`` puts it."""
    return results.outcome.path.parent.name == results.outcome.plan.experiment.name


def _spec(minds: Minds) -> str:
    """Minds as the command line reads them."""
    given = by_spec(minds)
    if isinstance(given, str):
        return given
    counts = given if isinstance(given, Mapping) else Counter(given)
    return json.dumps(dict(counts))


def _first_runs(results: Results) -> dict[str, Past]:
    """The first run of each condition, as recorded; conditions without a difference share runs."""
    first = results.outcome.runs.drop_duplicates("condition").set_index("condition")["run"]
    numbers = sorted({int(run) for run in first})
    found = {past.run: past for past in pasts(results.outcome.path, numbers)}
    return {str(condition): found[run] for condition, run in first.items()}


def _span(seeds: Sequence[int]) -> str:
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"


def _set(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_value(value)}" for name, value in parameters.items())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
