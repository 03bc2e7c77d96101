"""A small experiment as a file, and the facts that hold for every published one."""

import math
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
    """Each measure is claimed, published or listed as neither, and each claim may prove wrong.

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
        assert len(each.rounds) == (len(each.numbers) if each.column else 0)
    for claim in found.claims:
        measure = found.measure(claim.measure)
        share = measure.take == "share" or (measure.data == "messages" and measure.take == "mean")
        if claim.kind in {"above", "below"} and share:
            assert 0 < claim.value < 1, claim.text
        if claim.kind == "within":
            assert -math.inf < claim.low < claim.high < math.inf, claim.text
        if claim.kind == "like":
            assert claim.margin > 0, claim.text
            assert claim.ours, claim.text
        if measure.take in {"first", "settles", "agreed"}:
            assert math.isfinite(measure.never), f"{claim.text}: those that never do count"


def experiment_of(name: str, text: str) -> Experiment:
    """The experiment of a file with this name and text."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.toml")
        path.write_text(text, "utf-8")
        return load_experiment(path)
