"""Search in a recording, by texts and by facts of asks, with links to the hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import solara

from sabm_mesa.recording.search import ANSWERED, SAID, SENT, THOUGHT, Hit, SearchResult
from sabm_mesa.visualization.html import card, choice, field, html, inside, problem
from sabm_mesa.visualization.labels import count, whole_in
from sabm_mesa.visualization.records import charts, rounds
from sabm_mesa.visualization.records.parts import Hits, address, use_read, waiting
from sabm_mesa.visualization.records.store import RunData, search_of, stamp

MOST = 50
"""Maximum number of displayed hits."""
PATIENCE = 0.3
"""Seconds for which each search extends the index of the recording first."""
ALL = "all"
RUNGS = (ALL, "exact", "marked", "labelled", "only")
TEXTS = {ALL: None, "answers": ANSWERED, "thoughts": THOUGHT, "messages": SAID, "prompts": SENT}
"""Choice → the kind of text that is searched."""
RESULTS = {ALL: None, "valid": True, "invalid": False}
KINDS = {
    ANSWERED: "answer",
    THOUGHT: "private thoughts",
    SAID: "message",
    SENT: "prompt, sent here first",
}


@solara.component
def Search(run: RunData, runs: int, open_: Callable[[str], None]) -> None:
    """Search the recording, and filter asks by their facts.

    Args:
        run: the shown run.
        runs: the number of runs of the recording.
        open_: called with the address of the chosen hit.
    """
    words, set_words = solara.use_state("")
    text, set_text = solara.use_state(ALL)
    phase, set_phase = solara.use_state(ALL)
    agent, set_agent = solara.use_state("")
    result, set_result = solara.use_state(ALL)
    reading, set_reading = solara.use_state(ALL)
    everywhere, set_everywhere = solara.use_state(False)
    start, set_start = solara.use_state(0)
    looks, set_looks = solara.use_state(0)
    chosen = [words.strip(), text, phase, agent.strip(), result, reading, everywhere]
    solara.use_effect(lambda: set_start(0), chosen)
    path, number = run.recorded.path, run.recorded.run
    asked = chosen[:6] != ["", ALL, ALL, "", ALL, ALL]

    def find() -> tuple[SearchResult, list[dict[str, Any]]] | None:
        if not asked:
            return None
        matches = search_of(path).find(
            words,
            kind=TEXTS[text],
            run=None if everywhere else number,
            phase=None if phase == ALL else phase,
            agent=whole_in(agent) if agent.strip() else None,
            valid=RESULTS[result],
            read_as=None if reading == ALL else reading,
            start=start,
            most=MOST,
            patience=PATIENCE,
        )
        return matches, [_shown(run, hit) for hit in matches.hits]

    question = [path, number, start, *chosen]
    latest, wrong, busy = use_read(find, [*question, stamp(path), looks])
    kept = solara.use_ref((question, latest))
    if not busy or kept.current[0] != question:
        kept.current = question, latest
    in_view = kept.current[1]  # the last hits stay visible during a search
    going_on = in_view is not None and not in_view[0].complete and not busy
    solara.use_effect(lambda: set_looks(looks + 1) if going_on else None, [going_on, looks])
    with card("Find"):
        field("Words, or a phrase in quotation marks; Enter searches", words, set_words)
        with inside("div", "rec-bar"):
            choice("Texts", [*TEXTS], text, set_text)
            choice("Phase", [ALL, *rounds.phases_of(run)], phase, set_phase)
            field("Only agent (all when empty)", agent, set_agent)
            choice("Result", [*RESULTS], result, set_result)
            choice("Read as", RUNGS, reading, set_reading)
            if runs > 1:
                solara.Checkbox(
                    label=f"All {runs:,} runs", value=everywhere, on_value=set_everywhere
                )
    with inside("section", "sabm-card", aria_live="polite"):
        if wrong:
            problem(wrong)
        elif busy and asked and in_view is None:
            waiting("Searching …")
        elif in_view is None:
            html("p", "Type words, or choose what to show.", "sabm-empty")
        else:
            _results(*in_view, start, set_start, open_)


def _results(
    result: SearchResult,
    shown: Sequence[dict[str, Any]],
    start: int,
    set_start: Callable[[int], None],
    open_: Callable[[str], None],
) -> None:
    summary = ("more than " if result.more else "") + count(result.total, "place")
    if result.total > MOST:
        summary += f", of which {start + 1:,} to {start + len(shown):,} are shown"
    summary = f"{summary}." if result.total else "Nothing is found."
    if not result.complete:
        summary += f" So far {result.searched:,} texts are searched; the others follow …"
    html("p", summary, "sabm-hint", data_name="found")
    Hits(hits=list(shown), event_choose=open_)
    if result.total > MOST:
        with inside("div", "rec-bar"):
            solara.Button(
                "Earlier", text=True, disabled=start == 0,
                on_click=lambda: set_start(max(start - MOST, 0)),
            )  # fmt: skip
            solara.Button(
                "Later", text=True, disabled=start + MOST >= result.total and not result.more,
                on_click=lambda: set_start(start + MOST),
            )  # fmt: skip


def _shown(run: RunData, hit: Hit) -> dict[str, Any]:
    is_message = hit.kind == SAID
    where = [charts.name_in(run, hit.agent), hit.phase, charts.called(run, hit.round)]
    if hit.run != run.recorded.run:
        where.append(f"run {hit.run}")
    place = (hit.round,) if is_message else (hit.round, hit.phase, hit.agent, hit.call)
    return {
        "where": ", ".join(where),
        "kind": KINDS[hit.kind],
        "bad": hit.valid is False,
        "excerpt": list(hit.excerpt),
        "url": address(run, place, hit.call if is_message else None, hit.run),
    }
