"""An audit: its cells, the verdicts on effects whose truth is known, and its report."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sabm_mesa.errors import RecordingError, UsageError
from sabm_mesa.recording import load_runs
from sabm_mesa.runs.rerun import replay
from sabm_mesa.studies.audit import NOT_READ, judge, plan_audit, report_of
from sabm_mesa.studies.experiments.running import RECORDING, expected_cost, run
from sabm_mesa.studies.experiments.schema import load_experiment
from tests.llm_server import LLMServer
from tests.studies.experiments.support import experiment_of
from tests.studies.experiments.test_earlier_runs import CLAIM, GAMES, games

from .audited import EXPERIMENT, Reader, experiment

FORMATS = {"answer_format": ["labelled", "json"]}
GIVEN = {
    "wording": ["default", "reworded_1", "reworded_2", "reworded_3"],
    **FORMATS,
}
CELLS, LAST = 5, 3
"""The experiment as it is, three other wordings, and another format; the last wording."""
ABOVE = [(1, 0.0)]


# The plan.


def test_by_itself_it_varies_the_wording() -> None:
    found = plan_audit(experiment("n_rounds = 2"), runs=2)

    assert {factor.name: factor.labels for factor in found.factors} == {
        "wording": ["default", "reworded_1", "reworded_2", "reworded_3"],
    }
    assert len(found.plan.cells) == 4 * len(found.levels)
    first = found.plan.cells[0]
    assert (first.condition, first.seed) == ("baseline", 1)
    assert first.parameters["variant"] == "default"


def test_conditions_that_differ_in_the_wording_leave_the_minds() -> None:
    own = experiment_of(
        "own", EXPERIMENT.replace('condition = "cooperative" }', 'variant = "reworded_1" }')
    )
    found = plan_audit(own, minds=["fixed:3", "fixed:4"], runs=1)
    assert [factor.name for factor in found.factors] == ["minds"]
    with pytest.raises(UsageError, match="has no other wording"):
        plan_audit(own, runs=1)


def test_each_cell_but_the_first_changes_one_factor() -> None:
    given = {"wording": ["default", "reworded_1"], "temperature": [0.0, 1.0]}
    found = plan_audit(experiment(), minds=["fixed:3", "fixed:4"], given=given, runs=1)

    assert found.levels == [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    assert found.changes[1:] == [
        "wording = reworded_1", "temperature = 1.0", "minds = fixed:4",
    ]  # fmt: skip
    cells = {cell.condition: cell.parameters for cell in found.plan.cells}
    assert cells["baseline (wording = reworded_1)"]["variant"] == "reworded_1"
    assert cells["cooperative (minds = fixed:4)"]["minds"] == "fixed:4"
    (claim,) = found.experiment.claims
    assert found.claim(claim, found.changes[1]).places == [
        ("high", "cooperative (wording = reworded_1)"), ("high", "baseline (wording = reworded_1)"),
    ]  # fmt: skip


def test_a_fork_continues_the_run_of_its_cell() -> None:
    found = plan_audit(load_experiment("bertrand-figure-6c"), runs=1, given=FORMATS)
    forks = [cell for cell in found.plan.cells if cell.fork_of]
    assert {cell.fork_of.partition(" (")[2] for cell in forks} == {"", "answer_format = json)"}
    assert all("answer_format" not in cell.changes for cell in forks)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"given": {"wordng": ["a", "b"]}}, "Did you mean 'wording'"),
        ({"given": {"wording": ["default"]}}, "needs at least two levels"),
        ({"given": {"minds": ["a", "b"]}}, "give --minds SPEC several times"),
        ({"given": {"condition": ["baseline", "cooperative"]}}, "differ in condition"),
    ],
)
def test_what_cannot_be_planned_is_one_line(given, says) -> None:
    with pytest.raises(UsageError) as refused:
        plan_audit(experiment(), **given)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_experiment_without_a_claim_cannot_be_audited() -> None:
    with pytest.raises(UsageError, match="has no claims"):
        plan_audit(load_experiment("kbc-agreeableness"))


# Verdicts.


def effects(rng, planted, n=12, base=15.0, chance=13.0):
    """By cell and seed: `base`, and `planted` less in the last wording."""
    means = base - planted * (np.arange(CELLS) == LAST)
    return means[:, np.newaxis] + rng.normal(0, chance, (CELLS, n)) + rng.normal(0, 5, n)


def fragile_in(judged) -> list[int]:
    return judged.cells.loc[judged.cells["fragile"], "cell"].tolist()


def test_fragile_is_said_of_the_large_planted_effect_only_and_names_it() -> None:
    rng = np.random.default_rng(1)
    words: dict[int, Counter[str]] = {}
    for planted in (0, 5, 20):
        found = [judge(effects(rng, planted, n=40), ABOVE) for _ in range(12)]
        words[planted] = Counter(judged.word for judged in found)
        if planted == 20:
            named = [fragile_in(judged) for judged in found if judged.word == "fragile"]
            assert named == [[LAST + 1]] * len(named)
    assert words[0]["robust"] >= 10
    assert words[5]["fragile"] == 0
    assert words[20]["fragile"] >= 10


def test_a_claim_that_is_wrong_everywhere_fails_and_without_an_effect_nothing_is_said() -> None:
    found = judge(effects(np.random.default_rng(2), 0, n=16, base=-15), ABOVE)
    assert (found.word, found.cells["side"].sum()) == ("fails", 0)

    none = judge(effects(np.random.default_rng(3), 0, base=0), ABOVE)
    assert (none.word, none.cells["shown"].sum()) == ("inconclusive", 0)


def test_a_claim_with_two_limits_is_fragile_where_it_is_significantly_outside() -> None:
    within = [(1, 5.0), (-1, 25.0)]
    rng = np.random.default_rng(4)

    assert judge(effects(rng, 0, chance=3), within).word == "robust"
    outside = judge(effects(rng, -40, chance=3), within)
    assert (outside.word, fragile_in(outside)) == ("fragile", [LAST + 1])


def test_a_claim_below_a_limit_is_the_mirror_of_one_above_it() -> None:
    y = effects(np.random.default_rng(5), 20)

    above, below = (judge(sign * y, [(sign, sign * 1.0)]) for sign in (1, -1))
    assert above.word == below.word == "fragile"
    assert above.cells["p_fragile"].equals(below.cells["p_fragile"])
    assert above.effect == -below.effect


@pytest.mark.parametrize(
    ("y", "why"),
    [
        (np.full((CELLS, 6), 2.0), "all seeds give the same numbers"),
        (
            np.where(np.arange(5) < 2, 1.0, np.nan) * np.ones((CELLS, 1)),
            "only 2 seeds have a value",
        ),
    ],
)
def test_it_says_why_nothing_can_be_concluded(y, why) -> None:
    found = judge(y, ABOVE)

    assert found.word == "inconclusive"
    assert why in found.why


def test_a_seed_without_a_value_in_one_cell_is_left_out_of_all() -> None:
    y = effects(np.random.default_rng(6), 0)
    holed = y.copy()
    holed[3, 7] = np.nan

    found = judge(holed, ABOVE)
    assert found.n_seeds == 11
    assert found.effect == pytest.approx(np.median(np.delete(y, 7, axis=1).mean(axis=0)))


@pytest.mark.slow
def test_a_claim_that_is_nil_in_one_wording_is_called_robust_in_at_most_three_per_cent() -> None:
    rng = np.random.default_rng(7)
    words = [judge(effects(rng, 15.0), ABOVE).word for _ in range(300)]

    assert words.count("robust") / 300 <= 0.03 + 2 * np.sqrt(0.03 * 0.97 / 300)


# Runs and report.


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """An audit of players that read, in which one wording turns the claim round."""
    folder = tmp_path_factory.mktemp("audit")
    audit = plan_audit(experiment(), minds=[Reader()], given=GIVEN)
    return audit, run(audit.plan, folder)


@pytest.mark.slow
def test_the_report_names_the_wording_that_turns_the_claim_round(audited) -> None:
    audit, outcome = audited
    made = report_of(audit, outcome)
    tables = {table.name: table.frame for table in made.tables}

    assert "Cells: 5; verdicts on claims: 1 fragile." in made.lead
    assert list(made.figures) == ["claim-1"]
    assert tables["effects"]["cell"].tolist() == list(range(1, 6))
    assert tables["effects"]["side"].tolist() == [True, True, True, False, True]
    assert tables["cells"].iloc[0].tolist() == [1, "default", "labelled"]
    (row,) = tables["claims"].to_dict("records")
    assert (row["fragile_in"], row["survives"]) == ("wording = reworded_3", 4)
    assert made.next_commands == [f"sabm replay {outcome.path}"]


@pytest.mark.slow
def test_the_same_call_again_runs_nothing_and_one_with_more_runs_the_rest(audited) -> None:
    audit, outcome = audited
    folder = outcome.path.parent
    assert outcome.ran == 5 * 2 * 10

    assert run(audit.plan, folder).ran == 0
    more = plan_audit(experiment(), minds=[Reader()], given=GIVEN, runs=11)
    assert run(more.plan, folder).ran == 5 * 2
    last = load_runs(outcome.path)[-1]
    assert last.parameters["answer_format"] == "json"
    replay(outcome.path, last.run)


def test_the_recording_of_something_else_is_refused(tmp_path) -> None:
    audit = plan_audit(experiment(), minds=["fixed:3"], given=FORMATS, runs=1)
    run(audit.plan, tmp_path)

    other = plan_audit(experiment(), given=FORMATS, runs=1, seed=9)
    with pytest.raises(RecordingError, match="Choose another folder"):
        run(other.plan, tmp_path)


def test_minds_that_read_nothing_say_so(tmp_path) -> None:
    audit = plan_audit(experiment(), given={"wording": ["default", "reworded_1"]}, runs=3)
    made = report_of(audit, run(audit.plan, tmp_path))

    (row,) = made.tables[0].frame.to_dict("records")
    assert (row["verdict"], row["why"]) == ("not judged", NOT_READ)
    assert not made.tables[1].frame["shown"].any()


@pytest.mark.slow
def test_earlier_runs_are_played_once_for_all_cells(tmp_path, monkeypatch) -> None:
    own = experiment_of("games", games(tmp_path, GAMES + CLAIM))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    given = {"wording": ["default", "reworded_1"]}
    with LLMServer() as server:
        minds = [f"llm:{name}@{server.url}" for name in ("gpt-4o-mini", "gpt-4o")]
        with pytest.raises(UsageError, match="give them the same minds"):
            plan_audit(own, minds=minds, given=given, runs=3)
        audit = plan_audit(own, minds=minds[:1], given=given, runs=3)
        done = run(audit.plan, tmp_path / "out")
        asked = server.stats["requests"]

        (party,) = load_runs(done.paths[1])
        assert party.parameters["minds"] == minds[0]
        assert done.ran == 2 * 3 * 3
        made = report_of(audit, done)
        assert made.facts["asks"] == asked
        assert f"sabm replay {done.paths[1]}" in made.next_commands
        assert run(audit.plan, tmp_path / "out").ran == 0
        assert server.stats["requests"] == asked
        assert expected_cost(audit.plan, tmp_path / "out").runs == 0
    replay(tmp_path / "out" / RECORDING, load_runs(done.path)[-1].run)
