"""A language model as judge: it codes messages, as the rules do, and private reasoning.

The codes and the coder of messages by rules are those of `sabm_mesa.analysis.messages`, with the
words of the scenarios (``words.toml`` beside the model). Private reasoning is the reasoning and the
thoughts before a decision; only a language model codes it. Its codes, with the steps of Nagel 1995,
are defined in ``judge_reasoning.toml``.

A judging is a questionnaire: each different text is one question. An unreadable answer is asked for
again, three times in all; then the text has no codes, and counts as ``invalid``. Judging the same
texts again in the same way takes the answers from the recording.

The idea is that of Piatti et al. 2024, "Cooperate or Collapse", arXiv 2404.16698, section 3.6. The
source has eight other labels, one of which applies to an utterance, and one judge (GPT-4-turbo)
that agreed with a human annotator on 72 % of 100 utterances. Here several codes may apply, and
agreement is Cohen's kappa by code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pandas as pd
from pydantic import BaseModel, Field, create_model

from sabm_mesa.analysis.intervals import CONFIDENCE, require_columns
from sabm_mesa.analysis.messages import CODES, MessageCoder, read_words
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.parameters import bind
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.errors import ParameterError
from sabm_mesa.minds.base import ClassicalMind
from sabm_mesa.minds.specs import Minds
from sabm_mesa.models.declarations import file_beside
from sabm_mesa.models.registry import find_all
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.planned import RunSpec, find_runs, run_missing
from sabm_mesa.runs.run import Watch
from sabm_mesa.studies import plots
from sabm_mesa.studies.questionnaire import Questionnaire
from sabm_mesa.studies.report import Report, Table

if TYPE_CHECKING:
    from sabm_mesa.llm import Connection


STEPS = ("step_0", "step_1", "step_2", "step_3")
REASONING_CODES = (*STEPS, "reference", "imitation", "own_payoff")
"""The codes of private reasoning: at most one of the steps, and any of the others."""


@cache
def message_coder() -> MessageCoder:
    """The coder by rules, with the words that the scenarios declare."""
    models = find_all().models.values()
    declared = {path for model in models if (path := file_beside(model, "words.toml"))}
    return MessageCoder(*(read_words(path) for path in sorted(declared)))


@cache
def coded(codes: tuple[str, ...]) -> type[BaseModel]:
    """The answer of a judge: the codes that apply."""
    listed: Any = list[Literal[codes]]  # type: ignore[valid-type]  # a literal of a tuple
    return create_model("Codes", codes=(listed, Field(max_length=len(codes))))


class RuleCoder(ClassicalMind):
    """The rule-based coder as a judge."""

    async def answer(self, ask: Ask) -> object:
        """Code the message by the rules."""
        return {"codes": sorted(message_coder().codes(ask.facts.text))}


class Judging(Questionnaire):
    """A questionnaire whose agents code messages, one message each.

    The texts must be different; ``classical`` is the rule-based coder.
    """

    scenario_name = "judge"
    title = "Judging of messages"
    source = "after Piatti et al. 2024, arXiv 2404.16698, section 3.6"
    prompt_file = Path(__file__).with_name("judge.toml")
    codes: ClassVar[tuple[str, ...]] = CODES
    model_columns: ClassVar[Any] = CODES
    classical_minds: ClassVar[Mapping[str, Callable[[str], Any]]] = {"default": RuleCoder}
    defaults: ClassVar[Mapping[str, Any]] = {"temperature": 0.0, "max_tokens": 256}

    def __init__(self, texts: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(**settings)
        self.texts = tuple(texts)
        if not self.texts or len(set(self.texts)) < len(self.texts):
            raise ParameterError(
                "texts: one or more different messages are needed.", parameter="texts"
            )
        vars(self).update(dict.fromkeys(self.codes, math.nan))
        self.pose([("judge", coded(self.codes), {"text": text}) for text in self.texts])

    def text_of(self, value: Any) -> str:
        """The codes, separated by commas."""
        return ", ".join(code for code in self.codes if code in value.codes)

    def update(self) -> None:
        """Compute the share of each code among the texts with a usable answer."""
        known = [r.value.codes for r in self.respondents if r.value is not None]
        for code in self.codes:
            share = sum(code in codes for codes in known) / len(known) if known else math.nan
            setattr(self, code, share)


class ReasoningJudging(Judging):
    """Judges that code private reasoning, one text each."""

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
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Let a judge code messages or private reasoning, and record the answers.

    When the recording has a judging of the same texts by the same minds, prompts and settings, its
    answers are used, and only missing ones are asked for. The connection's caps include earlier
    costs. `settings` are other parameters of `Judging`.

    Args:
        messages: one row per text, with ``text``, as from `Recorded.messages` or `reasoning_of`.
        minds: the minds that judge, such as ``"llm:gpt-4o-mini"``.
        recording: the recording of the answers.
        judging: the class with the code book: `Judging` or `ReasoningJudging`.
        connection: how language models are reached.
        watch: called with the models every tenth of a second.

    Returns:
        The same rows with one column per code (True, False, or missing); and the numbers of
        ``asks`` and ``invalid`` answers.

    Raises:
        UsageError: for messages or parameters that cannot be used; then nothing has been asked.
        RunError: when the run fails; its answers are recorded.
    """
    texts = list(dict.fromkeys(messages["text"]))
    given = {"texts": texts, "minds": minds, **settings}
    bound = bind(judging, given)
    book = PromptBook(judging.prompt_file, bound["condition"], bound["variant"], bound["prompts"])
    prompts = json.dumps(book.hashes(), sort_keys=True)  # other texts make another run
    path, spec = Path(recording), RunSpec(judging, given, 0, {"prompts": prompts})
    run_missing({path: [spec]}, connection, watch=watch)
    run, recorded = find_runs([spec], path)[spec.digest].run, Recorded(path)
    answers = recorded.agent_data(run).sort_values("agent")["answer"]
    coded_as = {
        text: None if pd.isna(answer) else answer.split(", ")
        for text, answer in zip(texts, answers, strict=True)
    }
    rows = [coded_as[text] for text in messages["text"]]
    columns = {
        code: pd.array([None if row is None else code in row for row in rows], dtype="boolean")
        for code in judging.codes
    }
    runs = recorded.runs()
    (asked,) = runs[runs["run"] == run][["asks", "invalid"]].to_dict("records")
    return messages.assign(**columns), {str(name): int(n) for name, n in asked.items()}


def reasoning_of(recording: str | Path) -> pd.DataFrame:
    """Private reasoning and thoughts before the decisions of recorded runs.

    Returns:
        One row per decision with any: ``run``, ``round``, ``phase``, ``agent``, ``call``, ``name``
        (of the question) and ``text`` (reasoning, then thoughts).

    Raises:
        RecordingError: when it cannot be read.
    """
    asks = Recorded(recording).asks()
    asks = asks[asks["valid"].to_numpy(bool)]
    parts = [asks[name].fillna("").astype(str) for name in ("reasoning", "thoughts")]
    texts = [" ".join(filter(None, map(str.strip, both))) for both in zip(*parts, strict=True)]
    keys = ["run", "round", "phase", "agent", "call", "name"]
    with_text = asks[keys].assign(text=pd.Series(texts, asks.index, dtype=str))
    return with_text[with_text["text"] != ""].reset_index(drop=True)


def coded_by_hand(path: Path, messages: pd.DataFrame) -> pd.DataFrame:
    """The codes that a person gave to messages; those that are not in the file have none."""
    try:
        given = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise ParameterError(f"Cannot read the codes {path}: {error}.") from None
    if missing := [name for name in ("text", *CODES) if name not in given.columns]:
        raise ParameterError(
            f"{path} has no column {', '.join(missing)}: it needs text and one column per code, "
            "each 0 or 1."
        )
    by_text = given.drop_duplicates("text").set_index("text")[list(CODES)]
    codes = by_text.reindex(messages["text"]).astype("boolean").set_axis(messages.index)
    return messages.join(codes)


def agreement_by_code(
    first: pd.DataFrame, second: pd.DataFrame, codes: Sequence[str]
) -> pd.DataFrame:
    """Assumes independent texts: the agreement of two coders, by code (Cohen's kappa, 1960).

    The coders have coded the same texts in the same order; missing codes do not count.

    Returns:
        One row per code: ``code``, ``n`` (texts coded by both), ``first`` and ``second`` (the share
        with the code, by coder), ``agreed`` (the share coded alike), ``kappa``, ``low`` and
        ``high`` (95 %; NaN if both gave the same code to all texts).
    """
    from scipy.special import ndtri

    for frame in (first, second):
        require_columns(frame, list(codes))
    if len(first) != len(second):
        raise ValueError(f"the coders have coded {len(first)} and {len(second)} units")
    rows = []
    for code in codes:
        pairs = [frame[code].astype("boolean").to_numpy(dtype=object) for frame in (first, second)]
        both = pd.DataFrame({"a": pairs[0], "b": pairs[1]}).dropna().astype(bool)
        n, a, b, alike = len(both), *map(int, (*both.sum(), (both["a"] == both["b"]).sum()))
        kappa = low = high = math.nan
        if (by_chance := a * b + (n - a) * (n - b)) < n * n:
            observed, expected = alike / n, by_chance / n**2
            kappa = (observed - expected) / (1 - expected)
            half = ndtri((1 + CONFIDENCE) / 2) * math.sqrt(observed * (1 - observed) / n)
            half /= 1 - expected
            low, high = max(-1.0, kappa - half), min(1.0, kappa + half)
        shares = [count / n if n else math.nan for count in (a, b, alike)]
        rows.append((code, n, *shares, kappa, low, high))
    names = ["code", "n", "first", "second", "agreed", "kappa", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def report_of(
    path: Path,
    coders: Mapping[str, pd.DataFrame],
    reasoning: pd.DataFrame,
    judged: Mapping[str, Mapping[str, int]],
) -> Report:
    """The report of a judging.

    The first coder is the rules. `judged` has the numbers of ``asks`` and ``invalid`` answers.
    """
    by_rules = next(iter(coders.values()), pd.DataFrame())
    share = pd.DataFrame({name: _shares(frame, CODES) for name, frame in coders.items()})
    seen = {name: name for name in coders if share[name].notna().any()}
    tables, facts = [], {"recording": str(path), "messages": len(by_rules)}
    if coders:
        columns: dict[Any, str] = {"code": "code", **seen}
        by_code = share.rename_axis("code").reset_index()
        tables.append(Table("shares", by_code, columns, "Share of the messages", shares=[*seen]))
        others = [f[list(CODES)].add_prefix(f"{n}_") for n, f in coders.items() if n != "rules"]
        tables.append(Table("messages", pd.concat([by_rules, *others], axis=1), {}))
    pairs = [
        agreement_by_code(coders[a], coders[b], CODES).assign(coders=f"{a}, {b}")
        for a, b in combinations(seen, 2)
    ]
    if pairs:
        heads: dict[Any, str] = {
            "coders": "coders", "code": "code", "n": "messages", "agreed": "coded alike",
            ("kappa", "low", "high"): "Cohen's kappa (95 %)",
        }  # fmt: skip
        frame = pd.concat(pairs, ignore_index=True)
        note = "Kappa is not defined if both coders gave the same code to all messages."
        tables.append(Table("agreement", frame, heads, "Agreement", note, ["agreed"]))
    warnings, lead = [], [f"Messages: {len(by_rules):,}."]
    for what, asked in judged.items():
        asks, invalid = asked["asks"], asked["invalid"]
        lead.append(f"{what} read by the judge: {asks:,} different texts.")
        facts |= {f"{what.lower()}_judged": asks, f"{what.lower()}_unusable": invalid}
        if invalid:
            warnings.append(
                f"{what}: no usable answer to {invalid:,} of {asks:,} texts; their codes are "
                "missing."
            )
    if len(reasoning):
        lead.append(f"Decisions with private reasoning: {len(reasoning):,}.")
        tables.append(Table("reasoning", reasoning, {}))
        if set(REASONING_CODES) <= set(reasoning):
            shares = _shares(reasoning, REASONING_CODES).rename("judge").rename_axis("code")
            columns = {"code": "code", "judge": "judge"}
            title = "Share of private reasoning"
            frame = shares.reset_index()
            tables.append(Table("reasoning_shares", frame, columns, title, shares=["judge"]))
        else:
            lead.append("A language model can code it: --minds llm:MODEL.")
    drawn = {name: coders[name] for name in seen}
    figures = {"codes": plots.codes_by_round(drawn, path.name)} if len(by_rules) else {}
    title = f"What was said in {path.name}"
    return Report(title, " ".join(lead), warnings, tables, figures, facts)


def _shares(coded: pd.DataFrame, codes: Sequence[str]) -> pd.Series[float]:
    """The share of the coded texts with each code."""
    return coded[list(codes)].astype("Float64").mean().astype(float)
