"""A reporting checklist for language models in empirical research, filled from a recording.

The items are those of GUIDE-LLM (``checklist.toml``), in our own words. Each has the facts of the
scenario or the recording, and the parts that only the author can write.

Source: Feuerriegel et al. 2026, "A Consensus-Based Reporting Checklist for Large Language Models in
Behavioral and Social Science", version 1.0, https://llm-checklist.com.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sabm_mesa.describe.rendering import plain, table
from sabm_mesa.describe.subject import Subject, of_recording, of_scenario
from sabm_mesa.minds.human import HUMAN
from sabm_mesa.minds.specs import is_local, language_model
from sabm_mesa.models.base import SmartModel
from sabm_mesa.recording.statistics import Alike, alike

KNOWN, PARTLY, OPEN, NONE = "known", "partly", "not known", "does not apply"
"""The answer is complete, needs an addition, is missing, or does not apply."""
_SETTINGS = (
    "temperature", "top_p", "max_tokens", "max_thought_tokens", "reasoning_effort", "extra_body",
    "answer_format", "max_attempts",
)  # fmt: skip


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
    return _filled(_Facts(of_scenario(model, dict(parameters or {}))))


def checklist_of_recording(path: str | Path, runs: Sequence[int] | None = None) -> dict[str, Any]:
    """The checklist of recorded runs.

    Args:
        path: the recording.
        runs: the numbers of the runs, of one scenario; those of the latest command when None.

    Returns:
        As `checklist`.

    Raises:
        RecordingError: when the recording cannot be read, or has no such run.
        UsageError: when the runs are of different scenarios, or cannot be rebuilt.
    """
    from sabm_mesa.recording import load_runs

    recorded = load_runs(path, runs)
    if runs is None:
        recorded = [run for run in recorded if run.command == recorded[-1].command]
    asks = alike(path, [run.run for run in recorded])
    connection = recorded[0].connection
    return _filled(_Facts(of_recording(path, runs), asks, connection, len(recorded)))


def checklist_as_text(filled: Mapping[str, Any]) -> str:
    """A checklist as plain text.

    Args:
        filled: as `checklist` returns it.
    """
    parts = [_head(filled)]
    for item in filled["items"]:
        parts.append(f"{item['number']} {item['asks']}: {item['status']}")
        parts += [plain({"here": item["answer"]})] if item["answer"] else []
        parts += [plain({"yours": item["left"]})] if item["left"] else []
    return "\n".join(parts)


def checklist_as_markdown(filled: Mapping[str, Any]) -> str:
    """A checklist in Markdown, for the supplement of a paper.

    Args:
        filled: as `checklist` returns it.
    """
    rows = [["item", "asked", "status", "what the runs say", "for the author to add"]]
    rows += [
        [item["number"], item["asks"], item["status"], item["answer"], item["left"]]
        for item in filled["items"]
    ]
    return f"# Reporting checklist\n\n{_head(filled)}\n\n{table(rows)}\n"


def _head(filled: Mapping[str, Any]) -> str:
    counts = dict.fromkeys((KNOWN, PARTLY, OPEN, NONE), 0)
    for item in filled["items"]:
        counts[item["status"]] += 1
    states = ", ".join(f"{n} {status}" for status, n in counts.items() if n)
    return f"{filled['name']}, for {filled['of']}: {states}."


class _Facts:
    """The facts in a scenario or a recording."""

    def __init__(
        self,
        subject: Subject,
        asks: Sequence[Alike] = (),
        connection: Mapping[str, Any] | None = None,
        n_runs: int = 0,
    ) -> None:
        self.subject, self.asks, self.n_runs = subject, asks, n_runs
        self.connection = connection or {}
        self.specs = list(dict.fromkeys(spec for mind in subject.minds for spec in mind))
        self.models = [s for s in self.specs if language_model(s)]
        self.people = HUMAN in self.specs
        self.parameters = subject.parameters

    @property
    def of_models(self) -> list[Alike]:
        """The attempts of language models; none for a scenario that was not run."""
        return [ask for ask in self.asks if language_model(ask.mind)]


def _filled(facts: _Facts) -> dict[str, Any]:
    texts = checklist_texts()
    subject = facts.subject
    items = []
    for number, item in texts["items"].items():
        answer = _ANSWERS[number](facts) if number in _ANSWERS else ""
        left = item["left"]
        if not facts.models and number not in _OF_ALL:
            status, answer, left = NONE, "No language model decides.", ""
        elif not answer:
            status = OPEN
        else:
            status = PARTLY if left else KNOWN
        items.append(
            {
                "number": number,
                "asks": item["asks"],
                "status": status,
                "answer": answer,
                "left": left,
            }
        )
    return {
        "name": texts["name"],
        "of": subject.recording or f"the scenario {subject.scenario.scenario_name}",
        "recording": subject.recording,
        "items": items,
    }


_OF_ALL = ("A.1", "D.1", "E.2", "F.1", "G.1", "O.3", "O.6", "O.7", "O.8")
"""Items that are also filled without a language model."""


def _use(facts: _Facts) -> str:
    title = facts.subject.scenario.title
    agents = [f"{n} of {spec}" for mind in facts.subject.minds for spec, n in mind.items()]
    runs = f" in {facts.n_runs} run{'s' if facts.n_runs != 1 else ''}" if facts.n_runs else ""
    if not facts.models:
        return f"No language model decides; agents of {title}{runs}: {', '.join(agents)}."
    return (
        f"As the subject of the study: they decide for agents of {title}{runs}. Agents: "
        f"{', '.join(agents)}."
    )


def _automation(facts: _Facts) -> str:
    if not facts.models:
        return ""
    seats = " People played with them." if facts.people else ""
    return (
        "Automated: each answer is read by fixed rules and used as it is; nobody sees it "
        f"before.{seats}"
    )


def _models(facts: _Facts) -> str:
    sentences = [f"asked for: {', '.join(facts.models)}"]
    rows = facts.of_models
    if served := sorted({row.served_model for row in rows} - {""}):
        sentences.append(f"as the servers named them: {', '.join(served)}")
    provenances = [json.loads(row.provenance) for row in rows if row.provenance]
    for name, title in (("provider", "provider"), ("system_fingerprint", "system fingerprint")):
        values = sorted(
            {str(provenance[name]) for provenance in provenances if provenance.get(name)}
        )
        sentences += [f"{title}: {', '.join(values)}"] if values else []
    if days := facts.subject.runs.get("begun on"):
        sentences.append(f"runs begun on {days}")
    return "; ".join(sentences) + "."


def _access(facts: _Facts) -> str:
    local = all(map(is_local, facts.models))
    way = "On this machine, from a file" if local else "Over an OpenAI-compatible API"
    at = [spec.partition("@")[2] for spec in facts.models if "@" in spec]
    base = facts.connection.get("base_url")
    places = [str(address) for address in (*at, base) if address]
    where = f" ({', '.join(dict.fromkeys(places))})" if places and not local else ""
    return f"{way}{where}; separate calls: each question is a request of its own."


def _settings(facts: _Facts) -> str:
    given = {name: facts.parameters.get(name) for name in _SETTINGS}
    settings = [f"{name} {value}" for name, value in given.items() if value is not None]
    for spec, mended in facts.subject.mended.items():
        settings.append(f"{spec} was sent {json.dumps(mended['sent'], ensure_ascii=False)}")
    runs = [
        f"{name}: {text}" for name, text in facts.subject.runs.items() if name.startswith("run")
    ]
    varied = facts.subject.varied
    return (
        "; ".join([*settings, *(f"{name} differs between the runs" for name in varied), *runs])
        + "."
    )


def _customization(facts: _Facts) -> str:
    extra = facts.parameters.get("extra_body")
    more = f" Further fields of the requests: {extra}." if extra else ""
    return (
        "Base model as it is served; this package adds no tools, retrieval, search or prompt "
        f"optimization.{more}"
    )


def _memory(_facts: _Facts) -> str:
    return (
        "None: nothing is kept between questions. The memories of an agent are in the prompt of "
        "its question."
    )


def _prompts(facts: _Facts) -> str:
    model = facts.subject.model
    in_use = {agent.persona for agent in model.population} if facts.n_runs else None
    sent = " Each message as it was sent is in the recording." if facts.n_runs else ""
    book = model.book
    return (
        f"{len(book.entries)} entries, condition {facts.parameters.get('condition')}, variant "
        f"{facts.parameters.get('variant')}, SHA-256 {book.digest(in_use)}; their texts: sabm "
        f"describe {facts.subject.recording or facts.subject.scenario.scenario_name}.{sent}"
    )


def _system(facts: _Facts) -> str:
    personas = facts.parameters.get("personas")
    with_persona = f"; personas: {personas}" if personas not in (None, "none") else "; no personas"
    return f"The prompt entry `scenario` is the system message{with_persona}."


def _data(facts: _Facts) -> str:
    if facts.people:
        return "People took part at seats: the recording holds what they decided and said."
    return "No person took part in the runs." if facts.n_runs else ""


def _processing(facts: _Facts) -> str:
    attempts = facts.parameters.get("max_attempts")
    rule = (
        "An answer is used if it has exactly the requested form, or has one legal value where the "
        f"answer is expected; otherwise it is asked for again, at most {attempts} times in all, "
        "then recorded as invalid (rule of the scenario: ODD, element 7). Never a made-up value."
    )
    if not facts.asks:
        return rule
    exact = sum(asked.answers for asked in facts.asks if asked.read_as == "exact")
    unread = sum(asked.answers for asked in facts.asks if not asked.valid)
    n = sum(asked.answers for asked in facts.asks)
    return (
        f"{rule} Of {n} answers {exact} were exact, {n - exact - unread} in other words, "
        f"{unread} unusable."
    )


def _sharing(facts: _Facts) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in facts.subject.versions.items())
    again = (
        f" The runs repeat without a key: sabm replay {facts.subject.recording}."
        if facts.n_runs
        else ""
    )
    return f"Software: {versions}.{again}"


def _variants(facts: _Facts) -> str:
    book = facts.subject.model.book
    return (
        f"Wordings that exist: {', '.join(book.variants)}." if len(list(book.variants)) > 1 else ""
    )


def _compared(facts: _Facts) -> str:
    return f"Minds in these runs: {', '.join(facts.specs)}." if len(facts.specs) > 1 else ""


def _transcripts(facts: _Facts) -> str:
    if not facts.n_runs:
        return ""
    return f"All of them: sabm export {facts.subject.recording} --to jsonl."


def _resources(facts: _Facts) -> str:
    asks = facts.asks
    if not asks:
        return ""
    cost = math.fsum(ask.cost_usd for ask in asks)
    amounts = [
        f"{sum(ask.answers for ask in asks)} answers",
        f"{sum(ask.prompt_tokens for ask in asks):,} prompt tokens",
        f"{sum(ask.completion_tokens for ask in asks):,} answer tokens",
        "cost not known" if math.isnan(cost) else f"{cost:.4g} dollars",
        f"{math.fsum(ask.latency_s for ask in asks):.3g} s of waiting for answers, added up",
    ]
    return ", ".join(amounts) + "."


_ANSWERS: Mapping[str, Callable[[_Facts], str]] = {
    "A.1": _use,
    "A.2": _automation,
    "B.1": _models,
    "B.2": _access,
    "B.3": _settings,
    "B.4": _customization,
    "B.5": _memory,
    "C.1": _prompts,
    "C.2": _system,
    "D.1": _data,
    "E.2": _processing,
    "F.1": _sharing,
    "O.2": _variants,
    "O.3": _compared,
    "O.6": _transcripts,
    "O.8": _resources,
}
"""Item → the facts on it in a scenario or a recording, if there are any."""
