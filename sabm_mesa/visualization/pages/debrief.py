"""Results of a game: for each of its people, on the wall of the class, and for its host."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import pandas as pd

from sabm_mesa.minds.human import HUMAN, Seat
from sabm_mesa.models.declarations import Debrief, load_class_game
from sabm_mesa.recording.export import csv_of
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.game import ClassSession, Game
from sabm_mesa.studies.people import human_distributions
from sabm_mesa.visualization.labels import (
    count,
    counting,
    in_words,
    name_of,
    number,
    round_of,
    titles_of,
)
from sabm_mesa.visualization.scenario_view import one_sentence

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

BINS = 20
MOST_RANKED = 10
"""People on the slide of the ranking at most."""
YOU = "<!-- you -->"
WIDTH, HEIGHT = 440, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 24, 46
HALO = ' paint-order="stroke" stroke="var(--sabm-card)" stroke-width="4" stroke-linejoin="round"'
"""Attributes of words over a picture."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
FRAMES = ("runs", "asks", "decisions", "model_data", "agent_data")
Step = tuple[float, float, float]
"""From, to, and the share of all values between."""


class Slide(NamedTuple):
    """A slide of the results.

    Attributes:
        title: its title.
        words: its lines.
        drawing: an SVG picture, or ``""``.
    """

    title: str
    words: list[str]
    drawing: str


@dataclass(frozen=True)
class Distribution:
    """Values beside others in one picture.

    Attributes:
        label: whose they are.
        steps: their distribution.
        filled: whether it is drawn as bars; else as a line.
    """

    label: str
    steps: Sequence[Step]
    filled: bool = False


def debrief_of(game: Game, seat: Seat) -> dict[str, Any] | None:
    """The decisions of a person among those of the class.

    Args:
        game: the game, which is over.
        seat: the seat.

    Returns:
        A title, and charts with their words; None where nothing is to be compared.
    """
    declared = load_class_game(game.model.class_game).debrief
    games = game.session.games if game.session is not None else (game,)
    if declared is None or game.model_data().empty:
        return None
    charts = []
    for each in _comparisons(games, declared):
        mine = each.own[games.index(game)].get(seat.agent)
        words = f"{round_of(game.model, each.round).capitalize()}: "
        words += f"you {number(mine)}, " if mine is not None else "you without an answer, "
        charts.append({"words": words + each.words, "svg": each.drawn(mine)})
    return {"title": "You and the others", "charts": charts} if charts else None


@dataclass(frozen=True)
class ComparedRound:
    """The decisions of a class in a round: the same for all of its people but for their own one.

    Attributes:
        round: the round.
        words: the mean in words.
        svg: the picture, with `YOU` where the own decision is marked.
        low: the left end of the picture.
        high: the right end.
        own: for each game agent → its decision.
    """

    round: int
    words: str
    svg: str
    low: float
    high: float
    own: Sequence[Mapping[int, float]]

    def drawn(self, mine: float | None) -> str:
        """The picture with the own decision.

        Args:
            mine: the own decision; None without one.
        """
        return self.svg.replace(YOU, "" if mine is None else _you(mine, self.low, self.high))


_KEPT: WeakKeyDictionary[Game, tuple[list[Any], list[ComparedRound]]] = WeakKeyDictionary()


def _comparisons(games: Sequence[Game], declared: Debrief) -> list[ComparedRound]:
    # A class that hears of the end at once waits for one drawing, not for one each.
    of = [frame for game in games for frame in (game.agent_data(), game.reference)]
    known, kept = _KEPT.get(games[0], ([], []))
    if len(known) == len(of) and all(a is b for a, b in zip(known, of, strict=True)):
        return kept
    data, model = _decisions(games, declared), games[0].model
    each_game = [_decisions((game,), declared).dropna() for game in games]
    found = []
    for round_ in _first_and_last(data):
        values = _of_people(data, round_)
        words = f"the mean of {count(len(values), 'person').replace('persons', 'people')} "
        words += number(float(values.mean())) if len(values) else "–"
        rounds = [own[own["round"] == round_] for own in each_game]
        decided = [dict(zip(own["agent"], own[declared.column], strict=True)) for own in rounds]
        svg = _compared(games, declared, round_)
        low, high = float(declared.low(model)), float(declared.high(model))
        found.append(ComparedRound(round_, words + ".", svg, low, high, decided))
    _KEPT[games[0]] = of, found
    return found


def slides(session: ClassSession) -> list[Slide]:
    """The results of a class, to be shown on the wall.

    Args:
        session: the class; its games are over.
    """
    games, model = session.games, session.games[0].model
    declared = load_class_game(model.class_game)
    played = [game for game in games if not game.model_data().empty]
    if not played:
        return [Slide("No round was played", [], "")]
    found = [_course(played, declared.debrief)]
    if declared.debrief is not None:
        found.append(_shape(played, declared.debrief))
    if model.score is not None:
        found.append(_earned(played))
        if played[0].ranked:
            found.append(_ranking(played))
    words = [declared.rule or one_sentence(type(model))]
    if declared.debrief is not None:
        theory = declared.debrief.theory(model)
        values = (f"{label} {number(float(value))}" for label, value in theory.items())
        words += [f"In theory: {', '.join(values)}."] if theory else []
        words += [human_distributions()[name][0] for name in declared.debrief.people(model)]
    found.append(
        Slide("What theory and the literature say", [*words, f"Source: {model.source}"], "")
    )
    return found


def bundle(session: ClassSession) -> bytes:
    """The recording, its data as CSV, and a report as one ZIP file.

    Args:
        session: the class; its games are over.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("report.html", report(session))
        for path in dict.fromkeys(game.model.recording_path for game in session.games):
            if path is not None:
                archive.write(path, path.name)
                recorded = Recorded(path)
                for name in FRAMES:
                    archive.writestr(f"data/{name}.csv", csv_of(getattr(recorded, name)()))
    return packed.getvalue()


def report(session: ClassSession) -> str:
    """The results as a page that needs no server.

    Args:
        session: the class; its games are over.
    """
    model = session.games[0].model
    seeds = ", ".join("-".join(map(str, game.model.entropy)) for game in session.games)
    about = f"{count(len(session.games), 'group')}, seeds {seeds}, condition {model.condition}"
    parts = [f"<h1>{escape(model.title)}</h1>", f"<p>{escape(about)}</p>"]
    for slide in slides(session):
        words = "".join(f"<p>{escape(line)}</p>" for line in slide.words)
        parts.append(f"<section><h2>{escape(slide.title)}</h2>{words}{slide.drawing}</section>")
    for place, game in enumerate(session.games, 1):
        columns, rows = in_words(game.model, game.model_data())
        table = pd.DataFrame(rows, columns=columns).to_html(index=False, border=0)
        parts.append(f"<section><h2>Group {place} by round</h2>{table}</section>")
    style = (
        ":root { --sabm-free: #0072b2; --sabm-soft: #57606a; --sabm-card: #fff }"
        "body { font: 1rem/1.5 sans-serif; max-width: 760px; margin: 2rem auto; padding: 0 1rem }"
        "svg { width: 100% } td, th { padding: 2px 10px; text-align: right }"
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{escape(model.title)}</title><style>{style}</style>'
        f"{''.join(parts)}</html>"
    )


def _course(games: Sequence[Game], declared: Debrief | None) -> Slide:
    """The mean decision of each group by round; without one the first column of the model."""
    model = games[0].model
    lines: dict[str, pd.Series[float]] = {}
    column = declared.column if declared else next(iter(model.columns()))
    label = declared.label if declared else titles_of(model)[column]
    for place, game in enumerate(games, 1):
        data = model.decided_rounds(game.agent_data() if declared else game.model_data())
        values = pd.to_numeric(data[column], errors="coerce").groupby(data["round"]).mean()
        name = f"Group {place}" if len(games) > 1 else "Mean" if declared else label
        lines[name] = values.dropna()
    theory = declared.theory(model) if declared else {}
    ends = [[own.iloc[place] for own in lines.values() if len(own)] for place in (0, -1)]
    words = []
    if ends[0]:
        began, ended = (number(float(sum(values) / len(values))) for values in ends)
        mean = "mean of " if declared or len(games) > 1 else ""
        words = [f"{label}: from a {mean}{began} in the first round to {ended} in the last one."]
    return Slide("What happened", words, _lines_svg(lines, theory, label, model))


def _shape(games: Sequence[Game], declared: Debrief) -> Slide:
    data = _decisions(games, declared)
    drawn, means = [], []
    for round_ in _first_and_last(data):
        values = _of_people(data, round_)
        name = round_of(games[0].model, round_).capitalize()
        mean = number(float(values.mean())) if len(values) else "–"
        means.append(f"{mean} in {name.lower()}")
        svg = _compared(games, declared, round_).replace(YOU, "")
        drawn.append(f"<div><p>{escape(name)}</p>{svg}</div>")
    words = f"{declared.label}: the mean of the people here was {', and '.join(means)}."
    return Slide("The class beside theory, people and models", [words], "".join(drawn))


def _earned(games: Sequence[Game]) -> Slide:
    score = games[0].model.score
    assert score is not None
    tables = [score.of_agents(game.model.decided_rounds(game.agent_data())) for game in games]
    table = pd.concat(tables, ignore_index=True)
    means = [
        f"{'people' if mind == HUMAN else str(mind)} {number(float(own.mean()))}"
        for mind, own in table.groupby("mind")["score"]
    ]
    better = "less" if score.lower_is_better else "more"
    words = [f"{score.label}, on average ({better} is better): {', '.join(means)}."]
    low, high = float(table["score"].min()), float(table["score"].max())
    high = high if high > low else low + 1
    people = table.loc[table["mind"] == HUMAN, "score"]
    others = table.loc[table["mind"] != HUMAN, "score"]
    series = [Distribution("People", _steps(people, low, high), filled=True)]
    if len(others):
        series.append(Distribution("Other minds", _steps(others, low, high)))
    return Slide(
        "Who earned what", words, _histogram(series, low, high, {}, score.label).replace(YOU, "")
    )


def _ranking(games: Sequence[Game]) -> Slide:
    """The best people of the class by name."""
    score = games[0].model.score
    assert score is not None
    rows = []
    for place, game in enumerate(games, 1):
        table = score.of_agents(game.model.decided_rounds(game.agent_data()))
        group = f", group {place}" if len(games) > 1 else ""
        for agent, own in zip(table["agent"], table["score"], strict=True):
            if any(seat.agent == agent for seat in game.seats.values()):
                rows.append((float(own), f"{name_of(game.model, int(agent))}{group}"))
    rows.sort(key=lambda row: row[0], reverse=not score.lower_is_better)
    first = next(iter(rows), None)
    words = f"{first[1]} is first of {len(rows)}." if first else "Nobody has a rank."
    items = "".join(
        f"<li>{1 + sum(_is_better(other, own, score.lower_is_better) for other, _ in rows)}. "
        f"{escape(name)}: {number(own)}</li>"
        for own, name in rows[:MOST_RANKED]
    )
    title = f"Ranking: {score.label}"
    return Slide(title, [words], f'<ul class="sabm-ranking">{items}</ul>' if rows else "")


def _is_better(one: float, other: float, lower: bool) -> bool:
    return one < other if lower else one > other


def _compared(games: Sequence[Game], declared: Debrief, round_: int) -> str:
    """The decisions of a round beside theory, people of the literature, and models."""
    model = games[0].model
    data = _decisions(games, declared)
    low, high = float(declared.low(model)), float(declared.high(model))
    series = [
        Distribution("People of this class", _steps(_of_people(data, round_), low, high), True)
    ]
    others = data[(data["round"] == round_) & (data["mind"] != HUMAN)]
    for mind, own in others.groupby("mind")[declared.column]:
        series.append(Distribution(f"{mind}, in this class", _steps(own.dropna(), low, high)))
    reference = [game.reference for game in games if game.reference is not None]
    if reference:
        all_ = pd.concat(reference, ignore_index=True)
        own = pd.to_numeric(all_.loc[all_["round"] == round_, declared.column], errors="coerce")
        series.append(Distribution("Classical minds in all seats", _steps(own.dropna(), low, high)))
    if round_ == 0:
        for name in declared.people(model):
            who, bins = human_distributions()[name]
            series.append(Distribution(who, _from_bins(bins, low, high)))
    return _histogram(series, low, high, declared.theory(model), declared.label)


def _decisions(games: Sequence[Game], declared: Debrief) -> pd.DataFrame:
    decided = [game.model.decided_rounds(game.agent_data()) for game in games]
    data = pd.concat(decided, ignore_index=True)
    data[declared.column] = pd.to_numeric(data[declared.column], errors="coerce")
    return data[["round", "agent", "mind", declared.column]]


def _first_and_last(data: pd.DataFrame) -> list[int]:
    decided = data.dropna()["round"]
    return sorted({int(decided.min()), int(decided.max())}) if len(decided) else []


def _of_people(data: pd.DataFrame, round_: int) -> pd.Series[float]:
    chosen: pd.Series[float] = data[(data["round"] == round_) & (data["mind"] == HUMAN)].iloc[:, -1]
    return chosen.dropna()


def _steps(values: pd.Series[float], low: float, high: float) -> list[Step]:
    width, counts = (high - low) / BINS, [0] * BINS
    for value in values:
        place = min(BINS - 1, max(0, math.floor((float(value) - low) / width)))
        counts[place] += 1
    n = max(1, len(values))
    return [(low + i * width, low + (i + 1) * width, c / n) for i, c in enumerate(counts)]


def _from_bins(bins: Sequence[Step], low: float, high: float) -> list[Step]:
    """Classes of whole numbers and of any width, in those of the picture."""
    width, shares = (high - low) / BINS, [0.0] * BINS
    total = sum(share for _, _, share in bins)
    for first, last, share in bins:
        for value in range(int(first), int(last) + 1):
            place = min(BINS - 1, max(0, math.floor((value - low) / width)))
            shares[place] += share / total / (int(last) - int(first) + 1)
    return [(low + i * width, low + (i + 1) * width, share) for i, share in enumerate(shares)]


# Pictures: SVG in the colours of the page.


def _histogram(
    series: Sequence[Distribution], low: float, high: float, theory: Mapping[str, float],
    label: str,
) -> str:  # fmt: skip
    top = max([0.1, *(share for each in series for _, _, share in each.steps)])
    parts = [_axes(low, high, 0, top, label, "Share")]
    for place, each in enumerate(series):
        colour = "var(--sabm-free)" if each.filled else COLOURS[place % len(COLOURS)]
        points = []
        for first, last, share in each.steps:
            x, end = _x(first, low, high), _x(last, low, high)
            y = _y(share, 0, top)
            if each.filled and share:
                parts.append(
                    f'<rect x="{x + 1:.1f}" y="{y:.1f}" width="{end - x - 2:.1f}" '
                    f'height="{HEIGHT - BOTTOM - y:.1f}" fill="{colour}" opacity=".55"/>'
                )
            points += [f"{x:.1f},{y:.1f}", f"{end:.1f},{y:.1f}"]
        if not each.filled:
            parts.append(
                f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" '
                'stroke-width="2.5"/>'
            )
    parts += _theory(theory, low, high)
    parts.append(YOU)
    names = [(each.label, each.filled) for each in series]
    return _svg(parts, names, f"{label}: {', '.join(name for name, _ in names)}")


def _you(mine: float, low: float, high: float) -> str:
    x = _x(mine, low, high)
    return (
        f'<path d="M{x:.1f} {HEIGHT - BOTTOM}l-9 16h18z" fill="#d55e00"/><text x="{x:.1f}" '
        f'y="{HEIGHT - 12}" text-anchor="middle" font-weight="700">you</text>'
    )


def _lines_svg(
    lines: Mapping[str, pd.Series[float]], theory: Mapping[str, float], label: str,
    model: SmartModel,
) -> str:  # fmt: skip
    values = [float(v) for each in lines.values() for v in each] + [
        float(v) for v in theory.values()
    ]
    low, high = min([*values, 0.0]), max([*values, 1e-9])
    noun, first = counting(model)
    begin = first + model.given_rounds
    last = max(
        [begin + 1, *(int(each.index.max()) + first for each in lines.values() if len(each))]
    )
    parts = [_axes(begin, last, low, high, noun.capitalize(), label)]
    for place, each in enumerate(lines.values()):
        points = " ".join(
            f"{_x(int(r) + first, begin, last):.1f},{_y(float(v), low, high):.1f}"
            for r, v in zip(each.index.tolist(), each.tolist(), strict=True)
        )
        colour = COLOURS[place % len(COLOURS)]
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="3" '
            'stroke-linejoin="round"/>'
        )
    for name, value in theory.items():
        y = _y(float(value), low, high)
        label_y = y - 4 if y > TOP + 14 else y + 16
        parts.append(
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="currentColor" '
            f'stroke-dasharray="6 5"/><text x="{WIDTH - RIGHT}" y="{label_y:.1f}" '
            f'text-anchor="end"{HALO}>{escape(name)}</text>'
        )
    return _svg(parts, [(name, False) for name in lines], label, first_colour=0)


def _theory(theory: Mapping[str, float], low: float, high: float) -> list[str]:
    parts = []
    for place, (name, value) in enumerate(theory.items()):
        x = _x(min(high, max(low, float(value))), low, high)
        anchor = "end" if x > WIDTH * 0.75 else "start"
        parts.append(
            f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="currentColor" '
            f'stroke-dasharray="5 4"/><text x="{x + (-4 if anchor == "end" else 4):.1f}" '
            f'y="{TOP + 14 + 18 * place}" text-anchor="{anchor}"{HALO}>{escape(name)}</text>'
        )
    return parts


def _axes(low: float, high: float, bottom: float, top: float, x: str, y: str) -> str:
    base = HEIGHT - BOTTOM
    middle = (low + high) / 2
    at = {low: "start", middle: "middle", high: "end"}
    if all(isinstance(end, int) for end in (low, high)) and not middle.is_integer():
        del at[middle]  # no round is between two rounds
    ticks = "".join(
        f'<text x="{_x(v, low, high):.1f}" y="{base + 16}" text-anchor="{anchor}" '
        f'fill="var(--sabm-soft)">{_tick(float(v))}</text>'
        for v, anchor in at.items()
    )
    up = "".join(
        f'<text x="{LEFT - 6}" y="{_y(v, bottom, top) + 4:.1f}" text-anchor="end" '
        f'fill="var(--sabm-soft)">{_tick(float(v))}</text>'
        for v in (bottom, top)
    )
    return (
        f'<path d="M{LEFT} {TOP}V{base}H{WIDTH - RIGHT}" fill="none" stroke="currentColor"/>'
        f'{ticks}{up}<text x="{WIDTH - RIGHT}" y="{HEIGHT - 10}" text-anchor="end">{escape(x)}'
        f'</text><text x="{LEFT + 4}" y="{TOP - 8}">{escape(y)}</text>'
    )


def _tick(value: float) -> str:
    """A number at an axis: three significant digits, so that it stands beside it whole."""
    return number(float(f"{value:.3g}"))


def _svg(
    parts: Sequence[str], names: Sequence[tuple[str, bool]], title: str, first_colour: int = -1
) -> str:
    legend = []
    for place, (name, filled) in enumerate(names):
        colour = (
            "var(--sabm-free)" if filled and first_colour < 0 else COLOURS[place % len(COLOURS)]
        )
        y = HEIGHT + 14 + 20 * place
        legend.append(
            f'<rect x="{LEFT}" y="{y - 10}" width="18" height="{10 if filled else 4}" '
            f'fill="{colour}"/><text x="{LEFT + 26}" y="{y}"{_fit(name)}>{escape(name)}</text>'
        )
    height = HEIGHT + 20 * len(names) + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title, quote=True)}" font-size="14" font-family="sans-serif" '
        f'fill="currentColor">{"".join(parts)}{"".join(legend)}</svg>'
    )


def _fit(name: str) -> str:
    """The attribute that makes a long name fit."""
    small = len(name) > 48
    return f' textLength="{WIDTH - LEFT - 30}" lengthAdjust="spacingAndGlyphs"' if small else ""


def _x(value: float, low: float, high: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (min(high, max(low, value)) - low) / ((high - low) or 1)


def _y(value: float, low: float, high: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / ((high - low) or 1)
