"""A small experiment as a file, and the facts that hold for every published one."""

from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory

from sabm_mesa.studies.experiments.schema import Experiment, load_experiment

SMALL = """
title = "Small"
question = "Does it fall?"
source = "nobody"
scenario = "kbc"
minds = "llm:gpt-4-0314"
cost = "small"
set = { n_players = 3 }

[scales.quick]
runs = 2
set = { n_rounds = 2 }

[scales.paper]
runs = 3

[[conditions]]
name = "baseline"
label = "Baseline"

[[conditions]]
name = "cooperative"
label = "Told to cooperate"
set = { condition = "cooperative" }

[[measures]]
name = "last"
label = "Variance in the last round"
columns = "variance"
rounds = [-1, -1]

[[claims]]
text = "The variance is below 50."
source = "nobody"
measure = "last"
kind = "below"
value = 50
condition = "baseline"
"""
FORK = """
[[conditions]]
name = "turned"
label = "Told to cooperate from round 1 on"
set = { condition = "cooperative" }
fork_of = "baseline"
at = { quick = 1, paper = 2 }
"""


def assert_complete(found: Experiment, unclaimed: Collection[tuple[str, str]]) -> None:
    """Each measure is claimed or published, or listed as not, and each number has its source.

    Args:
        found: the experiment.
        unclaimed: (experiment, measure) of which nothing is claimed or published.
    """
    used = {each.measure for each in [*found.claims, *found.figures]}
    used |= {measure for each in found.claims for measure, _ in each.places}
    for measure in found.measures:
        assert (measure.name in used) != ((found.name, measure.name) in unclaimed)
    assert all(each.source for each in [*found.claims, *found.figures])
    assert found.notes
    for each in found.figures:
        assert bool(each.measure) != bool(each.column)


def experiment_of(name: str, text: str) -> Experiment:
    """The experiment of a file with this name and text."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.toml")
        path.write_text(text, "utf-8")
        return load_experiment(path)
