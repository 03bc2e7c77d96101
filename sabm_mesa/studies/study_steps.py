"""The folder of a study, and the commands from its question to its supplement.

A step is a command of ``sabm`` with its options, and its output file. At its end, `finish` writes
its inputs: its command and those of the steps that it builds on, without budgets, and the SHA-256
of the experiment. A step is done when these are its present inputs.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from jinja2 import Environment, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sabm_mesa.core.toml_io import read_toml
from sabm_mesa.errors import ParameterError
from sabm_mesa.recording.export import readable_json, write_folder, write_text_file

SETTINGS = "study.toml"
FINISHED = "finished.json"
"""The file with the inputs of the finished steps."""
PILOT_SEED = 1_000_001
"""The first seed of the pilot, which shares no runs with the study."""
_Count = Annotated[int, Field(ge=1, le=1_000_000)]


class StudySettings(BaseModel):
    """The settings of a study.

    Attributes:
        scale: the scale of the experiment, ``quick`` or ``paper``.
        pilot_runs: runs per condition of the pilot.
        runs: runs per condition; 0 when the pilot decides.
        power: the power for the number of runs.
        claim: the number of the primary claim, from 1.
        budget_usd: the maximum cost of the pilot and of the runs each, in dollars.
        measure: the end measure that is compared.
        by: the compared parameters, separated by commas.
        minds: condition or slot → who decides.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scale: str = "quick"
    pilot_runs: _Count = 12
    runs: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    power: Annotated[float, Field(ge=0.01, le=0.99)] = 0.8
    claim: _Count = 1
    budget_usd: Annotated[float, Field(ge=0)] = 5.0
    measure: str
    by: str
    minds: dict[str, str]


@dataclass(frozen=True)
class Step:
    """A step of a study.

    Attributes:
        name: its name.
        arguments: the words after ``sabm``.
        product: its output file or folder.
        output: the folder to delete before a repetition.
        asks: whether it may ask language models.
        needs: the steps that it builds on.
        once: whether it is not run again once its product exists.
        state: ``done``, ``changed`` (it was run with other settings) or ``""`` (not run yet).
    """

    name: str
    arguments: tuple[str, ...]
    product: Path
    output: Path
    asks: bool = False
    needs: tuple[str, ...] = ()
    once: bool = False
    state: str = ""


def new_study(title: str, into: Path) -> Path:
    """Write the folder of a new study: a working example to change.

    Args:
        title: its title, from which the names of the folder and of the experiment are derived.
        into: the parent folder.

    Returns:
        The folder.

    Raises:
        ParameterError: for a title without letters, or with unprintable characters.
        OutputError: when the folder exists already, or cannot be written.
    """
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40].strip("-")
    if not re.search("[a-z]", name) or not title.isprintable() or '"' in title or "\\" in title:
        raise ParameterError(
            f'{title!r} cannot be the title of a study: write words, such as "personas x models".'
        )
    templates = files("sabm_mesa.scaffold").joinpath("study")
    settings = templates.joinpath(SETTINGS).read_text("utf-8")
    steps = _steps(Path(), name, StudySettings.model_validate(tomllib.loads(settings)))
    commands = [command_of(step.arguments) for step in steps]
    engine = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)

    def text(template: str) -> str:
        (path,) = [*_templates(template)]
        source = path.read_text("utf-8")
        return engine.from_string(source).render(title=title, name=name, steps=commands)

    return write_folder(
        into / name,
        {
            SETTINGS: settings,
            f"{name}.toml": text("study.toml"),
            "README.md": text("README.md"),
        },
    )


def _templates(name: str) -> list[Path]:
    """The template of this name: of the folder of a study, or beside the scenario that it uses."""
    package = Path(str(files("sabm_mesa")))
    places = [package / "scaffold" / "study", *(package / "models").iterdir()]
    return [path for folder in places if (path := folder / f"{name}.jinja").is_file()]


def read_study(folder: Path) -> list[Step]:
    """Read the folder of a study.

    Args:
        folder: the folder, with ``study.toml`` and the TOML file of one experiment.

    Returns:
        Its steps, in order.

    Raises:
        ParameterError: when a file is missing or invalid.
    """
    name, settings = _read(folder)
    made, known = _made_with(folder, name, settings), _finished(folder)

    def state(step: Step) -> str:
        if not step.product.exists():
            return ""
        if step.name in known:
            return "done" if known[step.name] == made[step.name] else "changed"
        return "done" if step.once else ""

    return [replace(step, state=state(step)) for step in _steps(folder, name, settings)]


def made_with(folder: Path) -> dict[str, Any]:
    """Return the current inputs of the steps: step → commands and experiment.

    Args:
        folder: the folder of the study.

    Raises:
        ParameterError: see `read_study`.
    """
    name, settings = _read(folder)
    return _made_with(folder, name, settings)


def finish(folder: Path, step: str, made: Any) -> None:
    """Write down that a step has ended.

    Args:
        folder: the folder of the study.
        step: the name of the step.
        made: its inputs from `made_with`, before it began.

    Raises:
        OutputError: when it cannot be written.
    """
    text = readable_json({**_finished(folder), step: made})
    write_text_file(folder / FINISHED, text + "\n")


def _read(folder: Path) -> tuple[str, StudySettings]:
    """The name of the experiment in a folder, and the settings."""
    path = folder / SETTINGS
    experiments = [file for file in sorted(folder.glob("*.toml")) if file.name != SETTINGS]
    if not path.is_file() or len(experiments) != 1:
        raise ParameterError(
            f"{folder} is not the folder of a study, which has {SETTINGS} and the TOML file of one "
            'experiment: make one with sabm study new "TITLE".'
        )
    try:
        settings = StudySettings.model_validate(
            read_toml(path, "settings of the study", ParameterError)
        )
    except ValidationError as invalid:
        problem = invalid.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        raise ParameterError(f"{path}: {key}: {problem['msg']}.") from None
    return experiments[0].stem, settings


def _finished(folder: Path) -> dict[str, Any]:
    path = folder / FINISHED
    try:
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    except ValueError:
        known = None
    if not isinstance(known, dict):
        raise ParameterError(f"{path} is damaged: delete it, and the steps are run again.")
    return known


def _made_with(folder: Path, name: str, settings: StudySettings) -> dict[str, Any]:
    digest = hashlib.sha256((folder / f"{name}.toml").read_bytes()).hexdigest()
    commands: dict[str, list[str]] = {}
    # Relative to the folder, so that it may be moved; a budget changes no result.
    for step in _steps(Path(), name, settings.model_copy(update={"budget_usd": 0.0})):
        before = [command for needed in step.needs for command in commands[needed]]
        commands[step.name] = [*before, command_of(step.arguments)]
    return {step: {"commands": made, "experiment": digest} for step, made in commands.items()}


def command_of(arguments: tuple[str, ...]) -> str:
    """Return the command for a shell.

    Args:
        arguments: the words after ``sabm``.
    """
    from shlex import join

    return join(["sabm", *arguments])


def _steps(folder: Path, name: str, settings: StudySettings) -> list[Step]:
    experiment, pilot = str(folder / f"{name}.toml"), folder / "pilot"
    study = folder / "study" / name
    minds = [
        word for slot, spec in settings.minds.items() for word in ("--minds", f"{slot}={spec}")
    ]
    common = (experiment, "--scale", settings.scale, *minds)
    budget = ("--budget-usd", f"{settings.budget_usd:g}")
    enough = (
        ("--runs", str(settings.runs))
        if settings.runs
        else ("--pilot", str(pilot / name), "--power", f"{settings.power:g}")
    )
    compared = ("--measure", settings.measure, "--by", settings.by)
    trial = ("--runs", str(settings.pilot_runs), "--seed", str(PILOT_SEED))
    into = ("--out", str(study.parent))
    needed = () if settings.runs else ("pilot",)
    return [
        Step("pilot", ("reproduce", *common, *trial, *budget, "--out", str(pilot)),
             pilot / name / "summary.json", pilot, asks=True),
        Step("register", ("register", *common, "--claim", str(settings.claim), *enough, *into),
             study / "registration.json", study.parent, needs=needed,
             once=True),
        Step("run", ("reproduce", *common, *budget, *into), study / "summary.json",
             study.parent, asks=True, needs=("register",)),
        Step("compare", ("compare", str(study), *compared, "--figures", "pdf,png"),
             study / "compare", study / "compare", needs=("run",)),
        Step("bundle", ("bundle", str(study / "recording.sqlite")), study / "bundle",
             study / "bundle", needs=("run",), once=True),
    ]  # fmt: skip
