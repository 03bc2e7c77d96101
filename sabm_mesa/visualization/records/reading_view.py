"""A recorded run, round by round: its numbers, its asks, and their requests and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import solara

from sabm_mesa.recording.frames import HEARD_BY_ALL
from sabm_mesa.visualization import chart
from sabm_mesa.visualization.figures import Figures
from sabm_mesa.visualization.html import card, field, html, inside, problem, unfolds
from sabm_mesa.visualization.labels import whole_in
from sabm_mesa.visualization.panels import Facts
from sabm_mesa.visualization.records import charts, rounds
from sabm_mesa.visualization.records.parts import (
    Address,
    Asks,
    Diff,
    Exchange,
    Said,
    address,
    table,
    use_read,
    waiting,
)
from sabm_mesa.visualization.records.store import RunData
from sabm_mesa.visualization.run_controller import PACE_S
from sabm_mesa.visualization.stage import INVALID, PLANS, TALK, Timeline, ticks_of, worlds
from sabm_mesa.visualization.story import Source, Story

WHO = frozenset({"agent", "mind"})
MOST = 300
"""Maximum number of displayed rows of a table and messages."""


@solara.component
def RoundByRound(run: RunData, at: Mapping[str, str] | None = None) -> None:
    """The page of one round at a time.

    Args:
        run: the run.
        at: the parameters of an address: ``round``, and ``message`` or ``phase``, ``agent`` and
            ``question``, counted from the first displayed number.
    """
    invalid, _, _ = use_read(lambda: run.invalid, [run])
    named = _named(run, at or {})
    index, set_place = solara.use_state(_first_decided(run) if named is None else named[0])
    agent, set_agent = solara.use_state("")
    ask, set_ask = solara.use_state(("", -1, 0) if named is None else named[1])
    nobody: int | None = None
    storied, tell = solara.use_state(nobody)
    if not run.rounds:
        html("p", "No round of this run is recorded yet.", "sabm-empty sabm-card")
        return
    if named is None:
        problem("This run has no such round, ask or message: the start is shown.")
    index = min(index, len(run.rounds) - 1)
    round_ = run.rounds[index]
    noun, first = charts.counting_of(run)
    places = {n: i for i, n in enumerate(run.rounds)}

    def go(chosen: int) -> None:
        """Show the round that the user chose in a chart."""
        if chosen in places:
            set_place(places[chosen])

    def choose(chosen: int | str) -> None:
        """Show the story of an agent, or close it if it is shown already."""
        tell(None if storied == int(chosen) else int(chosen))

    def pick(chosen: str) -> None:
        """Also show the asks of the agent of a row."""
        set_agent("" if chosen == agent else chosen)
        tell(None if chosen == agent else int(chosen))

    with inside("div", "rec-round"):
        World(run, round_, storied, choose)
        with inside("div", "sabm-card sabm-clock"):
            Timeline(
                rounds=[n + first for n in run.rounds], at=index, noun=noun,
                before=f"Before the first {noun}",
                given=sum(n < charts.given_of(run) for n in run.rounds),
                ticks=ticks_of(_kinds(run, invalid), places, lambda n: charts.called(run, n)),
                event_go=set_place,
            ).key("timeline")  # fmt: skip
            Address(url=address(run, [round_]), what=f"this {noun}")
        with inside("div", "rec-two"):
            with inside("div", "rec-one"):
                _numbers(run, round_)
                with card("Who was asked what"):
                    AskList(run, round_, agent, ask, set_agent, set_ask)
            with inside("section", "sabm-card rec-reader", aria_live="polite", tabindex="0"):
                Reader(run, (round_, *ask)).key(f"{round_}/{ask}")
        Charts(run, round_, go, storied, choose)
        with card("What was said"):
            _, messages = rounds.messages_in(run, MOST, round_)
            if messages:
                Said(messages=called_rounds(run, messages), chosen=_message(run, round_, at or {}))
            else:
                html("p", "Nothing was said.", "sabm-empty")
        _agents(run, round_, agent, pick)
        if storied is not None and (source := source_of(run)) is not None:
            Story(source, storied, round_, None, lambda: tell(None)).key("story")


@lru_cache(maxsize=8)
def source_of(run: RunData) -> Source | None:
    """The source of the stories of a run's agents; None if its model cannot be made."""
    model, recorded = charts.model_of(run), run.recorded
    if model is None:
        return None
    same = not any("personas" in fork["set"] for fork in recorded.forks)
    return Source(recorded.path, recorded.run, model, personas=same)


@solara.component
def AskList(
    run: RunData,
    round_: int,
    agent: str,
    chosen: tuple[str, int, int],
    set_agent: Callable[[str], None],
    set_ask: Callable[[tuple[str, int, int]], None],
) -> None:
    """The asks of a round, for all agents or for one.

    Args:
        run: the run.
        round_: the round.
        agent: the agent to show; empty: all.
        chosen: phase, agent and call of the selected ask.
        set_agent: called with the agent to show.
        set_ask: called with the ask to read.
    """
    failed, set_failed = solara.use_state(False)
    asks = solara.use_memo(lambda: rounds.asks_of(run, round_), [run, round_])
    shown = [
        row
        for row in asks
        if (not agent or str(row["agent"]) == agent) and not (failed and row["valid"])
    ]
    with inside("div", "rec-bar"):
        field("Only agent (all when empty)", agent, set_agent, live=True)
        solara.Checkbox(label="Only invalid ones", value=failed, on_value=set_failed)
    invalid = sum(not row["valid"] for row in asks)
    then = charts.called(run, round_, "in")
    summary = f"{len(asks):,} asks {then}, {invalid:,} invalid."
    if agent and not any(str(row["agent"]) == agent for row in asks):
        typed = whole_in(agent)
        known = typed is not None and run.knows(typed, round_)
        why = "was not asked in this round" if known else "is not in this run"
        html("p", f"{summary} Agent {agent} {why}.", "sabm-empty")
        return
    if not shown:
        html("p", f"{summary} None to show.", "sabm-empty")
        return
    cut = f" The first {MOST} of {len(shown):,} are shown." if len(shown) > MOST else ""
    html("p", f"{summary}{cut} Choose one to read it.", "sabm-empty")
    shown = shown[:MOST]
    places = [_place(row) for row in shown]
    Asks(
        asks=shown, chosen=places.index(chosen) if chosen in places else -1,
        event_choose=lambda place: set_ask((place[0], place[1], place[2])),
    )  # fmt: skip


@solara.component
def Reader(run: RunData, place: rounds.Place) -> None:
    """Show the requests and answers of one ask.

    Args:
        run: the run.
        place: the ask.
    """
    known = place[2] >= 0
    apart, set_apart = solara.use_state(False)
    attempts, wrong, busy = use_read(
        lambda: rounds.attempts_at(run, place) if known else [],
        [run.recorded.path, run.recorded.run, place],
    )
    when = charts.called(run, place[0])
    who = f"{charts.name_in(run, place[2])}, {place[1]}, {when}"
    html("h2", who if known else "What was sent")
    if wrong:
        problem(wrong)
    elif busy and known:
        waiting("Reading the recording …")
    elif attempts:
        with inside("div", "rec-bar"):
            Address(url=address(run, place), what="this answer")
            solara.Checkbox(label="Changed since the last request", value=apart, on_value=set_apart)
        if apart:
            Changes(run, place)
        Exchange(attempts=attempts)
    elif known:
        html("p", "This agent was not asked this in this round.", "sabm-empty")
    else:
        html("p", "Choose an ask of the round to read what was sent and answered.", "sabm-empty")


@solara.component
def Changes(run: RunData, place: rounds.Place) -> None:
    """The words in which a request differs from the agent's previous one in the same phase.

    Args:
        run: the run.
        place: the ask.
    """

    def read() -> tuple[str, list[Any]] | None:
        before = rounds.place_before(run, place)
        if before is None:
            return None
        apart = rounds.differences(rounds.prompts_at(run, before), rounds.prompts_at(run, place))
        return charts.called(run, before[0], "in"), apart

    change, wrong, busy = use_read(read, [run, place])
    if wrong:
        problem(wrong)
    elif busy:
        waiting("Comparing …")
    elif change is None or not change[1]:
        html("p", "There is no earlier request to compare with.", "sabm-empty")
    else:
        html("h3", f"What was sent {change[0]}, and now")
        Diff(messages=change[1])


@solara.component
def World(run: RunData, round_: int, chosen: int | None, choose: Callable[[int], None]) -> None:
    """The world after a round, for scenarios whose data contain it.

    Args:
        run: the run.
        round_: the round.
        chosen: the marked agent; None: none.
        choose: called with the agent whose mark was clicked.
    """
    new, _, _ = use_read(lambda: charts.scenes_of(run, round_), [run, round_])
    kept = solara.use_ref((round_, new))
    if new is not None:  # keep the last one until the next one is read
        kept.current = round_, new
    now, scenes = kept.current
    messages = run.messages_of(now) if scenes else run.messages_of(now)[:0]
    spoken = [
        [int(speaker), str(words), None if to == HEARD_BY_ALL else _ids(to)]
        for speaker, words, to in zip(
            messages["speaker"], messages["text"], messages["to"], strict=True
        )
    ]
    with inside("div", "sabm-worlds"):
        worlds(scenes or (), now, PACE_S, spoken, chosen, choose)


@solara.component
def Charts(
    run: RunData,
    round_: int,
    go: Callable[[int], None],
    chosen: int | None,
    choose: Callable[[int], None],
) -> None:
    """The charts of the whole run, with a mark at the round.

    Args:
        run: the run.
        round_: the round.
        go: called with the round that the user chose in a chart.
        chosen: the highlighted agent; None: none.
        choose: called with the agent whose line or dot the user chose.
    """
    drawn, wrong, busy = use_read(lambda: charts.charts_of(run), [run])
    if drawn and chosen is not None:
        drawn = tuple(plotted.with_own(chosen, charts.name_in(run, chosen)) for plotted in drawn)
    if wrong:
        problem(wrong)
    if busy:
        waiting("Reading the charts of the run …")
    if drawn:
        html("h2", f"The whole run; {charts.called(run, round_)} is marked")
        played = int(run.model_data["round"].max()) if len(run.model_data) else -1
        if run.step > 1:
            every = f"{charts.counting_of(run)[0]} of {run.step}"
            html("p", f"Of agents one {every} is drawn.", "sabm-hint")
        chart.charts(
            drawn, subtitle=charts.subtitle_of(run), at=round_, played=played, event_go=go,
            event_choose=choose,
        )  # fmt: skip
        Figures(lambda: charts.figures_of(run), run.recorded.uid)


@solara.component
def Conversation(run: RunData) -> None:
    """Show the messages of the run."""
    chosen, choose = solara.use_state("")
    _, first = charts.counting_of(run)
    typed = whole_in(chosen)
    only = None if typed is None else typed - first
    n, messages = solara.use_memo(lambda: rounds.messages_in(run, MOST, only), [run, only])
    with card("Conversation"):
        field("Only round (all when empty)", chosen, choose, live=True)
        if not messages:
            html("p", "Nothing was said.", "sabm-empty")
            return
        if n > len(messages):
            html("p", f"The first {MOST} of {n:,} messages: choose a round.", "sabm-empty")
        Said(messages=called_rounds(run, messages))


def called_rounds(run: RunData, messages: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Messages for the page, with names of rounds and the address of each message.

    Args:
        run: the run.
        messages: rows as by `rounds.messages_in`.
    """
    return [
        [charts.called(run, round_).capitalize(), *words, address(run, [round_], number)]
        for round_, number, *words in messages
    ]


def _named(run: RunData, at: Mapping[str, str]) -> tuple[int, tuple[str, int, int]] | None:
    """The index of a round of the run, and the selected ask; None if the address is invalid.

    Args:
        run: the run.
        at: the parameters of the address.
    """
    ask = ("", -1, 0)
    if "round" not in at:
        return _first_decided(run), ask
    number, agent = whole_in(at["round"]), whole_in(at.get("agent", ""))
    question = whole_in(at.get("question", "1"))
    wanted = None if number is None else number - charts.counting_of(run)[1]
    if wanted not in run.rounds:
        return None
    if "phase" in at and agent is not None and question:
        ask = at["phase"], agent, question - 1
    return run.rounds.index(wanted), ask


def _first_decided(run: RunData) -> int:
    """The index of the first round with decisions."""
    given = charts.given_of(run)
    return next((i for i, round_ in enumerate(run.rounds) if round_ >= given), 0)


def _message(run: RunData, round_: int, at: Mapping[str, str]) -> str:
    """The address of the message in a round that the page's address selects."""
    number = whole_in(at.get("message", ""))
    return address(run, [round_], number - 1) if number else ""


def _ids(to: object) -> list[int]:
    return [int(part) for part in rounds.text(to).split()]


def _kinds(run: RunData, invalid: Sequence[int] | None) -> dict[str, Sequence[int]]:
    """Kind of tick → its rounds; invalid answers appear when they are read."""
    return {TALK: run.spoken, PLANS: run.planned, INVALID: invalid or ()}


def _numbers(run: RunData, round_: int) -> None:
    with card(charts.called(run, round_).capitalize()):
        data = run.model_of(round_).drop(columns=["run", "round"])
        if data.empty:
            html("p", "This round was not finished: it has no data.", "sabm-empty")
            return
        titles, declared = charts.titles_in(run), charts.own_columns(run)
        facts = [
            [titles[name], rounds.cell(value), name]
            for name, value in rounds.records(data)[0].items()
        ]
        Facts(facts=[fact for fact in facts if fact[2] in declared])
        if technical := [fact for fact in facts if fact[2] not in declared]:
            with unfolds("Technical columns"):
                Facts(facts=technical)


def _agents(run: RunData, round_: int, agent: str, pick: Callable[[str], None]) -> None:
    with card("Agents"):
        people = run.agents_of(round_).drop(columns=["run", "round"])
        if people.empty:
            html("p", "There are no data of agents.", "sabm-empty")
        else:
            mine = people[people["agent"].astype(str) == agent] if agent else people
            then = charts.called(run, round_, "after")
            caption = f"{len(people)} agents {then}; choose one for its story and its asks."
            if len(mine) > MOST:
                caption += f" The first {MOST} are shown."
            titles, declared = charts.titles_in(run), charts.own_columns(run) | WHO
            names = [str(name) for name in people.columns]
            mine, shown = mine[:MOST], [name for name in names if name in declared]
            table(caption, mine[shown], shown.index("agent"), agent, pick, titles)
            if technical := [name for name in names if name not in declared]:
                with unfolds("Technical columns"):
                    table("Of the same agents", mine[["agent", *technical]], titles=titles)


def _place(ask: dict[str, Any]) -> tuple[str, int, int]:
    return ask["phase"], ask["agent"], ask["call"]
