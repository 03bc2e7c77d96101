"""Texts on pages: names of rounds, errors of input at once, recordings read anew."""

import pandas as pd

from sabm_mesa import Fishery, Recorded
from sabm_mesa.recording.store import open_for_reading
from sabm_mesa.visualization import panels
from sabm_mesa.visualization.records.store import stamp
from sabm_mesa.visualization.run_controller import Shown


def test_charts_that_are_still_to_be_drawn_are_no_sign_that_nothing_was_played():
    model, played, none = (
        Fishery(n_rounds=2, rng=1),
        pd.DataFrame({"round": [0, 1]}),
        pd.DataFrame(),
    )

    assert panels.drawn(model, Shown(played, none)) == "Month 2 is being drawn …"
    assert panels.drawn(model, Shown(played, none, painted=0)) == (
        "Drawn after month 1. Month 2 is being drawn …"
    )
    assert panels.drawn(model, Shown(played.iloc[:0], none)) == "Nothing is played yet."


def test_a_recording_is_no_other_one_while_somebody_reads_it(tmp_path):
    path = tmp_path / "r.sqlite"
    Fishery(n_rounds=1, rng=1, recording=path).run_model()
    before = stamp(path)
    with open_for_reading(path):
        assert stamp(path) == before
    assert stamp(path) == before
    Fishery(n_rounds=1, rng=2, recording=path).run_model()
    assert stamp(path) != before
    assert len(Recorded(path).runs()) == 2
