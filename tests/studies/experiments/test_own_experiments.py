"""The page on experiments: its example runs, it has every key, mistakes are named."""

import re
from pathlib import Path
from typing import get_args

import pytest

from sabm_mesa.errors import ParameterError
from sabm_mesa.studies.experiments import claims, schema
from sabm_mesa.studies.experiments.results import results
from sabm_mesa.studies.experiments.running import plan, run
from sabm_mesa.studies.experiments.schema import load_experiment
from tests.studies.experiments.support import SMALL, experiment_of

PAGE = Path(__file__).parents[3] / "docs" / "experiments.md"
TABLES = {
    "At the top": schema.Experiment, "`[[conditions]]`": schema.Condition,
    "`[[groups]]`": schema.Group, "`[[measures]]`": schema.Measure,
    "`[[published]]`": schema.Published, "`[[plots]]`": schema.Plot,
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
    needed: dict[str, bool] = {
        name: field.is_required()
        for name, field in TABLES[head].model_fields.items()
        if TABLES[head] is not schema.Experiment or name not in ELSEWHERE
    }
    assert set(re.findall(r"`(\w+)`", keys)) == set(needed)
    assert set(re.findall(r"\*\*`(\w+)`\*\*", keys)) == {key for key in needed if needed[key]}


def test_the_page_has_every_key_of_claims() -> None:
    _, _, below = PAGE.read_text("utf-8").partition("| `[[claims]]` |")
    keys = "\n".join(row.split(" | ")[0] for row in below.partition("\n\n")[0].splitlines()[2:])
    fields = [set(kind.model_fields) for kind in get_args(get_args(claims.AnyClaim)[0])]
    assert set(re.findall(r"`(\w+)`", keys)) == set.union(*fields)
    required = {name for name, field in claims.Claim.model_fields.items() if field.is_required()}
    assert set(re.findall(r"\*\*`(\w+)`\*\*", keys)) == {*required, "kind"}


def test_all_mistakes_of_form_are_named_at_once_and_then_those_of_names() -> None:
    wrong = (
        SMALL.replace('minds = "llm:gpt-4-0314"\n', "")
        .replace('kind = "below"', 'kind = "beneath"')
        .replace('label = "Baseline"', 'label = "Baseline"\nlable = "B"')
    )
    with pytest.raises(ParameterError) as caught:
        experiment_of("mine", wrong)
    text = str(caught.value)
    assert text.startswith("Experiment mine has 3 mistakes: (1) minds is missing.")
    assert "(2) conditions 1, lable is no entry of this table." in text
    assert "(3) claims 1: Input tag 'beneath' found using 'kind'" in text
    assert "\n" not in text
    wrong = SMALL.replace('measure = "last"', 'measure = "lost"').replace(
        'condition = "cooperative"', 'conditions = "cooperative"'
    )
    with pytest.raises(ParameterError) as caught:
        experiment_of("mine", wrong)
    text = str(caught.value)
    assert "(1) claims 1: Unknown measure 'lost'. Did you mean 'last'?" in text
    assert "(2) cooperative, set: Unknown parameter 'conditions'. Did you mean 'condition'?" in text


def test_mistakes_in_what_conditions_mix() -> None:
    slots = 'cost = "small"\nslots = { H = "given" }'
    for mix, said in {
        "{ G = 3 }": "cooperative: mix: Unknown slot 'G'. Known: H.",
        "{ H = 0 }": "conditions 2, mix, H: Input should be greater than or equal to 1 (got 0).",
        "3": "conditions 2, mix: Input should be a valid dictionary (got 3).",
    }.items():
        text = SMALL.replace('cost = "small"', slots)
        text = text.replace('set = { condition = "cooperative" }', f"mix = {mix}")
        with pytest.raises(ParameterError) as caught:
            experiment_of("mine", text)
        assert str(caught.value) == f"Experiment mine, {said}"
