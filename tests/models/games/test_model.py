"""Finite games: rounds, groups, talk, the end by lot, and choices that cannot be used."""

import math
from pathlib import Path

import pytest

from sabm_mesa import FiniteGame, ScriptedMind, replay
from sabm_mesa.errors import ParameterError
from sabm_mesa.models.games.rules import LIBRARY


def played(answer="A", **given):
    minds = answer if isinstance(answer, str | list) else ScriptedMind(answer)
    model = FiniteGame(minds="fixed:A" if answer == "A" else minds, rng=7, **given)
    model.run_model()
    return model


def test_the_payoffs_of_a_round_are_those_of_the_table() -> None:
    model = played(["fixed:A", "fixed:B"], n_rounds=1)

    assert [player.payoff for player in model.players] == [0.0, 5.0]
    assert (model.payoff, model.efficiency) == (2.5, 0.75)  # from 1 to 3
    assert (model.equilibrium, model.share_cooperate, model.share_defect) == (0.0, 0.5, 0.5)
    assert played("fixed:B", n_rounds=1).equilibrium == 1.0


def test_a_group_without_a_valid_choice_has_no_game() -> None:
    model = FiniteGame(n_players=4, n_rounds=2, rng=1, max_attempts=1,
                       minds=["fixed:A", "fixed:none", "fixed:B", "fixed:B"])  # fmt: skip
    model.run_model()
    data = model.agent_frame()

    assert model.absent == 1
    assert list(data["choice"][:4].fillna("")) == ["cooperate", "", "defect", "defect"]
    assert [math.isnan(each) for each in data["payoff"][:4]] == [True, True, False, False]
    assert model.payoff == 1.0
    first = model.players[0]
    assert first.plays[0].path == ()
    told = model.book.render("past", first.facts())
    assert "somebody made no valid choice, so nobody earned anything" in told


def test_strangers_meet_others_and_keep_their_roles() -> None:
    model = FiniteGame(n_players=12, matching="stranger", n_rounds=8, rng=1)
    met = set()
    while model.running:
        model.step()
        met |= {tuple(player.unique_id for player in group) for group in model.groups}
        assert all([player.role for player in group] == [1, 2] for group in model.groups)
    assert len(met) > 6
    partners = FiniteGame(n_players=12, rng=1)
    partners.run_model()
    assert [p.group for p in partners.players] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]


def test_a_run_by_lot_goes_on_with_the_probability() -> None:
    lengths = [_length(seed) for seed in range(60)]

    assert sum(lengths) / 60 == pytest.approx(4.0, abs=1.0)  # 1 / (1 − 0.75)


def _length(seed: int) -> int:
    model = FiniteGame(continuation=0.75, n_rounds=100, minds="fixed:A", rng=seed)
    model.run_model()
    return model.round + 1


def test_talk_is_heard_in_the_own_group_alone() -> None:
    def answer(ask):
        return f"I am {ask.key.agent}." if ask.name == "communicate" else "A"

    model = FiniteGame(n_players=4, talk=True, n_rounds=1, rng=1, minds=ScriptedMind(answer))
    model.run_model()
    said = {each.sender: each.to for each in model.said}

    assert said == {1: (2,), 2: (1,), 3: (4,), 4: (3,)}
    text = model.book.render("talk_so_far", model.players[0].facts())
    assert "Participant 2: I am 2." in text
    assert "I am 3" not in text


def test_prompts_name_neither_the_game_nor_its_options() -> None:
    seen = []

    def answer(ask):
        seen.append("\n".join(each["content"] for each in ask.messages()).lower())
        return ask.spec.example(ask.rng)

    played(answer, n_rounds=2, talk=True)

    for word in ("prisoner", "dilemma", "cooperat", "defect", "game", "equilibri", "opponent"):
        assert not [text for text in seen if word in text]
    assert "if you choose b, participant 2 chooses a: you earn 5, participant 2 earns 0." in seen[0]
    assert "this is done 2 times" in seen[0]


def test_disguises_are_in_the_prompts() -> None:
    model = FiniteGame(
        labels="colours", currency="crowns", scale=20, option_order="reversed", rng=1
    )
    model.begin_round()
    text = model.book.render("rules", model.players[0].facts())

    assert "Participant 1 chooses one of these: blue, red." in text
    assert "If you choose blue, participant 2 chooses red: you earn 100," in text
    assert "in crowns" in text


def test_a_recording_keeps_the_content_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text((LIBRARY / "stag_hunt.toml").read_text())
    model = FiniteGame(game=str(file), n_rounds=2, rng=1, recording=tmp_path / "r.sqlite")
    model.run_model()
    file.unlink()
    again = replay(tmp_path / "r.sqlite").models[0]

    assert again.rules.title == "Stag hunt"
    assert again.model_frame().equals(model.model_frame())


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"n_players": 3}, "n_players must be a multiple of 2"),
        ({"currency": " "}, "currency must be a name"),
        ({"continuation": 1.0}, "continuation must be"),
    ],
)
def test_a_parameter_that_cannot_be_used(given, problem: str) -> None:
    with pytest.raises(Exception, match=problem):
        FiniteGame(**given)


def test_too_few_labels_are_refused() -> None:
    options = [f"o{i}" for i in range(30)]
    table = [[[0, 0]] * 30] * 30
    with pytest.raises(ParameterError, match="26 of these labels for the 30 options"):
        FiniteGame(game={"title": "Many", "options": options, "payoffs": table})
    FiniteGame(game={"title": "Many", "options": options, "payoffs": table}, labels="names")


def test_an_unreadable_move_ends_the_game_and_it_does_not_count() -> None:
    def answer(ask):
        return "A" if ask.key.agent == 1 and not ask.facts.path else "never"

    model = FiniteGame(game="centipede", minds=[ScriptedMind(lambda _: "B"), ScriptedMind(answer)],
                       n_rounds=1, max_attempts=2, rng=1)  # fmt: skip
    model.run_model()

    assert (model.absent, model.total.asks, model.total.invalid) == (1, 2, 1)
    assert [player.choice for player in model.players] == ["pass", None]
    assert all(math.isnan(player.payoff) for player in model.players)


def test_groups_in_turn_move_at_the_same_time() -> None:
    model = FiniteGame(game="centipede", n_players=8, minds=["fixed:B", "fixed:B"] * 4, n_rounds=1,
                       rng=1)  # fmt: skip
    model.run_model()
    assert model.total.asks == 16

    class Slow(ScriptedMind):
        instant = False

    slow = FiniteGame(game="centipede", n_players=8, n_rounds=1, rng=1, minds=Slow(lambda _: "B"))
    slow.run_model()
    assert slow.critical_path_asks == 4


def test_amounts_of_scaled_money_are_options() -> None:
    seen = []

    def answer(ask):
        seen.append(ask.spec)
        return "190"

    model = FiniteGame(game="eleven_twenty", scale=10, minds=ScriptedMind(answer), rng=1)
    model.run_model()
    assert seen[0].options[:2] == ("110", "120")
    assert model.payoff == 190.0
