"""Minds in GGUF files: what is refused before anything runs, and how the file is asked.

The library is stood in for here (`llama_stand_in`); tests/integration has the real one.
"""

import asyncio
import hashlib
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Budget, Connection, KeynesianBeautyContest, fork, replay, resume
from sabm_mesa.core import engine
from sabm_mesa.errors import (
    BadRequest,
    BudgetExceeded,
    ParameterError,
    RecordingError,
    RunError,
    SabmError,
)
from sabm_mesa.llm import close_all, connect_file
from sabm_mesa.llm.gguf_client import BATCH, CONTEXT, GGUFClient
from sabm_mesa.llm.prices import IN_A_FILE, PriceTable
from sabm_mesa.llm.thinking import THOUGHTS
from sabm_mesa.minds.specs import language_model
from tests.cli.support import Sabm, one_line
from tests.llm.support import ask, outcomes, rows
from tests.minds import llama_stand_in


@pytest.fixture
def sabm(capsys: pytest.CaptureFixture[str]) -> Sabm:
    return Sabm(capsys)


@pytest.fixture
def llamas(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The models that are loaded, by a library that is stood in for."""
    loaded: list[Any] = []
    monkeypatch.setattr(llama_stand_in.Llama, "loaded", loaded, raising=False)
    monkeypatch.setitem(sys.modules, "llama_cpp", llama_stand_in)
    return loaded


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    path.write_bytes(b"GGUF")
    return path


def contest(minds: Any, recording: Path | bool = False, **settings: Any) -> KeynesianBeautyContest:
    given = {"n_players": 3, "n_rounds": 2, "rng": 1, "answer_format": "json"} | settings
    return KeynesianBeautyContest(minds=minds, recording=recording, **given)


def played(model: KeynesianBeautyContest) -> KeynesianBeautyContest:
    model.run_model()
    return model


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "Cannot read the model {}/x.gguf (No such file or directory): give the path"),
        (b"PK\x03\x04", "{}/x.gguf is no GGUF file: download the model in the format GGUF"),
        (b"", "{}/x.gguf is no GGUF file"),
        (b"GGUFbroken", "llama.cpp cannot load {}/x.gguf (Failed to load model from file"),
    ],
)
@pytest.mark.usefixtures("llamas")
def test_a_file_that_is_none_is_refused_before_anything_runs(
    sabm: Sabm, tmp_path: Path, content: bytes | None, says: str
) -> None:
    path = tmp_path / "x.gguf"
    if content is not None:
        path.write_bytes(content)

    outcome = sabm("run", "kbc", "--minds", f"gguf:{path}", "--out", tmp_path / "out")

    assert outcome.status == 2
    assert one_line(outcome).startswith(says.format(tmp_path))
    assert not (tmp_path / "out").exists()


def test_without_the_library_one_line_says_how_to_get_it(
    sabm: Sabm, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)  # not to be imported

    outcome = sabm("run", "kbc", "--minds", f"gguf:{file}", "--out", file.parent / "out")

    assert outcome.status == 2
    assert "pip install 'sabm-mesa[local]'" in one_line(outcome)
    assert not (file.parent / "out").exists()


def test_a_library_that_is_there_and_broken_is_told_of(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file.parent / "llama_cpp.py").write_text("raise RuntimeError('libgomp.so.1 is missing')\n")
    monkeypatch.delitem(sys.modules, "llama_cpp", raising=False)
    monkeypatch.syspath_prepend(file.parent)

    with pytest.raises(ParameterError, match=r"cannot be loaded \(libgomp\.so\.1 is missing\)"):
        contest(f"gguf:{file}")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Is a directory"):
        contest(f"gguf:{tmp_path}")
    with pytest.raises(ParameterError, match=r"~no-such-user/x\.gguf \(No such file"):
        contest("gguf:~no-such-user/x.gguf")


def test_the_file_is_loaded_once_and_asked_one_after_another(llamas: list[Any], file: Path) -> None:
    first = played(contest(f"gguf:{file}", n_players=6))
    played(contest({f"gguf:{file}": 2, "classical": 4}, n_players=6))

    (llama,) = llamas
    assert first.total.asks == 18
    assert len(llama.threads) == 1
    assert len(llama.asked) == 24
    close_all()
    assert llama.closed
    assert connect_file(file)[1] == (
        f"small.gguf, 4 bytes, sha256 {hashlib.sha256(b'GGUF').hexdigest()}"
    )
    assert len(llamas) == 2


def test_what_is_asked(llamas: list[Any], file: Path) -> None:
    played(
        contest(
            f"gguf:{file}", n_players=2, n_rounds=1, max_tokens=None, temperature=0.5, top_p=0.9
        )
    )
    played(
        contest(
            f"gguf:{file}",
            n_players=2,
            n_rounds=1,
            temperature=None,
            top_p=None,
            max_tokens=7,
            answer_format="paper",
        )
    )

    (llama,) = llamas
    given, plain = llama.asked[0], llama.asked[2]
    assert [message["role"] for message in given["messages"]] == ["system", "user"]
    assert (given["temperature"], given["top_p"], given["max_tokens"]) == (0.5, 0.9, 4096)
    form = given["response_format"]
    assert form["type"] == "json_object"
    assert form["schema"]["properties"]["answer"] == {
        "type": "integer", "minimum": 0, "maximum": 100,
    }  # fmt: skip
    assert set(plain) == {"messages", "max_tokens", "model", "seed"}
    assert plain["max_tokens"] == 7


def test_each_question_has_a_seed_of_its_own_and_a_run_repeats(
    llamas: list[Any], file: Path
) -> None:
    first = played(contest(f"gguf:{file}")).agent_frame()
    again = played(contest(f"gguf:{file}")).agent_frame()
    other = played(contest(f"gguf:{file}", rng=2)).agent_frame()

    seeds = [asked["seed"] for asked in llamas[0].asked]
    n = len(seeds) // 3
    assert len(set(seeds[:n])) == n
    assert seeds[:n] == seeds[n : 2 * n]
    assert not set(seeds[:n]) & set(seeds[2 * n :])
    assert all(0 <= seed < 2**32 - 1 for seed in seeds)
    assert first.equals(again)
    assert not first.equals(other)


def test_answers_are_recorded_with_the_identity_of_the_file_and_cost_nothing(
    llamas: list[Any], file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "r.sqlite"
    model = played(contest(f"gguf:{file}", path))

    asked = len(llamas[0].asked)
    identity = f"small.gguf, 4 bytes, sha256 {hashlib.sha256(b'GGUF').hexdigest()}"
    found = rows(path, "SELECT served_model, cost_usd, prompt_tokens, completion_tokens FROM asks")
    assert found == [(identity, 0.0, 20, 3)] * asked
    ((versions,),) = rows(path, "SELECT versions FROM runs")
    assert json.loads(versions)[f"gguf:{file}"] == hashlib.sha256(b"GGUF").hexdigest()
    assert model.total.cost_usd == 0.0
    assert model.total.prompt_tokens == 20 * asked


def test_a_recording_is_replayed_without_file_and_library(
    llamas: list[Any], file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.sqlite"
    model = played(contest(f"gguf:{file}", path))
    close_all()
    file.unlink()
    monkeypatch.setitem(sys.modules, "llama_cpp", None)

    (again,) = replay(path).models

    assert again.agent_frame().equals(model.agent_frame())
    assert len(llamas) == 1


def test_a_run_goes_on_with_the_same_file_only(
    llamas: list[Any], file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "r.sqlite"
    capped = Connection(budget=Budget(max_asks=4))
    with pytest.raises(BudgetExceeded):
        played(contest(f"gguf:{file}", path, connection=capped))
    whole = played(contest(f"gguf:{file}"))
    close_all()
    file.write_bytes(b"GGUF, and something else")
    with pytest.raises(RecordingError, match=r"was answered by another gguf:.*put that file back"):
        resume(path, connection=Connection())
    close_all()
    file.unlink()
    with pytest.raises(ParameterError, match="No such file"):
        resume(path, connection=Connection())
    file.write_bytes(b"GGUF")
    (done,) = resume(path, connection=Connection()).models

    assert done.agent_frame().equals(whole.agent_frame())
    assert len(llamas[-1].asked) == whole.total.asks - 4


def test_a_fork_asks_the_file_from_its_round_on(
    llamas: list[Any], file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "r.sqlite"
    played(contest("classical", path, n_rounds=3))
    (model,) = fork(path, 2, {"minds": f"gguf:{file}"}, tmp_path / "f.sqlite").models

    assert len(llamas[0].asked) == 6
    frame = model.agent_frame()
    assert set(frame.loc[frame["round"] == 2, "mind"]) == {f"gguf:{file}"}
    assert set(frame.loc[frame["round"] < 2, "mind"]) == {"classical"}


def test_a_prompt_that_does_not_fit_is_an_error_with_the_number(
    llamas: list[Any], file: Path
) -> None:
    client, _ = connect_file(file)
    failed, fine = outcomes(client, [ask("x" * (CONTEXT + 1), seed=1), ask(seed=2)])

    assert isinstance(failed, BadRequest)
    assert "Requested tokens exceed context window" in str(failed)
    assert str(CONTEXT) in str(failed)
    assert fine.text == '{"answer": 2}'
    assert llamas[0].n_ctx == CONTEXT


def test_of_the_prompt_before_whole_batches_are_kept(llamas: list[Any], file: Path) -> None:
    client, _ = connect_file(file)
    texts = ["x" * 300, "x" * 290 + "y" * 10, "x" * 290, "x" * 257, "x" * 256, "x" * 127 + "z", "z"]
    failing = ["z" * 300, "z" * (CONTEXT + 1), "z" * 300]
    for text in texts + failing:
        outcomes(client, [ask(text, seed=1)])

    assert BATCH == 128
    assert llamas[0].kept == [0, 256, 256, 256, 128, 0, 0, 0, 256]


@pytest.mark.usefixtures("llamas")
def test_thoughts_are_no_part_of_the_answer(file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"GGUF<think>\nWell, 5?\n</think>\n\n")
    path = tmp_path / "r.sqlite"
    model = played(contest(f"gguf:{file}", path, n_rounds=1))

    assert model.total.invalid == 0
    thoughts = "SELECT DISTINCT thoughts, min(raw LIKE '{%'), min(completion_tokens) FROM asks"
    assert rows(path, thoughts) == [("Well, 5?", 1, 3)]


def test_a_run_that_goes_on_has_the_room_for_thoughts_that_it_had(
    llamas: list[Any], file: Path, tmp_path: Path
) -> None:
    file.write_bytes(b"GGUFthinks")
    path = tmp_path / "r.sqlite"
    capped = Connection(budget=Budget(max_asks=5))
    given = {"n_rounds": 2, "max_tokens": 50}
    with pytest.raises(BudgetExceeded):
        played(contest(f"gguf:{file}", path, connection=capped, **given))
    # The first questions are asked at once, without room for thoughts.
    limits = [each["max_tokens"] for each in llamas[0].asked]
    assert (limits[0], limits[-1]) == (50, 50 + THOUGHTS)
    ((told,),) = rows(path, "SELECT text FROM asks JOIN texts ON texts.id = provenance LIMIT 1")
    assert json.loads(told)["asked"]["max_tokens"] == 50
    close_all()

    resume(path, connection=Connection())

    assert {each["max_tokens"] for each in llamas[-1].asked} == {50 + THOUGHTS}


def test_a_run_that_is_stopped_leaves_no_answer_being_written(
    llamas: list[Any], file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sabm_mesa.llm.in_flight.FinishInFlightClient.__init__.__defaults__", (0.05,)
    )
    file.write_bytes(b"GGUFendless")
    model = contest(f"gguf:{file}", tmp_path / "r.sqlite")
    ended: list[SabmError] = []

    def play() -> None:
        try:
            model.run_model()
        except RunError as error:
            ended.append(error)

    thread = threading.Thread(target=play)
    thread.start()
    (llama,) = llamas
    assert llama.writing.wait(60)
    model.stop()
    thread.join(60)

    assert "stopped" in str(ended[0])
    close_all()  # returns, since the endless answer was given up
    assert llama.closed
    assert len(llama.asked) == 1


def test_a_model_in_a_file_is_a_language_model_whose_price_is_known() -> None:
    assert language_model("gguf:a/b.gguf") == "gguf:a/b.gguf"
    assert language_model("gguf:") == ""
    assert IN_A_FILE == "gguf:"
    price = PriceTable().of("gguf:a/b.gguf")
    assert price is not None
    assert price.cost(1000, 0, 1000) == 0.0


def test_a_budget_in_dollars_can_be_kept(llamas: list[Any], file: Path) -> None:
    budget = Budget(max_usd=0.0)
    played(contest(f"gguf:{file}", connection=Connection(budget=budget)))

    assert budget.spent.cost_usd == 0.0
    assert budget.spent.asks == len(llamas[0].asked)


def test_an_estimate_costs_nothing_and_needs_no_file(sabm: Sabm) -> None:
    outcome = sabm("cost", "kbc", "--minds", "gguf:nowhere.gguf")

    assert outcome.status == 0
    (total,) = [line for line in outcome.out.splitlines() if line.startswith("in all")]
    assert total.split()[-1] == "0"


def test_seeds_are_of_the_request_and_older_digests_stay() -> None:
    plain = ask()

    assert plain.digest() != ask(seed=1).digest() != ask(seed=2).digest()
    assert plain.digest() == "e108817d42f926746b1e51aefe35a6cfdec3f6ff14b3322757000ef73f650003"


def test_the_loop_is_free_while_the_model_writes_and_a_cancelled_answer_ends(
    llamas: list[Any], file: Path
) -> None:
    file.write_bytes(b"GGUFendless")
    client = GGUFClient(file)
    (llama,) = llamas

    async def work() -> None:
        asking = asyncio.ensure_future(client.complete(ask(seed=1)))
        assert await asyncio.to_thread(llama.writing.wait, 60)  # the loop goes round meanwhile
        asking.cancel()
        await asyncio.wait({asking})
        assert asking.cancelled()
        await client.close()  # returns, since nothing is written any more

    engine.run(work())
    assert llama.closed
