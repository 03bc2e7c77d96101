"""The files of games: what they may say, and the place that an error names."""

from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import FiniteGame
from sabm_mesa.errors import ParameterError, UnknownName
from sabm_mesa.models.games.rules import library, load_game

TABLE: dict[str, Any] = {
    "title": "A game", "options": ["x", "y"], "payoffs": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
}  # fmt: skip
RULE = {"rule": "Each names an amount from {low} to {high} and earns it.", "title": "Amounts"}


@pytest.mark.parametrize("name", library())
def test_every_game_of_the_library_can_be_played(name: str) -> None:
    rules = load_game(name)
    model = FiniteGame(game=name, n_rounds=2, rng=1)
    model.run_model()

    assert rules.source
    assert model.absent == 0
    assert model.total.invalid == 0
    assert all(each.source for each in rules.people)


def test_a_table_is_the_game_that_it_says() -> None:
    form = load_game(TABLE).form

    assert form.table().tolist() == TABLE["payoffs"]
    assert form.payoffs((1.0, 0.0)) == (5.0, 6.0)
    assert form.scaled(2.5).payoffs((0.0, 1.0)) == (7.5, 10.0)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"title": 3}, "title should be a valid string"),
        ({"payof": 3}, "payof is not known"),
        ({"payoffs": [[[1, 2], [3, 4]], [[5, 6], [7]]]}, r"payoffs\[1\]\[1\] must be 2 numbers"),
        ({"payoffs": [[[1, 2], [3, 4]], [[5, 6]]]}, r"payoffs\[1\] must be a list of 2"),
        ({"payoffs": [[[1, 2], [3, "4"]], [[5, 6], [7, 8]]]}, r"payoffs\[0\]\[1\]"),
        ({"options": ["x", "X y"]}, r"options\[1\] 'X y' is no name"),
        ({"options": ["x", "x"]}, "options must name"),
        ({"options": [["x"], ["y"], ["z"]]}, "options are those of 3 players, and there are 2"),
        ({"moves": [{"player": 1, "options": ["x"]}]}, "options and moves are the two kinds"),
        ({"people": [{"option": "z", "value": 1}]}, r"people\[0\].option 'z' is no option"),
        ({"payoffs": "own"}, "rule is missing"),
        ({"payoffs": "own + thing", "rule": "r"}, r"payoffs\[0\]: the formula .* uses 'thing'"),
        ({"payoffs": "own.__class__", "rule": "r"}, "payoffs: .* is not arithmetic"),
        ({"payoffs": "1 / own", "rule": "r"}, "payoffs: the formula '1 / own' gives no number"),
        ({"payoffs": "own", "rule": "{wrong}"}, r"rule: \{wrong\} is not known"),
        ({"payoffs": "own", "rule": "{low.x}"}, "rule: A placeholder must be a name"),
        ({"payoffs": "own", "options": {"from": 0, "to": 4000}, **RULE}, "options must hold"),
        ({"money": {"own": 3}}, "money.own 'own' is no name"),
        (
            {"payoffs": "x + own", "options": ["x", "y"], "numbers": {"x": 50}, **RULE},
            "options names the option 'x', which is a number or a move too",
        ),
    ],
)  # fmt: skip
def test_a_bad_table_gives_one_line_with_the_place(change: dict[str, Any], place: str) -> None:
    with pytest.raises(ParameterError, match=f"the game: {place}") as caught:
        load_game(TABLE | change)

    assert "\n" not in str(caught.value)


def test_a_file_is_named_in_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('title = "T"\noptions = [x]\n')
    with pytest.raises(ParameterError, match=r"mine.toml is not valid TOML: .*line \d"):
        load_game(str(path))
    path.write_text("players = " + "9" * 5000)
    with pytest.raises(ParameterError, match=r"mine.toml is not valid TOML: Exceeds the limit"):
        load_game(str(path))
    path.write_text(f"payoffs = {'[' * 3000}{']' * 3000}")
    with pytest.raises(ParameterError, match=r"mine.toml has too many brackets in brackets"):
        load_game(str(path))
    path.write_text('title = "T"\noptions = ["x", "y"]\n')
    with pytest.raises(ParameterError, match=r"mine.toml: payoffs is missing"):
        load_game(str(path))
    with pytest.raises(UnknownName, match="Did you mean 'chicken'"):
        load_game("chikken")


def test_many_outcomes_are_refused() -> None:
    big = {**RULE, "payoffs": "own", "players": 8, "options": {"from": 0, "to": 9}}

    with pytest.raises(ParameterError, match="100,000,000 outcomes, above 100,000"):
        load_game(big)


TURNS: dict[str, Any] = {
    "title": "Turns", "rule": "r", "payoffs": ["sent", "3 * sent - back"],
    "moves": [
        {"player": 1, "name": "sent", "options": {"from": 0, "to": 2}},
        {"player": 2, "name": "back", "options": {"from": 0, "to": "3 * sent"}},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"payoffs": ["sent"]}, "payoffs is 2 formulas, one a player"),
        ({"payoffs": "sent"}, "payoffs is 2 formulas, one a player"),
        ({"payoffs": ["sent", "own"]}, r"payoffs\[1\]: the formula 'own' uses 'own'"),
        ({"moves": [{"player": 3, "options": ["x"]}]}, r"moves\[0\].player is a whole number"),
        (
            {"moves": [{"player": 1, "options": {"from": 0, "to": "later"}}]},
            r"moves\[0\].options.to",
        ),
        ({"options": ["x"]}, "options and moves are the two kinds"),
        (
            {"payoffs": None, "outcomes": [{"path": ["x"], "payoffs": [1, 2]}]},
            "payoffs cannot be used with outcomes",
        ),
        ({"people": [{"value": 2}]}, r"people\[0\].move names one of the moves"),
        (
            {"moves": [
                TURNS["moves"][0],
                {"player": 2, "name": "back", "options": {"from": 0, "to": "1e7 * sent"}},
            ]},
            r"payoffs: after the moves \['1'\] the next move is an amount from 0 to 1e\+07",
        ),
        (
            {"moves": [
                TURNS["moves"][0],
                {"player": 2, "name": "back", "options": {"from": 1, "to": "sent"}},
            ]},
            r"payoffs: after the moves \['0'\] the next move is an amount from 1 to 0",
        ),
        (
            {"moves": [TURNS["moves"][0], {"player": 2, "name": "back", "options": ["sent"]}]},
            "moves names the option 'sent', which is a number or a move too",
        ),
        (
            {"moves": [{"player": 1, "options": ["x"]}] * 101},
            "moves list should have at most 100 items",
        ),
    ],
)  # fmt: skip
def test_a_bad_game_in_turns_gives_one_line_with_the_place(change: Any, place: str) -> None:
    with pytest.raises(ParameterError, match=f"the game: {place}"):
        load_game(TURNS | change)


def test_outcomes_have_to_be_those_of_all_courses() -> None:
    steps = [{"player": 1, "options": ["l", "r"]}, {"player": 2, "options": ["l", "r"]}]
    ends = [(["l"], [1, 2]), (["r", "l"], [3, 4]), (["r", "r"], [5, 6])]
    given = [{"path": path, "payoffs": paid} for path, paid in ends]
    game = {"title": "Tree", "moves": steps, "outcomes": given}

    assert set(load_game(game).form.courses()) == {(0,), (1, 0), (1, 1)}
    with pytest.raises(ParameterError, match=r"outcomes: the path \['r', 'r'\] has no payoffs"):
        load_game(game | {"outcomes": given[:2]})
    with pytest.raises(ParameterError, match="outcomes: a path is there twice, or continues"):
        load_game(game | {"outcomes": [*given, {"path": ["l", "l"], "payoffs": [0, 0]}]})
    with pytest.raises(ParameterError, match=r"outcomes\[0\].path\[0\] 'm' is no option"):
        load_game(game | {"outcomes": [{"path": ["m"], "payoffs": [1, 2]}]})


def test_published_shares_are_one_an_amount() -> None:
    given = {"title": "T", "rule": "r", "options": {"from": 1, "to": 3}, "payoffs": "own"}
    (people,) = load_game(given | {"people": [{"shares": [0.5, 0.25, 0.25]}]}).people

    assert people.value == 1.75
    with pytest.raises(ParameterError, match=r"people\[0\].shares must be 3 shares"):
        load_game(given | {"people": [{"shares": [0.5, 0.25, 0.15]}]})
