"""Fork: the history of a run up to a round, and something else from it on."""

import pytest

from sabm_mesa import Budget, Connection, ScriptedMind
from sabm_mesa.errors import (
    MindError,
    MindSpecError,
    MissingKey,
    ParameterError,
    PromptError,
    RecordingError,
    UnknownName,
    UsageError,
)
from sabm_mesa.recording.statistics import paid_for
from sabm_mesa.runs.rerun import fork, replay, resume
from tests.core.support import Tiny, rows
from tests.llm_server import LLMServer
from tests.runs.reruns import (
    Drawing,
    count,
    first_question,
    no_key,
    play,
    replayed,
    same_data,
)

DATA = [
    f"SELECT * FROM {table} WHERE run = 0"
    for table in ("runs", "asks", "model_data", "agent_data", "message_data")
]


@pytest.fixture(autouse=True)
def without_key(monkeypatch):
    with no_key(monkeypatch):
        yield


def everything(path):
    return [rows(path, query) for query in DATA]


@pytest.mark.parametrize("at", [1, 2, 3])
def test_other_terms_hold_from_the_round_of_the_fork_on(tmp_path, at) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f.sqlite"
    with LLMServer(brain=first_question) as server:
        play("bertrand", path, f"llm:stub@{server.url}", n_rounds=4)
        child = fork(path, at, {"communication": False, "cost": 4, "tolerance": 0.1}, into)
    data, model = child.model_frame(), child.models[0]

    assert data["communication"].tolist() == [True] * at + [False] * (4 - at)
    # Nash (14 + 2 · cost) / 3 and cartel (14 + cost) / 2.
    assert data["bertrand_price"].tolist() == pytest.approx([6] * at + [22 / 3] * (4 - at))
    assert data["cartel_price"].tolist() == pytest.approx([8] * at + [9] * (4 - at))
    assert (model.market_parameters.cost, model.tolerance) == (4, 0.1)
    asked = rows(into, "SELECT DISTINCT round FROM asks WHERE name = 'communicate'")
    assert {round_ for (round_,) in asked} == set(range(1, at))


@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_fork_in_which_nothing_changes(tmp_path, at) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f.sqlite"
    mind = Drawing()
    parent = play("kbc", path, mind, n_rounds=4)
    answered = mind.answered
    new = {"max_attempts": 3, "condition": "baseline"}
    child = fork(path, at, new, into, minds={"drawing": mind})

    same_data(parent, child)
    assert mind.answered - answered == count(path, f"round >= {at}")
    replayed(into, child)


@pytest.mark.parametrize("name", ["kbc", "evacuation"])
def test_a_longer_and_a_shorter_run(tmp_path, name) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f.sqlite"
    mind = Drawing()
    play(name, path, mind)
    longer = fork(path, 3, {"n_rounds": 5}, into, minds={"drawing": mind})
    whole = play(name, False, mind, n_rounds=5)
    shorter = fork(path, 1, {"n_rounds": 2}, tmp_path / "g.sqlite", minds={"drawing": mind})

    columns = [c for c in whole.model_frame() if c not in {"run", "dead"}]
    one, other = (runs.model_frame()[columns] for runs in (longer, whole))
    assert one.equals(other)
    if name == "evacuation":  # in the history their time was up; then they got more of it
        dead = list(longer.model_frame()["dead"])
        assert dead[:2] == [0, 0] == dead[3:4] * 2
        assert dead[2] == 3
    assert len(shorter.model_frame()) == 2
    replayed(into, longer)


def test_minds_take_over_and_those_who_left_need_no_key(tmp_path, monkeypatch) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f.sqlite"
    with LLMServer(brain=first_question) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        play("kbc", path, "llm:stub")
        sent = server.stats["requests"]
    monkeypatch.delenv("OPENAI_BASE_URL")
    child = fork(path, 1, {"minds": "classical"}, into, connection=Connection())

    assert server.stats["requests"] == sent
    assert list(child.agent_frame()["mind"]) == ["llm:stub"] * 3 + ["classical"] * 6
    replayed(into, child)
    mine = ScriptedMind(lambda _: "7", "sevens")
    more = fork(into, 2, {"minds": mine}, tmp_path / "g.sqlite")
    assert list(more.agent_frame()["mind"])[-3:] == ["sevens"] * 3
    replayed(tmp_path / "g.sqlite", more)
    with pytest.raises(MissingKey):
        fork(into, 2, {"minds": "llm:gpt-4o-mini"}, tmp_path / "h.sqlite", connection=Connection())
    assert not (tmp_path / "h.sqlite").exists()


def test_a_scenario_without_rules_has_none_for_a_fork(tmp_path) -> None:
    path, into = tmp_path / "run.sqlite", tmp_path / "fork.sqlite"
    Tiny(minds="fixed:5", n_rounds=2, rng=1, recording=path).run_model()

    with pytest.raises(MindSpecError, match=r"^The scenario tiny has no classical mind"):
        fork(path, 1, {"minds": "classical"}, into, scenario=Tiny)
    assert not into.exists()


def test_a_fork_of_a_fork(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, third = (tmp_path / f"{i}.sqlite" for i in range(3))
    own = tmp_path / "own.toml"
    own.write_text('[personas]\ndreamer = "You dream."\n', "utf-8")
    with LLMServer(brain=first_question) as server:
        play("kbc", first, f"llm:stub@{server.url}", n_rounds=5)
        fork(first, 1, {"prompts": str(own), "personas": "dreamer"}, second)
        own.unlink()  # the second fork leaves the prompts as they are
        child = fork(second, 3, {"temperature": 0.2}, third)
        bodies = [seen.body for seen in server.requests[-9:]]
        replayed(second, replay(second))
        back = fork(third, 1, {"temperature": 0.7}, tmp_path / "back.sqlite")
    assert {body["temperature"] for body in bodies} == {0.2}
    assert all("You dream." in body["messages"][0]["content"] for body in bodies)
    ((forks,),) = rows(third, "SELECT forks FROM runs")
    assert forks.count('"at":') == 2
    assert rows(third, "SELECT parent FROM runs") == rows(second, "SELECT uid FROM runs")
    replayed(third, child)
    same_data(back, replay(second))  # later changes are not carried over


def test_several_runs_into_the_file_of_their_parents(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    for seed in (1, 2):
        play("kbc", path, "classical", seed)
    before = everything(path)
    child = fork(path, 1, {"reward_rule": "exclusive"}, path, [0, 1])

    assert child.numbers == [2, 3]
    assert everything(path) == before
    uids = [uid for (uid,) in rows(path, "SELECT uid FROM runs ORDER BY run")]
    assert [parent for (parent,) in rows(path, "SELECT parent FROM runs WHERE run > 1")] == uids[:2]
    summary = child.summary()["runs"][0]
    assert summary["parent"] == uids[0]
    assert summary["forks"] == [{"at": 1, "set": {"reward_rule": "exclusive"}}]
    same_data(child, replay(path))


def test_what_the_parent_spent_is_not_counted(tmp_path) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f.sqlite"
    with LLMServer(brain=first_question) as server:
        play("kbc", path, f"llm:stub@{server.url}")
        fork(path, 2, {"temperature": 0.1}, into, connection=Connection(budget=Budget(max_asks=6)))
    assert count(into, "NOT copied") == paid_for(into, [0]).asks == 6


def test_a_fork_that_fails_is_resumed(tmp_path) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f.sqlite"
    play("kbc", path, Drawing())
    new = {"condition": "cooperative"}
    whole = fork(path, 1, new, tmp_path / "whole.sqlite", minds={"drawing": (once := Drawing())})
    first, rest = Drawing(4), Drawing()
    with pytest.raises(MindError):
        fork(path, 1, new, into, minds={"drawing": first})
    assert rows(into, "SELECT status FROM runs") == [("failed",)]

    same_data(whole, resume(into, minds={"drawing": rest}))
    assert first.answered + rest.answered == once.answered
    assert rows(into, "SELECT parent FROM runs") == rows(path, "SELECT uid FROM runs")


def test_a_run_that_was_cut_off_can_be_forked(tmp_path) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f.sqlite"
    with pytest.raises(MindError):
        play("bertrand", path, Drawing(14))
    (rounds,) = {n for (n,) in rows(path, "SELECT count(*) FROM model_data")}
    child = fork(path, rounds, {"communication": False}, into, minds={"drawing": Drawing()})
    assert len(child.model_frame()) == 3
    assert count(into, "copied") == count(path, f"round < {rounds}")


# Refusals.


@pytest.mark.parametrize(
    ("name", "at", "new", "error", "line"),
    [
        ("kbc", 1, {}, ParameterError, "needs at least one parameter or mind that changes"),
        ("kbc", 1, {"n_players": 4}, ParameterError, "n_players of kbc cannot change during a run"),
        ("kbc", 1, {"temprature": 1}, UnknownName, "Did you mean 'temperature'"),
        ("kbc", 1, {"temperature": -1}, ParameterError, r"temperature must be .* \(got -1\)"),
        ("kbc", 1, {"reward_rule": "big"}, UnknownName, "Unknown reward rule 'big'"),
        ("kbc", 1, {"condition": "x"}, UnknownName, "Unknown condition 'x'"),
        ("kbc", 1, {"personas": "x"}, UnknownName, "Unknown persona 'x'"),
        ("kbc", 1, {"prompts": "no.toml"}, PromptError, "Cannot read the prompt file no.toml"),
        ("kbc", 1, {"minds": "gpt"}, MindSpecError, "Cannot read the mind spec 'gpt'"),
        ("kbc", 1, {"minds": {"classical": 2}}, MindSpecError, "2 are given for 3 agents"),
        ("kbc", 2, {"n_rounds": 2}, ParameterError, r"needs an n_rounds above 2 \(got 2\)"),
        ("kbc", 3, {"temperature": 1}, ParameterError, r"needs an n_rounds above 3 \(got 3\)"),
        ("kbc", 4, {"n_rounds": 9}, RecordingError, r"has 3 recorded rounds: .* 0 to 3 \(got 4\)"),
        ("kbc", -1, {"n_rounds": 9}, RecordingError, r"\(got -1\)"),
        ("bertrand", 1, {"demand": "logit"}, ParameterError, "demand of bertrand cannot change"),
        ("bertrand", 1, {"cost": 20}, ParameterError, "a must be above the cost"),
        ("evacuation", 1, {"width": 20}, ParameterError, "width of evacuation cannot change"),
        ("evacuation", 1, {"movement": "up"}, UnknownName, "Unknown movement 'up'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line_and_leaves_nothing(
    tmp_path, name, at, new, error, line
) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f" / "f.sqlite"
    play(name, path, "classical")
    with pytest.raises(error, match=line) as raised:
        fork(path, at, new, into)
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, UsageError | RecordingError)
    assert not into.parent.exists()


def test_terms_that_were_changed_since_the_start_count(tmp_path) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f.sqlite"
    play("bertrand", path, "classical", n_rounds=4)
    fork(path, 1, {"a": 5}, tmp_path / "first.sqlite")
    with pytest.raises(ParameterError, match="a must be above the cost"):
        fork(tmp_path / "first.sqlite", 2, {"cost": 6}, into)
    assert not into.exists()


def test_a_run_that_ended_by_its_own_rules_cannot_be_made_longer(tmp_path) -> None:
    for n_rounds in (30, 10):  # nine that were decided, after the round of the given prices
        path, into = tmp_path / f"{n_rounds}.sqlite", tmp_path / "f.sqlite"
        done = play("bertrand", path, "fixed:7", n_rounds=n_rounds, initial_prices=7, stop_after=9)
        rounds = len(done.model_frame())
        assert rounds == 10
        with pytest.raises(RecordingError, match="ended by its own rules after 10 rounds"):
            fork(path, 10, {"n_rounds": 40}, into)
        assert not into.exists()
        longer = fork(path, 8, {"stop_after": None, "n_rounds": 12}, tmp_path / f"l{n_rounds}")
        assert len(longer.model_frame()) == 12


def test_a_mind_that_is_still_to_be_asked_has_to_be_at_hand(tmp_path) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f.sqlite"
    play("kbc", path, Drawing())
    for new in ({"temperature": 0.5}, {"condition": "cooperative"}):
        with pytest.raises(
            RecordingError, match=r"'drawing' .* continue in Python with fork\(…, mind"
        ):
            fork(path, 1, new, into)
    assert not into.exists()
