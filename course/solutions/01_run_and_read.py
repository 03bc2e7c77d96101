"""Solution 1: twenty guessing games, compared with theory and with people."""

from __future__ import annotations

import pandas as pd

from sabm_mesa import RepeatedBeautyContest
from sabm_mesa.analysis.intervals import mean_by_round
from sabm_mesa.models.beauty_contest.repeated.theory import session_means

RUNS = 20


def games(minds: str) -> pd.DataFrame:
    """The model data of some games with one kind of mind: one row a run and round."""
    frames = []
    for seed in range(RUNS):
        model = RepeatedBeautyContest(n_players=16, n_rounds=4, minds=minds, rng=seed)
        model.run_model()
        frames.append(model.model_frame(seed))
    return pd.concat(frames, ignore_index=True)


def main() -> pd.DataFrame:
    """The mean pick by round: classical minds, and the four sessions of Nagel 1995."""
    classical = games("classical")
    means = mean_by_round(classical, "mean").set_index("round")
    people = session_means(2 / 3)
    means["people, lowest"] = people.min(axis=0)
    means["people, highest"] = people.max(axis=0)
    means["level 1"] = [50 * (2 / 3) ** (k + 1) for k in means.index]
    print(means.round(1).to_string())
    print(f"invalid decisions: {classical['invalid'].sum()} of {classical['asks'].sum()}")
    return means


if __name__ == "__main__":
    main()
