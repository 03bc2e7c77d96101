"""The public names, and what importing the package costs."""

import subprocess
import sys

import pytest

import sabm_mesa
from sabm_mesa.models.registry import SCENARIOS, scenario

NAMES = [
    "Ask",
    "Budget",
    "Choice",
    "ClassicalMind",
    "ColourScale",
    "Connection",
    "Decision",
    "Memory",
    "Mind",
    "Minds",
    "NetworkPicture",
    "Number",
    "ParameterError",
    "Phase",
    "Portrayal",
    "Recorded",
    "Recording",
    "Remembers",
    "Reply",
    "SabmError",
    "Score",
    "ScriptedMind",
    "SmartAgent",
    "SmartModel",
    "SpacePicture",
    "Stream",
    "Summary",
    "Text",
    "action",
    "communication",
    "every",
    "fork",
    "free",
    "last",
    "planning",
    "replay",
    "resume",
    "sweep",
    "words",
]
MODELS = [scenario(name).__name__ for name in SCENARIOS]


def test_the_public_names_are_these() -> None:
    assert sabm_mesa.__all__ == sorted(sabm_mesa.__all__, key=lambda name: (name.islower(), name))
    assert set(sabm_mesa.__all__) == set(NAMES)
    assert set(dir(sabm_mesa)) == {*NAMES, *MODELS, "__version__"}


@pytest.mark.parametrize("name", [*NAMES, *MODELS])
def test_every_public_name_can_be_imported(name) -> None:
    found = getattr(sabm_mesa, name)

    assert name == "free" or found.__name__ == name
    assert found.__module__.startswith("sabm_mesa.")
    assert found.__doc__


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'sabm_mesa' has no attribute 'Nothing'"):
        _ = sabm_mesa.Nothing


def loaded_after(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return set(done.stdout.split())


HEAVY = {"mesa", "numpy", "pandas", "openai", "matplotlib", "solara", "scipy", "networkx"}


def test_importing_the_package_imports_nothing_heavy() -> None:
    loaded = loaded_after("import sabm_mesa; dir(sabm_mesa)")

    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("sabm_mesa")} == {"sabm_mesa"}


def test_a_scenario_without_a_language_model_needs_neither_the_client_nor_a_viewer() -> None:
    loaded = loaded_after(
        "from sabm_mesa import KeynesianBeautyContest as K; K(n_players=3, rng=1).run_model()"
    )

    assert "mesa" in loaded
    assert not loaded & {"openai", "matplotlib", "solara", "typer"}
