"""The story of one agent: what it heard, thought, said and did, read from the recording of its run.

A run that is played and a recording are read in the same way: everything that was asked is in the
file before anybody sees it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import solara

from sabm_mesa.core.scheduler import SIMULTANEOUS
from sabm_mesa.recording.frames import HEARD_BY_ALL, Recorded
from sabm_mesa.studies.honesty import honesty_in
from sabm_mesa.visualization.html import inside, problem
from sabm_mesa.visualization.labels import count, name_of, round_of, titles_of
from sabm_mesa.visualization.records import rounds
from sabm_mesa.visualization.records.parts import Exchange, use_read

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

ROUNDS = 20
"""Rounds of a story on the page at once: the latest up to the clock."""
MOST_HEARD = 40
"""Messages that an agent heard in a round, at most: the last ones."""
HEARD, SAID, THOUGHT, DID, FAILED = "heard", "said", "thought", "did", "failed"
"""Kinds of events of a story."""
Place = tuple[int, str, int]
"""Round, phase and call of an ask of the agent."""


@dataclass(frozen=True)
class Source:
    """The place where the stories of a run are read.

    Attributes:
        path: its recording.
        run: its number there.
        model: the model, played or at its beginning; it knows names and personas.
        flush: has all that was reported written.
        personas: whether agents still have the personas that the model gave them.
    """

    path: Path
    run: int
    model: SmartModel
    flush: Callable[[], None] = lambda: None
    personas: bool = True


def story_of(source: Source, agent: int, round_: int) -> dict[str, Any]:
    """The story of an agent up to a round.

    Args:
        source: where it is read.
        agent: the agent.
        round_: the last round that is told, from 0; −1: the start.

    Returns:
        ``facts`` (title and value: mind, persona), ``persona`` (its text), ``rounds``: each with
        ``title``, ``outcome`` (title and value of its columns) and ``events``: ``kind`` (`HEARD`,
        `THOUGHT`, `SAID`, `DID` or `FAILED`), ``who``, ``text``, ``note`` and ``place`` (of the ask
        whose prompt can be shown; None where nothing was sent).

    Raises:
        RecordingError: when the recording cannot be read.
    """
    model = source.model
    told = range(max(0, round_ + 1 - ROUNDS), round_ + 1)
    found: Mapping[str, pd.DataFrame] = {}
    if told:
        source.flush()
        found = Recorded(source.path, check=False).of_agent(source.run, agent, told)
    chapters = [_chapter(model, agent, each, found) for each in told]
    shown = [chapter for chapter in chapters if chapter["events"] or chapter["outcome"]]
    earlier = count(told.start, "earlier round") if told.start else ""
    facts, persona = _facts(source, agent, found)
    return {"facts": facts, "persona": persona, "rounds": shown, "earlier": earlier}


def exchange_of(source: Source, agent: int, place: Place) -> list[dict[str, Any]]:
    """All attempts at an ask of an agent, with what was sent and answered.

    Args:
        source: where it is read.
        agent: the agent.
        place: which ask.

    Returns:
        As `rounds.attempts_at`.

    Raises:
        RecordingError: when the recording cannot be read.
    """
    round_, phase, call = place
    recorded = Recorded(source.path, check=False)
    asks = recorded.of_agent(source.run, agent, range(round_, round_ + 1))["asks"]
    tried = asks[(asks["phase"] == phase) & (asks["call"] == call)].sort_values("attempt")
    return [
        rounds.attempt(row, recorded.chat(source.run, round_, phase, agent, call, row["attempt"]))
        for row in rounds.records(tried)
    ]


def _facts(
    source: Source, agent: int, found: Mapping[str, pd.DataFrame]
) -> tuple[list[tuple[str, str]], str]:
    """Mind and persona by their titles, and the text of the persona."""
    model = source.model
    minds = [
        str(mind) for name in ("asks", "agent_data") if name in found
        for mind in found[name]["mind"].tail(1)
    ]  # fmt: skip
    try:
        known = model.agent_of_id(agent)
    except KeyError:  # born in the run, and not in a model at its beginning
        return [("Mind", each) for each in minds[:1]], ""
    facts = [("Mind", minds[0] if minds else known.mind.spec)]
    if known.persona == "none" or not source.personas:
        return facts, ""
    return [*facts, ("Persona", known.persona)], model.book.persona(known.persona)


def _chapter(
    model: SmartModel, agent: int, round_: int, found: Mapping[str, pd.DataFrame]
) -> dict[str, Any]:
    part = {name: frame[frame["round"] == round_] for name, frame in found.items()}
    order = {phase.name: place for place, phase in enumerate(model.phases)}
    together = {phase.name for phase in model.phases if phase.order == SIMULTANEOUS}
    events: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    said: dict[str, list[tuple[str, str]]] = {}
    for row in rounds.records(part["messages"]):
        phase, who = str(row["phase"]), int(row["speaker"])
        text, to = str(row["text"]), rounds.text(row["to"])
        if who == agent:
            hearers = to if to == HEARD_BY_ALL else _names(model, to)
            said.setdefault(phase, []).append((text, hearers))
        elif to == HEARD_BY_ALL or str(agent) in to.split():
            late = phase in together  # all of them are heard when all have spoken
            name = rounds.text(row["name"]) or name_of(model, who)
            place = (order.get(phase, 0), late, row["position"], 0)
            events.append((place, _event(HEARD, name, text)))
    heard = len(events) - MOST_HEARD
    if heard > 0:
        left_out = _event(HEARD, "", f"{count(heard, 'earlier message')} …")
        events = [(events[heard][0], left_out), *events[heard:]]
    for row in rounds.records(part["asks"]):
        phase = str(row["phase"])
        at = (order.get(phase, 0), False, row["position"], 1 + row["call"], row["attempt"])
        events += [(at, each) for each in _asked(row, said.get(phase, []))]
    for phase, words in said.items():  # what no single answer says, such as a rule of the model
        after = (order.get(phase, 0), True, -1, 0)
        events += [(after, _event(SAID, to, text)) for text, to in words]
    shown = [event for _, event in sorted(events, key=lambda each: each[0])]
    _add_honesty(model, agent, round_, found, shown)
    return {
        "title": round_of(model, round_).capitalize(),
        "events": shown,
        "outcome": _outcome(model, part["agent_data"]),
    }


def _asked(row: Mapping[str, Any], said: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """The events of one attempt; what it said is taken from `said`."""
    sent = bool(rounds.text(row["request"]))
    place = [int(row["round"]), str(row["phase"]), int(row["call"])] if sent else None
    for private in (rounds.text(row["thoughts"]), rounds.text(row["reasoning"])):
        if private:
            yield _event(THOUGHT, "", private)
    if not row["valid"]:
        yield _event(FAILED, str(row["name"]), rounds.text(row["reason"]), place)
        return
    value = rounds.value_of(row["value"])
    for each in said:
        if each[0] == value or value.startswith(each[0]):
            said.remove(each)
            yield _event(SAID, each[1], each[0], place)
            return
    yield _event(DID, str(row["name"]), value, place)


def _add_honesty(
    model: SmartModel,
    agent: int,
    round_: int,
    found: Mapping[str, pd.DataFrame],
    events: Sequence[dict[str, Any]],
) -> None:
    """Note beside the last words of the round what they announce, and whether it was kept."""
    words = [event for event in events if event["kind"] == SAID]
    if model.announcement is None or not words:
        return
    parameters = json.dumps(dict(model.parameters), default=str)
    runs = pd.DataFrame({"run": found["messages"]["run"].unique()})
    runs = runs.assign(scenario=model.scenario_name, parameters=parameters)
    talk = found["messages"][found["messages"]["round"] == round_]
    judged = honesty_in({"runs": runs, "messages": talk, "agent_data": found["agent_data"]})
    for row in judged[judged["agent"] == agent].to_dict("records"):
        if row["read"]:
            honest = {1.0: " · honest", 0.0: " · not honest"}.get(row["honest"], "")
            done = "" if rounds.cell(row["done"]) == "–" else f" · did {rounds.cell(row['done'])}"
            words[-1]["note"] = f"announced {rounds.cell(row['announced'])}{done}{honest}"


def _outcome(model: SmartModel, rows: pd.DataFrame) -> list[tuple[str, str]]:
    titles = titles_of(model)
    own = [model.agent_columns, *(agent_class.columns for agent_class in model.agent_classes())]
    shown = {name for columns in own for name in columns} - {"name", "persona"}
    return [
        (titles[name], rounds.cell(value))
        for row in rounds.records(rows)
        for name, value in row.items()
        if name in shown and rounds.cell(value) != "–"
    ]


def _event(kind: str, who: str, text: str, place: list[Any] | None = None) -> dict[str, Any]:
    return {"kind": kind, "who": who, "text": text, "note": "", "place": place}


def _names(model: SmartModel, to: str) -> str:
    return ", ".join(name_of(model, int(part)) for part in to.split()) or "nobody"


@solara.component
def Story(
    source: Source, agent: int, round_: int, moment: object, close: Callable[[], None]
) -> None:
    """The panel of one agent: its mind, its persona, and its story as a chat.

    Args:
        source: where it is read.
        agent: the agent.
        round_: the last round that is told.
        moment: what has been recorded so far: the story is read again when it changes.
        close: called when the panel is to be closed.
    """
    nowhere: Place | None = None
    place, show = solara.use_state(nowhere)
    found, wrong, _ = use_read(
        lambda: story_of(source, agent, round_), [source, agent, round_, moment]
    )
    sent, wrong_sent, _ = use_read(
        lambda: None if place is None else exchange_of(source, agent, place), [source, agent, place]
    )
    unread: dict[str, Any] = {"facts": [], "persona": "", "rounds": [], "earlier": ""}
    kept = solara.use_ref(unread)
    if found is not None:  # until it is read again, the last one stays
        kept.current = found
    story = kept.current
    name = name_of(source.model, agent)
    with inside("aside", "sabm-agent", aria_label=f"The story of {name}"):
        _Head(
            name=name, facts=story["facts"], persona=story["persona"], reading=place is not None,
            event_close=lambda _=None: close(), event_back=lambda _=None: show(None),
        )  # fmt: skip
        with inside("div"):
            if wrong or wrong_sent:
                problem(wrong or wrong_sent)
        if place is None:
            _Chat(
                rounds=story["rounds"], earlier=story["earlier"],
                event_prompt=lambda at: show((at[0], at[1], at[2])),
            ).key("chat")  # fmt: skip
        elif sent is not None:
            with inside("div", "sabm-agent-sent"):
                Exchange(attempts=sent).key("sent")


@solara.component_vue("story_head.vue")
def _Head(
    name: str,
    facts: Sequence[Sequence[str]],
    persona: str,
    reading: bool,
    event_close: Callable[..., None] | None = None,
    event_back: Callable[..., None] | None = None,
) -> None:
    """Name, mind and persona of the agent, and the way back to the story from a prompt."""


@solara.component_vue("story.vue")
def _Chat(
    rounds: Sequence[dict[str, Any]],
    earlier: str,
    event_prompt: Callable[[list[Any]], None] | None = None,
) -> None:
    """The rounds of a story, the last one at the bottom."""
