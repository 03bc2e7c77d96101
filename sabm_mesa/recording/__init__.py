"""Recordings: one SQLite file with runs, every answer and the collected data."""

from sabm_mesa.recording.reading import RecordedRun, load_runs
from sabm_mesa.recording.store import RunHeader
from sabm_mesa.recording.writing import Recorder, Recording, RunRecorder

__all__ = [
    "RecordedRun",
    "Recorder",
    "Recording",
    "RunHeader",
    "RunRecorder",
    "load_runs",
]
