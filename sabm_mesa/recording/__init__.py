"""Recordings: one SQLite file with runs, every answer and the collected data."""

from sabm_mesa.recording.reading import RecordedRun, load_runs
from sabm_mesa.recording.rows import RunRow
from sabm_mesa.recording.writing import Recorder, Recording, RunRecorder

__all__ = [
    "RecordedRun",
    "Recorder",
    "Recording",
    "RunRecorder",
    "RunRow",
    "load_runs",
]
