"""The registry of scenarios: name → model class.

Other packages register scenarios as entry points in the group ``sabm_mesa.scenarios``: the name of
the scenario, and ``module:Class``. They are imported on first use, and an unusable one does not
affect the others.

A scenario in a file, ``FILE.py`` or ``FILE.py:Class``, is known by its name after `load` has loaded
the file. A recording names the file of its scenario, which is loaded only if the user has loaded
that file before (`LOADED_FILES`): recordings come from others, too. An address in a browser runs no
file.
"""

from __future__ import annotations

import ast
import json
import logging
import os
import re
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from sabm_mesa.core.toml_io import expand_home, state_file
from sabm_mesa.errors import (
    OutputError,
    SabmError,
    UnknownName,
    UsageError,
    error_message,
    format_user_error,
    one_line,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import ModuleType

    from sabm_mesa.models.base import SmartModel


SCENARIOS = {
    "beauty-contest": "sabm_mesa.models.beauty_contest.repeated.model:RepeatedBeautyContest",
    "bertrand": "sabm_mesa.models.bertrand.model:BertrandCompetition",
    "cocktail-party": "sabm_mesa.models.pairs.cocktail_party.model:CocktailParty",
    "evacuation": "sabm_mesa.models.evacuation.model:EmergencyEvacuation",
    "fishery": "sabm_mesa.models.commons.model:Fishery",
    "games": "sabm_mesa.models.games.model:FiniteGame",
    "kbc": "sabm_mesa.models.beauty_contest.kbc.model:KeynesianBeautyContest",
    "pasture": "sabm_mesa.models.commons.model:Pasture",
    "pollution": "sabm_mesa.models.commons.model:Pollution",
    "public-goods": "sabm_mesa.models.public_goods.model:PublicGoods",
    "sentence-making": "sabm_mesa.models.pairs.sentence_making.model:SentenceMaking",
}
"""The scenarios of this package."""
UNLISTED = {
    "judge": "sabm_mesa.studies.judging:Judging",
    "probe": "sabm_mesa.studies.probe:Probe",
}
"""Models with a command of their own (``sabm judge``, ``sabm probe``). They are not listed as
scenarios; their recordings replay and resume like all others."""
PLAIN = "sabm_mesa.runs.plain:run_class"
"""Makes the class that plays a plain Mesa model."""
GROUP = "sabm_mesa.scenarios"
"""The group of the entry points of other packages."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<cls>\w+))?")
_loaded: dict[str, tuple[type[SmartModel], str]] = {}
"""Name → scenario of a loaded file, and the file as given."""
LOADED_FILES = "scenarios.json"
"""The file with the paths of the scenario files that the user has loaded."""
MOST_REMEMBERED = 1000
_log = logging.getLogger(__name__)


class ExternalScenario(NamedTuple):
    """A scenario of another package.

    Attributes:
        name: its name.
        package: the name and version of the package that is installed.
        address: ``module:Class``.
    """

    name: str
    package: str
    address: str


class FoundScenarios(NamedTuple):
    """All available scenarios.

    Attributes:
        models: name → model class, of the usable scenarios.
        problems: a line with the reason for each unusable scenario.
    """

    models: dict[str, type[SmartModel]]
    problems: list[str]


def names() -> list[str]:
    """The names of all scenarios, those of this package first, without importing them."""
    return list(dict.fromkeys([*SCENARIOS, *outside(), *_loaded]))


def scenario(name: str) -> type[SmartModel]:
    """The model class of a scenario.

    Raises:
        UnknownName: when there is no such scenario.
        UsageError: when the scenario of another package cannot be used.
    """
    if name in _loaded:
        return _loaded[name][0]
    if name in SCENARIOS:
        _warn_of_another(name)
        return _at(SCENARIOS[name])
    if name in outside():
        return _load_external(outside()[name])
    raise UnknownName("scenario", name, names(), _hint(name))


def is_file(name: str) -> bool:
    """Whether a text names a scenario in a file: ``FILE.py`` or ``FILE.py:Class``."""
    return _FILE.fullmatch(name) is not None


def load(name: str) -> type[SmartModel]:
    """The model class of a scenario, by its name or from a file, which is executed.

    From then on, modules are first searched in the folder of the file, as Python does for a script;
    for a file in a package, in the folder above the package.

    Raises:
        UnknownName: when there is no scenario of that name.
        UsageError: when the file or the scenario in it cannot be used.
    """
    named = _FILE.fullmatch(name)
    if named is None:
        return scenario(name)
    from sabm_mesa.models.base import SmartModel

    path = expand_home(named["path"])
    module = _imported(path)
    models = _models_in(module, SmartModel)
    if plain := _plain_model(module, named["cls"] or ""):
        return _keep(plain, name, path)
    bases = {base for model in models.values() for base in model.__mro__[1:]}
    chosen = (
        [named["cls"]] if named["cls"] else [n for n, model in models.items() if model not in bases]
    )
    if chosen[1:]:
        raise UsageError(f"{path} has several scenarios: name one, as in {path}:{chosen[0]}.")
    model = models.get(chosen[0]) if chosen else None
    if model is None:
        raise UsageError(
            f"{path} has no {'scenario' if not chosen else f'scenario {chosen[0]!r}'}: it needs a "
            "class derived from sabm_mesa.SmartModel."
        )
    scenario_name = getattr(model, "scenario_name", None)
    if not (isinstance(scenario_name, str) and _NAME.fullmatch(scenario_name)):
        raise UsageError(
            f"{path}: the class attribute scenario_name of {model.__name__} must be a text of "
            "letters, digits, - and _."
        )
    if scenario_name in {*SCENARIOS, *UNLISTED}:
        raise UsageError(
            f"{path}: the scenario_name {scenario_name!r} of {model.__name__} is that of a "
            "scenario of this package: choose another."
        )
    return _keep(model, name, path)


def _keep(model: type[SmartModel], given: str, path: Path) -> type[SmartModel]:
    """Know the scenario of a file by its name, and remember the file."""
    _loaded[model.scenario_name] = model, given
    path = path.resolve()
    try:
        model.loaded_from = os.path.relpath(path)
    except ValueError:  # on another drive
        model.loaded_from = str(path)
    _remember(path)
    return model


def recorded_model(address: str, name: str, file: str, recording: Path) -> type[SmartModel]:
    """The model class of a recorded run whose scenario is in a file.

    Raises:
        UsageError: when the file or the class is not there, or the user has not loaded the file
            before.
    """
    module, _, cls = address.partition(":")
    given = [
        model for model, _ in _loaded.values()
        if model.__module__ == module or model.scenario_name == name
    ]  # fmt: skip
    if len(given) == 1:
        return given[0]
    if not file:
        raise UsageError(
            "it is not registered here: give its file with --scenario FILE.py, or continue in "
            "Python with scenario=YourModel."
        )
    folders = (Path.cwd(), *recording.resolve().parents)
    paths = [path for folder in folders if (path := _existing(folder / file))]
    if not paths:
        raise UsageError(
            f"its file {file} is not here: if it was renamed or moved, give it with --scenario "
            "FILE.py."
        )
    path = next((path for path in paths if str(path) in _remembered()), None)
    if path is None:
        raise UsageError(
            f"its file is {paths[0]}, which you have not run on this computer before: to run it, "
            f"give it with --scenario {quote(os.path.relpath(paths[0]))}."
        )
    defined = set(_models_in(_imported(path), object))
    if cls not in defined:
        raise UsageError(
            f"its file {path} has no class {cls}: if it was renamed, give it with --scenario "
            f"{quote(os.path.relpath(path))}:CLASS."
        )
    return load(f"{path}:{cls}")


def _existing(path: Path) -> Path | None:
    """The whole path of a file; None when there is none, or a recorded path is nonsense."""
    with suppress(OSError, ValueError, RuntimeError):
        return path.resolve() if path.is_file() else None
    return None


def _remembered() -> list[str]:
    """The files of scenarios that the user has loaded, the latest last."""
    file = state_file(LOADED_FILES)
    with suppress(OSError, ValueError, RecursionError):
        stored = json.loads(file.read_text("utf-8")) if file else []
        return [path for path in stored if isinstance(path, str)]
    return []


def _remember(path: Path) -> None:
    """Remember that the user has loaded a file; a list that cannot be written is ignored."""
    known, file = _remembered(), state_file(LOADED_FILES)
    if file is None or str(path) in known:
        return
    from sabm_mesa.recording.export import write_file

    with suppress(OSError, OutputError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(file, json.dumps([*known, str(path)][-MOST_REMEMBERED:]))


def load_given(name: str | None, recording: Path | None = None) -> None:
    """Load the scenario file of a recording, so that the scenario is known by its name.

    Raises:
        UsageError: when the given file cannot be used.
    """
    if name is not None:
        load(name)
    elif recording is not None:
        from sabm_mesa.recording import load_runs

        with suppress(SabmError):
            for run in load_runs(recording):
                if run.file and model_at(run.model) is None:
                    recorded_model(run.model, run.scenario, run.file, run.path)


def _models_in(module: ModuleType, base: type) -> dict[str, type[Any]]:
    """Name → class derived from a base that a module defines."""
    return {
        var.__name__: var
        for var in vars(module).values()
        if isinstance(var, type) and issubclass(var, base)
        and var.__module__ == module.__name__
    }  # fmt: skip


def _plain_model(module: ModuleType, name: str) -> type[SmartModel] | None:
    """The class that plays a plain Mesa model of a module, if it is named or the only model."""
    import mesa

    from sabm_mesa.models.base import SmartModel

    models = _models_in(module, mesa.Model)
    if not name and len(models) == 1:
        (name,) = models
    model = models.get(name)
    if model is None or issubclass(model, SmartModel):
        return None
    run_class: Any = _at(PLAIN)
    return run_class(model)  # type: ignore[no-any-return]


def option_for(name: str) -> str:
    """The command-line option for recordings of a scenario: ``""`` unless they do not find it."""
    if name not in _loaded:
        return ""
    model, given = _loaded[name]
    is_found = str(Path(model.loaded_from).resolve()) in _remembered()
    return "" if is_found else f" --scenario {quote(given)}"


def given_as(name: str) -> str:
    """The word for a scenario in a command: its file if it came from one, or else its name."""
    return _loaded[name][1] if name in _loaded else name


def _imported(path: Path) -> ModuleType:
    """The module of a file."""
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    root, parts = path.resolve().parent, [path.stem]
    while (root / "__init__.py").is_file():
        root, parts = root.parent, [root.name, *parts]
    if not all(part.isidentifier() for part in parts):
        raise UsageError(f"{path}: the name of a Python file has letters, digits and _.")
    name = ".".join(parts)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        module = import_module(name)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{path} cannot be used: {format_user_error(error)}") from error
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise UsageError(f"{path} has the name of another module, {name}: rename the file.")
    return module


def find_all() -> FoundScenarios:
    """Import all scenarios; unusable ones are reported and left out."""
    models, problems = {}, list(_left_out().values())
    for name in names():
        try:
            models[name] = _at(SCENARIOS[name]) if name in SCENARIOS else scenario(name)
        except UsageError as error:
            problems.append(str(error))
    return FoundScenarios(models, problems)


def find_titles() -> tuple[dict[str, str], list[str]]:
    """The titles of all scenarios, and a line for each that cannot be used.

    The titles of this package's scenarios are read from their source, since importing them and Mesa
    takes more than a second.
    """
    titles_of_package = {
        name: _title_in_source(*address.split(":")) for name, address in SCENARIOS.items()
    }
    titles, problems = {}, list(_left_out().values())
    for name in names()[len(SCENARIOS) :]:
        try:
            titles[name] = scenario(name).title
        except UsageError as error:
            problems.append(str(error))
    return titles_of_package | titles, problems


def _title_in_source(module: str, cls: str) -> str:
    path = Path(__file__).parents[1].joinpath(*module.split(".")[1:]).with_suffix(".py")
    (body,) = (
        definition.body
        for definition in ast.parse(path.read_bytes()).body
        if isinstance(definition, ast.ClassDef) and definition.name == cls
    )
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name("title")], value=ast.Constant(str(title))):
                return title
    raise UsageError(f"{module}:{cls} has no title.")


def model_at(address: str) -> type[SmartModel] | None:
    """The model class that a recording names, if it is registered.

    Returns:
        The class, including classes of files from `load`. None if the address is neither a scenario
        nor an unlisted model: then only scenarios of the same package are imported, since an entry
        point may use another address.

    Raises:
        UsageError: when the scenario of another package at this address cannot be used.
    """
    package, cls = _root(address), address.rpartition(":")[2]
    for known in (*SCENARIOS.values(), *UNLISTED.values()):
        if (package, cls) == (_root(known), known.rpartition(":")[2]):  # its module may have moved
            return _at(known)
    for model, _ in _loaded.values():
        if f"{model.__module__}:{model.__name__}" == address:
            return model
    candidates = [
        external for external in outside().values() if _root(external.address) == _root(address)
    ]
    for external in candidates:
        if external.address == address:
            return _load_external(external)
    for external in candidates:
        with suppress(UsageError):
            candidate = _load_external(external)
            if f"{candidate.__module__}:{candidate.__name__}" == address:
                return candidate
    return None


def outside() -> dict[str, ExternalScenario]:
    """Name → scenario of another package, in alphabetical order."""
    known: dict[str, ExternalScenario] = {}
    for external in _installed():
        if external.name not in {*SCENARIOS, *UNLISTED}:
            known.setdefault(external.name, external)
    return known


def _left_out() -> dict[str, str]:
    """Name → a warning, for scenarios of other packages whose name is taken."""
    built_in = dict.fromkeys((*SCENARIOS, *UNLISTED), "this package")
    taken = built_in | {external.name: external.package for external in outside().values()}
    return {
        external.name: f"The scenario {external.name!r} of {external.package} is left out, since "
        f"{taken[external.name]} has one of that name, which is used: rename or uninstall one "
        "of them."
        for external in _installed()
        if outside().get(external.name) != external
    }


@cache
def _warn_of_another(name: str) -> None:
    """Warn once that another package has a scenario with the same name."""
    if name in _left_out():
        _log.warning("%s", _left_out()[name])


def _installed() -> list[ExternalScenario]:
    return _installed_on(tuple(sys.path))


@cache
def _installed_on(_path: tuple[str, ...]) -> list[ExternalScenario]:
    """Return the installed scenarios, looked up once for each path on which Python searches."""
    from importlib.metadata import entry_points

    return sorted({_outside(point) for point in entry_points(group=GROUP)})


def _outside(point: EntryPoint) -> ExternalScenario:
    dist = point.dist
    package = "an unknown package" if dist is None else f"{dist.name} {dist.version}"
    return ExternalScenario(one_line(point.name), one_line(package), one_line(point.value))


def _load_external(external: ExternalScenario) -> type[SmartModel]:
    from sabm_mesa.models.base import SmartModel

    where = (
        f"The scenario {external.name!r} of {external.package} ({external.address}) cannot be used"
    )
    fix = "fix that package, or uninstall it"
    if not _NAME.fullmatch(external.name):
        raise UsageError(f"{where}: its name must be letters, digits, - and _; {fix}.")
    try:
        model: Any = _at(external.address)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error_message(error)}"
        raise UsageError(f"{where}: {reason}; {fix}.") from error
    if not (isinstance(model, type) and issubclass(model, SmartModel)):
        raise UsageError(f"{where}: it is no subclass of SmartModel; {fix}.")
    if getattr(model, "scenario_name", None) != external.name:
        raise UsageError(f"{where}: its scenario_name must be {external.name!r}; {fix}.")
    return model


def _hint(name: str) -> str:
    """The next step for the name of a recording, or of a package that is here and not installed."""
    if name.endswith(".sqlite"):
        return "It is a recording: open it with sabm view, or repeat its runs with sabm replay."
    with suppress(OSError):  # not a possible file name
        for folder in (Path(name), Path()):
            if (folder / "pyproject.toml").is_file() and (folder / name / "__init__.py").is_file():
                return f"One that is here is not installed: pip install -e {quote(str(folder))}"
    return ""


def _root(address: str) -> str:
    return address.partition(":")[0].partition(".")[0]


def _at(address: str) -> type[SmartModel]:
    module, _, cls = address.partition(":")
    model: type[SmartModel] = getattr(import_module(module), cls)
    return model
