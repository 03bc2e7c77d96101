"""Judging messages: what a message does, coded by rules and by a language model.

A message may carry any of these codes, or none:

================= ===============================================================================
``number``        states a number or price of the game: one that was, will be or could be chosen,
                  or an average or target; no count, percentage, change or cost
``proposal``      invites others to do something in the game, alone or with the speaker, also as a
                  question or on a condition; a mere direction where to go is ``guidance``
``agreement``     accepts what another has said or proposed
``disagreement``  rejects or doubts what another has said or proposed
``information``   tells something of the situation: what the speaker sees, the results of earlier
                  rounds, how the game works; an intention, wish or proposal alone is none
``encouragement`` calms, heartens or praises others
``guidance``      tells others which way to go or not to go
================= ===============================================================================

A message is coded by itself, without the messages before it. The word lists are in
``sabm_mesa/analysis/words.toml``; the coder by rules reads the surface of English sentences and no
more, so that it misses irony and hints. Cohen's kappa with 80 invented messages that were coded by
hand (``tests/studies/hand_labelled.toml``), 40 in each half:

================= =========== ========
code              development held out
================= =========== ========
``number``               0.95     1.00
``proposal``             0.92     0.83
``agreement``            1.00     0.63
``disagreement``         0.69     0.30
``information``          0.94     0.63
``encouragement``        1.00     0.73
``guidance``             0.92     0.53
================= =========== ========

The word lists were tuned on the first half alone. Of the second only the kappas were looked at,
when the lists were done; one rule was corrected afterwards for another reason (a direction where to
go is no proposal: 0.75 before). But one person wrote lists and messages, so that even these figures
flatter, and with 4 to 10 messages a code their intervals are wide. Disagreement is the weakest: it
is seldom said in words of its own.

Rules of the judge
    Each different text is given to the judge once, by itself, as to the coder by rules. There is
    one agent a text, and all are asked in one round, as many at once as the endpoint takes. The
    answer is a list of codes or the word "none", read strictly; one that cannot be read is asked
    for again, three times in all, and then the text has no codes: it is missing, and counted as
    ``invalid``.

Recording
    Judging is a run like any other: paid answers are on disk before they are used, caps hold, and
    a judging that was stopped continues where it ended. Judging the same texts again in the same
    way takes the answers from the recording.

Measures
    The share of the texts that carry each code; of each text its codes.

Deviations
    The source has eight labels of its own, one of which applies to an utterance, and one judge
    (GPT-4-turbo) that agreed with a human annotator on 72 % of 100 utterances. Here several codes
    may apply, and agreement is Cohen's kappa by code (`sabm_mesa.analysis.statistics`).

Source
    The idea is that of Piatti et al. 2024, "Cooperate or Collapse", arXiv 2404.16698, section 3.6.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.analysis.messages import (
    Clause,
    assents,
    clauses,
    holds,
    signals_disagreement,
    stated_numbers,
    stated_prices,
    word_lists,
)
from sabm_mesa.analysis.statistics import require_columns
from sabm_mesa.core.answers import AnswerSpec, Decision, InvalidAnswer, shorten, strip_decoration
from sabm_mesa.core.asks import Ask, Observation
from sabm_mesa.core.parameters import bind
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.core.scheduler import Phase, communication
from sabm_mesa.errors import ParameterError
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.minds.specs import Minds
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import SCENARIOS, find_all
from sabm_mesa.recording import Recording
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs import rerun
from sabm_mesa.runs.planned import RunSpec, find_runs, trial_models
from sabm_mesa.runs.run import Runs, Watch, run_models

if TYPE_CHECKING:
    import numpy as np

    from sabm_mesa.llm import Connection


Rule = Callable[[str, tuple[str, ...]], bool]

EXITS = ("left", "right", "top", "bottom")
"""The names of exits that a room may have when nothing else is said."""

_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_NO_CURRENCY = str.maketrans("", "", "$€£")
_HIGHEST = 100.0


def states_number(text: str, _exits: tuple[str, ...] = EXITS) -> bool:
    """Whether a number from 0 to 100 is stated that is none of something else.

    `stated_numbers` and `stated_prices` each leave out numbers that are not of the game: counts,
    changes, costs, percentages. Only the first reads numbers in words.
    """
    digits = {float(number) for number in _DIGITS.findall(text)}
    prices = stated_prices(text, 0, _HIGHEST)
    named = stated_numbers(text.translate(_NO_CURRENCY))
    return any(number in prices or number not in digits for number in named)


def proposes(text: str, exits: tuple[str, ...] = EXITS) -> bool:
    """Whether a message makes a proposal.

    By a phrase ("let's", "how about"), by a clause in the imperative ("choose 20", "please keep
    your price") that is no mere direction where to go, or by a conditional offer ("if you stay at
    7, I will too").
    """
    lists = _lists("proposal")
    parts = clauses(text)
    if any(_is_proposed(part, lists, exits) for part in parts):
        return True
    asked = {part.sentence for part in parts if holds(part.tokens, lists["if_others"])}
    return any(
        part.sentence in asked and holds(part.tokens, lists["own_part"])
        for part in parts
        if not part.asked
    )


def informs(text: str, exits: tuple[str, ...] = EXITS) -> bool:
    """Whether a message informs about the situation.

    By a phrase ("last round"), by a topic with a word that reports it ("the average was"), or by
    a place with a word on distance or crowd ("the left exit is packed"); not in a question, nor
    as a wish, a plan or a proposal.
    """
    lists = _lists("information")
    return any(
        holds(part.tokens, lists["phrases"])
        or (_names_place(part, exits) and holds(part.tokens, _lists("situation")["phrases"]))
        or (holds(part.tokens, lists["topics"]) and holds(part.tokens, lists["reports"]))
        for part in clauses(text)
        if not part.asked and not holds(part.tokens, lists["moods"])
    )


def encourages(text: str, _exits: tuple[str, ...] = EXITS) -> bool:
    """Whether a phrase of the lists calms, heartens or praises."""
    phrases = (*_lists("heartening")["phrases"], *_lists("encouragement")["phrases"])
    return any(holds(part.tokens, phrases) for part in clauses(text))


def guides(text: str, exits: tuple[str, ...] = EXITS) -> bool:
    """Whether a message tells others which way to go, or not to go.

    By a place with a word of direction or a warning ("take the left exit", "avoid the door"), by a
    verb of motion before a side ("head to the right"), or by a phrase ("follow me"); not in a
    question, and not in a clause that only tells what the speaker does.
    """
    return any(_directs(part, exits) for part in clauses(text))


RULES: Mapping[str, Rule] = {
    "number": states_number,
    "proposal": proposes,
    "agreement": lambda text, _exits: assents(text),
    "disagreement": lambda text, _exits: signals_disagreement(text),
    "information": informs,
    "encouragement": encourages,
    "guidance": guides,
}
"""Code → whether a message, in a room with exits of these names, carries it."""


@cache
def _lists(table: str) -> Mapping[str, Any]:
    lists: Mapping[str, Any] = word_lists()[table]
    return lists


def _is_proposed(part: Clause, lists: Mapping[str, Any], exits: tuple[str, ...]) -> bool:
    line = f" {' '.join(part.tokens)} "
    places = [line.index(f" {each} ") for each in lists["phrases"] if f" {each} " in line]
    if places:
        return not holds(line[: min(places)].split(), lists["off"])
    line = line.lstrip()
    while opener := _first(line, lists["openers"]):
        line = line.removeprefix(opener)
    verb = _first(line, lists["imperatives"])
    followed = _first(line.removeprefix(verb), lists["followers"])
    return bool(verb) and not followed and not part.asked and not _directs(part, exits)


def _first(line: str, phrases: Iterable[str]) -> str:
    """The phrase with which a line begins, with the blank behind it; ``""`` without one."""
    return next((f"{phrase} " for phrase in phrases if line.startswith(f"{phrase} ")), "")


def _directs(part: Clause, exits: tuple[str, ...]) -> bool:
    """Whether a clause tells others which way to go, or not to go."""
    lists = _lists("guidance")
    if part.asked or part.tokens[0] in lists["own"]:
        return False
    words = (*_lists("direction")["phrases"], *lists["warnings"])
    return (
        holds(part.tokens, lists["phrases"])
        or _moves_to(part.tokens, {*exits, *lists["sides"]}, lists)
        or (_names_place(part, exits) and holds(part.tokens, words))
    )


def _names_place(part: Clause, exits: tuple[str, ...]) -> bool:
    """Whether a clause names an exit or another place of a room."""
    lists = _lists("guidance")
    sides = {*exits, *lists["sides"]}
    tokens = part.tokens
    return any(
        (a in sides and b in lists["places"]) or (a in lists["places"] and b in sides)
        for a, b in pairwise(tokens)
    ) or any(token in lists["rooms"] for token in tokens)


def _moves_to(tokens: Sequence[str], sides: set[str], lists: Mapping[str, Any]) -> bool:
    """Whether a verb of motion stands before a side, with nothing but links between them."""
    for place, token in enumerate(tokens):
        if token in lists["motions"]:
            after = next((each for each in tokens[place + 1 :] if each not in lists["links"]), "")
            if after in sides:
                return True
    return False


CODES = tuple(RULES)


def code_message(text: str, exits: tuple[str, ...] = EXITS) -> frozenset[str]:
    """The codes of a message.

    Args:
        text: the message.
        exits: the names of the exits, for messages about a room.
    """
    return frozenset(code for code, applies in RULES.items() if applies(text, exits))


def coded(messages: pd.DataFrame, exits: Iterable[str] = EXITS) -> pd.DataFrame:
    """Messages with their codes.

    Args:
        messages: one row a message, with ``text``; from `messages_of` also ``run``, ``round`` and
            ``speaker``.
        exits: the names of the exits, for messages about a room.

    Returns:
        The same rows with one boolean column a code.

    Raises:
        ValueError: when there is no column ``text``.
    """
    require_columns(messages, ["text"])
    names = tuple(exits)
    found = [code_message(text, names) for text in messages["text"]]
    columns = {code: [code in codes for codes in found] for code in CODES}
    return messages.assign(
        **{code: pd.Series(held, messages.index, dtype=bool) for code, held in columns.items()}
    )


def shares(messages: pd.DataFrame, by: str | Sequence[str] = "round") -> pd.DataFrame:
    """The share of messages that carry each code.

    Args:
        messages: coded messages. A message that a judge did not code usably counts in no share.
        by: the columns whose values make the groups, such as ``["run", "round"]``.

    Returns:
        One row a group, in rising order: the columns of `by`, ``messages`` (how many were said),
        and a share from 0 to 1 for each code, NaN when no message was coded.

    Raises:
        ValueError: when a column is missing.
    """
    groups = [by] if isinstance(by, str) else list(by)
    require_columns(messages, [*groups, *CODES])
    held = messages[[*groups, *CODES]].astype(dict.fromkeys(CODES, "Float64"))
    grouped = held.groupby(groups, sort=True)
    found = grouped[list(CODES)].mean().astype(float)
    found.insert(0, "messages", grouped.size())
    return found.reset_index()


def messages_of(recording: str | Path | Recorded, run: int | None = None) -> pd.DataFrame:
    """The messages of recorded runs, in the order in which they were said.

    Args:
        recording: the recording.
        run: only this run.

    Returns:
        One row a message: ``run``, ``round``, ``speaker`` (the number of the agent), ``text``.

    Raises:
        RecordingError: when it cannot be read.
        UnknownName: when there is no such run.
    """
    recorded = recording if isinstance(recording, Recorded) else Recorded(recording)
    return messages_in(recorded.decisions(run))


def messages_in(answers: pd.DataFrame, text: Callable[[Any], str] = str) -> pd.DataFrame:
    """The messages among answers of recorded runs, as `messages_of` returns them.

    The phases of the scenarios say which answers are messages: `Phase.says`.

    Args:
        answers: ``decisions`` or ``asks`` of `Recorded`, or rows of them.
        text: how a cell of the column ``value`` is read.
    """
    speech = _speech()
    asked = pd.MultiIndex.from_frame(answers[["phase", "name"]].astype(object))
    said = answers[asked.isin([*speech]) & answers["valid"].to_numpy(bool)]
    said = said.sort_values(["run", "round", "position", "call"], kind="stable")
    columns = (said[name] for name in ("phase", "name", "value"))
    heard = [speech[phase, name].heard(text(value))
             for phase, name, value in zip(*columns, strict=True)]  # fmt: skip
    messages: pd.DataFrame = said.assign(text=pd.Series(heard, said.index, dtype=str))
    messages = messages[messages["text"] != ""].rename(columns={"agent": "speaker"})
    return messages[["run", "round", "speaker", "text"]].reset_index(drop=True)


@cache
def _speech() -> dict[tuple[str, str], Phase]:
    """(Phase, question) → the phase, for each question of a scenario whose answer is a message."""
    models = find_all().models
    own_last = sorted(
        models, key=SCENARIOS.__contains__
    )  # scenarios of the package take precedence
    phases = [communication(), *(each for name in own_last for each in models[name].phases)]
    return {(phase.name, phase.says): phase for phase in phases if phase.says}


NONE = "none"
"""The answer that no code applies."""


@dataclass(frozen=True, slots=True)
class CodeList(AnswerSpec):
    """Any of several codes, or none of them.

    Attributes:
        codes: the codes.
    """

    codes: tuple[str, ...]

    kind = "codes"
    json_type = list

    def check(self, value: Any) -> tuple[str, ...]:
        """Return the codes in the order of `codes`, from a list or from words with commas."""
        if isinstance(value, str):
            value = [] if strip_decoration(value).casefold() == NONE else value.split(",")
        named = [strip_decoration(str(each)).casefold() for each in value]
        if unknown := [name for name in named if name not in self.codes]:
            raise InvalidAnswer("not_a_code", found=shorten(unknown[0]))
        return tuple(code for code in self.codes if code in named)

    def placeholders(self) -> dict[str, Any]:
        """The codes, comma-separated."""
        return {"codes": ", ".join(self.codes)}

    def example(self, rng: np.random.Generator) -> tuple[str, ...]:
        """Return one code, each equally likely."""
        return (self.codes[int(rng.integers(len(self.codes)))],)

    def _value_schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string", "enum": list(self.codes)}}


ANSWER = CodeList(CODES)


@dataclass(frozen=True, slots=True)
class OneMessage(Observation):
    """The observation of a judge: one message, and nothing of the run that it comes from.

    Attributes:
        text: the message.
    """

    text: str

    def placeholders(self, book: PromptBook) -> dict[str, object]:
        """The message as a quotation on one line, which no mark in it can end.

        Args:
            book: the prompts of the run.
        """
        return {"message": book.quote(self.text)}


class Judge(SmartAgent):
    """A judge of one message.

    Args:
        model: the judging.

    Attributes:
        found: the codes that it gave; None when no answer could be used.
    """

    model: Judging

    def __init__(self, model: Judging) -> None:
        super().__init__(model)
        self.found: tuple[str, ...] | None = None

    @property
    def codes(self) -> str | None:
        """The codes with commas between them, ``""`` for none; None without a usable answer."""
        return None if self.found is None else ", ".join(self.found)

    async def judge(self) -> Decision:
        """Code the message."""
        text = self.model.texts[self.unique_id - 1]
        return await self.ask("judge", ANSWER, OneMessage(text))


class RuleCoder(ClassicalMind):
    """The rule-based coder as a judge.

    Args:
        spec: how the mind is named in the data.
    """

    async def answer(self, ask: Ask) -> object:
        """Code the message by the rules.

        Args:
            ask: the question.
        """
        assert isinstance(ask.observation, OneMessage)
        return sorted(code_message(ask.observation.text))


class Judging(SmartModel):
    """Judges that code messages, one message each.

    Args:
        texts: the messages, each different from the others.
        minds: see `SmartModel`; ``classical`` is the rule-based coder.
        temperature: sampling temperature of language models.
        max_tokens: tokens of an answer at most.
        settings: the other parameters of `SmartModel`.

    Attributes:
        judges: the judges, in the order of the texts.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "judge"
    title = "Judging of messages"
    source = "after Piatti et al. 2024, arXiv 2404.16698, section 3.6"
    prompt_file = Path(__file__).with_name("judge.toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        Phase(
            "judge",
            doc="Each judge names the codes of its message (`judge`); a message whose answer is "
            "unreadable has no codes.",
        ),
    )
    model_columns: ClassVar[dict[str, str]] = {code: code for code in CODES}
    agent_columns: ClassVar[dict[str, str]] = {"codes": "codes"}
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {"default": RuleCoder}

    def __init__(
        self,
        texts: Sequence[str] = (),
        minds: Minds = "classical",
        temperature: float | None = 0.0,
        max_tokens: int | None = 256,
        **settings: Any,
    ) -> None:
        super().__init__(minds=minds, temperature=temperature, max_tokens=max_tokens, **settings)
        self.texts = tuple(texts)
        if not self.texts or len(set(self.texts)) < len(self.texts):
            raise ParameterError(
                "texts: one or more different messages are needed.", parameter="texts"
            )
        self.judges = self.populate(Judge, len(self.texts))

    def after_judge(self, judge: Judge, answer: Decision) -> None:
        """Keep the codes; None when they could not be read."""
        judge.found = answer.value

    def update(self) -> None:
        """Compute the share of each code among the texts with a usable answer."""
        known = [judge.found for judge in self.judges if judge.found is not None]
        for code in CODES:
            share = sum(code in found for found in known) / len(known) if known else math.nan
            setattr(self, code, share)


def judge(
    messages: pd.DataFrame,
    minds: Minds,
    recording: str | Path,
    *,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
    **settings: Any,
) -> tuple[pd.DataFrame, Runs]:
    """Let a judge code messages, and record the answers.

    When the recording holds a judging of the same texts by the same minds, prompts and settings,
    its answers are used, and only missing ones are asked for.

    Args:
        messages: one row a message, with ``text``, as from `messages_of`.
        minds: the minds that judge, such as ``"llm:gpt-4o-mini"``.
        recording: where the answers are recorded.
        connection: how language models are reached; its caps count what was spent before.
        watch: called with the models every tenth of a second.
        settings: other parameters of `Judging`.

    Returns:
        The same rows with one column a code (True, False, or missing), and the run.

    Raises:
        UsageError: for messages or parameters that cannot be used; nothing has been asked then.
        RunError: when the run fails; what was answered is recorded.
    """
    texts = list(dict.fromkeys(messages["text"]))
    given = {"texts": texts, "minds": minds, **settings}
    path, spec = Path(recording), _planned(given)
    if run := find_runs([spec], path).get(spec.digest):
        runs = rerun.resume(path, run.run, scenario=Judging, connection=connection, watch=watch)
    else:
        trial_models([spec], connection)  # wrong use ends here, before there is any file
        with Recording(path) as opened:
            runs = run_models([spec.build(opened, connection)], watch=watch)
    (judging,) = runs.models
    assert isinstance(judging, Judging)
    of_text = dict(zip(texts, (judge.found for judge in judging.judges), strict=True))
    return _with_codes(messages, [of_text[text] for text in messages["text"]]), runs


def _planned(given: Mapping[str, Any]) -> RunSpec:
    """The run of a judging; other texts in a prompt file make it another run."""
    bound = bind(Judging, given)
    book = PromptBook(Judging.prompt_file, bound["condition"], bound["variant"], bound["prompts"])
    return RunSpec(Judging, given, 0, {"prompts": json.dumps(book.hashes(), sort_keys=True)})


def message_measures(path: Path, messages: pd.DataFrame) -> dict[str, dict[int, float | None]]:
    """The measures of messages that the scenarios of recorded runs declare.

    Args:
        path: the recording.
        messages: its messages, as `messages_of` returns them.

    Returns:
        Name of a measure (see `SmartModel.message_measures`) → run → value.
    """
    runs, models = Recorded(path).runs(), find_all().models
    found: dict[str, dict[int, float | None]] = {}
    for name in runs["scenario"].unique():
        mine = messages[messages["run"].isin(runs.loc[runs["scenario"] == name, "run"])]
        if name in models and len(mine):
            for measure, declared in models[name].message_measures.items():
                found.setdefault(measure, {}).update(declared.of(mine, 0.0, math.inf))
    return found


def measure_label(name: str) -> str:
    """Return the label of a measure of messages, as a scenario declares it.

    Args:
        name: its name.
    """
    declared = (model.message_measures for model in find_all().models.values())
    return next(measures[name].label for measures in declared if name in measures)


def _with_codes(messages: pd.DataFrame, found: Iterable[Sequence[str] | None]) -> pd.DataFrame:
    rows = list(found)
    columns = {
        code: pd.array([None if row is None else code in row for row in rows], dtype="boolean")
        for code in CODES
    }
    return messages.assign(**columns)
