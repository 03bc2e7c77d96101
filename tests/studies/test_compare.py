"""Comparisons of settings: numbers by hand and from the front of all verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sabm_mesa import KeynesianBeautyContest, Recording, sweep
from sabm_mesa.analysis.tests import infer
from sabm_mesa.errors import ParameterError, RecordingError, UnknownName
from sabm_mesa.studies.compare import compare, picture, report_of
from sabm_mesa.studies.report import as_markdown
from tests.cli.support import Sabm, one_line
from tests.llm_server import LLMServer

PLAIN = {"n_rounds": 3, "communication": False}


STARTS = [3, 5]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two minds by two sizes, eight runs each, of contests whose means differ by mind alone."""
    path = tmp_path_factory.mktemp("sweep")
    sweep(
        "kbc", {"n_players": [3, 8], "minds": ["classical", "fixed:90"]}, folder=path, runs=8,
        parameters={"n_rounds": 2},
    )  # fmt: skip
    return path


def values(folder: Path, n: int, minds: str) -> list[float]:
    runs = pd.read_csv(folder / "runs.csv")
    return runs.loc[(runs["n_players"] == n) & (runs["minds"] == minds), "mean"].tolist()


def test_pairs_main_effects_and_the_interaction(folder: Path) -> None:
    found = compare([folder], "mean")
    a, b, c, d = (values(folder, n, m) for n in (3, 8) for m in ("classical", "fixed:90"))

    assert found.by == ["n_players", "minds"]
    assert found.cells["n"].tolist() == [8] * 4
    assert found.table["comparison"].tolist() == 6 * ["pair"] + 2 * ["main effect"] + [
        "interaction"
    ]
    first = infer(a, b, paired=True)
    assert found.table.loc[0, ["estimate", "low", "high", "p"]].tolist() == [
        first.estimate, first.low, first.high, first.p,
    ]  # fmt: skip
    main = infer([(x + y) / 2 for x, y in zip(a, c, strict=True)], [90.0] * 8, paired=True)
    of_minds = found.table[found.table["of"] == "minds classical"].iloc[0]
    assert of_minds["estimate"] == pytest.approx(main.estimate)
    interaction = found.table.iloc[-1]
    expected = infer(a, c, b, d, paired=True)
    assert interaction["estimate"] == pytest.approx(expected.estimate)
    assert (interaction["of"], interaction["than"]) == (
        "n_players 3 − 8 at minds classical", "at minds fixed:90",
    )  # fmt: skip
    assert (found.table["p_holm"] >= found.table["p"]).all()


def test_shares_of_runs_with_two_factors(tmp_path: Path) -> None:
    """One of two minds empties every lake of 3 and of 5 people in two months."""
    minds = ["classical:open_access", "classical:sustainable"]
    sweep(
        "fishery", {"minds": minds, "n_agents": [3, 5]}, folder=tmp_path, runs=6,
        parameters={"n_rounds": 2, "communication": False},
    )  # fmt: skip
    found = compare([tmp_path], "collapsed")

    assert found.of == "share"
    kinds = found.table.set_index("comparison")["estimate"]
    assert kinds["main effect"].tolist() == [0, 1]  # of people, and of minds
    assert kinds["interaction"] == 0


def test_verdicts_follow_the_corrected_p(
    sabm: Sabm, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of 8 pairs that all differ alike the sign test has p = 2 / 2⁸; nine tests make that 9 / 128.
    found = compare([folder], "mean")
    apart = found.table[found.table["p"] == 2 / 2**8]

    assert len(found.table) == 9
    assert set(apart["p_holm"]) == {9 / 128}
    assert set(found.table["verdict"]) == {"no difference detected"}
    (note,) = found.notes
    assert note == (
        "With 8 runs a setting none of 9 comparisons can have a corrected p of 0.05 or less "
        "(0.07 at least): run more seeds, or compare fewer settings."
    )
    monkeypatch.setenv("COLUMNS", "200")  # a cell is one line
    said = sabm("compare", folder, "--measure", "mean", "--out", tmp_path).out
    assert "no difference detected" in said
    assert "effects differ" not in said


def test_a_difference_that_outlasts_the_correction(folder: Path) -> None:
    found = compare([folder], "mean", ["minds"])

    # Two of 2000 permutations, for both sides.
    assert found.table["p_holm"].tolist() == [2 / 2000]
    assert found.table["verdict"].tolist() == ["effects differ"]
    assert not any("corrected p" in note for note in found.notes)


def test_other_factors_are_pooled_and_it_is_said(folder: Path) -> None:
    found = compare([folder], "mean", ["minds"])

    assert found.cells["n"].tolist() == [16, 16]
    assert found.notes[0] == "Pooled over: n_players."
    assert any("compared as independent runs" in note for note in found.notes)


def test_recordings_are_compared_with_one_another(tmp_path: Path) -> None:
    for name, mind in (("a", "fixed:10"), ("b", "fixed:20")):
        sweep("kbc", {}, folder=tmp_path / name, runs=6, parameters={"minds": mind, "n_rounds": 1})
    found = compare([tmp_path / "a", tmp_path / "b" / "recording.sqlite"], "mean", ["source"])

    assert found.cells["setting"].tolist() == ["source a", "source b"]
    assert found.table["estimate"].tolist() == [-10]


def test_few_runs_have_no_interval(sabm: Sabm, tmp_path: Path) -> None:
    small = ("--vary", "n_players=4,6", "--rounds", "1", "--runs", "3", "--out", tmp_path)
    assert sabm("sweep", "kbc", *small).status == 0

    said = sabm("compare", tmp_path, "--measure", "mean").out

    assert " to " not in said.partition("Written")[0]
    assert "nan" not in said


def test_the_files(sabm: Sabm, folder: Path) -> None:
    done = sabm("compare", folder, "--measure", "mean", "--by", "minds,n_players",
                "--figures", "png,svg")  # fmt: skip

    assert done.status == 0, done.err
    written = sorted(path.name for path in (folder / "compare").iterdir())
    assert written == [
        f"mean-by-minds-n_players{end}"
        for end in (
            "-comparisons.csv", "-settings.csv", "-settings.png", "-settings.svg", ".html", ".json",
            ".md",
        )
    ]  # fmt: skip
    found = compare([folder], "mean", ["minds", "n_players"])
    assert as_markdown(report_of(found)).count("| pair |") == 6
    (ax,) = picture(found).axes
    assert len(ax.get_yticks()) == 4


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (("meen",), UnknownName, "Did you mean 'mean'"),
        (("mean", ["mind"]), UnknownName, "Did you mean 'minds'"),
    ],
)
def test_what_there_is_not(folder: Path, arguments, error, says: str) -> None:
    with pytest.raises(error, match=says):
        compare([folder], *arguments)


def test_what_cannot_be_compared(sabm: Sabm, folder: Path, tmp_path: Path) -> None:
    sweep("kbc", {"n_players": [2, 3]}, folder=tmp_path / "one", parameters={"n_rounds": 1})
    sweep("kbc", {}, folder=tmp_path / "same", runs=3, parameters={"n_rounds": 1})
    sweep("bertrand", {}, folder=tmp_path / "other", parameters=PLAIN)
    with pytest.raises(ParameterError, match="Each setting has one run"):
        compare([tmp_path / "one"], "mean")
    with pytest.raises(ParameterError, match="All runs have the same setting"):
        compare([tmp_path / "same"], "mean")
    with pytest.raises(RecordingError, match="The runs come from 2 scenarios"):
        compare([tmp_path / "one", tmp_path / "other"], "mean")
    refused = sabm("compare", folder, "--measure", "mean", "--bounds", "1")
    assert one_line(refused) == "--bounds takes LOW,HIGH, such as 0,1, not '1'."
    outside = sabm("compare", folder, "--measure", "mean", "--of", "mean", "--bounds", "0,1")
    assert one_line(outside).startswith("mean cannot be compared: ")


def recorded(folder: Path, rows: list[tuple[dict[str, Any], dict[str, Any]]]) -> Path:
    """Runs of one round, each with its parameters and tags; the seeds count up in each setting."""
    path = folder / "recording.sqlite"
    counts: dict[str, int] = {}
    with Recording(path) as recording:
        for parameters, tags in rows:
            setting = str(parameters)
            counts[setting] = counts.get(setting, 0) + 1
            model = KeynesianBeautyContest(
                n_rounds=1, n_players=3, rng=counts[setting], recording=recording, **parameters
            )
            model.tags = tags
            model.run_model()
            model.close()
    return path


def test_a_tag_that_other_factors_determine_is_no_factor_of_its_own(tmp_path: Path) -> None:
    cells = [
        ({"minds": mind, "personas": who}, {"condition": f"{mind} {who}"})
        for mind in ("fixed:10", "fixed:20")
        for who in (None, "agreeable")
        for _ in range(2)
    ]
    path = recorded(tmp_path, cells)
    found = compare([path], "mean")

    assert sorted(found.by) == ["minds", "personas"]
    assert "interaction" in set(found.table["comparison"])
    assert "personas none, minds fixed:10" in set(found.cells["setting"])
    assert compare([path], "mean", ["condition"]).by == ["condition"]


def test_a_tag_that_names_each_run_is_no_factor(tmp_path: Path) -> None:
    tags = [{"run": str(i), "condition": "ab"[i % 2]} for i in range(8)]
    path = recorded(tmp_path, [({"minds": "fixed:10"}, each) for each in tags])

    assert compare([path], "mean").by == ["condition"]


def test_a_parameter_and_a_tag_of_one_name_are_two_columns(tmp_path: Path) -> None:
    cells = [({"minds": mind}, {"minds": tag}) for mind in ("fixed:10", "fixed:20") for tag in "ab"]
    path = recorded(tmp_path, 2 * cells)
    found = compare([path], "mean")

    assert found.by == ["set.minds", "tag.minds"]
    assert compare([path], "mean", ["set.minds"]).table["estimate"].tolist() == [-10]


def test_models_have_their_names_where_these_tell_them_apart(tmp_path: Path) -> None:
    with LLMServer(brain=lambda _m, _b: "20") as one, LLMServer(brain=lambda _m, _b: "30") as other:
        specs = [f"llm:a@{one.url}", f"llm:b@{other.url}"]
        path = recorded(tmp_path, [({"minds": spec}, {}) for spec in specs for _ in range(2)])
    found = compare([path], "mean")

    assert found.cells["setting"].tolist() == ["minds a", "minds b"]
    assert found.table.loc[0, "estimate"] == -10


def test_a_measure_without_a_value_is_known_and_says_so(tmp_path: Path) -> None:
    only_given = {**PLAIN, "n_rounds": 1, "minds": "fixed:8"}
    sweep("bertrand", {"initial_prices": STARTS}, folder=tmp_path, runs=2, parameters=only_given)

    with pytest.raises(ParameterError, match="No run has a value for collusion_index"):
        compare([tmp_path], "collusion_index")


def test_a_mean_without_bounds_is_not_tested(tmp_path: Path) -> None:
    played = {**PLAIN, "minds": "fixed:8"}
    sweep("bertrand", {"initial_prices": STARTS}, folder=tmp_path, runs=6, parameters=played)
    comparison = compare([tmp_path], "collusion_index", of="mean")

    assert comparison.table["p"].isna().all()
    assert set(comparison.table["verdict"]) == {"not tested"}
