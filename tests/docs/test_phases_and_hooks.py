"""The reference of scenarios: it names every phase, hook and attribute; its example uses them."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from sabm_mesa import Phase, Recording, SmartModel
from sabm_mesa.models import registry
from sabm_mesa.models.declarations import Declarations
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.rerun import fork
from sabm_mesa.runs.run import run_all
from sabm_mesa.testing import check_scenario

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/scenario-reference.md").read_text("utf-8")
FAIR = ROOT / "examples/fair/fair.py"
HOOKS = [
    name
    for name, method in vars(SmartModel).items()
    if inspect.isfunction(method) or isinstance(method, classmethod)
    if "A scenario may override it" in (method.__doc__ or "")
    or "A scenario overrides it" in (method.__doc__ or "")
]


@pytest.fixture(scope="module")
def fair() -> Iterator[type[SmartModel]]:
    """The scenario of the example."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FAIR.parent)
        patch.setattr(registry, "_loaded", {})
        yield registry.load(str(FAIR))


def test_every_part_of_a_phase_and_every_hook_is_in_a_table_and_in_the_example() -> None:
    code = FAIR.read_text("utf-8")
    for part in (each.name for each in fields(Phase)):
        assert f"| `{part}` |" in PAGE
        assert f" {part}=" in code
    assert {"begin_round", "update", "end_measures", "apply_fork"} <= set(HOOKS)
    for hook in HOOKS:
        assert f"`{hook}(" in PAGE
        assert f"def {hook}(" in code or hook == "identity"
    assert "def before_buy(" in code


def test_every_class_attribute_of_a_model_is_in_the_reference() -> None:
    named: list[str] = []
    for documented in (SmartModel, Declarations):
        part = r"Class attributes:\n(.*?)\n(?:\n| {4}$)"
        section = re.search(part, documented.__doc__ or "", re.DOTALL | re.MULTILINE)
        assert section
        named += re.findall(r"^ {8}(\w+):", section[1], re.MULTILINE)

    assert len(named) > 15
    assert not [name for name in named if f"`{name}`" not in PAGE]


def test_the_example_conforms(fair: type[SmartModel]) -> None:
    check_scenario(fair)


def test_the_hooks_of_the_example_do_what_they_say(fair: type[SmartModel], tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with Recording(path) as opened:
        runs = run_all(fair, {"minds": "fixed:buy"}, seed=1, recording=opened)
    (model,) = runs.models

    assert list(model.columns()) == ["sold", "points_1", "points_2", "points_3", "points_4"]
    assert model.end_measures() == {"sold_in_all": model.model_frame()["sold"].sum()}
    assert list(runs.figures()) == ["share"]
    said = Recorded(path).messages()
    assert set(said[said["phase"] == "bargain"]["to"]) == {"1", "2", "3", "4"}
    assert set(said[said["phase"] == "greet"]["round"]) == {0}
    bought = model.agent_frame().groupby("agent")["eaten"].max()
    assert bought.max() <= 6
    (dearer,) = fork(path, 1, {"price": 0.8}, tmp_path / "fork.sqlite", scenario=fair).models
    assert dearer.with_tax == pytest.approx(0.88)
