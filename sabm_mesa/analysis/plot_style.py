"""The shared style of all plots: colours, sizes, titles, legends, intervals, files in memory.

Figures are built from `matplotlib.figure.Figure` without pyplot, so drawing needs no window, no
global state and no file; all properties are set on the artists. The drawing functions import
matplotlib, since the viewer needs the colours long before it needs a figure.
"""

from __future__ import annotations

import re
import textwrap
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from sabm_mesa.analysis.intervals import CONFIDENCE
from sabm_mesa.errors import one_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

BLACK = "#000000"
ORANGE = "#E69F00"
SKY_BLUE = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#8C8C8C"
"""The colour-blind-safe palette of Okabe and Ito (2008), "Color Universal Design"."""

DPI = 160
"""Dots per inch of every picture."""
WIDTH = 6.8
"""Width of a figure in inches: a full text column."""
TITLE, SUBTITLE, LABEL, TICK, NOTE = 12.0, 9.5, 10.0, 9.0, 8.5
"""Font sizes in points."""
FEW = 12
"""Maximum number of rounds for a tick and a large marker at each round."""

DASH = 16.0
"""Length in points of the dash that represents a line of one round."""
MOST_CHARTS = 6
"""Maximum number of charts of a scenario without plots; further columns are in the table."""
NO_ANSWER = "No answer could be used: there is nothing to draw."
INTERVAL = f"{100 * CONFIDENCE:.0f} % interval of the mean"
"""The entry of an interval in a legend."""
drawing_lock = threading.RLock()
"""Lock for making and drawing figures, since matplotlib is not thread-safe."""

MOST_LINES = 12
"""Maximum number of lines of a title or subtitle: texts of a recording may be long."""
_MARGIN = 0.12
_CHARACTERS_PER_INCH = 14
_TITLE_PER_INCH = 9.4


_LANGUAGE_MODEL = re.compile(
    r"\bllm:([^\s,;()=]+?)(?:@(?:https?://[^\s,;()=]+|[A-Za-z][\w-]*))?(?=[\s,;()=]|$)"
)


def short_minds(text: str) -> str:
    """A text with short names of language models: ``gpt-5-mini``, without the address."""
    return _LANGUAGE_MODEL.sub(r"\1", text)


FORMATS = ("png", "pdf", "svg")
"""The formats in which figures are written."""


@dataclass(frozen=True)
class Look:
    """The look of the figures of a command; in a paper, the caption has the title."""

    formats: Sequence[str] = ("png",)
    dpi: int = 160
    titled: bool = True


_USUAL = Look()
look: ContextVar[Look] = ContextVar("look", default=_USUAL)
"""The current look of figures."""


def _wrapped(text: str, width: int) -> list[str]:
    shown = one_line(text[: 2 * width * MOST_LINES])
    return textwrap.wrap(shown, width, max_lines=MOST_LINES, placeholder=" …")


def new_figure(title: str, subtitle: str = "", *, height: float, width: float = WIDTH) -> Figure:
    """An empty figure in constrained layout, with a title and a subtitle at the top left.

    Both are wrapped to the width of the figure, and cut after `MOST_LINES` lines. A figure that is
    not `Look.titled` has its title in its metadata. `height` is in inches, without the titles.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    titled, room = look.get().titled, width - 2 * _MARGIN
    lines = _wrapped(short_minds(subtitle), int(room * _CHARACTERS_PER_INCH))
    titles = _wrapped(title, int(room * _TITLE_PER_INCH)) or [""]
    title_height = len(titles) * 1.3 * TITLE / 72
    head = _MARGIN + title_height + len(lines) * 1.3 * SUBTITLE / 72 if titled else 0.0
    total = height + head
    layout = ConstrainedLayoutEngine(rect=(0, 0, 0.985, height / total), h_pad=0.06, w_pad=0.06)
    figure = Figure(figsize=(width, total), dpi=DPI, facecolor="white", layout=layout)
    if not titled:
        figure.set_label(title)
        return figure
    left, top = _MARGIN / width, 1 - _MARGIN / total
    at_top: dict[str, Any] = {"ha": "left", "va": "top"}
    heading = figure.suptitle("\n".join(titles), x=left, y=top, fontsize=TITLE, **at_top)
    # Texts of people and models are not formulas.
    heading.set(fontweight="bold", linespacing=1.15, parse_math=False)
    if lines:
        below = top - title_height / total
        text = figure.text(left, below, "\n".join(lines), fontsize=SUBTITLE, **at_top)
        text.set(color="#404040", linespacing=1.15, parse_math=False)
    return figure


def write_figures(
    folder: Path, figures: Mapping[str, Figure], write: Callable[[Path, bytes], Path]
) -> list[Path]:
    """Write figures, by their names without suffix, in the formats of `look`."""
    return [
        write(folder / f"{name}.{ending}", to_bytes(figure, ending))
        for name, figure in figures.items()
        for ending in look.get().formats
    ]


def plain_axes(ax: Axes, xlabel: str = "", ylabel: str = "") -> None:
    """Give axes labels, a light horizontal grid and no box."""
    ax.set_xlabel(xlabel, fontsize=LABEL)
    ax.set_ylabel(ylabel, fontsize=LABEL)
    ax.tick_params(labelsize=TICK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, axis="y", color="#E0E0E0", linewidth=0.6)
    ax.set_axisbelow(True)


def integer_ticks(axis: Axis, values: Sequence[int] = (), *, most: int = 10) -> None:
    """Put ticks at whole numbers: at each of a few `values`, else at most `most` ticks."""
    if 0 < len(values) <= FEW:
        axis.set_ticks(values)
    else:
        from matplotlib.ticker import MaxNLocator

        axis.set_major_locator(MaxNLocator(nbins=most, integer=True, steps=[1, 2, 5, 10]))


def round_numbers(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Ticks at round numbers, or whole ones; the first and the last enclose a range."""
    from matplotlib.ticker import MaxNLocator

    locator = MaxNLocator(nbins=7 if whole else 4, steps=[1, 2, 5, 10], integer=whole)
    return [float(f"{tick:.9g}") for tick in locator.tick_values(low, high)]


def round_ticks(axis: Axis, rounds: Sequence[int], given: int = 0) -> None:
    """Put ticks at rounds, as `integer_ticks` does, with round numbers from 1.

    The first `given` rounds are not counted (`SmartModel.given_rounds`).
    """
    first = 1 - given
    from matplotlib.ticker import FixedLocator, MaxNLocator

    known = sorted(set(rounds))
    if len(known) > FEW:
        nice = MaxNLocator(nbins=10, integer=True, steps=[1, 2, 5, 10])
        named = nice.tick_values(known[0] + first, known[-1] + first)
        known = [int(tick) - first for tick in named if known[0] <= tick - first <= known[-1]]
    axis.set_major_locator(FixedLocator(known))
    axis.set_major_formatter(lambda at, _place: f"{at + first:.0f}")


def legend_entries(ax: Axes) -> tuple[list[Any], list[str]]:
    """The artists and labels for a legend: all drawn artists with a label.

    A line of a single point has no length; without a marker, it becomes a dash.
    """
    entries = [
        pair for pair in zip(*ax.get_legend_handles_labels(), strict=True) if _is_drawn(pair[0])
    ]
    return [artist for artist, _ in entries], [label for _, label in entries]


def add_legend(ax: Axes, **look: Any) -> None:
    """Add a legend of the `legend_entries` of axes, if there are any."""
    artists, labels = legend_entries(ax)
    if artists:
        ax.legend(artists, labels, **{"fontsize": NOTE, "frameon": False, **look})


def legend_below(figure: Figure, *axes: Axes, **look: Any) -> None:
    """Add a legend below axes: their `legend_entries`, each label once.

    It has as many columns, at most ``ncols`` (3), as fit into the figure.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    entries: dict[str, Any] = {}
    for ax in axes:
        for artist, label in zip(*legend_entries(ax), strict=True):
            entries.setdefault(label, artist)
    if entries:
        usual: dict[str, Any] = {"loc": "outside lower center", "ncols": 3, "frameon": False}
        look = usual | {"fontsize": NOTE} | look
        canvas = FigureCanvasAgg(figure)
        renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]  # of matplotlib
        for columns in range(look.pop("ncols"), 0, -1):
            legend = figure.legend(list(entries.values()), list(entries), ncols=columns, **look)
            for text in legend.get_texts():
                text.set_parse_math(False)
            if columns == 1 or legend.get_window_extent(renderer).width <= figure.bbox.width:
                break
            legend.remove()


def explain_empty(ax: Axes, sentence: str = NO_ANSWER) -> None:
    """Write the reason in empty axes."""
    ax.annotate(
        sentence, (0.5, 0.5), xycoords="axes fraction", ha="center", va="center",
        fontsize=LABEL, color="#404040", wrap=True,
    )  # fmt: skip


def mean_note(data: pd.DataFrame, *, kept: bool) -> str:
    """A remark on runs that have ended in a mean by round; ``""`` when all are equally long."""
    if data.groupby("run")["round"].max().nunique() < 2:
        return ""
    return " (ended ones keep their last value)" if kept else " (until the first one ends)"


def mark_values(ax: Axes, names: Mapping[float, str], *, named: bool = True) -> None:
    """Draw dotted lines at values of x and, if `named`, their names above the axes."""
    for value in names:
        ax.axvline(value, color=GREY, linewidth=0.9, linestyle=":", zorder=0.5)
    if named:
        top = ax.secondary_xaxis("top")
        top.set_xticks(list(names), list(names.values()))
        top.tick_params(labelsize=NOTE, length=2, pad=1, labelcolor="#404040")
        top.spines["top"].set_visible(False)


def is_number(column: pd.Series) -> bool:
    """Whether a column has numbers that a line can show; truth values are none."""
    return is_numeric_dtype(column) and not is_bool_dtype(column)


def to_png(figure: Figure) -> bytes:
    """Draw a figure as a PNG, without pyplot and without a file.

    The figure is drawn once; ``savefig`` would draw it twice, first for the layout.
    """
    picture = BytesIO()
    figure.set_dpi(look.get().dpi)
    fast = {"compress_level": 1}  # five times as fast, for files larger by a sixth
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.print_png(picture, pil_kwargs=fast)  # type: ignore[no-untyped-call]  # of matplotlib
    return picture.getvalue()


def to_bytes(figure: Figure, ending: str) -> bytes:
    """Draw a figure as a file in memory: ``png``, ``svg`` (without random ids) or ``pdf``."""
    if ending == "png":
        return to_png(figure)
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    data = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "sabm-mesa"}):
        undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
        FigureCanvasAgg(figure).print_figure(data, format=ending, metadata=undated.get(ending))
    return data.getvalue()


def freeze_layout(figure: Figure) -> None:
    """Compute the layout of a figure once, before saving it in several formats."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def _is_drawn(artist: Any) -> bool:
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D

    if isinstance(artist, Line2D):
        points = np.column_stack(
            [np.asarray(values, float) for values in artist.get_data(orig=False)]
        )
        points = points[np.isfinite(points).all(axis=1)]
        if len(points) and not np.ptp(points, axis=0).any() and artist.get_marker() in {"", "None"}:
            artist.set(marker="_", markersize=DASH, markeredgewidth=artist.get_linewidth())
        return bool(len(points))
    if isinstance(artist, BarContainer):
        return any(bar.get_height() for bar in artist.patches)
    if isinstance(artist, PathCollection):
        return bool(np.isfinite(np.asarray(artist.get_offsets(), float)).all(axis=1).any())
    if isinstance(artist, PolyCollection):
        paths = [path for path in artist.get_paths() if np.size(path.vertices)]
        return any(path.get_extents().width for path in paths)
    return True
