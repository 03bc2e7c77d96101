"""The seven elements of an ODD description, from the code of a scenario and its texts.

Source: Grimm et al. 2020, "The ODD protocol for describing agent-based and other simulation
models: a second update to improve clarity, replication, and structural realism", Journal of
Artificial Societies and Social Simulation 23(2) 7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.models.base import SmartModel
from sabm_mesa.odd import process
from sabm_mesa.odd.deciders import minds_in_words
from sabm_mesa.odd.docs_of_code import (
    all_entries,
    paragraphs,
    sentence,
    sheet_of,
    sheet_sections,
)
from sabm_mesa.odd.subject import Subject
from sabm_mesa.odd.tables import columns, initial_state, parameters
from sabm_mesa.odd.texts import CONCEPTS, filled, read_texts

if TYPE_CHECKING:
    from sabm_mesa.experiments.design import Experiment

Block = str | list[str] | dict[str, str] | list[list[str]]
"""A paragraph; numbered steps; name → meaning; or a table, whose first row is its head."""

_OF_SHEET = {
    "purpose": "Purpose",
    "entities": "Entities",
    "processes": "Process overview",
    "initialization": "Initialization",
    "input": "Input",
    "submodels": "Submodels",
}
"""Element → how the heading begins under which a spec sheet has it."""
_ELEMENTS = {
    "purpose": "1 Purpose and patterns",
    "entities": "2 Entities, state variables, and scales",
    "processes": "3 Process overview and scheduling",
    "initialization": "5 Initialization",
    "input": "6 Input data",
    "submodels": "7 Submodels",
}
_ASKING = (
    "Whoever decides is asked in the same way. The agent's observation is filled into the prompt "
    "entry of the question, the answer is read strictly, and one that cannot be used is asked for "
    "again with the reason, {max_attempts} times in all at the most. Then the decision is "
    "recorded as invalid and the rule for unreadable answers applies (element 7)."
)
_CHANCE = (
    "All chance comes from one seed: the model draws from one stream, each agent from a stream of "
    "its own that is derived from the seed and its number. Given the same answers of the minds, "
    "runs are identical to the last bit, however long an answer takes."
)


class Section(NamedTuple):
    """One element, or a part of one.

    Attributes:
        number: such as ``4.2``.
        title: such as ``Emergence``.
        blocks: what it says.
    """

    number: str
    title: str
    blocks: list[Block]


@dataclass(frozen=True)
class Odd:
    """An ODD description.

    Attributes:
        sections: the elements and their parts, in order.
        missing: the elements and design concepts that nobody has written down.
    """

    sections: list[Section]
    missing: list[str]


def odd_of(subject: Subject) -> Odd:
    """Describe a scenario or runs of it.

    Args:
        subject: what is described.

    Raises:
        ParameterError: for texts of the scenario that cannot be used.
    """
    return _Writing(subject).odd()


class _Writing:
    """One description while it is written."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.model = subject, subject.model
        found = read_texts(subject.scenario)
        self.values: Mapping[str, str] = found.get("values", {})
        self.submodels: Mapping[str, str] = found.get("submodels", {})
        self.columns: Mapping[str, str] = found.get("columns", {})
        self.texts = {k: v for k, v in found.items() if isinstance(v, str)}
        self.sheet = sheet_sections(sheet_of(subject.scenario))
        self.agents = process.agent_classes(self.model)
        self.missing: list[str] = []

    def odd(self) -> Odd:
        """All seven elements."""
        sections = [
            self._element("purpose", [*self._text("patterns"), *self._experiments()]),
            self._element("entities", [*self._states(), *self._text("scales")]),
            self._element(
                "processes",
                [process.steps(self.model), self._filled(_ASKING)],
            ),
            *self._concepts(),
            self._element("initialization", initial_state(self.subject)),
            self._element("input", []),
            *self._submodels(),
        ]
        return Odd(sections, self.missing)

    def _element(self, entry: str, generated: Iterable[Block]) -> Section:
        number, _, title = _ELEMENTS[entry].partition(" ")
        own = self._text(entry) or self._of_sheet(_OF_SHEET[entry])
        if entry == "input" and not own and self._of_sheet("Initialization and input"):
            own = ["What there is of it stands under Initialization."]
        if not own:
            self.missing.append(f"{number} {title}")
        return Section(number, title, [*own, *generated])

    def _concepts(self) -> Iterator[Section]:
        own = self._of_sheet("Design concepts")
        yield Section("4", "Design concepts", [] if self._text("emergence") else own)
        generated: dict[str, Callable[[], Iterable[Block]]] = {
            "sensing": self._seen,
            "stochasticity": lambda: [_CHANCE],
            "observation": lambda: [
                *columns(self.model, self.columns),
                *self._of_sheet("Measures"),
            ],
        }
        for place, (entry, title) in enumerate(CONCEPTS.items(), 1):
            text = self._text(entry)
            if not text and not own:
                self.missing.append(f"4.{place} {title}")
            more = generated[entry]() if entry in generated else []
            if text or more:
                yield Section(f"4.{place}", title, [*text, *more])

    def _submodels(self) -> Iterator[Section]:
        yield self._element_of_submodels()
        parts: dict[str, list[Block]] = {
            title: [self._filled(text)] for title, text in self.submodels.items()
        }
        parts |= {
            "Minds: who decides": minds_in_words(self.subject),
            "Unreadable answers": self._of_sheet("Unreadable answers"),
            "Parameters": [parameters(self.subject)],
            "Calibration and our own choices": self._text("choices"),
        }
        parts |= {
            name: [text] for name, text in self.sheet.items() if name.startswith("Deviations")
        }
        written = {title: blocks for title, blocks in parts.items() if blocks}
        for place, (title, blocks) in enumerate(written.items(), 1):
            yield Section(f"7.{place}", title, blocks)

    def _element_of_submodels(self) -> Section:
        own = [] if self.submodels else self._of_sheet(_OF_SHEET["submodels"])
        if not own and not self.submodels:
            self.missing.append(_ELEMENTS["submodels"])
        return Section("7", "Submodels", own)

    def _experiments(self) -> Iterator[Block]:
        """The published patterns that runs can be compared with."""
        known = [each for each in published() if each.scenario == self.model.scenario_name]
        if known:
            yield (
                "Patterns that were published, and that `sabm reproduce NAME` compares runs with:"
            )
            yield {
                each.name: " ".join(
                    [f"{each.title} ({each.source}).", *(c.text for c in each.claims)]
                )
                for each in known
            }

    def _states(self) -> Iterator[Block]:
        counts = Counter(type(agent) for agent in self.model.population)
        for cls in self.agents:
            yield f"Agents: {counts[cls]} of `{cls.__name__}`. {sentence(cls)} State variables:"
            own = all_entries(cls, "Attributes", [SmartAgent])
            base = all_entries(SmartAgent, "Attributes")
            yield own | {name: base[name] for name in ("mind", "persona")}
        yield "State variables of the world:"
        own = all_entries(type(self.model), "Attributes", [SmartModel])
        yield own | {"round": all_entries(SmartModel, "Attributes")["round"]}

    def _seen(self) -> Iterator[Block]:
        yield (
            "All minds decide on the same typed observation: the prompt of a language model is "
            "rendered from it, a classical mind reads it, a person's page shows it. It holds:"
        )
        for cls in self.agents:
            for name, fields in process.observations(cls).items():
                yield f"`{name}`"
                yield fields

    def _text(self, entry: str) -> list[Block]:
        text = self.texts.get(entry, "").strip()
        return [self._filled(text)] if text else []

    def _of_sheet(self, heading: str) -> list[Block]:
        return [text for name, text in self.sheet.items() if name.startswith(heading)]

    def _filled(self, text: str) -> str:
        return filled(paragraphs(text), self.values, self.model, self.subject.parameters)


@cache
def published() -> Sequence[Experiment]:
    """The published experiments that come with the package."""
    from sabm_mesa.experiments.reading import experiment, names

    return [experiment(name) for name in names()]


def as_data(sections: Iterable[Section]) -> list[dict[str, Any]]:
    """The sections as they stand in JSON."""
    return [section._asdict() for section in sections]
