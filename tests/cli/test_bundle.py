"""`sabm bundle`: the registration beside a recording."""

from pathlib import Path

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.visualization.reading.bundle import RECORDING

from .support import Sabm


def test_the_registration_is_copied(sabm: Sabm, tmp_path: Path) -> None:
    path = tmp_path / RECORDING
    KeynesianBeautyContest(n_players=2, n_rounds=1, rng=7, recording=path).run_model()
    path.with_name("registration.json").write_text("{}", "utf-8")
    done = sabm("bundle", path)
    assert (done.status, done.err) == (0, "")

    folder = path.with_name("bundle")
    assert (folder / "registration.json").read_text("utf-8") == "{}"
    assert 'href="registration.json"' in (folder / "index.html").read_text("utf-8")
