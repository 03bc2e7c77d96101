"""Figures as pictures in memory."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def png(figure: Figure) -> bytes:
    """Draw a figure as a PNG, without pyplot and without a file.

    Args:
        figure: the figure.
    """
    picture = BytesIO()
    FigureCanvasAgg(figure).print_png(picture)  # type: ignore[no-untyped-call]
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
