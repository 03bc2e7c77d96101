"""Following a recorded run: what was recorded is compared, what is new is written behind it."""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sabm_mesa.asking import Attempt
from sabm_mesa.errors import RunDiffers
from sabm_mesa.jsonable import to_json
from sabm_mesa.recording import RunInfo, RunRecorder
from sabm_mesa.recording.past import Messages, Past, whole

_SHOWN = 60


class Following:
    """Compares a run with its past, and records what goes beyond it.

    Args:
        past: the run as it was recorded.
        onward: what records the rest; None for a replay, which may not go beyond its past.

    Attributes:
        run: the number of the run in its recording.
        asked: recorded attempts that came up again.
        compared: recorded rounds whose data came out the same.
        repeated_usd: dollars that those attempts had cost; NaN when a price is not known.
    """

    def __init__(self, past: Past, onward: RunRecorder | None) -> None:
        self.run = past.run
        self.asked = self.compared = 0
        self.repeated_usd = 0.0
        self._past, self._onward = past, onward
        self._recorded = Counter(place[0] for place in past.answers)
        self._asked: Counter[int] = Counter()

    def enter(self, info: RunInfo) -> None:
        """Compare what the run collects with what was recorded.

        Args:
            info: what would be recorded of the run now.

        Raises:
            RunDiffers: when there are other columns.
        """
        for kind, then, now in (
            ("model", self._past.model_columns, info.model_columns),
            ("agent", self._past.agent_columns, info.agent_columns),
        ):
            if other := sorted({*then} ^ {*now}) or ([] if list(then) == list(now) else [*now]):
                raise RunDiffers(
                    f"{self._past.name} differs: it was recorded by another version of the model, "
                    f"whose {kind} data have other columns ({', '.join(other)})."
                )

    async def record(self, attempt: Attempt, *, durable: bool) -> None:
        """Compare an attempt with the recorded one, or write it.

        Raises:
            RunDiffers: when it differs; the first difference is named.
        """
        row = self._past.answers.get((*attempt.ask.key, attempt.number))
        if row is not None:
            self._compare(attempt, row)
            self.asked += 1
            self._asked[attempt.ask.key.round] += 1
            self.repeated_usd += math.nan if row["cost_usd"] is None else row["cost_usd"]
        elif self._onward is not None:
            await self._onward.record(attempt, durable=durable)
        else:
            raise self._beyond(attempt)

    def collect(
        self, round_: int, model_row: Sequence[Any], agent_rows: Sequence[Sequence[Any]]
    ) -> None:
        """Compare the data of a round with the recorded ones, or write them.

        Raises:
            RunDiffers: when they differ; the first difference is named.
        """
        past = self._past
        if left := self._recorded[round_] - self._asked[round_]:
            raise RunDiffers(
                f"{past.name} differs: {left} of the {self._recorded[round_]} recorded answers "
                f"of round {round_} were not asked for."
            )
        if round_ < past.rounds:
            self._same_data("model", past.model_data[round_], [model_row], round_)
            self._same_data("agent", past.agent_data[round_], agent_rows, round_)
            self.compared += 1
        elif self._onward is not None:
            self._onward.collect(round_, model_row, agent_rows)
        else:
            raise RunDiffers(
                f"{past.name} differs: round {round_} is played, and the recording ends after "
                f"{past.rounds} rounds."
            )

    async def finish(self, problem: str = "") -> None:
        """Write how the run ended; a replay has to have used all that was recorded.

        Raises:
            RecordingError: when it cannot be written, or when answers are left over.
        """
        if self._onward is not None:
            await self._onward.finish(problem)
        elif not problem:
            self._complete()

    def _complete(self) -> None:
        past = self._past
        if self.compared < past.rounds:
            raise RunDiffers(
                f"{past.name} differs: it ended after {self.compared} rounds, and the recording "
                f"has {past.rounds}."
            )
        if self.asked < len(past.answers):
            raise RunDiffers(
                f"{past.name} differs: {len(past.answers) - self.asked} of its "
                f"{len(past.answers)} recorded answers were not asked for."
            )

    def _beyond(self, attempt: Attempt) -> RunDiffers:
        ask = attempt.ask
        return RunDiffers(
            f"{self._past.name} differs at {ask.key}: {ask.name!r} is asked, attempt "
            f"{attempt.number}, and no such answer is in the recording."
        )

    def _compare(self, attempt: Attempt, row: sqlite3.Row) -> None:
        ask, reply = attempt.ask, attempt.reply
        if ask.name != row["name"]:
            raise self._differs(attempt, f"{row['name']!r} was asked, and now {ask.name!r}")
        if attempt.mind != row["mind"]:
            raise self._differs(attempt, f"{row['mind']} was asked, and now {attempt.mind}")
        if ask.position != row["position"]:
            turns = f"it was asked in turn {row['position']}, and now in turn {ask.position}"
            raise self._differs(attempt, turns)
        if row["request"] is not None:
            self._same_request(attempt, row)
        raw = reply.answer if isinstance(reply.answer, str) else to_json(reply.answer)
        if raw != row["raw"]:
            raise self._differs(
                attempt, f"{attempt.mind} answered {_short(row['raw'])}, and now {_short(raw)}"
            )
        reading = attempt.reading
        value = None if reading is None else to_json(reading.value)
        for what, then, now in (
            ("the answer was read as", row["value"], value),
            ("the reasoning was", row["reasoning"], None if reading is None else reading.reasoning),
            ("the reason against it was", row["reason"], attempt.reason),
        ):
            if then != now:
                raise self._differs(attempt, f"{what} {_short(then)}, and now {_short(now)}")

    def _differs(self, attempt: Attempt, what: str) -> RunDiffers:
        return RunDiffers(f"{self._past.name} differs at {attempt.ask.key}: {what}.")

    def _same_request(self, attempt: Attempt, row: sqlite3.Row) -> None:
        then = self._past.messages(row)
        now = [(message["role"], message["content"]) for message in attempt.ask.messages()]
        if then != now:
            raise self._differs(attempt, first_difference(then, now))
        if attempt.reply.request != row["request"]:
            raise self._differs(
                attempt,
                "the messages are the same, but the request was made with another model, other "
                "settings (temperature, max_tokens, top_p) or another answer format, or by a mind "
                f"of your own: give it with minds={{{attempt.mind!r}: mind}}",
            )

    def _same_data(self, kind: str, then: str, rows: Sequence[Sequence[Any]], round_: int) -> None:
        now = to_json(rows[0] if kind == "model" else rows)
        if now == then:
            return
        with whole(self._past.path):
            old = json.loads(then)
        new = json.loads(now)
        if old == new:
            return
        columns = self._past.model_columns
        if kind == "model":
            old, new = [old], [new]
        else:
            columns = self._past.agent_columns
        raise RunDiffers(
            f"{self._past.name} differs in the {kind} data of round {round_}: "
            f"{_first_cell(columns, old, new)}."
        )


def first_difference(then: Messages, now: Messages) -> str:
    """Where two requests first differ, in words; ``""`` when they do not.

    Args:
        then: the recorded messages, (role, content) each.
        now: the messages of now.
    """
    for number, (old, new) in enumerate(zip(then, now, strict=False)):
        if old[0] != new[0]:
            return f"message {number} was of the role {old[0]!r}, and is now of {new[0]!r}"
        lines = zip(_lines(old[1]), _lines(new[1]), strict=False)
        for line, (before, after) in enumerate(lines, 1):
            if before != after:
                return (
                    f"line {line} of the {old[0]} message was {_around(before, after)}, and is "
                    f"now {_around(after, before)}"
                )
        if old[1] != new[1]:
            return f"the {old[0]} message had {len(_lines(old[1]))} lines, and has now " + str(
                len(_lines(new[1]))
            )
    if len(then) != len(now):
        return f"it had {len(then)} messages, and has now {len(now)}"
    return ""


def _lines(text: str) -> list[str]:
    return text.split("\n")


def _around(text: str, other: str) -> str:
    """The text in quotes, cut to the neighbourhood of where it parts from the other."""
    same = next(
        (place for place, (a, b) in enumerate(zip(text, other, strict=False)) if a != b),
        min(len(text), len(other)),
    )
    start = max(0, same - _SHOWN // 2)
    return _short(text) if len(text) <= _SHOWN or not start else f'"…{_short(text[start:])[1:]}'


def _short(text: str | None) -> str:
    if text is None:
        return "nothing"
    return f'"{text if len(text) <= _SHOWN else text[:_SHOWN] + "…"}"'


def _first_cell(columns: Sequence[str], then: list[list[Any]], now: list[list[Any]]) -> str:
    for old, new in zip(then, now, strict=False):
        whose = f"agent {old[0]}, " if columns[:1] == ["agent"] else ""
        for column, before, after in zip(columns, old, new, strict=False):
            if before != after:
                return f"{whose}{column} was {before}, and is now {after}"
    return f"{len(then)} rows were recorded, and there are now {len(now)}"
