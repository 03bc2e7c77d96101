"""Registration: the decisions on an experiment before its runs, with one hash and date.

A registration is one JSON file. It has the conditions with all their parameters, every prompt, the
measures, the claims and the primary one among them, the level, the number of runs, the rule that
leaves runs out, and rules on the language models that may decide. Its SHA-256 covers all of that,
so an edited file is detected. Later runs are compared with it: they are as registered, or each
deviation is named.

Labels, plots, notes and published figures are not compared, since they decide nothing; the version
of the package is named with the verdict.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pandas as pd
from pydantic import ValidationError

from sabm_mesa import __version__
from sabm_mesa.analysis.tests import MOST_RUNS, Of, runs_for_share
from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.parameters import check_int
from sabm_mesa.errors import ParameterError, RecordingError, UsageError
from sabm_mesa.llm import Connection
from sabm_mesa.llm.endpoints import how_to_pin, pinned_to
from sabm_mesa.llm.prices import provider_at
from sabm_mesa.minds.specs import (
    by_spec,
    files_of,
    is_local,
    language_model,
    map_minds,
    model_and_endpoint,
)
from sabm_mesa.recording import RecordedRun, load_runs
from sabm_mesa.recording.export import make_folder, readable_json, write_text_file
from sabm_mesa.recording.statistics import origins
from sabm_mesa.studies.experiments.claims import (
    Verdict,
    estimand_of,
    measured,
    runs_to_tell,
    verdicts,
)
from sabm_mesa.studies.experiments.design import (
    COMPARED,
    Claim,
    Entry,
    Experiment,
    experiment_names,
    published_models,
)
from sabm_mesa.studies.experiments.plan import Plan, specs_of, with_pending_run
from sabm_mesa.studies.experiments.running import EARLIER, RECORDING, Outcome
from sabm_mesa.studies.page import Verbatim, markdown, p_in_words

FILE, TEXT = "registration.json", "registration.md"
KIND = "registration of an experiment, by sabm-mesa"
DEPOSIT = ("identifier", "sha256")
"""The entries of a deposit."""
HASH = 12
"""The displayed length of the hash; the file has all 64 characters."""
ANY_MODEL = "eligible model"
"""Replaces each language model among the minds of a condition."""
MOST_WORDS = 6
"""The maximum number of words of a changed text in a deviation."""
_DAY = re.compile(r"(?<!\d)(20\d\d)-?(0[1-9]|1[0-2])-?([0-2]\d|3[01])(?!\d)")

Prompts = Mapping[str, Mapping[str, tuple[str, str]]]
"""Condition → prompt entry → (hash, text)."""


@dataclass(frozen=True)
class Eligible:
    """A rule on language models that may decide; all its parts must hold.

    Attributes:
        model: a pattern of the model's name, with ``*`` for any characters.
        provider: the name of its provider in the price table, otherwise the host of the address; a
            pinned provider is ``NAME/PINNED``, of which ``NAME`` is enough; ``""``: any.
        since: the first day of the model's version, as ``YYYY-MM-DD``; ``""``: any.
        until: the last day.
    """

    model: str = "*"
    provider: str = ""
    since: str = ""
    until: str = ""

    @classmethod
    def read(cls, text: str) -> Eligible:
        """A rule from its text: ``gpt-6*``, or ``provider=openai since=2026-10-01``.

        Raises:
            ParameterError: for an invalid rule.
        """
        given: dict[str, str] = {}
        for word in text.split():
            name, equals, value = word.partition("=")
            name, value = (name, value) if equals else ("model", word)
            if name not in {"model", "provider", "since", "until"} or not value or name in given:
                raise ParameterError(
                    f"A rule on models has the words model=PATTERN, provider=NAME, since=DAY and "
                    f"until=DAY, each at most once, not {text!r}."
                )
            if name in {"since", "until"} and not _is_day(value):
                raise ParameterError(f"{name} takes a day such as 2026-10-01, not {value!r}.")
            given[name] = value
        if not given:
            raise ParameterError("A rule on models is empty: name one, such as model=gpt-6*.")
        return cls(**given)

    def __str__(self) -> str:
        words = (f"{name}={value}" for name, value in vars(self).items() if value)
        return " ".join(words)

    def why_not(self, model: str, provider: str) -> str:
        """Why a model is not eligible; ``""`` when it is.

        Args:
            model: its name.
            provider: its provider.
        """
        if not fnmatchcase(model, self.model):
            return f"its name is not {self.model}"
        if self.provider and not f"{provider}/".startswith(f"{self.provider}/"):
            return f"its provider is {provider or 'not known'}, not {self.provider}"
        if self.since or self.until:
            day = version_day(model)
            if not day:
                return "the day of its version is not known"
            if self.since and day < self.since:
                return f"its version is of {day}, before {self.since}"
            if self.until and day > self.until:
                return f"its version is of {day}, after {self.until}"
        return ""


def version_day(model: str) -> str:
    """The day of a model's version, from its name or from the list of successors; or ``""``.

    Args:
        model: the name of the model.
    """
    match = _DAY.search(model)
    if match is None:
        named = (
            successor for known in published_models().values() for successor in known.successors
        )
        of_model = (successor for successor in named if successor.startswith(f"{model} (20"))
        match = next((day for successor in of_model if (day := _DAY.search(successor))), None)
    return "-".join(match.groups()) if match else ""


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def provider_of(spec: str, connection: Connection, extra: Mapping[str, Any]) -> str:
    """The provider of a language model, from its address and its pin.

    Args:
        spec: the spec of the mind.
        connection: how language models are reached.
        extra: the fields that its runs add to a request.

    Raises:
        UsageError: for an unknown endpoint.
    """
    if is_local(spec):
        return "local"
    rest = spec.partition(":")[2]
    model, named = model_and_endpoint(rest)
    endpoint = connection.endpoint(named or None)
    provider = provider_at(endpoint.base_url)
    pinned = pinned_to(endpoint.base_url, model, {**endpoint.extra_body, **extra})
    return f"{provider}/{pinned}" if pinned else provider


def _extra_of(plan: Plan, spec: str) -> Mapping[str, Any]:
    """The fields that the runs of a language model add to its requests."""
    given = ({**cell.parameters, **cell.changes} for cell in plan.cells)
    mine = (parameters for parameters in given if spec in specs_of(parameters["minds"]))
    return next(
        (parameters["extra_body"] for parameters in mine if parameters.get("extra_body")), {}
    )


def check_pinned(plan: Plan, connection: Connection) -> None:
    """Check that no endpoint of a plan chooses by itself which provider answers.

    Args:
        plan: the experiment.
        connection: how language models are reached.

    Raises:
        ParameterError: for such an endpoint that is not pinned to one provider.
    """
    for cell in plan.cells:
        given = {**cell.parameters, **cell.changes}
        for spec in specs_of(given["minds"]):
            kind, _, rest = spec.partition(":")
            if kind != "llm":
                continue
            model, named = model_and_endpoint(rest)
            endpoint = connection.endpoint(named or None)
            extra = {**endpoint.extra_body, **(given.get("extra_body") or {})}
            if how := how_to_pin(endpoint.base_url, model, extra):
                raise ParameterError(
                    f"{spec}: {endpoint.where} chooses by itself which provider answers, so that "
                    f"nobody knows which model decided: pin one ({how})."
                )


@dataclass(frozen=True)
class Registration:
    """A registration.

    Attributes:
        content: its content, as JSON values.
        path: its file.
        deposit: the ``identifier`` of its deposit, and the SHA-256 of the deposited content
            (``sha256``); empty without a deposit. It is not part of the content and the hash.
    """

    content: Mapping[str, Any]
    path: Path = field(default=Path(FILE), compare=False)
    deposit: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def digest(self) -> str:
        """The SHA-256 of the content, as 64 hexadecimal digits."""
        whole = json.dumps(self.content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(whole.encode()).hexdigest()

    @property
    def registered(self) -> str:
        """The time of registration (ISO 8601, UTC)."""
        return str(self.content["registered"])

    @property
    def primary(self) -> Claim:
        """The primary claim."""
        return Claim.model_validate(_from_json(self.content["primary"]))

    @property
    def eligible(self) -> list[Eligible]:
        """The rules on language models; a model must meet one of them."""
        return [Eligible.read(rule) for rule in self.content["eligible"]]

    def __str__(self) -> str:
        day = self.registered[:16].replace("T", " ")
        return f"registered on {day} UTC, SHA-256 {self.digest[:HASH]}"


def register(
    plan: Plan,
    connection: Connection,
    *,
    claim: int | None = None,
    eligible: Sequence[str] = (),
    sample_size: str = "",
    max_invalid: float | None = None,
    notes: Sequence[str] = (),
) -> Registration:
    """Freeze an experiment before its runs.

    Args:
        plan: the experiment, with its scale, runs, seeds and minds.
        connection: how language models are reached; nothing is sent.
        claim: the number of the primary claim, from 1; None if there is only one.
        eligible: rules on the language models that may decide (see `Eligible.read`); by default
            those of the plan, at their providers.
        sample_size: a sentence on the choice of the number of runs.
        max_invalid: the share of questions without a usable answer above which a run is left out
            of the primary test; None: no run is left out.
        notes: further decisions, in words.

    Raises:
        UsageError: for a claim, a rule, a share or an endpoint that cannot be used, and for too few
            runs.
    """
    primary = _primary(plan.experiment, claim)
    alpha = plan.experiment.alpha
    fewest = estimand_of(plan.experiment, primary).fewest_runs(alpha / 2)
    if not fewest or plan.runs < fewest:
        takes = f"it takes {fewest} or more (--runs)" if fewest else "no number of runs would do"
        raise ParameterError(
            f"With {plan.runs} runs a condition the primary claim cannot be detected at the level "
            f"{alpha:g}, whatever comes out: {takes}."
        )
    if max_invalid is not None and not 0 <= max_invalid < 1:
        raise ParameterError(f"max_invalid is a share from 0 to below 1 (got {max_invalid:g}).")
    check_pinned(plan, connection)
    rules = [Eligible.read(rule) for rule in eligible] or [
        _as_rule(spec, provider_of(spec, connection, _extra_of(plan, spec)))
        for spec in language_models_of(plan)
    ]
    for spec in language_models_of(plan):
        if why := _not_eligible(spec, rules, plan, connection):
            raise ParameterError(f"{spec} could not decide by its own registration: {why}.")
    content = {
        "what": KIND,
        "registered": datetime.now(UTC).replace(microsecond=0).isoformat(),
        "version": __version__,
        "experiment": plan.experiment.name,
        "title": plan.experiment.title,
        "question": plan.experiment.question,
        "scale": plan.scale,
        "sample_size": sample_size or "chosen without a calculation of power",
        "eligible": [str(rule) for rule in rules],
        "max_invalid": max_invalid,
        "notes": list(notes),
        "primary": _entry(primary),
        "frozen": frozen(plan),
        "prompts": _as_json(prompts_of(plan, connection)),
    }
    return Registration(json_roundtrip(content))


def _primary(experiment: Experiment, claim: int | None) -> Claim:
    n = len(experiment.claims)
    if not n:
        raise ParameterError(
            f"{experiment.name} has no claim, so that nothing can be registered: add a [[claims]]."
        )
    if claim is None and n > 1:
        listed = "; ".join(
            f"{i} {listed_claim.text}" for i, listed_claim in enumerate(experiment.claims, 1)
        )
        raise ParameterError(f"Name the primary claim of {experiment.name} (--claim): {listed}")
    number = check_int("claim", claim or 1, 1)
    if number > n:
        have = "1 claim" if n == 1 else f"{n} claims"
        raise ParameterError(f"{experiment.name} has {have} (got --claim {number}).")
    return experiment.claims[number - 1]


def frozen(plan: Plan) -> dict[str, Any]:
    """All parts of a plan that determine its runs and tests, except the prompts.

    Args:
        plan: the experiment.

    Returns:
        JSON values; each language model is replaced by `ANY_MODEL`.
    """
    experiment = plan.experiment
    conditions = {}
    for condition in experiment.conditions:
        cell = next(cell for cell in plan.cells if cell.condition == condition.name)
        model = plan.model_of(cell.fork_of or condition.name)
        on = model.builds_on
        hidden = {"minds", "prompts"} | ({on.parameter} if on else set())
        parameters = model.identity({**cell.parameters, "minds": "classical"})
        changes = {k: v for k, v in cell.changes.items() if k not in hidden}
        conditions[condition.name] = {
            "scenario": model.scenario_name,
            "minds": by_spec(map_minds(plan.minds[condition.name], _any_model)),
            "parameters": {k: v for k, v in parameters.items() if k not in hidden},
            **({"continues": cell.fork_of, "from_round": cell.at} if cell.fork_of else {}),
            **({"changes": changes} if changes else {}),
            **({"builds_on": condition.builds_on} if condition.builds_on else {}),
            **({"files": digests} if (digests := _digests(plan.minds[condition.name])) else {}),
        }
    if plan.earlier is not None:
        before = frozen(plan.earlier)["condition"]
        conditions |= {f"{EARLIER}/{name}": condition for name, condition in before.items()}
    content: dict[str, Any] = json_roundtrip(
        {
            "runs": plan.runs,
            "seed": plan.seeds[0],
            "alpha": experiment.alpha,
            "condition": conditions,
            "group": {group.name: list(group.conditions) for group in experiment.groups},
            "measure": {measure.name: _entry(measure) for measure in experiment.measures},
            "claim": {
                str(n): _entry(condition) for n, condition in enumerate(experiment.claims, 1)
            },
        }
    )
    return content


def _digests(minds: Any) -> dict[str, str]:
    """Spec → the first digits of the SHA-256 of its file, for minds from files."""
    return {spec: digest[:HASH] for spec, digest in files_of(minds).items()}


def _any_model(mind: Any) -> Any:
    return ANY_MODEL if isinstance(mind, str) and language_model(mind) else mind


def _entry(entry: Entry) -> dict[str, Any]:
    """The relevant part of an entry, without labels, sources and default values."""
    given = entry.model_dump(exclude={"label", "source", "ours", "unit"})
    fields = type(entry).model_fields
    return {
        name: _number(value)
        for name, value in given.items()
        if value != fields[name].default and not (isinstance(value, float) and math.isnan(value))
    }


def _number(value: Any) -> Any:
    """A value of an entry, with infinity as a word, since JSON lacks it."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _from_json(entry: Mapping[str, Any]) -> dict[str, Any]:
    words = {"inf": math.inf, "-inf": -math.inf}
    return {"source": "", **{k: words.get(v, v) if isinstance(v, str) else v
                             for k, v in entry.items()}}  # fmt: skip


def prompts_of(plan: Plan, connection: Connection) -> Prompts:
    """The prompts of each condition, before any run.

    Args:
        plan: the experiment.
        connection: how language models are reached; nothing is sent.
    """
    books: dict[str, Mapping[str, tuple[str, str]]] = {}
    for condition in plan.experiment.conditions:
        cell = next(cell for cell in plan.cells if cell.condition == condition.name)
        given = with_pending_run(plan, cell, connection, minds="classical")
        model = plan.model_of(cell.fork_of or condition.name)(
            **{**given, "minds": "fixed:0"}, rng=cell.seed, recording=False
        )
        personas = {agent.persona for agent in model.population}
        books[condition.name] = model.book.with_hashes(personas)
        model.close()
    if plan.earlier is not None:
        before = prompts_of(plan.earlier, connection)
        books |= {f"{EARLIER}/{name}": book for name, book in before.items()}
    return books


def _as_json(prompts: Prompts) -> dict[str, Any]:
    texts = {digest: text for book in prompts.values() for digest, text in book.values()}
    hashes = {
        name: {entry: digest for entry, (digest, _) in book.items()}
        for name, book in prompts.items()
    }
    return {"condition": hashes, "texts": texts}


def _as_rule(spec: str, provider: str) -> Eligible:
    """The rule that only one language model at its provider meets."""
    name = re.sub(r"\s", "?", glob.escape(language_model(spec)))
    return Eligible(model=name, provider=provider)


def language_models_of(plan: Plan) -> list[str]:
    """The specs of the language models that decide in a plan.

    Args:
        plan: the experiment.
    """
    specs = [spec for minds in plan.minds.values() for spec in specs_of(minds)]
    return list(dict.fromkeys(spec for spec in specs if language_model(spec)))


def _not_eligible(spec: str, rules: Sequence[Eligible], plan: Plan, connection: Connection) -> str:
    """Why a language model meets none of the rules; ``""`` when it meets one."""
    provider = provider_of(spec, connection, _extra_of(plan, spec))
    why = [rule.why_not(language_model(spec), provider) for rule in rules]
    return "" if "" in why else "; ".join(dict.fromkeys(why)) or "no language model is registered"


def write(registration: Registration, folder: Path) -> list[Path]:
    """Write a registration: the file, and a text to deposit it with.

    Args:
        registration: the registration.
        folder: the folder of the experiment.

    Raises:
        RecordingError: when a registration or a recording exists already.
        OutputError: when a file cannot be written.
    """
    check_new(folder)
    make_folder(folder)
    return [
        _write(registration, folder / FILE),
        write_text_file(folder / TEXT, deposit_text(registration)),
    ]


def _write(registration: Registration, path: Path) -> Path:
    whole = {
        "sha256": registration.digest,
        "deposit": dict(registration.deposit),
        "content": registration.content,
    }
    return write_text_file(path, readable_json(whole) + "\n")


def write_deposit(folder: Path, identifier: str) -> Registration:
    """Record the deposit of the registration of a folder; its hash stays the same.

    Args:
        folder: the folder of the experiment.
        identifier: the identifier of the deposit, such as a DOI.

    Raises:
        ParameterError: when there is no registration, or it has another deposit already.
        OutputError: when the file cannot be written.
    """
    if not identifier.strip() or not identifier.isprintable():
        raise ParameterError("--deposit takes the identifier of the deposit, such as its DOI.")
    registration = read(folder / FILE)
    if registration.deposit and registration.deposit["identifier"] != identifier:
        raise ParameterError(
            f"{registration.path} was deposited as {registration.deposit['identifier']} already, "
            "and a deposit is never changed."
        )
    made = replace(registration, deposit={"identifier": identifier, "sha256": registration.digest})
    _write(made, registration.path)
    return made


def check_new(folder: Path) -> None:
    """Check that nothing was registered or run in a folder.

    Args:
        folder: the folder of the experiment.

    Raises:
        RecordingError: when something was.
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


def read(path: Path) -> Registration:
    """Read a registration.

    Args:
        path: its file.

    Raises:
        ParameterError: when it cannot be read, or was edited.
    """
    try:
        whole = json.loads(path.read_text("utf-8"))
        deposit = {k: str(whole["deposit"][k]) for k in DEPOSIT} if whole.get("deposit") else {}
        registration = Registration(whole["content"], path, deposit)
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
            f"the file says {recorded_hash[:HASH]}…. Take the file as it was deposited."
        )
    try:
        registration.primary, registration.eligible  # noqa: B018 - refuse what a later step could not use
    except (ValidationError, UsageError, KeyError) as error:
        raise ParameterError(f"{path} cannot be used: {error}.") from None
    return registration


def find(folder: Path) -> Registration | None:
    """The registration in the folder of an experiment, or None.

    Args:
        folder: the folder.

    Raises:
        ParameterError: when it cannot be read, or was edited.
    """
    return read(folder / FILE) if (folder / FILE).exists() else None


def deviations(
    registration: Registration, plan: Plan, connection: Connection, prompts: Sequence[Prompts] = ()
) -> list[str]:
    """The deviations of a plan from a registration, one line each.

    Args:
        registration: the registration.
        plan: the experiment.
        connection: how language models are reached.
        prompts: the used prompts; by default those of the plan.

    Raises:
        ParameterError: when the registration is of another experiment, or an endpoint chooses
            providers by itself.
    """
    content = registration.content
    if content["experiment"] != plan.experiment.name:
        raise ParameterError(
            f"{registration.path} registers {content['experiment']}, not {plan.experiment.name}."
        )
    check_pinned(plan, connection)
    deviating = list(_differences(content["frozen"], frozen(plan), ()))
    used = prompts or [prompts_of(plan, connection)]
    lines = (line for book in used for line in _of_prompts(content["prompts"], book))
    deviating += dict.fromkeys(lines)
    for spec in language_models_of(plan):
        if why := _not_eligible(spec, registration.eligible, plan, connection):
            deviating.append(f"model {spec}: not eligible, since {why}")
    return deviating


def _differences(old: Any, new: Any, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*old, *new)):
            yield from _differences(old.get(name), new.get(name), (*path, name))
    elif old != new:
        where = " ".join(part for part in path if part != "parameters")
        if old is None or new is None:
            given = old if new is None else new
            what = "" if isinstance(given, Mapping) else f" {_said(given)}"
            yield f"{where}:{what} {'left out' if new is None else 'not registered'}"
        else:
            yield f"{where}: {_said(new)}, registered {_said(old)}"


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _of_prompts(registered: Mapping[str, Any], prompts: Prompts) -> Iterator[str]:
    """The changed prompt entries, each with its changed words and its conditions."""
    changed: dict[str, list[str]] = {}
    for name, book in prompts.items():
        before = registered["condition"].get(name)
        if before is None:
            continue  # the condition itself is named already
        for entry in dict.fromkeys((*before, *book)):
            digest, text = book.get(entry, ("", ""))
            if before.get(entry, "") != digest:
                was = registered["texts"].get(before.get(entry, ""), "")
                changed.setdefault(f"prompt {entry}: {_words(was, text)}", []).append(name)
    for line, names in changed.items():
        yield f"{line} ({', '.join(names)})"


def _words(old: str, new: str) -> str:
    """The first words in which a text differs."""
    before, after = old.split(), new.split()
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            was, now = _few(before[a:b]), _few(after[c:d])
            if kind == "insert":
                return f"“{now}” added"
            return f"“{was}” left out" if kind == "delete" else f"“{now}” instead of “{was}”"
    return "other spaces or lines"


def _few(words: Sequence[str]) -> str:
    more = " …" if len(words) > MOST_WORDS else ""
    return " ".join(words[:MOST_WORDS]) + more


@dataclass(frozen=True)
class Standing:
    """Runs beside their registration.

    Attributes:
        registration: the registration.
        deviations: one line each; none when everything is as registered.
        primary: the verdict on the primary claim; None when its measure or condition is missing.
        excluded: the seeds whose runs were left out of the primary test.
        attempts: the other folders with runs of the experiment, one line each.
        version: the version of the package.
    """

    registration: Registration
    deviations: Sequence[str]
    primary: Verdict | None
    excluded: Sequence[int] = ()
    attempts: Sequence[str] = ()
    version: str = __version__

    @property
    def line(self) -> str:
        """The verdict line: as registered, or the number and list of deviations."""
        if not self.deviations:
            return f"As registered ({self.registration})."
        n = len(self.deviations)
        several = "1 deviation" if n == 1 else f"{n} deviations"
        return f"Not as registered ({self.registration}): {several}. {'. '.join(self.deviations)}."

    def lines(self) -> list[str]:
        """The verdict line, the primary claim, and the version if it differs."""
        lines = [self.line]
        if self.primary is not None:
            alpha = self.registration.content["frozen"]["alpha"]
            why = f"; {self.primary.why}" if self.primary.why else ""
            lines.append(
                f"Primary claim: {self.primary.word} ({p_in_words(self.primary.p)}, one test at "
                f"the level {alpha:g}{why}): {self.primary.claim.text}"
            )
        if self.excluded:
            share = self.registration.content["max_invalid"]
            lines.append(
                f"Left out of the primary test: the runs of the seeds "
                f"{', '.join(map(str, self.excluded))}, since in one of them more than "
                f"{100 * share:g} % of the questions got no usable answer."
            )
        if self.registration.deposit:
            lines.append(f"Deposited as {self.registration.deposit['identifier']}.")
        if self.attempts:
            lines.append(f"Other runs of this experiment: {'; '.join(self.attempts)}.")
        if self.version != (before := self.registration.content["version"]):
            lines.append(f"Run with sabm-mesa {self.version}, registered with {before}.")
        return lines

    def summary(self) -> dict[str, Any]:
        """The same in a form for JSON."""
        primary = self.primary
        return {
            "registered": self.registration.registered,
            "sha256": self.registration.digest,
            "as_registered": not self.deviations,
            "deviations": list(self.deviations),
            "excluded_seeds": list(self.excluded),
            "deposit": dict(self.registration.deposit),
            "other_runs": list(self.attempts),
            "primary": None
            if primary is None
            else {"claim": primary.claim.text, "verdict": primary.word, "p": primary.p},
        }


def judge(registration: Registration, outcome: Outcome, connection: Connection) -> Standing:
    """Compare runs with their registration, and judge the primary claim as it was registered.

    Args:
        registration: the registration.
        outcome: the runs.
        connection: how language models are reached.

    Raises:
        UsageError: as by `deviations`.
        RecordingError: when the recording cannot be read.
    """
    every = load_runs(outcome.path)
    mine = set(outcome.runs["run"].astype(int))
    recorded = [run for run in every if run.run in mine]
    used = _recorded_prompts(outcome, recorded)
    before = outcome.earlier
    if before is not None:
        of_earlier = load_runs(before.path, sorted(set(before.runs["run"].astype(int))))
        used[0] = {**used[0], **_recorded_prompts(before, of_earlier, f"{EARLIER}/")[0]}
    deviating = deviations(registration, outcome.plan, connection, used)
    early = [run for run in recorded if run.started[:19] < registration.registered[:19]]
    if early:
        runs = "1 run" if len(early) == 1 else f"{len(early)} runs"
        deviating.append(
            f"{runs} began before the registration, the first on {early[0].started[:10]}"
        )
    others = [run for run in every if run.run not in mine]
    if others:
        runs = "1 run" if len(others) == 1 else f"{len(others)} runs"
        seeds = sorted({seed for run in others for seed in run.seed})
        span = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        deviating.append(f"{runs} more in the recording, with the seeds {span}, that do not count")
    deviating += _several_served(outcome.path, [run.run for run in recorded])
    if (
        deposited := registration.deposit.get("sha256", registration.digest)
    ) != registration.digest:
        deviating.append(
            f"the deposit {registration.deposit['identifier']} has the SHA-256 {deposited[:HASH]}…"
        )
    excluded = _excluded(registration.content["max_invalid"], outcome.runs)
    verdict = _verdict(registration, outcome, excluded)
    return Standing(registration, deviating, verdict, excluded, other_attempts(outcome.path.parent))


def other_attempts(folder: Path) -> list[str]:
    """The runs of the same experiment in sibling folders, such as discarded attempts.

    Args:
        folder: the folder of an experiment; its siblings are ``../../*/NAME`` with the same name.

    Returns:
        One line per folder: its name, number of runs, seeds and first day.
    """
    home = folder.resolve()
    places = sorted(home.parent.parent.glob(f"*/{glob.escape(home.name)}/{RECORDING}"))
    return [_attempt(path) for path in places if path.parent != home]


def _attempt(path: Path) -> str:
    where = f"{path.parent.parent.name}/{path.parent.name}"
    try:
        runs_there = load_runs(path)
    except RecordingError:
        return f"{where} (its recording cannot be read)"
    if not runs_there:
        return f"{where} (no runs)"
    seeds, day = (
        sorted({seed for run in runs_there for seed in run.seed}),
        min(r.started for r in runs_there),
    )
    runs = "1 run" if len(runs_there) == 1 else f"{len(runs_there)} runs"
    span = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{where} ({runs}, {span}, from {day[:10]})"


def _recorded_prompts(
    outcome: Outcome, recorded: Sequence[RecordedRun], prefix: str = ""
) -> list[Prompts]:
    """The prompts of the runs: one set if all runs of each condition had the same."""
    by_run = {run.run: run for run in recorded}
    seen = set()
    whole: dict[str, Mapping[str, tuple[str, str]]] = {}
    others: list[Prompts] = []
    for name, number in zip(outcome.runs["condition"], outcome.runs["run"], strict=True):
        condition = f"{prefix}{name}"
        run = by_run[int(number)]
        hashes = run.prompts_at(len(run.forks))
        key = (condition, *sorted(hashes.items()))
        if key in seen:
            continue
        seen.add(key)
        book = {entry: (digest, run.texts[digest]) for entry, digest in hashes.items()}
        if condition in whole:
            others.append({condition: book})
        else:
            whole[condition] = book
    return [whole, *others]


def _several_served(path: Path, runs: Sequence[int]) -> Iterator[str]:
    """The language models with answers from several providers or several models."""
    answers = [origin for origin in origins(path, runs) if origin.get("model")]
    for mind in dict.fromkeys(answer["mind"] for answer in answers):
        for name, what in (("provider", "providers"), ("served_model", "models")):
            mine = [answer.get(name) for answer in answers if answer["mind"] == mind]
            several = list(dict.fromkeys(str(answer) for answer in mine if answer))
            if len(several) > 1:
                yield f"model {mind}: {len(several)} {what} answered, {' and '.join(several)}"


def _excluded(share: float | None, runs: pd.DataFrame) -> list[int]:
    if share is None:
        return []
    out = runs[runs["invalid"] > share * runs["asks"]]
    return sorted({int(seed) for seed in out["seed"]})


def _verdict(
    registration: Registration, outcome: Outcome, excluded: Sequence[int]
) -> Verdict | None:
    """The verdict on the primary claim alone, at the registered level."""
    claim, experiment = registration.primary, outcome.plan.experiment
    names = {condition.name for condition in experiment.conditions}
    names |= {group.name for group in experiment.groups}
    measures = {measure.name for measure in experiment.measures}
    if not {claim.condition, claim.than or claim.condition} <= names or not {
        claim.measure, claim.than_measure or claim.measure
    } <= measures:  # fmt: skip
        return None
    alpha = registration.content["frozen"]["alpha"]
    alone = experiment.model_copy(update={"claims": (claim,), "alpha": alpha})
    judged = replace(outcome, plan=replace(outcome.plan, experiment=alone))
    values = measured(judged)
    return verdicts(judged, values[~values["seed"].isin(excluded)])[0]


def runs_by_pilot(plan: Plan, claim: int | None, pilot: Path, power: float) -> int:
    """The number of runs that the primary claim needs, if the truth is as the runs of a pilot are.

    Args:
        plan: the experiment.
        claim: the number of the primary claim, from 1.
        pilot: the folder with the report of the pilot, for its ``measures.csv``.
        power: the power.

    Raises:
        ParameterError: when the pilot cannot be used, or no number of runs is enough.
    """
    primary, path = _primary(plan.experiment, claim), Path(pilot) / "measures.csv"
    try:
        values = pd.read_csv(path)
    except (OSError, ValueError):
        raise ParameterError(
            f"There is no table of measures {path}: a pilot is a folder that sabm reproduce wrote."
        ) from None
    columns = {"condition", "seed", "measure", "value"}
    known = set(values["measure"]) if columns <= set(values.columns) else set()
    if primary.measure not in known:
        raise ParameterError(f"{path} does not have the measure {primary.measure}.")
    needed = runs_to_tell(plan.experiment, primary, values, power)
    if needed is None:
        raise ParameterError(
            f"The runs of {pilot} do not show how many runs the primary claim needs: there are "
            f"fewer than 2, their seeds differ, or it takes more than {MOST_RUNS} runs. Give the "
            "number (--runs)."
        )
    return needed


def runs_by_effect(plan: Plan, claim: int | None, effect: float, power: float) -> int:
    """The number of runs that the primary claim needs for an effect of a stated size.

    The measure is assumed to be normal, and the claim to be about a median: the power of its sign
    test follows from the binomial distribution.

    Args:
        plan: the experiment.
        claim: the number of the primary claim, from 1.
        effect: the smallest relevant effect, in standard deviations: of the differences within
            pairs of runs, or of the measure if the claim is about one condition.
        power: the power.

    Raises:
        ParameterError: for an effect or a kind of claim that has none.
    """
    primary = _primary(plan.experiment, claim)
    if not effect > 0 or not math.isfinite(effect):
        raise ParameterError(f"An effect is a number of standard deviations above 0 ({effect:g}).")
    if primary.kind not in {"less", "more", "below", "above"}:
        raise ParameterError(
            f'A claim of the kind "{primary.kind}" has no effect: give the number of runs (--runs) '
            "or a pilot (--pilot)."
        )
    share = NormalDist().cdf(effect)
    needed = runs_for_share(share, plan.experiment.alpha / 2, power)
    if needed is None:
        raise ParameterError(f"An effect of {effect:g} standard deviations takes too many runs.")
    return needed


def deposit_text(registration: Registration) -> str:
    """The registration in words, in the order of the questions of AsPredicted and of OSF.

    Args:
        registration: the registration.
    """
    stated = registration.content
    alpha, frozen_ = stated["frozen"]["alpha"], stated["frozen"]
    share = stated["max_invalid"]
    excluded = (
        "No run is left out."
        if share is None
        else f"A run in which more than {100 * share:g} % of the questions got no usable answer is "
        "left out of the primary test, and with it the runs of its seed in other conditions."
    )
    primary = registration.primary
    content = {
        "title": stated["title"],
        "name": stated["experiment"],
        "reproduced": stated["experiment"]
        if stated["experiment"] in experiment_names()
        else f"{stated['experiment']}.toml",
        "question": stated["question"],
        "sha256": Verbatim(registration.digest),
        "registered": stated["registered"],
        "version": stated["version"],
        "primary": primary.text,
        "test": in_words(primary, alpha, _quantity(primary, frozen_["measure"])),
        "claims": [
            claim["text"] for claim in frozen_["claim"].values() if claim != stated["primary"]
        ],
        "conditions": [
            {
                "name": name,
                "scenario": condition["scenario"],
                "minds": _said(condition["minds"]),
                "set": ", ".join(f"{k} = {_said(v)}" for k, v in condition["parameters"].items()),
            }
            for name, condition in frozen_["condition"].items()
        ],
        "measures": [
            _measure_in_words(name, measure) for name, measure in frozen_["measure"].items()
        ],
        "runs": frozen_["runs"],
        "seed": frozen_["seed"],
        "last_seed": frozen_["seed"] + frozen_["runs"] - 1,
        "sample_size": stated["sample_size"],
        "alpha": f"{alpha:g}",
        "eligible": stated["eligible"],
        "excluded": excluded,
        "notes": stated["notes"],
        "n_prompts": len(stated["prompts"]["texts"]),
    }  # fmt: skip
    template = files(__package__).joinpath("registration.md.jinja").read_text("utf-8")
    return markdown(template, content)


def _measure_in_words(name: str, frozen: Mapping[str, Any]) -> str:
    """A frozen measure: its columns, its rounds, and the value that it takes of them."""
    known = {"name", "take", "columns", "rounds"}
    text = f"{name}: {frozen.get('take', 'mean')} of {', '.join(frozen['columns'])}"
    if "rounds" in frozen:
        first, last = frozen["rounds"]
        one = {0: "in the first round", -1: "in the last round"}
        among = f"in the rounds {first} to {last} (from 0; -1 is the last)"
        text += f", {one.get(first, among) if first == last else among}"
    rest = [f"{key} = {_said(value)}" for key, value in frozen.items() if key not in known]
    return ", ".join([text, *rest])


def _quantity(claim: Claim, measures: Mapping[str, Mapping[str, Any]]) -> Of:
    """The quantity of a registered claim: as `of_claim`, for frozen measures."""
    share = measures.get(claim.measure, {}).get("take") == "share"
    return claim.estimand or ("mean" if share else "median")


def in_words(claim: Claim, alpha: float, of: Of) -> str:
    """The test of a claim in a sentence.

    Args:
        claim: the claim.
        alpha: the level.
        of: its quantity.
    """
    where = f"{claim.measure} in {claim.condition}"
    other = " ".join(
        filter(None, (claim.than_measure or claim.measure, claim.than and f"in {claim.than}"))
    )
    what = {
        "below": f"{where} is below {claim.value:g}",
        "above": f"{where} is above {claim.value:g}",
        "within": f"{where} is from {claim.low:g} to {claim.high:g}",
        "less": f"{where} is less than {other}",
        "more": f"{where} is more than {other}",
        "like": f"{where} is that of {other}, up to {claim.margin:g}",
        "equal_effects": f"the difference of {where} and {other} is that of "
        f"{' and '.join(claim.other_effect)}"
        + (f", up to {claim.margin:g}" if claim.margin else ""),
        "trend": f"{where} is {'below' if claim.falling else 'above'} {claim.value:g}",
    }[claim.kind]
    how = {
        "median": "of the median, by the sign test",
        "share": "of the share of runs, by the binomial test",
        "mean": "of the mean of a measure with bounds, by bets (Waudby-Smith and Ramdas 2024)",
    }[of]
    pairs = "; runs with the same seed are pairs" if claim.kind in COMPARED else ""
    return (
        f"{what}: {how}{pairs}; in both directions, two-sided p at most {alpha:g}. The unit is the "
        "run. It is the only primary test, so no correction is needed."
    )
