"""Replication of Piatti et al. 2024: people share a renewable resource, and can talk about its use.

To write a scenario of your own, start from ``examples/market``.

Each month all request units of the stock at once; then they talk, sum up, plan and reflect. With
less than 5 units left the commons has collapsed; otherwise the rest doubles. The rules in full are
in ``odd.toml``. The same model has three wordings: a lake, a pasture, and a polluted river.

Unreadable answers
    Without a readable amount within the stock nothing is taken, and ``wanted`` is empty. An
    unreadable message is not sent, a summary, thought or insight not remembered; a rating gives no
    weight; an agreement is none; with an unknown next speaker the talk ends. All count as invalid.

Deviations from the authors' program
    Errors corrected here: the oldest memory counted as the most recent; summaries of talks were
    never retrieved; the division was not seeded; requests above the stock were accepted; with a
    newcomer the threshold was that of four and the calendar restarted; a month's events were
    forgotten before its reflection; unreadable answers became 0, "yes", the first name or 5. Our
    simplifications: one question per answer; the first harvester's mind writes the minutes; up to
    three insights, without the numbers of their memories; relevance without an embedding model.

Source
    Piatti et al. 2024, "Cooperate or Collapse: Emergence of Sustainable Cooperation in a Society of
    LLM Agents", NeurIPS 2024, arXiv 2404.16698 v4, sections 2, 3 and appendices B, C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from sabm_mesa.agents.memory import HIGHEST, LOWEST
from sabm_mesa.core.answers import Decision
from sabm_mesa.core.parameters import check_int, parse_list
from sabm_mesa.core.prompts import NO_PERSONA
from sabm_mesa.core.scheduler import FIXED, Phase, action, communication, planning
from sabm_mesa.errors import ParameterError
from sabm_mesa.models.base import Personas, SmartModel
from sabm_mesa.models.commons.agents import (
    NAMES,
    SENTENCE,
    THOUGHTS,
    UTTERANCE,
    Catch,
    Harvester,
    LastMonth,
)
from sabm_mesa.models.commons.minds import ConditionalHarvester, OpenAccess, Sustainable
from sabm_mesa.models.commons.study import run_measures
from sabm_mesa.models.commons.theory import allocate, has_collapsed, regrown, threshold
from sabm_mesa.models.declarations import Score

AS_PUBLISHED = "as_published"
LOCAL, NEWCOMER = "local", "newcomer"
"""The personas of the published newcomer experiment."""
RATED = f"rated from {LOWEST} to {HIGHEST} (`importance`)"


def _talks(model: CommonsGovernance) -> bool:
    return model.communication


def _present(model: CommonsGovernance) -> list[Harvester]:
    return model.present


def _keeper(model: CommonsGovernance) -> list[Harvester]:
    """The first harvester, whose mind writes the minutes."""
    return model.present[:1]


def _speakers(model: CommonsGovernance, harvesters: list[Harvester]) -> Iterator[Harvester]:
    """The first harvester, then each named next speaker, until none is named or the time is up."""
    by_name = {harvester.name: harvester for harvester in harvesters}
    speaker = harvesters[0]
    for _ in range(model.turns):
        yield speaker
        if speaker.hands_over_to is None:
            return
        speaker = by_name[speaker.hands_over_to]


class CommonsGovernance(SmartModel):
    """A commons (Piatti et al. 2024); `Fishery`, `Pasture` and `Pollution` are its wordings.

    Args:
        n_agents: number of harvesters.
        n_rounds: months at most.
        communication: whether the harvesters talk.
        report: whether everybody's harvest is made known; None: if they talk.
        newcomer_month: the month, from 1, from which the last harvester takes part; at most
            `n_rounds`; None: all take part from the beginning.
        condition: ``"baseline"`` or ``"universalization"``.
        personas: see `SmartModel`; ``"as_published"``: none, or locals and a newcomer.
        minds: see `SmartModel`; classical minds are ``classical``, ``classical:sustainable`` and
            ``classical:open_access``.
        capacity: the first stock, and the largest there can be (units).
        collapse_below: the commons collapses when less than this is left (units); at most
            `capacity`.
        max_entries: entries of a talk at most, the report included.
        names: a sequence or a text with commas; None: those of the published prompts.
        settings: the other parameters of `SmartModel`.

    Attributes:
        stock: units before this month's harvest; `left`: units after it.
        threshold: the most units that each can take if the stock is to grow back.
        present: the harvesters that take part this month, in order.
        catches: the harvests of this month that were reported.
        last_month: the month before; None in the first one.
        summary: the last talk in a sentence; `agreed_limit`: the agreed amount, or None.
        collapsed: whether the commons has collapsed.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    source = "Piatti et al. 2024, arXiv 2404.16698"
    prompt_file = Path(__file__).with_name("prompts.toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        action(
            who=_present,
            doc="Each harvester asks in private for a number of units (`act`); when all have "
            "asked, the stock is divided, and a harvester whose answer is unreadable gets nothing.",
        ),
        communication(
            order=_speakers,
            most_turns=lambda model: model.turns,
            when=_talks,
            who=_present,
            doc="The speaker says something to all (`communicate`, at most "
            f"{UTTERANCE.max_words} words) and, while there is time left, names the next speaker "
            "or ends the talk (`next_speaker`).",
        ),
        Phase(
            "minutes",
            FIXED,
            when=_talks,
            who=_keeper,
            doc="The minutes are kept as by somebody who has no part in the talk: a summary "
            f"(`summary`, at most {SENTENCE.max_words} words), whether a limit was agreed on "
            "(`agreed`), and which (`limit`); they are what all remember of the talk.",
        ),
        planning(
            when=_talks,
            who=_present,
            doc="Each harvester notes what in the talk matters for its planning (`plan`) and what "
            f"is of interest (`interest`), and remembers it and the minutes, {RATED}.",
        ),
        Phase(
            "reflect",
            who=_present,
            doc="Each harvester thinks over what it remembers about harvesting (`reflect`, at most "
            f"{THOUGHTS.max_words} words) and remembers its insights, {RATED}.",
        ),
    )
    model_columns = (
            "stock", "harvest", "over_usage", "left", "threshold", "utterances", "agreed_limit",
        )  # fmt: skip
    agent_columns = ("wanted", "harvest", "gain", "over", "name", "persona")
    score = Score("Harvest in a run (units)", "n_agents", column="harvest")
    changeable = frozenset({"communication", "report", "max_entries", "collapse_below"})
    defaults: ClassVar[dict[str, Any]] = {"temperature": 0.0, "max_tokens": 8000, "top_p": 1.0}
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = {
        "default": ConditionalHarvester,
        "sustainable": Sustainable,
        "open_access": OpenAccess,
    }
    wording: ClassVar[str]

    def __init__(
        self,
        n_agents: Annotated[int, Ge(2)] = 5,
        n_rounds: int = 12,
        communication: bool = True,
        report: bool | None = None,
        newcomer_month: Annotated[int, Ge(2)] | None = None,
        personas: Personas = AS_PUBLISHED,
        capacity: Annotated[int, Ge(10)] = 100,
        collapse_below: Annotated[int, Ge(1)] = 5,
        max_entries: Annotated[int, Ge(2)] = 10,
        names: str | Sequence[str] | None = None,
        **settings: Any,
    ) -> None:
        if personas == AS_PUBLISHED:
            with_newcomer = [*[LOCAL] * (n_agents - 1), NEWCOMER]
            personas = NO_PERSONA if newcomer_month is None else with_newcomer
        super().__init__(n_rounds=n_rounds, personas=personas, **settings)
        self.n_agents, self.communication, self.report = n_agents, communication, report
        self.capacity, self.max_entries = capacity, max_entries
        if newcomer_month is not None:
            check_int("newcomer_month", newcomer_month, 2, n_rounds)
        self.newcomer_month = newcomer_month
        self.collapse_below = check_int("collapse_below", collapse_below, 1, capacity)
        self.stock = self.left = self.capacity
        self.threshold = threshold(self.stock, self.n_agents)
        self.harvest = self.utterances = self._decided = 0
        self.over_usage, self.collapsed = math.nan, False
        self.catches: list[Catch] = []
        self.last_month: LastMonth | None = None
        self.summary = ""
        self.agreed_limit: int | None = None
        self.harvesters = self.populate(Harvester, self.n_agents)
        for harvester, name in zip(self.harvesters, self._names(names), strict=True):
            harvester.name = name
        self.present: list[Harvester] = []

    @property
    def month(self) -> int:
        """The month, from 1."""
        return self.round + 1

    def words(self, entry: str, **facts: Any) -> str:
        """A prompt entry in the words of the wording.

        Args:
            facts: the facts that it shows.
        """
        return self.book.render(entry, {"wording": self.wording, **facts})

    @property
    def unit(self) -> str:
        """The unit of an amount for an answer spec: one line, without a colon."""
        return " ".join(self.words("units").replace(":", " ").split())

    @property
    def report_text(self) -> str:
        """The report of this month's harvests, in one sentence."""
        return self.words("report", catches=self.catches)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the participating harvesters of this month."""
        return tuple(harvester.name for harvester in self.present)

    @property
    def reported(self) -> bool:
        """Whether all harvests are reported."""
        return self.communication if self.report is None else self.report

    @property
    def turns(self) -> int:
        """Maximum number of utterances of a talk; the report is also an entry."""
        return self.max_entries - self.reported

    @property
    def first_measured(self) -> int:
        """The first measured round of a run: the first round of a newcomer, or 0."""
        return 0 if self.newcomer_month is None else self.newcomer_month - 1

    def begin_round(self) -> None:
        """Let the commons grow back, and inform all harvesters of the stock."""
        if self.round > 0:
            self.last_month = LastMonth(self.stock, tuple(self.catches))
        self.catches, self._decided = [], 0
        self.summary, self.agreed_limit = "", None
        if self.round > 0:
            self.stock = regrown(self.left, self.capacity)
        complete = self.newcomer_month is None or self.month >= self.newcomer_month
        self.present = self.harvesters if complete else self.harvesters[:-1]
        self.threshold = threshold(self.stock, len(self.present))
        news = [
            self.words(entry, stock=self.stock, threshold=self.threshold)
            for entry in ("remember_stock", "remember_hint")
        ]
        for harvester in self.present:
            harvester.begin_month([text for text in news if text])

    def after_act(self, harvester: Harvester, amount: Decision) -> None:
        """Store the request of a harvester; after the last request, divide the stock."""
        harvester.wanted = amount.value
        self._decided += 1
        if self._decided == len(self.present):
            self._divide()

    def _divide(self) -> None:
        """Give each harvester its units, and report the harvests if they are public."""
        requests = [harvester.wanted or 0 for harvester in self.present]
        harvests = allocate(requests, self.stock, self.rng)
        self.harvest = sum(harvests)
        self.left = self.stock - self.harvest
        for harvester, harvest in zip(self.present, harvests, strict=True):
            harvester.take(harvest, self.threshold)
        if self.reported:
            self.catches = [
                Catch(*name_and_amount)
                for name_and_amount in zip(self.names, harvests, strict=True)
            ]
            if not self.communication:
                for harvester in self.present:
                    harvester.witness(self.report_text)

    def after_communicate(self, speaker: Harvester, sentence: Decision) -> None:
        """Send the message of a harvester to all participants."""
        complete = len(self.present) == len(self.harvesters)
        self.say(speaker, sentence.value, to=None if complete else self.present)

    def after_minutes(self, keeper: Harvester, _decision: Decision) -> None:
        """Adopt the minutes, from which all remember the talk."""
        self.summary = keeper.minutes_kept.summary
        self.agreed_limit = keeper.minutes_kept.limit

    def after_plan(self, harvester: Harvester, decision: Decision) -> None:
        """Change nothing: the harvester has stored its thoughts in its memory."""

    after_reflect = after_plan

    def update(self) -> None:
        """Measure the month, and end the run if the commons has collapsed."""
        self.over_usage = sum(bool(harvester.over) for harvester in self.present) / len(
            self.present
        )
        self.utterances = len(self.said)
        self.collapsed = bool(has_collapsed(self.left, self.collapse_below))
        if self.collapsed:
            self.end("the commons collapsed")

    def end_measures(self) -> dict[str, Any]:
        """Survival time, survival, gain, efficiency, equality and over-usage."""
        measures = run_measures(
            self.model_frame(),
            self.agent_frame(),
            self.n_rounds,
            self.capacity,
            self.first_measured,
        )
        return measures | {"collapsed": self.collapsed}

    def _names(self, given: str | Sequence[str] | None) -> list[str]:
        """The name of each harvester.

        Args:
            given: a sequence, or a text with commas; None: those of the published prompts, and
                numbers beyond them.

        Raises:
            ParameterError: for names that are not distinct, not one per harvester, or contain other
                characters than letters, digits, spaces, hyphens and apostrophes.
        """
        n = self.n_agents
        if given is None:
            return [NAMES[i] if i < len(NAMES) else f"Neighbour {i + 1}" for i in range(n)]
        names = parse_list("names", given)
        reserved = {self.words(word).casefold() for word in ("nobody", "moderator")}
        different = {name.casefold() for name in names} - reserved
        if not all(map(_is_plain, names)) or not len(names) == len(different) == n:
            raise ParameterError(
                f"names: {n} different plain names are needed (got {given!r}).", parameter="names"
            )
        return names


def _is_plain(name: str) -> bool:
    bare = name.replace(" ", "").replace("-", "").replace("'", "")
    return bool(bare) and bare.isalnum()


class Fishery(CommonsGovernance):
    """The commons as a lake shared by fishermen."""

    scenario_name = wording = "fishery"
    title = "Commons: fishery"


class Pasture(CommonsGovernance):
    """The commons as a pasture shared by shepherds."""

    scenario_name = wording = "pasture"
    title = "Commons: pasture"


class Pollution(CommonsGovernance):
    """The commons as the water of a river shared by factories."""

    scenario_name = wording = "pollution"
    title = "Commons: pollution"
