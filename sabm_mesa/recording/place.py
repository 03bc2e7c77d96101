"""Where a run is recorded."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from os import getpid
from pathlib import Path

from sabm_mesa.errors import ParameterError
from sabm_mesa.minds import Minds, check_specs
from sabm_mesa.recording import NoRecording, Recording, RunInfo, RunRecorder
from sabm_mesa.recording.following import Following
from sabm_mesa.recording.history import History

FOLDER = Path("sabm_recordings")
"""Where a run with paid answers is recorded when nothing else is said."""
_numbers = count()


class Place:
    """Where a run is recorded: opened when the run begins, closed when it ends.

    Args:
        given: an open recording, which others share and close; a recorded run that is followed;
            a path; False for nowhere; None for a file of its own in `FOLDER` when answers are
            paid for, else nowhere.

    Attributes:
        path: the file; None before the run begins, and when there is none.

    Raises:
        ParameterError: for anything else.
    """

    def __init__(self, given: Recording | History | str | Path | bool | None) -> None:
        if given is not None and not isinstance(given, Recording | History | str | Path | bool):
            raise ParameterError(f"recording is a recording, a path or False, not {given!r}.")
        self._given = given
        self._own: Recording | None = None
        self.path: Path | None = None

    def open(
        self, info: RunInfo, minds: Minds, *, paid: bool
    ) -> RunRecorder | Following | NoRecording:
        """Enter the run.

        Args:
            info: what is written about it.
            minds: the minds of the population.
            paid: whether answers are paid for.

        Raises:
            MindSpecError: when two different minds have the same spec.
            OutputError: when the recording cannot be written.
            RecordingError: when the file is something else, damaged, or of a newer version.
        """
        recording = self._given
        if isinstance(recording, History):
            self.path = recording.path
            return recording.open(info)
        if recording is None and paid:
            stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
            recording = FOLDER / f"{info.scenario}-{stamp}-{getpid()}-{next(_numbers)}.sqlite"
        if recording not in {None, True, False}:
            check_specs(minds)
        if isinstance(recording, str | Path):
            recording = self._own = Recording(recording)
        if not isinstance(recording, Recording):
            return NoRecording()
        self.path = recording.path
        return recording.start(info)

    def close(self) -> None:
        """Close the recording when it is the run's own."""
        if self._own is not None:
            self._own.close()
            self._own = None
