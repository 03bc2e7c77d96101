"""The probe: a mind that recites is told from one that reasons, and nothing is paid twice."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.errors import ParameterError
from sabm_mesa.llm import Connection, close_all
from sabm_mesa.studies import probe as studies
from sabm_mesa.studies.probe import (
    Probe,
    ProbeQuestion,
    analyse,
    in_words,
    probe,
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
        answers = [each.answer for each in model.subjects]
        found[analyse(spec, model.situations, answers).verdict] += 1
    return found


def test_a_reciter_and_a_reasoner_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The power over 200 seeds is in docs/how-to/probe.md; 10 of 10 here bound it from below."""
    monkeypatch.setattr(studies, "RESAMPLES", 300)
    assert verdicts("classical:reciter", range(10)) == {"reciter": 10}
    assert verdicts("classical", range(10)) == {"reasoner": 10}
    assert verdicts("classical:random", range(10))["cannot tell"] >= 9


@pytest.mark.slow
def test_minds_with_twice_the_noise_are_told_in_most_cases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(studies, "RESAMPLES", 300)
    monkeypatch.setattr(studies.Reasoner, "noise", 2 * studies.SD)
    assert verdicts("classical", range(20))["reasoner"] >= 17
    assert verdicts("classical:reciter", range(20))["reciter"] >= 17


def test_the_games_are_changed_as_they_say_and_the_same_facts_stand_in_each_language() -> None:
    found = situations(40, BOOK, np.random.default_rng(1))
    played = [each for each in found if each.question == "play"]
    assert (len(played), len(found)) == (40, 40 + 15)
    assert Counter(each.kind for each in played)["published"] == 12
    assert {each.language for each in played} == {"en", "de", "fr", "es", "zh"}
    for each in played:
        rules = str(each.placeholders(BOOK)["rules"])
        facts = ([each.low, each.high, each.p, each.n_others, each.prize, each.currency]
                 if each.game == "guess" else [*each.options, *np.ravel(each.payoffs)])  # fmt: skip
        assert all(str(fact) in rules for fact in facts)
        assert each.kind == "payoffs" or not each.swapped
    swapped = next(each for each in played if each.swapped)
    # "cooperate" now has what "defect" stands for: the dominant payoffs.
    assert swapped.solution == "cooperate"


def test_the_index_by_hand() -> None:
    guess = ProbeQuestion("published")
    changed = ProbeQuestion("p", p="4/3")  # one step: 66.7; a reciter of 33 says 33
    wide = ProbeQuestion("range", high=1000)  # 333 or 33
    asked = [guess, guess, guess, changed, wide, wide, wide, wide]
    answers = ["33", "33", "33", "67", "33", "333", "183", None]
    found = analyse("x", asked, answers)

    steps = steps_of(33)
    assert steps == pytest.approx(math.log(0.66) / math.log(2 / 3))
    top, far = 50 * (4 / 3) ** steps, 500 * (2 / 3) ** steps
    places = [(67 - 33) / (top - 33), 0, (333 - 33) / (far - 33), (183 - 33) / (far - 33)]
    # Weighted by the distance of reciter and reasoner, as parts of the range.
    apart = [(top - 33) / 100, *[(far - 33) / 1000] * 3]
    assert found.index == pytest.approx(np.average(places, weights=apart))
    assert (found.informative, found.verdict) == (4, "cannot tell")
    assert found.why.startswith("only 4 games say something")
    assert "  No usable answer to 1 of 8 questions" in in_words(found)
    assert math.isnan(steps_of(50))
    assert steps_of(0) == math.inf
    nothing = analyse("x", asked, [None] * 8)
    assert (nothing.verdict, nothing.informative) == ("cannot tell", 0)


def test_a_number_that_fits_few_of_the_games_gets_no_verdict() -> None:
    """A mind that always says 7: no answer where 7 is out of the range, or no option."""
    asked = situations(30, BOOK, np.random.default_rng(1))
    fits = [each.question == "play" and each.game == "guess" and each.low <= 7 for each in asked]
    found = analyse("x", asked, ["7" if each else None for each in fits])
    games = sum(each.question == "play" for each in asked)
    assert found.verdict == "cannot tell"
    assert found.why == f"only {sum(fits)} of {games} games got a usable answer"


def test_a_word_that_holds_the_name_of_an_author_is_no_author() -> None:
    guess = ProbeQuestion("published")
    asked = [replace(guess, question="paper")]
    for answer, knows in (("Jericho", False), ("Ho et al.", True), ("R. Nagel", True)):
        found = analyse("x", asked, [answer])
        assert found.recognized == {"paper of guess, published": knows}


def test_minds_that_read_no_texts_are_said_to_and_numbers_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "recording.sqlite"
    (found,) = probe(["classical:reciter"], path)
    assert "  This mind reads no texts: what it recognizes is built in, and no knowledge." in (
        in_words(found)
    )
    assert found.recognized["name of guess, published"]
    assert found.false_names == ["prisoner's dilemma"]
    files = studies.write([found], tmp_path)
    assert [each.name for each in files] == ["probe.csv", "probe.json", "probe.png", "probe.md"]
    with pytest.raises(ParameterError, match="games has to be"):
        probe(["classical"], path, games=3)


@pytest.mark.slow
def test_a_language_model_is_probed_and_its_answers_are_asked_once(tmp_path: Path) -> None:
    def knows(messages: list[dict[str, str]], *_: object) -> str:
        """A model that has read of both games and repeats what it read."""
        text = messages[-1]["content"]
        if "Under which name" in text:
            return "Keynesian beauty contest" if "average" in text else "Prisoner's dilemma"
        if "Name an author" in text:
            return "Nagel"
        for option in ("defect", "torim"):
            if option in text:
                return option
        low = int(next(word for word in text.split() if word.isdigit() and word in
                       {"0", "200", "50", "100"}))  # fmt: skip
        return str(max(33, low))

    path = tmp_path / "recording.sqlite"
    with LLMServer(brain=knows) as server:
        connection = Connection(base_url=server.url)
        (found,) = probe(["llm:a"], path, connection=connection)
        asked = len(server.requests)
        assert probe(["llm:a"], path, connection=connection)[0].summary() == found.summary()
        assert len(server.requests) == asked >= 45
    close_all()
    assert (found.verdict, found.reads) == ("reciter", True)
    assert found.recognized["name of guess, currency"]
    assert found.recognized["paper of guess, published"]
