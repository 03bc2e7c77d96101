"""Play the groups without a browser: ``python examples/mixed_study/run.py``."""

from __future__ import annotations

import argparse

from design import GAME, GROUPS, MODELS, PEOPLE, SCENARIO, populations

from sabm_mesa import Budget, Connection, SabmError, sweep

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--minds", default=MODELS, help="the language models, such as llm:gpt-4o-mini")
parser.add_argument("--people", default=PEOPLE, help="who stands in for people")
parser.add_argument("--groups", type=int, default=GROUPS, help="groups in each condition")
parser.add_argument("--seed", type=int, default=1, help="the first seed")
parser.add_argument("--base-url", help="the endpoint of the language models")
parser.add_argument("--budget-usd", type=float, help="dollars at most, all groups together")
parser.add_argument("--out", default="out/mixed_study", help="the folder of the recording")


def main() -> None:
    """Play the missing runs of both conditions; the same command continues where it stopped."""
    chosen = parser.parse_args()
    played = sweep(
        SCENARIO,
        {"minds": list(populations(chosen.people, chosen.minds).values())},
        parameters=GAME,
        runs=chosen.groups,
        seed=chosen.seed,
        folder=chosen.out,
        connection=Connection(chosen.base_url, budget=Budget(max_usd=chosen.budget_usd)),
    )
    print(f"{len(played.runs)} groups, {played.ran} of them played now: {played.path}")
    if chosen.minds == MODELS:
        print(f"Language models were stood in for by {MODELS}: that says nothing about any.")
    if chosen.people == PEOPLE:
        print(f"People were stood in for by {PEOPLE}: these are no people.")


if __name__ == "__main__":
    try:
        main()
    except SabmError as problem:
        raise SystemExit(str(problem)) from None
