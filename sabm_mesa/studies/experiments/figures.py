"""The figures of a report: comparisons of conditions, and the scenario's plots of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sabm_mesa.analysis import plot_style as style
from sabm_mesa.errors import one_line
from sabm_mesa.models.declarations import load_plots
from sabm_mesa.studies import plots
from sabm_mesa.studies.experiments.design import Measure, Plot
from sabm_mesa.studies.experiments.results import Results
from sabm_mesa.studies.experiments.running import Outcome
from sabm_mesa.studies.people import human_distributions

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel


"""Source of variance → its label, if that is not its name."""


@dataclass(frozen=True)
class ReportFigure:
    """A figure of a report.

    Attributes:
        name: its file name without ending.
        alt: the alternative text.
        caption: the text below it.
        figure: the figure of matplotlib.
        own: whether it is a plot of the scenario for one condition.
    """

    name: str
    alt: str
    caption: str
    figure: Any
    own: bool = False


def drawings(results: Results) -> list[ReportFigure]:
    """All figures of a report, in the order in which it shows them.

    Args:
        results: the results of the experiment.
    """
    asked = results.outcome.plan.experiment.plots
    drawn = [_plot(results, number, plot) for number, plot in enumerate(asked, 1)]
    drawn += [_measures(results), *_of_scenario(results)]
    for drawing in drawn:
        style.freeze_layout(drawing.figure)
    return drawn


def labels(results: Results) -> dict[str, str]:
    """Condition → its label; a condition named after its minds gets the present minds."""
    minds = results.minds()
    return {
        condition.name: f"{condition.label} (here: {minds[condition.name]})"
        if condition.minds and condition.minds != without_address(minds[condition.name])
        else condition.label
        for condition in results.outcome.plan.experiment.conditions
    }


def without_address(minds: str) -> str:
    """Minds in words, without the address of the endpoint."""
    return re.sub(r"@https?://[^\s,]*", "", minds)


def measure_name(measure: Measure) -> str:
    """The label of a measure, with its unit."""
    return f"{measure.label} ({measure.unit})" if measure.unit else measure.label


def runs_in_words(n: int) -> str:
    """The number of runs per condition, in words."""
    return "1 run a condition" if n == 1 else f"{n} runs a condition"


def _subtitle(results: Results) -> str:
    """The minds that decided, and the number of runs."""
    minds = dict.fromkeys(results.minds().values())
    return _drawn(f"{' / '.join(minds)} · {runs_in_words(results.outcome.plan.runs)}")


def _plot(results: Results, number: int, plot: Plot) -> ReportFigure:
    theory = theory_marks(results.outcome, plot.theory) if plot.theory else []
    of = f"{plot.label}, of: {', '.join(labels(results).values())}"
    column = plot.columns[0] if len(plot.columns) == 1 else "mean"
    name = _file_name(f"{number}-{column}")
    if plot.kind == "values":
        parts = [f"{plot.title}.", f"How the values of round {plot.round} are distributed."]
        parts += ["Dotted lines: theory."] if theory else []
        parts += ["Last panel: people."] if plot.human else []
        figure = _distributions(results, plot, theory)
        return ReportFigure(name, f"Histograms of {of}", " ".join(parts), figure)
    parts = [f"{plot.title}.", "Means over runs with their 95 % intervals."]
    outcome = results.outcome
    data = outcome.plan.model.decided_rounds(outcome.model_data)
    data = data.assign(**{column: data[list(plot.columns)].astype(float).mean(axis=1)})
    courses = results.courses[results.courses["column"] == column]
    parts += ["Stars: published."] if not courses.empty else []
    parts += ["Thin grey lines: theory."] if theory else []
    figure = plots.by_round(
        data, column, _drawn_all(labels(results)), title=_drawn(plot.title),
        label=_drawn(plot.label), subtitle=_subtitle(results), published=courses, marks=theory,
        given=outcome.plan.model.given_rounds,
        kept=set(plot.columns) <= set(outcome.plan.model.kept_columns),
    )  # fmt: skip
    return ReportFigure(name, f"Lines by round: {of}", " ".join(parts), figure)


def theory_marks(outcome: Outcome, name: str) -> list[plots.Mark]:
    """The predictions of a theory that the scenario declares.

    Args:
        outcome: the runs of the experiment.
        name: the name of the theory (see `SmartModel.theory_marks`).
    """
    data, declared = outcome.model_data, outcome.plan.model.theory_marks[name]
    return [
        plots.Mark(label, (float(data[at].iloc[0] if isinstance(at, str) else at),))
        for label, at in declared.items()
    ]


def _distributions(results: Results, plot: Plot, theory: list[plots.Mark]) -> Any:
    data = results.outcome.agent_data
    return plots.distributions(
        data[data["round"] == plot.round], plot.columns[0], _drawn_all(labels(results)),
        title=_drawn(plot.title), label=_drawn(plot.label), subtitle=_subtitle(results),
        marks=theory, people=human_distributions()[plot.human] if plot.human else None,
    )  # fmt: skip


def _measures(results: Results) -> ReportFigure:
    measures = {
        measure.name: measure_name(measure) for measure in results.outcome.plan.experiment.measures
    }
    figure = plots.by_condition(
        results.measures, _drawn_all(labels(results)), _drawn_all(measures),
        title="Measures by condition", subtitle=_subtitle(results), published=results.estimates,
        people=_of_people(results),
    )  # fmt: skip
    more = " Stars: published." if results.estimates["published"].notna().any() else ""
    more += " Broken lines: people." if _of_people(results) else ""
    return ReportFigure(
        "measures", f"Dots by condition: {'; '.join(measures.values())}",
        f"Each measure by condition: one dot per run, and means with their 95 % intervals.{more}",
        figure,
    )  # fmt: skip


def _of_people(results: Results) -> dict[str, list[float]]:
    """Measure → published numbers of people."""
    numbers: dict[str, list[float]] = {}
    for published in results.outcome.plan.experiment.published:
        if published.measure and not published.condition:
            numbers.setdefault(published.measure, []).extend(published.numbers)
    return numbers


def _of_scenario(results: Results) -> Iterator[ReportFigure]:
    """The scenario's own plots of each condition."""
    outcome = results.outcome
    plan, shown = outcome.plan, outcome.plan.experiment.show
    if not shown:
        return
    minds, names = results.minds(), labels(results)
    for number, condition in enumerate(plan.experiment.conditions, 1):
        cell = next(cell for cell in plan.cells if cell.condition == condition.name)
        given = {**cell.parameters, **cell.changes, "minds": "classical"}
        model_class = plan.model_of(condition.name)
        draw = load_plots(model_class.plots, model_class.__module__).figures
        model: SmartModel = model_class(**given, rng=cell.seed, recording=False)
        model_data, agent_data = (
            data[data["condition"] == condition.name].drop(columns=["condition", "seed"])
            for data in (outcome.model_data, outcome.agent_data)
        )
        words = _drawn(f"{condition.label} · {minds[condition.name]}")
        label = names[condition.name]
        figures = draw(model_data, agent_data, words, **model.plot_options())
        for name, figure in figures.items():
            if name in shown:
                title = figure.get_suptitle()
                yield ReportFigure(
                    _file_name(f"condition-{number}-{condition.name}-{name}"),
                    f"{title}, of: {label}", f"{label}: {title}.", figure, own=True,
                )  # fmt: skip


def _drawn(text: str) -> str:
    """A text that matplotlib does not read as a formula."""
    return one_line(text).replace("$", r"\$")


def _drawn_all(texts: dict[str, str]) -> dict[str, str]:
    return {name: _drawn(text) for name, text in texts.items()}


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")
