"""What a run must keep so that it can be repeated: its seed and the versions it ran with."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from sabm_mesa.minds import by_spec, language_model
from sabm_mesa.parameters import whole
from sabm_mesa.recording import RunInfo

if TYPE_CHECKING:
    from sabm_mesa.models.base import SmartModel

Seed = int | Sequence[int] | np.random.SeedSequence | np.random.Generator | None

_PACKAGES = ("sabm-mesa", "mesa", "numpy", "openai", "llama-cpp-python")


def run_info(model: SmartModel) -> RunInfo:
    """What is written about a run when it begins.

    Args:
        model: the model, populated.
    """
    return RunInfo(
        scenario=model.scenario_name,
        model=f"{type(model).__module__}:{type(model).__name__}",
        parameters={
            name: by_spec(value) if name == "minds" else value
            for name, value in model.parameters.items()
            if name != "rng"
        },
        seed=model.entropy,
        minds=model.minds_in_use(),
        prompts=model.book.with_hashes({agent.persona for agent in model.population}),
        versions=versions() | file_versions(model),
        connection=_connection(model),
        model_columns=list(model.datacollector.model_reporters),
        agent_columns=["agent", *model.datacollector.agent_reporters],
    )


def _connection(model: SmartModel) -> dict[str, Any]:
    """How language models are reached, also when nothing was said of it."""
    if model.connection is not None:
        return model.connection.as_recorded()
    if not any(language_model(spec) for spec in model.minds_in_use()):
        return {}
    from sabm_mesa.llm import Connection

    return Connection().as_recorded()


def file_versions(model: SmartModel) -> dict[str, str]:
    """Spec → SHA-256 of the file, of the minds that come from files.

    Args:
        model: the model, populated.
    """
    minds = {agent.mind.spec: agent.mind for agent in model.population}
    found = {spec: getattr(mind, "version", None) for spec, mind in minds.items()}
    return {spec: digest for spec, digest in found.items() if isinstance(digest, str)}


def versions() -> dict[str, str]:
    """Package → version, and that of Python."""
    found = {package: _version(package) for package in _PACKAGES}
    return {"python": platform.python_version()} | {k: v for k, v in found.items() if v is not None}


@cache  # a run says it twice, and each time a file of a hundred lines would be read
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def entropy(rng: Any) -> tuple[int, ...]:
    """The seed as integers, from all that Mesa takes as `rng`; drawn anew from None.

    Args:
        rng: an integer or a sequence of them, a SeedSequence, a Generator (which is drawn from),
            or None.

    Raises:
        ParameterError: for anything else.
    """
    if rng is None:
        return (int(np.random.SeedSequence().generate_state(1)[0]),)
    if isinstance(rng, np.random.Generator):
        return (int(rng.integers(2**32)),)
    if isinstance(rng, np.random.SeedSequence):
        return tuple(int(word) for word in rng.generate_state(4))
    if isinstance(rng, Sequence) and not isinstance(rng, str) and len(rng) > 0:
        return tuple(whole("the seed", word, 0) for word in rng)
    return (whole("the seed", rng, 0),)
