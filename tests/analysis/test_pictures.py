"""Pictures of a model as it is now: which marks stand where."""

import dataclasses
import json

import networkx as nx
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from mesa.discrete_space import CellAgent, FixedAgent, Network, OrthogonalMooreGrid

from sabm_mesa import (
    ColourScale,
    NetworkPicture,
    Number,
    Portrayal,
    SmartAgent,
    SmartModel,
    SpacePicture,
    action,
)
from sabm_mesa.analysis.pictures import draw_scene
from sabm_mesa.errors import RunError
from sabm_mesa.runs.run import run_all


class Patch(FixedAgent):
    """A cell of ground."""

    def __init__(self, model, cell):
        super().__init__(model)
        self.cell = cell


class Person(CellAgent, SmartAgent):
    """A person in the town, on a network of friends."""

    async def act(self):
        return await self.ask("act", Number(0, 9))


def look(agent):
    if isinstance(agent, Patch):
        return Portrayal("#009E73", "grass", 1, "s") if agent.cell.coordinate[0] else None
    return Portrayal(label="person", value=agent.unique_id)


class Town(SmartModel):
    """Three people, two of them in one cell; the first and the second are friends."""

    scenario_name = "town"
    title = "Town"
    phases = (action(),)
    scale = ColourScale(0, 8, "Number of the person")
    pictures = (
        SpacePicture("map", "The town", portray=look, scale=scale),
        NetworkPicture("friends", node=look, scale=scale),
    )

    def __init__(self, network="ids", n_rounds=1, **settings):
        super().__init__(n_rounds=n_rounds, **settings)
        self.people = self.populate(Person, 3)
        self.grid = OrthogonalMooreGrid((3, 2), random=self.random)
        for person, cell in zip(self.people, [(0, 0), (2, 1), (2, 1)], strict=True):
            person.cell = self.grid[cell]
        for cell in self.grid.all_cells:
            Patch(self, cell)
        graph = nx.Graph([(1, 2)])
        graph.add_node(3)
        self.network = {
            "ids": graph,
            "from 0": nx.path_graph(3),
            "gaps": nx.Graph([(0, 2)]),
            "too many": nx.path_graph(4),
            "agents": nx.relabel_nodes(graph, {each.unique_id: each for each in self.people}),
            "none": None,
        }[network]

    def after_act(self, person, said): ...


@pytest.fixture
def town(tmp_path):
    prompts = tmp_path / "town.toml"
    prompts.write_text('[prompts]\nscenario = "You are here."\nact = "{{ form }}"\n')
    return type("Town", (Town,), {"prompt_file": prompts})


def test_agents_stand_where_their_cells_are(town) -> None:
    model = town(rng=1, minds="fixed:0")
    shown = model.pictures[0].scene(model)

    assert shown.extent == (-0.5, -0.5, 3, 2)
    assert shown.cells
    assert {(x, y) for x, y, _ in shown.ground} == {(1, 0), (1, 1), (2, 0), (2, 1)}
    assert [(mark.id, mark.name) for mark in shown.marks] == [
        (1, "Person 1"), (3, "Person 3"), (2, "Person 2"),
    ]  # fmt: skip
    places = [(round(mark.x, 2), round(mark.y, 2)) for mark in shown.marks]
    assert places == [(0, 0), (2, 0.73), (2, 1.27)]
    alone, *together = (mark.size for mark in shown.marks)
    assert together == pytest.approx([0.55 * alone] * 2)
    assert [label for label, *_ in shown.legend] == [
        "grass", "person", "Number of the person: 0", "Number of the person: 8",
    ]  # fmt: skip
    assert shown.words == "3 agents before the first round"
    assert json.loads(json.dumps({**shown.stage(), **shown.frame()}))["marks"][0][:3] == [1, 0, 0]

    assert len({mark.colour for mark in shown.marks}) == 3  # each its own value

    figure = draw_scene(shown, "baseline")
    assert figure.get_suptitle() == "The town: 3 agents before the first\nround"
    ax = figure.axes[0]
    points = [path.get_offsets() for path in ax.collections if isinstance(path, PathCollection)]
    assert len(np.concatenate(points)) == 3
    assert ax.get_ylim() == (-0.5, 1.5)
    model.run_model()
    assert model.pictures[0].scene(model).words == "3 agents after round 1"
    assert draw_scene(dataclasses.replace(shown, down=True)).axes[0].get_ylim() == (1.5, -0.5)


def test_the_browser_is_sent_a_network_with_a_margin(town) -> None:
    model = town(rng=1, minds="fixed:0")
    model.network = nx.Graph()
    model.network.add_node(1, pos=(0, 0))
    model.network.add_node(2, pos=(4, 2))
    model.network.add_edge(1, 2, weight=2.0)
    shown = model.pictures[1].scene(model)

    assert shown.extent == pytest.approx((-0.32, -0.32, 4.64, 2.64))  # 8 % of 4 on each side
    assert shown.ties == ((0, 0, 4, 2, 3.4),)
    assert [(mark.id, mark.x, mark.y) for mark in shown.marks] == [(1, 0, 0), (2, 4, 2)]
    (ties, *_) = [
        each for each in draw_scene(shown).axes[0].collections if isinstance(each, LineCollection)
    ]
    assert ties.get_segments()[0].tolist() == [[0, 0], [4, 2]]
    assert ties.get_linewidths() == [3.4]


@pytest.mark.parametrize("network", ["ids", "agents"])
def test_a_network_shows_its_agents_and_ties(network, town) -> None:
    model = town(network=network, rng=1, minds="fixed:0")
    shown = model.pictures[1].scene(model)
    first, second, _ = shown.marks

    assert [mark.id for mark in shown.marks] == [1, 2, 3]
    assert [tie[:4] for tie in shown.ties] == [(first.x, first.y, second.x, second.y)]


def test_the_network_of_mesa_and_nodes_that_keep_their_places(town) -> None:
    model = town(rng=1, minds="fixed:0")
    graph = nx.path_graph(4)
    model.network = Network(graph, random=model.random)
    seen = []
    picture = NetworkPicture("friends", node=lambda node: seen.append(node) or Portrayal())
    for person in model.people:
        person.cell = model.network[person.unique_id]

    def places():
        return [(mark.x, mark.y) for mark in picture.scene(model).marks]

    before = places()
    assert seen[1:] == model.people  # node 0 is empty: it is given itself
    assert seen[0] == 0
    assert places() == before


def test_nodes_numbered_from_0_are_the_agents_in_their_order(town) -> None:
    model = town(network="from 0", rng=1, minds="fixed:0")
    seen = []
    picture = NetworkPicture("friends", node=lambda node: seen.append(node) or Portrayal())
    picture.scene(model)
    assert seen == model.people

    first, second, third = model.people
    second.remove()
    seen.clear()
    picture.scene(model)
    assert seen == [first, 1, third]


@pytest.mark.parametrize("network", ["gaps", "too many"])
def test_nodes_from_0_that_are_not_the_agents_are_refused(network, town) -> None:
    model = town(network=network, rng=1, minds="fixed:0")
    with pytest.raises(RunError, match="the ids of the 3 agents begin at 1"):
        model.pictures[1].scene(model)


def test_a_picture_of_what_the_model_does_not_have(town) -> None:
    model = town(network="none", rng=1, minds="fixed:0")
    with pytest.raises(RunError, match=r"Town\.network, which does not exist; name .* of=…"):
        model.pictures[1].scene(model)
    with pytest.raises(RunError, match="OrthogonalMooreGrid: it needs a networkx graph"):
        NetworkPicture("x", of="grid").scene(model)
    with pytest.raises(RunError, match="a list: it needs a Mesa space"):
        SpacePicture("x", of="people").scene(model)


def test_every_run_has_its_pictures(town) -> None:
    assert list(run_all(town, {"minds": "fixed:0"}, seed=1).figures()) == ["map", "friends"]
    names = list(run_all(town, {"minds": "fixed:0"}, runs=2, seed=1).figures())
    assert names == ["map_0", "friends_0", "map_1", "friends_1"]
