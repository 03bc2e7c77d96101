"""The history that a model follows: a recorded run, and what may go beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sabm_mesa.errors import RunDiffers
from sabm_mesa.prompts import PromptBook
from sabm_mesa.recording import RunInfo, RunRecorder
from sabm_mesa.recording.following import Following
from sabm_mesa.recording.past import Past


@dataclass(frozen=True)
class History:
    """A recorded run that a model repeats, and goes beyond where it may.

    Attributes:
        past: the run as it was recorded.
        onward: what records the rest, or None.
        live: whether minds are asked what the recording does not say; a replay asks nobody.
        minds: minds at hand that no spec can make, by their spec.
        applied: how many of the changes that forks made have come about: prompts and minds are
            those from then on.
        from_files: whether the prompts come from their files, since a fork is to change them.
    """

    past: Past
    onward: RunRecorder | None = None
    live: bool = False
    minds: Mapping[str, Any] = field(default_factory=dict)
    applied: int = 0
    from_files: bool = False

    @property
    def path(self) -> Path:
        """The recording."""
        return self.past.path

    @property
    def may_ask(self) -> bool:
        """Whether the minds that are made now can come to be asked.

        All that was asked before a fork is in the recording: minds that a fork replaces are not
        asked any more, and need neither key nor server.
        """
        later = self.past.forks[self.applied :]
        return self.live and not any("minds" in fork["set"] for fork in later)

    @property
    def versions(self) -> dict[str, str]:
        """Package → version, and spec → SHA-256 of the files of minds, also of forks so far."""
        found = dict(self.past.versions)
        for fork in self.past.forks[: self.applied]:
            found |= fork.get("versions", {})
        return found

    def open(self, info: RunInfo) -> Following:
        """Enter the run.

        Args:
            info: what would be recorded of the run now.

        Raises:
            RunDiffers: when the model collects other data.
        """
        following = Following(self.past, self.onward)
        following.enter(info)
        return following

    def book(self, condition: str, variant: str) -> PromptBook:
        """The prompts as they were recorded.

        Args:
            condition: the condition that they are of.
            variant: the variant that they are of.

        Raises:
            RunDiffers: when they are not as they were.
        """
        before = [fork["prompts"] for fork in self.past.forks[: self.applied]]
        hashes = next((each for each in reversed(before) if each), self.past.prompts)
        entries, personas = self.past.book(hashes)
        book = PromptBook.recorded(entries, personas, condition, variant)
        for entry, (digest, _) in book.with_hashes(personas).items():
            if digest != hashes[entry]:
                raise RunDiffers(
                    f"{self.past.name} differs: its prompt entry {entry!r} was changed in the "
                    "recording."
                )
        return book
