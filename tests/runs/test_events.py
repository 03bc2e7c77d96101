"""Plain models whose agents act at event times: recorded, killed, resumed, replayed."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import mesa
import pytest

from sabm_mesa import Recorded
from sabm_mesa.models.registry import load
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.run import run_all

IN_MODEL = hasattr(mesa.Model, "schedule_event")
"""Whether the model keeps the events, as since Mesa 3.5; else an `ABMSimulator` does."""
LENGTH = 4
MODEL = """
import mesa

from sabm_mesa import Minds, Number


class Patient(mesa.Agent):
    given = 0

    def act(self):
        gift = self.model.minds.ask(self, "give", Number(0, 9, integer=True), given=self.given)
        self.given += gift.value
        self.model.log.append((self.model.now(), self.unique_id, gift.value))
        self.model.later(self.act, GAP)


class Ward(mesa.Model):
    def __init__(self, minds="classical", rng=None, SIMULATOR**more):
        super().__init__(rng=rng)
        SETUP
        self.log = []
        rules = {"give": lambda ask: ask.key.agent}
        self.minds = Minds(self, minds, prompts="ward.toml", classical=rules, **more)
        self.datacollector = mesa.DataCollector({"total": lambda m: sum(a.given for a in m.agents)})
        for patient in Patient.create_agents(self, 3):
            self.later(patient.act, GAP * patient.unique_id)

    def now(self):
        return NOW

    def later(self, what, after):
        LATER

    def step(self):
        self.datacollector.collect(self)
"""
SINCE_3_5 = {
    "GAP": "0.75", "SIMULATOR": "", "SETUP": "", "NOW": "self.time",
    "LATER": "self.schedule_event(what, after=after)",
}  # fmt: skip
BEFORE = {
    "GAP": "1", "SIMULATOR": "simulator=None, ", "NOW": "self.simulator.time",
    "SETUP": "self.simulator = simulator; simulator.setup(self)",
    "LATER": "self.simulator.schedule_event_relative(what, after)",
}  # fmt: skip
PROMPTS = (
    '[prompts]\nscenario = "A ward."\ngive = "You gave {{ given }}. How many now? {{ form }}"\n'
)
KILLED = """
import os, signal
from tests.runs.test_events import by_time, made


class Mortal:
    spec, paid, calls = "own", True, 0

    async def answer(self, ask):
        Mortal.calls += 1
        if Mortal.calls == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return by_time(ask)


model, run_for = made(minds=Mortal(), record="w.sqlite")
run_for(4)
"""


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def by_time(ask):
    return str((ask.key.round + 2 * ask.key.agent) % 10)


class Own:
    """A mind that counts its calls."""

    spec, paid = "own", True

    def __init__(self):
        self.calls = 0

    async def answer(self, ask):
        self.calls += 1
        return by_time(ask)


def made(**given):
    """A model, and what lets its time pass."""
    ward = load("ward.py").plain_class
    if IN_MODEL:
        model = ward(rng=1, **given)
        return model, model.run_for
    simulator = import_module("mesa.experimental.devs").ABMSimulator()
    return ward(rng=1, simulator=simulator, **given), simulator.run_for


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    code = MODEL
    for name, text in (SINCE_3_5 if IN_MODEL else BEFORE).items():
        code = code.replace(name, text)
    (tmp_path / "ward.py").write_text(code, "utf-8")
    (tmp_path / "ward.toml").write_text(PROMPTS, "utf-8")
    yield tmp_path
    sys.modules.pop("ward", None)


def test_a_round_is_the_time_from_one_whole_number_to_the_next() -> None:
    model, run_for = made(minds=Own(), record="w.sqlite")
    run_for(LENGTH)
    model.minds.close()

    times = [(math.ceil(time) - 1, agent, str(value)) for time, agent, value in model.log]
    assert len(times) > LENGTH
    recorded = Recorded("w.sqlite")
    asks = recorded.asks()
    assert sorted(zip(asks["round"], asks["agent"], asks["value"], strict=True)) == sorted(times)
    totals = model.datacollector.model_vars["total"]
    assert recorded.model_data()["total"].tolist() == totals
    assert len(totals) == LENGTH


def test_commands_play_it_as_a_script_does() -> None:
    model, run_for = made()
    run_for(LENGTH)
    runs = run_all(load("ward.py"), {"n_rounds": LENGTH}, seed=1)
    assert runs.model_frame()["total"].tolist() == model.datacollector.model_vars["total"]
    assert runs.models[0].plain.log == model.log


@pytest.mark.slow
def test_a_killed_run_loses_no_answer_and_goes_on() -> None:
    whole, run_for = made(minds=Own(), record=False)
    run_for(LENGTH)
    killed = subprocess.run([sys.executable, "-c", KILLED], check=False, env=ENVIRONMENT)
    assert killed.returncode == -signal.SIGKILL

    mind = Own()
    model, run_for = made(minds=mind, record="w.sqlite", resume=True)
    run_for(LENGTH)
    model.minds.close()
    assert model.log == whole.log
    assert mind.calls == len(model.log) - 4  # four answers came before the kill
    (run,) = load_runs("w.sqlite")
    assert run.finished

    nobody = Own()
    again, run_for = made(minds=nobody, replay="w.sqlite")
    run_for(LENGTH)
    assert (again.log, nobody.calls) == (model.log, 0)
