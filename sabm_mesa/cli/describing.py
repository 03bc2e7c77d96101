"""``sabm describe``."""

from __future__ import annotations

from typing import Annotated

import typer

from sabm_mesa import registry
from sabm_mesa.cli.app import AsJson, Condition, ScenarioName, app, say


@app.command()
def describe(
    name: ScenarioName,
    condition: Condition = None,
    prompts: Annotated[bool, typer.Option(help="Whether to show texts of prompts.")] = True,
    as_json: AsJson = False,
) -> None:
    """Describe a scenario: rules, parameters, minds, personas, and prompts with their hashes."""
    from sabm_mesa.describe import as_text
    from sabm_mesa.describe import describe as description_of
    from sabm_mesa.recording import outputs

    description = description_of(registry.scenario(name), condition or "baseline")
    say(outputs.as_json(description) if as_json else as_text(description, prompts=prompts))
