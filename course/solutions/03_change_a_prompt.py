"""Solution 3: three wordings of one prompt, compared over runs.

`Reader` is a toy that reads the prompt as a language model does. It shows the method, and says
nothing about any language model: put ``llm:MODEL`` in its place for that.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from sabm_mesa import KeynesianBeautyContest
from sabm_mesa.analysis.tests import holm, infer

PROMPTS = Path(__file__).with_name("03_prompts.toml")
CONDITIONS = ("baseline", "agreement", "placebo")
RUNS = 12


class Reader:
    """Says a number; keeps to the one that was said first when the prompt speaks of it."""

    instant, paid = True, False

    async def answer(self, ask):
        """Speak or pick, on the text of the prompt alone."""
        _, question = ask.question
        promised = [int(n) for n in re.findall(r"I will choose (\d+)", question)]
        if ask.name == "communicate":
            return f"I will choose {promised[0] if promised else ask.rng.integers(20, 40)}."
        if promised and "keep to what was said" in question:
            return promised[0]
        return int(ask.rng.integers(0, 51))


def variance(condition: str, seed: int) -> float:
    """The variance of the picks in the last round of one run."""
    model = KeynesianBeautyContest(
        n_players=8, n_rounds=2, condition=condition, prompts=PROMPTS, minds=Reader(), rng=seed
    )
    model.run_model()
    return float(model.model_frame()["variance"].iloc[-1])


def main() -> pd.DataFrame:
    """Both new wordings against the baseline: is the variance of the picks smaller?"""
    variances = {name: [variance(name, seed) for seed in range(RUNS)] for name in CONDITIONS}
    baseline, *others = CONDITIONS
    tests = [infer(variances[name], variances[baseline], below=0, paired=True) for name in others]
    table = pd.DataFrame(
        {
            "difference": [test.estimate for test in tests],
            "low": [test.low for test in tests],
            "high": [test.high for test in tests],
            "delta": [test.effect for test in tests],
            "p": [test.p_for for test in tests],
            "p (Holm)": holm(test.p_for for test in tests),
        },
        index=others,
    )
    print(table.to_string(float_format=lambda number: f"{number:.3g}"))
    return table


if __name__ == "__main__":
    main()
