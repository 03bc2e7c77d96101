"""Registration: the plan of an experiment, frozen before its runs.

A registration is one JSON file: the conditions with all their parameters, minds and prompts, the
measures, the claims and the primary one among them, the level and the number of runs. Its SHA-256
covers all of that, so an edited file is detected. Later runs are compared with it: they are as
registered, or each deviation is named.

Labels, plots, notes and published figures are not compared, since they decide nothing; the version
of the package is named with the verdict.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sabm_mesa import __version__
from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm import Connection
from sabm_mesa.llm.prices import provider_at
from sabm_mesa.minds.specs import by_spec, files_of, map_minds, model_and_endpoint
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.export import make_folder, readable_json, write_file
from sabm_mesa.studies.experiments.claims import Entry
from sabm_mesa.studies.experiments.results import Verdict, measured, verdicts
from sabm_mesa.studies.experiments.running import (
    EARLIER,
    RECORDING,
    Outcome,
    Plan,
    with_pending_run,
)
from sabm_mesa.studies.page import p_in_words

FILE = "registration.json"
KIND = "registration of an experiment, by sabm-mesa"
HASH = 12
"""The displayed length of the hash; the file has all 64 characters."""


@dataclass(frozen=True)
class Registration:
    """A registration: its content, as JSON values, and its file."""

    content: Mapping[str, Any]
    path: Path = field(default=Path(FILE), compare=False)

    @property
    def digest(self) -> str:
        """The SHA-256 of the content, as 64 hexadecimal digits."""
        whole = json.dumps(self.content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(whole.encode()).hexdigest()

    def __str__(self) -> str:
        day = self.content["registered"][:16].replace("T", " ")
        return f"registered on {day} UTC, SHA-256 {self.digest[:HASH]}"


def register(plan: Plan, connection: Connection, claim: int | None = None) -> Registration:
    """Freeze an experiment before its runs.

    The claim is the number of the primary one, from 1; it may be None if there is only one.

    Raises:
        UsageError: for a claim that cannot be used, and for too few runs.
    """
    experiment = plan.experiment
    listed = [f"{n} {claim.text.rstrip('.')}" for n, claim in enumerate(experiment.claims, 1)]
    if claim is None and len(listed) > 1:
        raise ParameterError(
            f"Name the primary claim of {experiment.name} (--claim): {'; '.join(listed)}"
        )
    number = claim or 1
    if not 0 < number <= len(listed):
        raise ParameterError(
            f"{experiment.name} has no claim {number}; its claims: {'; '.join(listed) or 'none'}"
        )
    primary = experiment.claims[number - 1]
    fewest = experiment.estimand(primary).fewest_runs(experiment.alpha / 2)
    if not fewest or plan.runs < fewest:
        takes = f"it takes {fewest} or more (--runs)" if fewest else "no number of runs would do"
        raise ParameterError(
            f"With {plan.runs} runs a condition the primary claim cannot be detected at the level "
            f"{experiment.alpha:g}, whatever comes out: {takes}."
        )
    content = {
        "what": KIND,
        "registered": datetime.now(UTC).replace(microsecond=0).isoformat(),
        "version": __version__,
        "experiment": experiment.name,
        "title": experiment.title,
        "question": experiment.question,
        "scale": plan.scale,
        "primary": primary.text,
        "frozen": {**frozen(plan, connection), "primary": number},
        "texts": {
            digest: text for book in prompts_of(plan).values() for digest, text in book.values()
        },
    }
    return Registration(json_roundtrip(content))


def frozen(plan: Plan, connection: Connection) -> dict[str, Any]:
    """All parts of a plan that determine its runs and tests, as JSON values."""

    def at_provider(spec: str) -> str:
        kind, _, rest = spec.partition(":")
        if kind != "llm":
            return spec
        endpoint = connection.endpoint(model_and_endpoint(rest)[1] or None)
        return f"{spec} ({provider_at(endpoint.base_url)})"

    experiment, conditions, prompts = plan.experiment, {}, prompts_of(plan)
    for condition in experiment.conditions:
        cell = plan.first(condition.name)
        model = plan.model_of(cell.fork_of or condition.name)
        on = model.study.builds_on
        hidden = {"minds", "prompts"} | ({on.parameter} if on else set())
        parameters = model.identity({**cell.parameters, "minds": "classical"})
        minds = plan.minds[condition.name]
        conditions[condition.name] = {
            "scenario": model.scenario_name,
            "minds": map_minds(by_spec(minds), at_provider),
            "parameters": {k: v for k, v in parameters.items() if k not in hidden},
            "continues": cell.fork_of,
            "from_round": cell.at,
            "changes": {k: v for k, v in cell.changes.items() if k not in hidden},
            "builds_on": condition.builds_on,
            "files": {spec: digest[:HASH] for spec, digest in files_of(minds).items()},
            "prompt": {entry: digest for entry, (digest, _) in prompts[condition.name].items()},
        }
    if plan.earlier is not None:
        before = frozen(plan.earlier, connection)["condition"]
        conditions |= {f"{EARLIER}/{name}": condition for name, condition in before.items()}
    content: dict[str, Any] = json_roundtrip(
        {
            "runs": plan.runs,
            "seed": plan.seeds[0],
            "alpha": experiment.alpha,
            "condition": conditions,
            "group": {group.name: list(group.conditions) for group in experiment.groups},
            "measure": {measure.name: _entry(measure) for measure in experiment.measures},
            "claim": {str(n): _entry(claim) for n, claim in enumerate(experiment.claims, 1)},
        }
    )
    return content


def _entry(entry: Entry) -> dict[str, Any]:
    """The relevant part of an entry, without labels, sources and default values."""
    given = entry.model_dump(exclude={"label", "source", "ours", "unit"})
    fields = type(entry).model_fields
    return {
        name: str(value) if isinstance(value, float) and math.isinf(value) else value
        for name, value in given.items()
        if value != fields[name].default and not (isinstance(value, float) and math.isnan(value))
    }


def prompts_of(plan: Plan) -> Mapping[str, Mapping[str, tuple[str, str]]]:
    """Condition → prompt entry → (hash, text), before any run."""
    books = {}
    for condition in plan.experiment.conditions:
        cell = plan.first(condition.name)
        given = with_pending_run(plan, cell, Connection(), minds="classical")
        model = plan.model_of(cell.fork_of or condition.name)(
            **{**given, "minds": "fixed:0"}, rng=cell.seed, recording=False
        )
        personas = {agent.persona for agent in model.population}
        books[condition.name] = model.book.with_hashes(personas)
        model.close()
    return books


def write(registration: Registration, folder: Path) -> Path:
    """Write the file of a registration.

    Raises:
        RecordingError: when a registration or a recording exists already.
        OutputError: when the file cannot be written.
    """
    if (folder / FILE).exists():
        raise RecordingError(
            f"{folder / FILE} already exists, and a registration is never changed: choose "
            "another folder (--out)."
        )
    if load_runs(folder / RECORDING, missing_ok=True):
        raise RecordingError(
            f"{folder / RECORDING} holds runs, and a registration comes before them: choose "
            "another folder (--out)."
        )
    make_folder(folder)
    whole = {"sha256": registration.digest, "content": registration.content}
    return write_file(folder / FILE, readable_json(whole) + "\n")


def read(path: Path) -> Registration:
    """Read a registration.

    Raises:
        ParameterError: when it cannot be read, or was edited.
    """
    try:
        whole = json.loads(path.read_text("utf-8"))
        registration = Registration(whole["content"], path)
        recorded_hash, known = str(whole["sha256"]), registration.content["what"] == KIND
    except OSError as error:
        raise ParameterError(f"Cannot read {path}: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise ParameterError(f"{path} is not a registration: sabm register writes one.")
    if recorded_hash != registration.digest:
        raise ParameterError(
            f"{path} was edited: its content has the SHA-256 {registration.digest[:HASH]}…, and "
            f"the file says {recorded_hash[:HASH]}…. Take the file as it was registered."
        )
    return registration


def deviations(registration: Registration, plan: Plan, connection: Connection) -> list[str]:
    """The deviations of a plan from a registration, one line each.

    Raises:
        ParameterError: when the registration is of another experiment.
    """
    content = registration.content
    if content["experiment"] != plan.experiment.name:
        raise ParameterError(
            f"{registration.path} registers {content['experiment']}, not {plan.experiment.name}."
        )
    now = {**frozen(plan, connection), "primary": content["frozen"]["primary"]}
    return list(_differences(content["frozen"], now, ()))


def _differences(old: Any, new: Any, path: tuple[str, ...]) -> Iterator[str]:
    where = " ".join(part for part in path if part != "parameters")
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*old, *new)):
            yield from _differences(old.get(name), new.get(name), (*path, name))
    elif old is None or new is None:
        if old != new:
            yield f"{where}: {'left out' if new is None else 'not registered'}"
    elif old != new:
        said = (v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in (new, old))
        yield f"{where}: {', registered '.join(said)}"


@dataclass(frozen=True)
class Standing:
    """Runs beside their registration: deviations, and the verdict on the primary claim."""

    registration: Registration
    deviations: list[str]
    primary: Verdict

    def lines(self) -> list[str]:
        """The verdict line, the primary claim, and the version if it differs."""
        line, content = f"As registered ({self.registration}).", self.registration.content
        if self.deviations:
            line = (
                f"Not as registered ({self.registration}), deviations: {len(self.deviations)}. "
                f"{'. '.join(self.deviations)}."
            )
        why = f"; {self.primary.why}" if self.primary.why else ""
        test = f"{p_in_words(self.primary.p)}, one test at the level {content['frozen']['alpha']:g}"
        claim = f"{self.primary.word} ({test}{why}): {self.primary.claim.text}"
        lines = [line, f"Primary claim: {claim}"]
        if content["version"] != __version__:
            lines.append(f"Run with sabm-mesa {__version__}, registered with {content['version']}.")
        return lines

    def summary(self) -> dict[str, Any]:
        """The same in a form for JSON."""
        primary = {"verdict": self.primary.word, "p": self.primary.p}
        return {
            "registered": self.registration.content["registered"],
            "sha256": self.registration.digest,
            "as_registered": not self.deviations,
            "deviations": self.deviations,
            "primary": {"claim": self.primary.claim.text, **primary},
        }


def judge(registration: Registration, outcome: Outcome, connection: Connection) -> Standing:
    """Compare runs with their registration, and judge the primary claim alone.

    Raises:
        UsageError: as by `deviations`.
        RecordingError: when the recording cannot be read.
    """
    content, plan = registration.content, outcome.plan
    deviating = deviations(registration, plan, connection)
    mine = set(outcome.runs["run"].astype(int))
    early = int((outcome.runs["started"].str[:19] < content["registered"][:19]).sum())
    if early:
        deviating.append(f"runs that began before the registration: {early}")
    if others := [run for run in load_runs(outcome.path) if run.run not in mine]:
        deviating.append(f"further runs in the recording, which do not count: {len(others)}")
    claims = plan.experiment.claims
    claim = claims[min(content["frozen"]["primary"], len(claims)) - 1]
    only = {"claims": (claim,), "alpha": content["frozen"]["alpha"]}
    alone = replace(outcome, plan=replace(plan, experiment=plan.experiment.model_copy(update=only)))
    return Standing(registration, deviating, verdicts(alone, measured(alone))[0])
