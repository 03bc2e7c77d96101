"""The conformance check: whether a scenario meets the promises of every scenario.

On the command line: ``sabm check FILE.py``. In a test of a custom scenario::

    from sabm_mesa.testing import check_scenario

    from my_scenario.model import MyScenario


    def test_my_scenario_conforms():
        check_scenario(MyScenario)

It plays the scenario about 30 times without a key, and needs only the package itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.errors import error_message
from sabm_mesa.testing.case import Case
from sabm_mesa.testing.checks import CHECKS, form

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

__all__ = ["POINTS", "Examined", "check_scenario", "examine"]

POINTS = list(CHECKS)
"""The points of the check, in their order."""
OF_PLAIN_MODELS = ("same seed", "prompts", "classical minds")
"""The points that are checked of a plain Mesa model."""
COMPARING = ("latency", "replay", "fork", "mixed minds", "batch_run")
"""The points that compare two runs with one seed."""
SEED_DIFFERS = "two runs with one seed differ"
ROUNDS = 3
"""The default number of rounds of a run, if the scenario's default is larger."""
USUAL_ROUNDS = 50
"""The default maximum number of rounds of the long run."""


def check_scenario(model: type[SmartModel], **parameters: Any) -> None:
    """Check that a scenario conforms.

    ================== ============================================================================
    point              what must hold
    ================== ============================================================================
    form               name, title, source, prompts and phases are set; its module has a
                       docstring, the spec sheet; every parameter has a default within its limits;
                       every phase has its methods; a score names a column and a parameter; a page
                       can be loaded
    same seed          two runs with one seed have the same data, to the last digit
    world              agents change only themselves in their methods of the phases, not the model
                       or other agents
    latency            the same answers, however late each comes, give the same data and questions
    replay             a recorded run whose answers are paid for is replayed without its mind, and
                       all requests and data come out as they were
    fork               a fork with the same parameters, the `changeable` ones named, has the same
                       data; after one to other minds no old one is asked
    mixed minds        agents of one run have different minds, each the one that it is given, and
                       such a run is replayed
    people             two people take part at seats of their own, which take each answer that is
                       an example of a legal one
    batch_run          ``mesa.batch_run`` plays it and collects the same data
    prompts            every question renders in every condition and variant and in both formats
                       of answers, no placeholder is left over, a persona is among what is sent,
                       and conditions and variants replace entries that there are
    classical minds    each of them answers usably, and reads no fact that no prompt shows
    answers            each case of every answer, such as each action of a union, is legal and can
                       be applied
    invalid answers    when no answer can be used the run ends as usual, every decision is counted
                       as invalid, and no agent column that holds the answers holds a new value
    cost               runs ask as many questions at most as the estimate of their cost says
    describe           it can be described
    whole run          a run of as many rounds as by default, `USUAL_ROUNDS` at most, ends with free
                       minds, and its pictures and plots are drawn
    ================== ============================================================================

    Args:
        model: the model class.
        parameters: parameters of the runs: small ones make it quick. `n_rounds` is at most 3 by
            default: only the long run reaches later rounds. The check sets minds and recordings
            itself.

    Raises:
        AssertionError: with a line for each problem and its points. If the form does not hold, or a
            run raises an error at the first point that plays it, nothing else is checked.
    """
    __tracebackhide__ = True  # pytest then shows the test, and not this
    result, first = _examine(model, parameters)
    if result.problems:
        name = getattr(model, "__name__", repr(model))
        lines = "".join(
            f"\n- {', '.join(on)}: {problem}" for problem, on in result.problems.items()
        )
        raise AssertionError(f"The scenario {name} does not conform:{lines}") from first


class Examined(NamedTuple):
    """The result of a check.

    Attributes:
        problems: problem → its points.
        not_checked: reason outside the scenario → the points that could not be checked.
    """

    problems: dict[str, list[str]]
    not_checked: dict[str, list[str]]


def examine(model: type[SmartModel], **parameters: Any) -> Examined:
    """Check a scenario as `check_scenario` does, and return the result."""
    return _examine(model, parameters)[0]


def _examine(
    model: type[SmartModel], parameters: Mapping[str, Any]
) -> tuple[Examined, Exception | None]:
    """The result, and the first exception."""
    is_plain = hasattr(model, "plain_class")
    problems = {} if is_plain else {problem: ["form"] for problem in form(model)}
    if problems:
        return Examined(problems, {}), None
    points = [*OF_PLAIN_MODELS] if is_plain else POINTS
    others = [point for point in POINTS if point not in points]
    with TemporaryDirectory(prefix="sabm-") as folder:
        small, usual = _rounds(model, parameters)
        case = Case(model, {"n_rounds": small, **parameters}, Path(folder), usual)
        result, first = _played(case, points)
    if others:
        result.not_checked[f"{model.__name__} is a plain Mesa model"] = others
    return result, first


def _played(case: Case, points: Iterable[str]) -> tuple[Examined, Exception | None]:
    """The same for the points that play the scenario."""
    result = Examined({}, {})
    first: Exception | None = None
    for point in points:
        if point in result.not_checked.get(SEED_DIFFERS, ()):
            continue
        check, stops, named = CHECKS[point], False, point
        try:
            problems = list(check(case))
            stops = point == "form" and bool(problems)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is wrong
            first = first or error
            reason = error_message(error)
            known = [problem for problem in result.problems if reason in problem]
            problems = known[:1] or [f"{type(error).__name__}: {reason}"]
            stops = point in {"form", "same seed"}  # it cannot be played
            named = "first run" if point == "same seed" else point
        else:
            skipped = [other for other in points if other in COMPARING]
            if point == "same seed" and problems and skipped:
                result.not_checked[SEED_DIFFERS] = skipped
        for line in problems:
            result.problems.setdefault(line, []).append(named)
        if stops:
            break
    return result, first


def _rounds(model: type[SmartModel], parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    """The rounds of the runs, and of the long one."""
    if (given := parameters.get("n_rounds")) is not None:
        return given, given
    default = parameters_of(model)["n_rounds"].default
    usual = default if isinstance(default, int) else ROUNDS
    return min(usual, ROUNDS), min(usual, USUAL_ROUNDS)
