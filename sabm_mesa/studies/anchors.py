"""Anchors: fixed short questions whose answers show whether a language model has changed.

Purpose
    A name of a language model may stand for another model tomorrow. The same questions on different
    days reveal that.

Entities, state variables and scales
    One agent per anchor, all with the same mind. A round asks every anchor once; there are
    `REPEATS` rounds, so that the answers of one session show their natural variation.

Process overview and scheduling
    Each agent answers its anchor in a few words, all at the same time. Prompts say nothing about
    earlier rounds, so that the rounds are repetitions.

AnchorComparison
    The statistic is the mean over anchors of the share of equal answers within sessions, minus that
    between sessions. Under the hypothesis that both sessions are from one model, the answers to an
    anchor are exchangeable between them: the p-value is that of a permutation test within anchors
    (`DRAWS` permutations, the observed one included). A model counts as changed at `ALPHA` = 1 %;
    with several models the p-values are corrected (Holm). Varying answers, as with a temperature of
    1, also vary within sessions, so they alone do not count as a change. A small change of a model
    that varies much can stay unnoticed: "no change noticed" is not a proof (docs/how-to/register.md
    has the power).

Initialization and input
    ``temperature`` 0 and ``max_tokens`` 64 (our choice): a model that does not support them is
    asked without. One attempt per question: an unusable answer counts as a separate answer.

Source
    The idea of fixed questions over time is that of Chen, Zaharia and Zou 2023, arXiv 2307.09009;
    the test is a permutation test (Fisher 1935) on agreement. The questions are ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.analysis.inference import holm
from sabm_mesa.core.answers import Decision, Text
from sabm_mesa.core.asks import Ask, Observation
from sabm_mesa.core.prompts import load
from sabm_mesa.core.scheduler import Phase, action
from sabm_mesa.errors import ParameterError
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.minds.specs import Minds, language_model
from sabm_mesa.models.base import SmartModel
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.planned import RunSpec, run_missing
from sabm_mesa.runs.run import Watch
from sabm_mesa.studies.page import p_in_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from sabm_mesa.core.prompts import PromptBook
    from sabm_mesa.llm import Connection

NAME = "anchors"
N_ANCHORS = 20
REPEATS = 5
ALPHA = 0.01
"""The probability that an unchanged model counts as changed, over all compared models."""
DRAWS = 9_999
MOST_SPLITS = 252
"""The maximum number of enumerated divisions of the answers to an anchor; of more, this many are
drawn."""
UNUSABLE = "(no usable answer)"
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Anchor(Observation):
    """The observation of an agent: its anchor, and nothing else.

    Attributes:
        anchor: the number of the anchor, from 1.
    """

    anchor: int

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """The text of the anchor.

        Args:
            book: the prompts of the run.
        """
        return {"question": book.render(f"anchor_{self.anchor}", {})}


class Respondent(SmartAgent):
    """An agent that answers one anchor.

    Args:
        model: the session.

    Attributes:
        answer: its answer of this round, in small letters; `UNUSABLE` without one.
    """

    model: Anchors

    def __init__(self, model: Anchors) -> None:
        super().__init__(model)
        self.answer = UNUSABLE

    async def act(self) -> Decision:
        """Answer the anchor in a few words."""
        return await self.ask("ask", Text(max_words=8), Anchor(self.unique_id))


class NoAnswers(ClassicalMind):
    """A rule that answers "nothing" to every anchor.

    Args:
        spec: how the mind is named in the data.
    """

    async def answer(self, ask: Ask) -> object:
        """Say nothing.

        Args:
            ask: the question, which is ignored.
        """
        del ask
        return "nothing"


class Anchors(SmartModel):
    """A session of anchors.

    Args:
        n_rounds: the number of repetitions of each anchor.
        minds: see `SmartModel`; ``classical`` says "nothing".
        temperature: sampling temperature of language models.
        max_tokens: the maximum number of tokens of an answer.
        max_attempts: attempts at a usable answer.
        settings: the other parameters of `SmartModel`.

    Attributes:
        usable: the share of the anchors with a usable answer in the last round.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = NAME
    title = "Anchors"
    source = "after Chen, Zaharia and Zou 2023, arXiv 2307.09009"
    prompt_file = Path(__file__).with_suffix(".toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        action(
            doc="Each agent answers its anchor in a few words (`ask`); an answer that cannot be "
            "used is an answer of its own."
        ),
    )
    model_columns: ClassVar[dict[str, str]] = {"usable": "usable"}
    agent_columns: ClassVar[dict[str, str]] = {"answer": "answer"}
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {"default": NoAnswers}

    def __init__(
        self,
        n_rounds: int = REPEATS,
        minds: Minds = "classical",
        temperature: float | None = 0.0,
        max_tokens: int | None = 64,
        max_attempts: int = 1,
        **settings: Any,
    ) -> None:
        super().__init__(
            n_rounds=n_rounds, minds=minds, temperature=temperature, max_tokens=max_tokens,
            max_attempts=max_attempts, **settings,
        )  # fmt: skip
        self.usable = 0.0
        self.respondents = self.populate(Respondent, N_ANCHORS)

    def after_act(self, respondent: Respondent, answer: Decision) -> None:
        """Keep the answer without its capitals and its final stop."""
        value = answer.value
        respondent.answer = UNUSABLE if value is None else str(value).strip(" .!\"'").casefold()

    def update(self) -> None:
        """Compute the share of usable answers."""
        self.usable = (
            sum(respondent.answer != UNUSABLE for respondent in self.respondents) / N_ANCHORS
        )


def version() -> str:
    """A hash of the anchors; answers to different anchors are not compared."""
    entries = sorted(load(Anchors.prompt_file)["prompts"].items())
    return hashlib.sha256(repr(entries).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class AnchorSession:
    """The answers of a language model to the anchors on one day.

    Attributes:
        mind: the spec of the mind.
        day: the day, as ``YYYY-MM-DD``.
        version: the hash of the anchors.
        answers: the answers to each anchor, one per repetition.
        where: the recording, or the registration.
    """

    mind: str
    day: str
    version: str
    answers: Sequence[Sequence[str]]
    where: str = ""

    def frozen(self) -> dict[str, Any]:
        """The session as JSON values."""
        return {"day": self.day, "version": self.version, "answers": list(map(list, self.answers))}


def ask(
    minds: Iterable[str],
    path: str | Path,
    connection: Connection | None = None,
    *,
    day: str = "",
    watch: Watch = lambda _: None,
) -> int:
    """Ask minds the anchors, each at most once per day and recording.

    Args:
        minds: their specs.
        path: the recording; its runs are not changed.
        connection: how language models are reached; its caps include the recorded costs.
        day: the day; today when ``""``.
        watch: called with the models every tenth of a second.

    Returns:
        The number of sessions that were asked or continued now.

    Raises:
        UsageError: for minds that cannot be used; then nothing has been asked.
        RunError: when a session fails; its answers are recorded, and the same call continues.
    """
    return run_missing({Path(path): planned(minds, day)}, connection, watch=watch)


def planned(minds: Iterable[str], day: str = "") -> list[RunSpec]:
    """The sessions of a day, as planned runs.

    Args:
        minds: the specs of the minds.
        day: the day; today when ``""``.
    """
    tags = {NAME: day or datetime.now(UTC).date().isoformat(), "version": version()}
    return [RunSpec(Anchors, {"minds": mind}, 1, tags) for mind in dict.fromkeys(minds)]


def sessions(path: str | Path) -> list[AnchorSession]:
    """The finished sessions of a recording, in the order of their days.

    Args:
        path: the recording; it need not exist.

    Raises:
        RecordingError: when it cannot be read.
    """
    runs = [run for run in load_runs(path, missing_ok=True) if run.scenario == NAME]
    read_sessions = []
    for run in (run for run in runs if run.finished and NAME in run.tags):
        data = Recorded(path).agent_data(run.run).sort_values(["agent", "round"])
        answers = [list(map(str, mine["answer"])) for _, mine in data.groupby("agent")]
        mind = str(run.parameters["minds"])
        read_sessions.append(
            AnchorSession(mind, run.tags[NAME], run.tags["version"], answers, str(path))
        )
    return sorted(read_sessions, key=lambda session: (session.day, session.mind))


def spent(path: str | Path) -> tuple[int, float]:
    """The questions and the dollars of all sessions of a recording.

    Args:
        path: the recording.

    Returns:
        The number of questions, and the dollars; NaN when a price is missing.
    """
    if not any(run.scenario == NAME for run in load_runs(path, missing_ok=True)):
        return 0, 0.0
    runs = Recorded(path).runs()
    mine = runs[runs["scenario"] == NAME]
    return int(mine["asks"].sum()), float(mine["paid_usd"].sum(skipna=False))


@dataclass(frozen=True)
class AnchorComparison:
    """Two sessions of one model.

    Attributes:
        one: the earlier session.
        other: the later one.
        same: the number of anchors with the same most frequent answer in both.
        within: the share of equal answers within sessions, mean over anchors.
        between: the share between them.
        p: the p-value, corrected for the number of compared models.
    """

    one: AnchorSession
    other: AnchorSession
    same: int
    within: float
    between: float
    p: float

    @property
    def changed(self) -> bool:
        """Whether the model is called changed."""
        return self.p <= ALPHA

    def __str__(self) -> str:
        word = "changed" if self.changed else "no change noticed"
        return (
            f"Anchors of {self.other.mind}, {self.one.day} and {self.other.day}: {word} "
            f"({self.same} of {len(self.one.answers)} with the same answer; equal answers between "
            f"sessions {100 * self.between:.0f} %, within {100 * self.within:.0f} %; "
            f"{p_in_words(self.p)})."
        )


def compare(pairs: Sequence[tuple[AnchorSession, AnchorSession]]) -> list[AnchorComparison]:
    """Compare sessions, the p-values corrected for their number.

    Args:
        pairs: pairs of an earlier and a later session.

    Raises:
        ParameterError: when the sessions of a pair were asked other anchors.
    """
    for one, other in pairs:
        if one.version != other.version or len(one.answers) != len(other.answers):
            raise ParameterError(
                f"The anchors of {one.day} and {other.day} are not the same questions, so that the "
                "answers cannot be compared: ask them again with one version of the package."
            )
    statistics = [statistic(one.answers, other.answers) for one, other in pairs]
    corrected = holm([p for *_, p in statistics])
    return [
        AnchorComparison(*pair, _same(*pair), within, between, float(p))
        for pair, (within, between, _), p in zip(pairs, statistics, corrected, strict=True)
    ]


def first_and_later(sessions: Iterable[AnchorSession]) -> list[tuple[AnchorSession, AnchorSession]]:
    """The first session of each mind with each of its later ones.

    Args:
        sessions: the sessions.
    """
    pairs: list[tuple[AnchorSession, AnchorSession]] = []
    first: dict[str, AnchorSession] = {}
    for session in sessions:
        if session.mind in first:
            pairs.append((first[session.mind], session))
        else:
            first[session.mind] = session
    return pairs


def only_language_models(minds: Iterable[str]) -> list[str]:
    """The specs of language models, each once; other minds never change.

    Args:
        minds: specs of minds.
    """
    return [mind for mind in dict.fromkeys(minds) if language_model(mind)]


def _same(one: AnchorSession, other: AnchorSession) -> int:
    pairs = zip(one.answers, other.answers, strict=True)
    return sum(_most_frequent(a) == _most_frequent(b) for a, b in pairs)


def _most_frequent(answers: Sequence[str]) -> str:
    return max(sorted(set(answers)), key=list(answers).count)


def statistic(
    one: Sequence[Sequence[str]], other: Sequence[Sequence[str]], seed: int = 0
) -> tuple[float, float, float]:
    """The agreement within and between two sessions, and the p-value of their difference.

    Args:
        one: the answers to each anchor in the earlier session, two or more.
        other: those in the later one.
        seed: of the permutations.

    Returns:
        The share of equal answers within sessions, that between them, and p.
    """
    rng = np.random.default_rng(seed)
    draws = np.zeros(DRAWS)
    within = between = 0.0
    for a, b in zip(one, other, strict=True):
        equal = np.array([[x == y for y in (*a, *b)] for x in (*a, *b)], dtype=np.float64)
        inside, across = _agreements(equal, _splits(len(a), len(b), rng))
        within, between = within + inside[0], between + across[0]
        if np.ptp(inside - across):
            draws += rng.choice(inside - across, DRAWS)
        else:
            draws += inside[0] - across[0]
    observed = within - between
    p = (1 + int((draws >= observed - 1e-9).sum())) / (1 + DRAWS)
    return within / len(one), between / len(one), p


def _splits(n: int, m: int, rng: np.random.Generator) -> Floats:
    """Divisions of answers over two sessions, the observed one first; 1 marks the first session."""
    if n + m <= 2 * REPEATS:
        return _all_splits(n, m)
    drawn = [rng.permutation(n + m)[:n].tolist() for _ in range(MOST_SPLITS)]
    return _as_rows([list(range(n)), *drawn], n + m)


@cache
def _all_splits(n: int, m: int) -> Floats:
    return _as_rows([list(combination) for combination in combinations(range(n + m), n)], n + m)


def _as_rows(chosen: Sequence[Sequence[int]], total: int) -> Floats:
    rows = np.zeros((len(chosen), total))
    for row, columns in zip(rows, chosen, strict=True):
        row[list(columns)] = 1.0
    return rows


def _agreements(equal: Floats, splits: Floats) -> tuple[Floats, Floats]:
    """The shares of equal pairs within the two sessions, and between them, for each division."""
    rest = 1 - splits
    n, m = splits[0].sum(), rest[0].sum()
    ones = np.einsum("si,ij,sj->s", splits, equal, splits) - n
    others = np.einsum("si,ij,sj->s", rest, equal, rest) - m
    between = np.einsum("si,ij,sj->s", splits, equal, rest) / (n * m)
    pairs = n * (n - 1) + m * (m - 1)
    return (ones + others) / max(pairs, 1.0), between
