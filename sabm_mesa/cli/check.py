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
    """Check that a scenario meets the promises of every scenario; it is played about 30 times.

    Runs have 3 rounds, and one has as many as by default, up to 50, with free minds; its pictures
    and plots are drawn. What comes later, or only with other parameters or rare answers, is not
    met: give --rounds and --set. Small values make it quick. The status is 1 when a point does not
    hold.
    """
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
        for reason, points in conformance.not_checked.items():
            say(f"Not checked: {', '.join(points)}: {reason}.")
    if conformance.problems:
        raise typer.Exit(1)
