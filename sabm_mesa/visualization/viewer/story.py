"""The story of an agent: its messages, thoughts and decisions, from the recording of its run.

A live run and a recording are read in the same way, since every answer is in the file before it is
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
import solara
import solara.lab

from sabm_mesa.core.scheduler import SIMULTANEOUS
from sabm_mesa.recording.frames import HEARD_BY_ALL, Recorded
from sabm_mesa.visualization.labels import count, error_line, name_of, round_of, titles_of
from sabm_mesa.visualization.reading import rounds

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

T = TypeVar("T")

ROUNDS = 20
"""Maximum number of displayed rounds of a story: the latest up to the selected round."""
MOST_HEARD = 40
"""Maximum number of displayed messages that an agent heard in a round: the last ones."""
HEARD, SAID, THOUGHT, DID, FAILED = "heard", "said", "thought", "did", "failed"
"""Kinds of events of a story."""
Place = tuple[int, str, int]
"""Round, phase and call of an ask of the agent."""


@dataclass(frozen=True)
class Source:
    """The source of the stories of a run.

    Attributes:
        path: its recording.
        run: the number of the run in it.
        model: the model, during or before the run; it provides names and personas.
        flush: writes all reported data to the recording.
    """

    path: Path
    run: int
    model: SmartModel
    flush: Callable[[], None] = lambda: None


def story_of(source: Source, agent: int, round_: int) -> dict[str, Any]:
    """The story of an agent up to a round.

    Args:
        source: where it is read.
        round_: the last round of the story, from 0; −1: the start.

    Returns:
        ``facts`` (title and value: mind, persona), ``persona`` (its text), ``rounds``: each with
        ``title``, ``outcome`` (title and value of its columns) and ``events``: ``kind`` (`HEARD`,
        `THOUGHT`, `SAID`, `DID` or `FAILED`), ``who``, ``text`` and ``place`` (of the ask
        whose prompt can be shown; None where nothing was sent).

    Raises:
        RecordingError: when the recording cannot be read.
    """
    model = source.model
    shown_rounds = range(max(0, round_ + 1 - ROUNDS), round_ + 1)
    frames: Mapping[str, pd.DataFrame] = {}
    if shown_rounds:
        source.flush()
        recorded = Recorded(source.path, check=False)
        data = recorded.agent_data(source.run, shown_rounds)
        frames = {
            "asks": recorded.asks(run=source.run, rounds=shown_rounds, agent=agent),
            "agent_data": data[data["agent"] == agent],
            "messages": recorded.messages(source.run, shown_rounds),
        }
    chapters = [_chapter(model, agent, n, frames) for n in shown_rounds]
    shown = [chapter for chapter in chapters if chapter["events"] or chapter["outcome"]]
    earlier = count(shown_rounds.start, "earlier round") if shown_rounds.start else ""
    facts, persona = _facts(source, agent, frames)
    return {"facts": facts, "persona": persona, "rounds": shown, "earlier": earlier}


def exchange_of(source: Source, agent: int, place: Place) -> list[dict[str, Any]]:
    """All attempts at an ask of an agent, with what was sent and answered.

    Returns:
        As `rounds.attempt`.

    Raises:
        RecordingError: when the recording cannot be read.
    """
    round_, phase, call = place
    recorded = Recorded(source.path, check=False)
    asks = recorded.asks(True, source.run, range(round_, round_ + 1), agent)
    tried = asks[(asks["phase"] == phase) & (asks["call"] == call)].sort_values("attempt")
    return [rounds.attempt(row) for row in rounds.records(tried)]


def _facts(
    source: Source, agent: int, frames: Mapping[str, pd.DataFrame]
) -> tuple[list[tuple[str, str]], str]:
    """Mind and persona by their titles, and the text of the persona."""
    model = source.model
    minds = [
        str(mind) for name in ("asks", "agent_data") if name in frames
        for mind in frames[name]["mind"].tail(1)
    ]  # fmt: skip
    try:
        known = model.agent_of_id(agent)
    except KeyError:  # born during the run, so the model before the run does not have it
        return [("Mind", mind) for mind in minds[:1]], ""
    facts = [("Mind", minds[0] if minds else known.mind.spec)]
    if known.persona == "none":
        return facts, ""
    return [*facts, ("Persona", known.persona)], model.book.persona(known.persona)


def _chapter(
    model: SmartModel, agent: int, round_: int, frames: Mapping[str, pd.DataFrame]
) -> dict[str, Any]:
    part = {name: frame[frame["round"] == round_] for name, frame in frames.items()}
    order = {phase.name: i for i, phase in enumerate(model.phases)}
    together = {phase.name for phase in model.phases if phase.order == SIMULTANEOUS}
    events: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    spoken: dict[str, list[tuple[str, str]]] = {}
    for row in rounds.records(part["messages"]):
        phase, who = str(row["phase"]), int(row["speaker"])
        text, to = str(row["text"]), rounds.text(row["to"])
        if who == agent:
            hearers = to if to == HEARD_BY_ALL else _names(model, to)
            spoken.setdefault(phase, []).append((text, hearers))
        elif to == HEARD_BY_ALL or str(agent) in to.split():
            late = phase in together  # all messages are heard after all have spoken
            name = rounds.text(row["name"]) or name_of(model, who)
            moment = (order.get(phase, 0), late, row["position"], 0)
            events.append((moment, _event(HEARD, name, text)))
    heard = len(events) - MOST_HEARD
    if heard > 0:
        left_out = _event(HEARD, "", f"{count(heard, 'earlier message')} …")
        events = [(events[heard][0], left_out), *events[heard:]]
    for row in rounds.records(part["asks"]):
        phase = str(row["phase"])
        at = (order.get(phase, 0), False, row["position"], 1 + row["call"], row["attempt"])
        events += [(at, event) for event in _asked(row, spoken.get(phase, []))]
    for phase, words in spoken.items():  # such as messages of a rule of the model
        after = (order.get(phase, 0), True, -1, 0)
        events += [(after, _event(SAID, to, text)) for text, to in words]
    return {
        "title": round_of(model, round_).capitalize(),
        "events": [event for _, event in sorted(events, key=lambda event: event[0])],
        "outcome": _outcome(model, part["agent_data"]),
    }


def _asked(row: Mapping[str, Any], spoken: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """The events of one attempt; its message is removed from `spoken`."""
    sent = bool(rounds.text(row["request"]))
    place = [int(row["round"]), str(row["phase"]), int(row["call"])] if sent else None
    for private in (rounds.text(row["thoughts"]), rounds.text(row["reasoning"])):
        if private:
            yield _event(THOUGHT, "", private)
    if not row["valid"]:
        yield _event(FAILED, str(row["name"]), rounds.text(row["reason"]), place)
        return
    value = rounds.value_of(row["value"])
    for message in spoken:
        if message[0] == value or value.startswith(message[0]):
            spoken.remove(message)
            yield _event(SAID, message[1], message[0], place)
            return
    yield _event(DID, str(row["name"]), value, place)


def _outcome(model: SmartModel, rows: pd.DataFrame) -> list[tuple[str, str]]:
    titles = titles_of(model)
    declared = [
        model.agent_columns,
        *(agent_class.columns for agent_class in model.agent_classes()),
    ]
    shown = {name for columns in declared for name in columns} - {"name", "persona"}
    return [
        (titles[name], rounds.cell(value))
        for row in rounds.records(rows)
        for name, value in row.items()
        if name in shown and rounds.cell(value) != "–"
    ]


def _event(kind: str, who: str, text: str, place: list[Any] | None = None) -> dict[str, Any]:
    return {"kind": kind, "who": who, "text": text, "place": place}


def _names(model: SmartModel, to: str) -> str:
    return ", ".join(name_of(model, int(part)) for part in to.split()) or "nobody"


@solara.component
def Story(
    source: Source, agent: int, round_: int, moment: object, close: Callable[[], None]
) -> None:
    """The panel of one agent: its mind, its persona, and its story as a chat.

    Args:
        source: where it is read.
        round_: the last round of the story.
        moment: the state of the recording; the story is read again when it changes.
        close: called when the user closes the panel.
    """
    nowhere: Place | None = None
    place, show = solara.use_state(nowhere)
    latest, wrong = _use_read(
        lambda: story_of(source, agent, round_), [source, agent, round_, moment]
    )
    sent, wrong_sent = _use_read(
        lambda: None if place is None else exchange_of(source, agent, place), [source, agent, place]
    )
    unread: dict[str, Any] = {"facts": [], "persona": "", "rounds": [], "earlier": ""}
    kept = solara.use_ref(unread)
    if latest is not None:  # keep the last story until the next one is read
        kept.current = latest
    _Panel(
        name=name_of(source.model, agent), story=kept.current, attempts=sent,
        problem=wrong or wrong_sent, event_close=lambda _=None: close(),
        event_back=lambda _=None: show(None),
        event_prompt=lambda at: show((at[0], at[1], at[2])),
    )  # fmt: skip


@solara.component_vue("story.vue")
def _Panel(
    name: str,
    story: Mapping[str, Any],
    attempts: list[dict[str, Any]] | None,
    problem: str,
    event_close: Callable[..., None],
    event_back: Callable[..., None],
    event_prompt: Callable[[list[Any]], None],
) -> None: ...


def _use_read(read: Callable[[], T], dependencies: list[Any]) -> tuple[T | None, str]:
    """Read data outside the page's thread, again whenever a dependency changes.

    Returns:
        The data, or None and the error message, or neither while the read is in progress.
    """

    def careful() -> tuple[list[Any], T | None, str]:
        try:
            return dependencies, read(), ""
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a line on the page
            return dependencies, None, error_line(error)

    task = solara.lab.use_task(careful, dependencies=dependencies)
    if task.value is None or task.value[0] != dependencies:
        return None, ""
    return task.value[1:]
