"""``sabm describe``."""

from __future__ import annotations

from sabm_mesa import registry
from sabm_mesa.cli.app import AsJson, ScenarioName, app, say


@app.command()
def describe(name: ScenarioName, as_json: AsJson = False) -> None:
    """Describe a scenario: rules, parameters, minds, personas, and prompts with their hashes."""
    from sabm_mesa.describe import as_text
    from sabm_mesa.describe import describe as description_of
    from sabm_mesa.recording import outputs

    description = description_of(registry.scenario(name))
    say(outputs.as_json(description) if as_json else as_text(description))
