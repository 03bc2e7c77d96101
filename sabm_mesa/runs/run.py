"""Runs of a scenario, at the same time or one after another, and their summary.

Runs with language models are played at the same time, within the limits of their endpoints.
Classical runs are played one after another, since each keeps one core busy.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from sabm_mesa.core import engine
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import ParameterError, format_user_error
from sabm_mesa.minds.specs import describe_deciders, describe_minds
from sabm_mesa.models.base import close_models
from sabm_mesa.models.entries import run_versions
from sabm_mesa.recording import Recording
from sabm_mesa.recording.replaying import ReplayRecorder
from sabm_mesa.recording.statistics import (
    FrequentReason,
    frequent_reason,
    mended_requests,
    origins,
)

if TYPE_CHECKING:
    from sabm_mesa.llm import Connection
    from sabm_mesa.models.base import SmartModel

CONCURRENT_RUNS = 1000
"""The maximum number of simultaneous runs with language models: each has a waiting thread.

The limit of the endpoint determines how many requests are sent at once.
"""
NOT_IN_SUBTITLE = {"condition", "minds", "rng", "n_rounds", "prompts"}
SUBTITLE_PART = 32
"""The maximum length of a parameter and its value in the subtitle of a plot."""
MOST_PICTURED = 12
"""The maximum number of runs whose pictures are drawn."""
REFRESH_S, SHARE_OF_WATCH = 0.1, 0.05
"""Seconds between two checks of the runs; longer if the checks take long."""
Watch = Callable[[Sequence["SmartModel"]], None]


@dataclass(frozen=True)
class Runs:
    """Runs that are done.

    Attributes:
        models: the models, in the order of their seeds.
        seeds: their seeds.
        wall_s: total seconds.
    """

    models: Sequence[SmartModel]
    seeds: Sequence[int]
    wall_s: float

    @property
    def numbers(self) -> list[int]:
        """The numbers of the runs in the recording, or 0, 1, 2, … without one."""
        return [m.recorder.run if m.recording_path else i for i, m in enumerate(self.models)]

    def model_frame(self) -> pd.DataFrame:
        """The model data of all runs: one row per round and run."""
        frames = [m.model_frame(run) for run, m in zip(self.numbers, self.models, strict=True)]
        return pd.concat(frames, ignore_index=True)

    def agent_frame(self) -> pd.DataFrame:
        """The agent data of all runs: one row per agent, round and run."""
        frames = [m.agent_frame(run) for run, m in zip(self.numbers, self.models, strict=True)]
        return pd.concat(frames, ignore_index=True)

    def total(self) -> Usage:
        """Cost of the asks of all runs."""
        total = Usage()
        for model in self.models:
            total.add(model.total)
        return total

    def answers_repeated(self) -> list[int]:
        """For each run, the number of answers from its recording."""
        recorders = [model.recorder for model in self.models]
        return [r.asked if isinstance(r, ReplayRecorder) else 0 for r in recorders]

    def dollars_repeated(self) -> list[float]:
        """For each run, the cost in dollars of the answers from its recording."""
        recorders = [model.recorder for model in self.models]
        return [r.repeated_usd if isinstance(r, ReplayRecorder) else 0.0 for r in recorders]

    def mended_requests(self) -> dict[str, Any]:
        """Mind → the parameters as asked and as sent, if a model does not support all of them."""
        path = self.models[0].recording_path
        return {} if path is None else mended_requests(path, self.numbers)

    def frequent_reason(self) -> FrequentReason | None:
        """The most frequent reason of invalid decisions; None without any, or without recording."""
        path = self.models[0].recording_path
        return None if path is None else frequent_reason(path, self.numbers)

    def served(self) -> list[dict[str, Any]]:
        """Each model that answered: names requested and served, provider, fingerprint, answers."""
        path = self.models[0].recording_path
        counts: Counter[tuple[tuple[str, str], ...]] = Counter()
        for origin in [] if path is None else origins(path, self.numbers):
            n = origin.pop("answers")
            counts[tuple((k, v) for k, v in origin.items() if k not in {"asked", "sent"})] += n
        return [{**dict(key), "answers": n} for key, n in counts.items()]

    def figures(self, faults: list[str] | None = None) -> Mapping[str, Any]:
        """The figures of the runs, of matplotlib, by name.

        The charts of the scenario, which all runs share, its further figures, and the final
        pictures of the first `MOST_PICTURED` runs, with the number of the run if there are several.

        Args:
            faults: receives one line for each picture and plot that cannot be drawn; with None the
                exception is raised.
        """
        from sabm_mesa.analysis.charts import figures, with_runs  # slow, as all of matplotlib
        from sabm_mesa.analysis.pictures import draw_scene

        alone, subtitle = len(self.models) == 1, self._subtitle()
        drawn: dict[str, Any] = {}
        for number, model in [*zip(self.numbers, self.models, strict=True)][:MOST_PICTURED]:
            words = subtitle if alone else f"run {number} · {subtitle}"
            for picture in model.pictures:
                name = picture.name if alone else f"{picture.name}_{number}"
                with self._collecting(f"the picture {name}", faults):
                    drawn[name] = draw_scene(picture.scene(model), words)
        with self._collecting("the plots", faults):
            first = self.models[0]
            titles = {name: name.replace("_", " ").capitalize() for name in first.columns()}
            charts = [
                model.page.drawn(model, model.model_frame(), model.agent_frame(), titles)
                for model in self.models
            ]
            drawn |= figures(charts, subtitle)
            if first.page.figures is not None:
                data = self.model_frame(), self.agent_frame()
                drawn |= first.page.figures(first, *data, with_runs(subtitle, len(self.models)))
        return drawn

    @contextmanager
    def _collecting(self, what: str, faults: list[str] | None) -> Iterator[None]:
        """Turn an exception in a drawing into a line, if lines are collected."""
        try:
            yield
        except Exception as error:
            if faults is None:
                raise
            name = self.models[0].scenario_name
            faults.append(f"{name}: {what} cannot be drawn: {format_user_error(error)}")

    def pictures(self, faults: list[str] | None = None) -> dict[str, bytes]:
        """The figures of the runs: file name → content, in the formats of `plot_style.look`."""
        figures: Mapping[str, Any] = {}
        with self._collecting("the figures", faults):
            figures = self.figures(faults)
        if not figures:
            return {}
        from sabm_mesa.analysis.plot_style import look, to_bytes  # slow, as all of matplotlib

        files: dict[str, bytes] = {}
        for name, figure in figures.items():
            with self._collecting(f"the figure {name}", faults):
                files |= {
                    f"{name}.{ending}": to_bytes(figure, ending) for ending in look.get().formats
                }
        return files

    def _subtitle(self) -> str:
        first = self.models[0]
        return " · ".join([first.condition, _deciders(first), *_changed(first)])

    def summary(self) -> dict[str, Any]:
        """The summary of the runs: their parameters, their costs, and how each ended."""
        first, reason = self.models[0], self.frequent_reason()
        return {
            "scenario": first.scenario_name,
            "parameters": {k: v for k, v in first.parameters.items() if k != "rng"},
            "seeds": list(self.seeds),
            "minds": first.minds_in_use(),
            "versions": run_versions(first),
            "prompts": first.book.digest({agent.persona for agent in first.population}),
            "wall_s": round(self.wall_s, 3),
            **dict(self.total()),
            "frequent_reason": None if reason is None else reason._asdict(),
            "mended_requests": self.mended_requests(),
            "served": self.served(),
            "critical_path_asks": max(m.critical_path_asks for m in self.models),
            "runs": [
                {
                    "run": run,
                    "seed": seed,
                    "rounds": model.round + 1,
                    "end_reason": model.end_reason or None,
                    **dict(model.total),
                    "failures_without_row": {
                        agent: failures._asdict()
                        for agent, failures in model.datacollector.without_row.items()
                    },
                    "critical_path_asks": model.critical_path_asks,
                    **_from_recording(model),
                    **model.end_measures(),
                }
                for run, model, seed in zip(self.numbers, self.models, self.seeds, strict=True)
            ],
        }


def run_all(
    scenario: type[SmartModel],
    parameters: Mapping[str, Any],
    *,
    runs: int = 1,
    seed: int | None = None,
    first: SmartModel | None = None,
    recording: Recording | None = None,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
) -> Runs:
    """Run a scenario several times; run i has the seed ``seed + i``.

    Args:
        seed: the seed of the first run; drawn when None.
        first: the model of the first run, if it has been made without a recording.

    Raises:
        UsageError: for parameters that cannot be used; then nothing has been run.
        RunError: when a run fails; the others are stopped, and their answers are recorded.
    """
    if runs < 1:
        raise ParameterError(f"The number of runs must be 1 or more (got {runs}).")
    services: dict[str, Any] = {"connection": connection, "recording": recording or False}
    if first is None:
        first = scenario(**parameters, **services, rng=seed)
    first.recording = services["recording"]
    seeds = [first.entropy[0] + i for i in range(runs)]
    models = [
        first,
        *(scenario(**parameters, **services, rng=next_seed) for next_seed in seeds[1:]),
    ]
    return run_models(models, watch=watch)


def run_models(
    models: Sequence[SmartModel],
    *,
    watch: Watch = lambda _: None,
    rounds: Sequence[int | None] | None = None,
) -> Runs:
    """Run models to their ends.

    Models with a common recording are entered in it together, all or none.

    Args:
        rounds: for each model the number of rounds to play; None: until its end.

    Raises:
        RunError: when a run fails; the others are stopped, and their answers are recorded.
    """
    started = time.perf_counter()
    waiting = any(not agent.mind.instant for model in models for agent in model.population)
    limits = rounds or [None] * len(models)
    _run_together(models, limits, min(len(models), CONCURRENT_RUNS) if waiting else 1, watch)
    return Runs(models, [m.entropy[0] for m in models], time.perf_counter() - started)


def _run_together(
    models: Sequence[SmartModel],
    limits: Sequence[int | None],
    at_once: int,
    watch: Watch,
) -> None:
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="sabm-run")
    try:
        with ExitStack() as entered:
            for recording in dict.fromkeys(model.recording for model in models):
                if isinstance(recording, Recording):
                    entered.enter_context(recording.together())
            for model in models:  # in the order of the seeds, so that they are numbered in it
                model.begin()
        parts = zip(models, limits, strict=True)
        _watch([pool.submit(_play, model, limit) for model, limit in parts], models, watch)
    finally:
        with engine.interrupts_deferred():
            for model in models:
                model.stop()
            pool.shutdown(cancel_futures=True)
            close_models(models, "stopped")
            watch(models)


def _play(model: SmartModel, limit: int | None) -> None:
    while model.running and (limit is None or model.round + 1 < limit):
        model.step()


def _watch(futures: list[Future[None]], models: Sequence[SmartModel], watch: Watch) -> None:
    waiting, look_s = set(futures), REFRESH_S
    while waiting:
        done, waiting = wait(waiting, timeout=look_s, return_when=FIRST_EXCEPTION)
        began = time.perf_counter()
        watch(models)
        look_s = max(REFRESH_S, (time.perf_counter() - began) / SHARE_OF_WATCH)
        for future in done:
            future.result()


def _from_recording(model: SmartModel) -> dict[str, Any]:
    """The answers of a run that came from its recording; the cost of the run includes theirs."""
    recorder = model.recorder
    if not isinstance(recorder, ReplayRecorder):
        return {}
    recorded = recorder.recorded
    forks = [{"at": fork["at"], "set": fork["set"]} for fork in recorded.forks]
    return {
        "answers_from_recording": recorder.asked,
        "cost_usd_from_recording": recorder.repeated_usd,
        **({"parent": recorded.parent, "forks": forks} if forks else {}),
    }


def _deciders(model: SmartModel) -> str:
    recorded = model.replaying.recorded if model.replaying else None
    if recorded is None or not recorded.forks:
        return describe_minds(model.minds_in_use())
    return describe_deciders(recorded.minds, recorded.forks)


def _changed(model: SmartModel) -> list[str]:
    """The parameters that differ from their defaults, as far as they fit into a few characters."""
    defaults = parameters_of(type(model))
    texts = {
        name: f"{name} {value}"
        for name, value in model.parameters.items()
        if name not in NOT_IN_SUBTITLE and value != defaults[name].default
    }
    return [text for text in texts.values() if len(text) <= SUBTITLE_PART]
