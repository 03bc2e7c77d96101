"""Messages of ``sabm reproduce`` before it spends anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sabm_mesa.cli.app import say

if TYPE_CHECKING:
    from sabm_mesa.studies.experiments.plan import Plan


def before(planned: Plan) -> str:
    """Say before anything is spent which minds decide, and what so few runs cannot show.

    Args:
        planned: the experiment.
    """
    from sabm_mesa.studies.experiments.expecting import too_few_runs
    from sabm_mesa.studies.experiments.report import decided_by, language_models

    experiment = planned.experiment
    lines = [f"{experiment.name}, decided by: {decided_by(planned)}"]
    if language_models(planned):
        most = {"small": "up to 2,000", "medium": "up to 20,000"}.get(experiment.cost, "many")
        lines.append(
            f"  Cost class {experiment.cost}: {most} questions at paper scale; --cost estimates "
            "these runs."
        )
    if few := too_few_runs(planned):
        lines.append(f"  {few}")
    return "\n".join(lines)


def say_costs(plans: Sequence[Plan], out: Path, prices: Path | None, as_json: bool) -> None:
    """Say what the missing runs of experiments cost.

    Args:
        plans: the experiments.
        out: the folder with a folder of each.
        prices: a price file of one's own, or None.
        as_json: whether to say it as JSON.
    """
    from sabm_mesa.cli.cost import in_words
    from sabm_mesa.recording import export
    from sabm_mesa.studies.experiments.expecting import expected_cost, too_few_runs

    found = []
    for each in plans:
        found.append(expected_cost(each, out / each.experiment.name, prices))
        if not as_json:
            few = too_few_runs(each)
            say("\n".join([in_words(found[-1]), *([few] if few else [])]))
    if as_json:
        say(export.readable_json([each.as_dict() for each in found]))
