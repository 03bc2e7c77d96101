"""Texts on pages: names of rounds, errors of input at once, recordings read anew."""

from sabm_mesa import BertrandCompetition, Fishery, Recorded
from sabm_mesa.recording.store import open_for_reading
from sabm_mesa.visualization.records.charts import called
from sabm_mesa.visualization.records.reading_view import RoundByRound
from sabm_mesa.visualization.records.rounds import differences
from sabm_mesa.visualization.records.store import listed, run_data, stamp
from tests.visualization.test_hostile import drawn


def test_a_recording_is_no_other_one_while_somebody_reads_it(tmp_path):
    path = tmp_path / "r.sqlite"
    Fishery(n_rounds=1, rng=1, recording=path).run_model()
    before = stamp(path)
    with open_for_reading(path):
        assert stamp(path) == before
    assert stamp(path) == before
    Fishery(n_rounds=1, rng=2, recording=path).run_model()
    assert stamp(path) != before
    assert len(Recorded(path).runs()) == 2


def test_a_run_that_somebody_ended_is_stopped_and_has_not_failed(tmp_path):
    path = tmp_path / "r.sqlite"
    for problem in ("stopped", "The server is down."):
        model = Fishery(n_rounds=2, rng=1, recording=path)
        model.step()
        model.close(problem)

    (found,) = listed(tmp_path)
    assert found.words.endswith("2 runs (1 stopped, 1 failed)")


def test_the_words_in_which_two_requests_differ():
    one = [("system", "Rules."), ("user", "Round 2\nYou said 20.\nChoose.")]
    other = [("system", "Rules."), ("user", "Round 3\nYou said 20.\nNow choose.")]
    same, (role, pieces) = differences(one, other)
    assert same == ("system", [("same", "Rules.")])
    assert role == "user"
    assert [each for each in pieces if each[0] != "same"] == [
        ("gone", "2"), ("new", "3"), ("gone", "Choose"), ("new", "Now choose"),
    ]  # fmt: skip
    for kind, text in (("gone", one[1][1]), ("new", other[1][1])):
        assert "".join(words for how, words in pieces if how in {"same", kind}) == text


def test_a_run_opens_at_the_first_round_that_was_decided_with_titles(tmp_path):
    path = tmp_path / "r.sqlite"
    BertrandCompetition(n_rounds=3, communication=False, rng=1, recording=path).run_model()
    run = run_data(path, 0)

    opened = drawn(RoundByRound(run))
    assert opened[0] == "Round 1"
    facts = opened.index("Price of Ed"), opened.index("price_1")  # the title, and the name of data
    assert facts[0] < facts[1] < opened.index("Technical columns") < opened.index("cost_usd")
    assert {"Profit", "Price kept (no answer)"} <= {*opened}
    assert called(run, 0, "in") == "before the first round"
    assert drawn(RoundByRound(run, {"round": "0"}))[0] == "Before the first round"
