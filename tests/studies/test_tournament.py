"""Tournaments: who meets whom, who wins by how much, and that no mind can spoil one."""

from pathlib import Path

import pandas as pd
import pytest

from sabm_mesa import CocktailParty, KeynesianBeautyContest, Recorded, replay
from sabm_mesa.errors import MindSpecError, ParameterError
from sabm_mesa.models.declarations import Score
from sabm_mesa.recording.export import readable_json
from sabm_mesa.studies.report import as_json
from sabm_mesa.studies.tournament import Entrant, entrants, play, ranking_of, score_of, seatings
from tests.core.support import Tiny
from tests.studies.duel import Duel, Pool

GIVES = "def answer(ask):\n    return {}\n"


def writer(folder):
    def written(body: str, name: str) -> str:
        path = folder / f"{name}.py"
        path.write_text(body)
        return str(path)

    return written


@pytest.fixture
def mind(tmp_path):
    """A function that writes a mind and returns its file."""
    return writer(tmp_path)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """A tournament in pairs, whose file is gone now."""
    folder = tmp_path_factory.mktemp("pairs")
    gives = writer(folder)(GIVES.format(40), "gives")
    played = play(
        Duel, [gives, "fixed:0", "fixed:10"], folder=folder / "out", runs=2, seed=5,
        parameters={"n_rounds": 3},
    )  # fmt: skip
    Path(gives).unlink()
    return played


def ranking(played):
    return played.ranking[["rank", "entrant", "score"]].to_numpy().tolist()


# Winners.


def test_in_pairs_everybody_meets_everybody_on_both_seats(pairs) -> None:
    played = pairs

    # Against b, a receives 3 b and gives 3 a / 2; a mind's mean is over the two others.
    assert played.matrix.to_dict("index") == {
        "fixed:0": {"fixed:0": 0.0, "fixed:10": 30.0, "gives": 120.0},
        "fixed:10": {"fixed:0": -15.0, "fixed:10": 15.0, "gives": 105.0},
        "gives": {"fixed:0": -60.0, "fixed:10": -30.0, "gives": 60.0},
    }
    assert ranking(played) == [[1, "fixed:0", 75.0], [2, "fixed:10", 45.0], [3, "gives", -45.0]]
    assert played.ranking["games"].tolist() == [8, 8, 8]  # two others, two seats, two seeds
    assert played.ranking["decisions"].tolist() == [36, 36, 36]  # with those against itself
    assert played.ranking[["low", "high"]].isna().all(axis=None)  # two seeds give no interval
    assert sorted(played.sweep.runs["seed"].unique()) == [5, 6]
    assert len(played.games) == 36


def test_a_round_that_nobody_decided_is_in_no_score(tmp_path) -> None:
    played = play(
        "bertrand", ["fixed:8", "fixed:7"], folder=tmp_path / "out", runs=1,
        parameters={"n_rounds": 3, "communication": False},
    )  # fmt: skip

    # With equal prices p, each sells (14 - p) / (1/150 + 1/300): 3600 at 8, where profit is 6 each.
    assert played.matrix.loc["fixed:8", "fixed:8"] == pytest.approx(3600)


def test_in_one_population_all_have_as_many_seats_and_sit_everywhere(tmp_path) -> None:
    played = play(
        Pool, ["fixed:0", "fixed:10", "fixed:30"], folder=tmp_path / "out", runs=1,
        parameters={"n": 6, "n_rounds": 2},
    )  # fmt: skip

    # Two seats each: all give 80 a round; one receives 80 less its own, and loses half of that.
    assert ranking(played) == [[1, "fixed:0", 160], [2, "fixed:10", 130], [3, "fixed:30", 70]]
    assert played.ranking["low"].isna().all()  # one seed tells of no spread
    assert played.matrix.loc["fixed:0"].to_dict() == {
        "fixed:0": 0.0, "fixed:10": 30.0, "fixed:30": 90.0,
    }  # fmt: skip
    seats = played.games.groupby("agent")["entrant"].apply(set)
    assert seats.map(len).tolist() == [3] * 6
    assert played.games["opponent"].isna().all()


def test_ties_share_a_rank_and_lower_may_be_better() -> None:
    games = pd.DataFrame(
        {"run": 0, "seed": 1, "entrant": ["a", "b", "c"], "opponent": None,
         "score": [2.0, 0.1 + 0.2, 0.3], "decisions": 1, "invalid": 0}
    )  # fmt: skip
    none = pd.DataFrame({"entrant": [], "reason": []})

    def ranks(lower):
        score = Score("Payoff", "n", lower_is_better=lower)
        found = ranking_of(games, none, score, [Entrant(name, name) for name in "abc"])
        return found[["rank", "entrant"]].to_numpy().tolist()

    assert ranks(True) == [[1, "b"], [1, "c"], [3, "a"]]
    assert ranks(False) == [[1, "a"], [2, "b"], [2, "c"]]


def test_what_agents_are_scored_by() -> None:
    data = pd.DataFrame(
        {
            "run": [0, 0, 0, 0, 1, 1],
            "round": [0, 0, 1, 1, 0, 0],
            "agent": [1, 2, 1, 2, 1, 2],
            "mind": ["a", "b", "a", "b", "b", "a"],
            "payoff": [1.0, 2.0, None, 4.0, 7.0, 8.0],
            "status": ["in", "out", "out", "out", "in", "in"],
        }
    )

    def scores(score):
        found = score.of_agents(data)
        assert found["mind"].tolist() == ["a", "b", "b", "a"]
        return found["score"].tolist()

    assert scores(Score("", "n")) == [1.0, 6.0, 7.0, 8.0]
    assert scores(Score("", "n", over="round")) == [0.5, 3.0, 7.0, 8.0]
    assert scores(Score("", "n", "status", until="out")) == [2.0, 1.0, 2.0, 2.0]


# Nobody can spoil it.


@pytest.mark.slow
def test_minds_that_fail_lose_decisions_and_not_the_tournament(mind, tmp_path) -> None:
    files = [
        mind("def answer(ask):\n    raise RuntimeError('help')\n", "raises"),
        mind("import os\ndef answer(ask):\n    os._exit(9)\n", "exits"),
        mind("def answer(ask):\n    return 'left'\n", "nonsense"),
        mind(GIVES.format(5), "sound"),
    ]
    played = play(Pool, files, folder=tmp_path / "out", runs=1, parameters={"n_rounds": 4})

    table = played.ranking.set_index("entrant")
    assert table["decisions"].tolist() == [16] * 4
    assert table["invalid"].to_dict() == {"raises": 16, "exits": 16, "nonsense": 16, "sound": 0}
    assert table.loc["sound", "rank"] == 4  # who gives alone has least
    reasons = played.reasons.groupby("entrant")["reason"].apply(list).to_dict()
    assert reasons == {
        "raises": ["No answer came: line 2: RuntimeError: help."],
        "exits": [
            "No answer came: it ended its process (exit status 9).",
            "No answer came: not asked any more, since it has lost its process 3 times.",
        ],
        "nonsense": ['"left" is not a number.'],
    }


@pytest.mark.slow
def test_the_same_seed_gives_the_same_results(mind, tmp_path) -> None:
    drawn = GIVES.format("int(ask.rng.integers(50)) + random.randrange(9)")
    minds = [mind(f"import random\n{drawn}", "drawn"), "fixed:3"]

    def once(folder):
        played = play(Duel, minds, folder=tmp_path / folder, runs=1)
        return played.sweep.ran, readable_json(as_json(played.report()))

    ran, first = once("a")
    assert ran == 4
    assert once("a") == (0, first)
    assert once("b") == (4, first)
    mind(GIVES.format(1), "drawn")
    ran, other = once("a")
    assert ran == 3  # all but the games in which the file had no part
    assert other != first


def test_all_runs_are_in_one_recording_that_can_be_replayed(pairs) -> None:
    recorded = Recorded(pairs.sweep.path)
    assert recorded.runs()["status"].tolist() == ["finished"] * 18
    assert len(replay(pairs.sweep.path, range(18), scenario=Duel).models) == 18
    summary = as_json(pairs.report())
    assert summary["ranking"][0]["entrant"] == "fixed:0"
    assert len(summary["entrants"][0]["version"]) == 64


# Entrants.


def test_entrants_are_files_or_specs(mind) -> None:
    one, other = mind("def a(ask): 1\ndef b(ask): 2\n", "two"), mind(GIVES.format(1), "classic")
    found = entrants([f"{one}:a", f"py:{one}:b", other, "fixed:1", "classical:q"])

    assert [each.name for each in found] == ["two:a", "two:b", "classic", "fixed:1", "classical:q"]
    assert [each.spec for each in found[:3]] == [f"py:{one}:a", f"py:{one}:b", f"py:{other}"]


def test_files_of_the_same_name_are_told_apart(mind, tmp_path) -> None:
    (tmp_path / "ann").mkdir()
    one, other = mind(GIVES.format(1), "mind"), mind(GIVES.format(2), "ann/mind")

    assert [each.name for each in entrants([one, other])] == [one, other]


def test_all_files_that_cannot_be_used_are_named_at_once(mind) -> None:
    bad, empty = mind("def answer(ask)\n", "bad"), mind("", "empty")
    with pytest.raises(MindSpecError) as refused:
        entrants([bad, "classical", empty, "gone.py"])

    assert str(refused.value).startswith(f"{bad} cannot be used as a mind: line 1: SyntaxError")
    assert f"{empty} cannot be used as a mind: it has neither a class" in str(refused.value)
    assert str(refused.value).endswith("Cannot read the mind gone.py: No such file or directory.")


def test_who_cannot_be_seated() -> None:
    two = entrants(["fixed:1", "fixed:2"])

    assert seatings(Duel, score_of(Duel), two, {})[0] == 2
    with pytest.raises(ParameterError, match="duel is played in pairs: n is 2 there, not 4"):
        seatings(Duel, score_of(Duel), two, {"n": 4})
    assert seatings(Pool, score_of(Pool), two, {})[0] == 4  # three is no multiple of two
    assert seatings(KeynesianBeautyContest, score_of(KeynesianBeautyContest), two, {})[0] == 24
    with pytest.raises(ParameterError, match="5 agents cannot be shared out equally among 2 minds"):
        seatings(Pool, score_of(Pool), two, {"n": 5})
    with pytest.raises(ParameterError, match="n must be"):
        seatings(Pool, score_of(Pool), two, {"n": 1})
    with pytest.raises(MindSpecError, match="A tournament needs two minds or more: "):
        entrants(["fixed:1"])
    with pytest.raises(MindSpecError, match="fixed:1 is entered twice"):
        entrants(["fixed:1", "fixed:2", "fixed:1"])
    for scenario in (CocktailParty, Tiny):
        with pytest.raises(ParameterError, match="declares no score"):
            score_of(scenario)
