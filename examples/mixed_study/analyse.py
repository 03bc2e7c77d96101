"""The table and the figure: ``python examples/mixed_study/analyse.py RECORDING…``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from design import (
    ALPHA,
    CONDITIONS,
    GAME,
    MIXED,
    MOST_INVALID,
    N_PEOPLE,
    ONLY,
    PEOPLE,
    POWER,
    RULES,
)

from sabm_mesa import Recorded, RepeatedBeautyContest, SabmError
from sabm_mesa.analysis.tests import MOST_RUNS, Estimand, infer, runs_needed
from sabm_mesa.models.beauty_contest.repeated.theory import session_means
from sabm_mesa.studies.plots import by_round

HUMAN = "human"
LAST = GAME["n_rounds"] - 1
PROTOCOL = RepeatedBeautyContest(**GAME, recording=False).parameters
SAME = (*GAME, *RULES, "condition", "personas")

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("recordings", nargs="*", default=["out/mixed_study/recording.sqlite"])
parser.add_argument("--out", default="out/mixed_study", help="the folder of table and figure")


def groups(paths: Sequence[str | Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All groups of some recordings, and the people's picks by round.

    Args:
        paths: the recordings, such as those of a class and that of `run.py`.

    Returns:
        One row a group (``run``, ``condition``, ``people``: who they are, ``minds``, ``outcome``:
        the mean pick of the people in the last round, ``excluded``: why, or ``""``), and one row
        a group and round (``run``, ``condition``, ``round``, ``pick``: mean of the people).
    """
    rows, picks = [], []
    for path in paths:
        recorded = Recorded(path)
        data = recorded.agent_data()
        for run in recorded.runs().to_dict("records"):
            name = f"{Path(path).parent.name}/{Path(path).name}#{run['run']}"
            agents = data[data["run"] == run["run"]]
            row = {"run": name, **group(run, agents)}
            rows.append(row)
            if not row["excluded"]:
                people = agents[agents["mind"] == row["people"]]
                means = people.groupby("round")["choice"].mean().rename("pick").reset_index()
                picks.append(means.assign(run=name, condition=row["condition"]))
    if not picks:
        raise SystemExit("No group can be used; the reasons: " + "; ".join(_reasons(rows)))
    return pd.DataFrame(rows), pd.concat(picks, ignore_index=True)


def group(run: dict[str, Any], agents: pd.DataFrame) -> dict[str, Any]:
    """The row of one group.

    Args:
        run: its row in the table of runs.
        agents: its agent data.
    """
    minds = json.loads(run["minds"])
    minds = minds if isinstance(minds, dict) else {minds: GAME["n_players"]}
    who = HUMAN if HUMAN in minds else PEOPLE
    people = agents[agents["mind"] == who]
    last = people.loc[people["round"] == LAST, "choice"]
    return {
        "condition": ONLY if len(minds) == 1 else MIXED,
        "people": who,
        "minds": ", ".join(f"{n} {spec}" for spec, n in minds.items()),
        "outcome": last.mean(),
        "excluded": why_excluded(run, people),
    }


def why_excluded(run: dict[str, Any], people: pd.DataFrame) -> str:
    """The protocol's reason to leave a group out; ``""`` for none.

    Args:
        run: its row in the table of runs.
        people: the agent data of its people.
    """
    given = json.loads(run["parameters"])
    if run["scenario"] != RepeatedBeautyContest.scenario_name:
        return f"the scenario is {run['scenario']}"
    if other := [name for name in SAME if given[name] != PROTOCOL[name]]:
        return f"another game: {', '.join(other)}"
    if run["status"] != "finished":
        return f"the run is {run['status']}"
    if (seats := people["agent"].nunique()) not in {N_PEOPLE, GAME["n_players"]}:
        return f"{seats} people"
    invalid = people["choice"].isna().mean()
    if invalid > MOST_INVALID:
        return f"{invalid:.0%} of the people's decisions are invalid"
    return ""


def table(data: pd.DataFrame) -> str:
    """What the protocol asks for, in Markdown.

    Args:
        data: the groups.
    """
    used = data[data["excluded"] == ""]
    of = {name: used.loc[used["condition"] == name, "outcome"] for name in CONDITIONS}
    rows = [
        f"| {name} | {values.size} | {(data['condition'] == name).sum() - values.size} "
        f"| {values.mean():.1f} | {values.std():.1f} |"
        for name, values in of.items()
    ]
    stand_in = ["These are stand-ins: no person has played."] * (PEOPLE in set(used["people"]))
    lines = [
        f"People: {one_line(used['people'])}. Groups: {one_line(used['minds'])}.",
        *stand_in,
        "",
        "Outcome: the mean pick of a group's people in the last round.",
        "",
        "| condition | groups | left out | mean | sd |",
        "|---|---|---|---|---|",
        *rows,
        "",
        *compared(of[MIXED], of[ONLY]),
        *[f"Left out: {reason}." for reason in _reasons(data.to_dict("records"))],
    ]
    return "\n".join(lines) + "\n"


def compared(mixed: pd.Series[float], only: pd.Series[float]) -> list[str]:
    """The test of the hypothesis that people pick lower in mixed groups.

    Args:
        mixed: the outcome of each mixed group.
        only: the outcome of each group of people only.
    """
    if mixed.empty or only.empty:
        return ["One condition has no group yet: there is nothing to compare."]
    test = infer(mixed, only, below=0, level=ALPHA)
    lower = Estimand(n_groups=2, below=0)
    needed = runs_needed(lower, [mixed, only], ALPHA, POWER)
    outcome = "borne out" if test.p_for <= ALPHA else "not borne out"
    interval = f"95 % interval {test.low:.1f} to {test.high:.1f}"
    estimate = (
        f"Mixed minus people only: {test.estimate:.1f} ({interval}), "
        f"Cliff's delta {test.effect:.2f}, one-sided p = {test.p_for:.2g} (permutation "
        "test of the means): "
        f"the hypothesis is {outcome} at {ALPHA}."
    )
    groups_needed = f"more than {MOST_RUNS}" if needed is None else f"about {needed}"
    return [
        estimate,
        f"For a power of {POWER}, if these groups are the truth: {groups_needed} groups each.",
    ]


def main() -> None:
    """Write ``groups.csv``, ``result.md`` and ``figure.png``."""
    chosen = parser.parse_args()
    data, picks = groups(chosen.recordings)
    used = data[data["excluded"] == ""]
    if len(set(used["people"])) > 1:
        raise SystemExit("Groups of people and of stand-ins are not to be mixed in one analysis.")
    folder = Path(chosen.out)
    folder.mkdir(parents=True, exist_ok=True)
    text = table(data)
    data.to_csv(folder / "groups.csv", index=False)
    (folder / "result.md").write_text(text, "utf-8")
    who = "people" if used["people"].iloc[0] == HUMAN else f"stand-ins for people ({PEOPLE})"
    sessions = session_means(PROTOCOL["p"])
    nagel = [(ONLY, round_, mean) for session in sessions for round_, mean in enumerate(session)]
    figure = by_round(
        picks,
        "pick",
        {name: name for name in CONDITIONS if (used["condition"] == name).any()},
        title="Do people pick lower when they play with language models?",
        label="Mean pick of the people",
        subtitle=f"{who} · {one_line(used['minds'])} · published: four sessions of "
        "15 to 18 students, Nagel 1995",
        published=pd.DataFrame(nagel, columns=["condition", "round", "published"]),
    )
    figure.savefig(folder / "figure.png")
    print(text)


def one_line(values: pd.Series[str]) -> str:
    """The different values of a column on one line.

    Args:
        values: the column.
    """
    return "; ".join(sorted(set(values)))


def _reasons(rows: list[dict[Any, Any]]) -> list[str]:
    return [f"{row['run']} ({row['excluded']})" for row in rows if row["excluded"]]


if __name__ == "__main__":
    try:
        main()
    except SabmError as problem:
        raise SystemExit(str(problem)) from None
