"""Experiments whose runs build on an earlier one: it is played first, and paid for once."""

from pathlib import Path

import pytest

from sabm_mesa import Budget, Connection
from sabm_mesa.errors import BudgetExceeded, MissingKey, ParameterError, UsageError
from sabm_mesa.llm import close_all
from sabm_mesa.models.pairs.party import party_memories
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.rerun import fork, replay
from sabm_mesa.studies.experiments import report
from sabm_mesa.studies.experiments.results import results
from sabm_mesa.studies.experiments.running import (
    EARLIER,
    EARLIER_RUNS,
    RECORDING,
    expected_cost,
    plan,
    run,
)
from sabm_mesa.studies.report import as_json
from tests.llm_server import LLMServer
from tests.studies.experiments.support import experiment_of

HELD = """
title = "A small party"
question = "Who talks?"
source = "nobody"
scenario = "cocktail-party"
minds = "llm:a"
cost = "small"
set = { n_agents = 4, n_rounds = 2, max_turns = 2 }

[scales.quick]
runs = 6

[scales.paper]
runs = 6

[[conditions]]
name = "warm"
label = "Warm"

[[conditions]]
name = "long"
label = "Long"
set = { n_rounds = 3 }

[[measures]]
name = "talks"
label = "Talks"
columns = "conversations"
"""
GAMES = """
title = "Games after it"
question = "Who gives?"
source = "nobody"
scenario = "public-goods"
minds = "llm:a"
cost = "small"
set = { n_rounds = 1 }

[scales.quick]
runs = 2

[scales.paper]
runs = 2

[[conditions]]
name = "alone"
label = "No past"

[[conditions]]
name = "familiar"
label = "Met often"
set = { members = "familiar" }
builds_on = "FOLDER/held.toml/warm"

[[conditions]]
name = "strangers"
label = "Hardly met"
set = { members = "strangers" }
builds_on = "FOLDER/held.toml/warm"

[[measures]]
name = "given"
label = "Contribution"
columns = "contribution"
"""
CLAIM = """
[[claims]]
text = "Those who met often give more."
source = "nobody"
measure = "given"
kind = "more"
condition = "familiar"
than = "strangers"
"""
"""Of `GAMES`."""


def games(folder: Path, text: str = GAMES) -> str:
    """The text of an experiment whose party is in a file of its own."""
    (folder / "held.toml").write_text(HELD)
    return text.replace("FOLDER", str(folder))


def test_one_party_is_held_for_all_runs_of_its_conditions(tmp_path: Path) -> None:
    planned = plan(experiment_of("games", games(tmp_path)), seed=5)
    done = run(planned, tmp_path / "out")
    held = Recorded(tmp_path / "out" / EARLIER / RECORDING).runs()
    assert list(held["scenario"]) == ["cocktail-party"]  # not the long one, and once
    assert list(done.runs["scenario"]) == ["public-goods"] * 6
    memories = party_memories(tmp_path / "out" / EARLIER / RECORDING)
    assert (memories.n_agents, memories.n_rounds) == (4, 2)
    told = dict(zip(done.runs["condition"], done.runs["parameters"], strict=True))
    assert memories.reference in told["familiar"]
    assert memories.reference in told["strangers"]
    assert '"party":null' in told["alone"].replace(" ", "")
    assert list(done.all_runs["scenario"]) == ["cocktail-party", *["public-goods"] * 6]
    assert run(planned, tmp_path / "out").ran == 0


def test_a_folder_that_was_moved_goes_on_and_replays(tmp_path: Path) -> None:
    planned = plan(experiment_of("games", games(tmp_path)))
    run(planned, tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "moved")
    again = run(planned, tmp_path / "moved")
    assert again.ran == 0
    recording = tmp_path / "moved" / RECORDING
    assert len(replay(recording).models) == 6
    last = int(again.runs["run"].max())
    into = tmp_path / "moved" / "branch.sqlite"
    (branch,) = fork(recording, 0, {"multiplier": 1.9}, into, last).models
    assert branch.parameters["multiplier"] == 1.9
    (tmp_path / "moved" / EARLIER).rename(tmp_path / "gone")
    with pytest.raises(ParameterError, match="party: There is no recording"):
        replay(recording)


@pytest.mark.slow
def test_language_models_hold_their_party_and_pay_for_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with LLMServer() as server:
        planned = plan(
            experiment_of("games", games(tmp_path)), minds=f"llm:gpt-4o-mini@{server.url}"
        )
        whole = results(run(planned, tmp_path / "whole"))
        asked = server.stats["requests"]
        party = int(Recorded(tmp_path / "whole" / EARLIER / RECORDING).runs()["asks"].sum())
        assert party > 8  # at least four invitations in each of two rounds
        assert asked == party + 3 * 2 * 2  # and two players in each of two games a condition
        assert report.report_of(whole).facts["asks"] == asked
        assert whole.outcome.earlier is not None
        # Stopped in the party, and again in the games: the budget counts both.
        caps = (party - 2, party - 2, party + 5, party + 5)
        for cap in caps:
            with pytest.raises(BudgetExceeded):
                run(planned, tmp_path / "cut", connection=Connection(budget=Budget(max_asks=cap)))
        assert server.stats["requests"] == asked + party + 5
        cut = run(planned, tmp_path / "cut", connection=Connection(budget=Budget(max_asks=asked)))
        assert server.stats["requests"] == 2 * asked
        numbers = [each.model_data["contribution"].tolist() for each in (cut, whole.outcome)]
        assert numbers[0] == numbers[1]
        said = as_json(report.report_of(whole))
    close_all()
    assert (said["runs"], said["earlier_runs"]) == (len(whole.outcome.runs), 1)
    assert any("members = familiar; builds on " in row["parameters"] for row in said["conditions"])


def test_wrong_use_is_found_before_the_party_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text = games(tmp_path)
    wrong = [
        (text.replace('members = "familiar"', 'members = "friends"'), "classical", "'friends'"),
        (text.replace('"contribution"', '"contributions"'), "classical",
         "measure given: there is no column 'contributions' in the data of the model; there are "),
        (text.replace('"strangers" }', '"strangers", n_players = 5 }'), "classical",
         "5 players cannot have been at a party of 4 agents"),
    ]  # fmt: skip
    for changed, minds, message in wrong:
        with pytest.raises(UsageError, match=message):
            run(plan(experiment_of("games", changed), minds=minds), tmp_path / "out")
    keyless = plan(
        experiment_of("games", text), minds=dict.fromkeys(("familiar", "strangers"), "llm:m")
    )
    with pytest.raises(MissingKey):
        run(keyless, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_who_the_guests_are(tmp_path: Path) -> None:
    found = experiment_of("games", games(tmp_path))
    both = ("familiar", "strangers")

    def guests(minds: object) -> object:
        parties = plan(found, minds=dict.fromkeys(both, minds)).earlier
        assert parties is not None
        assert [cell.seed for cell in parties.cells] == [1]
        return parties.minds

    assert guests("llm:a") == {"warm": "llm:a"}
    assert guests("classical:schedule_only") == {"warm": "classical"}  # no mind of a party
    assert guests({"llm:a": 1, "fixed:0": 1}) == {"warm": "llm:a"}
    with pytest.raises(ParameterError, match="in which its language model decides: name one, not"):
        guests({"llm:a": 1, "llm:b": 1})
    with pytest.raises(ParameterError, match="give them the same minds"):
        plan(found, minds={"familiar": "llm:a", "strangers": "llm:b"})
    assert plan(experiment_of("held", HELD)).earlier is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("held.toml/warm", "held.toml/cold", "'cold'"),
        ("FOLDER/held.toml/warm", "kbc-figure-4a/baseline", "build on several experiments"),
        ('"public-goods"', '"kbc"', "runs of kbc build on no other run"),
        ('label = "Hardly met"', 'label = ""\nfork_of = "familiar"\nat = { quick = 1, paper = 1 }',
         "it builds on the same run as familiar: leave builds_on out"),
        ('columns = "contribution"', 'columns = "contribution"\nagent = 1',
         'an agent needs data = "agents"'),
    ],
)  # fmt: skip
def test_parties_that_cannot_be_held(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GAMES
    with pytest.raises(ParameterError, match=message):
        experiment_of("games", games(tmp_path, GAMES.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("party", "message"),
    [
        ("none.toml/warm", "Cannot read the experiment none.toml"),
        (
            "kbc-figure-4a/baseline",
            "kbc-figure-4a runs kbc, but public-goods continues runs of",
        ),
        ("nowhere", "''"),
    ],
)
def test_what_is_no_party(party: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        experiment_of("games", GAMES.replace("FOLDER/held.toml/warm", party))


def test_a_party_of_ones_own_is_given_by_its_path(tmp_path: Path) -> None:
    """As a parameter it is recorded with its digest, and the runs are found again."""
    run(plan(experiment_of("games", games(tmp_path))), tmp_path / "out")
    party = tmp_path / "out" / EARLIER / RECORDING
    own = f'set = {{ members = "strangers", party = "{party}" }}'
    text = GAMES.replace(
        'set = { members = "strangers" }\nbuilds_on = "FOLDER/held.toml/warm"', own
    )
    found = experiment_of("own", text.replace('builds_on = "FOLDER/held.toml/warm"\n', ""))
    assert run(plan(found), tmp_path / "own").ran == 6
    assert run(plan(found), tmp_path / "own").ran == 0


def test_what_parties_and_games_cost_is_told_without_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    planned = plan(experiment_of("games", games(tmp_path)), minds="llm:gpt-4o-mini")
    found = expected_cost(planned, tmp_path / "out")
    assert [line.question for line in found.lines] == [
        "earlier/warm", "alone", "familiar", "strangers",
    ]  # fmt: skip
    # 2 players contribute once, in 2 runs; one party is held for both conditions.
    assert [line.cost.asks.low for line in found.lines[1:]] == [4, 4, 4]
    assert found.runs == 1 + 3 * 2
    assert EARLIER_RUNS in found.notes
    assert not (tmp_path / "out").exists()
    free = plan(experiment_of("games", games(tmp_path)))
    run(free, tmp_path / "out")
    assert expected_cost(free, tmp_path / "out").runs == 0
