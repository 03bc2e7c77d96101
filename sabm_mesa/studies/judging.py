"""A language model as judge: it codes messages, as the rules do, and private reasoning.

The codes and the coder of messages by rules are those of `sabm_mesa.analysis.messages`, with the
words that the scenarios declare (`SmartModel.message_words`). Private reasoning is the reasoning
and the thoughts before a decision; only a language model codes it. Its codes, with the steps of
Nagel 1995, are defined in ``judge_reasoning.toml``.

Rules of the judge
    Each different text is given to the judge once, by itself, as to the rule-based coder. There is
    one agent per text, and all are asked in one round, as many at once as the endpoint accepts. The
    answer is JSON with a list of codes; an unreadable answer is asked for
    again, three times in all. Then the text has no codes, and counts as ``invalid``.

Recording
    Judging is a run like any other: paid answers are on disk before they are used, caps apply, and
    an interrupted judging continues where it stopped. Judging the same texts again in the same way
    takes the answers from the recording.

Measures
    The share of the texts with each code, and the codes of each text.

Deviations
    The source has eight other labels, one of which applies to an utterance, and one judge
    (GPT-4-turbo) that agreed with a human annotator on 72 % of 100 utterances. Here several codes
    may apply, and agreement is Cohen's kappa by code (`sabm_mesa.analysis.intervals`).

Source
    The idea is that of Piatti et al. 2024, "Cooperate or Collapse", arXiv 2404.16698, section 3.6.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pandas as pd
from pydantic import BaseModel, Field, create_model

from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.analysis.messages import CODES, MessageCoder, read_words
from sabm_mesa.core.answers import Decision
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.parameters import bind
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.core.scheduler import Phase
from sabm_mesa.errors import ParameterError
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.minds.specs import Minds
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import find_all
from sabm_mesa.recording import Recording
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs import rerun
from sabm_mesa.runs.planned import RunSpec, find_runs, trial_models
from sabm_mesa.runs.run import Runs, Watch, run_models

if TYPE_CHECKING:
    from sabm_mesa.llm import Connection


STEPS = ("step_0", "step_1", "step_2", "step_3")
REASONING_CODES = (*STEPS, "reference", "imitation", "own_payoff")
"""The codes of private reasoning: at most one of the steps, and any of the others."""


@cache
def message_coder() -> MessageCoder:
    """The coder by rules, with the words that the scenarios declare.

    Raises:
        ParameterError: when the file of words of a scenario cannot be used.
    """
    declared = {model.message_words for model in find_all().models.values()} - {""}
    return MessageCoder(*(read_words(path) for path in sorted(declared, key=str)))


@cache
def coded(codes: tuple[str, ...]) -> type[BaseModel]:
    """The answer of a judge: the codes that apply.

    Args:
        codes: the codes of the book.
    """
    listed: Any = list[Literal[codes]]  # type: ignore[valid-type]  # a literal of a tuple
    return create_model("Codes", codes=(listed, Field(max_length=len(codes))))


class Judge(SmartAgent):
    """A judge of one message.

    Args:
        model: the judging.

    Attributes:
        matched: its codes; None without a usable answer.
    """

    model: Judging

    def __init__(self, model: Judging) -> None:
        super().__init__(model)
        self.matched: tuple[str, ...] | None = None

    @property
    def codes(self) -> str | None:
        """The codes, separated by commas, ``""`` for none; None without a usable answer."""
        return None if self.matched is None else ", ".join(self.matched)

    async def judge(self) -> Decision:
        """Code the message."""
        text = self.model.texts[self.unique_id - 1]
        return await self.ask("judge", coded(self.model.codes), text=text)


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
        return {"codes": sorted(message_coder().codes(ask.facts.text))}


class Judging(SmartModel):
    """A model of judges that code messages, one message each.

    Args:
        texts: the messages, each different from the others.
        minds: see `SmartModel`; ``classical`` is the rule-based coder.
        settings: the other parameters of `SmartModel`.

    Class attributes:
        codes: the codes of its book.

    Attributes:
        judges: the judges, in the order of the texts.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "judge"
    title = "Judging of messages"
    source = "after Piatti et al. 2024, arXiv 2404.16698, section 3.6"
    prompt_file = Path(__file__).with_name("judge.toml")
    codes: ClassVar[tuple[str, ...]] = CODES
    phases: ClassVar[tuple[Phase, ...]] = (
        Phase(
            "judge",
            doc="Each judge names the codes of its message (`judge`); a message whose answer is "
            "unreadable has no codes.",
        ),
    )
    model_columns: ClassVar[Any] = CODES
    agent_columns = ("codes",)
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {"default": RuleCoder}
    defaults: ClassVar[Mapping[str, Any]] = {"temperature": 0.0, "max_tokens": 256}

    def __init__(self, texts: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(**settings)
        self.texts = tuple(texts)
        if not self.texts or len(set(self.texts)) < len(self.texts):
            raise ParameterError(
                "texts: one or more different messages are needed.", parameter="texts"
            )
        self.judges = self.populate(Judge, len(self.texts))

    def after_judge(self, judge: Judge, answer: Decision) -> None:
        """Keep the codes; None when they could not be read."""
        value = answer.value
        judge.matched = (
            None if value is None else tuple(code for code in self.codes if code in value.codes)
        )

    def update(self) -> None:
        """Compute the share of each code among the texts with a usable answer."""
        known = [judge.matched for judge in self.judges if judge.matched is not None]
        for code in self.codes:
            share = sum(code in codes for codes in known) / len(known) if known else math.nan
            setattr(self, code, share)


class ReasoningJudging(Judging):
    """Judges that code private reasoning, one text each.

    Args:
        settings: those of `Judging`.
    """

    scenario_name = "judge-reasoning"
    title = "Judging of private reasoning"
    source = "steps after Nagel 1995, American Economic Review 85(5), 1313-1326"
    prompt_file = Path(__file__).with_name("judge_reasoning.toml")
    codes = REASONING_CODES
    model_columns = REASONING_CODES
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {}


def judge(
    messages: pd.DataFrame,
    minds: Minds,
    recording: str | Path,
    *,
    judging: type[Judging] = Judging,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
    **settings: Any,
) -> tuple[pd.DataFrame, Runs]:
    """Let a judge code messages or private reasoning, and record the answers.

    When the recording has a judging of the same texts by the same minds, prompts and settings, its
    answers are used, and only missing ones are asked for.

    Args:
        messages: one row per text, with ``text``, as from `Recorded.messages` or `reasoning_of`.
        minds: the minds that judge, such as ``"llm:gpt-4o-mini"``.
        recording: the recording of the answers.
        judging: the class with the code book: `Judging` or `ReasoningJudging`.
        connection: how language models are reached; its caps include earlier costs.
        watch: called with the models every tenth of a second.
        settings: other parameters of `Judging`.

    Returns:
        The same rows with one column per code (True, False, or missing), and the run.

    Raises:
        UsageError: for messages or parameters that cannot be used; then nothing has been asked.
        RunError: when the run fails; its answers are recorded.
    """
    texts = list(dict.fromkeys(messages["text"]))
    given = {"texts": texts, "minds": minds, **settings}
    path, spec = Path(recording), _planned(judging, given)
    if run := find_runs([spec], path).get(spec.digest):
        runs = rerun.resume(path, run.run, scenario=judging, connection=connection, watch=watch)
    else:
        trial_models([spec], connection)  # wrong use ends here, before there is any file
        with Recording(path) as opened:
            runs = run_models([spec.build(opened, connection)], watch=watch)
    (played,) = runs.models
    assert isinstance(played, judging)
    of_text = dict(zip(texts, (judge.matched for judge in played.judges), strict=True))
    codes = [of_text[text] for text in messages["text"]]
    return _with_codes(messages, codes, judging.codes), runs


def reasoning_of(recording: str | Path | Recorded, run: int | None = None) -> pd.DataFrame:
    """Private reasoning and thoughts before the decisions of recorded runs.

    Args:
        recording: the recording.
        run: only this run.

    Returns:
        One row per decision with any: ``run``, ``round``, ``phase``, ``agent``, ``call``, ``name``
        (of the question), ``text`` (reasoning, then thoughts) and ``level`` (the step of the
        decision itself, if the scenario declares its column; see `SmartModel.level_column`).

    Raises:
        RecordingError: when it cannot be read.
        UnknownName: when there is no such run.
    """
    recorded = recording if isinstance(recording, Recorded) else Recorded(recording)
    asks = recorded.asks(run=run)
    asks = asks[asks["valid"].to_numpy(bool)]
    parts = [asks[name].fillna("").astype(str) for name in ("reasoning", "thoughts")]
    texts = [" ".join(filter(None, map(str.strip, both))) for both in zip(*parts, strict=True)]
    keys = ["run", "round", "phase", "agent", "call", "name"]
    with_text = asks[keys].assign(text=pd.Series(texts, asks.index, dtype=str))
    with_text = with_text[with_text["text"] != ""].reset_index(drop=True)
    return with_text.assign(level=_levels(recorded, with_text, run))


def steps_of(coded: pd.DataFrame) -> pd.Series[float]:
    """The number of steps of coded reasoning.

    Args:
        coded: texts with one column per code; missing if the judge gave none.

    Returns:
        0 to 3 (three or more) for each text; NaN for a text without a step code, or with several.
    """
    held = coded[list(STEPS)].astype("boolean").fillna(value=False).to_numpy(bool)
    steps = pd.Series(held.argmax(axis=1), coded.index, dtype=float)
    return steps.where(held.sum(axis=1) == 1)


def _levels(recorded: Recorded, asks: pd.DataFrame, run: int | None) -> list[float]:
    """The reasoning step of the decision after each text; NaN if there is none."""
    scenarios = recorded.runs().set_index("run")["scenario"].to_dict()
    models, data = find_all().models, recorded.agent_data(run)
    columns = {
        number: models[name].level_column for number, name in scenarios.items() if name in models
    }
    levels: dict[tuple[int, int, int], Any] = {}
    for number, mine in data.groupby("run"):
        if column := columns.get(int(str(number))):
            keys = zip(mine["run"], mine["round"], mine["agent"], strict=True)
            levels |= dict(zip(keys, mine[column], strict=True))
    keys = zip(asks["run"], asks["round"], asks["agent"], strict=True)
    own_levels = [levels.get(key, math.nan) for key in keys]
    return [
        float(level) if phase == "act" and not pd.isna(level) else math.nan
        for level, phase in zip(own_levels, asks["phase"], strict=True)
    ]


def _planned(judging: type[Judging], given: Mapping[str, Any]) -> RunSpec:
    """The run of a judging; other texts in a prompt file make it another run."""
    bound = bind(judging, given)
    book = PromptBook(judging.prompt_file, bound["condition"], bound["variant"], bound["prompts"])
    return RunSpec(judging, given, 0, {"prompts": json.dumps(book.hashes(), sort_keys=True)})


def message_measures(path: Path, messages: pd.DataFrame) -> dict[str, dict[int, float | None]]:
    """The measures of messages that the scenarios of recorded runs declare.

    Args:
        path: the recording.
        messages: its messages, as `Recorded.messages` returns them.

    Returns:
        Name of a measure (see `SmartModel.message_measures`) → run → value.
    """
    runs, models = Recorded(path).runs(), find_all().models
    by_round: dict[str, dict[int, float | None]] = {}
    for name in runs["scenario"].unique():
        mine = messages[messages["run"].isin(runs.loc[runs["scenario"] == name, "run"])]
        if name in models and len(mine):
            for measure, declared in models[name].message_measures.items():
                by_round.setdefault(measure, {}).update(declared.of(mine, 0.0, math.inf))
    return by_round


def measure_label(name: str) -> str:
    """Return the label of a measure of messages, as a scenario declares it.

    Args:
        name: its name.
    """
    declared = (model.message_measures for model in find_all().models.values())
    return next(measures[name].label for measures in declared if name in measures)


def _with_codes(
    messages: pd.DataFrame, codes_of: Iterable[Sequence[str] | None], codes: Sequence[str]
) -> pd.DataFrame:
    rows = list(codes_of)
    columns = {
        code: pd.array([None if row is None else code in row for row in rows], dtype="boolean")
        for code in codes
    }
    return messages.assign(**columns)
