"""Checks of `sabm doctor`: the requirements of the package, and optional parts.

A *problem* affects something that every user needs, or that was requested. A *warning* affects only
the users of one part.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from sabm_mesa.cli.report import missing
from sabm_mesa.core import engine
from sabm_mesa.errors import (
    KEY_VARIABLE,
    BadRequest,
    LLMError,
    MindSpecError,
    OutputError,
    RecordingError,
    UsageError,
    key,
)
from sabm_mesa.llm.endpoints import OPENAI_URL, URL_VARIABLE, endpoint_url
from sabm_mesa.llm.prices import PriceTable
from sabm_mesa.llm.request import Request
from sabm_mesa.llm.server import Server
from sabm_mesa.minds.files.sandbox import (
    DEMANDED,
    SENTENCES,
    bubblewrap_problem,
    environment,
    is_sandboxed,
)
from sabm_mesa.recording import load_runs
from sabm_mesa.recording.export import check_folder
from sabm_mesa.recording.statistics import answers_in
from sabm_mesa.runs.rerun import lost_before
from sabm_mesa.runs.try_model import Check, State, in_words

PACKAGE = "sabm-mesa"
TINY = Request("", (("user", "Answer with the word yes."),), max_tokens=16)
"""The question to an endpoint; with a hosted model it costs a fraction of a cent."""
OPENAI_MODEL = "gpt-4o-mini"
"""The default model for OpenAI's own endpoint."""
SMALL_DISK = 100 * 2**20
"""Bytes that should be free on the disk of recordings."""
EXTRAS = {
    "local": ("xllamacpp", "local models: --minds local, gguf:FILE"),
    "parquet": ("pyarrow", "exports as Parquet"),
    "ray": ("ray", "sweeps on a Ray cluster"),
    "docs": ("sphinx", "building the documentation"),
}
"""Optional part → its distribution and its purpose."""


def check_all(
    base_url: str | None = None,
    model: str | None = None,
    timeout_s: float = 20.0,
    folder: Path | None = None,
) -> Iterator[Check]:
    """Run all checks, one after another."""
    version_ = f"Python {platform.python_version()} at {sys.executable}"
    yield Check("python", State.OK, version_)
    yield from packages()
    yield writable(folder or Path())
    yield browser()
    yield minds()
    yield api_key()
    yield endpoint(base_url, model, timeout_s)
    yield from extras()


def check_recording(path: Path) -> Iterator[Check]:
    """Check whether a recording can be read, is finished and lacks answers."""
    try:
        runs = load_runs(path)
        answers, lost = answers_in(path), lost_before(runs, None)
    except RecordingError as error:
        yield Check("recording", State.PROBLEM, str(error))
        return
    left = sum(not run.finished for run in runs)
    text = f"{path} has {answers or 0:,} answers from {len(runs):,} runs"
    if left:
        text += (
            f", {left:,} of them unfinished; continue with: sabm resume {shlex.quote(str(path))}"
        )
    yield Check("recording", State.WARNING if left else State.OK, text)
    lines = missing(lost)
    for line in lines:
        yield Check("answers", State.WARNING, line)
    if not lines:
        yield Check("answers", State.OK, "no answer is missing")


def packages() -> Iterator[Check]:
    """Check the requirements: one line if all are met, else one for each that is not."""
    needed = [Requirement(requirement) for requirement in requires(PACKAGE) or []]
    needed = [one for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    wrong = [check for check in map(misfit, needed) if check is not None]
    yield from wrong
    if not wrong:
        named = ", ".join(f"{name} {version(name)}" for name in ("mesa", "numpy", "openai"))
        text = f"{PACKAGE} {version(PACKAGE)} with {named}; all {len(needed)} requirements are met"
        yield Check("packages", State.OK, text)


def misfit(needed: Requirement) -> Check | None:
    """Return the problem with a required package; None without a problem."""
    asked = f"pip install '{needed.name}{needed.specifier}'"
    try:
        installed = version(needed.name)
    except PackageNotFoundError:
        return Check("packages", State.PROBLEM, f"{needed.name} is not installed: {asked}")
    if needed.specifier.contains(installed, prereleases=True):
        return None
    text = f"{needed.name} is {installed}, but must be {needed.specifier}: {asked}"
    return Check("packages", State.PROBLEM, text)


def writable(folder: Path) -> Check:
    """Check that recordings can be written to a folder."""
    try:
        check_folder(folder)
    except OutputError as error:
        return Check("folder", State.PROBLEM, str(error))
    free = shutil.disk_usage(folder).free
    text = f"{folder.absolute()} can be written, {free / 1e9:.1f} GB are free"
    if free < SMALL_DISK:
        return Check(
            "folder", State.WARNING, f"{text}: recordings may not fit. Choose another disk (--out)."
        )
    return Check("folder", State.OK, text)


def browser() -> Check:
    """Check that ``sabm view`` can open a browser."""
    try:
        opener = webbrowser.get()
    except webbrowser.Error:
        text = "not found: open the address that sabm view prints in any browser."
        return Check("browser", State.WARNING, text)
    return Check("browser", State.OK, getattr(opener, "name", "") or "system default")


def minds() -> Check:
    """Check the isolation of minds from files on this machine."""
    try:
        environment()
        if is_sandboxed():
            return Check("minds", State.OK, SENTENCES[True])
    except MindSpecError as error:
        return Check("minds", State.WARNING, str(error))
    why = bubblewrap_problem() or f"{DEMANDED} is 0"
    return Check("minds", State.WARNING, f"{SENTENCES[False]} Reason: {why}.")


def api_key() -> Check:
    """Check that there is a key. It is never shown."""
    if not key():
        text = f"{KEY_VARIABLE} is not set: only language models at OpenAI need it."
        return Check("key", State.WARNING, text)
    if not (key().isascii() and key().isprintable()):
        text = f"{KEY_VARIABLE} has characters that no key has: copy the key again."
        return Check("key", State.PROBLEM, text)
    return Check("key", State.OK, f"{KEY_VARIABLE} is set (it is not shown)")


def is_asked(base_url: str | None, model: str | None) -> bool:
    """Return whether an endpoint is asked: it or a model is named, or there is a key."""
    return bool(base_url or model or os.environ.get(URL_VARIABLE) or key())


def endpoint(base_url: str | None, model: str | None, timeout_s: float) -> Check:
    """Check that an endpoint answers one tiny question.

    Without a model, the first one that the endpoint lists is asked.
    """
    if not is_asked(base_url, model):
        return Check("endpoint", State.OK, "not asked: there is no key and no --base-url")
    try:
        client = Server(endpoint_url(base_url), timeout_s)
        client.endpoint.check_key()
        answered = engine.run(_ask(client, model))
    except (LLMError, UsageError) as error:
        return Check("endpoint", State.PROBLEM, str(error))
    where = endpoint_url(base_url)
    return Check("endpoint", State.OK, f"{answered} at {where}" if where else answered)


async def _ask(client: Server, model: str | None) -> str:
    """Ask one tiny question and return the outcome."""
    prices = PriceTable(url=client.endpoint.url or OPENAI_URL)
    try:
        request = replace(TINY, model=model or await _some_model(client))
        try:
            done = await client.send(request)
            prices.add_cost(done, request)
        except BadRequest as error:
            raise BadRequest(f"{error}{await _other_models(client, model)}") from None
    finally:
        await client.close()
    return in_words(done)


async def _other_models(client: Server, model: str | None) -> str:
    """Return a sentence on other models of a server, after one did not answer."""
    if model is None:
        return " Name another model with --model."
    with suppress(LLMError):  # not every server lists its models
        there = await client.models()
        if there and model not in there:
            return f" Available models: {', '.join(sorted(there)[:10])}."
    return ""


async def _some_model(client: Server) -> str:
    if client.endpoint.is_openai:
        return OPENAI_MODEL
    there = await client.models()
    if not there:
        raise BadRequest("The server has no model: load one there, or name one (--model).")
    return there[0]


def extras() -> Iterator[Check]:
    """Check the optional parts, which may be missing."""
    for extra, (distribution, purpose) in EXTRAS.items():
        try:
            text = f"{distribution} {version(distribution)}, for {purpose}"
        except PackageNotFoundError:
            text = f"not installed, only for {purpose}: pip install '{PACKAGE}[{extra}]'"
        yield Check(extra, State.OK, text)
