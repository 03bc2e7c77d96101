"""Checks of `sabm doctor`: the requirements of the package, and optional parts.

A *problem* affects something that every user needs, or that was requested. A *warning* affects only
the users of one part.
"""

from __future__ import annotations

import platform
import shutil
import sys
import webbrowser
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from sabm_mesa.errors import KEY_VARIABLE, MindSpecError, OutputError, key
from sabm_mesa.minds.files.sandbox import (
    DEMANDED,
    SENTENCES,
    bubblewrap_problem,
    environment,
    is_sandboxed,
)
from sabm_mesa.recording.export import check_folder
from sabm_mesa.runs.try_model import Check

PACKAGE = "sabm-mesa"
SMALL_DISK = 100 * 2**20
"""Bytes that should be free on the disk of recordings."""
EXTRAS = {
    "local": ("xllamacpp", "local models: --minds local, gguf:FILE"),
    "ray": ("ray", "sweeps on a Ray cluster"),
    "docs": ("sphinx", "building the documentation"),
}
"""Optional part → its distribution and its purpose."""


def check_all() -> Iterator[Check]:
    """Run all checks, one after another."""
    version_ = f"Python {platform.python_version()} at {sys.executable}"
    yield Check("ok", "python", version_)
    yield from packages()
    yield writable(Path())
    yield browser()
    yield minds()
    yield api_key()
    yield from extras()


def packages() -> Iterator[Check]:
    """Check the requirements: one line if all are met, else one for each that is not."""
    needed = [Requirement(requirement) for requirement in requires(PACKAGE) or []]
    needed = [one for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    wrong = [check for check in map(misfit, needed) if check is not None]
    yield from wrong
    if not wrong:
        named = ", ".join(f"{name} {version(name)}" for name in ("mesa", "numpy", "openai"))
        text = f"{PACKAGE} {version(PACKAGE)} with {named}; all {len(needed)} requirements are met"
        yield Check("ok", "packages", text)


def misfit(needed: Requirement) -> Check | None:
    """Return the problem with a required package; None without a problem."""
    asked = f"pip install '{needed.name}{needed.specifier}'"
    try:
        installed = version(needed.name)
    except PackageNotFoundError:
        return Check("problem", "packages", f"{needed.name} is not installed: {asked}")
    if needed.specifier.contains(installed, prereleases=True):
        return None
    text = f"{needed.name} is {installed}, but must be {needed.specifier}: {asked}"
    return Check("problem", "packages", text)


def writable(folder: Path) -> Check:
    """Check that recordings can be written to a folder."""
    try:
        check_folder(folder)
    except OutputError as error:
        return Check("problem", "folder", str(error))
    free = shutil.disk_usage(folder).free
    text = f"{folder.absolute()} can be written, {free / 1e9:.1f} GB are free"
    if free < SMALL_DISK:
        return Check(
            "warning", "folder", f"{text}: recordings may not fit. Choose another disk (--out)."
        )
    return Check("ok", "folder", text)


def browser() -> Check:
    """Check that ``sabm view`` can open a browser."""
    try:
        opener = webbrowser.get()
    except webbrowser.Error:
        text = "not found: open the address that sabm view prints in any browser."
        return Check("warning", "browser", text)
    return Check("ok", "browser", getattr(opener, "name", "") or "system default")


def minds() -> Check:
    """Check the isolation of minds from files on this machine."""
    try:
        environment()
        if is_sandboxed():
            return Check("ok", "minds", SENTENCES[True])
    except MindSpecError as error:
        return Check("warning", "minds", str(error))
    why = bubblewrap_problem() or f"{DEMANDED} is 0"
    return Check("warning", "minds", f"{SENTENCES[False]} Reason: {why}.")


def api_key() -> Check:
    """Check that there is a key. It is never shown."""
    if not key():
        text = f"{KEY_VARIABLE} is not set: only language models at OpenAI need it."
        return Check("warning", "key", text)
    if not (key().isascii() and key().isprintable()):
        text = f"{KEY_VARIABLE} has characters that no key has: copy the key again."
        return Check("problem", "key", text)
    return Check("ok", "key", f"{KEY_VARIABLE} is set (it is not shown)")


def extras() -> Iterator[Check]:
    """Check the optional parts, which may be missing."""
    for extra, (distribution, purpose) in EXTRAS.items():
        try:
            text = f"{distribution} {version(distribution)}, for {purpose}"
        except PackageNotFoundError:
            text = f"not installed, only for {purpose}: pip install '{PACKAGE}[{extra}]'"
        yield Check("ok", extra, text)
