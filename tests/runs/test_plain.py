"""Plain Mesa models with minds: the same data as without, recorded, resumed, replayed."""

from __future__ import annotations

import asyncio
import gc
import inspect
import pickle
import re
import shlex
import signal
import subprocess
import sys
import threading
from copy import deepcopy
from pathlib import Path
from types import ModuleType

import mesa
import pytest
from mesa.examples.advanced.wolf_sheep import agents as wolf_agents
from mesa.examples.advanced.wolf_sheep import model as wolf_model
from mesa.examples.basic.boltzmann_wealth_model import agents as money_agents
from mesa.examples.basic.boltzmann_wealth_model import model as money_model

from sabm_mesa import Minds, Number, Recorded, sweep
from sabm_mesa.core import engine
from sabm_mesa.errors import BudgetExceeded, ReplayMismatch, RunError, UsageError
from sabm_mesa.llm import Budget, Connection
from sabm_mesa.llm.weights import weights_of
from sabm_mesa.models.registry import load
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.game import Game
from sabm_mesa.runs.plain import ENDS, run_class
from sabm_mesa.runs.rerun import replay
from sabm_mesa.runs.run import run_all
from sabm_mesa.testing.minds import People
from tests.cli.support import Sabm
from tests.core.support import Waiting
from tests.llm_server import LLMServer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "mesa.md"
HUNK = re.compile(r"^--- mesa/examples/\w+/(\w+)/(\w+)\.py\n", re.MULTILINE)
PROMPT_FILE = re.compile(r"```toml\n# (\w+\.toml)\n(.*?)```", re.DOTALL)
MOST_LINES = 10


def changes():
    """Each changed module of Mesa's examples in the docs: (example, module) → its hunks."""
    found: dict[tuple[str, str], list[list[str]]] = {}
    for block in re.findall(r"```diff\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        parts = HUNK.split(block)[1:]
        for example, module, hunks in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            found[example, module] = [hunk.splitlines() for hunk in hunks.split("---\n")]
    return found


def changed(module: ModuleType, hunks: list[list[str]]) -> str:
    """The source of a module with its hunks applied."""
    source = inspect.getsource(module)
    for hunk in hunks:
        before = "\n".join(line[1:] for line in hunk if line[:1] != "+")
        after = "\n".join(line[1:] for line in hunk if line[:1] != "-")
        assert source.count(before) == 1, before
        source = source.replace(before, after)
    return source


def written(folder: Path, example: str, agents: ModuleType, model: ModuleType, name: str) -> None:
    """Write a changed example of Mesa as modules, with its prompt file."""
    for module, part, file in ((agents, "agents", f"{name}_agents"), (model, "model", name)):
        source = changed(module, changes()[example, part]).replace(
            agents.__name__, f"{name}_agents"
        )
        (folder / f"{file}.py").write_text(source, "utf-8")
    for file, text in PROMPT_FILE.findall(PAGE.read_text("utf-8")):
        (folder / file).write_text(text, "utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [
        n for n, m in sys.modules.items() if str(tmp_path) in str(getattr(m, "__file__", ""))
    ]:
        del sys.modules[name]


def made(cls, module, seed, **given):
    """A model of one of Mesa's examples; Mesa 3.5 and later make it of a scenario."""
    for name in dir(module):
        if name.endswith("Scenario") and name != "Scenario":
            return cls(scenario=getattr(module, name)(rng=seed, **given))
    if "simulator" in inspect.signature(cls.__init__).parameters:
        from mesa.experimental.devs import ABMSimulator

        given["simulator"] = ABMSimulator()
    return cls(seed=seed, **given)


def played(model, steps):
    """The data of a model after some steps."""
    if simulator := getattr(model, "simulator", None):
        simulator.run_for(steps)
    else:
        for _ in range(steps):
            model.step()
    return model.datacollector.get_model_vars_dataframe()


@pytest.mark.parametrize(
    ("example", "agents", "module", "cls", "name"),
    [
        ("boltzmann_wealth_model", money_agents, money_model, "BoltzmannWealth", "money"),
        ("wolf_sheep", wolf_agents, wolf_model, "WolfSheep", "wolf"),
    ],
)
def test_the_examples_of_mesa_give_the_same_data_with_at_most_ten_new_lines(
    folder, example, agents, module, cls, name
) -> None:
    hunks = [hunk for place, found in changes().items() if place[0] == example for hunk in found]
    assert sum(line[:1] == "+" for hunk in hunks for line in hunk) <= MOST_LINES
    written(folder, example, agents, module, name)
    minded = load(f"{name}.py:{cls}").plain_class
    model = made(minded, sys.modules[minded.__module__], 7)

    own, mesas = played(model, 20), played(made(getattr(module, cls), module, 7), 20)
    assert own.equals(mesas)
    assert model.minds.spent()["asks"] > 100


COMMANDS = re.search(r"```\n(sabm run money.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]
"""The commands of the docs for Boltzmann's wealth."""


def commands(url, cls, name, parameter):
    """The commands, of one of the two examples, shorter and with a server on this machine."""
    small = {"n=20,50": f"{parameter}=3,4", "20": "3", "5": "2"}
    small["llm:gpt-4o-mini"] = f"llm:gpt-4o-mini@{url}"
    sizes = [word for size in (f"{parameter}=5", "width=2", "height=2") for word in ("--set", size)]
    for line in COMMANDS.replace("money.py:BoltzmannWealth", f"{name}.py:{cls}").splitlines():
        _, command, *words = [small.get(word, word) for word in shlex.split(line)]
        yield [command, *words, *(sizes if command == "run" else ())]


@pytest.mark.parametrize(
    ("example", "agents", "module", "cls", "name", "parameter"),
    [
        ("boltzmann_wealth_model", money_agents, money_model, "BoltzmannWealth", "money", "n"),
        ("wolf_sheep", wolf_agents, wolf_model, "WolfSheep", "wolf", "initial_wolves"),
    ],
)
def test_the_commands_of_the_docs_play_the_examples(
    folder, capsys, example, agents, module, cls, name, parameter
) -> None:
    written(folder, example, agents, module, name)
    sabm, brain = Sabm(capsys), lambda *_: "1" if name == "money" else "roam"
    with LLMServer(brain=brain) as server:
        for words in commands(server.url, cls, name, parameter):
            assert (done := sabm(*words)).status == 0, (words, done.err)
    (run,) = load_runs("out/money/recording.sqlite")
    assert run.asks
    assert (run.finished, run.rounds) == (True, 3)
    assert run.parameters[parameter] == 5
    assert "simulator" not in run.parameters


@pytest.fixture
def llm_url():
    with LLMServer(brain=lambda messages, _: str(len(messages[-1]["content"]) % 11)) as server:
        yield server.url


MODEL = '''
import mesa

from sabm_mesa import Minds, Number


class Village(mesa.Model):
    """People give coins; who is asked sees nothing that others change in the same step."""

    def __init__(self, n=5, minds="classical", rng=None, at_once="", **more):
        super().__init__(rng=rng)
        self.at_once = at_once
        self.minds = Minds(
            self, minds, prompts="village.toml", classical={"give": lambda ask: 1}, **more
        )
        self.datacollector = mesa.DataCollector(
            model_reporters={"total": lambda m: sum(a.given for a in m.agents)},
            agent_reporters={"given": "given"},
        )
        Person.create_agents(self, n)

    def step(self):
        if self.at_once == "gather":
            self.minds.gather(self.agents.shuffle(), "step")
        elif self.at_once == "ask_all":
            people = list(self.agents)
            limit = lambda p: Number(0, 10 + p.unique_id, integer=True)
            facts = lambda p: {"given": p.given}
            for person, gift in zip(people, self.minds.ask_all(people, "give", limit, facts=facts)):
                person.take(gift)
        else:
            self.agents.shuffle_do("step")
        self.datacollector.collect(self)


class Person(mesa.Agent):
    def __init__(self, model):
        super().__init__(model)
        self.given = 0

    def step(self):
        limit = Number(0, 10 + self.unique_id, integer=True)
        self.take(self.model.minds.ask(self, "give", limit, given=self.given))

    def take(self, gift):
        if gift.valid:
            self.given += gift.value
'''
PROMPTS = (
    '[prompts]\nscenario = "A village."\ngive = "You gave {{ given }}. How many now? {{ form }}"\n'
)


@pytest.fixture
def village(folder):
    (folder / "village.py").write_text(MODEL, "utf-8")
    (folder / "village.toml").write_text(PROMPTS, "utf-8")
    return load("village.py").plain_class


def by_place(ask):
    """An answer that depends on the round and the agent."""
    return str((3 * ask.key.round + 5 * ask.key.agent) % 11)


def data(model, steps=4):
    for _ in range(steps):
        model.step()
    return (
        model.datacollector.get_model_vars_dataframe(),
        model.datacollector.get_agent_vars_dataframe(),
    )


def assert_equal(one, other):
    assert all(a.equals(b) for a, b in zip(one, other, strict=True))


class Counting(Waiting):
    """A mind that notes how many questions wait at the same time."""

    def __init__(self, answer, seed=0):
        super().__init__(answer, seed)
        self.waiting = self.most = 0

    async def answer(self, ask):
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            await asyncio.sleep(0)
            return await super().answer(ask)
        finally:
            self.waiting -= 1


@pytest.mark.parametrize("at_once", ["gather", "ask_all"])
def test_questions_that_overlap_give_the_data_of_one_after_another(village, at_once) -> None:
    one, alone = Counting(by_place), Counting(by_place)
    expected = data(village(minds=alone, rng=1))
    assert alone.most == 1
    assert_equal(data(village(minds=one, rng=1, at_once=at_once)), expected)
    assert one.most == 5
    for seed in (1, 2):
        late = Waiting(by_place, seed=seed, longest=30)
        assert_equal(data(village(minds=late, rng=1, at_once=at_once)), expected)


INDEPENDENT = """
        self.take(self.ask())
        self.given += self.random.randrange(5)
        self.model.pot = getattr(self.model, "pot", 0) + self.given
"""


def dependent(folder, body):
    """A village whose people do something else in their step."""
    ask = 'self.model.minds.ask(self, "give", Number(0, 99, integer=True), given=self.given)'
    step = MODEL.index("    def step(self):\n        limit")
    end = MODEL.index("    def take(self")
    body = f"    def ask(self):\n        return {ask}\n\n    def step(self):{body}\n"
    (folder / "other.py").write_text(MODEL[:step] + body + MODEL[end:], "utf-8")
    (folder / "village.toml").write_text(PROMPTS, "utf-8")
    return load("other.py").plain_class


def test_gather_keeps_draws_that_come_in_the_order_of_the_agents(folder) -> None:
    village = dependent(folder, INDEPENDENT)
    minds = Counting(by_place)
    overlapping = data(village(minds=minds, rng=1, at_once="gather"))
    assert minds.most == 5
    assert_equal(overlapping, data(village(minds=Counting(by_place), rng=1)))


@pytest.mark.parametrize(("remover", "taken"), [(1, 0), (5, 1)])
def test_gather_neither_calls_on_nor_asks_one_that_another_has_removed(
    folder, remover, taken
) -> None:
    body = f"""
        self.take(self.ask())
        if self.unique_id == {remover}:
            next(a for a in self.model.agents if a.unique_id == 3).remove()
        self.take(self.ask())
"""

    class Removing(dependent(folder, body)):
        def step(self):
            self.minds.gather(self.agents)

    asked = []
    model = Removing(minds=Waiting(lambda ask: asked.append(ask.key.agent) or "1"), rng=1)
    third = next(a for a in model.agents if a.unique_id == 3)
    model.step()
    assert (third.given, sorted(asked)) == (taken, [1, 1, 2, 2, 3, 4, 4, 5, 5])


def test_people_take_seats_in_a_plain_model(village) -> None:
    minds = {"human": 2, "fixed:1": 3}
    game = Game(run_class(village), minds=minds, n_rounds=2, rng=1, recording=False)
    people = People(game)
    people.play(20.0)
    assert (people.problems, game.problem) == ([], "")
    rows = game.model.agent_frame()
    assert rows["mind"].tolist() == ["human", "human", "fixed:1", "fixed:1", "fixed:1"] * 2
    assert rows["invalid"].sum() == 0
    assert rows["given"].tolist()[-3:] == [2, 2, 2]


def test_a_step_of_a_model_is_a_round_of_its_recording(village) -> None:
    model = village(rng=1, record="v.sqlite")
    expected = data(model)
    model.minds.close()

    (run,) = load_runs("v.sqlite")
    assert (run.finished, run.rounds, run.scenario) == (True, 4, "village")
    assert run.minds == {"classical": 5}
    recorded = Recorded("v.sqlite")
    rows = recorded.model_data()
    assert rows["total"].tolist() == expected[0]["total"].tolist() == [5, 10, 15, 20]
    assert rows["asks"].tolist() == [5] * 4
    agents = recorded.agent_data()
    assert agents[agents["round"] == 3]["given"].tolist() == [4] * 5
    assert agents["mind"].unique().tolist() == ["classical"]


def test_steps_without_questions_are_rounds_too(village) -> None:
    class Quiet(village):
        def step(self):
            if self.quiet:
                self.datacollector.collect(self)
            else:
                super().step()

    model = Quiet(rng=1, record="q.sqlite")
    for quiet in (True, False, True, True, False):
        model.quiet = quiet
        model.step()
    model.minds.close()

    rows = Recorded("q.sqlite").model_data()
    assert rows["round"].tolist() == [0, 1, 2, 3, 4]
    assert rows["asks"].tolist() == [0, 5, 0, 0, 5]
    assert rows["total"].tolist() == [0, 5, 5, 5, 10]


@pytest.mark.parametrize("at_first", [False, True])
@pytest.mark.parametrize("of_agents", [False, True])
@pytest.mark.parametrize(
    ("before", "asks", "expected"),
    [
        (False, [4, 4, 4, 4], [4, 8, 12, 16]),
        (True, [4, 4, 4, 4], [0, 4, 8, 12]),
        (False, [0, 0, 4, 4], [0, 0, 4, 8]),
        (True, [0, 0, 4, 4], [0, 0, 0, 4]),
    ],
)
def test_each_row_is_that_of_its_step(
    village, *, before, asks, expected, of_agents, at_first
) -> None:
    class Collecting(village):
        def __init__(self, **given):
            super().__init__(**given)
            if not of_agents:
                self.datacollector.agent_reporters = {}

        def collect_all(self):
            self.datacollector.collect(self)

        def step(self):
            if before:
                self.collect_all()
            if next(coming):
                self.agents.shuffle_do("step")
            if not before:
                self.collect_all()

    class CollectingAtFirst(Collecting):
        def __init__(self, **given):
            super().__init__(**given)
            self.collect_all()

    coming = iter(asks)
    model = (CollectingAtFirst if at_first else Collecting)(n=4, rng=1, record="c.sqlite")
    for _ in asks:
        model.step()
    model.minds.close()
    rows = Recorded("c.sqlite").model_data()
    assert (rows["total"].tolist(), rows["asks"].tolist()) == (expected, asks)


SCRIPT = """
import os, signal, sys
from village import Village


class Own:
    spec, paid, calls = "own", True, 0

    async def answer(self, ask):
        Own.calls += 1
        if sys.argv[1] == "kill" and Own.calls == 8:
            os.kill(os.getpid(), signal.SIGKILL)
        return str((3 * ask.key.round + 5 * ask.key.agent) % 11)


how = {"resume": {"resume": True}, "replay": {"replay": "k.sqlite"}}.get(sys.argv[1], {})
model = Village(rng=3, minds=Own(), record="k.sqlite", **how)
for _ in range(3):
    model.step()
print(model.datacollector.get_model_vars_dataframe()["total"].tolist(), Own.calls)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("village")
def test_a_killed_script_loses_no_answer_and_goes_on(folder) -> None:
    (folder / "script.py").write_text(SCRIPT, "utf-8")

    def script(how):
        return subprocess.run(
            [sys.executable, "script.py", how], capture_output=True, text=True, check=False
        )

    assert script("kill").returncode == -signal.SIGKILL
    resumed = script("resume")
    assert resumed.returncode == 0, resumed.stderr
    whole, asked = resumed.stdout.rsplit(" ", 1)
    assert int(asked) == 15 - 7  # seven answers came before the kill
    (run,) = load_runs("k.sqlite")
    assert run.finished
    again = script("replay")
    assert again.stdout == f"{whole} 0\n", again.stderr


class Priced:
    """A mind that is paid for."""

    spec, paid = "priced", True

    async def answer(self, ask):
        return by_place(ask)


def test_a_replay_of_another_model_names_the_difference(village) -> None:
    model = village(rng=1, minds=Priced(), record="p.sqlite")
    data(model, 2)
    model.minds.close()

    same = village(rng=1, minds=Priced(), replay="p.sqlite")
    data(same, 2)
    with pytest.raises(UsageError, match="has the seed 1"):
        village(rng=2, minds=Priced(), replay="p.sqlite")
    with pytest.raises(ReplayMismatch, match="round 0, step, agent 6"):
        data(village(n=6, rng=1, minds=Priced(), replay="p.sqlite"))


@pytest.mark.parametrize("at_once", ["", "gather"])
def test_a_cap_can_be_caught_and_the_run_resumed(village, llm_url, at_once) -> None:
    minds = f"llm:gpt-test@{llm_url}"
    expected = data(village(rng=1, minds=minds, record=False, at_once=at_once))
    capped = Connection(budget=Budget(max_asks=7))
    model = village(rng=1, minds=minds, record="cap.sqlite", connection=capped, at_once=at_once)
    with pytest.raises(BudgetExceeded):
        data(model)
    with pytest.raises(RunError, match="has ended"):
        model.minds.ask(next(iter(model.agents)), "give", Number(0, 9), given=0)
    (run,) = load_runs("cap.sqlite")
    assert not run.finished
    assert len(run.asks) == 7

    again = village(rng=1, minds=minds, record="cap.sqlite", resume=True, at_once=at_once)
    assert_equal(data(again), expected)
    again.minds.close()
    assert len(load_runs("cap.sqlite")) == 1
    assert Recorded("cap.sqlite").asks()["attempt"].tolist() == [0] * 20


def test_max_tokens_limits_an_answer_and_a_budget_the_run(village) -> None:
    with LLMServer(brain=lambda *_: "1") as server:
        minds = f"llm:gpt-test@{server.url}"
        data(village(rng=1, minds=minds, record=False, max_tokens=9), 1)
        assert {seen.body["max_tokens"] for seen in server.requests} == {9}
        capped = Connection(budget=Budget(max_total_tokens=100))
        model = village(rng=1, minds=minds, record=False, max_tokens=9, connection=capped)
        with pytest.raises(BudgetExceeded, match="budget of 100 tokens"):
            data(model)


def test_a_scenario_class_that_is_not_clear_is_refused(folder) -> None:
    code = "import mesa\n\n\nclass Two(mesa.Model):\n    def __init__(self, scenario=None):\n"
    (folder / "two.py").write_text(f"{code}        super().__init__()\n", "utf-8")
    with pytest.raises(UsageError, match=r"annotate it, as in scenario: MyScenario"):
        run_all(load("two.py"), {}, seed=1)


def test_its_prompts_may_be_a_dict(folder) -> None:
    prompts = '{"scenario": "A village.", "give": "You gave {{ given }}. How many? {{ form }}"}'
    (folder / "alone.py").write_text(MODEL.replace('"village.toml"', prompts), "utf-8")
    asked = []
    minds = Waiting(lambda ask: asked.append(ask.question) or "1")
    run_all(load("alone.py"), {"n": 1, "n_rounds": 1, "minds": minds}, seed=1)
    ((scenario, question),) = asked
    assert scenario == "A village."
    assert question.startswith("You gave 0. How many? ")


@pytest.mark.usefixtures("village")
def test_its_prompts_are_found_beside_it(folder, monkeypatch) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    runs = run_all(load("../village.py"), {"n": 2, "n_rounds": 1}, seed=1)
    assert runs.model_frame()["total"].tolist() == [2]


@pytest.mark.slow
@pytest.mark.usefixtures("village")
def test_a_sweep_on_processes_plays_what_one_here_plays(tmp_path) -> None:
    model, given = load("village.py"), {"minds": "fixed:2", "n_rounds": 2}
    there = sweep(
        model, {"n": [3, 4]}, parameters=given, folder=tmp_path / "a", on="processes", workers=2
    )
    here = sweep(model, {"n": [3, 4]}, parameters=given, folder=tmp_path / "b")
    assert there.model_data.equals(here.model_data)
    assert there.model_data["total"].tolist() == [6, 12, 8, 16]


def test_minds_by_number_and_by_class(village) -> None:
    model = village(n=5, minds={"fixed:1": 2, "fixed:4": 3}, rng=1)
    data(model, 1)
    assert [agent.given for agent in model.agents] == [1, 1, 4, 4, 4]
    model = village(n=2, minds={"Person": "fixed:6"}, rng=1)
    data(model, 1)
    assert [agent.given for agent in model.agents] == [6, 6]
    with pytest.raises(UsageError, match="minds"):
        data(village(n=5, minds={"fixed:1": 2, "fixed:4": 2}, rng=1))


def test_agents_that_are_born_draw_a_mind_and_those_that_leave_have_no_rows(village) -> None:
    model = village(n=2, minds="fixed:3", rng=1, record="born.sqlite")
    model.step()
    next(iter(model.agents)).remove()
    type(next(iter(model.agents)))(model)
    model.step()
    model.minds.close()

    rows = Recorded("born.sqlite").agent_data()
    assert rows.groupby("round")["agent"].apply(list).tolist() == [[1, 2], [2, 3]]
    assert rows["given"].tolist() == [3, 3, 6, 3]


def test_what_agents_say_is_quoted(village) -> None:
    assert village(rng=1).minds.quote("one\nSystem: two") == "one System - two"


def test_a_run_ends_with_its_model(village) -> None:
    model = village(rng=1, record="gone.sqlite")
    model.step()
    if (ids := getattr(mesa.Agent, "_ids", None)) is not None:
        del ids[model]  # Mesa before 3.5 keeps each model for ever
    del model

    async def collect() -> None:
        gc.collect()

    engine.run(collect())  # the run cannot end on a thread that it needs
    for thread in threading.enumerate():
        if thread.name == ENDS:
            thread.join()
    assert load_runs("gone.sqlite")[0].finished


def test_a_model_steps_inside_a_running_event_loop(village) -> None:
    async def notebook():
        return data(village(rng=1, at_once="gather"), 2)

    assert asyncio.run(notebook())[0]["total"].tolist() == [5, 10]


BATCH = """
import sys
import mesa
from village import Village

if __name__ == "__main__":
    given = {"n": [3], "record": "b.sqlite", "at_once": ["", "gather", "ask_all"]}
    rows = mesa.batch_run(Village, given, number_processes=int(sys.argv[1]), max_steps=3,
                          display_progress=False)
    print(len(rows))
"""


@pytest.mark.parametrize("processes", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.usefixtures("village")
def test_mesas_batch_run_leaves_whole_recordings(folder, processes) -> None:
    (folder / "script.py").write_text(BATCH, "utf-8")
    done = subprocess.run(
        [sys.executable, "script.py", str(processes)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    runs = load_runs("b.sqlite")
    steps = runs[0].rounds
    assert steps in {3, 4}  # Mesa before 3.5 plays one more than max_steps
    assert len(runs) == 3
    for run in runs:
        assert (run.finished, run.rounds, len(run.asks)) == (True, steps, 3 * steps)
    totals = Recorded("b.sqlite").model_data().groupby("run")["total"].apply(list)
    assert totals.tolist() == [[3 * (i + 1) for i in range(steps)]] * 3


def test_a_run_ends_when_the_model_stops(village) -> None:
    class Stopping(village):
        def step(self):
            super().step()
            self.running = self.steps < 2

    model = Stopping(rng=1, record="r.sqlite")
    model.run_model()
    (run,) = load_runs("r.sqlite")
    assert (run.finished, run.rounds, run.problem) == (True, 2, "")
    assert Recorded("r.sqlite").model_data()["total"].tolist() == [5, 10]
    with pytest.raises(RunError, match="has ended"):
        model.step()


def test_an_earlier_error_is_not_the_end_of_a_closed_run(village, monkeypatch) -> None:
    monkeypatch.setattr(sys, "last_value", ValueError("of another cell"), raising=False)
    model = village(rng=1, record="r.sqlite")
    model.step()
    model.minds.close()
    assert load_runs("r.sqlite")[0].finished


def test_one_that_left_the_model_keeps_its_own_mind(village) -> None:
    minds = {"fixed:1": 1, "fixed:4": 1, "fixed:7": 1}
    model = village(n=3, minds=minds, rng=1, record="l.sqlite")
    model.step()
    left = [agent for agent in model.agents if agent.given in {4, 7}]
    for agent in left:
        agent.remove()
    for _ in range(3):
        model.step()
        for agent in left:
            agent.step()
    assert [agent.given for agent in left] == [4 * 4, 7 * 4]
    model.minds.close()
    asks = Recorded("l.sqlite").asks()
    assert {(row.agent, row.value) for row in asks.itertuples()} == {(1, "1"), (2, "4"), (3, "7")}


def test_the_id_of_an_earlier_agent_is_refused(village) -> None:
    model = village(n=2, minds={"fixed:1": 1, "fixed:4": 1}, rng=1)
    model.step()
    first = next(iter(model.agents))
    first.remove()
    type(first)(model).unique_id = first.unique_id
    with pytest.raises(RunError, match=r"Person 1 has the id of an earlier agent: keep the ids"):
        model.step()


class Plain(mesa.Model):
    """A model that Python can pickle: without functions that have no name."""

    def __init__(self, rng=None, **more):
        super().__init__(rng=rng)
        self.given = 0
        self.minds = Minds(self, "fixed:3", prompts="village.toml", **more)
        self.datacollector = mesa.DataCollector(model_reporters={"given": "given"})
        mesa.Agent.create_agents(self, 2)

    def step(self):
        if self.given < 6:
            for agent in list(self.agents):
                self.given += self.minds.ask(agent, "give", Number(0, 9), given=self.given).value
        self.datacollector.collect(self)


@pytest.mark.parametrize("copied", [deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.usefixtures("village")
def test_a_recorded_model_can_be_copied(copied) -> None:
    model = Plain(rng=1, record="c.sqlite")
    early = copied(model)
    model.step()
    other = copied(model)
    other.step()
    assert (model.steps, other.steps, other.given) == (1, 2, 6)
    assert other.datacollector.model_vars == {"given": [6, 6]}
    with pytest.raises(RunError, match="A copy of a model has no minds"):
        early.step()
    model.step()
    model.minds.close()
    (run,) = load_runs("c.sqlite")
    assert (run.finished, run.rounds, len(run.asks)) == (True, 2, 2)


class Free:
    """A mind that looks at its question."""

    paid = False

    async def answer(self, ask):
        return str(len(ask.question))


MISUSES = {
    "in the constructor": (
        "Person.create_agents(self, n)",
        "Person.create_agents(self, n); next(iter(self.agents)).step()",
        r"Agents can ask in a step",
    ),
    "an object as a fact": ("given=self.given)", "given=self)", r"'given' is of type Person"),
    "no such prompt": ('ask(self, "give"', 'ask(self, "take"', r"take"),
    "a missing fact": (", given=self.given)", ")", r"given"),
    "no rule": ('{"give": ', '{"take": ', r"No classical rule answers 'give'"),
    "no minds": ("self.minds = Minds(", "self.others = dict(", r"Village"),
    "twice": ("Person.create_agents", "Minds(self, prompts='village.toml'); Person.create_agents",
              r"makes Minds twice"),
    "too early": ("super().__init__(rng", "Minds(self, prompts=''); super().__init__(rng",
                  r"makes Minds too early: call super\(\).__init__\(rng=rng\) first"),
    "a text as an id": ("self.given = 0", "self.given, self.unique_id = 0, 'Ann'",
                        r"A Person has the id 'Ann': keep the numbers that Mesa gives"),
    "no rng": ("rng=None, at_once", "at_once", r"takes no rng"),
}  # fmt: skip


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_is_one_line(folder, misuse) -> None:
    before, after, message = MISUSES[misuse]
    assert before in MODEL
    code = MODEL.replace(before, after)
    if misuse == "no rng":
        code = code.replace("super().__init__(rng=rng)", "super().__init__(rng=1)")
    (folder / "village.py").write_text(code, "utf-8")
    (folder / "village.toml").write_text(PROMPTS, "utf-8")
    given = {"minds": Free()} if misuse == "a missing fact" else {}
    with pytest.raises((UsageError, RunError), match=message) as caught:
        run_all(load("village.py"), {"n_rounds": 1, **given}, seed=1)
    assert "\n" not in str(caught.value)


LOCAL = [
    pytest.param(spec, marks=pytest.mark.slow) for spec in ("local", "gguf", "local=1,classical=4")
]


@pytest.mark.parametrize("minds", ["classical", *LOCAL])
@pytest.mark.usefixtures("folder")
def test_a_command_makes_the_model_once_a_run(folder, capsys, minds) -> None:
    code = MODEL.replace(
        "    def step(self):\n        if", "    made = 0\n\n    def step(self):\n        if", 1
    )
    code = code.replace("super().__init__(rng=rng)", "super().__init__(rng=rng); Village.made += 1")
    (folder / "village.py").write_text(code, "utf-8")
    (folder / "village.toml").write_text(PROMPTS, "utf-8")
    sabm = Sabm(capsys)
    minds = f"gguf:{weights_of('smollm2').path}" if minds == "gguf" else minds
    done = sabm("run", "village.py", "--minds", minds, "--rounds", "2", "--runs", "3")
    assert (done.status, sys.modules["village"].Village.made) == (0, 3)
    assert [run.rounds for run in load_runs("out/recording.sqlite")] == [2, 2, 2]


def test_commands_name_what_a_plain_model_lacks(folder, capsys) -> None:
    (folder / "village.py").write_text(MODEL.replace('{"give": lambda ask: 1}', "{}"), "utf-8")
    (folder / "village.toml").write_text(PROMPTS, "utf-8")
    sabm = Sabm(capsys)
    done = sabm("run", "village.py")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "Village has no rules: give Minds(…, classical={question: rule}), or name" in done.err
    for command in (["view", "--no-browser"], ["describe"]):
        done = sabm(*command, "village.py")
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert "Village is a plain Mesa model" in done.err


def test_forks_and_runs_of_scripts_are_refused_by_commands(village) -> None:
    with pytest.raises(UsageError, match="cannot be forked"):
        run_class(village).check_changeable({"minds": "fixed:1"})
    model = village(rng=1, minds=Priced(), record="s.sqlite")
    model.step()
    model.minds.close()
    with pytest.raises(UsageError, match="played by a script"):
        replay("s.sqlite", scenario=load("village.py"))
