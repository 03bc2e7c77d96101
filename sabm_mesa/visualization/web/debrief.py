"""Results of a game: for each of its people, on the wall of the class, and for its host."""

from __future__ import annotations

import io
import math
import textwrap
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import pandas as pd
from markupsafe import Markup

from sabm_mesa.analysis.plot_style import round_numbers
from sabm_mesa.core.phrases import (
    ENGLISH,
    Amount,
    Drawing,
    Phrase,
    known,
    number_in,
    slug,
    translated,
)
from sabm_mesa.minds.human import HUMAN, Seat
from sabm_mesa.models.declarations import Debrief
from sabm_mesa.recording.export import csv_of
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.votes import Votes, is_right
from sabm_mesa.runs.game import ClassSession, Game
from sabm_mesa.studies.people import human_distributions
from sabm_mesa.visualization.labels import (
    counting,
    in_words,
    mind_in_words,
    name_of,
    round_noun,
    round_of,
    title_of,
    titles_of,
)
from sabm_mesa.visualization.scenario_view import rule_of
from sabm_mesa.visualization.web.page import page

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

BINS = 20
MOST_BARS = 24
"""The most bars of a slide of the votes."""
MOST_RANKED = 10
"""The most people on the slide of the ranking."""
LONGEST_THOUGHT = 100
"""The most characters of a thought on a slide; the recording has all of them."""
YOU = "<!-- you -->"
WIDTH, HEIGHT, BESIDE = 360, 250, 240
LEFT, RIGHT, TOP, BOTTOM, LINE = 52, 12, 24, 46, 18
HALO = ' paint-order="stroke" stroke="var(--sabm-card)" stroke-width="4" stroke-linejoin="round"'
"""Attributes of text over a picture."""
FAINT = ' opacity=".55"'
"""Attribute of bars, so that lines before them can be seen."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_FILL, _GREY = "var(--sabm-free)", "#8a939c"
CLASSICAL_SEATS = "reference"
"""Stands for the reference game among the sources of data."""
FRAMES = ("runs", "asks", "decisions", "model_data", "agent_data")
Step = tuple[float, float, float]
"""From, to, and the share of all values between."""


class Slide(NamedTuple):
    """A slide of the results.

    Attributes:
        title: its title.
        words: its lines.
        drawing: an SVG picture or a list (`Drawing`), or ``""``.
    """

    title: str
    words: list[str]
    drawing: str


@dataclass(frozen=True)
class Distribution:
    """Values and others in one picture.

    Attributes:
        label: whose they are.
        steps: their distribution.
        colour: the colour of their source.
        filled: whether it is drawn as bars; else as a line.
    """

    label: str
    steps: Sequence[Step]
    colour: str = _FILL
    filled: bool = False


def debrief_of(game: Game, seat: Seat) -> dict[str, Any] | None:
    """The decisions of a person among those of the class.

    Args:
        game: the game, which is over.

    Returns:
        A title, and charts with their words; None where nothing is to be compared.
    """
    declared = game.model.class_game.debrief
    games = _class_of(game)
    if game.model_data().empty:
        return None
    charts = []
    for comparison in _comparisons(games, declared) if declared is not None else ():
        mine = comparison.own[games.index(game)].get(seat.agent)
        round_ = round_of(game.model, comparison.round).capitalize()
        if comparison.n == 0:
            words = Phrase("slides.nobody_answered", round=round_)
        else:
            key = "slides.you_none" if mine is None else "slides.you"
            words = Phrase(key, round=round_, mine=mine, n=comparison.n, mean=comparison.mean)
        charts.append({"words": words, "svg": comparison.drawn(mine)})
    return {"title": Phrase("slides.you_and_others"), "charts": charts} if charts else None


def ballot_of(game: Game, seat: Seat) -> dict[str, Any] | None:
    """The vote that a person is asked for at the end; None without one, or when it was given.

    Args:
        game: the game, which is over.
    """
    if not game.voting or seat.agent in game.votes or game.model_data().empty:
        return None
    chosen = _decided_by(game)
    options = [
        {
            "agent": agent.unique_id,
            "label": name_of(game.model, agent.unique_id),
            "did": Phrase("number.these", these=chosen.get(agent.unique_id, [])),
        }
        for agent in game.model.population
        if agent.unique_id != seat.agent
    ]
    declared = _declared(game)
    label = "" if declared is None else declared.label
    return {"title": Phrase("slides.machine"), "label": label, "options": options}


def machines_in_words(game: Game, seat: Seat) -> list[str]:
    """The machines of a group by name, and whether a person's vote was right.

    Args:
        game: the game, which is over.
    """
    if game.model_data().empty:
        return []
    minds = {agent.unique_id: agent.mind.spec for agent in game.model.population}
    machines = game.machines()
    if not machines:
        words = Phrase("slides.no_machine")
    elif len(machines) > MOST_RANKED:
        words = Phrase("slides.many_machines", machines=len(machines), of=len(minds))
    else:
        specs = [game.stand_in if minds[agent] == HUMAN else minds[agent] for agent in machines]
        kinds = [mind_in_words(spec) if spec else Phrase("slides.nobody") for spec in specs]
        named = zip(machines, kinds, strict=True)
        names = [
            Phrase("form.named", name=name_of(game.model, agent), takes=kind)
            for agent, kind in named
        ]
        words = Phrase("slides.machines", names=names)
    if not game.voting:
        return [words] if machines else []
    right = is_right(game.votes.get(seat.agent, -1), machines)
    return [words, Phrase("slides.right" if right else "slides.wrong")]


def _votes(games: Sequence[Game]) -> list[Slide]:
    """The count of the votes, the machines with the votes for them, and what these thought."""
    people = sum(seat.was_taken for game in games for seat in game.seats.values())
    voted = sum(len(game.votes) for game in games)
    words = Phrase("slides.no_votes")
    hits = [hit for game in games for hit in Votes(game.votes, game.machines()).right]
    if hits:
        chance = sum(
            len(game.votes) * max(1, len(game.machines())) / len(game.model.population)
            for game in games  # all others, and nobody, can be voted for
        )
        words = Phrase(
            "slides.votes_right", n=voted, right=sum(hits), share=f"{sum(hits) / voted:.0%}",
            chance=f"{chance / voted:.0%}",
        )  # fmt: skip
    thoughts = _thoughts(games)
    return [
        Slide(
            Phrase("slides.machine"),
            [Phrase("slides.voted", n=voted, of=people)],
            _bars(games, revealed=False),
        ),
        Slide(Phrase("slides.revealed"), [words], _bars(games, revealed=True)),
        *([Slide(Phrase("slides.thought"), [], _list(thoughts))] if thoughts else []),
    ]


def _bars(games: Sequence[Game], *, revealed: bool) -> Drawing:
    """The votes for everybody; of several groups how many voted, and then for the machines."""
    bars: list[tuple[Any, int, float, bool]] = []
    for game in games:
        people = max(1, sum(seat.was_taken for seat in game.seats.values()))
        machines, counted = game.machines() if revealed else [], Counter(game.votes.values())
        if len(games) > 1:
            n = sum(counted[agent] for agent in machines) if revealed else len(game.votes)
            one = len(machines) == 1
            name = _in_group(game, machines[0]) if one else _group(game)
            bars.append((name, n, n / people, revealed))
            continue
        voted = [agent for agent, _ in counted.most_common()]
        everybody = [agent.unique_id for agent in game.model.population]
        for agent in dict.fromkeys([*machines, *voted, *everybody]):
            name = name_of(game.model, agent) if agent else Phrase("slides.nobody")
            bars.append((name, counted[agent], counted[agent] / people, agent in machines))

    def draw(language: str) -> str:
        items = (
            f"<li{' class=sabm-machine' if machine else ''}>"
            f"<span>{escape(translated(name, language))}</span>"
            f'<i style="width:{100 * share:.0f}%"></i><b>{n}</b></li>'
            for name, n, share, machine in bars[:MOST_BARS]
        )
        return f'<ul class="sabm-votes">{"".join(items)}</ul>'

    return Drawing(draw)


def _thoughts(games: Sequence[Game]) -> list[Phrase]:
    """The private reasoning of machines, from their recording."""
    lines = []
    for game in games:
        path, machines = game.model.recording_path, game.machines()
        if path is None or not machines:
            continue
        made = Recorded(path).decisions()
        said = made[
            (made["run"] == game.model.recorder.run)
            & made["agent"].isin(machines)
            & made["reasoning"].fillna("").ne("")
        ]
        lines += [
            Phrase(
                "slides.thought_in", name=_in_group(game, int(agent)),
                round=round_of(game.model, int(round_)),
                words=words if len(words) <= LONGEST_THOUGHT else f"{words[:LONGEST_THOUGHT]} …",
            )
            for agent, round_, words in zip(
                said["agent"], said["round"], said["reasoning"], strict=True
            )
        ]  # fmt: skip
    return lines[:MOST_RANKED]


def _group(game: Game) -> str:
    """A group by its number in the class."""
    return Phrase("slides.group", number=1 + _class_of(game).index(game))


def _in_group(game: Game, agent: int) -> str:
    """The name of an agent, with its group where there are several."""
    name = name_of(game.model, agent)
    if len(_class_of(game)) == 1:
        return name
    return Phrase("slides.of_group", name=name, group=_group(game))


def _class_of(game: Game) -> Sequence[Game]:
    return game.session.games if game.session is not None else (game,)


def _list(lines: Sequence[str]) -> Drawing:
    """Lines as a list of a slide."""

    def draw(language: str) -> str:
        items = (f"<li>{escape(translated(line, language))}</li>" for line in lines)
        many = " sabm-ranking-many" if len(lines) > MOST_RANKED else ""
        return f'<ul class="sabm-ranking{many}">{"".join(items)}</ul>'

    return Drawing(draw)


def _declared(game: Game) -> Debrief | None:
    return game.model.class_game.debrief


def _decided_by(game: Game) -> dict[int, list[str]]:
    """Agent → its decisions by round, in words; its score where a scenario compares none."""
    if (declared := _declared(game)) is None:
        return _scored(game)
    decided: dict[int, list[str]] = {}
    own = _decisions((game,), declared)
    for agent, value in zip(own["agent"], own[declared.column], strict=True):
        decided.setdefault(int(agent), []).append("–" if pd.isna(value) else Amount(float(value)))
    return decided


def _scored(game: Game) -> dict[int, list[str]]:
    """Agent → its score in words."""
    if (score := game.model.score) is None:
        return {}
    table, label = _scores(game), score_in_words(score.label)
    never = _never(game)
    return {
        agent: [Phrase("slides.scored", value=Amount(value), label=label) if reached else never]
        for agent, value, reached in zip(
            table["agent"].tolist(), table["score"].tolist(), table["reached"], strict=True
        )
    }


def _scores(game: Game) -> pd.DataFrame:
    """The score of each agent, and whether it ``reached`` the value of `Score.until`, if any."""
    score = game.model.score
    assert score is not None
    table = score.of_agents(game.model.decided_rounds(game.agent_data()))
    if not score.until:
        return table.assign(reached=True)
    played = len(game.model.decided_rounds(game.model_data()))
    return table.assign(reached=table["score"] <= played)


def _never(game: Game) -> str:
    """The words for a score with `Score.until` that was never reached."""
    return game.model.class_game.never[-1]


@dataclass(frozen=True)
class ComparedRound:
    """The decisions of a class in a round, the same on all pages but for the own decision.

    Attributes:
        round: the round.
        n: the number of people who decided.
        mean: their mean; None without one.
        svg: the picture, with `YOU` where the own decision is marked.
        low: the left end of the picture.
        high: the right end.
        own: for each game agent → the decision of its person.
    """

    round: int
    n: int
    mean: float | None
    svg: Drawing
    low: float
    high: float
    own: Sequence[Mapping[int, float]]

    def drawn(self, mine: float | None) -> str:
        """The picture with the own decision.

        Args:
            mine: the own decision; None without one.
        """

        def draw(language: str) -> str:
            you = "" if mine is None else _you(mine, self.low, self.high, language)
            return self.svg.in_(language).replace(YOU, you)

        return Drawing(draw)


_KEPT: WeakKeyDictionary[Game, tuple[list[Any], list[ComparedRound]]] = WeakKeyDictionary()


def _comparisons(games: Sequence[Game], declared: Debrief) -> list[ComparedRound]:
    # All pages of a class ask for it when the game ends: it is computed once.
    of = [frame for game in games for frame in (game.agent_data(), game.reference)]
    before, kept = _KEPT.get(games[0], ([], []))
    if len(before) == len(of) and all(a is b for a, b in zip(before, of, strict=True)):
        return kept
    data, model = _decisions(games, declared), games[0].model
    by_game = [_decisions((game,), declared).dropna() for game in games]
    comparisons = []
    for round_ in _first_and_last(data):
        values = _of_people(data, round_)
        mean = float(values.mean()) if len(values) else None
        rounds = [own[own["round"] == round_] for own in by_game]
        people = [own[own["mind"] == HUMAN] for own in rounds]
        decided = [dict(zip(own["agent"], own[declared.column], strict=True)) for own in people]
        svg = _compared(games, declared, round_)
        low, high = float(declared.low(model)), float(declared.high(model))
        comparisons.append(ComparedRound(round_, len(values), mean, svg, low, high, decided))
    _KEPT[games[0]] = of, comparisons
    return comparisons


def slides(session: ClassSession, chosen: int = 0) -> list[Slide]:
    """The results of a class, to be shown on the wall.

    Args:
        session: the class; its games are over.
        chosen: the index of the group in colour, where there are too many for a colour each.
    """
    games, model = session.games, session.games[0].model
    declared = model.class_game
    played = [game for game in games if not game.model_data().empty]
    if not played:
        return [Slide(Phrase("slides.nothing"), [], "")]
    shown = _votes(played) if played[0].voting else []
    shown.append(_course(played, declared.debrief, chosen))
    if declared.debrief is not None and _first_and_last(_decisions(played, declared.debrief)):
        shown.append(_shape(played, declared.debrief))
    if model.score is not None:
        shown.append(_earned(played))
        if played[0].ranked:
            shown.append(_ranking(played))
    words = [rule_of(model)]
    if declared.debrief is not None:
        theory = declared.debrief.theory(model, None)
        values = [Phrase("slides.is", what=k, value=float(v)) for k, v in theory.items()]
        same = _always(model, declared.debrief) == theory
        key = "slides.in_theory" if same else "slides.in_theory_first"
        words += [Phrase(key, values=values)] if theory else []
        words += [_described(name) for name in declared.debrief.people(model)]
    words.append(Phrase("slides.source", source=model.source))
    shown.append(Slide(Phrase("slides.literature"), words, ""))
    return shown


def _described(name: str) -> str:
    """Published people in words, with the source."""
    return known(f"people.{slug(name)}", human_distributions()[name][0])


def bundle(session: ClassSession, language: str = ENGLISH) -> bytes:
    """The recording, its data as CSV, and a report as one ZIP file.

    Args:
        session: the class; its games are over.
        language: that of the report; all other files are English.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("report.html", report(session, language))
        for path in dict.fromkeys(game.model.recording_path for game in session.games):
            if path is not None:
                archive.write(path, path.name)
                recorded = Recorded(path)
                for name in FRAMES:
                    archive.writestr(f"data/{name}.csv", csv_of(getattr(recorded, name)()))
    return packed.getvalue()


def report(session: ClassSession, language: str = ENGLISH) -> str:
    """The results as a page that needs no server.

    Args:
        session: the class; its games are over.
    """

    def say(text: Any) -> Any:
        return translated(text, language)

    model = session.games[0].model
    seeds = ", ".join("-".join(map(str, game.model.entropy)) for game in session.games)
    about = Phrase("slides.about", n=len(session.games), seeds=seeds, condition=model.condition)
    tables = [
        (say(Phrase("slides.group_by_round", group=_group(game))),
         *say(in_words(game.model, game.model_data())))
        for game in session.games
    ]  # fmt: skip
    shown = [(title, words, Markup(drawing)) for title, words, drawing in say(slides(session))]
    return page(
        "results.html", language=language, title=say(title_of(model)), about=say(about),
        slides=shown, tables=tables,
    )  # fmt: skip


def _course(games: Sequence[Game], declared: Debrief | None, chosen: int) -> Slide:
    """The mean of the people of each group by round; without decisions a column of the model."""
    model = games[0].model
    column = declared.column if declared else next(iter(model.columns()))
    label = declared.label if declared else titles_of(model).localized(column)
    frames = {}
    for game in games:
        name = Phrase("slides.mean") if declared else label
        data = model.decided_rounds(game.agent_data() if declared else game.model_data())
        values = pd.to_numeric(data[column], errors="coerce")
        of_people = values[data["mind"] == HUMAN] if declared else values
        if of_people.notna().any():  # a group without people is no line of the class
            frames[_group(game) if len(games) > 1 else name] = pd.DataFrame(
                {"round": data["round"], "value": of_people}
            ).dropna()
    lines = {name: own.groupby("round")["value"].mean() for name, own in frames.items()}
    title = Phrase("slides.happened")
    if not frames:
        last = round_of(model, int(games[0].model_data()["round"].max())).capitalize()
        return Slide(title, [Phrase("slides.nobody_answered", round=last)], "")
    means = pd.concat(frames.values()).groupby("round")["value"].mean()
    began, ended = float(means.iloc[0]), float(means.iloc[-1])
    if declared is not None and declared.course is not None:
        words = declared.course(model, began, ended)
    else:
        key = "slides.course_of_groups" if len(games) > 1 else "slides.course_of_one"
        key = "slides.course" if declared else key
        words = Phrase(key, label=label, began=began, ended=ended)
    theory = _always(model, declared) if declared else {}
    drawing = Drawing(lambda language: _lines_in(language, lines, theory, label, model, chosen))
    return Slide(title, [words], drawing)


def _shape(games: Sequence[Game], declared: Debrief) -> Slide:
    """The first and the last round compared with theory; which theory the class was nearest to."""
    data, model = _decisions(games, declared), games[0].model
    drawn: list[tuple[str, Drawing]] = []
    means: list[str] = []
    for round_ in _first_and_last(data):
        values = _of_people(data, round_)
        name = round_of(model, round_)
        drawn.append((name.capitalize(), _compared(games, declared, round_)))
        if len(values):
            theory = declared.theory(model, _mean_before(data, round_))
            means.append(_near(float(values.mean()), name, theory))

    def draw(language: str) -> str:
        return "".join(
            f"<div><p>{escape(translated(name, language))}</p>"
            f"{svg.in_(language).replace(YOU, '')}</div>"
            for name, svg in drawn
        )

    words: list[str] = [Phrase("slides.shape", rounds=means)] if means else []
    return Slide(Phrase("slides.beside"), words, Drawing(draw))


def _near(mean: float, round_: str, theory: Mapping[str, float]) -> Phrase:
    """A mean with the theory that it is nearest to, or all that it is equally near to."""
    away = {name: abs(float(value) - mean) for name, value in theory.items()}
    nearest = [name for name in away if math.isclose(away[name], min(away.values()), abs_tol=1e-9)]
    if not nearest:
        return Phrase("slides.mean_in", mean=mean, round=round_)
    if len(nearest) == 1:
        value = float(theory[nearest[0]])
        return Phrase("slides.mean_near", mean=mean, round=round_, theory=nearest[0], value=value)
    named = [Phrase("slides.is", what=name, value=float(theory[name])) for name in nearest]
    return Phrase("slides.mean_between", mean=mean, round=round_, theories=named)


def _mean_before(data: pd.DataFrame, round_: int) -> float | None:
    """The mean of all decisions in the last round before one; None in the first round."""
    decided = data.dropna()
    before = decided[decided["round"] < round_]
    last = before[before["round"] == before["round"].max()]
    return float(last.iloc[:, -1].mean()) if len(last) else None


def _always(model: SmartModel, declared: Debrief) -> Mapping[str, float]:
    """The theoretical values that are the same in all rounds."""
    first, later = declared.theory(model, None), declared.theory(model, math.inf)
    return {name: value for name, value in first.items() if later.get(name) == value}


def _colours(games: Sequence[Game], declared: Debrief | None) -> Mapping[str, str]:
    """Source → its colour, the same on all slides: minds, classical seats, published people."""
    minds = sorted({str(mind) for game in games for mind in game.agent_data()["mind"]} - {HUMAN})
    published = () if declared is None else declared.people(games[0].model)
    sources = [*minds, CLASSICAL_SEATS, *published]
    return {source: COLOURS[1 + i % (len(COLOURS) - 1)] for i, source in enumerate(sources)}


def _earned(games: Sequence[Game]) -> Slide:
    score = games[0].model.score
    assert score is not None
    everybody = pd.concat([_scores(game) for game in games], ignore_index=True)
    table = everybody[everybody["reached"]]
    label = score_in_words(score.label)
    words: list[str] = []
    if len(table):
        means = [
            Phrase("slides.is", what=mind_in_words(str(mind)), value=float(own.mean()))
            for mind, own in table.groupby("mind")["score"]
        ]
        best = float(table["score"].min() if score.lower_is_better else table["score"].max())
        words.append(Phrase("slides.earned", label=label, means=means, best=best))
    if missing := len(everybody) - len(table):
        counted = Phrase("slides.of", some=missing, of=len(everybody))
        words.append(Phrase("slides.never", what=_never(games[0]), counted=counted).capitalize())
    title = Phrase("slides.who_earned")
    if table["score"].nunique() < 2:  # the words say it
        return Slide(title, words, "")
    whole, bins = bool(score.until), BINS
    low, *_, high = round_numbers(table["score"].min(), table["score"].max(), whole=whole)
    if whole:  # numbers of rounds: each has a bar around it
        low, high = low - 0.5, high + 0.5
        bins = min(BINS, round(high - low))
    people = _steps(table.loc[table["mind"] == HUMAN, "score"], low, high, bins)
    colours = _colours(games, _declared(games[0]))
    series = [Distribution(Phrase("slides.class_people"), people, filled=True)]
    series += [
        Distribution(_in_class(str(mind)), _steps(own, low, high, bins), colours[str(mind)])
        for mind, own in table[table["mind"] != HUMAN].groupby("mind")["score"]
    ]
    drawing = _histogram(series, low, high, {}, label, alone=True, whole=whole)
    return Slide(title, words, Drawing(lambda language: drawing.in_(language).replace(YOU, "")))


def score_in_words(label: str) -> str:
    """The earnings of people, as the slides call them."""
    return known(f"scores.{slug(label)}", label)


def _ranking(games: Sequence[Game]) -> Slide:
    """The best people of the class by name."""
    score = games[0].model.score
    assert score is not None
    rows: list[tuple[float, str, float | str]] = []
    for game in games:
        table = _scores(game)
        for agent, own, reached in zip(
            table["agent"], table["score"], table["reached"], strict=True
        ):
            if any(seat.agent == agent for seat in game.seats.values()):
                value = float(own) if reached else _never(game)
                rows.append((float(own), _in_group(game, int(agent)), value))
    rows.sort(key=lambda row: row[0], reverse=not score.lower_is_better)
    first = [name for own, name, _ in rows if own == rows[0][0]]
    words = Phrase("slides.nobody_ranked")
    if len(first) == 1:
        words = Phrase("slides.first", name=first[0], of=len(rows))
    elif first:
        words = Phrase("slides.first_tied", names=first, of=len(rows))
    lines = [
        Phrase(
            "slides.ranked",
            place=1 + [other for other, *_ in rows].index(own),
            name=name,
            value=value,
        )
        for own, name, value in rows[:MOST_RANKED]
    ]
    title = Phrase("slides.ranking", label=score_in_words(score.label))
    return Slide(title, [words], _list(lines) if lines else "")


def _compared(games: Sequence[Game], declared: Debrief, round_: int) -> Drawing:
    """The decisions of a round compared with theory, people of the literature, and models."""
    model = games[0].model
    data = _decisions(games, declared)
    low, high = float(declared.low(model)), float(declared.high(model))
    colours = _colours(games, declared)
    people = _steps(_of_people(data, round_), low, high)
    series = [Distribution(Phrase("slides.class_people"), people, filled=True)]
    others = data[(data["round"] == round_) & (data["mind"] != HUMAN)]
    for mind, own in others.groupby("mind")[declared.column]:
        steps = _steps(own.dropna(), low, high)
        series.append(Distribution(_in_class(str(mind)), steps, colours[str(mind)]))
    reference = [game.reference for game in games if game.reference is not None]
    if reference:
        all_ = pd.concat(reference, ignore_index=True)
        own = pd.to_numeric(all_.loc[all_["round"] == round_, declared.column], errors="coerce")
        steps = _steps(own.dropna(), low, high)
        label = Phrase("slides.all_classical")
        series.append(Distribution(label, steps, colours[CLASSICAL_SEATS]))
    if round_ == 0:
        for name in declared.people(model):
            _, bins = human_distributions()[name]
            steps = _from_bins(bins, low, high)
            series.append(Distribution(_described(name), steps, colours[name]))
    theory = declared.theory(model, _mean_before(data, round_))
    return _histogram(series, low, high, theory, declared.label, alone=False)


def _in_class(mind: str) -> Phrase:
    return Phrase("slides.in_class", mind=mind_in_words(mind))


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


def _steps(values: pd.Series[float], low: float, high: float, bins: int = BINS) -> list[Step]:
    width, counts = (high - low) / bins, [0] * bins
    for value in values:
        place = min(bins - 1, max(0, math.floor((float(value) - low) / width)))
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
    label: str, *, alone: bool, whole: bool = False,
) -> Drawing:  # fmt: skip
    """Distributions of values, with `YOU` where the own value is marked."""
    known = [one for one in series if any(share for *_, share in one.steps)]
    return Drawing(
        lambda language: _histogram_in(
            language, known, low, high, theory, label, alone=alone, whole=whole
        )
    )


def _histogram_in(
    language: str, series: Sequence[Distribution], low: float, high: float,
    theory: Mapping[str, float], label: str, *, alone: bool, whole: bool,
) -> str:  # fmt: skip
    say = partial(translated, language=language)
    share = say(Phrase("slides.share"))
    largest = max([0.1, *(part for values in series for _, _, part in values.steps)])
    *_, highest = round_numbers(0, 100 * largest)
    top, above = highest / 100, LINE * len(theory)
    titles = say(label), share
    parts = [_axes(language, low, high, 0, highest, titles, whole=whole, above=above)]
    legend = []
    for values in series:
        colour = values.colour
        legend.append((say(values.label), values.filled, colour))
        points = []
        for first, last, part in values.steps:
            x, end = _x(first, low, high), _x(last, low, high)
            y = _y(part, 0, top)
            if values.filled and part:
                parts.append(
                    f'<rect x="{x + 1:.1f}" y="{y:.1f}" width="{end - x - 2:.1f}" '
                    f'height="{HEIGHT - BOTTOM - y:.1f}" fill="{colour}"{FAINT}/>'
                )
            points += [f"{x:.1f},{y:.1f}", f"{end:.1f},{y:.1f}"]
        if not values.filled:
            parts.append(
                f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" '
                'stroke-width="2.5"/>'
            )
    parts += _theory(say, theory, low, high)
    parts.append(YOU)
    words = f"{say(label)}: {', '.join(name for name, _, _ in legend)}"
    return _svg(parts, legend, words, alone=alone, above=above)


def _you(mine: float, low: float, high: float, language: str) -> str:
    x, base = _x(mine, low, high), HEIGHT - BOTTOM  # above the axis, whose numbers stay free
    you = escape(translated(Phrase("slides.you_mark"), language))
    return (
        f'<path d="M{x:.1f} {base}l-9 -16h18z" fill="#d55e00"/><text x="{max(x, LEFT + 14):.1f}" '
        f'y="{base - 20}" text-anchor="middle" font-weight="700"{HALO}>{you}</text>'
    )


def _lines_in(
    language: str, lines: Mapping[str, pd.Series[float]], theory: Mapping[str, float],
    label: str, model: SmartModel, chosen: int,
) -> str:  # fmt: skip
    """Lines by round in several colours; of many lines one is in colour and the others grey."""
    say = partial(translated, language=language)
    values = [float(v) for line in lines.values() for v in line] + [
        float(v) for v in theory.values()
    ]
    low, *_, high = round_numbers(min([*values, 0.0]), max([*values, 1e-9]))
    first = counting(model)[1]
    begin = first + model.given_rounds
    last = max(
        [begin + 1, *(int(line.index.max()) + first for line in lines.values() if len(line))]
    )
    titles = say(round_noun(model)), say(label)
    parts = [_axes(language, begin, last, low, high, titles, whole=True)]
    many, chosen = len(lines) > len(COLOURS), min(chosen, len(lines) - 1)
    drawn = list(enumerate(lines.items()))
    if many:  # the one in colour above the others
        drawn.sort(key=lambda numbered: numbered[0] == chosen)
    legend = []
    for place, (name, line) in drawn:
        points = " ".join(
            f"{_x(int(r) + first, begin, last):.1f},{_y(float(v), low, high):.1f}"
            for r, v in zip(line.index.tolist(), line.tolist(), strict=True)
        )
        grey = many and place != chosen
        colour = _GREY if grey else COLOURS[0 if many else place]
        if len(line) == 1:  # one point is no line
            left, down = points.split(",")
            parts.append(f'<circle cx="{left}" cy="{down}" r="5" fill="{colour}"/>')
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" '
            f'stroke-width="{1.5 if grey else 3}" stroke-linejoin="round"/>'
        )
        if not grey and name != label:  # the axis says it
            legend.append((say(name), False, colour))
    if many:
        legend.append((say(Phrase("slides.other_groups", n=len(lines) - 1)), False, _GREY))
    for name, value in theory.items():
        y = _y(float(value), low, high)
        label_y = y - 4 if y > TOP + 14 else y + 16
        parts.append(
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="currentColor" '
            f'stroke-dasharray="6 5"/><text x="{WIDTH - RIGHT}" y="{label_y:.1f}" '
            f'text-anchor="end"{HALO}>{escape(say(name))}</text>'
        )
    return _svg(parts, legend, say(label), alone=True)


def _theory(
    say: Callable[[Any], str], theory: Mapping[str, float], low: float, high: float
) -> list[str]:
    """Lines down from their names, which stand above the picture."""
    lines, names = [], []  # no line crosses a name
    for place, (name, value) in enumerate(theory.items()):
        x, y = _x(float(value), low, high), TOP - LINE * (len(theory) - place)
        anchor = "end" if x > WIDTH * 0.75 else "start"
        lines.append(
            f'<path d="M{x:.1f} {y}V{HEIGHT - BOTTOM}" stroke="currentColor" '
            'stroke-dasharray="5 4"/>'
        )
        names.append(
            f'<text x="{x + (-4 if anchor == "end" else 4):.1f}" y="{y + 14}" '
            f'text-anchor="{anchor}"{HALO}>{escape(say(name))}</text>'
        )
    return [*lines, *names]


def _axes(
    language: str, low: float, high: float, bottom: float, top: float,
    titles: tuple[str, str], *, whole: bool, above: int = 0,
) -> str:  # fmt: skip
    """The axes with their numbers, and their titles: of the x-axis, and of the y-axis.

    The title of the y-axis leaves free what is `above` the picture.
    """
    x, y = titles
    base = HEIGHT - BOTTOM
    anchors = {low: "start", high: "end"}
    across = [v for v in round_numbers(low, high, whole=whole) if low <= v <= high]
    ticks = "".join(
        f'<text x="{_x(v, low, high):.1f}" y="{base + 16}" '
        f'text-anchor="{anchors.get(v, "middle")}" '
        f'fill="var(--sabm-soft)">{_tick(language, v)}</text>'
        for v in across
    )
    room = (top - bottom) / 10  # of a number below that at the upper end
    upwards = [v for v in round_numbers(bottom, top) if bottom <= v < top - room]
    up = "".join(
        f'<text x="{LEFT - 6}" y="{_y(v, bottom, top) + 4:.1f}" text-anchor="end" '
        f'fill="var(--sabm-soft)">{_tick(language, v)}</text>'
        for v in [*upwards, top]
    )
    return (
        f'<path d="M{LEFT} {TOP}V{base}H{WIDTH - RIGHT}" fill="none" stroke="currentColor"/>'
        f'{ticks}{up}<text x="{WIDTH - RIGHT}" y="{HEIGHT - 10}" text-anchor="end">{escape(x)}'
        f'</text><text x="{LEFT + 4}" y="{TOP - 8 - above}">{escape(y)}</text>'
    )


def _tick(language: str, value: float) -> str:
    """A number at an axis: three significant digits, so that it stands beside it whole."""
    return number_in(language, float(f"{value:.3g}"))


def _svg(
    parts: Sequence[str], names: Sequence[tuple[str, bool, str]], title: str, *,
    alone: bool, above: int = 0,
) -> str:  # fmt: skip
    """A picture with its legend: the name, whether it is filled, and the colour of each.

    The legend is below, or beside a picture that is alone on its slide.
    """
    legend = []
    x, y, room = (WIDTH + 8, TOP + 10, BESIDE - 34) if alone else (8, HEIGHT + 14, WIDTH - 34)
    for name, filled, colour in names:
        legend.append(
            f'<rect x="{x}" y="{y - 10}" width="18" height="{10 if filled else 4}" '
            f'fill="{colour}"{FAINT if filled else ""}/>'
        )
        for line in _wrapped(name, room):
            legend.append(f'<text x="{x + 26}" y="{y}">{escape(line)}</text>')
            y += 20
    width, height = WIDTH, y - 10
    if alone:
        width, height = WIDTH + BESIDE * bool(names), HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {-above} {width} {height + above}" '
        f'role="img" aria-label="{escape(title, quote=True)}" font-size="16" '
        f'font-family="sans-serif" fill="currentColor">{"".join(parts)}{"".join(legend)}</svg>'
    )


def _wrapped(name: str, room: int) -> list[str]:
    """The lines of a name in the legend."""
    wide = any(unicodedata.east_asian_width(sign) in "WF" for sign in name)
    return textwrap.wrap(name, room // (16 if wide else 8))


def _x(value: float, low: float, high: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (min(high, max(low, value)) - low) / ((high - low) or 1)


def _y(value: float, low: float, high: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / ((high - low) or 1)
