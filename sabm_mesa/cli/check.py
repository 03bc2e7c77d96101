"""``sabm check``."""

from __future__ import annotations

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson, ScenarioName, Settings, parameters_from
from sabm_mesa.models import registry


@app.command()
def check(name: ScenarioName, set_: Settings = None, *, as_json: AsJson = False) -> None:
    """Check that a scenario keeps what is promised of every scenario; it is played some 30 times.

    Small values of its parameters, with --set, make it quick. The status is 1 when a point does not
    hold.
    """
    from sabm_mesa.recording import export
    from sabm_mesa.testing import POINTS, problems_of

    model = registry.load(name)
    found = problems_of(model, **parameters_from(set_ or [], {}))
    if as_json:
        problems = [{"points": points, "problem": problem} for problem, points in found.items()]
        result = {"scenario": model.scenario_name, "points": POINTS, "problems": problems}
        say(export.readable_json(result))
    elif found:
        say(f"{model.__name__} does not conform:")
        for problem, points in found.items():
            say(f"- {', '.join(points)}: {problem}")
    else:
        say(f"{model.__name__} conforms: {', '.join(POINTS)}.")
    if found:
        raise typer.Exit(1)
