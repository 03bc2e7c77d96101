"""Rehearsals: a scenario is played with stand-ins for the minds that are paid for.

Nothing is sent and nothing recorded. A stand-in counts the questions that it is asked and renders
their real prompts; how it answers is its `Manner`. Since a prompt depends on what others said,
the length of its texts is given too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sabm_mesa.asks import Ask
from sabm_mesa.cost.stand_ins import Length, Manner, StandIn
from sabm_mesa.decisions import AnswerSpec
from sabm_mesa.minds import language_model

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

Floats = npt.NDArray[np.float64]

DENSE_ROUNDS = 10
DENSE_ASKS = 6
"""Twice as many rounds, and questions of one kind in a round, have all their prompts rendered; of
more there is a sample that thins out, and between its members lengths are interpolated."""


@dataclass(slots=True)
class Questions:
    """The questions of one kind to one mind in one rehearsal.

    Attributes:
        specs: answer spec → how many questions had it.
        asked: round → how many.
        samples: round → (place in the round, letters of the prompt) of those rendered.
    """

    specs: dict[AnswerSpec, int] = field(default_factory=lambda: defaultdict(int))
    asked: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    samples: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, ask: Ask, *, render: bool) -> None:
        """Count a question, and render its prompt when it is in the sample."""
        turn = ask.key.round
        place = self.asked[turn]
        self.asked[turn] += 1
        self.specs[ask.spec] += 1
        if render and _sampled(len(self.asked) - 1, DENSE_ROUNDS) and _sampled(place, DENSE_ASKS):
            self.samples[turn].append((place, sum(letters(part) for part in ask.question)))

    @property
    def total(self) -> int:
        """How many there were."""
        return sum(self.asked.values())

    def lengths(self, rounds: int) -> Floats:
        """Round → mean letters of a prompt in it, as it would be where nobody was asked.

        Args:
            rounds: the number of rounds.
        """
        known = sorted(self.samples)
        means = []
        for turn in known:
            places, found = zip(*self.samples[turn], strict=True)
            means.append(float(np.interp(range(self.asked[turn]), places, found).mean()))
        return np.interp(np.arange(rounds), known, means)

    def mean_length(self, rounds: int) -> float:
        """Mean letters of a prompt.

        Args:
            rounds: the number of rounds.
        """
        return float(self.lengths(rounds) @ self.by_round(rounds)) / self.total

    def by_round(self, rounds: int) -> Floats:
        """Round → number of questions."""
        counts = np.zeros(rounds)
        for turn, count in self.asked.items():
            counts[turn] = count
        return counts


Kind = tuple[str, str]
"""(question, mind)"""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What one rehearsal showed.

    Attributes:
        model: the model, after its last round when it was played.
        questions: (question, mind) → the questions to minds that are paid for.
    """

    model: SmartModel
    questions: Mapping[Kind, Questions]

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return self.model.round + 1

    def counts(self) -> Counter[Kind]:
        """(question, mind) → number of questions."""
        return Counter({kind: asked.total for kind, asked in self.questions.items()})

    def stand_ins(self) -> dict[str, StandIn]:
        """Spec → a stand-in of it, for those that are paid for, in the order of the agents."""
        minds: list[Any] = [agent.mind for agent in self.model.population]
        return {m.spec: m for m in minds if isinstance(m, StandIn) and m.costs}


def rehearse(
    scenario: type[SmartModel],
    parameters: Mapping[str, Any],
    manner: Manner,
    length: Length,
    *,
    seed: int = 0,
    render: bool = False,
    play: bool = True,
) -> Rehearsal:
    """Play a run with stand-ins.

    Minds that are given by a spec and are no language models play themselves. Mind objects are
    never called, since their answers may cost something and their state belongs to the caller: a
    stand-in plays for each, and is counted when the object's answers are paid for.

    Args:
        scenario: the model class.
        parameters: its parameters.
        manner: how the stand-ins decide.
        length: how long their texts are.
        seed: the seed.
        render: whether prompts are rendered, or questions only counted.
        play: whether it is played; else the model is only made.

    Raises:
        UsageError: for parameters that cannot be used.
        RunError: when a classical mind or the scenario fails.
    """
    questions: dict[Kind, Questions] = defaultdict(Questions)

    def notice(spec: str, ask: Ask) -> None:
        questions[ask.name, spec].add(ask, render=render)

    def stand_in(mind: Any) -> Any:
        if isinstance(mind, str):
            replaced = bool(language_model(mind))
        else:
            replaced = callable(getattr(mind, "answer", None))
        # What is no mind at all stays, and the model says what is wrong with it.
        return StandIn(mind, manner, length, scenario, notice) if replaced else mind

    given = {**parameters, **scenario.rehearsed_with}
    minds = given.get("minds", "classical")
    if isinstance(minds, Mapping):
        given["minds"] = {stand_in(mind): count for mind, count in minds.items()}
    elif isinstance(minds, Sequence) and not isinstance(minds, str):
        stood_for = {id(mind): stand_in(mind) for mind in minds}
        given["minds"] = [stood_for[id(mind)] for mind in minds]
    else:
        given["minds"] = stand_in(minds)
    model = scenario(**{**given, "rng": seed, "recording": False, "connection": None})
    if play:
        model.run_model()
    return Rehearsal(model, questions)


def letters(text: str) -> int:
    """The length of a text: bytes of UTF-8, since other scripts have fewer signs to a token."""
    return len(text.encode(errors="replace"))


def _sampled(place: int, dense: int) -> bool:
    return place < 2 * dense or place % (place // dense) == 0
