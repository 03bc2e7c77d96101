"""The probe: minds that memorized, solve or answer inconsistently; and nothing is paid twice."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.errors import ParameterError
from sabm_mesa.llm import Connection, close_all
from sabm_mesa.studies import probe as studies
from sabm_mesa.studies.probe import (
    GameScore,
    Probe,
    ProbeQuestion,
    analyse,
    probe,
    report_of,
    score_of,
    situations,
    steps_of,
)
from tests.llm_server import LLMServer

BOOK = PromptBook(Probe.prompt_file)


def verdicts(spec: str, seeds: range) -> Counter[str]:
    """How often a built-in mind is called what, at 30 games each."""
    found: Counter[str] = Counter()
    for seed in seeds:
        model = Probe(minds=spec, rng=seed, recording=False)
        model.run_model()
        answers = [each.answer for each in model.respondents]
        found[analyse(spec, model.situations, answers).verdict] += 1
    return found


def test_solving_reciting_and_drawn_answers_get_their_verdicts() -> None:
    """The shares over 200 seeds are in docs/how-to/robust.md; 8 of 8 here bound them from below."""
    assert verdicts("classical:memorizer", range(8)) == {"memorized": 8}
    assert verdicts("classical", range(8)) == {"solves": 8}
    assert verdicts("classical:random", range(8)) == {"responds inconsistently": 8}


@pytest.mark.slow
def test_much_noise_makes_verdicts_rarer_but_not_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies.Reasoner, "noise", 2 * studies.SD)
    solving, reciting = verdicts("classical", range(20)), verdicts("classical:memorizer", range(20))
    assert solving["solves"] >= 10
    assert solving["memorized"] == 0
    assert reciting["memorized"] >= 15
    assert reciting["solves"] == 0


def test_the_games_are_changed_as_they_say_and_all_facts_are_in_the_prompt() -> None:
    found = situations(40, BOOK, np.random.default_rng(1))
    assert len(found) == 40
    assert Counter(each.kind for each in found)["published"] == 12
    for game in found:
        text = BOOK.render(game.entry, {**asdict(game), "form": ""})
        of_table = [*game.options, *np.ravel(game.payoffs)]
        facts = [game.low, game.high, game.p] if game.game == "guess" else of_table
        assert all(str(fact) in text for fact in facts)
        if game.kind == "payoffs":  # "cooperate" now has what "defect" stands for
            ((both, _), (most, _)), ((least, _), (neither, _)) = game.payoffs
            assert least < both < neither < most


def test_the_scores_by_hand() -> None:
    guess = ProbeQuestion("published")
    changed = ProbeQuestion("p", p="4/3")
    wide = ProbeQuestion("range", high=1000)
    assert steps_of(33) == pytest.approx(math.log(0.66) / math.log(2 / 3))
    assert math.isnan(steps_of(50))
    assert steps_of(0) == math.inf

    # As many steps as 33 shows: 50 · (4/3)^k; reciting is 33 as a number and as a place.
    right = 50 * (4 / 3) ** steps_of(33)
    score = score_of(changed, "60", 33, "")
    assert score is not None
    assert (score.right, score.recited) == pytest.approx((abs(60 - right) / 100, 0.27))
    # Within 27 of 33 are 6 to 60: 53 legal answers are nearer, 6 and 60 tie; of 101.
    assert score.nearer_recited == pytest.approx(54 / 101)
    # 500 · (2/3)^k is 330 here, since k is that of 33 of 100; 34 to 626 are nearer than 33.
    score = score_of(wide, "33", 33, "")
    assert score is not None
    assert (score.right, score.recited) == pytest.approx((0.297, 0))
    assert score.nearer_recited == pytest.approx(0.5 / 1001)
    assert score.differ
    # A dilemma whose names have changed places: the usual name is wrong.
    swapped = ProbeQuestion("payoffs", game="table", options=("a", "b"))
    for option, expected in (("a", (1, 0, 0.75, 0.25)), ("b", (0, 1, 0.25, 0.75))):
        score = score_of(swapped, option, math.nan, "a")
        assert score == GameScore(*expected, differ=True)
    assert score_of(guess, "33", 33, "") is None

    asked = [guess, guess, guess, changed, wide, wide, wide, wide]
    found = analyse("x", asked, ["33", "33", "33", "67", "33", "330", "181", None])
    assert found.tests["right"].estimate == pytest.approx(
        np.mean([abs(67 - right) / 100, 0.297, 0, 0.149]), abs=1e-9
    )
    assert found.tests["recited"].estimate == pytest.approx(np.mean([0.34, 0, 0.297, 0.148]))
    assert (found.games, found.verdict) == (4, "undetermined")
    assert found.why == "right and recited answers differ in only 4 games"
    assert report_of([found]).tables[0].frame["unusable"].tolist() == [1]
    nothing = analyse("x", asked, [None] * 8)
    assert (nothing.verdict, nothing.games) == ("undetermined", 0)


def test_answers_by_chance_have_half_of_the_legal_answers_nearer() -> None:
    """The share that the test against chance rests on, over all legal answers of each game."""
    rng = np.random.default_rng(3)
    for game in situations(30, BOOK, rng):
        if game.game == "guess" and game.kind != "published":
            scores = [score_of(game, str(x), 37, "") for x in range(game.low, game.high + 1)]
            assert np.mean([s.nearer_right for s in scores if s]) == pytest.approx(0.5)
            assert np.mean([s.nearer_recited for s in scores if s]) == pytest.approx(0.5)


def test_guesses_without_a_step_are_undetermined() -> None:
    asked = situations(30, BOOK, np.random.default_rng(2))
    answers = [
        str((game.low + game.high) // 2) if game.game == "guess" else game.options[0]
        for game in asked
    ]
    found = analyse("x", asked, answers)
    assert found.verdict == "undetermined"
    assert found.why == "its published guesses show no step of reasoning"


def test_a_number_that_fits_few_of_the_games_gets_no_verdict() -> None:
    """A mind that always says 7: no answer where 7 is out of the range, or no option."""
    asked = situations(30, BOOK, np.random.default_rng(1))
    fits = [each.game == "guess" and each.low <= 7 for each in asked]
    found = analyse("x", asked, ["7" if each else None for each in fits])
    games = len(asked)
    assert found.verdict == "undetermined"
    assert found.why == f"only {sum(fits)} of {games} games got a usable answer"


def test_a_finding_is_reported_and_numbers_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "recording.sqlite"
    (found,) = probe(["classical:memorizer"], path)
    minds, changes, questions = report_of([found]).tables
    assert minds.frame["verdict"].tolist() == ["memorized"]
    assert set(changes.frame["change"]) == {"p", "range", "payoffs"}
    assert len(questions.frame) == 30
    with pytest.raises(ParameterError, match="games must be"):
        probe(["classical"], path, games=3)


@pytest.mark.slow
def test_a_language_model_is_probed_and_its_answers_are_asked_once(tmp_path: Path) -> None:
    def knows(messages: list[dict[str, str]], *_: object) -> str:
        """A model that has read of both games and repeats what it read."""
        text = messages[-1]["content"]
        if "defect" in text:
            return "defect"
        low = int(next(word for word in text.split() if word.isdigit() and word in
                       {"0", "200", "50", "100"}))  # fmt: skip
        return str(max(33, low))

    path = tmp_path / "recording.sqlite"
    with LLMServer(brain=knows) as server:
        connection = Connection(base_url=server.url)
        (found,) = probe(["llm:a"], path, connection=connection)
        asked = len(server.requests)
        assert probe(["llm:a"], path, connection=connection)[0].rows == found.rows
        assert len(server.requests) == asked >= 30
    close_all()
    assert found.verdict == "memorized"
