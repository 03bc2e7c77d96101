"""A registration: what it freezes, and how each deviation from it is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sabm_mesa.errors import ParameterError, RecordingError
from sabm_mesa.llm import Connection, Endpoint
from sabm_mesa.minds.scripted import ScriptedMind
from sabm_mesa.studies.experiments.design import parse_experiment
from sabm_mesa.studies.experiments.plan import Plan, plan
from sabm_mesa.studies.experiments.running import run
from sabm_mesa.studies.registration import (
    FILE,
    Eligible,
    deviations,
    find,
    judge,
    read,
    register,
    runs_by_effect,
    runs_by_pilot,
    write,
    write_deposit,
)

from .experiments.support import SMALL
from .experiments.test_earlier_runs import CLAIM, GAMES, HELD, games

LLM = Connection(base_url="http://127.0.0.1:9/v1")
"""Nobody listens there: a registration sends nothing."""


def planned(*changes: tuple[str, str], runs: int = 6, minds: str = "llm:gpt-6-2026-10-01") -> Plan:
    """The plan of the small experiment, with words of its file replaced."""
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return plan(parse_experiment("small", text), minds=minds, runs=runs)


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
            "model llm:gpt-7: not eligible, since its name is not gpt-6-2026-10-01",
        ),
        (planned(minds="classical"), "condition baseline minds: classical, registered eligible"),
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
    (elsewhere,) = deviations(frozen, planned(), Connection(base_url="http://127.0.0.1:8/v1"))
    assert elsewhere.endswith("since its provider is 127.0.0.1:8, not 127.0.0.1:9")
    assert any(each.startswith(line) for each in deviations(frozen, changed, LLM))


def test_a_changed_word_of_a_prompt_is_shown_with_its_entry(tmp_path: Path) -> None:
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

    assert deviations(frozen, planned(given), LLM) == [
        "prompt act: “figure” instead of “number” (baseline, cooperative)"
    ]


def test_an_edited_registration_is_noticed(tmp_path: Path) -> None:
    write(register(planned(), LLM), tmp_path)
    path = tmp_path / FILE
    assert find(tmp_path) == read(path)
    path.write_text(path.read_text("utf-8").replace("below 50", "below 90"), "utf-8")
    with pytest.raises(ParameterError, match=r"registration\.json was edited: its content has"):
        find(tmp_path)
    path.write_text("{}", "utf-8")
    with pytest.raises(ParameterError, match="is not a registration"):
        find(tmp_path)
    assert find(tmp_path / "elsewhere") is None


def test_a_deposit_is_written_beside_what_is_frozen(tmp_path: Path) -> None:
    write(register(planned(), LLM), tmp_path)
    before = read(tmp_path / FILE)
    write_deposit(tmp_path, "10.5281/zenodo.1")
    after = read(tmp_path / FILE)
    assert after.deposit == {"identifier": "10.5281/zenodo.1", "sha256": before.digest}
    assert (after.digest, after.content) == (before.digest, before.content)
    with pytest.raises(ParameterError, match=r"was deposited as 10\.5281/zenodo\.1 already"):
        write_deposit(tmp_path, "10.5281/zenodo.2")


def test_runs_are_judged_by_the_registered_claim_and_the_registered_exclusions(
    tmp_path: Path,
) -> None:
    mind = ScriptedMind(lambda ask: {"act": "no number"}.get(ask.name, "I agree."), "mute")
    frozen = register(planned(minds="classical"), LLM, max_invalid=0.2)
    write(frozen, tmp_path)
    outcome = run(planned(minds="classical"), tmp_path)

    standing = judge(frozen, outcome, LLM)
    assert standing.deviations == []
    assert standing.line.startswith("As registered (registered on 20")
    assert standing.line.endswith(f"SHA-256 {frozen.digest[:12]}).")
    assert standing.primary is not None
    assert (standing.primary.test.n, standing.excluded) == ((6,), [])
    other = run(planned(("value = 50", "value = 60"), minds="classical"), tmp_path)
    changed = judge(frozen, other, LLM)
    assert changed.deviations == ["claim 1 value: 60.0, registered 50.0"]
    assert changed.primary is not None
    assert changed.primary.claim.value == 50
    with pytest.raises(RecordingError, match="already exists"):
        write(frozen, tmp_path)
    (tmp_path / FILE).unlink()
    with pytest.raises(RecordingError, match="a registration comes before them"):
        write(frozen, tmp_path)

    mute = plan(planned().experiment, runs=6, minds={"baseline": mind, "cooperative": "classical"})
    silent = judge(frozen, run(mute, tmp_path / "mute"), LLM)
    assert silent.excluded == [1, 2, 3, 4, 5, 6]
    assert silent.deviations == ["condition baseline minds: mute, registered classical"]

    another = type(frozen)(frozen.content, deposit={"identifier": "10.5281/1", "sha256": "0" * 64})
    deposited = judge(another, outcome, LLM)
    assert deposited.deviations == ["the deposit 10.5281/1 has the SHA-256 000000000000…"]
    assert "Deposited as 10.5281/1." in deposited.lines()

    late = register(planned(minds="classical"), LLM)
    content = json.loads(json.dumps(late.content)) | {"registered": "2099-01-01T00:00:00+00:00"}
    before = judge(type(late)(content), outcome, LLM)
    assert before.deviations[0].startswith("12 runs began before the registration")


@pytest.mark.parametrize(
    ("rule", "model", "provider", "why"),
    [
        ("gpt-6*", "gpt-6-mini", "openai", ""),
        ("gpt-6*", "gpt-5", "openai", "its name is not gpt-6*"),
        ("provider=openai", "gpt-5", "openrouter", "its provider is openrouter, not openai"),
        ("since=2026-10-01", "gpt-6-2026-11-02", "openai", ""),
        ("since=2026-10-01", "claude-opus-5.5", "anthropic",
         "its version is of 2026-09-21, before 2026-10-01"),
        ("until=2026-10-01", "gpt-6-20261102", "",
         "its version is of 2026-11-02, after 2026-10-01"),
        ("since=2026-10-01", "mystery", "", "the day of its version is not known"),
    ],
)  # fmt: skip
def test_which_models_are_eligible(rule: str, model: str, provider: str, why: str) -> None:
    assert Eligible.read(rule).why_not(model, provider) == why


@pytest.mark.parametrize("rule", ["", "name=x", "since=tomorrow", "gpt-5 gpt-6", "model="])
def test_a_rule_that_is_none_is_refused(rule: str) -> None:
    with pytest.raises(ParameterError):
        Eligible.read(rule)


@pytest.mark.parametrize(
    ("spec", "extra", "pinned"),
    [
        ("llm:a@https://openrouter.ai/api/v1", {}, False),
        ("llm:a@https://openrouter.ai/api/v1", {"provider": {"only": ["x"]}}, True),
        ("llm:a@https://openrouter.ai/api/v1", {"provider": {"order": ["x"]}}, False),
        (
            "llm:a@https://openrouter.ai/api/v1",
            {"provider": {"order": ["x"], "allow_fallbacks": False}},
            True,
        ),
        ("llm:b/c@https://router.huggingface.co/v1", {}, False),
        ("llm:b/c:together@https://router.huggingface.co/v1", {}, True),
        ("llm:b/c@https://ai-gateway.vercel.sh/v1", {}, False),
        ("llm:a@https://api.mistral.ai/v1", {}, True),
    ],
)
def test_an_endpoint_that_chooses_providers_has_to_be_pinned(
    spec: str, extra: dict[str, object], pinned: bool
) -> None:
    url = spec.rpartition("@")[2]
    connection = Connection(endpoints={"there": Endpoint(url, "there", extra_body=extra)})
    there = planned(minds=spec.replace(url, "there"))
    if pinned:
        assert deviations(register(there, connection), there, connection) == []
        return
    with pytest.raises(ParameterError, match="chooses by itself which provider answers"):
        register(there, connection)


def test_the_number_of_runs_follows_from_an_effect_or_a_pilot(tmp_path: Path) -> None:
    # A sign test, of which a share Φ(d) of the runs lies on the claim's side: π / 2 times as many
    # as a t test takes (34 at 0.5, Cohen 1988), and a few more since it is discrete.
    assert [runs_by_effect(planned(), None, d, 0.8) for d in (0.5, 0.8)] == [61, 25]
    (tmp_path / "measures.csv").write_text(
        "condition,run,seed,measure,value\n"
        + "".join(f"baseline,{i},{i},last,{30 + i}\n" for i in range(1, 11)),
        "utf-8",
    )
    assert runs_by_pilot(planned(), None, tmp_path, 0.8) == 6  # all on the claim's side
    with pytest.raises(ParameterError, match="There is no table of measures"):
        runs_by_pilot(planned(), None, tmp_path / "none", 0.8)


def test_what_cannot_be_registered_is_said_in_a_line() -> None:
    several = SMALL + SMALL[SMALL.index("[[claims]]") :]
    two = plan(parse_experiment("small", several), runs=6)
    for each, options, line in (
        (planned(runs=5), {}, "it takes 6 or more"),
        (two, {}, r"Name the primary claim of small \(--claim\): 1 The variance"),
        (two, {"claim": 3}, "small has 2 claims"),
        (planned(), {"max_invalid": 1.5}, "max_invalid is a share"),
        (planned(), {"eligible": ["gpt-7"]}, "could not decide by its own registration"),
    ):
        with pytest.raises(ParameterError, match=line):
            register(each, LLM, **options)  # type: ignore[arg-type]
    frozen, large = register(planned(), LLM), plan(parse_experiment("large", SMALL), runs=6)
    with pytest.raises(ParameterError, match="registers small, not large"):
        deviations(frozen, large, LLM)


def test_another_pin_of_the_same_router_is_a_deviation() -> None:
    url = "https://openrouter.ai/api/v1"

    def pinned(name: str) -> Connection:
        extra = {"provider": {"only": [name]}}
        return Connection(endpoints={"there": Endpoint(url, "there", extra_body=extra)})

    there = planned(minds="llm:a@there")
    frozen = register(there, pinned("one"))
    assert deviations(frozen, there, pinned("one")) == []
    assert deviations(frozen, there, pinned("two")) == [
        "model llm:a@there: not eligible, since its provider is openrouter/two, not openrouter/one"
    ]
    any_pin = register(there, pinned("one"), eligible=["provider=openrouter"])
    assert deviations(any_pin, there, pinned("two")) == []


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
    frozen = register(plan(parse_experiment("games", text), runs=6), LLM)
    (tmp_path / "held.toml").write_text(HELD.replace("n_agents = 4", "n_agents = 5"), "utf-8")
    changed = plan(parse_experiment("games", text), runs=6)
    assert deviations(frozen, changed, LLM) == ["condition earlier/warm n_agents: 5, registered 4"]


@pytest.mark.slow
def test_runs_that_were_played_besides_are_named(tmp_path: Path) -> None:
    frozen = register(planned(minds="classical"), LLM)
    run(planned(minds="classical", runs=8), tmp_path)
    outcome = run(planned(minds="classical"), tmp_path)
    (line,) = judge(frozen, outcome, LLM).deviations
    n = len(outcome.plan.experiment.conditions) * 2
    assert line == f"{n} runs more in the recording, with the seeds 7 to 8, that do not count"
