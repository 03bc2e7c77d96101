"""The pages of recordings, asked for over HTTP: what they show, and what they refuse in a line."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from sabm_mesa import (
    BertrandCompetition,
    Fishery,
    KeynesianBeautyContest,
    Recorded,
    Recording,
    fork,
)
from sabm_mesa.llm import close_all
from sabm_mesa.recording.store import open_for_reading
from sabm_mesa.runs.game import Game
from sabm_mesa.visualization.access import admit, host_key
from sabm_mesa.visualization.labels import error_line, number
from sabm_mesa.visualization.middleware import RequestMiddleware
from sabm_mesa.visualization.reading.charts import called, model_of
from sabm_mesa.visualization.reading.store import listed, run_data, stamp
from sabm_mesa.visualization.viewer.story import Source, story_of
from sabm_mesa.visualization.web import recordings
from tests.llm_server import LLMServer
from tests.recording.hostile import OF_BYTES, WAYS, make_good, spoil

HOSTILE = "<img src=x onerror=\"document.title='taken'\"> **bold** I choose 30."
UNUSABLE = "I would rather not <b>say</b>."
HUGE = "answers are 300 MB"
FAST = {"runs is an endless view": 1, "costs are texts": 1, "the provenance leads nowhere": 1}
REFUSED = "is not a usable recording"
Ask = Callable[..., str]
TakenUp = list[tuple[Path, int]]


def brain(messages: list[dict[str, str]], body: dict[str, object]) -> str:
    """Says something hostile; answers unusably at first, and then with a number."""
    del body
    if "it is your turn to speak" in messages[-1]["content"]:
        return HOSTILE
    return UNUSABLE if len(messages) == 2 else "Now I can.\n30"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a language model, and its fork."""
    folder = tmp_path_factory.mktemp("recordings")
    with pytest.MonkeyPatch.context() as patch, LLMServer(brain=brain) as llm:
        patch.setenv("OPENAI_API_KEY", "none")
        KeynesianBeautyContest(
            n_players=3, n_rounds=4, minds=f"llm:gpt-4o-mini@{llm.url}", rng=1,
            recording=folder / "parent.sqlite",
        ).run_model()  # fmt: skip
        (folder / "branches").mkdir()
        changes = {"condition": "cooperative", "minds": "fixed:7"}
        fork(folder / "parent.sqlite", 2, changes, folder / "branches" / "fork.sqlite")
        close_all()
    return folder


@pytest.fixture
def taken_up() -> TakenUp:
    """The games that were continued: recording and run."""
    return []


@pytest.fixture
def client(folder: Path, taken_up: TakenUp, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A host's browser at the pages; the folder of the server is that of the recordings."""
    monkeypatch.chdir(folder)
    take_up = lambda _host, path, run, _language: taken_up.append((path, run))  # noqa: E731
    monkeypatch.setattr(recordings, "take_up", take_up)
    app = RequestMiddleware(Starlette(routes=recordings.routes()), local=True)
    return TestClient(
        app, base_url="http://localhost", raise_server_exceptions=True,
        cookies={"sabm-host-1": admit(host_key()) or ""},
    )  # fmt: skip


@pytest.fixture
def read(client: TestClient) -> Ask:
    """Reads a page: its text, without markup."""

    def read(page: str = "", status: int = 200, /, **query: Any) -> str:
        response = client.get(f"/recording{page}?{urlencode(query)}")
        assert response.status_code == status, response.text
        body = response.text.partition("<body>")[2].partition("<script")[0]
        return unescape(re.sub(r"<[^>]*>", " ", body))

    return read


def test_only_a_host_reads_recordings(client: TestClient) -> None:
    client.cookies.clear()
    for page in ("", "?file=parent.sqlite", "/data?file=parent.sqlite", "/find", "/picture"):
        response = client.get(f"/recording{page}")
        assert response.status_code == 403
        assert "This page is for the host" in response.text
    assert client.post("/recording/go-on?file=parent.sqlite").status_code == 403


def test_the_list_names_what_is_in_each_recording(read: Ask) -> None:
    text = read()
    assert "branches/fork.sqlite" in text
    assert "kbc · 1 run (1 finished)" in text
    assert "baseline · seed 1" in text


def test_a_run_has_its_title_its_timeline_and_its_messages(
    client: TestClient, read: Ask, folder: Path
) -> None:
    html = client.get("/recording?file=parent.sqlite").text
    started = Recorded(folder / "parent.sqlite").runs()["started"][0][:16].replace("T", " ")
    assert f"<h1>Keynesian beauty contest, {started}, run 0</h1>" in html
    assert html.index('class="timeline"') < html.index('class="facts"')
    assert "Round 2, talk, invalid attempts" in html
    text = read(file="parent.sqlite")
    assert text.count(HOSTILE) == 9
    assert "<img src=x" not in html


def test_a_round_shows_exactly_what_was_sent_and_answered(
    client: TestClient, read: Ask, folder: Path
) -> None:
    html = client.get("/recording?file=parent.sqlite&run=0&round=2").text
    text = read(file="parent.sqlite", run=0, round=2)
    recorded = Recorded(folder / "parent.sqlite")
    assert number(recorded.model_data(0)["target"][1]) in text
    assert UNUSABLE in text
    assert "Attempt 2 of 2" in text
    assert "<b>say" not in html
    opened = re.findall(r'<details class="ask" id="(\S+)"[^>]* open>', html)
    assert len(opened) == 1
    assert html.index(opened[0]) == html.index('<details class="ask"') + len(
        '<details class="ask" id="'
    )
    alone = read(file="parent.sqlite", run=0, round=2, agent=3)
    assert "Asks of agent 3" in alone
    assert "Player 1, act" not in alone


def test_given_rounds_are_before_the_first_one(read: Ask, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    BertrandCompetition(n_rounds=3, communication=False, rng=1, recording=path).run_model()
    text = read(file=path, run=0, round=1)
    assert "Round 1" in text
    assert text.index("Price of Ed") < text.index("Technical columns")
    assert "price_1" not in text
    assert "Before the first round" in read(file=path, run=0, round=0)
    assert called(run_data(path, 0), 0) == "before the first round"


def test_what_is_found_leads_to_its_place(client: TestClient, read: Ask, folder: Path) -> None:
    n = int(Recorded(folder / "parent.sqlite").asks()["raw"].str.contains("rather not").sum())
    query = {"file": "parent.sqlite", "words": "rather not", "texts": "answers"}
    assert f"{n} places." in read("/find", **query)
    html = client.get(f"/recording/find?{urlencode(query)}").text
    assert "<mark>rather" in html
    for link in re.findall(r'<a href="(/recording\?[^"]*#[^"]*)"', html):
        page, _, anchor = unescape(link).partition("#")
        assert f'id="{anchor}"' in client.get(page).text
    query = {"file": "parent.sqlite", "words": "bold", "texts": "messages"}
    (first, *_) = re.findall(
        r'<a href="(/recording\?[^"]*#[^"]*)"',
        client.get(f"/recording/find?{urlencode(query)}").text,
    )
    page, _, anchor = unescape(first).partition("#")
    assert f'id="{anchor}"' in client.get(page).text
    assert "Nothing" not in read("/find", file="parent.sqlite", result="invalid")
    assert "0 places." in read("/find", file="parent.sqlite", words="nowhere")


def test_two_runs_stand_in_one_table_with_charts(client: TestClient, read: Ask) -> None:
    page = read(file="branches/fork.sqlite")
    assert "Its parent is chosen." in page
    query = {"file": "branches/fork.sqlite", "run": 0, "with": "parent.sqlite", "with_run": 0}
    text = read("/compare", **query)
    assert "The first to differ is round 3: mean pick" in text
    assert 'From round 3 on: condition = "cooperative"' in text
    html = client.get(f"/recording/compare?{urlencode(query)}").text
    assert "What differs" in text
    assert "Status" not in text, "both are finished"
    (chart, *_) = re.findall(r'<img class="lines" src="([^"]*)"', html)
    picture = client.get(unescape(chart))
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    same = {**query, "with": "branches/fork.sqlite"}
    assert "This is the same run" in read("/compare", 400, **same)


def test_pictures_of_a_run(client: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    Fishery(n_agents=2, n_rounds=2, rng=1, recording=path).run_model()
    html = client.get(f"/recording?file={path}&run=0").text
    pictures = re.findall(r'<img class="lines" src="([^"]*)"', html)
    assert pictures
    assert client.get(unescape(pictures[0])).content.startswith(b"\x89PNG")
    assert "Month" in html
    assert client.get(f"/recording/picture?file={path}&run=0&chart=none").status_code == 400


def test_a_recording_and_its_tables_are_downloaded(client: TestClient, folder: Path) -> None:
    path = folder / "parent.sqlite"
    assert client.get("/recording/data?file=parent.sqlite").content == path.read_bytes()
    table = client.get("/recording/data?file=parent.sqlite&name=asks")
    assert "parent-asks.csv" in table.headers["content-disposition"]
    rows = list(csv.DictReader(StringIO(table.text)))
    assert [row["raw"] for row in rows] == Recorded(path).asks()["raw"].tolist()
    assert client.get("/recording/data?file=parent.sqlite&name=texts").status_code == 400


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ({"file": "none.sqlite"}, "There is no recording"),
        ({"file": "~nosuchuser/x.sqlite"}, "There is no recording"),
        ({"file": "\0"}, "There is no recording"),
        ({"file": "a" * 300}, "There is no recording"),
        ({"file": __file__}, REFUSED),
        ({"file": "parent.sqlite", "run": 5}, "There is no run 5"),
        ({"file": "parent.sqlite", "run": "9" * 5000}, "no usable number for 'run'"),
        ({"file": "parent.sqlite", "run": 0, "round": 99}, "The run has no round 99."),
    ],
)
def test_what_cannot_be_opened_is_a_line(read: Ask, query: dict[str, Any], line: str) -> None:
    assert line in read("", 400, **query)


def test_a_recording_is_downloaded_with_what_is_in_its_log(
    client: TestClient, tmp_path: Path
) -> None:
    with Recording(tmp_path / "live.sqlite") as recording:
        KeynesianBeautyContest(n_players=3, n_rounds=2, rng=1, recording=recording).run_model()
        assert (tmp_path / "live.sqlite-wal").stat().st_size > 0
        file = client.get("/recording/data", params={"file": tmp_path / "live.sqlite"})
    assert 'filename="live.sqlite"' in file.headers["content-disposition"]
    (tmp_path / "copy.sqlite").write_bytes(file.content)
    assert Recorded(tmp_path / "copy.sqlite").runs()["status"].tolist() == ["finished"]


def test_a_recording_in_use_and_a_stopped_run(read: Ask, tmp_path: Path) -> None:
    path = tmp_path / "live.sqlite"
    with Recording(path) as recording:
        model = KeynesianBeautyContest(n_players=3, n_rounds=3, rng=1, recording=recording)
        model.step()
        assert "running" in read(file=path, run=0)
        assert "when its runs have ended" in read("/data", 400, file=path)
        model.close("stopped")
    text = read(file=path, run=0)
    assert "The run was stopped before its end. No answer is lost." in text
    assert f"sabm resume {path}" in text
    (one,) = listed(tmp_path)
    assert one.words.endswith("1 run (1 stopped)")


def test_a_game_that_was_cut_off_goes_on(client: TestClient, taken_up: TakenUp) -> None:
    answer = client.post("/recording/go-on?file=parent.sqlite&run=0", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/host")
    ((path, run),) = taken_up
    assert (path.name, run) == ("parent.sqlite", 0)


def test_a_game_of_several_groups_that_was_cut_off_goes_on(
    client: TestClient, taken_up: TakenUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "class.sqlite"
    with Recording(path) as recording:
        for seed in (1, 2):
            game = Game(
                KeynesianBeautyContest, minds="human", n_players=2, rng=seed, recording=recording
            )
            game.start()
            game.stop()
            assert game.join(30)
    page = client.get("/recording?file=class.sqlite").text
    (action,) = re.findall(r'action="(/recording/go-on[^"]*)"', page)
    client.post(unescape(action), follow_redirects=False)
    assert taken_up == [(path, 0)]


def test_a_recording_is_no_other_one_while_somebody_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    Fishery(n_rounds=1, rng=1, recording=path).run_model()
    before = stamp(path)
    with open_for_reading(path):
        assert stamp(path) == before
    assert stamp(path) == before
    Fishery(n_rounds=1, rng=2, recording=path).run_model()
    assert stamp(path) != before
    assert len(Recorded(path).runs()) == 2


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "recording.sqlite"
    make_good(path)
    return path


@pytest.fixture
def spoiled(good: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Makes a recording of a stranger."""

    def make(how: str) -> Path:
        spoil(good, tmp_path / "r.sqlite", how)
        return tmp_path / "r.sqlite"

    return make


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(how, marks=() if how in FAST else pytest.mark.slow)
        for how in (*WAYS, *OF_BYTES)
        if how != HUGE
    ],
)
def test_no_recording_of_a_stranger_ends_a_page_in_a_traceback(
    client: TestClient, spoiled: Callable[[str], Path], how: str
) -> None:
    path = str(spoiled(how))
    with_other = {"file": "parent.sqlite", "run": 0, "with": path, "with_run": 0}
    pages = [
        ("", {"file": path}), ("", {"file": path, "run": 0}), ("", {"file": path, "all": 1}),
        ("", {"file": path, "run": 0, "round": 1}), ("/find", {"file": path, "words": "a"}),
        ("/compare", with_other), ("/data", {"file": path, "name": "asks"}),
    ]  # fmt: skip
    responses = [client.get(f"/recording{page}?{urlencode(query)}") for page, query in pages]
    assert all(response.status_code in {200, 400} for response in responses)
    assert all("Traceback" not in response.text for response in responses)
    told = story(Path(path))
    assert "\n" not in told
    if how in FAST:
        assert any(REFUSED in response.text for response in responses)
        assert REFUSED in told


def test_a_pipe_with_the_name_of_a_recording_is_not_listed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r.sqlite")

    assert listed(tmp_path) == []


def story(path: Path) -> str:
    """The story of the first agent as it goes to the browser, or the line that is shown."""
    try:
        model = model_of(run_data(path, 0))
        told = model and story_of(Source(path, 0, model), 1, 1)
    except Exception as error:  # noqa: BLE001 - as on the page
        return error_line(error)
    return json.dumps(told, allow_nan=False)
