"""Models with several classes of agents, which come and go, and with plain agents of Mesa."""

import pickle
from pathlib import Path
from typing import Any, ClassVar

import mesa
import pytest

from sabm_mesa import Choice, ClassicalMind, Number, Phase, SmartAgent, SmartModel
from sabm_mesa.errors import MindSpecError, RunError, UnknownName, UsageError
from sabm_mesa.models.declarations import Score
from sabm_mesa.runs.cost import estimate
from sabm_mesa.runs.game import Game, with_others
from sabm_mesa.runs.rerun import fork, replay, resume
from sabm_mesa.studies.tournament import play
from sabm_mesa.visualization.labels import who_would_decide
from tests.runs.reruns import Drawing


class Deep(ClassicalMind):
    async def answer(self, ask: Any) -> object:
        return int(ask.spec.high) if ask.name == "dig" else "none"


class Ant(SmartAgent):
    columns: ClassVar = {"depth": "depth"}
    classical_minds: ClassVar = {"default": Deep}
    scenario_prompt = "ant"
    depth = 0

    async def dig(self) -> Any:
        return await self.ask("dig", Number(0, 9, integer=True), n=len(self.model.agents))


class Bird(SmartAgent):
    columns: ClassVar = {"eaten": "eaten"}
    scenario_prompt = "bird"
    eaten = 0

    async def hunt(self) -> Any:
        ants = tuple(str(each.unique_id) for each in self.model.agents_by_type[Ant])
        return await self.ask("hunt", Choice((*ants, "none")), n=len(self.model.agents))


class Stone(mesa.Agent):
    """A plain agent: it has a method of the name of a phase, and no mind."""

    def dig(self) -> None:
        raise AssertionError("It has no mind.")


class Colony(SmartModel):
    """Ants dig and have children; birds eat them; a newcomer comes in each round."""

    scenario_name = "colony"
    title = "A colony"
    source = "none"
    prompt_file = Path(__file__).with_name("colony.toml")
    phases = (Phase("hunt", who=Bird, order="fixed"), Phase("dig", order="fixed"))

    def __init__(
        self, n_ants: int = 4, n_birds: int = 2, n_rounds: int = 4, **settings: Any
    ) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.stone = Stone(self)
        self.ants, self.birds = self.populate({Ant: n_ants, Bird: n_birds})

    def after_hunt(self, bird: Bird, choice: Any) -> None:
        for ant in [each for each in self.agents if str(each.unique_id) == choice.value]:
            ant.remove()
            bird.eaten += 1

    def after_dig(self, ant: Ant, depth: Any) -> None:
        ant.depth = depth.value if depth.valid else ant.depth

    def update(self) -> None:
        for parent in self.ants[:1]:
            self.born(Ant, of=parent)
        self.born(Ant)


def played(**parameters: Any) -> Colony:
    model = Colony(**{"minds": {"Bird": "fixed:none"}, "rng": 1, **parameters})
    model.run_model()
    return model


def specs(model: SmartModel) -> dict[int, str]:
    return {agent.unique_id: agent.mind.spec for agent in model.population}


def test_each_class_has_its_minds_columns_and_prompts() -> None:
    model = played(minds={"Ant": {"fixed:3": 1, "classical": 3}, "Bird": "fixed:none"}, n_rounds=1)
    data = model.agent_frame()

    assert list(data["class"][:6]) == ["Ant"] * 4 + ["Bird"] * 2
    assert list(data["mind"][:6]) == ["fixed:3", *["classical"] * 3, *["fixed:none"] * 2]
    assert list(data["depth"][:4]) == [3, 9, 9, 9]
    assert data["depth"][4:6].isna().all()
    assert data["eaten"][:4].isna().all()
    assert "class" not in model.model_frame()


def test_a_child_has_the_mind_and_persona_of_its_parent_and_a_newcomer_draws_them() -> None:
    shares = {"fixed:3": 1, "classical": 3}
    model = played(
        minds={"Ant": shares, "Bird": "fixed:none"}, personas={"Ant": "cautious"}, n_rounds=100,
        prompts=Path(__file__).with_name("colony_personas.toml"),
    )  # fmt: skip
    children = [each for each in model.population if each.parent is not None]
    newcomers = [each for each in model.population[6:] if each.parent is None]

    assert {each.mind.spec for each in children} == {"fixed:3"}
    assert {each.persona for each in (*children, *newcomers)} == {"cautious"}
    drawn = [each.mind.spec for each in newcomers]
    assert 10 <= drawn.count("fixed:3") <= 40, "a quarter of a hundred"


def test_what_a_newcomer_draws_depends_on_seed_and_id_alone() -> None:
    one, other = (played(minds={"Ant": m, "Bird": "fixed:none"}, n_rounds=20) for m in (
        {"fixed:3": 1, "classical": 3}, {"fixed:4": 1, "fixed:5": 3},
    ))  # fmt: skip

    renamed = {"fixed:3": "fixed:4", "classical": "fixed:5", "fixed:none": "fixed:none"}
    assert {agent: renamed[spec] for agent, spec in specs(one).items()} == specs(other)


def test_plain_agents_are_left_alone_and_all_ids_are_different() -> None:
    model = played()

    assert model.stone in model.agents
    ids = [agent.unique_id for agent in (*model.population, model.stone)]
    assert sorted(ids) == list(range(1, len(ids) + 1))
    assert model.stone.unique_id not in set(model.agent_frame()["agent"])
    assert model.agent_of_id(7).class_name == "Bird"
    with pytest.raises(KeyError):
        model.agent_of_id(model.stone.unique_id)


def test_ids_survive_pickling() -> None:
    model = Colony(minds={"Ant": {"fixed:3": 2, "classical": 2}, "Bird": "fixed:none"}, rng=1)
    model.step()
    copy = pickle.loads(pickle.dumps(model))  # made here
    for each in (model, copy):
        each.run_model()

    assert specs(copy) == specs(model)
    assert copy.agent_frame().equals(model.agent_frame())


def test_an_agent_that_has_left_is_neither_asked_nor_recorded() -> None:
    model = played(minds={"Bird": "fixed:2"}, n_rounds=2)

    assert model.birds[0].eaten == 1, "the second bird found none"
    assert model.birds[1].eaten == 0
    assert 2 not in set(model.agent_frame()["agent"])
    assert model.total.asks == (2 + 3) + (2 + 5)
    assert model.total.invalid == 3, "it was no option any more"


def test_a_decision_on_a_snapshot_is_not_applied_to_an_agent_that_has_left() -> None:
    class Together(Colony):
        phases = (Phase("dig"),)

        def after_dig(self, ant: Ant, depth: Any) -> None:
            ant.depth = depth.value
            self.ants[1].remove()

    model = Together(minds={"Bird": "fixed:none"}, n_rounds=1, rng=1)
    model.run_model()
    assert [ant.depth for ant in model.ants] == [9, 0, 9, 9]


@pytest.mark.parametrize(
    ("minds", "problem"),
    [
        ({"Ant": "classical"}, r"has no classical mind for a Bird \(class attribute"),
        ({"Bee": "classical", "Bird": "fixed:none"}, "Unknown class of agents of Colony 'Bee'"),
        ({"Ant": {"fixed:1": 3}, "Bird": "fixed:none"}, "minds of Ant: 3 are given for 4 agents"),
    ],
)
def test_minds_that_do_not_fit_the_classes(minds: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as wrong:
        Colony(minds=minds)
    assert wrong.value.parameter == "minds"
    assert isinstance(wrong.value, MindSpecError | UnknownName)


def test_a_class_of_newborns_is_named_in_populate() -> None:
    class Bees(Colony):
        def update(self) -> None:
            self.born(type("Bee", (Ant,), {}))

    with pytest.raises(UsageError, match="A Bee is born, and populate does not name the class"):
        Bees(minds={"Bird": "fixed:none"}).step()


def test_none_is_born_where_ids_would_depend_on_latencies() -> None:
    class Hasty(Colony):
        phases = (Phase("dig", order="fixed", reach=lambda _model, ant: [ant]),)

        def after_dig(self, ant: Ant, depth: Any) -> None:
            super().after_dig(ant, depth)
            self.born(Ant, of=ant)

    with pytest.raises(RunError, match=r"born in the phase 'dig'.* call born in update"):
        Hasty(minds={"Bird": "fixed:none"}, rng=1).run_model()


def paid() -> dict[str, Any]:
    return {"Ant": {Drawing(): 2, "classical": 2}, "Bird": "fixed:none"}


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    played(minds=paid(), recording=tmp_path / "recording.sqlite")
    return tmp_path / "recording.sqlite"


def test_births_are_replayed_and_resumed(recorded: Path, tmp_path: Path) -> None:
    (whole,) = replay(recorded, scenario=Colony).models

    cut = tmp_path / "cut.sqlite"
    with pytest.raises(RunError, match="no connection"):
        played(minds={**paid(), "Ant": {Drawing(most=12): 2, "classical": 2}}, recording=cut)
    (resumed,) = resume(cut, scenario=Colony, minds={"drawing": Drawing()}).models
    assert resumed.agent_frame().equals(whole.agent_frame())
    assert {"drawing", "classical"} == set(list(specs(whole).values())[6:])


@pytest.mark.parametrize(
    ("minds", "parent", "child", "newcomers"),
    [
        ({"Ant": "fixed:3", "Bird": "fixed:none"}, "fixed:3", "fixed:3", {"fixed:3"}),
        (
            {"Ant": {"fixed:4": 1, "fixed:5": 3}, "Bird": "fixed:none"},
            "fixed:4", "fixed:4", {"fixed:4", "fixed:5"},
        ),
    ],
)  # fmt: skip
def test_a_fork_after_a_birth_takes_over_by_id(
    recorded: Path, tmp_path: Path, minds: Any, parent: str, child: str, newcomers: set[str]
) -> None:
    into = tmp_path / "fork.sqlite"
    new = {"minds": minds, "n_rounds": 30}
    (forked,) = fork(recorded, 2, new, into, scenario=Colony, minds={"drawing": Drawing()}).models

    first, *_ = forked.population
    assert first.mind.spec == parent
    assert {a.mind.spec for a in forked.population if a.parent is first} == {child}
    assert {a.mind.spec for a in forked.population[6:] if a.parent is None} == newcomers, (
        "those born before the fork too"
    )
    replay(into, scenario=Colony)


def test_the_cost_is_that_of_each_class() -> None:
    minds = {"Ant": "llm:gpt-4o-mini", "Bird": "llm:gpt-4o"}
    found = estimate(Colony, {"minds": minds, "rng": 1})

    assert found.minds == {"llm:gpt-4o-mini": 4, "llm:gpt-4o": 2}, "those of the beginning"
    assert {(line.question, line.mind) for line in found.lines} == {
        ("dig", "llm:gpt-4o-mini"), ("hunt", "llm:gpt-4o"),
    }  # fmt: skip


def test_people_sit_at_agents_of_two_classes_and_have_no_children_at_seats() -> None:
    minds = {"Ant": {"human": 1, "fixed:3": 3}, "Bird": {"human": 1, "fixed:none": 1}}
    game = Game(Colony, minds=minds, rng=1, n_rounds=2)
    assert {seat: game.model.agent_of_id(seat).class_name for seat in game.seats} == {
        2: "Ant", 6: "Bird",
    }  # fmt: skip
    for seat in game.seats.values():
        seat.take("me")
    game.start()
    answers = {"dig": "7", "hunt": "none"}
    while game.status != "over":
        for seat in game.seats.values():
            if (question := seat.question) is not None:
                seat.answer("me", question.number, answers[question.ask.name], "")
        game.join(0.01)

    assert not game.problem
    ant, bird = game.seats.values()
    assert list(game.own_data(ant)["depth"]) == [7, 7]
    assert list(game.own_data(bird).columns) == ["round", "eaten"]
    children = [a for a in game.model.population if a.parent is game.model.population[0]]
    assert {child.mind.spec for child in children} == {"fixed:3"}


def test_a_seat_of_a_class() -> None:
    assert with_others(Colony, {}, "fixed:1", seats_of="Bird") == {
        "Ant": "fixed:1",
        "Bird": {"human": 1, "fixed:1": 1},
    }
    assert with_others(Colony, {}, {"Ant": "classical", "Bird": {"fixed:1": 1}}, 1, "Bird") == {
        "Ant": "classical",
        "Bird": {"human": 1, "fixed:1": 1},
    }
    with pytest.raises(UnknownName, match="Unknown class of agents 'Bee'"):
        with_others(Colony, {}, "fixed:1", seats_of="Bee")


def test_a_tournament_ranks_the_minds_of_one_class(tmp_path: Path) -> None:
    class Ranked(Colony):
        score = Score("Depth in a run", "n_ants", column="depth", of="Ant")
        classical_minds: ClassVar = {"default": Deep}

        def update(self) -> None:
            """Nobody is born."""

    given = {"n_rounds": 1}
    ranked = play(Ranked, ["fixed:1", "fixed:7"], folder=tmp_path, parameters=given, runs=1).ranking

    assert list(ranked["entrant"]) == ["fixed:7", "fixed:1"]
    assert list(ranked["score"]) == [7, 1]
    assert list(ranked["decisions"]) == [4, 4], "none of those of the birds"


def test_the_page_says_which_minds_of_classes_may_cost_money() -> None:
    minds = {"Ant": "classical", "Bird": {"llm:a": 1, "fixed:none": 1}}
    words, kind = who_would_decide(minds, "agent")
    assert "Ant: classical; Bird: 1 × llm:a, 1 × fixed:none: answers may cost money." in words
    assert kind == "paid"
    assert who_would_decide({"Ant": "classical"}, "agent")[1] == "free"
