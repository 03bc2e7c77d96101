"""A registration: what it freezes, and how each deviation from it is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm import Connection
from sabm_mesa.studies.experiments.running import Plan, plan, run
from sabm_mesa.studies.registration import (
    FILE,
    deviations,
    judge,
    read,
    register,
    write,
)

from .experiments.support import SMALL, experiment_of
from .experiments.test_earlier_runs import CLAIM, GAMES, HELD, games

LLM = Connection(base_url="http://127.0.0.1:9/v1")
"""Nobody listens there: a registration sends nothing."""


def planned(*changes: tuple[str, str], runs: int = 6, minds: str = "llm:gpt-6-2026-10-01") -> Plan:
    """The plan of the small experiment, with words of its file replaced."""
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return plan(experiment_of("small", text), minds=minds, runs=runs)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        (planned(runs=7), "runs: 7, registered 6"),
        (
            planned(("set = { n_players = 3 }", "set = { n_players = 4 }")),
            "condition baseline n_players: 4, registered 3",
        ),
        (planned(("cost =", "alpha = 0.1\ncost =")), "alpha: 0.1, registered 0.05"),
        (
            planned(minds="llm:gpt-7"),
            "condition baseline minds: llm:gpt-7 (127.0.0.1:9), registered llm:gpt-6-2026-10-01",
        ),
        (planned(('kind = "below"', 'kind = "above"')), "claim 1 kind: above, registered below"),
        (planned(("value = 50", "value = 60")), "claim 1 value: 60.0, registered 50.0"),
        (
            planned(('columns = "variance"', 'columns = "mean"')),
            'measure last columns: ["mean"], registered ["variance"]',
        ),
        (
            planned(('name = "cooperative"', 'name = "friendly"')),
            "condition cooperative: left out",
        ),
    ],
    ids=lambda each: "" if isinstance(each, Plan) else each.partition(":")[0],
)
def test_each_change_turns_the_verdict_line(changed: Plan, line: str) -> None:
    frozen = register(planned(), LLM)

    assert deviations(frozen, planned(), LLM) == []
    elsewhere = deviations(frozen, planned(), Connection(base_url="http://127.0.0.1:8/v1"))
    assert elsewhere[0].startswith("condition baseline minds: llm:gpt-6-2026-10-01 (127.0.0.1:8), ")
    assert any(each.startswith(line) for each in deviations(frozen, changed, LLM))


def test_a_changed_prompt_is_named_with_its_conditions(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[prompts]\nact = "{{ discussion }} {{ act_line }} '
        'Pick a number from {{ low }} to {{ high }}. {{ form }}"\n',
        "utf-8",
    )
    given = ("set = { n_players = 3 }", f'set = {{ n_players = 3, prompts = "{own}" }}')
    frozen = register(planned(given), LLM)
    own.write_text(
        '[prompts]\nact = "{{ discussion }} {{ act_line }} '
        'Pick a figure from {{ low }} to {{ high }}. {{ form }}"\n',
        "utf-8",
    )

    lines = deviations(frozen, planned(given), LLM)
    assert [line.partition(":")[0] for line in lines] == [
        "condition baseline prompt act", "condition cooperative prompt act",
    ]  # fmt: skip


def test_an_edited_registration_is_noticed(tmp_path: Path) -> None:
    write(register(planned(), LLM), tmp_path)
    path = tmp_path / FILE
    path.write_text(path.read_text("utf-8").replace("below 50", "below 90"), "utf-8")
    with pytest.raises(ParameterError, match=r"registration\.json was edited: its content has"):
        read(path)
    path.write_text("{}", "utf-8")
    with pytest.raises(ParameterError, match="is not a registration"):
        read(path)


def test_runs_are_judged_by_the_registered_claim(tmp_path: Path) -> None:
    frozen = register(planned(minds="classical"), LLM)
    write(frozen, tmp_path)
    assert read(tmp_path / FILE) == frozen
    outcome = run(planned(minds="classical"), tmp_path)

    standing = judge(frozen, outcome, LLM)
    assert standing.deviations == []
    assert standing.lines()[0].startswith("As registered (registered on 20")
    assert standing.lines()[0].endswith(f"SHA-256 {frozen.digest[:12]}).")
    assert standing.primary.test.n == (6,)
    other = run(planned(("value = 50", "value = 60"), minds="classical"), tmp_path)
    changed = judge(frozen, other, LLM)
    assert changed.deviations == ["claim 1 value: 60.0, registered 50.0"]
    with pytest.raises(RecordingError, match="already exists"):
        write(frozen, tmp_path)
    (tmp_path / FILE).unlink()
    with pytest.raises(RecordingError, match="a registration comes before them"):
        write(frozen, tmp_path)

    late = register(planned(minds="classical"), LLM)
    content = json.loads(json.dumps(late.content)) | {"registered": "2099-01-01T00:00:00+00:00"}
    before = judge(type(late)(content), outcome, LLM)
    assert before.deviations[0] == "runs that began before the registration: 12"


def test_what_cannot_be_registered_is_said_in_a_line() -> None:
    several = SMALL + SMALL[SMALL.index("[[claims]]") :]
    two = plan(experiment_of("small", several), runs=6)
    for each, options, line in (
        (planned(runs=5), {}, "it takes 6 or more"),
        (two, {}, r"Name the primary claim of small \(--claim\): 1 The variance"),
        (two, {"claim": 3}, "small has no claim 3"),
    ):
        with pytest.raises(ParameterError, match=line):
            register(each, LLM, **options)  # type: ignore[arg-type]
    frozen, large = register(planned(), LLM), plan(experiment_of("large", SMALL), runs=6)
    with pytest.raises(ParameterError, match="registers small, not large"):
        deviations(frozen, large, LLM)


def test_a_mind_from_a_file_and_earlier_runs_are_frozen_with_the_rest(tmp_path: Path) -> None:
    mind = tmp_path / "mind.py"
    mind.write_text("def decide(ask):\n    return 3\n", "utf-8")
    own = planned(minds=f"py:{mind}")
    frozen = register(own, LLM)
    assert deviations(frozen, own, LLM) == []
    mind.write_text("def decide(ask):\n    return 4\n", "utf-8")
    lines = deviations(frozen, planned(minds=f"py:{mind}"), LLM)
    assert lines
    assert all(line.startswith("condition ") and f" files py:{mind}: " in line for line in lines)

    text = games(tmp_path, GAMES + CLAIM)
    frozen = register(plan(experiment_of("games", text), runs=6), LLM)
    (tmp_path / "held.toml").write_text(HELD.replace("n_agents = 4", "n_agents = 5"), "utf-8")
    changed = plan(experiment_of("games", text), runs=6)
    assert deviations(frozen, changed, LLM) == ["condition earlier/warm n_agents: 5, registered 4"]


@pytest.mark.slow
def test_runs_that_were_played_besides_are_named(tmp_path: Path) -> None:
    frozen = register(planned(minds="classical"), LLM)
    run(planned(minds="classical", runs=8), tmp_path)
    outcome = run(planned(minds="classical"), tmp_path)
    (line,) = judge(frozen, outcome, LLM).deviations
    n = len(outcome.plan.experiment.conditions) * 2
    assert line == f"further runs in the recording, which do not count: {n}"
