"""Nothing that a model, a server, a file or an argument says can control the terminal."""

import json
from pathlib import Path

import pytest

from sabm_mesa import KeynesianBeautyContest, ScriptedMind
from sabm_mesa.cli.app import say
from sabm_mesa.cli.progress import Progress
from sabm_mesa.cli.report import deliver
from sabm_mesa.errors import MindError, SabmError, UnknownName
from sabm_mesa.recording.export import readable_json
from sabm_mesa.runs.run import run_models

from .support import Sabm, one_line

CODES = "a\x1b[31mb\x07c\x9b2Jd\u202ee\u200bf\x7fg\r\nh\ud800i\U000e0041j"
CLEAN = "a [31mb c 2Jd e f g h i j"


def is_harmless(text: str) -> bool:
    return all(sign == "\n" or sign.isprintable() for sign in text)


def test_an_error_is_one_printable_line() -> None:
    assert str(SabmError(CODES)) == CLEAN
    assert is_harmless(str(UnknownName("scenario", CODES, [CODES])))


def test_what_is_said_keeps_its_lines_and_loses_its_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say(f"{CODES}\ntwo")
    out = capsys.readouterr().out
    assert is_harmless(out)
    assert out.split() == [*CLEAN.split(), "two"]


def test_json_holds_codes_as_escapes_and_loses_nothing() -> None:
    text = readable_json({CODES: [CODES]})
    assert is_harmless(text)
    assert json.loads(text) == {CODES: [CODES]}
    assert "×–é" in readable_json("×–é")


@pytest.mark.parametrize("as_object", [False, True])
def test_a_report_with_codes_in_every_text(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, as_object: bool
) -> None:
    class Hostile(KeynesianBeautyContest):
        title = CODES
        plots = ""

    def answer(ask):
        return CODES if ask.name == "communicate" else f"{CODES}\n5"

    mind = ScriptedMind(answer)
    mind.spec = CODES.replace("\ud800", "")  # which no table of data can hold
    model = Hostile(n_players=2, n_rounds=2, rng=1, minds=mind, recording=False)
    deliver(run_models([model]), tmp_path, None, as_json=as_object, first_lines=[CODES])
    captured = capsys.readouterr()
    assert captured.out
    assert is_harmless(captured.out + captured.err)
    assert is_harmless((tmp_path / "summary.json").read_text("utf-8"))


def test_the_progress_bar_shows_a_name_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("[red]\x1b[31mkbc", 2) as progress:
        (task,) = progress._bar.tasks  # noqa: SLF001
        assert task.description == "[red] [31mkbc, 2 runs"
    del capsys


def test_a_forced_colour_is_no_terminal_for_the_progress_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in Jupyter
    with Progress("kbc", 2):
        pass
    assert not capsys.readouterr().err


def test_the_progress_bar_counts_the_rounds_of_ended_and_unplayed_runs() -> None:
    ended, unplayed = (KeynesianBeautyContest(n_players=2, n_rounds=3, rng=1) for _ in range(2))
    ended.run_model()
    progress = Progress("kbc", 2)

    progress.show([ended, unplayed])

    (task,) = progress._bar.tasks  # noqa: SLF001
    assert (task.completed, task.total) == (3, 6)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", CODES.replace("\ud800", "")],
        ["run", "kbc", "--set", "\x1b[31mn_players=3"],
        ["run", "kbc", "--minds", "llm:\x1b[31m@\x9b"],
        ["run", "kbc", "--\x1b[31mnonsense"],
        ["describe", "\x1b]0;title\x07"],
        ["export", "\x1b[31m.sqlite", "--json"],
    ],
)
def test_an_error_of_the_command_line_is_harmless(sabm: Sabm, arguments: list[str]) -> None:
    outcome = sabm(*arguments)
    assert outcome.status in (1, 2)
    assert is_harmless(outcome.err + outcome.out)
    if "Usage:" not in outcome.err:
        one_line(outcome)


def test_what_a_mind_raises_is_harmless() -> None:
    def fail(_ask):
        raise ValueError(CODES)

    model = KeynesianBeautyContest(n_players=2, rng=1, minds=ScriptedMind(fail), recording=False)
    with pytest.raises(MindError) as caught:
        model.run_model()
    assert is_harmless(str(caught.value))
