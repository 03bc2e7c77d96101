"""Commons governance: people share a resource that renews itself, and can talk about how to use it.

Purpose
    Can a group keep a common resource alive when each of them gains from taking more? The same
    model has three wordings: a lake with fish, a pasture, and a river that is polluted.

Entities, state variables and scales
    5 harvesters, each with a mind, a name, a persona, a memory, what it wanted and got this month
    and what it got so far (units). The world is the stock, a whole number of units up to the
    capacity of 100 (tons of fish, hectares of grass, percent of clean water), and this month's
    talk. A round is a month; the first is January 2024.

Process overview and scheduling
    Action: all ask at the same time, in private, for an amount from 0 to the stock; the stock is
    divided. Communication: the moderator tells who got how much; the first harvester speaks, and
    each speaker names the next one (itself included) or nobody; the talk ends then, or after 10
    entries, of which the report is one. Minutes: the talk is summed up in a sentence, with the
    amount a person that was agreed on, if any. Planning: each remembers the talk, one thing for
    planning and one of interest. Reflection: each derives insights from its memories. Update: the
    commons has collapsed when less than 5 is left, and the run ends; else what is left doubles.

Design concepts
    Emergence: restraint, agreements, collapse. Objective: own income in the long run. Sensing: the
    stock, all harvests (``report``) and the talk. Learning: the memory. Stochasticity: the division
    of a stock that is over-asked, and the minds, each with a stream of its own. Observation: below.

Initialization and input
    ``n_agents`` 2 or more, 5; ``n_rounds`` 12; ``capacity`` (also the first stock) 10 or more, 100;
    ``collapse_below`` 5; ``max_entries`` 10; ``names``; ``communication``; ``report``: whether
    harvests are made known (None: if there is talk); ``newcomer_month``: the month, from 1, from
    which the last harvester takes part (published: 4, with ``n_rounds`` 15), with an empty memory.
    ``condition``: ``baseline`` or ``universalization`` (every month all are told what follows if
    each takes more than the threshold). ``personas``: the goal of each; by default none, with a
    newcomer ``local`` for all others and ``newcomer``. ``variant``: ``default``, ``paraphrased``.
    ``temperature`` 0, ``top_p`` 1; ``max_tokens`` 512 [choice; published: 8000].

Submodels
    Division: when more is asked for than there is, units are given one by one to somebody drawn
    among those who still want one. Threshold a person: floor(floor(h / 2) / n) for a stock of h and
    the n who take part. Memory (`sabm_mesa.agents.memory_stream`): stock, hint and own harvest are
    remembered to the end of the month, all else 63 days, with an importance that the mind rates.
    What comes to mind: 10 memories for the place before a harvest; before speaking 5 for nothing
    in particular and 5 for each of the last 4 utterances; 10 for "harvesting" before reflecting.
    ``memory_relevance``: ``sparse``, a local tf-idf similarity (the attribute ``relevance`` of the
    class takes another), or ``embedding:MODEL[@URL]``, the cosine of embeddings, whose requests
    are recorded, counted and capped like all others; classical and fixed minds read no memories.

Measures
    By month: ``stock`` before the harvest, ``harvest``, ``left`` after it, ``threshold``,
    ``over_usage`` (the share of those who got more than the threshold), utterances, agreed limit.
    Of the run (`sabm_mesa.analysis.commons`): survival time and whether the horizon was reached,
    mean gain, efficiency, equality (1 − Gini), over-usage; with a newcomer all from its month on.

Unreadable answers
    An amount that could not be read, also one above the stock: nothing is taken, and ``wanted`` is
    empty. Words: nothing is said. An unknown next speaker: the talk ends. A summary, thought or
    insight: not remembered. A rating: the memory gets no weight from it. An agreement: none. An
    embedding: no relevance. All of them are counted as invalid.

Deviations from the authors' program
    Mended: the oldest memory counted as the most recent; summaries of talks never came to mind; the
    division was not seeded; requests above the stock were accepted; after a newcomer came the
    threshold was still that of four, and its calendar began anew; a month's events were forgotten
    before its reflection; unreadable answers became 0, "yes", the first name or a rating of 5.
    Simplified: one question an answer, so that next speaker and end are one choice; the first
    harvester's mind keeps the minutes (with a neutral text); up to three insights, without the
    numbers of the memories behind them; relevance without an embedding model by default.

Source
    Piatti et al. 2024, "Cooperate or Collapse: Emergence of Sustainable Cooperation in a Society of
    LLM Agents", NeurIPS 2024, arXiv 2404.16698 v4, sections 2, 3 and appendices B, C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from sabm_mesa.agents.commons import Harvester
from sabm_mesa.agents.commons_view import Message
from sabm_mesa.agents.commons_words import Catch, Words
from sabm_mesa.agents.memory_stream import Relevance, SparseRelevance
from sabm_mesa.analysis.theory.commons import threshold
from sabm_mesa.decisions import Decision
from sabm_mesa.minds import Minds
from sabm_mesa.minds.classical.commons import ConditionalHarvester, OpenAccess, Sustainable
from sabm_mesa.models import commons_month as course
from sabm_mesa.models import commons_setup as setup
from sabm_mesa.models.base import SmartModel
from sabm_mesa.parameters import whole
from sabm_mesa.population import Personas
from sabm_mesa.provenance import Seed
from sabm_mesa.scheduler import Phase


class CommonsGovernance(SmartModel):
    """A commons; `Fishery`, `Pasture` and `Pollution` are its wordings.

    Args:
        n_agents: number of harvesters (2 or more).
        n_rounds: months at the most.
        communication: whether the harvesters talk.
        report: whether everybody's harvest is made known; None: if they talk.
        newcomer_month: the month, from 1, from which the last harvester takes part; None: all
            take part from the beginning.
        condition: ``"baseline"`` or ``"universalization"``.
        personas: see `SmartModel`; ``"as_published"``: none, or locals and a newcomer.
        minds: see `SmartModel`; classical minds are ``classical``, ``classical:sustainable`` and
            ``classical:open_access``.
        rng: the seed.
        capacity: the first stock, and the largest there can be (units, 10 or more).
        collapse_below: the commons collapses when less than this is left (units, 1 or more).
        max_entries: entries of a talk at the most, the report included (2 or more).
        names: a sequence or a text with commas; None: those of the published prompts.
        temperature: sampling temperature of language models.
        max_tokens: tokens of an answer at the most.
        top_p: nucleus sampling of language models.
        memory_relevance: what measures how much a memory bears on a focus: ``sparse``,
            ``embedding:MODEL`` or ``embedding:MODEL@URL``.
        settings: the other parameters of `SmartModel`.

    Attributes:
        stock: units before this month's harvest; `left`: after it.
        present: who takes part this month, in order.
        said: what was said in this month's talk; `catches`: the harvests as they are made known.
        summary: the last talk in a sentence; `agreed_limit`: what it agreed on, or None.
        collapsed: whether the commons has collapsed.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    source = "Piatti et al. 2024, arXiv 2404.16698"
    prompt_file = "commons"
    plots = "sabm_mesa.analysis.plots.commons"
    phases: ClassVar[tuple[Phase, ...]] = course.PHASES
    model_columns: ClassVar[dict[str, str]] = {name: name for name in course.MODEL_COLUMNS}
    agent_columns: ClassVar[dict[str, str]] = {name: name for name in course.AGENT_COLUMNS}
    score = course.SCORE
    changeable = frozenset({"communication", "report", "max_entries", "collapse_below"})
    classical_minds: ClassVar[dict[str, Callable[[str], Any]]] = {
        "default": ConditionalHarvester,
        "sustainable": Sustainable,
        "open_access": OpenAccess,
    }
    relevance: ClassVar[Relevance] = SparseRelevance()
    rehearsed_with: ClassVar[dict[str, Any]] = {"memory_relevance": setup.SPARSE}
    wording: ClassVar[str]

    def __init__(
        self,
        n_agents: int = 5,
        n_rounds: int = 12,
        communication: bool = True,
        report: bool | None = None,
        newcomer_month: int | None = None,
        condition: str = "baseline",
        personas: Personas = setup.AS_PUBLISHED,
        minds: Minds = "classical",
        rng: Seed = None,
        capacity: int = 100,
        collapse_below: int = 5,
        max_entries: int = 10,
        names: str | Sequence[str] | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 512,
        top_p: float | None = 1.0,
        memory_relevance: str = setup.SPARSE,
        **settings: Any,
    ) -> None:
        self.n_agents = whole("n_agents", n_agents, 2)
        newcomer = newcomer_month is not None
        super().__init__(
            n_rounds=n_rounds, condition=condition, minds=minds, rng=rng, temperature=temperature,
            personas=setup.personas_of(personas, self.n_agents, newcomer),
            max_tokens=max_tokens, top_p=top_p, **settings,
        )  # fmt: skip
        self.communication = setup.yes_or_no("communication", communication)
        self.report = None if report is None else setup.yes_or_no("report", report)
        self.newcomer_month = (
            whole("newcomer_month", newcomer_month, 2, self.n_rounds) if newcomer else None
        )
        self.capacity = whole("capacity", capacity, 10)
        self.collapse_below = whole("collapse_below", collapse_below, 1, self.capacity)
        self.max_entries = whole("max_entries", max_entries, 2)
        self.stock = self.left = self.capacity
        self.threshold = threshold(self.stock, self.n_agents)
        self.harvest = self.utterances = self._decided = 0
        self.over_usage, self.collapsed = math.nan, False
        self.said: list[Message] = []
        self.catches: list[Catch] = []
        self.summary = ""
        self.agreed_limit: int | None = None
        self.embedder = setup.embedder_of(memory_relevance, self)
        self.harvesters = self.populate(Harvester, self.n_agents)
        taken = [self.words.render(word) for word in ("nobody", "moderator")]
        named = setup.names_of(names, self.n_agents, taken)
        for each, name in zip(self.harvesters, named, strict=True):
            each.name = name
        self.present: list[Harvester] = []

    @property
    def month(self) -> int:
        """The month, from 1."""
        return self.round + 1

    @property
    def words(self) -> Words:
        """The prompts with the words of the wording filled in."""
        return Words(self.book, self.wording, self.capacity)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those who take part this month."""
        return tuple(each.name for each in self.present)

    @property
    def reported(self) -> bool:
        """Whether everybody's harvest is made known."""
        return self.communication if self.report is None else self.report

    @property
    def turns(self) -> int:
        """How often somebody speaks in a talk at the most: the report is an entry, too."""
        return self.max_entries - self.reported

    def begin_round(self) -> None:
        """Let the commons grow back, and tell everybody how much there is."""
        self.said, self.catches, self._decided = [], [], 0
        course.begin(self)

    def after_act(self, harvester: Harvester, amount: Decision) -> None:
        """Note what a harvester wants; when all are known, divide the stock."""
        harvester.wanted = amount.value
        self._decided += 1
        if self._decided == len(self.present):
            course.divide(self)

    def after_communicate(self, speaker: Harvester, sentence: Decision) -> None:
        """Let all hear what a harvester said."""
        if sentence.valid:
            self.said.append(Message(self.round, speaker.name, sentence.value))

    def after_minutes(self, keeper: Harvester, _decision: Decision) -> None:
        """Take the minutes over: they are what all remember of the talk."""
        self.summary = keeper.minutes_kept.summary
        self.agreed_limit = keeper.minutes_kept.limit

    def after_plan(self, harvester: Harvester, decision: Decision) -> None:
        """Change nothing: what a harvester remembers is in its own memory."""

    after_reflect = after_plan

    def update(self) -> None:
        """Take the measures of the month, and see whether the commons has collapsed."""
        self.over_usage = sum(bool(each.over) for each in self.present) / len(self.present)
        self.utterances = len(self.said)
        self.collapsed = self.left < self.collapse_below
        if self.collapsed:
            self.running = False

    def take_over(self, twin: Self, changed: frozenset[str]) -> None:
        """Take over what changed parameters determine, and what may be asked from now on."""
        super().take_over(twin, changed)
        self.embedder = twin.embedder

    def end_measures(self) -> dict[str, Any]:
        """Survival time, survival, gain, efficiency, equality and over-usage."""
        return course.measures_of(self)

    def plot_options(self) -> dict[str, Any]:
        """The unit, the horizon, the stock of a collapse, and the first round that is measured."""
        return {
            "unit": self.words["stock_units"],
            "horizon": self.n_rounds,
            "collapse_below": self.collapse_below,
            "first_round": course.first_measured(self),
        }


class Fishery(CommonsGovernance):
    """The commons as a lake that fishermen share."""

    scenario_name = wording = "fishery"
    title = "Commons: fishery"


class Pasture(CommonsGovernance):
    """The commons as a pasture that shepherds share."""

    scenario_name = wording = "pasture"
    title = "Commons: pasture"


class Pollution(CommonsGovernance):
    """The commons as the water of a river that factories share."""

    scenario_name = wording = "pollution"
    title = "Commons: pollution"
