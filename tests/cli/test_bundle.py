"""`sabm bundle`: the registration beside a recording, and other runs of its experiment."""

from __future__ import annotations

from pathlib import Path

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.visualization.records.bundle import RECORDING

from .support import Sabm


def test_the_registration_is_copied_and_other_attempts_are_listed(
    sabm: Sabm, tmp_path: Path
) -> None:
    for attempt in ("first", "second"):
        (tmp_path / attempt / "mine").mkdir(parents=True)
        path = tmp_path / attempt / "mine" / RECORDING
        KeynesianBeautyContest(n_players=2, n_rounds=1, rng=7, recording=path).run_model()
    for name in ("registration.json", "registration.md"):
        path.with_name(name).write_text("{}", "utf-8")
    done = sabm("bundle", path)
    assert (done.status, done.err) == (0, "")

    folder = path.with_name("bundle")
    assert (folder / "registration.json").read_text("utf-8") == "{}"
    assert "first/mine (1 run, seed 7, from " in (folder / "index.html").read_text("utf-8")
