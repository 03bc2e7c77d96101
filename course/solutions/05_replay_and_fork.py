"""Solution 5: a recording that anyone can check, and a fork of it."""

from __future__ import annotations

from pathlib import Path

from sabm_mesa import KeynesianBeautyContest, Recorded, fork, replay

RECORDING, FORKED = "contest.sqlite", "forked.sqlite"


class Costly:
    """Stands for a mind whose answers cost something: it counts how often it is asked."""

    asked = 0

    async def answer(self, ask):
        """Say and pick the same number in every round."""
        self.asked += 1
        number = 20 + 10 * (ask.facts.player % 3)
        return f"I will choose {number}." if ask.name == "communicate" else number


def main() -> dict[str, int]:
    """Record, replay without the mind, fork to classical minds; how often the mind was asked."""
    for old in (RECORDING, FORKED):
        Path(old).unlink(missing_ok=True)
    mind = Costly()
    model = KeynesianBeautyContest(n_players=6, minds=mind, rng=1, recording=RECORDING)
    model.run_model()
    recorded = mind.asked
    replay(RECORDING)  # raises an error when anything comes out otherwise
    replayed = mind.asked - recorded
    branch = fork(
        RECORDING, 2, {"minds": "classical", "n_rounds": 6}, FORKED, minds={"Costly": mind}
    )
    forked = mind.asked - recorded - replayed
    lines = {"recorded": recorded, "replayed": replayed, "forked": forked}
    print(lines)
    print(Recorded(FORKED).runs()[["run", "parent", "rounds", "asks"]].to_string(index=False))
    print(branch.model_frame()[["round", "mean", "variance"]].round(1).to_string(index=False))
    return lines


if __name__ == "__main__":
    main()
