"""The animated world of a run, and the timeline that controls the whole page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import solara

from sabm_mesa.analysis.pictures import Scene
from sabm_mesa.core.languages import ENGLISH, Text, table_of, translated

TALK, PLANS, INVALID = "talk", "plans", "invalid"
"""Kinds of ticks of the timeline."""
WORDS = {TALK: "talk", PLANS: "plans", INVALID: "invalid answers"}
"""Kind of tick → its words."""
MOST_TICKS = 300
"""Maximum number of ticks of a timeline."""
Tick = tuple[int, str, str]
"""Place on the timeline, kind, and words."""


def worlds(
    scenes: Sequence[Scene],
    round_: int,
    pace: float,
    said: Sequence[Sequence[Any]] = (),
    chosen: int | None = None,
    choose: Callable[[int], None] | None = None,
    language: str = ENGLISH,
) -> None:
    """The world of a round, one canvas for each scene.

    Args:
        scenes: the scenes of the round.
        round_: the round; −1 at the start.
        pace: seconds between two rounds, of which the marks glide a part.
        said: the messages of the round: id of the speaker, words, ids of the hearers.
        chosen: the agent that is marked; None: none.
        choose: called with an agent whose mark was clicked.
        language: the language of its texts.
    """
    texts = table_of(language, "world")
    for scene in scenes:
        stage, frame = translated([scene.stage(), scene.frame()], language)
        _World(
            stage=stage, frame=frame, at=round_, pace=pace, said=list(said), texts=texts,
            chosen=chosen, picks=choose is not None, event_choose=choose,
        ).key(f"world-{scene.name}")  # fmt: skip


@solara.component_vue("world.vue")
def _World(
    stage: dict[str, Any],
    frame: dict[str, Any],
    at: int,
    pace: float,
    said: list[Any],
    texts: dict[str, Text],
    chosen: int | None = None,
    picks: bool = False,
    event_choose: Callable[[int], None] | None = None,
) -> None:
    """A scene on a canvas; marks move from their previous position, and speakers have bubbles."""


@solara.component_vue("timeline.vue")
def Timeline(
    rounds: Sequence[int],
    at: int,
    noun: str = "round",
    before: str = "",
    until: int | None = None,
    ticks: Sequence[Tick] = (),
    live: str = "over",
    pace: float = 0.5,
    given: int = 0,
    event_go: Callable[[int], None] | None = None,
    event_run: Callable[[Any], None] | None = None,
) -> None:
    """The timeline: buttons, a slider with ticks, the arrow keys, and the space bar.

    Args:
        rounds: the displayed numbers of the rounds that can be shown.
        at: the position of the shown round.
        noun: the word for a round.
        before: the words for a round that is given.
        until: the last round that is planned; None: the last one that can be shown.
        ticks: places of talk, plans and invalid answers.
        live: the status of a run that may go on; ``"over"`` for one that does not.
        pace: seconds that a round is shown while the timeline plays.
        given: how many of the first rounds are given: they are before the first round.
        event_go: called with the place to show.
        event_run: called when the run itself is to go on, or to pause.
    """


def ticks_of(
    kinds: Mapping[str, Sequence[int]], places: Mapping[int, int], call: Callable[[int], str]
) -> list[Tick]:
    """The ticks of a timeline.

    Args:
        kinds: kind → the rounds of its ticks.
        places: round → its position on the timeline.
        call: names a round.
    """
    ticks: list[Tick] = [
        (places[round_], kind, f"{WORDS[kind]} in {call(round_)}")
        for kind, rounds in kinds.items()
        for round_ in rounds
        if round_ in places
    ]
    step = -(-len(ticks) // MOST_TICKS) or 1
    return ticks[::step]
