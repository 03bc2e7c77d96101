"""A recording of one version of Mesa comes out the same under another: `make other-pythons`.

``python -m tests.mesa_versions record FOLDER`` plays every scenario and records it;
``python -m tests.mesa_versions replay FOLDER`` replays what another Mesa recorded there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import mesa

from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.recording import Recording, load_runs
from sabm_mesa.runs.rerun import replay
from sabm_mesa.testing.minds import DrawingMind


def record(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in SCENARIOS:
        with Recording(folder / f"{name}.sqlite") as recording:
            for minds in ("classical", DrawingMind(paid=True)):
                scenario(name)(n_rounds=3, minds=minds, rng=1, recording=recording).run_model()


def replay_all(folder: Path) -> None:
    for name in SCENARIOS:
        path = folder / f"{name}.sqlite"
        runs = load_runs(path)
        made = {run.versions["mesa"] for run in runs}
        assert made != {mesa.__version__}, f"{name}: recorded by the same Mesa, {made}"
        for run in runs:
            replay(path, run.run)
    sys.stdout.write(f"{len(SCENARIOS)} recordings of Mesa {made}: same with {mesa.__version__}\n")


if __name__ == "__main__":
    {"record": record, "replay": replay_all}[sys.argv[1]](Path(sys.argv[2]))
