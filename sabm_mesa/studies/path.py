"""The folder of a study, and the commands from its question to its supplement.

A step is a command of ``sabm`` with its options, and the file that it leaves behind. A step whose
file exists is done.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from jinja2 import Environment, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sabm_mesa.errors import ParameterError
from sabm_mesa.recording.export import write_folder

SETTINGS = "study.toml"
PILOT_SEED = 1_000_001
"""The first seed of the pilot: its runs are none of the study's."""
_Count = Annotated[int, Field(ge=1, le=1_000_000)]


class StudySettings(BaseModel):
    """How a study is run.

    Attributes:
        scale: the scale of the experiment, ``quick`` or ``paper``.
        pilot_runs: runs per condition of the pilot.
        runs: runs per condition; 0 when the pilot decides.
        power: the power that the number of runs is computed for.
        claim: the number of the primary claim, from 1.
        budget_usd: the most that the pilot and the runs may each cost, in dollars.
        measure: the end measure that is compared.
        by: the parameters that are compared, with commas between them.
        minds: condition or slot → who decides.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scale: str = "quick"
    pilot_runs: _Count = 8
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
        product: the file or folder that shows that it is done.
        asks: whether language models may answer in it.
    """

    name: str
    arguments: tuple[str, ...]
    product: Path
    asks: bool = False

    @property
    def done(self) -> bool:
        """Whether its product exists."""
        return self.product.exists()


def new_study(title: str, into: Path) -> Path:
    """Write the folder of a new study: an example that works, to be changed.

    Args:
        title: its title, from which the name of the folder and of the experiment is made.
        into: where the folder is made.

    Returns:
        The folder.

    Raises:
        ParameterError: for a title without a letter, or with a sign that cannot be printed.
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
        first = command_of((*steps[0].arguments, "--cost"))
        return engine.from_string(source).render(title=title, name=name, steps=[first, *commands])

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
    return [path for place in places if (path := place / f"{name}.jinja").is_file()]


def read_study(folder: Path) -> list[Step]:
    """Read the folder of a study.

    Args:
        folder: the folder, with ``study.toml`` and the TOML file of one experiment.

    Returns:
        Its steps, in order.

    Raises:
        ParameterError: when a file is missing or says something wrong.
    """
    path = folder / SETTINGS
    experiments = [file for file in sorted(folder.glob("*.toml")) if file.name != SETTINGS]
    if not path.is_file() or len(experiments) != 1:
        raise ParameterError(
            f"{folder} is no folder of a study, which has {SETTINGS} and the TOML file of one "
            'experiment: make one with sabm study new "TITLE".'
        )
    try:
        settings = StudySettings.model_validate(tomllib.loads(path.read_text("utf-8")))
    except ValidationError as invalid:
        problem = invalid.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        raise ParameterError(f"{path}: {place}: {problem['msg']}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ParameterError(f"{path} is no TOML file: {error}.") from None
    return _steps(folder, experiments[0].stem, settings)


def command_of(arguments: tuple[str, ...]) -> str:
    """Return the command as it is typed in a shell.

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
    return [
        Step("pilot", ("reproduce", *common, *trial, *budget, "--out", str(pilot)),
             pilot / name / "summary.json", asks=True),
        Step("register", ("register", *common, "--claim", str(settings.claim), *enough, *into),
             study / "registration.json"),
        Step("run", ("reproduce", *common, *budget, *into), study / "summary.json", asks=True),
        Step("compare", ("compare", str(study), *compared, "--figures", "pdf,png"),
             study / "compare"),
        Step("bundle", ("bundle", str(study / "recording.sqlite")), study / "bundle"),
    ]  # fmt: skip
