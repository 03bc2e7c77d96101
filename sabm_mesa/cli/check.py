"""``sabm check``."""

from __future__ import annotations

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, Rounds, ScenarioName, Settings, parameters_from
from sabm_mesa.models import registry


@app.command()
def check(
    name: ScenarioName, set_: Settings = None, rounds: Rounds = None, *, as_json: AsJson = False
) -> None:
    """Check that a scenario follows the rules of the package, in about 30 runs.

    Runs have 3 rounds. One longer run has the default number of rounds of the scenario, at most 50,
    and draws its pictures and plots. To check later rounds or other parameters, use --rounds and
    --set. The exit status is 1 if a check fails.
    """
    from sabm_mesa.core.scheduler import orders
    from sabm_mesa.recording import export
    from sabm_mesa.testing import POINTS, examine

    model = registry.load(name)
    conformance = examine(model, **parameters_from(set_ or [], {"n_rounds": rounds}))
    not_checked = {point for points in conformance.not_checked.values() for point in points}
    if as_json:
        problems, reasons = (
            [{"points": points, key: line} for line, points in lines.items()]
            for key, lines in (
                ("problem", conformance.problems),
                ("reason", conformance.not_checked),
            )
        )
        result = {
            "scenario": model.scenario_name, "points": POINTS, "problems": problems,
            "not_checked": reasons,
        }  # fmt: skip
        say(export.readable_json(result))
    elif conformance.problems:
        say(f"{model.__name__} does not conform:")
        for problem, points in conformance.problems.items():
            say(f"- {', '.join(points)}: {problem}")
    else:
        checked = [point for point in POINTS if point not in not_checked]
        say(f"{model.__name__} conforms: {', '.join(checked)}.")
    if not as_json:
        if phases := getattr(model, "phases", ()):
            say(f"Each round: {orders(phases)}")
        for reason, points in conformance.not_checked.items():
            say(f"Not checked: {', '.join(points)}: {reason}.")
    if conformance.problems:
        raise typer.Exit(1)
