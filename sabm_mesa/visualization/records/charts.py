"""The charts of a recorded run, and of two runs on top of one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.errors import SabmError
from sabm_mesa.minds.specs import describe_deciders
from sabm_mesa.models.declarations import load_page
from sabm_mesa.models.registry import scenario
from sabm_mesa.visualization.records import comparing
from sabm_mesa.visualization.records.store import RunData
from sabm_mesa.visualization.scenario_view import Picture, painting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sabm_mesa.models.base import SmartModel

MOST = 6
"""Columns in a chart of columns."""
LABELS = {"Round": 0, "Round k": 0, "Rounds played": 1}
"""Labels of axes of rounds → what they show for round 0."""


@dataclass(frozen=True)
class Span:
    """Position of an axis of rounds in a picture, as shares of its width and height from top left.

    Attributes:
        left: where the axis begins.
        right: where it ends.
        top: the upper end of its axes.
        bottom: their lower end.
        low: the round at its left end.
        high: the round at its right end.
    """

    left: float
    right: float
    top: float
    bottom: float
    low: float
    high: float

    def place(self, round_: int) -> tuple[float, float, float] | None:
        """Left, top and height of the mark of a round, in per cent; None outside the axis."""
        share = (round_ - self.low) / (self.high - self.low)
        if not -0.001 <= share <= 1.001:
            return None
        left = self.left + share * (self.right - self.left)
        return 100 * left, 100 * self.top, 100 * (self.bottom - self.top)


@dataclass(frozen=True)
class Chart(Picture):
    """A picture whose axes of rounds are known.

    Attributes:
        spans: these axes.
    """

    spans: tuple[Span, ...] = ()


def charts_of(run: RunData) -> list[Chart]:
    """The plots of a run's scenario, or its columns by round when it has none.

    Args:
        run: the run.
    """
    if run.model_data.empty:
        return []
    with painting():
        return [_drawn(name, figure) for name, figure in _figures(run).items()]


def of_round(run: RunData, round_: int) -> Chart | None:
    """The picture of one round, for scenarios that have one: a room, say.

    Args:
        run: the run.
        round_: the round.
    """
    model = _model(run)
    draw = None if model is None else load_page(model.page).round_chart
    if model is None or draw is None or run.agents_of(round_).empty:
        return None
    with painting():
        figure = draw(run.agent_data, round_, _subtitle(run), **model.plot_options())
        return _drawn(f"round-{round_}", figure)


def both(one: RunData, other: RunData, names: tuple[str, str]) -> Chart | None:
    """The model columns of two runs over the rounds, with the rounds of their forks marked.

    Args:
        one: a run.
        other: another.
        names: how the two are called.

    Returns:
        The chart; None when they have no column with numbers in common.
    """
    shown = comparing.columns(one, other)[:MOST]
    if not shown:
        return None
    lines = (
        (one, names[0], {"color": style.BLUE, "linestyle": "-", "marker": "o"}),
        (other, names[1], {"color": style.VERMILLION, "linestyle": "--", "marker": "s"}),
    )
    at = {int(fork["at"]) for fork in [*one.recorded.forks, *other.recorded.forks]}
    with painting():
        return _drawn("two-runs", _columns("Both runs by round", "", shown, lines, sorted(at)))


def _figures(run: RunData) -> Mapping[str, Figure]:
    subtitle = _subtitle(run)
    model = _model(run)
    if model is not None and model.plots:
        draw = import_module(model.plots).figures
        try:
            found: Mapping[str, Figure] = draw(
                run.model_data, run.agent_data, subtitle, **model.plot_options()
            )
        except (ValueError, LookupError):  # data that another version of the scenario wrote
            pass
        else:
            return found
    names = comparing.columns(run, run)[:MOST]
    line = (run, "the run", {"color": style.BLUE, "linestyle": "-", "marker": "o"})
    at = sorted({int(fork["at"]) for fork in run.recorded.forks})
    return {"columns": _columns("The run by round", subtitle, names, (line,), at)} if names else {}


def _model(run: RunData) -> SmartModel | None:
    """The model at its beginning, which knows how it is drawn; None when it is not.

    Only scenarios of the registry are imported, never a module that a file names.
    """
    recorded = run.recorded
    given = {name: value for name, value in recorded.parameters.items() if name != "prompts"}
    try:
        model = scenario(recorded.scenario)
        if not model.plots and load_page(model.page).round_chart is None:
            return None
        return model(
            **{**given, "minds": "classical", "rng": recorded.seed},
            recording=False,
        )
    except SabmError:
        return None


def _subtitle(run: RunData) -> str:
    recorded = run.recorded
    minds = describe_deciders(recorded.minds, recorded.forks)
    seed = "-".join(map(str, recorded.seed))
    condition = recorded.parameters.get("condition")
    return " · ".join([*([str(condition)] if condition else []), minds, f"seed {seed}"])


def _columns(
    title: str,
    subtitle: str,
    columns: Sequence[str],
    lines: Sequence[tuple[RunData, str, dict[str, Any]]],
    forks: Sequence[int],
) -> Figure:
    wide = min(2, len(columns))
    high = -(-len(columns) // wide)
    figure = style.new_figure(title, subtitle, height=2.1 * high + 0.4, width=4.6 * wide)
    axes = figure.subplots(high, wide, squeeze=False).ravel()
    for ax, column in zip(axes, columns, strict=False):
        rounds: set[int] = set()
        for run, label, line_style in lines:
            data = run.model_data
            rounds |= set(data["round"])
            few = len(data) <= style.FEW
            ax.plot(
                data["round"], data[column].astype(float), label=label, linewidth=1.6,
                markersize=4 if few else 0, **line_style,
            )  # fmt: skip
        for number, at in enumerate(forks):
            label = "" if number else "a fork begins"
            ax.axvline(at, color="#404040", linestyle=":", linewidth=1.4, label=label)
        style.plain_axes(ax, "Round", column.replace("_", " "))
        style.integer_ticks(ax.xaxis, sorted(rounds), most=8)
    for ax in axes[len(columns) :]:
        ax.set_axis_off()
    if len(lines) > 1 or forks:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=3, frameon=False,
            fontsize=style.NOTE,
        )  # fmt: skip
    return figure


def _drawn(name: str, figure: Figure) -> Chart:
    png = style.to_png(figure)  # which also lays the axes out
    spans = [span for span in map(_span, figure.axes) if span is not None]
    lines = not any(ax.images for ax in figure.axes)
    return Chart(name, figure.get_suptitle(), png, lines, tuple(spans))


def _span(ax: Axes) -> Span | None:
    # Panels above one another name the rounds below the lowest one only.
    shared = [ax, *ax.get_shared_x_axes().get_siblings(ax)]
    label = next((each.get_xlabel() for each in shared if each.get_xlabel() in LABELS), None)
    if label is None or ax.get_xscale() != "linear" or not ax.axison:
        return None
    box = ax.get_position()
    low, high = (end - LABELS[label] for end in ax.get_xlim())
    return Span(box.x0, box.x1, 1 - box.y1, 1 - box.y0, low, high)
