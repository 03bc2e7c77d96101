"""What the shell completes: names of scenarios and specs of minds, without importing a scenario.

``sabm --install-completion`` sets it up. Bash takes a colon for the end of a word, so there only
the kinds of minds are completed, not what follows them.
"""

from __future__ import annotations

from sabm_mesa.own_files import at_home

KINDS = ("classical", "classical:", "fixed:", "llm:", "gguf:", "py:")
FILES = {"gguf:": ".gguf", "py:": ".py"}
"""Kinds of minds that are in files, and how the names of these end."""


def scenarios(incomplete: str) -> list[str]:
    """The names of scenarios that begin so, also those of other packages.

    Args:
        incomplete: what is typed so far.
    """
    from sabm_mesa import registry

    return [name for name in registry.names() if name.startswith(incomplete)]


def minds(incomplete: str) -> list[str]:
    """The specs of minds that begin so; of several, the last one is completed.

    Args:
        incomplete: what is typed so far.
    """
    before, comma, last = incomplete.rpartition(",")
    kind, colon, path = last.partition(":")
    ending = FILES.get(kind + colon)
    known = list(KINDS) if ending is None else [f"{kind}:{file}" for file in _files(path, ending)]
    return [f"{before}{comma}{spec}" for spec in known if spec.startswith(last)]


def _files(path: str, ending: str) -> list[str]:
    """Files with this ending, and folders, in the folder of a path that is typed so far."""
    folder, slash, _ = path.rpartition("/")
    try:
        there = sorted(at_home(folder + slash or ".").iterdir())
    except OSError:
        return []
    names = [f"{each.name}/" if each.is_dir() else each.name for each in there]
    return [f"{folder}{slash}{name}" for name in names if name.endswith(("/", ending))]
