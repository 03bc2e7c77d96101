"""The base class of all scenarios: a Mesa model that runs phases of asks round by round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import mesa

from sabm_mesa import engine
from sabm_mesa.answers import FORMATS, Format
from sabm_mesa.errors import RunError, SabmError, problem_of, told_with_place
from sabm_mesa.minds import Minds
from sabm_mesa.minds.llm import LLMSettings
from sabm_mesa.models.changing import change_if_due, take_over
from sabm_mesa.models.collector import RoundCollector
from sabm_mesa.models.score import Score
from sabm_mesa.parameters import bind, one_of, whole
from sabm_mesa.population import Personas, dismiss, people
from sabm_mesa.prompts import NO_PERSONA, PromptBook
from sabm_mesa.provenance import Seed, entropy, run_info
from sabm_mesa.recording import NoRecording, Recording, RunRecorder
from sabm_mesa.recording.following import Following
from sabm_mesa.recording.history import History
from sabm_mesa.recording.place import Place
from sabm_mesa.scheduler import Phase, run_phase
from sabm_mesa.usage import Tally

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.agents.base import SmartAgent
    from sabm_mesa.asks import Mind
    from sabm_mesa.llm import Connection

A = TypeVar("A", bound="SmartAgent")


class SmartModel(mesa.Model):
    """A scenario: agents whose decisions come from minds, in rounds of phases.

    A scenario sets the class attributes, makes its agents with `populate`, applies decisions in
    ``after_PHASE(agent, decision)`` and ends a round in `update`: the only places that change the
    world. Given the same answers a run is bit-identical, whatever the latencies are: all
    randomness comes from the model's `rng` and from the agents' own streams.

    Args:
        n_rounds: rounds of a run at the most (at least 1).
        condition: the condition: a named setting of the prompts.
        personas: one persona for all; a mapping persona → number of agents, spread in random
            order; or a sequence with one an agent.
        minds: one mind spec for all; a mapping spec → number of agents, in the order of their
            ids; or a sequence with one an agent.
        rng: the seed. A run without one draws a seed and keeps it in `entropy`.
        variant: the wording of the prompts.
        prompts: a user's own prompt file, or None.
        answer_format: ``"paper"`` (plain text) or ``"json"`` (for servers with JSON schemas).
        max_attempts: how often a mind is asked at most until its answer can be used.
        temperature: sampling temperature of language models; None leaves it to the server.
        max_tokens: tokens of an answer at the most; None leaves it to the server.
        top_p: nucleus sampling of language models; None leaves it to the server.
        connection: how the endpoints of language models are reached.
        recording: a recording, or a path; False for none. None (default) records a run with
            language models into the folder ``sabm_recordings`` and no other. A `History`: the
            recorded run that is followed (`replay`, `resume` and `fork` give one).

    Attributes:
        round: the round that is played or was played last, from 0; −1 before the first.
        playing: whether a round is under way.
        in_flight: questions that wait for an answer now.
        entropy: the seed as a tuple of integers.
        book: the prompts of the run.
        tally: what the asks of the current round cost.
        total: what all rounds so far cost.
        population: all agents in the order of their ids, also those that have left the model.
        critical_path_asks: the longest chain of attempts that had to wait for one another.

    Raises:
        UsageError: for a parameter, mind, condition or prompt file that cannot be used.
    """

    scenario_name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    prompt_file: ClassVar[str]
    phases: ClassVar[tuple[Phase, ...]]
    model_columns: ClassVar[Mapping[str, str]] = {}
    agent_columns: ClassVar[Mapping[str, str]] = {}
    changeable: ClassVar[frozenset[str]] = frozenset()
    plots: ClassVar[str] = ""
    classical_minds: ClassVar[Mapping[str, Callable[[str], Mind]]] = {}
    score: ClassVar[Score | None] = None  # by which minds are ranked in a tournament
    rehearsed_with: ClassVar[Mapping[str, Any]] = {}  # parameters for which only minds are paid
    parameters: dict[str, Any]

    def __new__(cls, *args: Any, **given: Any) -> SmartModel:
        """Keep the parameters of the run, with their defaults, before the model is built."""
        if args:
            raise TypeError(f"{cls.__name__} takes its parameters by name.")
        model: SmartModel = super().__new__(cls)
        model.parameters = bind(cls, given)
        return model

    def __init__(
        self,
        n_rounds: int = 1,
        condition: str = "baseline",
        personas: Personas = NO_PERSONA,
        minds: Minds = "classical",
        rng: Seed = None,
        variant: str = "default",
        prompts: str | Path | None = None,
        answer_format: Format = "paper",
        max_attempts: int = 3,
        temperature: float | None = None,
        max_tokens: int | None = None,
        top_p: float | None = None,
        connection: Connection | None = None,
        recording: Recording | History | str | Path | bool | None = None,
    ) -> None:
        self.entropy = entropy(rng)
        super().__init__(rng=self.entropy[0] if len(self.entropy) == 1 else list(self.entropy))
        self.n_rounds = whole("n_rounds", n_rounds, 1)
        self.condition, self.variant, self.connection = condition, variant, connection
        self.history = recording if isinstance(recording, History) else None
        self.book = (
            self.history.book(condition, variant)
            if self.history and not self.history.from_files
            else PromptBook(self.prompt_file, condition, variant, prompts)
        )
        self.answer_format: Format = one_of("answer_format", answer_format, FORMATS)
        self.max_attempts = whole("max_attempts", max_attempts, 1)
        self.llm_settings = LLMSettings(temperature, max_tokens, top_p)
        self.round, self.playing, self.in_flight = -1, False, 0
        self.tally, self.total, self.critical_path_asks = Tally(), Tally(), 0
        self.recorder: RunRecorder | Following | NoRecording = NoRecording()
        self.population: list[SmartAgent] = []
        self._minds, self._personas = minds, NO_PERSONA if personas is None else personas
        self._begun, self._scope, self._place = False, engine.Scope(), Place(recording)
        self.datacollector = RoundCollector(self.columns(), self.agent_columns)

    def populate(self, agent_class: type[A], n: int, *args: Any) -> list[A]:
        """Make the agents and give each its mind and persona.

        Args:
            agent_class: the class of the agents.
            n: how many.
            args: what their constructor takes besides the model.

        Returns:
            The agents in the order of their ids.

        Raises:
            ParameterError: for `n` that is no whole number from 1 on.
            MindSpecError: when the counts of minds or personas do not add up to `n`.
            UnknownName: for a classical mind or persona that does not exist.
        """
        made = people(self, agent_class, n, args, self._minds, self._personas)
        self.population += made
        return made

    def step(self) -> None:
        """Play one round; when the run has ended, do nothing.

        Raises:
            RunError: when a mind, a language model or the recording fails. What was answered
                until then is in the recording, and the run has ended.
        """
        if not self.running:
            return
        self.begin()
        try:
            with engine.crowd(len(self.population)):
                engine.run(self._play(), self._scope)
        finally:
            self._leave_place()

    def columns(self) -> Mapping[str, str]:
        """The scenario's model columns: those of the class, unless a parameter makes more."""
        return self.model_columns

    def plot_options(self) -> dict[str, Any]:
        """What the scenario's plots are told besides the data. A scenario may override it."""
        return {}

    def begin_round(self) -> None:
        """Begin the round: what changes before anybody is asked. A scenario may override it."""

    def update(self) -> None:
        """End the round: compute what follows from the decisions. A scenario overrides it."""

    def model_frame(self, run: int = 0) -> pd.DataFrame:
        """The model data: one row a round, with the number `run`."""
        return self.datacollector.model_frame(run)

    def agent_frame(self, run: int = 0) -> pd.DataFrame:
        """The agent data: one row an agent and round, with the number `run`."""
        return self.datacollector.agent_frame(run)

    def end_measures(self) -> dict[str, Any]:
        """What is said of the whole run in the summary. A scenario may override it."""
        return {column: getattr(self, name) for column, name in self.model_columns.items()}

    @property
    def recording_path(self) -> Path | None:
        """The file the run is recorded in; None before it begins, or without one."""
        return self._place.path

    async def _play(self) -> None:
        try:
            self.round += 1
            self.playing = True
            self.tally = Tally()
            self.begin_round()
            for phase in self.phases:
                self.critical_path_asks += await run_phase(self, phase)
            self.update()
            self._end_round()
            self.datacollector.collect(self)
            self.recorder.collect(self.round, *self.datacollector.last_rows())
            change_if_due(self)
            if self.round + 1 >= self.n_rounds:
                self.running = False
            if not self.running:
                await self.recorder.finish()
        except BaseException as error:
            self.running = False
            if self.playing:
                self._end_round()
            await self.recorder.finish(problem_of(error))
            if isinstance(error, SabmError) or not isinstance(error, Exception):
                raise
            where = f"{self.scenario_name}, round {self.round}"
            raise RunError(f"{where}: {told_with_place(error)}") from error

    def spent(self) -> Tally:
        """What the asks so far cost, those of the round under way included."""
        spent = Tally()
        spent.add(self.total)
        if self.playing:
            spent.add(self.tally)
        return spent

    def _end_round(self) -> None:
        self.playing = False
        self.total.add(self.tally)

    def _leave_place(self) -> None:
        if not self.running:
            self._place.close()
            dismiss(self.population)

    def begin(self) -> None:
        """Enter the run into its recording; `step` does it when it has not been done.

        Raises:
            RunError: when the recording cannot be opened or written; the run has ended then.
        """
        if self._begun:
            return
        try:
            paid = any(agent.paid for agent in self.population)
            self.recorder = self._place.open(run_info(self), self._minds, paid=paid)
        except SabmError:
            self.running = False
            raise
        self._begun = True
        change_if_due(self)

    def take_over(self, twin: Self, changed: frozenset[str]) -> None:
        """Take over, between two rounds, what changed parameters determine.

        A scenario overrides it when a parameter in `changeable` is no attribute of that name.

        Args:
            twin: the same model, at its beginning, with the changed parameters.
            changed: their names.
        """
        take_over(self, twin, changed)

    def minds_in_use(self) -> dict[str, int]:
        """Mind spec → number of agents."""
        return dict(Counter(agent.mind.spec for agent in self.population))

    def stop(self) -> None:
        """Stop the round under way, from another thread: its `step` then raises `RunError`."""
        self._scope.stop()

    def close(self, problem: str = "closed") -> None:
        """End the run before its time, and have its record on disk; else do nothing.

        Args:
            problem: why; it is recorded.
        """
        if self.running:
            self.running = False
            engine.run(self.recorder.finish(problem))
            self._leave_place()
