"""Pictures of the current state of a model: its agents in space, or on a network.

A scenario lists them as `SmartModel.pictures`. The viewer shows their scenes in the browser after
every round, and ``sabm run`` draws them at the end of each run.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

import mesa

from sabm_mesa.errors import RunError

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SIDE = 4.2
"""Width of the picture of one moment, in inches; its letters can be read where it is small."""
TALLEST = 7.5
"""Maximum height of the space in inches."""
MOST_PANELS = 3
"""Maximum number of moments beside each other."""
GRID_LINES = 40
"""Maximum number of cells along a side for lines between cells."""
SHAPES = frozenset("os^D")
"""Markers that the browser supports; others become dots."""
GROUND = -1
"""The id of a mark that fills its cell, such as a patch."""
MANY = 500
"""Number of nodes from which on the layout is random, since a spring layout takes minutes."""

Point = tuple[float, float]
_layouts: WeakKeyDictionary[Any, dict[Any, Point]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Portrayal:
    """The look of an agent in a picture.

    Attributes:
        colour: a matplotlib colour; not used if there is a value.
        label: its entry in the legend; ``""`` for none.
        size: its width in cells of the space, or relative to other nodes of a network.
        shape: a marker of matplotlib, such as ``"o"``, ``"s"`` or ``"^"``.
        text: a few letters on it.
        value: a number that the scale of the picture maps to a colour.
    """

    colour: str = "#0072B2"
    label: str = ""
    size: float = 0.7
    shape: str = "o"
    text: str = ""
    value: float | None = None


class ColourScale(NamedTuple):
    """The scale of values in a picture.

    Attributes:
        low: the value of the first colour.
        high: the value of the last colour.
        label: the meaning of a value, with its unit.
        colours: a colour map of matplotlib.
    """

    low: float
    high: float
    label: str
    colours: str = "viridis"


class SceneMark(NamedTuple):
    """One agent or node of a scene.

    Attributes:
        id: its number, with which the browser tracks it from round to round.
        x: its place.
        y: its place.
        colour: a colour of CSS.
        shape: ``"o"``, ``"s"``, ``"^"`` or ``"D"``.
        size: its width in units of the scene.
        text: a few letters on it.
        name: its name.
    """

    id: int
    x: float
    y: float
    colour: str
    shape: str = "o"
    size: float = 0.7
    text: str = ""
    name: str = ""


@dataclass(frozen=True)
class Scene:
    """The world at one moment, as data for the browser.

    Attributes:
        name: its name in file names.
        title: a description of its content.
        extent: left, bottom (or top, if y runs down), width and height of the visible area.
        marks: the agents or nodes.
        ground: filled cells below the marks: x, y and colour.
        ties: lines below the marks: x and y of both ends, and the width in pixels.
        labels: words on the picture: x, y, the text, and its anchor as in SVG.
        legend: label, colour and shape of each entry.
        floor: left, bottom, width and height of the floor; None: the whole extent.
        words: a description in words, for screen readers.
        down: whether y runs down.
        dense: whether crowded parts of the floor are shaded.
        cells: whether the floor has cells with lines between them.
    """

    name: str
    title: str
    extent: tuple[float, float, float, float]
    marks: tuple[SceneMark, ...] = ()
    ground: tuple[tuple[float, float, str], ...] = ()
    ties: tuple[tuple[float, float, float, float, float], ...] = ()
    labels: tuple[tuple[float, float, str, str], ...] = ()
    legend: tuple[tuple[str, str, str], ...] = ()
    floor: tuple[float, float, float, float] | None = None
    words: str = ""
    down: bool = False
    dense: bool = False
    cells: bool = False

    def stage(self) -> dict[str, Any]:
        """The parts that seldom change, as JSON values."""
        names = ("name", "title", "extent", "ground", "floor", "down", "dense", "cells")
        return {name: getattr(self, name) for name in names}

    def frame(self) -> dict[str, Any]:
        """The parts that change from round to round, as JSON values."""
        marks = [
            [mark.id, *(round(coordinate, 4) for coordinate in mark[1:3]), *mark[3:]]
            for mark in self.marks
        ]
        names = ("ties", "labels", "legend", "words")
        return {"marks": marks} | {name: getattr(self, name) for name in names}


Portray = Callable[[Any], Portrayal | None]
"""Function from an agent to its look; None: the agent is not drawn."""


def _plain(_agent: Any) -> Portrayal:
    return Portrayal()


class _Placed(NamedTuple):
    at: Point
    mark: Portrayal
    id: int = GROUND
    agent: Any = None


@dataclass(frozen=True)
class ModelPicture(ABC):
    """A picture of the current state of a model.

    Attributes:
        name: its name in file names.
        title: a description of its content; the name when ``""``.
        of: the name of the model's attribute with the space or network.
        scale: the scale of the values of marks; None: no values.
    """

    name: str
    title: str = ""
    of: str = "grid"
    scale: ColourScale | None = None

    @abstractmethod
    def scene(self, model: Any) -> Scene:
        """The picture of the model between two rounds, as data for the browser.

        Raises:
            RunError: when the attribute is missing or of the wrong kind.
        """

    def _shown(self, model: Any) -> Any:
        shown = getattr(model, self.of, None)
        if shown is None:
            raise RunError(
                f"The picture {self.name!r} shows {type(model).__name__}.{self.of}, which does not "
                "exist; name the attribute with the space or network as of=…."
            )
        return shown

    def _scene(self, model: Any, placed: Iterable[_Placed], extent: Any, **more: Any) -> Scene:
        placed = list(placed)
        legend = {item.mark.label: item.mark for item in placed if item.mark.label}
        marks, ground = [], []
        for item in placed:
            (x, y), mark = item.at, item.mark
            colour = self._css(mark)
            if item.id == GROUND:
                ground.append((x, y, colour))
                continue
            name = "" if item.agent is None else f"{type(item.agent).__name__} {item.id}"
            shape = mark.shape if mark.shape in SHAPES else "o"
            marks.append(SceneMark(item.id, x, y, colour, shape, mark.size, mark.text, name))
        entries = [(label, self._css(mark), mark.shape) for label, mark in sorted(legend.items())]
        if self.scale is not None and any(item.mark.value is not None for item in placed):
            entries += [
                (f"{self.scale.label}: {end:g}", self._css(Portrayal(value=end)), "s")
                for end in (self.scale.low, self.scale.high)
            ]
        return Scene(
            self.name, self.title or self.name, extent, tuple(marks), tuple(ground),
            legend=tuple(entries), words=f"{len(marks)} agents {_moment(model)}", **more,
        )  # fmt: skip

    def _css(self, mark: Portrayal) -> str:
        from matplotlib import colormaps
        from matplotlib.colors import to_hex

        if mark.value is None or self.scale is None:
            return to_hex(mark.colour)
        low, high = self.scale.low, self.scale.high
        share = (mark.value - low) / (high - low) if high > low else 0.5
        return to_hex(colormaps[self.scale.colours](min(max(share, 0.0), 1.0)))


@dataclass(frozen=True)
class SpacePicture(ModelPicture):
    """The agents of a model in its space: a grid, or a continuous one.

    Agents are drawn at their ``cell`` or ``pos``; several agents in a cell are placed around its
    centre. Plain Mesa agents, such as patches, are drawn too.

    Attributes:
        portray: returns the look of an agent, or None if it is not drawn.
    """

    portray: Portray = _plain

    def scene(self, model: Any) -> Scene:
        """The space as data for the browser.

        Raises:
            RunError: when the model has no such space.
        """
        space = self._shown(model)
        left, bottom, width, height, cells = _extent(space, self.name)
        unit = 1.0 if cells else max(width, height) / 40
        placed = [
            item._replace(mark=replace(item.mark, size=item.mark.size * unit))
            for item in self._placed(model, space)
        ]
        few = cells and max(width, height) <= GRID_LINES
        return self._scene(model, placed, (left, bottom, width, height), cells=few)

    def _placed(self, model: Any, space: Any) -> list[_Placed]:
        by_place: defaultdict[Point, list[_Placed]] = defaultdict(list)
        for agent in model.agents:
            cell = _place(agent, space)
            mark = None if cell is None else self.portray(agent)
            if cell is not None and mark is not None:
                by_place[cell].append(_Placed(cell, mark, agent.unique_id, agent))
        arranged: list[_Placed] = []
        for (x, y), there in by_place.items():
            # A mark of size 1 fills its cell: a patch.
            arranged += [item._replace(id=GROUND) for item in there if item.mark.size >= 1]
            people = [item for item in there if item.mark.size < 1]
            apart, smaller = (0.0, 1.0) if len(people) == 1 else (0.27, 0.55)
            for k, item in enumerate(people):
                angle = 2 * math.pi * k / len(people)
                at = x + apart * math.sin(angle), y + apart * math.cos(angle)
                mark = replace(item.mark, size=item.mark.size * smaller)
                arranged.append(item._replace(at=at, mark=mark))
        return sorted(arranged, key=lambda item: (item.mark.size < 1, item.at))


@dataclass(frozen=True)
class NetworkPicture(ModelPicture):
    """The agents of a model on its network; the width of a tie is its ``weight``, if it has one.

    The network is a networkx graph or a Mesa network. A node is an agent, an agent's id, a cell
    with agents, or any other object. Ids begin at 1: if the nodes are whole numbers from 0, the
    default of networkx, node 0 is the first agent.

    Attributes:
        node: returns the look of a node from its agent, or from the node if it has no agent.
        layout: ``"spring"`` (ties are short), ``"circle"``, or a function of the graph that
            returns node → (x, y). Nodes with an attribute ``pos`` are drawn there.
    """

    of: str = "network"
    node: Portray = _plain
    layout: Literal["spring", "circle"] | Callable[[Any], Mapping[Any, Point]] = "spring"

    def scene(self, model: Any) -> Scene:
        """The network as data for the browser.

        Raises:
            RunError: when the model has no such network.
        """
        graph, at, placed, widths = self._nodes(model)
        xs, ys = [x for x, _ in at.values()] or [0.0], [y for _, y in at.values()] or [0.0]
        side = max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0
        margin, unit = 0.08 * side, side / max(8.0, 2.4 * math.sqrt(len(placed) or 1))
        extent = (
            min(xs) - margin, min(ys) - margin,
            max(xs) - min(xs) + 2 * margin, max(ys) - min(ys) + 2 * margin,
        )  # fmt: skip
        ties = [(*at[a], *at[b], wide) for (a, b), wide in zip(graph.edges, widths, strict=True)]
        sized = [
            item._replace(mark=replace(item.mark, size=item.mark.size * unit)) for item in placed
        ]
        return self._scene(model, sized, extent, ties=tuple(ties))

    def _nodes(
        self, model: Any
    ) -> tuple[nx.Graph[Any], Mapping[Any, Point], list[_Placed], list[float]]:
        """The graph, the positions of the nodes, their marks, and the widths of the ties."""
        import networkx as nx

        network = self._shown(model)
        graph = getattr(network, "G", network)
        if not isinstance(graph, nx.Graph):
            raise RunError(
                f"The picture {self.name!r} shows {type(model).__name__}.{self.of}, a "
                f"{type(network).__name__}: it needs a networkx graph or a Mesa network."
            )
        at = self._layout(graph)
        ties: list[tuple[Any, Any, float | None]] = list(graph.edges(data="weight"))
        heaviest = max((weight for *_, weight in ties if weight), default=1.0)
        widths = [0.8 if weight is None else 0.4 + 3 * weight / heaviest for *_, weight in ties]
        by_id = _by_node(graph, network, model, self.name)
        placed = []
        for i, node in enumerate(graph.nodes):
            agent = _agent_of(node, graph, network, by_id)
            if (mark := self.node(agent)) is not None:
                known = isinstance(agent, mesa.Agent)
                id_ = agent.unique_id if known else GROUND - 1 - i
                placed.append(_Placed(at[node], mark, id_, agent if known else None))
        return graph, at, placed, widths

    def _layout(self, graph: nx.Graph[Any]) -> Mapping[Any, Point]:
        import networkx as nx

        if callable(self.layout):
            return self.layout(graph)
        given = nx.get_node_attributes(graph, "pos")
        if len(given) == len(graph):
            return given
        if self.layout == "circle":
            return _points(nx.circular_layout(graph))
        before = _layouts.get(graph, {})
        if before.keys() != set(graph.nodes):
            stay = {node: at for node, at in before.items() if node in graph}
            before = _points(
                nx.random_layout(graph, seed=0)
                if len(graph) > MANY
                else nx.spring_layout(graph, pos=stay or None, fixed=list(stay) or None, seed=0)
            )
            _layouts[graph] = before
        return before


def circles(groups: Sequence[Sequence[int]]) -> tuple[dict[int, Point], list[Point], Any]:
    """Places for groups of ids, each on a circle of radius 1.

    Returns:
        Id → place; the centre of each group; and the extent of the scene.
    """
    across = math.ceil(math.sqrt(2 * len(groups))) if len(groups) > 1 else 1
    down = math.ceil(len(groups) / across)
    high = 2.0 if max(map(len, groups)) == 2 else 3.2
    places, centres = {}, []
    for number, group in enumerate(groups):
        row, column = divmod(number, across)
        x, y = 3.2 * column, -high * row
        centres.append((x, y))
        for k, member in enumerate(group):
            angle = 2 * math.pi * (k + 0.5) / len(group) - math.pi / 2
            places[member] = (x - 1.1 * math.cos(angle), y + math.sin(angle))
    return places, centres, (-1.6, -high * (down - 0.5), 3.2 * across, high * down)


def draw_scene(scene: Scene, subtitle: str = "") -> Figure:
    """Draw a scene with matplotlib, for files; `subtitle`: the minds and the condition."""
    return draw_scenes({"": scene}, subtitle)


def draw_scenes(scenes: Mapping[str, Scene], subtitle: str = "") -> Figure:
    """Draw the same world at several moments: the title of each panel → its scene."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.lines import Line2D

    from sabm_mesa.analysis import plot_style as style

    last = [*scenes.values()][-1]
    columns = min(MOST_PANELS, len(scenes))
    rows = -(-len(scenes) // columns)
    _, _, width, height = last.extent
    side = SIDE if columns == 1 else style.WIDTH
    tall = min(0.9 * side / columns * height / width, TALLEST)
    title = last.title if len(scenes) > 1 else f"{last.title}: {last.words}"
    high = 0.6 + rows * (tall + 0.3 * (len(scenes) > 1))
    figure = style.new_figure(title, subtitle, height=high, width=side)
    layout = figure.get_layout_engine()
    if isinstance(layout, ConstrainedLayoutEngine) and len(scenes) > 1:
        layout.set(h_pad=0.16)  # space for the titles of the panels
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in panels:
        ax.set_axis_off()
    for ax, (name, scene) in zip(panels, scenes.items(), strict=False):
        _draw(ax, scene, 72 * tall / height)
        ax.set_title(name, loc="left", fontsize=style.TICK)
    ncols = min(len(last.legend), 5 if columns > 1 else 3)
    handles = [
        Line2D([], [], linestyle="none", marker=shape, markersize=7, color=colour, label=label)
        for label, colour, shape in last.legend
    ]
    if handles:
        figure.legend(
            handles=handles, loc="outside lower center", ncols=ncols, frameon=False,
            fontsize=style.NOTE,
        )  # fmt: skip
    return figure


def _draw(ax: Axes, scene: Scene, point: float) -> None:
    """Draw a scene into axes; `point`: points per unit."""
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Rectangle

    left, bottom, width, height = scene.extent
    ends = (bottom + height, bottom) if scene.down else (bottom, bottom + height)
    ax.set(xlim=(left, left + width), ylim=ends, aspect="equal")
    cells = [Rectangle((x - 0.5, y - 0.5), 1, 1) for x, y, _ in scene.ground]
    colours = [colour for *_, colour in scene.ground]
    ax.add_collection(PatchCollection(cells, facecolors=colours, edgecolors="none", zorder=1))
    segments = [((x1, y1), (x2, y2)) for x1, y1, x2, y2, _ in scene.ties]
    wide = [tie[4] for tie in scene.ties]
    ax.add_collection(LineCollection(segments, linewidths=wide, colors="#B4B4B4", zorder=2))
    alike: defaultdict[tuple[str, str, float], list[Point]] = defaultdict(list)
    for mark in scene.marks:
        alike[mark.colour, mark.shape, mark.size].append((mark.x, mark.y))
        if mark.text:
            letters = ax.text(mark.x, mark.y, mark.text, ha="center", va="center", fontsize=7)
            letters.set(zorder=4, clip_on=True, parse_math=False)
    for (colour, shape, size), places in alike.items():
        xs, ys = zip(*places, strict=True)
        ax.scatter(xs, ys, s=(size * point) ** 2, c=colour, marker=shape, linewidths=0, zorder=3)
    for x, y, text, anchor in scene.labels:
        side: Any = {"start": "left", "middle": "center", "end": "right"}[anchor]
        ax.text(x, y, text, ha=side, va="center", fontsize=8.5, parse_math=False)


def _moment(model: Any) -> str:
    return "before the first round" if model.round < 0 else f"after round {model.round + 1}"


def _points(layout: Mapping[Any, Any]) -> dict[Any, Point]:
    return {node: (float(x), float(y)) for node, (x, y) in layout.items()}


def _extent(space: Any, name: str) -> tuple[float, float, float, float, bool]:
    """Left, bottom, width and height of a space, and whether it has cells."""
    sizes = getattr(space, "dimensions", None)
    if sizes is None and hasattr(space, "width"):
        sizes = space.width, space.height
    if sizes is None or len(sizes) != 2:
        raise RunError(
            f"The picture {name!r} shows a {type(space).__name__}: it needs a Mesa space with two "
            "dimensions."
        )
    first, second = sizes
    if hasattr(first, "__len__"):  # a continuous space names both ends
        (x0, x1), (y0, y1) = sizes
        return float(x0), float(y0), float(x1 - x0), float(y1 - y0), False
    if hasattr(space, "x_min"):
        return float(space.x_min), float(space.y_min), float(first), float(second), False
    return -0.5, -0.5, float(first), float(second), True


def _place(agent: mesa.Agent, space: Any) -> Point | None:
    """The position of an agent in a space; None if it is not in the space."""
    cell = getattr(agent, "cell", None)
    if cell is not None:
        at = cell.coordinate
        return (at[0], at[1]) if space[at] is cell else None
    at = getattr(agent, "pos", None)
    return None if at is None else (float(at[0]), float(at[1]))


def _by_node(graph: nx.Graph[Any], network: Any, model: Any, name: str) -> Mapping[Any, Any]:
    """Node → agent, for nodes that are numbers: ids from 1, or indices from 0."""
    by_id = {agent.unique_id: agent for agent in model.agents}
    if network is not graph or 0 not in graph:
        return by_id
    numbers = sorted(node for node in graph.nodes if isinstance(node, int))
    everyone = getattr(model, "population", None) or sorted(
        by_id.values(), key=lambda agent: agent.unique_id
    )
    if numbers != list(range(len(numbers))) or len(numbers) > len(everyone):
        raise RunError(
            f"The picture {name!r} shows a graph whose nodes are {len(numbers)} numbers from 0 to "
            f"{numbers[-1]}, and the ids of the {len(everyone)} agents begin at 1: use the agents "
            "or their ids as nodes (networkx.relabel_nodes)."
        )
    return {i: by_id.get(everyone[i].unique_id, i) for i in numbers}


def _agent_of(node: Any, graph: Any, network: Any, by_id: Mapping[int, Any]) -> Any:
    """The agent of a node, or the node itself if it has no agent."""
    if isinstance(node, mesa.Agent):
        return node
    if network is graph:
        return by_id.get(node, node)
    # Mesa's networks have cells with agents; older ones have lists of agents at the nodes.
    there = graph.nodes[node].get("agent") or []
    if not there and hasattr(network, "all_cells"):
        there = list(network[node].agents)
    return there[0] if there else node
