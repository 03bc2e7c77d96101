"""Several runs of a scenario, and what is said of them.

Runs with language models go on at the same time, within the limits of their endpoints; classical
runs go one after another, since they keep one core busy each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pandas as pd

from sabm_mesa.errors import ParameterError
from sabm_mesa.parameters import parameters_of
from sabm_mesa.population import describe_deciders, describe_minds
from sabm_mesa.provenance import file_versions, versions
from sabm_mesa.recording.following import Following
from sabm_mesa.recording.prefixes import Repeated, repeated_prefixes
from sabm_mesa.usage import Tally

if TYPE_CHECKING:
    from sabm_mesa.llm import Connection
    from sabm_mesa.models.base import SmartModel
    from sabm_mesa.recording import Recording

AT_ONCE = 32
"""Runs with language models that go on at the same time at the most."""
SAID_ELSEWHERE = {"condition", "minds", "rng", "n_rounds", "prompts"}
LONGEST_PART = 32
"""Letters of a parameter and its value in the subtitle of a plot at the most."""
REFRESH_S = 0.1
Watch = Callable[[Sequence["SmartModel"]], None]


@dataclass(frozen=True)
class Runs:
    """Runs that are done.

    Attributes:
        models: the models, in the order of their seeds.
        seeds: their seeds.
        wall_s: seconds it took in all.
    """

    models: Sequence[SmartModel]
    seeds: Sequence[int]
    wall_s: float

    @property
    def numbers(self) -> list[int]:
        """The numbers of the runs: those of the recording, or 0, 1, 2, … without one."""
        return [m.recorder.run if m.recording_path else i for i, m in enumerate(self.models)]

    def model_frame(self) -> pd.DataFrame:
        """The model data of all runs: one row a round and run."""
        frames = [m.model_frame(run) for run, m in zip(self.numbers, self.models, strict=True)]
        return pd.concat(frames, ignore_index=True)

    def agent_frame(self) -> pd.DataFrame:
        """The agent data of all runs: one row an agent, round and run."""
        frames = [m.agent_frame(run) for run, m in zip(self.numbers, self.models, strict=True)]
        return pd.concat(frames, ignore_index=True)

    def total(self) -> Tally:
        """What the asks of all runs cost."""
        total = Tally()
        for model in self.models:
            total.add(model.total)
        return total

    def answers_repeated(self) -> list[int]:
        """For each run the answers that came from its recording."""
        return [m.recorder.asked if isinstance(m.recorder, Following) else 0 for m in self.models]

    def dollars_repeated(self) -> list[float]:
        """For each run the dollars that the answers from its recording had cost."""
        recorders = [model.recorder for model in self.models]
        return [r.repeated_usd if isinstance(r, Following) else 0.0 for r in recorders]

    def repeated_prefix(self) -> float | None:
        """The share of all that was sent which begins as the same agent's request before it did.

        Returns:
            0 to 1; None when nothing was sent, or nothing is recorded.
        """
        path = self.models[0].recording_path
        if path is None:
            return None
        phases = [phase.name for phase in self.models[0].phases]
        return sum(repeated_prefixes(path, self.numbers, phases).values(), Repeated()).share

    def figures(self) -> Mapping[str, Any]:
        """The scenario's plots by name, as figures of matplotlib."""
        if not self.models[0].plots:
            return {}
        figures: Mapping[str, Any] = self._draw("figures")
        return figures

    def animation(self) -> Any:
        """The first run as an animation of matplotlib.

        Raises:
            ParameterError: when the scenario has none.
        """
        check_animation(type(self.models[0]))
        return self._draw("animation")

    def _draw(self, kind: str) -> Any:
        first = self.models[0]
        parts = [first.condition, _deciders(first), *_changed(first)]
        subtitle = " · ".join(parts)
        draw = getattr(import_module(first.plots), kind)
        return draw(self.model_frame(), self.agent_frame(), subtitle, **first.plot_options())

    def summary(self) -> dict[str, Any]:
        """What is said of the runs: what was run, what it cost, how each ended."""
        first = self.models[0]
        return {
            "scenario": first.scenario_name,
            "parameters": {k: v for k, v in first.parameters.items() if k != "rng"},
            "seeds": list(self.seeds),
            "minds": first.minds_in_use(),
            "versions": versions() | file_versions(first),
            "prompts": first.book.digest({agent.persona for agent in first.population}),
            "wall_s": round(self.wall_s, 3),
            **dict(self.total()),
            "repeated_prefix": self.repeated_prefix(),
            "critical_path_asks": max(m.critical_path_asks for m in self.models),
            "runs": [
                {
                    "run": run,
                    "seed": seed,
                    "rounds": model.round + 1,
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
    recording: Recording | None = None,
    connection: Connection | None = None,
    watch: Watch = lambda _: None,
) -> Runs:
    """Run a scenario several times; run i has the seed ``seed + i``.

    Args:
        scenario: the model class.
        parameters: its parameters, without the seed.
        runs: how many (at least 1).
        seed: the seed of the first run; drawn when None.
        recording: where they are recorded.
        connection: how language models are reached.
        watch: called with the models every tenth of a second.

    Raises:
        UsageError: for parameters that cannot be used; nothing has been run then.
        RunError: when a run fails; the others are stopped, and what was answered is recorded.
    """
    if runs < 1:
        raise ParameterError(f"The number of runs has to be 1 or more (got {runs}).")
    services: dict[str, Any] = {"connection": connection, "recording": recording or False}
    first = scenario(**parameters, **services, rng=seed)
    seeds = [first.entropy[0] + i for i in range(runs)]
    models = [first, *(scenario(**parameters, **services, rng=each) for each in seeds[1:])]
    return run_models(models, watch=watch, recording=recording)


def run_models(
    models: Sequence[SmartModel],
    *,
    recording: Recording | None = None,
    watch: Watch = lambda _: None,
    rounds: Sequence[int | None] | None = None,
) -> Runs:
    """Run models to their ends.

    Args:
        models: the models, of one scenario.
        recording: where they are entered together, all of them or none.
        watch: called with the models every tenth of a second.
        rounds: for each the rounds after which it is left as it is; None: at its end.

    Raises:
        RunError: when a run fails; the others are stopped, and what was answered is recorded.
    """
    started = time.perf_counter()
    waiting = any(not agent.mind.instant for model in models for agent in model.population)
    limits = rounds or [None] * len(models)
    entered = nullcontext() if recording is None else recording.together()
    _run_together(models, limits, min(len(models), AT_ONCE) if waiting else 1, watch, entered)
    return Runs(models, [m.entropy[0] for m in models], time.perf_counter() - started)


def _run_together(
    models: Sequence[SmartModel],
    limits: Sequence[int | None],
    at_once: int,
    watch: Watch,
    entered: AbstractContextManager[None],
) -> None:
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="sabm-run")
    try:
        with entered:
            for model in models:  # in the order of the seeds, so that they are numbered in it
                model.begin()
        parts = zip(models, limits, strict=True)
        _watch([pool.submit(_play, model, limit) for model, limit in parts], models, watch)
    finally:
        for model in models:
            model.stop()
        pool.shutdown(cancel_futures=True)
        for model in models:
            model.close("stopped")
        watch(models)


def _play(model: SmartModel, limit: int | None) -> None:
    while model.running and (limit is None or model.round + 1 < limit):
        model.step()


def _watch(futures: list[Future[None]], models: Sequence[SmartModel], watch: Watch) -> None:
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=REFRESH_S, return_when=FIRST_EXCEPTION)
        watch(models)
        for future in done:
            future.result()


def _from_recording(model: SmartModel) -> dict[str, Any]:
    """What a run owes to its recording: what it cost is part of what the run cost in all."""
    if not isinstance(model.recorder, Following):
        return {}
    assert model.history is not None
    past = model.history.past
    return {
        "answers_from_recording": model.recorder.asked,
        "cost_usd_from_recording": model.recorder.repeated_usd,
        **({"parent": past.parent, "forks": _told(past.forks)} if past.forks else {}),
    }


def _told(forks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"at": fork["at"], "set": fork["set"]} for fork in forks]


def _deciders(model: SmartModel) -> str:
    past = model.history.past if model.history else None
    if past is None or not past.forks:
        return describe_minds(model.minds_in_use())
    return describe_deciders(past.minds, past.forks)


def _changed(model: SmartModel) -> list[str]:
    """The parameters that differ from their defaults, as far as they are said in a few letters."""
    defaults = parameters_of(type(model))
    texts = {
        name: f"{name} {value}"
        for name, value in model.parameters.items()
        if name not in SAID_ELSEWHERE and value != defaults[name].default
    }
    return [text for text in texts.values() if len(text) <= LONGEST_PART]


def check_animation(scenario: type[SmartModel]) -> None:
    """Check that a scenario can be drawn as an animation.

    Args:
        scenario: the model class.

    Raises:
        ParameterError: when it cannot.
    """
    if not scenario.plots or not hasattr(import_module(scenario.plots), "animation"):
        raise ParameterError(f"The scenario {scenario.scenario_name} has no animation.")
