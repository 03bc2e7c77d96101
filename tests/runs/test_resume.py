"""Resume: a run that was stopped continues, and nothing that was answered is asked again."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa import Budget, Connection, KeynesianBeautyContest, Recording, ScriptedMind
from sabm_mesa.errors import (
    BudgetExceeded,
    MindError,
    MissingKey,
    RecordingError,
    ReplayMismatch,
    RunError,
)
from sabm_mesa.runs.rerun import replay, resume
from sabm_mesa.runs.run import run_all
from tests.core.support import rows
from tests.llm_server import LLMServer
from tests.runs.reruns import (
    SMALL,
    Drawing,
    change,
    count,
    first_question,
    no_key,
    play,
    process,
    replayed,
    same_data,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def without_key(monkeypatch):
    with no_key(monkeypatch):
        yield


def statuses(path):
    return [status for (status,) in rows(path, "SELECT status FROM runs ORDER BY run")]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("name", "minds", "more"),
    [
        ("kbc", {"drawing": 2, "classical": 1}, {"n_rounds": 2}),
        (
            "evacuation", {"drawing": 2, "classical": 1},
            {"n_rounds": 2, "movement": "simultaneous", "communication": False},
        ),
        ("bertrand", {"drawing": 1, "classical:q_learning": 1}, {"n_rounds": 4}),
        (
            "beauty-contest", {"drawing": 1, "classical:learning_direction": 2},
            {"n_rounds": 2, "elicitation": "full"},
        ),
        ("public-goods", {"drawing": 2, "classical": 1}, {"matching": "chain", "malicious": 1}),
        ("cocktail-party", {"drawing": 2, "classical": 1}, {"n_rounds": 2}),
    ],
)  # fmt: skip
def test_a_run_that_stops_at_any_ask_ends_as_if_it_had_not(tmp_path, name, minds, more) -> None:
    def minds_with(mind):
        return {mind if spec == "drawing" else spec: n for spec, n in minds.items()}

    once = Drawing()
    whole = play(name, tmp_path / "whole.sqlite", minds_with(once), **more)
    for most in range(once.answered):
        path = tmp_path / f"{most}.sqlite"
        first, rest = Drawing(most), Drawing()
        with pytest.raises(MindError, match="no connection"):
            play(name, path, minds_with(first), **more)
        assert statuses(path) == ["failed"]
        again = resume(path, minds={"drawing": rest})

        same_data(whole, again)
        assert first.answered + rest.answered == once.answered == count(path, "mind = 'drawing'")
        assert statuses(path) == ["finished"]
        assert {each.name for each in tmp_path.glob(f"{most}.*")} == {path.name}
    replayed(path, whole, minds={"drawing": None})


class Interrupted(Drawing):
    """Interrupts the process once it has answered 8 times, and answers no more."""

    killing = False

    async def answer(self, ask):
        if self.answered >= 8 and not self.killing:
            self.killing = True
            os.kill(os.getpid(), signal.SIGINT)
        if self.killing:
            await asyncio.Event().wait()
        return await super().answer(ask)


def test_an_interrupt_is_no_loss(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    whole = play("kbc", tmp_path / "whole.sqlite", once := Drawing())
    first, rest = Interrupted(), Drawing()
    with pytest.raises(KeyboardInterrupt):
        play("kbc", path, first)
    assert rows(path, "SELECT status, problem FROM runs") == [("failed", "stopped")]

    same_data(whole, resume(path, minds={"drawing": rest}))
    assert first.answered + rest.answered == once.answered


def test_the_network_is_lost_and_comes_back_elsewhere(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=first_question) as server:
        whole = play("kbc", tmp_path / "whole.sqlite", f"llm:stub@{server.url}")
        total = server.stats["requests"]

    def dies(messages, body):
        if mortal.stats["requests"] == 7:
            mortal.close()
        return first_question(messages, body)

    with LLMServer(brain=dies) as mortal, pytest.raises(RunError):
        play("kbc", path, "llm:stub", connection=Connection(mortal.url, max_retries=0))
    answered = count(path)
    assert 0 < answered < total
    with pytest.raises(RunError):  # it is still gone
        resume(path, connection=Connection(mortal.url, max_retries=0))
    assert count(path) == answered
    with LLMServer(brain=first_question) as other:
        done = resume(path, connection=Connection(other.url))
        assert other.stats["requests"] == total - answered

    columns = ["round", "mean", "variance", "n_winners", "asks", "invalid"]
    assert done.model_frame()[columns].equals(whole.model_frame()[columns])
    ((connection,),) = rows(path, "SELECT connection FROM runs")
    assert other.url in connection


KILLED = """
import os, signal, sys
from sabm_mesa import KeynesianBeautyContest
from tests.runs.reruns import SMALL

class Doomed(KeynesianBeautyContest):
    def after_act(self, player, pick):
        super().after_act(player, pick)
        if self.round == 1 and player.unique_id == 2:
            os.kill(os.getpid(), signal.SIGKILL)

Doomed(**SMALL["kbc"][1], minds={f"llm:stub@{sys.argv[2]}": 2, "classical": 1}, rng=1,
       recording=sys.argv[1]).run_model()
"""


@pytest.mark.slow
def test_a_process_that_is_killed(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=first_question) as server:
        minds = {f"llm:stub@{server.url}": 2, "classical": 1}
        whole = play("kbc", tmp_path / "whole.sqlite", minds)
        total = server.stats["requests"]
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), server.url], cwd=ROOT, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        assert statuses(path) == ["running"]
        assert list(tmp_path.glob("*.lock"))  # nobody could take it away

        same_data(whole, resume(path, scenario=KeynesianBeautyContest))
        assert server.stats["requests"] == 2 * total
    assert statuses(path) == ["finished"]
    assert not list(tmp_path.glob("*.lock"))


def test_a_command_of_several_runs_some_of_them_finished(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    parameters = {**SMALL["kbc"][1]}
    with LLMServer(brain=first_question) as server:
        parameters["minds"] = f"llm:stub@{server.url}"
        whole = run_all(KeynesianBeautyContest, parameters, runs=3, seed=5)
        total = server.stats["requests"]
        play("kbc", path, "classical")
        with Recording(path) as recording:
            for seed in (5, 6):
                KeynesianBeautyContest(**parameters, rng=seed, recording=recording).run_model()
            model = KeynesianBeautyContest(**parameters, rng=7, recording=recording)
            model.step()
            model.close("enough")
        done = resume(path)

        assert server.stats["requests"] == 2 * total
    same_data(whole, done)
    assert done.numbers == [1, 2, 3]
    assert list(done.seeds) == [5, 6, 7]
    same_data(whole, resume(path))  # all are finished: to have their tables


def test_a_larger_budget_counts_what_the_command_has_spent(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=first_question) as server:
        parameters = {**SMALL["kbc"][1], "minds": {f"llm:stub@{server.url}": 2, Drawing(): 1}}
        run_all(KeynesianBeautyContest, parameters, runs=2, seed=5)
        total = server.stats["requests"]

        def within(most):
            return Connection(budget=Budget(max_asks=most))

        with Recording(path) as recording, pytest.raises(BudgetExceeded):
            run_all(
                KeynesianBeautyContest, parameters, runs=2, seed=5,
                recording=recording, connection=within(5),
            )  # fmt: skip
        assert server.stats["requests"] == total + 5
        mine = {"drawing": Drawing()}
        with pytest.raises(BudgetExceeded, match="The budget of 5 asks is used up: 5 spent"):
            resume(path, minds=mine)  # with the cap as it was recorded
        with pytest.raises(BudgetExceeded, match="8 asks is used up: 8 spent"):
            resume(path, minds=mine, connection=within(8))
        assert server.stats["requests"] == total + 8
        with pytest.raises(
            BudgetExceeded, match="asks is used up"
        ):  # of one run, the cap is of all
            resume(path, [0], minds=mine, connection=within(total // 2))
        resume(path, minds=mine, connection=within(total))
        assert server.stats["requests"] == 2 * total
    assert statuses(path) == ["finished", "finished"]


def test_tokens_and_dollars_are_counted_too(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    prices = tmp_path / "prices.toml"
    prices.write_text('[models]\n"stub" = { input = 1000, output = 1000 }\n')
    with LLMServer(brain=first_question, models={"stub": "stub"}, faults={4: "404"}) as server:
        with pytest.raises(RunError):
            play("kbc", path, f"llm:stub@{server.url}", connection=Connection(prices=prices))
        ((tokens, usd),) = rows(
            path, "SELECT sum(prompt_tokens + completion_tokens), sum(cost_usd) FROM asks"
        )
        assert usd == pytest.approx(tokens / 1000)
        for budget, spent in (
            (Budget(max_usd=usd), usd),
            (Budget(max_total_tokens=tokens), tokens),
        ):
            with pytest.raises(BudgetExceeded, match=f"is used up: {spent:.6g} spent"):
                resume(path, connection=Connection(prices=prices, budget=budget))
        assert server.stats["requests"] == 5 + 0


def test_a_second_failure_and_a_second_resume(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    whole = play("bertrand", tmp_path / "whole.sqlite", once := Drawing())
    parts = [Drawing(3), Drawing(4), Drawing(0), Drawing()]
    with pytest.raises(MindError):
        play("bertrand", path, parts[0])
    for part in parts[1:-1]:
        with pytest.raises(MindError):
            resume(path, minds={"drawing": part})
        assert statuses(path) == ["failed"]

    same_data(whole, resume(path, minds={"drawing": parts[-1]}))
    assert sum(part.answered for part in parts) == once.answered


# Runs that may be resumed, and with which minds.

WAITS = """
import sys
from sabm_mesa.runs.rerun import resume
from tests.runs.reruns import Drawing

class Held(Drawing):
    async def answer(self, ask):
        if not self.answered:
            print("asked", flush=True)
            sys.stdin.readline()
        return await super().answer(ask)

resume(sys.argv[1], minds={"drawing": Held()})
"""


@pytest.mark.slow
def test_two_processes_do_not_go_on_with_one_run(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    whole = play("kbc", tmp_path / "whole.sqlite", Drawing())
    with pytest.raises(MindError):
        play("kbc", path, Drawing(4))
    mine = Drawing()
    with process(["-W", "error", "-c", WAITS, path]) as first:
        assert first.stdout.readline() == "asked\n"
        with pytest.raises(RecordingError, match=r"Run 0 of .* is in use: it is still being writt"):
            resume(path, minds={"drawing": mine})
        assert first.communicate("go\n", timeout=300)[1] == ""

    assert mine.answered == 0
    assert first.returncode == 0
    replayed(path, whole)


def test_what_cannot_go_on_is_left_as_it_is(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with pytest.raises(MissingKey):
        play("kbc", path, "llm:gpt-4o-mini")
    assert not path.exists()
    with pytest.raises(MindError):
        play("kbc", path, Drawing(4))
    change(path, "UPDATE runs SET parameters = replace(parameters, 'drawing', 'llm:gpt-4o-mini')")
    before = rows(path, "SELECT * FROM runs")

    with pytest.raises(MissingKey):
        resume(path)
    assert rows(path, "SELECT * FROM runs") == before


def test_a_mind_that_is_not_at_hand_is_asked_for(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with pytest.raises(MindError):
        play("kbc", path, Drawing(4))

    with pytest.raises(
        RecordingError,
        match=r"'drawing' is not available: continue in Python with resume\(…, minds=",
    ):
        resume(path)
    assert count(path) == 4
    resume(path, minds={"drawing": Drawing()})


def test_a_run_that_differs_is_not_gone_on_with(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    with pytest.raises(MindError):
        play("kbc", path, Drawing(7))
    change(path, "UPDATE runs SET parameters = replace(parameters, 'independent', 'exclusive')")
    mine = Drawing()

    with pytest.raises(ReplayMismatch, match=r"line \d+ of the \w+ message was"):
        resume(path, minds={"drawing": mine})
    assert (mine.answered, count(path)) == (0, 7)
    assert statuses(path) == ["failed"]


def test_free_minds_that_failed_decide_again(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    whole = play("kbc", tmp_path / "w.sqlite", ScriptedMind(lambda ask: str(ask.key.round), "s"))
    with pytest.raises(MindError, match="run out"):
        play("kbc", path, ScriptedMind(["0"] * 3 + ["1"] * 2, "s"))

    same_data(whole, resume(path, minds={"s": ScriptedMind(lambda ask: str(ask.key.round), "s")}))
    same_data(whole, replay(path))
