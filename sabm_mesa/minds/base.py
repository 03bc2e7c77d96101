"""Minds decide for agents.

A mind is asked until its answer is valid, a bounded number of times (`ask_until_valid`): this is
the only way to a decision. A reply is read strictly, and recorded before it is
used. An invalid answer is asked for again with the reason. When the attempts are used up, the
decision is invalid, with the reason.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sabm_mesa.core.answers import (
    Decision,
    Format,
    InvalidAnswer,
    Reply,
    replace_surrogates,
)
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.jsonable import json_roundtrip
from sabm_mesa.core.thoughts import join_thoughts, split_thoughts
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import MindError, MindSpecError, SabmError

if TYPE_CHECKING:
    from sabm_mesa.recording import Recorder

OF_OWN = ("instant", "paid", "informed", "answer_format", "answer", "digest", "remember")
"""Attributes of `Mind` that a custom object may override."""


class Mind(ABC):
    """The decision maker of an agent. A mind needs the method `answer`; the rest has defaults.

    Attributes:
        spec: the name of the mind in parameters and data, such as ``"llm:gpt-4o-mini"``; by default
            the name of the class.
        instant: whether it decides without ever waiting, so that no concurrency is needed.
        paid: whether its answers cost money or cannot be repeated: such an answer is durable in the
            recording before the model uses it; others are written soon after their round.
        informed: facts that it reads although the prompts do not state them; none by default.
        answer_format: the format in which it is always asked; None: the format of the run.
        enforces_json: whether its answers always follow the JSON schema, so that a prompt for a
            text need not describe it.
        version: SHA-256 of its file; None without a file.
    """

    spec: str = "Mind"
    instant: bool = False
    paid: bool = True
    informed: tuple[str, ...] = ()
    answer_format: Format | None = None
    enforces_json: bool = False
    version: str | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Name a mind without a spec after its class."""
        super().__init_subclass__(**options)
        if "spec" not in vars(cls):
            cls.spec = cls.__name__

    @abstractmethod
    async def answer(self, ask: Ask) -> Reply | object:
        """Answer a question.

        Returns:
            A text, which is read strictly; or a value, which is checked; or a `Reply` with one of
            these and its cost.
        """

    def digest(self, ask: Ask) -> str:
        """The hash of the exact request for a question."""
        return ask.digest()

    def remember(self, ask: Ask, reply: Reply) -> None:  # noqa: B027 - most learn nothing from it
        """Learn from its own recorded answer, which replaces a question."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release its resources; it starts again when it is asked again."""


class ClassicalMind(Mind):
    """A behavioural rule, computed at once and for free; the base class of a scenario's rules.

    Args:
        spec: how the mind is named in the data.

    Attributes:
        assumes: name → sentence on an assumption of the rule. An experiment's claim with that name
            is an assumption of this mind, not a finding of its runs.
    """

    instant = True
    paid = False
    assumes: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init__(self, spec: str = "classical") -> None:
        self.spec = spec


class RuleMind(ClassicalMind):
    """A rule that is a function of the question.

    Args:
        rule: takes the `Ask` and returns the answer.
        spec: as of `ClassicalMind`.
    """

    def __init__(self, rule: Callable[[Ask], Any], spec: str = "classical") -> None:
        super().__init__(spec)
        self._rule = rule

    async def answer(self, ask: Ask) -> Any:
        """Return the answer of the rule."""
        return await _answer_at_once(self._rule, ask)


def rule_of(maker: Any) -> Any:
    """The class or documented function of an entry of `classical_minds`, also of a partial call."""
    if not isinstance(maker, partial):
        return maker
    is_documented = maker.func is RuleMind and maker.args[0].__doc__
    return maker.args[0] if is_documented else maker.func


def assumptions_of(maker: Any) -> Mapping[str, str]:
    """The assumptions that a classical mind declares (`ClassicalMind.assumes`), by their names."""
    assumptions: Mapping[str, str] = getattr(rule_of(maker), "assumes", {})
    return assumptions


async def _answer_at_once(answer: Callable[[Ask], Any], ask: Ask) -> Any:
    """Answer by a plain function, which may return an awaitable."""
    given = answer(ask)
    return await given if isawaitable(given) else given


class OwnMind(Mind):
    """A custom object with a method ``answer(self, ask)``, completed to a mind.

    The method is ``async`` if it waits for something, such as a server; a plain method blocks all
    other agents until it returns.

    Args:
        wrapped: the object. It may have the attributes and methods of `Mind`, except `close`.
            Without `spec` it is named after its class; without `instant` it is assumed to wait for
            something; without `paid` each of its answers is on disk before it is used.

    Raises:
        MindSpecError: when it has no method `answer`, or its `informed` is not a tuple of names.
    """

    def __init__(self, wrapped: Any) -> None:
        if isinstance(wrapped, type) or not callable(getattr(wrapped, "answer", None)):
            raise MindSpecError(
                f"A mind is a spec or an object with a method answer(ask), not {wrapped!r}."
            )
        informed = getattr(wrapped, "informed", ())
        if not isinstance(informed, tuple) or not all(isinstance(name, str) for name in informed):
            raise MindSpecError(
                f"`informed` of the mind {name_of(wrapped)!r} is a tuple of names of facts, such "
                f"as ('market',), not {informed!r}."
            )
        self.spec = name_of(wrapped)
        # The methods of the object itself: a wrapper would be kept for each agent that waits.
        vars(self).update(
            {name: getattr(wrapped, name) for name in OF_OWN if hasattr(wrapped, name)}
        )
        if not iscoroutinefunction(wrapped.answer):
            vars(self)["answer"] = partial(_answer_at_once, wrapped.answer)

    async def answer(self, ask: Ask) -> Reply | object:
        """Answer as the object does: every instance replaces this method by its object's."""
        raise NotImplementedError


def as_mind(given: Any) -> Mind:
    """A mind unchanged, or a custom object as a mind.

    Raises:
        MindSpecError: for anything else.
    """
    return given if isinstance(given, Mind) else OwnMind(given)


def name_of(mind: object) -> str:
    """The spec of a mind; a spec is unchanged.

    Args:
        mind: a spec, a mind, or a custom object; without `spec`, its name is that of its class.
    """
    return mind if isinstance(mind, str) else str(getattr(mind, "spec", type(mind).__name__))


class SupportsAsks(Protocol):
    """Interface of a model in which minds are asked.

    Attributes:
        max_attempts: the maximum number of attempts per question (at least 1).
        usage: the counts of attempts and decisions.
        in_flight: the number of questions that wait for an answer.
    """

    max_attempts: int
    usage: Usage
    in_flight: int

    @property
    def recorder(self) -> Recorder:
        """The recorder that writes every attempt before its decision is used."""


class Asker(Protocol):
    """Interface of an agent whose mind is asked."""

    @property
    def model(self) -> SupportsAsks:
        """Its model."""

    def decided(self, decision: Decision) -> None:
        """Count a decision."""


async def ask_until_valid(ask: Ask, mind: Mind, asker: Asker) -> Decision:
    """Ask a mind until its answer is valid or the attempts are used up.

    Returns:
        The decision; its value is None when no usable answer came.

    Raises:
        MindError: when the mind raises anything that is not an error of this package.
    """
    ask.sent_notes = asker.model.recorder.requests_of(ask, mind.spec)
    asker.model.in_flight += 1
    try:
        while True:
            started = 0.0 if mind.instant else time.perf_counter()
            try:
                answer = await mind.answer(ask)
            except SabmError:
                raise
            except (Exception, SystemExit) as error:  # a mind that exits ends no process
                raise _failure(ask, mind, error) from error
            decision, stopped, written = _answered(answer, ask, mind, started, asker.model)
            if written is not None:
                await written
            if decision is not None:
                asker.model.usage.add_decision(decision, ask.key.agent)
            if stopped:
                raise asyncio.CancelledError
            if decision is not None:
                asker.decided(decision)
                return decision
    finally:
        asker.model.in_flight -= 1


def _answered(
    answer: object, ask: Ask, mind: Mind, started: float, model: SupportsAsks
) -> tuple[Decision | None, bool, Awaitable[None] | None]:
    """Record an answer; return the decision or None, whether to stop, and an awaitable or None."""
    reply, attempts = _as_reply(answer, ask, mind, started), len(ask.rejected) + 1
    model.usage.add_reply(reply, ask.key.agent)
    try:
        decision = ask.read(reply)._replace(attempts=attempts, by=reply.by)
        model.usage.add_broken_rules(ask.spec.broken_rules(decision.value))
    except InvalidAnswer as problem:
        decision = Decision(None, "", None, attempts, reply.by, ask.book.reason(problem))
    final = decision.valid or attempts == model.max_attempts or reply.final
    written = model.recorder.record(ask, mind.spec, reply, decision, final=final, durable=mind.paid)
    if final:
        return decision, reply.stopped, written
    last = mind.answer_format is None and attempts + 1 == model.max_attempts
    ask.ask_again(str(reply.answer), decision.reason, last=last)
    return None, reply.stopped, written


def _failure(ask: Ask, mind: Mind, error: BaseException) -> MindError:
    why = f"{type(error).__name__}: {error}"
    if isinstance(error, TypeError) and not iscoroutinefunction(mind.answer):
        why = f"{type(mind).__name__}.answer must be written as `async def`"
    return MindError(f"The mind {mind.spec!r} failed at {ask.key}: {why}")


def _as_reply(answer: object, ask: Ask, mind: Mind, started: float) -> Reply:
    if isinstance(answer, Reply):
        reply = answer
    elif mind.instant:
        reply = Reply(answer)
    else:
        reply = Reply(answer, latency_s=time.perf_counter() - started)
    value = reply.answer
    if isinstance(value, str):
        reply.answer, thoughts = split_thoughts(replace_surrogates(value))
        if thoughts or reply.thoughts:
            reply.thoughts = join_thoughts(reply.thoughts, thoughts)
    elif mind.paid:  # a value is used as it can be read from the recording again
        reply.answer = json_roundtrip(value)
    if mind.paid and not reply.request:
        reply.request = mind.digest(ask)
    return reply
