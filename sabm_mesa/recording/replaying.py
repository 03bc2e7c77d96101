"""Replaying: recorded data of a run are compared, and new data are written after them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile, zip_longest
from typing import Any, Literal

from sabm_mesa.core.answers import Decision, OptionOrder, Reply
from sabm_mesa.core.asks import Ask, Chat
from sabm_mesa.core.jsonable import to_json
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.errors import ReplayMismatch
from sabm_mesa.recording.reading import RecordedRun
from sabm_mesa.recording.rows import MESSAGE_COLUMNS, AskRow, RunRow, ask_row
from sabm_mesa.recording.store import reporting_damage
from sabm_mesa.recording.writing import Recorder, RequestRows, RoundRows, RunRecorder

_SHOWN = 60
_COMPARED = {
    "name": "{then!r} was asked, and now {now!r}",
    "mind": "{then} was asked, and now {now}",
    "position": "it was asked in turn {then}, and now in turn {now}",
    "raw": "{mind} answered {old}, and now {new}",
    "value": "the answer was read as {old}, and now {new}",
    "reasoning": "the reasoning was {old}, and now {new}",
    "reason": "the reason against it was {old}, and now {new}",
}
"""The columns of an attempt that must be equal in a replay, after its request, and the words for a
difference."""


class ReplayRecorder(Recorder):
    """Compares a run with a recorded one, and records its continuation.

    A model that is given one as its `recording` repeats the recorded run.

    Args:
        recorder: the recorder of the continuation; None for a replay, which ends with the
            recording.
        live: whether minds are asked questions that are not in the recording; a replay asks none.
        applied: the number of forks applied so far; prompts and minds are those after the last one.
        from_files: whether the prompts come from their files, for a fork that changes them.

    Attributes:
        run: the number of the run in its recording.
        path: the recording.
        compared: the number of recorded rounds with the same data.
        repeated_usd: the recorded cost of the repeated attempts in dollars; NaN when a price is
            unknown.
    """

    def __init__(
        self,
        recorded: RecordedRun,
        recorder: RunRecorder | None = None,
        *,
        live: bool = False,
        minds: Mapping[str, Any] | None = None,
        applied: int = 0,
        from_files: bool = False,
    ) -> None:
        super().__init__()
        self.run, self.path = recorded.run, recorded.path
        self.recorded, self.live, self.minds = recorded, live, dict(minds or {})
        self.applied, self.from_files = applied, from_files
        self.compared = 0
        self.repeated_usd = 0.0
        self._recorder = recorder
        self._asked_of: Counter[int] = Counter()

    @property
    def asked(self) -> int:
        """The number of repeated attempts."""
        return self._asked_of.total()

    @property
    def may_ask(self) -> bool:
        """Whether the minds of this run may be asked.

        The recording has all answers before a fork: minds that a fork replaces are no longer asked,
        and need neither key nor server.
        """
        later = self.recorded.forks[self.applied :]
        return self.live and not any("minds" in fork["set"] for fork in later)

    @property
    def versions(self) -> dict[str, str]:
        """Package → version, and spec → SHA-256 of the files of minds, also of forks so far."""
        return self.recorded.versions_at(self.applied)

    def book(self, condition: str, variant: str, option_order: OptionOrder) -> PromptBook:
        """The recorded prompts.

        Raises:
            ReplayMismatch: when they differ from the recording.
        """
        hashes = self.recorded.prompts_at(self.applied)
        entries, personas = self.recorded.templates(hashes)
        book = PromptBook.recorded(entries, personas, condition, variant, option_order)
        for entry, (digest, _) in book.with_hashes(personas).items():
            if digest != hashes[entry]:
                raise ReplayMismatch(
                    f"{self.recorded.name} differs: its prompt entry {entry!r} was changed in the "
                    "recording."
                )
        return book

    def after(self, applied: int) -> ReplayRecorder:
        """The same recorder after a number of forks, before any comparison."""
        return ReplayRecorder(
            self.recorded, self._recorder, live=self.live, minds=self.minds, applied=applied,
            from_files=self.from_files,
        )  # fmt: skip

    def enter(self, header: RunRow) -> None:
        """Compare collected with recorded data.

        Raises:
            ReplayMismatch: when there are other columns.
        """
        for kind, then, now in (
            ("model", self.recorded.model_columns, header.model_columns),
            ("agent", self.recorded.agent_columns, header.agent_columns),
        ):
            if other := sorted({*then} ^ {*now}) or ([] if list(then) == list(now) else [*now]):
                raise ReplayMismatch(
                    f"{self.recorded.name} differs: it was recorded by another version of the "
                    f"model, whose {kind} data have other columns ({', '.join(other)})."
                )

    def requests_of(self, ask: Ask, mind: str) -> RequestRows | None:
        """Writes the rows of new requests for an ask; None in a replay."""
        return None if self._recorder is None else self._recorder.requests_of(ask, mind)

    def record(
        self, ask: Ask, mind: str, reply: Reply, decision: Decision, *, final: bool, durable: bool
    ) -> Awaitable[None] | None:
        """Compare an attempt with the recorded one, or write it.

        Raises:
            ReplayMismatch: when it differs; the first difference is named.
        """
        number = len(ask.rejected)
        then = self.recorded.asks.get((*ask.key, number))
        if then is not None:
            self._compare(ask, ask_row(self.run, ask, mind, reply, decision, final=final), then)
            self._asked_of[ask.key.round] += 1
            self.repeated_usd += math.nan if then.cost_usd is None else then.cost_usd
            return None
        if self._recorder is not None:
            return self._recorder.record(ask, mind, reply, decision, final=final, durable=durable)
        raise ReplayMismatch(
            f"{self.recorded.name} differs at {ask.key}: {ask.name!r} is asked, attempt {number}, "
            "and no such answer is in the recording."
        )

    def collect(self, round_: int, rows: Callable[[], RoundRows]) -> None:
        """Compare the data of a round with the recorded ones, or write them.

        Raises:
            ReplayMismatch: when they differ; the first difference is named.
        """
        recorded = self.recorded
        if left := self._recorded_of[round_] - self._asked_of[round_]:
            raise ReplayMismatch(
                f"{recorded.name} differs: {left} of the {self._recorded_of[round_]} recorded "
                f"answers of round {round_} were not asked for."
            )
        if round_ < recorded.rounds:
            model_row, agent_rows, message_rows = rows()
            self._same_data("model", recorded.model_data[round_], [model_row], round_)
            self._same_data("agent", recorded.agent_data[round_], agent_rows, round_)
            self._same_data("message", recorded.message_data[round_], message_rows, round_)
            self.compared += 1
        elif self._recorder is not None:
            self._recorder.collect(round_, rows)
        else:
            raise ReplayMismatch(
                f"{recorded.name} differs: round {round_} is played, and the recording ends after "
                f"{recorded.rounds} rounds."
            )

    async def finish(
        self,
        problem: str = "",
        end_reason: str = "",
        measures: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Write the end of the run; a replay has to have used all recorded answers.

        Raises:
            RecordingError: when it cannot be written, or when recorded answers were not used.
        """
        if self._recorder is not None:
            await self._recorder.finish(problem, end_reason, measures)
        elif not problem:
            self._complete()

    @cached_property
    def _recorded_of(self) -> Counter[int]:
        """Round → recorded attempts."""
        return Counter(key[0] for key in self.recorded.asks)

    def _complete(self) -> None:
        recorded = self.recorded
        if self.compared < recorded.rounds:
            raise ReplayMismatch(
                f"{recorded.name} differs: it ended after {self.compared} rounds, and the "
                f"recording has {recorded.rounds}."
            )
        if self.asked < len(recorded.asks):
            raise ReplayMismatch(
                f"{recorded.name} differs: {len(recorded.asks) - self.asked} of its "
                f"{len(recorded.asks)} recorded answers were not asked for."
            )

    def _compare(self, ask: Ask, now: AskRow, then: AskRow) -> None:
        for column, words in _COMPARED.items():
            if column == "raw" and then.request is not None:
                self._same_request(ask, now, then)
            before, after = getattr(then, column), getattr(now, column)
            if before != after:
                shown = {"old": _short(before), "new": _short(after), "mind": now.mind}
                raise self._differs(ask, words.format(then=before, now=after, **shown))

    def _differs(self, ask: Ask, what: str) -> ReplayMismatch:
        return ReplayMismatch(f"{self.recorded.name} differs at {ask.key}: {what}.")

    def _same_request(self, ask: Ask, now: AskRow, then: AskRow) -> None:
        sent = self.recorded.chat(then)
        if sent != ask.chat():
            raise self._differs(ask, first_difference(sent, ask.chat()))
        if now.request != then.request:
            raise self._differs(
                ask,
                "the messages are the same, but the request was made with another model, other "
                "settings (temperature, max_tokens, …) or another answer format, or by "
                f"your own mind: give it with minds={{{now.mind!r}: mind}}",
            )

    def _same_data(
        self,
        kind: Literal["model", "agent", "message"],
        then: str,
        rows: Sequence[Sequence[Any]],
        round_: int,
    ) -> None:
        now = to_json(rows[0] if kind == "model" else rows)
        if now == then:
            return
        columns = {
            "model": self.recorded.model_columns,
            "agent": self.recorded.agent_columns,
            "message": MESSAGE_COLUMNS,
        }[kind]
        with reporting_damage(self.recorded.path):
            old, new = json.loads(then), json.loads(now)
            if old == new:
                return
            if kind == "model":
                old, new = [old], [new]
            raise ReplayMismatch(
                f"{self.recorded.name} differs in the {kind} data of round {round_}: "
                f"{_first_cell(columns, old, new)}."
            )


def first_difference(then: Chat, now: Chat) -> str:
    """Describe the first line that differs in two requests; ``""`` when there is none."""
    for old, new in zip_longest(_lines(then), _lines(now), fillvalue=("", 0, None)):
        if old != new:
            role, line, _ = old if old[1] else new
            before, after = _around(old[2], new[2]), _around(new[2], old[2])
            return f"line {line} of the {role} message was {before}, and is now {after}"
    return ""


def _lines(chat: Chat) -> list[tuple[str, int, str | None]]:
    """The role, number and text of each line."""
    return [
        (role, number, line)
        for role, text in chat
        for number, line in enumerate(text.split("\n"), 1)
    ]


def _around(text: str | None, other: str | None) -> str:
    """The text around its first difference from the other, in quotes."""
    pairs = zip(text or "", other or "", strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    start = max(0, same - _SHOWN // 2)
    if text is None or len(text) <= _SHOWN or not start:
        return _short(text)
    return f'"…{_short(text[start:])[1:]}'


def _short(value: object) -> str:
    if value is None:
        return "nothing"
    text = str(value)
    return f'"{text if len(text) <= _SHOWN else text[:_SHOWN] + "…"}"'


def _first_cell(columns: Sequence[str], then: list[list[Any]], now: list[list[Any]]) -> str:
    for old, new in zip(then, now, strict=False):
        whose = f"agent {old[0]}, " if columns[:1] == ["agent"] else ""
        for column, before, after in zip(columns, old, new, strict=False):
            if before != after:
                return f"{whose}{column} was {before}, and is now {after}"
    return f"{len(then)} rows were recorded, and there are now {len(now)}"
