"""The page on your own experiments: its example runs, it has every key, mistakes are named."""

import re
from pathlib import Path

import pytest

from sabm_mesa.errors import ParameterError
from sabm_mesa.studies.experiments import design
from sabm_mesa.studies.experiments.design import load_experiment, parse_experiment
from sabm_mesa.studies.experiments.plan import plan
from sabm_mesa.studies.experiments.results import results
from sabm_mesa.studies.experiments.running import run
from tests.studies.experiments.support import SMALL

PAGE = Path(__file__).parents[3] / "docs" / "own-experiments.md"
TABLES = {
    "At the top": design.Experiment, "`[[conditions]]`": design.Condition,
    "`[[groups]]`": design.Group, "`[[measures]]`": design.Measure, "`[[claims]]`": design.Claim,
    "`[[published]]`": design.Figures, "`[[plots]]`": design.Plot,
}  # fmt: skip
ELSEWHERE = {"name", "conditions", "groups", "measures", "claims", "published", "plots"}
"""Tables of their own, and the name, which is that of the file."""


def test_the_example_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    path = tmp_path / "mine.toml"
    path.write_text(example, "utf-8")
    found = results(run(plan(load_experiment(path)), tmp_path / "out"))
    assert (len(found.outcome.runs), len(found.verdicts)) == (12, 1)
    assert found.estimates["published"].to_list()[0] == 250


@pytest.mark.parametrize("head", TABLES)
def test_the_page_has_every_key_and_says_which_are_needed(head: str) -> None:
    _, _, below = PAGE.read_text("utf-8").partition(f"| {head} |")
    keys = "\n".join(row.split(" | ")[0] for row in below.partition("\n\n")[0].splitlines()[2:])
    needed = {
        name: field.is_required()
        for name, field in TABLES[head].model_fields.items()
        if TABLES[head] is not design.Experiment or name not in ELSEWHERE
    }
    assert set(re.findall(r"`(\w+)`", keys)) == set(needed)
    assert set(re.findall(r"\*\*`(\w+)`\*\*", keys)) == {key for key in needed if needed[key]}


def test_all_mistakes_are_named_at_once() -> None:
    wrong = (
        SMALL.replace('minds = "llm:gpt-4-0314"\n', "")
        .replace('measure = "last"', 'measure = "lost"')
        .replace('kind = "below"', 'kind = "beneath"')
        .replace('condition = "cooperative"', 'conditions = "cooperative"')
        .replace('label = "Baseline"', 'label = "Baseline"\nlable = "B"')
    )
    with pytest.raises(ParameterError) as caught:
        parse_experiment("mine", wrong)
    text = str(caught.value)
    assert text.startswith("Experiment mine has 5 mistakes: (1) the entry 'minds' is missing.")
    for said in (
        "(2) conditions 1: Unknown entry 'lable'",
        "(3) claims 1, kind: Unknown value 'beneath'",
        "(4) claims 1: Unknown measure 'lost'. Did you mean 'last'?",
        "(5) cooperative, set: Unknown parameter 'conditions'. Did you mean 'condition'?",
    ):
        assert said in text
    assert "\n" not in text


def test_mistakes_in_what_conditions_mix() -> None:
    slots = 'cost = "small"\nslots = { H = "given" }'
    for mix, said in {
        "{ G = 3 }": "cooperative: mix: Unknown slot 'G'. Known: H.",
        "{ H = 0 }": "cooperative: mix: H must be a whole number of 1 or more (got 0).",
        "3": "conditions 2, mix: must be a table (got 3).",
    }.items():
        text = SMALL.replace('cost = "small"', slots)
        text = text.replace('set = { condition = "cooperative" }', f"mix = {mix}")
        with pytest.raises(ParameterError) as caught:
            parse_experiment("mine", text)
        assert str(caught.value) == f"Experiment mine, {said}"
