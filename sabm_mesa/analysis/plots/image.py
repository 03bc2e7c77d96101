"""Figures as pictures in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg

if TYPE_CHECKING:
    from matplotlib.figure import Figure


drawing = threading.RLock()
"""Held while figures are made and drawn on several threads: matplotlib is made for one."""


def png(figure: Figure) -> bytes:
    """Draw a figure as a PNG, without pyplot and without a file.

    Args:
        figure: the figure.
    """
    picture = BytesIO()
    FigureCanvasAgg(figure).print_png(picture)  # type: ignore[no-untyped-call]  # of matplotlib
    return picture.getvalue()


def title(figure: Figure) -> str:
    """The title of a figure, or ``""``.

    Args:
        figure: the figure.
    """
    return figure.get_suptitle()


def forget(figure: Figure) -> None:
    """Let pyplot forget a figure that a library has made with it: it would keep it for ever.

    Args:
        figure: the figure.
    """
    plt.close(figure)


@contextmanager
def repeatable() -> Iterator[None]:
    """A context in which the same figure gives the same SVG: its names are not drawn by chance."""
    with mpl.rc_context({"svg.hashsalt": "sabm-mesa"}):
        yield


def settle(figure: Figure) -> None:
    """Arrange a figure once, so that each format it is saved in need not do so again.

    Args:
        figure: the figure.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
