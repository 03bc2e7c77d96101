"""How much of what is sent repeats the beginning of what was sent before."""

import pytest

from sabm_mesa import Phase, Recorded, action, communication
from sabm_mesa.recording.statistics import Repeated, repeated_prefixes
from sabm_mesa.runs.run import run_all
from tests.core.support import Priced, Tiny, tiny


def begins_alike(one: str, other: str) -> int:
    while not one.startswith(other):
        other = other[:-1]
    return len(other)


def talked(path, **settings):
    """A recorded run in which every agent speaks and then picks in each round."""
    model = tiny(communication(order="fixed"), action(), recording=path, rng=1, **settings)
    model.run_model()
    return model


def test_letters_counted_by_hand(tmp_path):
    model = tiny(
        action(), n=1, n_rounds=2, minds=Priced(lambda _: 7), recording=tmp_path / "r.sqlite", rng=1
    )
    model.run_model()

    first, second = (Recorded(tmp_path / "r.sqlite").chat(0, number, "act", 1) for number in (0, 1))
    assert first[0] == second[0] == ("system", "You are number 1.")
    form = first[1][1].removeprefix("You see 1=0. ")
    assert second[1][1] == f"You see 1=7. {form}"
    # A role or a line has one letter more, for its end: 7 and 18, then 5 and 13 before the form.
    letters = 2 * (7 + 18 + 5 + 13 + len(form) + 1)
    repeated = 7 + 18 + 5 + len("You see 1=")
    found = repeated_prefixes(tmp_path / "r.sqlite", [0], ["act"])
    assert found == {0: Repeated(letters, repeated)}
    assert found[0].share == repeated / letters


@pytest.mark.parametrize("n", [1, 3])
def test_it_is_the_beginning_that_two_requests_of_an_agent_share(tmp_path, n):
    path = tmp_path / "r.sqlite"
    edges = [(1, 2), (2, 3)] if n == 3 else []

    def answer(ask):
        return "not a number" if ask.name == "act" and not ask.rejected else 9

    minds = Priced(lambda ask: "hello" if ask.name == "communicate" else answer(ask))
    talked(path, n=n, n_rounds=3, edges=edges, minds=minds)

    asks = Recorded(path).asks()
    asks["step"] = asks["phase"].map({"communicate": 0, "act": 1})
    asks = asks.sort_values(["round", "step", "call", "attempt"])
    letters = repeated = 0
    for agent, rows in asks.groupby("agent"):
        before = ""
        for row in rows.itertuples():
            chat = Recorded(path).chat(0, row.round, row.phase, agent, row.call, row.attempt)
            sent = "".join(f"{role}\n{content}\n" for role, content in chat)
            letters += len(sent)
            repeated += begins_alike(before, sent)
            before = sent
    phases = [phase.name for phase in (communication(), action())]
    assert len(asks) == 9 * n  # the first attempt at a number could not be read
    assert repeated_prefixes(path, [0], phases) == {0: Repeated(letters, repeated)}


def test_where_nothing_is_sent_there_is_no_share(tmp_path):
    runs = run_all(Tiny, {"minds": "fixed:1"}, seed=1)
    assert runs.summary()["repeated_prefix"] is None
    tiny(Phase("act"), minds="fixed:1", recording=tmp_path / "r.sqlite", rng=1).run_model()
    assert repeated_prefixes(tmp_path / "r.sqlite", [0], ["act"]) == {0: Repeated()}
