"""Room for thoughts: a thinking model gets the same limit for its answer as other models.

A server counts thoughts in the limit, so a limit made for answers is used up before the answer
begins: the answer is empty, and ends by its length. Thoughts have a separate allowance, and the
limit sent is the sum of both: ``max_tokens + max_thought_tokens``. When a run does not set the
second number, it is 0 until the model is known to think, and `THOUGHTS` from then on. A model is
known to think when an answer has thoughts, has thought tokens, or is empty at the limit. An
answer that was cut off without room for thoughts is requested again with the same messages; both
are paid for, and the second counts as a retry.

When the chat template begins the thought, a cut-off answer has no mark of it. So when the first
answers of a model are cut off, it is asked again with room. If the second answer shows thoughts,
the first text counts as a thought; otherwise the first answer is used.

Sources: OpenAI counts thoughts in ``max_completion_tokens`` and advises to reserve 25,000 tokens at
first (its guide "Reasoning models"); Gemini counts them in the limit too.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sabm_mesa.core.answers import BY_LENGTH
from sabm_mesa.core.thoughts import begins_thought, ends_thought, split_thoughts
from sabm_mesa.errors import BadRequest, BudgetExceeded, LLMError
from sabm_mesa.llm.client import Client, Completion, Request

THOUGHTS = 16_384
"""The allowance for the thoughts of a model that is known to think, in tokens."""
UNSURE = 4096
"""The allowance after an empty answer at the limit, when the model may not think."""
LEAST = 256
"""The least allowance: when a server accepts less, only the limit of the answer is sent."""
_THINKS = re.compile(
    r"""(?:^|[/.])(?:
        o[1-9](?:$|-)
        | gpt-5(?!.*chat)
        | gemini-(?:2\.5|[3-9])(?!.*lite)
        | deepseek-r(?:1|easoner)
        | grok-(?:3-mini|[4-9])
        | qwq | magistral
    )|(?:think|thinking|reasoning)(?:$|[-:])""",
    re.VERBOSE | re.IGNORECASE,
)
"""The names of models that think without being asked to, in the lists of prices."""
_DOES_NOT_THINK = re.compile(r"non-(?:thinking|reasoning)", re.IGNORECASE)
_TOO_LARGE = re.compile(
    r"max(?:imum)?_?(?: ?completion_?)?(?: ?output)?_? ?tokens|context|n_predict", re.IGNORECASE
)
"""Words of a server that refuses so large a limit."""
_CONTEXT = re.compile(r"context", re.IGNORECASE)
"""Words of a refusal that depends on the length of the prompt."""
_LIMITS = ("max_completion_tokens", "max_tokens")
_log = logging.getLogger(__name__)


def thinks_unasked(model: str) -> bool:
    """Whether the name of a language model says that it thinks by default.

    Only estimates of cost use this; requests depend on its answers alone.

    Args:
        model: the name of the model.
    """
    return _THINKS.search(model) is not None and _DOES_NOT_THINK.search(model) is None


class ThoughtRoom:
    """The allowance for thoughts of one model at one endpoint.

    Args:
        where: the endpoint in words.
        model: the name of the model.

    Attributes:
        tokens: the allowance; 0 as long as it is not known to think.
        most: the highest allowance that the server accepts.
        opened: whether thoughts may lack their first mark, since the chat template begins them.
        known: whether an answer has shown if it thinks.
    """

    def __init__(self, where: str, model: str) -> None:
        self._where, self._model = where, model
        self.tokens, self.most, self.opened, self.known = 0, THOUGHTS, False, False

    def notice_marks(self, done: Completion) -> None:
        """Learn from the marks in an answer.

        Args:
            done: the answer.
        """
        self.opened = self.opened or ends_thought(done.text)

    def notice(self, done: Completion, max_tokens: int) -> None:
        """Learn from an answer that had a limit whether the model thinks.

        Args:
            done: the answer.
            max_tokens: the limit of the answer.
        """
        self.known = self.known or is_thoughtful(done) or not is_cut_off(done)
        if not self.tokens and self.most and is_thoughtful(done):
            self.tokens = self.most
            _log.warning(
                "The model %r at %s thinks: from now on it is allowed %d tokens for its thoughts, "
                "in addition to the %d of an answer (max_thought_tokens sets them).",
                self._model, self._where, self.tokens, max_tokens,
            )  # fmt: skip

    def adopt(self, before: Sequence[str], *, thought: bool = False) -> None:
        """Take over the findings of a recorded run.

        Args:
            before: the provenances of its answers that were not sent as asked, as JSON.
            thought: whether answers had thoughts. The recording has no marks, so a template may
                have begun them.
        """
        self.opened = self.opened or thought
        for provenance in map(json.loads, before):
            asked, sent = (_limit(provenance[kind]) for kind in ("asked", "sent"))
            if asked and sent > asked and "max_thought_tokens" not in provenance["asked"]:
                # What was sent may have been less: the first room, or as much as a prompt left.
                self.tokens, self.known = self.most, True

    def lower(self, refused: int) -> None:
        """Allow fewer tokens than the server refused.

        Args:
            refused: the refused number of tokens.
        """
        if refused <= self.most:
            self.most = _half(refused)
            self.tokens = min(self.tokens, self.most)


class MakeRoomClient:
    """Makes room for the thoughts of a thinking model when a run limits only answers.

    Args:
        client: the client that sends.
        room: the room of the model.
    """

    def __init__(self, client: Client, room: ThoughtRoom) -> None:
        self._client, self._room = client, room

    async def complete(self, request: Request) -> Completion:
        """Complete a chat; retry once when thoughts used up a limit that can be raised.

        Args:
            request: the request.

        Raises:
            LLMError: raised by the client.
            BudgetExceeded: raised by the client.
        """
        if not request.max_tokens or request.max_thought_tokens is not None:
            return self._without_thought(await self._client.complete(request))
        room = self._room
        given, done = await self._complete(request, room.tokens)
        room.notice(done, request.max_tokens)
        wanted = room.tokens if room.known else min(UNSURE, room.most)
        if done.stopped or not is_cut_off(done) or wanted <= given:
            return done
        try:
            _, again = await self._complete(request, wanted, more_than=given)
        except (LLMError, BudgetExceeded):  # the response is paid for and recorded
            return done
        except asyncio.CancelledError:
            return done._replace(stopped=True)
        room.notice(again, request.max_tokens)
        room.known = True
        thinks = room.tokens > given or is_out_of_room(done)
        kept, other = (again, done) if thinks else (done, again)
        if request.sent_notes is not None and other.note is not None:
            request.sent_notes.take_back(other.note)
        return _together(kept, other)

    async def _complete(
        self, request: Request, given: int, *, more_than: int = -1
    ) -> tuple[int, Completion]:
        """The final allowance, and the completion.

        A request that is sent again needs more room than it had, or it would be the same.
        """
        while True:
            try:
                if given != request.room:
                    request = replace(request, room=given)
                done = await self._client.complete(request)
            except BadRequest as error:
                if not given or not _TOO_LARGE.search(str(error)):
                    raise
                if _CONTEXT.search(str(error)):  # holds for this prompt alone
                    given = _half(given)
                else:
                    self._room.lower(given)
                    given = min(given, self._room.most)
                if given <= more_than:
                    raise
            else:
                return given, self._without_thought(done)

    def _without_thought(self, done: Completion) -> Completion:
        """The completion; a text that was cut off within its thought becomes a thought."""
        self._room.notice_marks(done)
        if not self._room.opened or done.finish_reason != BY_LENGTH or is_apart(done):
            return done
        return done._replace(text="", thoughts=done.text)


def is_apart(done: Completion) -> bool:
    """Whether the answer shows thoughts: by a mark, or in their own field.

    Args:
        done: the answer.
    """
    return bool(done.thoughts) or begins_thought(done.text) or ends_thought(done.text)


def is_thoughtful(done: Completion) -> bool:
    """Whether an answer shows that its model thinks.

    Args:
        done: the answer.
    """
    shown = done.thoughts or done.thought_tokens or split_thoughts(done.text).thoughts
    return bool(shown) or is_out_of_room(done)


def is_cut_off(done: Completion) -> bool:
    """Whether an answer ended at the limit of tokens.

    Args:
        done: the answer.
    """
    return done.finish_reason == BY_LENGTH


def is_out_of_room(done: Completion) -> bool:
    """Whether an answer ended at the limit of tokens before it began.

    Args:
        done: the answer.
    """
    return is_cut_off(done) and not split_thoughts(done.text).answer.strip()


def _together(kept: Completion, other: Completion) -> Completion:
    """A completion with the cost of another one added."""
    counts = (
        "prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens",
        "thought_tokens",
    )  # fmt: skip
    summed: dict[str, Any] = {n: getattr(kept, n) + getattr(other, n) for n in counts}
    return kept._replace(
        **summed,
        cost_usd=kept.cost_usd + other.cost_usd,
        latency_s=kept.latency_s + other.latency_s,
        retries=kept.retries + other.retries + 1,
        stopped=kept.stopped or other.stopped,
    )


def _half(tokens: int) -> int:
    """Half of the tokens, or none when that is below the least allowance."""
    return tokens // 2 if tokens // 2 >= LEAST else 0


def _limit(parameters: Mapping[str, Any]) -> int:
    limits = (parameters.get(name) for name in _LIMITS)
    return next((value for value in limits if isinstance(value, int)), 0)
