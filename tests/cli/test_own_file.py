"""A scenario in a file: every command takes it, and nothing but a command runs it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sabm_mesa.errors import UsageError
from sabm_mesa.models import registry
from tests.cli.support import Sabm, one_line
from tests.core.support import rows

PROMPTS = """
[prompts]
scenario = "You talk to your neighbours about a tax between 0 and 10. {{ persona }}"
act = "Your opinion is {{ own }}. You heard: {{ heard }}. What is it now? {{ form }}"
"""
CODE = '''
"""Opinions on a ring: each says a number to its two neighbours."""
from pathlib import Path

from sabm_mesa import ClassicalMind, Number, SmartAgent, SmartModel, action
from sabm_mesa.models.declarations import ScenarioPage, Score


class Follower(ClassicalMind):
    async def answer(self, ask):
        said = [int(each) for each in ask.facts.heard.split()]
        return round(sum(said, int(ask.facts.own)) / (1 + len(said)))


class Person(SmartAgent):
    opinion = 5
    heard = ()

    async def act(self):
        """Say its opinion."""
        heard = " ".join(map(str, self.heard))
        return await self.ask("act", Number(0, 10, integer=True),
                              own=str(self.opinion), heard=heard)


def neighbours(model, person):
    i, n = model.people.index(person), len(model.people)
    return [model.people[i - 1], model.people[(i + 1) % n]]


class Ring(SmartModel):
    scenario_name = "ring"
    title = "Opinions on a ring"
    source = "none"
    prompt_file = Path(__file__).with_name("PROMPTS")
    phases = (action("shuffled", reach=neighbours),)
    model_columns = {"mean": "mean"}
    agent_columns = {"opinion": "opinion"}
    classical_minds = {"default": Follower}
    score = Score("Opinion", "n_people", "opinion")

    def __init__(self, n_people: int = 6, n_rounds: int = 3, **settings):
        super().__init__(n_rounds=n_rounds, **settings)
        self.people = self.populate(Person, n_people)
        for person in self.people:
            person.opinion = int(self.rng.integers(0, 11))
        self.mean = 0.0

    def after_act(self, person, said):
        if said.valid:
            person.opinion = said.value
        for other in neighbours(self, person):
            other.heard = (*other.heard[-3:], person.opinion)

    def update(self):
        self.mean = sum(person.opinion for person in self.people) / len(self.people)
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is the current one; what is loaded from it is forgotten in the end."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        place = getattr(sys.modules[name], "__file__", None) or ""
        if place.startswith(str(tmp_path)):
            del sys.modules[name]


def written(folder: Path, code: str = CODE, name: str = "own_ring") -> Path:
    """The scenario in a file of this folder."""
    path = folder / f"{name}.py"
    path.write_text(code.replace("PROMPTS", f"{name}.toml"), "utf-8")
    path.with_suffix(".toml").write_text(PROMPTS, "utf-8")
    return path


def test_one_without_name_title_source_and_docstring_is_run_and_described(
    sabm: Sabm, folder: Path
) -> None:
    bare = re.sub(r"\n    (scenario_name|title|source) = .*", "", CODE)
    written(folder, bare.replace('"""Opinions on a ring: each says a number', 'TEXT = """'), "bare")

    ran = sabm("run", "bare.py", "--out", "out")
    assert ran.out.startswith("Ring: 1 run"), ran.err
    assert sabm("cost", "bare.py", "--minds", "llm:a").out.startswith("Ring: 1 run")
    described = sabm("describe", "bare.py", "--no-prompts").out
    assert "\n## References\n\nnone given\n" in described


def test_it_is_checked_run_replayed_resumed_forked_and_described(sabm: Sabm, folder: Path) -> None:
    written(folder)
    record = folder / "out" / "recording.sqlite"

    checked = sabm("check", "own_ring.py", "--set", "n_people=4")
    assert (checked.status, checked.err) == (0, "")
    assert checked.out.startswith("Ring conforms: form, same seed, world, latency, replay, ")
    assert checked.out.splitlines()[1] == "Each round: act (shuffled)"
    assert sabm("run", "own_ring.py", "--seed", 1, "--out", "out").status == 0
    assert registry.given_as("ring") == "own_ring.py"  # in the next commands of other ones
    assert json.loads((folder / "out" / "summary.json").read_text())["scenario"] == "ring"
    assert (folder / "out" / "mean.png").is_file()
    assert "identical" in sabm("replay", record, "--scenario", "own_ring.py").out
    assert sabm("resume", record, "--scenario", "own_ring.py").status == 0
    forked = sabm(
        "fork", record, "--scenario", "own_ring.py:Ring", "--at", 1, "--out", "f",
        "--minds", "fixed:3",
    )  # fmt: skip
    assert forked.status == 0, forked.err
    assert "Opinions on a ring" in sabm("describe", "own_ring.py", "--no-prompts").out
    assert "Opinions on a ring" in sabm("describe", record, "--scenario", "own_ring.py").out
    assert "Opinions on a ring: 1 run" in sabm("cost", "own_ring.py", "--minds", "llm:a").out
    swept = sabm("sweep", "own_ring.py", "--vary", "n_people=4,5", "--runs", 2)
    assert swept.status == 0, swept.err
    assert (folder / "out" / "sweep-ring" / "runs.csv").is_file()
    given = ("--measure", "mean", "--scenario", "own_ring.py")
    compared = sabm("compare", "out/sweep-ring", *given)
    assert compared.status == 0, compared.err
    ranked = sabm("tournament", "own_ring.py", "classical", "fixed:3", "--runs", 1)
    assert ranked.status == 0, ranked.err
    assert (folder / "out" / "tournament-ring").is_dir()


def test_its_prompts_are_found_beside_it(sabm: Sabm, folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    path = written(
        folder / "elsewhere", CODE.replace('Path(__file__).with_name("PROMPTS")', '"PROMPTS"')
    )
    ran = sabm("run", path.relative_to(folder), "--rounds", 1, "--out", "out")
    assert ran.status == 0, ran.err


@pytest.mark.slow
def test_processes_that_sweep_know_it(sabm: Sabm, folder: Path) -> None:
    written(folder)

    assert sabm("sweep", "own_ring.py", "--vary", "n_people=4,5", "--out", "a").status == 0
    there = sabm(
        "sweep", "own_ring.py", "--vary", "n_people=4,5", "--on", "processes", "--out", "b"
    )
    assert there.status == 0, there.err
    for table in ("runs.csv", "model.csv"):
        assert (folder / "a" / table).read_bytes() == (folder / "b" / table).read_bytes()


def forgotten(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Forget the loaded files, as another process has not loaded them."""
    for module in modules:
        sys.modules.pop(module, None)
    monkeypatch.setattr(registry, "_loaded", {})


def test_a_recording_runs_no_file_that_the_user_has_not_run(
    sabm: Sabm, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests have no folder for what is remembered, like a new computer."""
    path = written(folder)
    assert sabm("run", path, "--out", "out").status == 0
    forgotten(monkeypatch, "own_ring")
    path.write_text("raise SystemExit('it was run')\n", "utf-8")

    for command in ("replay", "resume", "describe"):
        outcome = sabm(command, folder / "out" / "recording.sqlite")
        assert outcome.status == 1
        assert one_line(outcome).endswith(
            f"is a run of 'ring' (own_ring:Ring): its file is {path}, which you have not run on "
            "this computer before: to run it, give it with --scenario own_ring.py."
        )


def test_a_replay_says_that_the_file_has_changed(
    sabm: Sabm, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(folder)
    code = path.read_text("utf-8")
    assert sabm("run", "own_ring.py", "--out", "out").status == 0
    record = folder / "out" / "recording.sqlite"
    assert "changed" not in sabm("replay", record, "--scenario", "own_ring.py").out

    forgotten(monkeypatch, "own_ring")
    path.write_text(code + "\n# a comment\n", "utf-8")
    same = sabm("replay", record, "--scenario", "own_ring.py")
    assert same.status == 0
    assert same.out.endswith("own_ring.py has changed since, without an effect on these runs.\n")

    forgotten(monkeypatch, "own_ring")
    path.write_text(code.replace("(1 + len(said))", "(2 + len(said))"), "utf-8")
    other = sabm("replay", record, "--scenario", "own_ring.py")
    assert other.status == 1
    assert one_line(other).endswith("own_ring.py has changed since.")


@pytest.fixture
def remembering(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, in which commands remember the scenario files that were loaded."""
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    return folder


def test_a_recording_finds_the_file_of_its_scenario(
    sabm: Sabm, remembering: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(remembering)
    assert sabm("run", "own_ring.py", "--out", "out").status == 0
    record = remembering / "out" / "recording.sqlite"
    assert rows(record, "SELECT file FROM runs") == [("own_ring.py",)]
    (remembering / "elsewhere").mkdir()

    for command in (("replay", record), ("resume", record), ("describe", record)):
        for place in (remembering, remembering / "elsewhere"):
            forgotten(monkeypatch, "own_ring")
            monkeypatch.chdir(place)
            outcome = sabm(*command)
            assert outcome.status == 0, outcome.err


def test_a_renamed_file_and_a_renamed_class_are_named(
    sabm: Sabm, remembering: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(remembering)
    assert sabm("run", "own_ring.py", "--out", "out").status == 0
    record = remembering / "out" / "recording.sqlite"

    forgotten(monkeypatch, "own_ring")
    path.write_text(path.read_text("utf-8").replace("class Ring(", "class Circle("), "utf-8")
    outcome = sabm("replay", record)
    assert one_line(outcome).endswith(
        f"its file {path} has no class Ring: if it was renamed, give it with --scenario "
        "own_ring.py:CLASS."
    )
    assert sabm("replay", record, "--scenario", "own_ring.py:Circle").status == 0

    forgotten(monkeypatch, "own_ring")
    path.rename(remembering / "circle.py")
    outcome = sabm("replay", record)
    assert one_line(outcome).endswith(
        "its file own_ring.py is not here: if it was renamed or moved, give it with --scenario "
        "FILE.py."
    )
    assert sabm("replay", record, "--scenario", "circle.py").status == 0


def test_an_address_in_a_browser_runs_no_file(folder: Path) -> None:
    written(folder)

    with pytest.raises(UsageError, match=r"Unknown scenario 'own_ring\.py'"):
        registry.scenario("own_ring.py")
    registry.load("own_ring.py")
    assert registry.scenario("ring").title == "Opinions on a ring"
    assert "ring" in registry.names()
    assert registry.find_titles()[0]["ring"] == "Opinions on a ring"


def test_a_file_of_a_package_imports_its_neighbours(folder: Path) -> None:
    package = folder / "rings"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "base.py").write_text(CODE.replace("PROMPTS", "own_ring.toml"), "utf-8")
    (package / "own_ring.toml").write_text(PROMPTS, "utf-8")
    (package / "model.py").write_text(
        "from .base import Ring\n\n\nclass Wide(Ring):\n    scenario_name = 'wide'\n", "utf-8"
    )

    model = registry.load("rings/model.py")
    assert (model.__module__, model.__name__) == ("rings.model", "Wide")


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("absent", None, r"There is no file absent\.py\."),
        ("torn", "def", r"torn\.py cannot be used: SyntaxError: invalid syntax \(torn\.py"),
        ("lost", "import nowhere", r"lost\.py cannot be used: ModuleNotFoundError: No module "),
        ("ended", "raise SystemExit(3)", r"ended\.py cannot be used: SystemExit: 3"),
        ("none", "x = 1", r"none\.py has no scenario: it needs a class derived from "),
        ("none:Ring", "x = 1", r"none\.py has no scenario 'Ring': it needs a class derived from"),
        ("random", CODE, r"random\.py has the name of another module, random: rename the file\."),
        ("my-ring", CODE, r"my-ring\.py: the name of a Python file has letters, digits and _\."),
        ("kbc_again", CODE.replace('"ring"', '"kbc"'), r"the scenario_name 'kbc' of Ring is t"),
        ("unnamed", CODE.replace('"ring"', '"a ring"'), r"scenario_name of Ring must be"),
        ("two", f"{CODE}\n\nclass Other(SmartModel):\n    pass\n", r"two\.py has several sce"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_in_one_line(
    sabm: Sabm, folder: Path, name: str, code: str | None, told: str
) -> None:
    stem, _, cls = name.partition(":")
    if code is not None:
        written(folder, code, stem)

    outcome = sabm("run", f"{stem}.py{':' if cls else ''}{cls}")
    assert outcome.status == 2
    assert re.search(told, one_line(outcome)), outcome.err


ASK = 'return await self.ask("act", Number(0, 10, integer=True),'
MADE = "self.mean = 0.0"
MISTAKES = {
    "no return": (ASK, ASK.removeprefix("return "), r"^Person\.act returned nothing: it must"),
    "no await": (ASK, ASK.replace("await ", ""), r"^Person\.act returned a coroutine: it"),
    "a set": ("heard=heard)", "heard={1})",
              r"^own_ring\.py, line \d+: The fact 'heard' is of type set: give numbers, "),
    "a limit": ("Number(0, 10,", "Number('0', 10,",
                r"^own_ring\.py, line \d+: Number\(low, high\) takes two numbers, low <= high"),
    "a name": ("own=str(self.opinion)", "mine=str(self.opinion)",
               r"line \d+: The prompt entry 'act' uses the placeholder {{ own }}, which is unk"),
    "round": (MADE, f"{MADE}; self.round = 1", r"^Ring\.__init__ sets self\.round, which Smart"),
    "raises": (MADE, f"{MADE}; {{}}['x']",
               r"^Ring cannot be made: KeyError: 'x' \(own_ring\.py, line \d+\)\. Correct its"),
    "late super": ("super().__init__(n", "self.rng.random(); super().__init__(n",
                   r"^Ring\.__init__ uses self\.rng before super\(\)\.__init__\(\*\*settings\), "),
    "no settings": ("n_rounds: int = 3, **settings", "settings={}",
                    r"^Ring takes no rng, which every scenario has: its constructor must take "),
    "no number": ("n_people: int = 6, n_rounds: int = 3", "n_people=6, n_rounds='many'",
                  r"^n_rounds must be a whole number of 1 or more \(got 'many'\)"),
    "conditions": ("    score = ", "    conditions = {}\n    score = ",
                   r"UsageError: Ring\.conditions is read inside prompts only: write prompts = "),
    "total": (MADE, f"{MADE}; self.total = 0", r"^Ring\.__init__ sets self\.total, which Smart"),
    "update": (MADE, f"{MADE}; self.update = 0", r"^Ring\.__init__ sets self\.update, which Sma"),
    "mind": ("person.opinion = int", "person.mind = 'glad'; person.opinion = int",
             r"^Ring\.__init__ sets the mind, turn or attempts of a Person, which SmartAgent "),
    "turn": ("person.opinion = int", "person.turn = 3; person.opinion = int",
                 r"^Ring\.__init__ sets the mind, turn or attempts of a Person, which Smart"),
    "own step": ("    def after_act", "    def step(self):\n        pass\n\n    def after_act",
                 r"^Ring\.step\(\) plays no round: call super\(\)\.step\(\) in it, or leave it"),
    "step that fails": ("    def after_act",
                        "    def step(self):\n        self.agents.do('move')\n\n    def after_act",
                        r"^Ring\.step: AttributeError: 'Person' object has no attribute 'move'"),
    "no super": ("super().__init__(n_rounds=n_rounds, **settings)", "pass",
                 r"^Ring\.__init__ must call super\(\)\.__init__\(\*\*settings\) first\."),
    "no populate": ("self.populate(Person, n_people)", "[Person(self) for _ in range(n_people)]",
                    r"^Ring has no agents: make them with self\.populate\("),
    "a stray agent": (MADE, f"{MADE}; Person(self)",
                      r"^An agent of the class Person has no mind: make it with self\.populate"),
    "no after": ("def after_act", "def after_acting",
                 r"^Ring needs the method after_act\(self, agent, decision\), which applies the "),
    "no part": ("async def act", "async def acts",
                r"^No class of agents of Ring has the method async def act\(self\), which "),
    "no async mind": ("async def answer", "def answer",
                      r"^The mind 'classical' failed at .*: Follower\.answer must be writt"),
    "no classical mind": ('classical_minds = {"default": Follower}', "",
                          r"^The scenario ring has no classical mind \(class attribute `classical"),
    "agent column": ('"opinion": "opinion"', '"opinion": "opnion"',
                     r"^The agent column 'opinion' is the attribute 'opnion', which Person does "),
    "model column": ('"mean": "mean"', '"mean": "avg"',
                     r"^The model column 'mean' is the attribute 'avg', which Ring does not have"),
    "a function": ('"mean": "mean"', '"mean": [lambda n: n, [3]]',
                   r"^The model column 'mean' is given by the name of an attribute, not by \[<fun"),
    "an agent's function": ('"opinion": "opinion"', '"opinion": lambda agent: agent.opinion',
                            r"^The agent column 'opinion' is given by the name of an attribute, n"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_beginners_mistake_ends_in_one_line(sabm: Sabm, folder: Path, mistake: str) -> None:
    before, after, told = MISTAKES[mistake]
    assert before in CODE
    written(folder, CODE.replace(before, after))

    outcome = sabm("run", "own_ring.py", "--out", "out")
    assert re.search(told, one_line(outcome)), outcome.err
    if (folder / "out").exists():
        failed_in_a_round = " in out/recording.sqlite; correct the file, then run it again"
        assert outcome.status == (1 if failed_in_a_round in one_line(outcome) else 2)
    else:
        assert outcome.status == 2


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--set", "n_people=7"), r"Correct its constructor, or .*\. Given: n_people=7\.$"),
        (
            ("--set", "n_people=-1"),
            r"a whole number of 1 or more \(got -1\)\. Given: n_people=-1\.$",
        ),
        (("--set", "n_people=many"), r"^n_people must be a number \(got 'many'\)\.$"),
        (("--minds", "default"), r"'default'\. Did you mean classical:default\?$"),
    ],
)
def test_a_wrong_value_of_an_own_parameter_is_told_in_one_line(
    sabm: Sabm, folder: Path, given: tuple[str, str], told: str
) -> None:
    code = CODE.replace("n_people: int = 6", "n_people=6").replace(
        MADE, f"{MADE}; 1 / (n_people - 7)"
    )
    written(folder, code)

    assert re.search(told, one_line(sabm("run", "own_ring.py", *given)))


def test_an_early_end_and_earlier_runs_of_a_recording_are_reported(
    sabm: Sabm, folder: Path
) -> None:
    written(
        folder, CODE.replace("def update(self):", "def update(self):\n        self.running = 0")
    )

    assert "Ended after 1 of 3 rounds\n" in sabm("run", "own_ring.py").out
    assert "keeps its earlier runs (1); model.csv, agents.csv and" in sabm("run", "own_ring.py").out


def test_the_most_frequent_reason_of_unusable_answers_is_told_with_a_sample(
    sabm: Sabm, folder: Path
) -> None:
    answers = 'return "12" if ask.key.agent == 1 else f"about {ask.key.agent * 3}, or so"'
    start = CODE.index("        return round(sum")
    code = CODE[:start] + f"        {answers}\n" + CODE[CODE.index("\n", start) :]
    written(folder, code.replace("order, 6", "6"))

    outcome = sabm("run", "own_ring.py", "--out", "out", "--seed", 1, "--rounds", 2)
    assert outcome.status == 0
    found = json.loads((folder / "out" / "summary.json").read_text())["frequent_reason"]
    lines = [line for line in outcome.out.splitlines() if "most frequent" in line]
    (line,) = lines
    assert line == (
        f"Warning: the most frequent reason ({found['times']} times): {found['reason']} Agent "
        f"{found['agent']} in round 0 of run 0 answered 'act' with {found['answer']!r}."
    )
    assert (found["times"], found["agent"], found["answer"]) == (10, 2, "about 6, or so")


def test_a_scenario_that_does_not_conform_ends_with_status_1(sabm: Sabm, folder: Path) -> None:
    written(folder, CODE.replace("reach=neighbours", "reach=lambda *_: []"))

    outcome = sabm("check", "own_ring.py")
    assert (outcome.status, outcome.err) == (1, "")
    first, *lines = outcome.out.splitlines()
    assert first == "Ring does not conform:"
    assert any("the reach of a phase must hold all whom" in line for line in lines)
    found = json.loads(sabm("check", "own_ring.py", "--json").out)
    assert found["scenario"] == "ring"
    assert "latency" in found["problems"][0]["points"]


BROKEN = CODE.replace(
    "class Ring(",
    """class Broken:
    name = "map"

    def scene(self, model):
        return {}["nothing"]


def charts(*data):
    return 1 / 0


class Ring(""",
).replace(
    '    title = "Opinions',
    '    page = ScenarioPage(charts=charts)\n    pictures = (Broken(),)\n    title = "Opinions',
)


def test_pictures_that_raise_do_not_end_a_run(folder: Path, sabm: Sabm) -> None:
    path = written(folder, BROKEN)
    line, then = (
        next(i for i, text in enumerate(BROKEN.splitlines(), 1) if cause in text)
        for cause in ("nothing", "1 / 0")
    )
    result = sabm("run", str(path), "--out", "out")
    assert result.status == 0
    assert {each.name for each in (folder / "out").iterdir()} == {
        "recording.sqlite", "model.csv", "agents.csv", "summary.json",
    }  # fmt: skip
    told = [each for each in result.err.splitlines() if "cannot be drawn" in each]
    assert told[0] == (
        f"ring: the picture map cannot be drawn: KeyError: 'nothing' (own_ring.py, line {line})"
    )
    assert told[1] == (
        "ring: the plots cannot be drawn: ZeroDivisionError: division by zero "
        f"(own_ring.py, line {then})"
    )
    assert len(told) == 2


def test_recordings_of_a_file_are_exported_and_bundled_and_judged(folder: Path, sabm: Sabm) -> None:
    path = written(folder)
    assert sabm("run", str(path), "--out", "out").status == 0
    record = "out/recording.sqlite"
    registry._loaded.clear()  # noqa: SLF001 - as in a new process
    for command in ("export", "bundle"):
        done = sabm(command, record, "--scenario", "own_ring.py")
        assert done.status == 0, done.err
        assert registry._loaded.pop("ring")[1] == "own_ring.py"  # noqa: SLF001
    judged = sabm("judge", record, "--scenario", "own_ring.py")
    assert "have no messages" in judged.err
    assert "ring" in registry._loaded  # noqa: SLF001
    for command in ("compare", "judge", "export", "bundle"):
        against = ["--people", "nagel-1995"] if command == "compare" else []
        wrong = sabm(command, record, *against, "--scenario", "none.py")
        assert "There is no file none.py" in wrong.err


EXPERIMENT = """
title = "Ring"
question = "Do opinions meet?"
source = "our class"
scenario = "FILE"
cost = "small"
minds = "classical"

[scales.quick]
runs = 8

[scales.paper]
runs = 9

[[conditions]]
name = "three"
label = "Three rounds"
set = { n_rounds = 3 }

[[measures]]
name = "mean"
label = "Mean opinion"
columns = "mean"
rounds = [-1, -1]

[[claims]]
text = "The mean is above 1."
source = "our guess"
measure = "mean"
kind = "above"
condition = "three"
value = 1
"""


def test_an_experiment_names_a_file_beside_it(
    sabm: Sabm, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "study").mkdir()
    written(folder / "study")
    experiment = folder / "study" / "opinions.toml"
    experiment.write_text(EXPERIMENT.replace("FILE", "own_ring.py"), "utf-8")

    assert "Verdicts on 1 claim: 1 agrees." in sabm("reproduce", experiment, "--out", "out").out
    assert sabm("register", experiment, "--out", "registered").status == 0

    monkeypatch.setattr(registry, "_loaded", {})  # as in a new process
    again = sabm("reproduce", experiment, "--out", "out")
    assert "8 runs, 8 of them from before." in again.out


def test_an_experiment_with_a_missing_file_is_refused_in_one_line(sabm: Sabm, folder: Path) -> None:
    experiment = folder / "opinions.toml"
    experiment.write_text(EXPERIMENT.replace("FILE", "nowhere.py"), "utf-8")

    said = sabm("reproduce", experiment, "--out", "out")
    assert (said.status, said.out) == (2, "")
    assert one_line(said) == f"There is no file {folder / 'nowhere.py'}."
