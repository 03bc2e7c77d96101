"""An LLM judge: a language model codes messages by the definitions that the rules are written to.

Rules
    Each different text is given to the judge once, by itself: what a message does is coded without
    what was said before it, as the rule-based coder does. There is one agent a text, and all are
    asked in one round, as many at once as the endpoint takes. The answer is a list of codes or the
    word "none", read strictly; one that cannot be read is asked for again, three times in all, and
    then the text has no codes: it is missing, and counted as ``invalid``.

Recording
    Judging is a run like any other: what was paid for is on disk before it is used, caps hold, and
    a judging that was stopped goes on where it ended. Judging the same texts again in the same
    way takes the answers from the recording.

Measures
    The share of the texts that carry each code; of each text its codes.

Deviations
    The source has eight labels of its own, one of which applies to an utterance, and one judge
    (GPT-4-turbo) that agreed with a human annotator on 72 % of 100 utterances. Here several codes
    may apply, and agreement is Cohen's kappa by code (`sabm_mesa.analysis.agreement`).

Source
    The idea is that of Piatti et al. 2024, "Cooperate or Collapse", arXiv 2404.16698, section 3.6.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from sabm_mesa import reruns
from sabm_mesa.agents.base import SmartAgent
from sabm_mesa.analysis.process import CODES, code_message
from sabm_mesa.answers import AnswerSpec, Unusable, shorten, undress
from sabm_mesa.asks import Ask, Observation
from sabm_mesa.decisions import Decision
from sabm_mesa.errors import ParameterError
from sabm_mesa.minds import Minds, by_spec
from sabm_mesa.models.base import SmartModel
from sabm_mesa.parameters import bind
from sabm_mesa.prompts import PromptBook
from sabm_mesa.recording import Recording
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.recording.past import pasts
from sabm_mesa.recording.statistics import as_recorded
from sabm_mesa.runner import Runs, Watch, run_all
from sabm_mesa.scheduler import Phase

if TYPE_CHECKING:
    from sabm_mesa.llm import Connection

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
            value = [] if undress(value).casefold() == NONE else value.split(",")
        named = [undress(str(each)).casefold() for each in value]
        if unknown := [name for name in named if name not in self.codes]:
            raise Unusable("not_a_code", found=shorten(unknown[0]))
        return tuple(code for code in self.codes if code in named)

    def placeholders(self) -> dict[str, Any]:
        """The codes, comma-separated."""
        return {"codes": ", ".join(self.codes)}

    def _value_schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string", "enum": list(self.codes)}}


ANSWER = CodeList(CODES)


@dataclass(frozen=True, slots=True)
class OneMessage(Observation):
    """What a judge sees: one message, and nothing of the run that it comes from.

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
        found: the codes that it gave; None when no answer of it could be used.
    """

    model: Judging

    def __init__(self, model: Judging) -> None:
        super().__init__(model)
        self.found: tuple[str, ...] | None = None

    @property
    def codes(self) -> str | None:
        """The codes with commas between them, ``""`` for none; None when there are not any."""
        return None if self.found is None else ", ".join(self.found)

    async def judge(self) -> Decision:
        """Code the message."""
        text = self.model.texts[self.unique_id - 1]
        return await self.ask("judge", ANSWER, OneMessage(text))


class RuleCoder:
    """The rule-based coder as a judge.

    Args:
        spec: how the mind is named in the data.
    """

    instant = True
    paid = False

    def __init__(self, spec: str = "classical") -> None:
        self.spec = spec

    async def answer(self, ask: Ask) -> object:
        """Code the message by the rules.

        Args:
            ask: the question.
        """
        assert isinstance(ask.observation, OneMessage)
        return sorted(code_message(ask.observation.text))


class Judging(SmartModel):
    """Judges that code messages, each of them one.

    Args:
        texts: the messages, each different from the others.
        minds: see `SmartModel`; ``classical`` is the rule-based coder.
        temperature: sampling temperature of language models.
        max_tokens: tokens of an answer at the most.
        settings: the other parameters of `SmartModel`.

    Attributes:
        judges: the judges, in the order of the texts.

    Raises:
        UsageError: for a parameter that cannot be used.
    """

    scenario_name = "judge"
    title = "Judging of messages"
    source = "after Piatti et al. 2024, arXiv 2404.16698, section 3.6"
    prompt_file = "judge"
    phases: ClassVar[tuple[Phase, ...]] = (Phase("judge"),)
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
            raise ParameterError("texts: one or more different messages are needed.")
        self.judges = self.populate(Judge, len(self.texts))

    def after_judge(self, judge: Judge, answer: Decision) -> None:
        """Keep the codes; None when they could not be read."""
        judge.found = answer.value

    def update(self) -> None:
        """Count the codes among the texts that have any answer."""
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
    """Let a judge code messages, and record it.

    When the recording holds a judging of the same texts by the same minds, prompts and settings,
    its answers are taken, and only what is missing is asked.

    Args:
        messages: one row a message, with ``text``, as from `messages_of`.
        minds: who judges, such as ``"llm:gpt-4o-mini"``.
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
    path = Path(recording)
    begun = _begun(path, bind(Judging, given)) if path.exists() else None
    if begun is not None:
        runs = reruns.resume(path, begun, scenario=Judging, connection=connection, watch=watch)
    else:
        # Wrong use ends here, before there is any file.
        Judging(**given, connection=connection, recording=False)
        with Recording(path) as opened:
            runs = run_all(
                Judging, given, seed=0, recording=opened, connection=connection, watch=watch
            )
    (judging,) = runs.models
    assert isinstance(judging, Judging)
    of_text = dict(zip(texts, (judge.found for judge in judging.judges), strict=True))
    return _with_codes(messages, [of_text[text] for text in messages["text"]]), runs


def _begun(path: Path, parameters: Mapping[str, Any]) -> int | None:
    """The latest run of a recording that judges in just this way."""
    now = {name: value for name, value in parameters.items() if name != "rng"}
    wanted = as_recorded({**now, "minds": by_spec(now["minds"])})
    book = PromptBook("judge", now["condition"], now["variant"], now["prompts"])
    runs = Recorded(path).runs()
    alike = [
        int(run)
        for run, scenario, given in zip(
            runs["run"], runs["scenario"], runs["parameters"], strict=True
        )
        if scenario == Judging.scenario_name and json.loads(given) == wanted
    ]
    same = [
        past.run
        for past in (pasts(path, alike) if alike else ())
        if book.hashes().items() <= dict(past.prompts).items()
    ]
    return same[-1] if same else None


def _with_codes(messages: pd.DataFrame, found: Iterable[Sequence[str] | None]) -> pd.DataFrame:
    rows = list(found)
    columns = {
        code: pd.array([None if row is None else code in row for row in rows], dtype="boolean")
        for code in CODES
    }
    return messages.assign(**columns)
