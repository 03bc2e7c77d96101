"""Memories of a recorded party."""

import pytest

from sabm_mesa import CocktailParty, KeynesianBeautyContest, ScriptedMind, fork
from sabm_mesa.errors import ParameterError, UsageError
from sabm_mesa.models.pairs.party import party_memories, read_party
from tests.models.pairs.cocktail_party.support import CHATS, Paid


def test_what_was_said_is_read_from_the_recording(path) -> None:
    memories = party_memories(path)

    assert memories.chats == tuple(CHATS)
    assert (memories.n_agents, memories.n_rounds, memories.run) == (4, 2, 0)
    assert memories.chats_of(1) == (CHATS[0], CHATS[1])
    assert memories.chats_of(4) == (CHATS[2],)
    assert memories.counts() == {(1, 2): 1, (1, 3): 1, (1, 4): 0, (2, 3): 0, (2, 4): 0, (3, 4): 1}
    sent = [(i.round, i.sender, i.receiver, i.accepted) for i in memories.invitations]
    assert sent == [
        (0, 1, 2, True), (0, 2, 1, True), (0, 3, 1, True),
        (1, 1, 4, True), (1, 2, 4, False), (1, 3, 4, True), (1, 4, 2, False),
    ]  # fmt: skip
    assert len(memories.invitations_of(2)) == 4


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mind", ["classical", "classical:random", Paid])
def test_it_is_what_the_guests_remember(tmp_path, seed, mind) -> None:
    path = tmp_path / "r.sqlite"
    minds = mind if isinstance(mind, str) else mind()
    for more in range(2):
        model = CocktailParty(
            n_agents=5, n_rounds=7, max_turns=6, minds=minds, rng=10 * seed + more, recording=path
        )
        model.run_model()
    memories = party_memories(path, 1)

    assert list(memories.chats) == model.chats
    assert list(memories.invitations) == model.invitations
    for guest in model.guests:
        assert memories.chats_of(guest.unique_id) == guest.chats
        assert memories.invitations_of(guest.unique_id) == guest.invitations


def test_a_fork_is_a_party_of_its_own(tmp_path) -> None:
    path, into = tmp_path / "r.sqlite", tmp_path / "f.sqlite"
    CocktailParty(n_agents=6, n_rounds=4, minds=Paid(), rng=3, recording=path).run_model()
    (forked,) = fork(path, 2, {"window": 1}, into, minds={"paid": Paid()}).models
    memories = party_memories(into)

    assert list(memories.chats) == forked.chats
    assert list(memories.invitations) == forked.invitations
    assert {chat.round for chat in memories.chats} >= {1, 2}  # before the fork and after it


def test_a_reference_is_read_again(path) -> None:
    memories = read_party(str(path))

    assert memories == read_party(f"{path}#0") == read_party(memories.reference)


def test_another_party_than_the_digest_says_is_refused(path) -> None:
    with pytest.raises(ParameterError, match="not the one that this run began with"):
        read_party(f"{path}#0@0123456789abcdef")


def test_no_party(tmp_path, path) -> None:
    other = tmp_path / "kbc.sqlite"
    KeynesianBeautyContest(n_players=2, n_rounds=1, rng=1, recording=other).run_model()
    silent = tmp_path / "silent.sqlite"
    nobody = ScriptedMind(lambda _: "nobody")
    CocktailParty(n_agents=2, n_rounds=1, rng=1, minds=nobody, recording=silent).run_model()
    text = tmp_path / "text.txt"
    text.write_text("no recording " * 100)

    for given, problem in (
        (str(tmp_path / "gone.sqlite"), "There is no recording"),
        (str(text), "is not a usable recording"),
        (str(other), "is a run of kbc, where agents send no invitations"),
        (str(silent), "nobody has talked"),
        (f"{path}#5", "There is no run 5"),
        (7, "must be PATH or PATH#RUN"),
        ("", "must be PATH or PATH#RUN"),
    ):
        with pytest.raises(UsageError, match=problem) as caught:
            read_party(given)
        assert "\n" not in str(caught.value)


def test_nobody_can_be_asked_who_was_not_there(path) -> None:
    memories = party_memories(path)

    for ask in (memories.chats_of, memories.invitations_of):
        for nobody in (0, 5):
            with pytest.raises(ParameterError, match="There was no agent"):
                ask(nobody)
