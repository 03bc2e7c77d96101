"""How a scenario is shown: its charts and its conversation.

What is particular to a scenario's page is in ``sabm_mesa/visualization/scenarios/NAME.py``, which
may define any of the functions of `Look` that are named there; without it the page shows the
plots of the scenario, or a line chart of each model column when it has none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from solara.server.kernel_context import without_context

from sabm_mesa.analysis.plots import image, lines
from sabm_mesa.parameters import parameters_of
from sabm_mesa.population import describe_minds
from sabm_mesa.runner import Runs
from sabm_mesa.visualization.words import module_of, name_of

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.models.base import SmartModel

CARD_ROUNDS = 60
"""Rounds of the run whose chart is on the home page, at the most."""


class Said(NamedTuple):
    """Something that was said.

    Attributes:
        round: the round.
        speaker: who said it.
        hearers: who heard it.
        text: the words, as they were said.
    """

    round: int
    speaker: str
    hearers: str
    text: str


@dataclass(frozen=True)
class Picture:
    """A chart that is drawn.

    Attributes:
        name: its name in file names.
        title: what it shows.
        png: the picture.
        lines: whether it is lines and areas on white, whose lightness a dark page may turn
            around; a map of colours is not.
    """

    name: str
    title: str
    png: bytes
    lines: bool = True


class Look:
    """How a scenario is shown.

    Args:
        scenario: the model class.
    """

    def __init__(self, scenario: type[SmartModel]) -> None:
        self.scenario = scenario
        self._own = module_of(scenario.scenario_name)

    def paint(self, model: SmartModel, *, at_rest: bool = True) -> list[Picture]:
        """Draw the charts of a model between two rounds.

        ``charts(model, subtitle, at_rest)`` in the scenario's module may return other figures by
        name, and fewer while rounds follow one another; ``COLOUR_MAPS`` names those whose colours
        have to stay as they are.

        Args:
            model: the model.
            at_rest: whether the model waits.
        """
        maps = getattr(self._own, "COLOUR_MAPS", ())
        with painting():
            return [
                Picture(name, image.title(figure), image.png(figure), name not in maps)
                for name, figure in self._figures(model, at_rest).items()
            ]

    def said(self, model: SmartModel) -> list[Said]:
        """What was said in the round that is under way or was played last.

        ``hearers(model, message)`` in the scenario's module may say who heard a message; else all.

        Args:
            model: the model.
        """
        return self.words(model, list(getattr(model, "said", ())))

    def words(self, model: SmartModel, messages: Iterable[Any]) -> list[Said]:
        """Those messages of a model that are of the round that is under way or was played last.

        Args:
            model: the model.
            messages: messages of it.
        """
        heard_by: Callable[[Any, Any], str] = getattr(self._own, "hearers", _all)
        return [
            Said(model.round, name_of(model, each.speaker), heard_by(model, each), str(each.text))
            for each in messages
            if getattr(each, "round", model.round) == model.round
        ]

    def table(self, model: SmartModel, model_data: pd.DataFrame) -> tuple[str, pd.DataFrame] | None:
        """A table beside the charts, with its caption, if the scenario's module has a `table`.

        Args:
            model: the model.
            model_data: one row a round.
        """
        make = getattr(self._own, "table", None)
        if make is None or model_data.empty:
            return None
        made: tuple[str, pd.DataFrame] | None = make(model, model_data)
        return made

    def public_columns(self, model: SmartModel) -> list[str]:
        """The model columns that a player may see while a game goes on.

        ``public_columns(model)`` in the scenario's module says which, for every mind decides on
        what its observation holds; without it they are all of them.

        Args:
            model: the model.
        """
        choose = getattr(self._own, "public_columns", None)
        return list(model.columns() if choose is None else choose(model))

    def card(self) -> Picture:
        """The picture of the scenario on the home page: a run with classical minds, or its start.

        ``CARD`` in the scenario's module may say with which parameters and which chart.
        """
        default = parameters_of(self.scenario)["n_rounds"].default
        usual = {"n_rounds": min(default, CARD_ROUNDS)}, ""
        parameters, chart = getattr(self._own, "CARD", usual)
        model = self.scenario(**parameters, rng=1, recording=False)
        model.run_model()
        with painting():
            figures = self._figures(model, at_rest=False)
            figure = figures.get(chart) or next(iter(figures.values()))
            title = f"{self.scenario.title}: {image.title(figure)}"
            return Picture("card", title, image.png(figure))

    def _figures(self, model: SmartModel, at_rest: bool) -> Mapping[str, Any]:
        charts = getattr(self._own, "charts", None)
        if charts is not None:
            figures: Mapping[str, Any] = charts(model, subtitle_of(model), at_rest)
            return figures
        if model.round < 0 or model.model_frame().empty:
            return {}
        if model.plots:
            return Runs([model], list(model.entropy), 0.0).figures()
        return lines.figures(model.model_frame(), list(model.columns()), subtitle_of(model))


@contextmanager
def painting() -> Iterator[None]:
    """A context in which figures are made and drawn: by one thread at a time, and by no page's.

    Solara gives matplotlib settings for each page, and they go with the page: what is painted on
    another thread in that moment would find none.
    """
    with image.drawing, without_context():
        yield


class Heard:
    """What was said in a model, by round: the messages of a round under way are read once each.

    Args:
        look: how the scenario is shown.
        model: the model.
    """

    def __init__(self, look: Look, model: SmartModel) -> None:
        self.look, self.model = look, model
        self._done: dict[int, list[Said]] = {}
        self._now: list[Said] = []
        self._place: tuple[int, int] = (-1, 0)
        self._lock = threading.Lock()

    def keep(self) -> None:
        """Keep what was said in the round that is done: only now it is known who heard all."""
        said = self.look.said(self.model)
        with self._lock:
            if said:
                self._done[self.model.round] = said
            self._now, self._place = [], (-1, 0)

    def by_round(self) -> dict[int, list[Said]]:
        """Round → what was said in it, also in the round under way; silent rounds are not in."""
        model = self.model
        with self._lock:
            done = dict(self._done)
            now = model.round
            # A round that has just ended is kept in a moment: until then it is as it was.
            if now in done or not (model.playing or self._place[0] == now):
                return done
            said = getattr(model, "said", ())
            if self._place[0] != now or self._place[1] > len(said):
                self._now, self._place = [], (now, 0)
            new = list(said)[self._place[1] :]
            self._now += self.look.words(model, new)
            self._place = now, self._place[1] + len(new)
            return done | ({now: list(self._now)} if self._now else {})


def subtitle_of(model: SmartModel) -> str:
    """Which condition, minds and seed are on show, in a few words."""
    minds = describe_minds(model.minds_in_use())
    return f"{model.condition} · {minds} · seed {'-'.join(map(str, model.entropy))}"


def one_sentence(scenario: type[SmartModel]) -> str:
    """What a scenario is about: the first line of its spec sheet, without the name.

    Args:
        scenario: the model class.
    """
    first = (import_module(scenario.__module__).__doc__ or "").strip().partition("\n")[0]
    sentence = first.partition(": ")[2] or first
    return sentence[:1].upper() + sentence[1:]


def _all(_model: Any, _message: Any) -> str:
    return "all"
