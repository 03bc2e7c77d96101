"""The languages of the class pages: their files, the language of a page, and no text in code."""

from __future__ import annotations

import ast
import copy
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from sabm_mesa import EmergencyEvacuation, RepeatedBeautyContest
from sabm_mesa.core.phrases import (
    LANGUAGES,
    Amount,
    Lines,
    Phrase,
    language_for,
    slug,
    texts_of,
    translated,
)
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.visualization.labels import (
    counting,
    title_of,
    titles_of,
)
from sabm_mesa.visualization.web.settings import read_link
from tests.visualization.test_play import Room

pytestmark = pytest.mark.check_once
SOURCE = Path(__file__).parents[2] / "sabm_mesa"
OTHERS = [language for language in LANGUAGES if language != "en"]


def forms(text: Any) -> dict[str, str]:
    return dict(text) if isinstance(text, dict) else {"many": text}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("language", OTHERS)
def test_all_languages_have_the_same_keys_and_placeholders(language: str) -> None:
    english, own = texts_of("en"), texts_of(language)

    assert own.keys() == english.keys()
    for key, text in english.items():
        for form, words in forms(own[key]).items():
            assert words, key
            assert form in {"one", "many"}, key
            assert placeholders(words) == placeholders(forms(text)["many"]), key


def test_a_phrase_is_english_until_it_is_looked_at() -> None:
    phrase = Phrase("contest.several_won", n=2, numbers=[20.5, 28.0])

    assert phrase == "2 players won with 20.5, 28."
    state = {"lines": [phrase, "as it is"], "n": 3, "both": Lines([phrase, "left: 1"])}
    german = translated(state, "de")
    assert german["lines"] == ["2 Personen haben mit 20,5, 28 gewonnen.", "as it is"]
    assert german["both"].endswith("\nleft: 1")
    assert Phrase("rounds.round", n=3).capitalize().in_("fr") == "Tour 3"
    counted = [Phrase("agents.count_player", n=n).in_("fr") for n in (0, 2)]
    assert counted == ["0 joueur", "2 joueurs"]
    assert [Amount(1234.5).in_(code) for code in ("en", "de", "ja")] == ["1,234", "1.234", "1,234"]
    for value in (phrase, phrase.capitalize(), Amount(0.5), state["both"]):
        assert translated(copy.deepcopy(value), "de") == translated(value, "de")


@pytest.mark.parametrize(
    ("asked", "accepted", "language"),
    [
        (None, None, "en"), ("", "", "en"), ("de", "fr", "de"), ("xx", "fr", "fr"),
        (None, "nl, es-MX;q=0.5, ja;q=0.8", "ja"), (None, "de;q=0, fr;q=0.1", "fr"),
        (None, "zh-Hans-CN", "zh"), ("DE-at", None, "de"), (None, ";;q=,\0", "en"),
    ],
)  # fmt: skip
def test_the_address_asks_first_then_the_browser(
    asked: str | None, accepted: str | None, language: str
) -> None:
    assert language_for(asked, accepted) == language


def test_the_link_of_a_lesson_may_name_the_language_of_the_class() -> None:
    linked = read_link("game=bertrand&lang=de", SCENARIOS)
    assert (linked.problem, linked.values) == ("", {"lang": "de"})


@pytest.mark.parametrize("name", SCENARIOS)
def test_titles_of_a_scenario_are_in_the_files_as_the_viewer_has_them(name: str) -> None:
    model, english = scenario(name)(recording=False), texts_of("en")
    titles = titles_of(model)
    noun = slug(counting(model)[0])

    assert isinstance(title_of(model), Phrase)
    assert title_of(model) == model.title
    columns = {c for kind in model.agent_classes() for c in model.columns_of(kind)}
    for column in (*model.columns(), *columns):
        assert isinstance(titles.localized(column), Phrase), column
        assert titles.localized(column) == titles[column]
    for key in (f"{noun}", f"before_{noun}", f"noun_{noun}"):
        assert f"rounds.{key}" in english
    for kind in model.agent_classes():
        assert f"agents.{slug(kind.__name__)}" in english
        assert f"agents.count_{slug(kind.__name__)}" in english
    if model.score is not None:
        assert f"scores.{slug(model.score.label)}" in english


def test_reasons_of_a_refusal_are_those_of_the_prompts() -> None:
    prompts = tomllib.loads((SOURCE / "core" / "answers.toml").read_text(encoding="utf-8"))
    templates = prompts["answers"]["reasons"].items()
    known = {name: re.sub(r"{{ (\w+) }}", r"{\1}", template) for name, template in templates}
    own = {k.removeprefix("reasons."): v for k, v in texts_of("en").items() if "reasons." in k}

    assert own
    assert own.items() <= known.items()


def test_a_phone_reads_its_language_from_the_code_to_the_question() -> None:
    room = Room(RepeatedBeautyContest, n=None, n_players=2)
    ann = room.browser("ann")
    page = ann.get("/join", headers={"accept-language": "fr-CH, en;q=0.5"})
    assert '<html lang="fr"' in page.text
    assert "Prendre une place" in page.text
    assert "nonce-" in page.headers["content-security-policy"]
    assert '<html lang="ja"' in ann.get("/join?lang=ja", headers={"accept-language": "fr"}).text
    wrong = ann.post("/join?lang=de", json={"code": "AAAAAA"}).json()
    assert wrong["problem"].startswith("Kein Spiel")

    given = {"code": room.session.code}
    first, again = (ann.post("/join?lang=de", json=given).json() for _ in range(2))
    assert (first["again"], again) == (False, {"path": first["path"], "again": True})
    path = first["path"]
    room.session.start()
    seat = room.game.seats[1]
    while seat.question is None:
        seat.wait(seat.version)
    german = ann.get(f"{path}/state?lang=de").json()
    assert german["title"] == "Wiederholter Schönheitswettbewerb"
    assert german["question"]["inputs"][0]["label"] == "Zahl von 0 bis 100"
    assert german["question"]["text"].endswith("Welche Zahl wählst du?")
    content = {"question": 0, "values": {"": "101"}}
    refused = ann.post(f"{path}/answer?lang=es", json=content).json()
    assert refused["problem"] == '"101" no está entre 0 y 100.'
    spanish = ann.get(f"{path}/state", headers={"accept-language": "es"}).json()
    assert spanish["who"] == "Eres Jugador 1 de 2."
    room.game.stop()


def test_an_exit_keeps_its_name_and_is_read_in_the_language_of_the_phone() -> None:
    settings = {"n_people": 2, "communication": False, "stand_in": "classical"}
    room = Room(EmergencyEvacuation, n=None, **settings)
    ann = room.browser("ann")
    path = ann.post("/join", json={"code": room.session.code}).json()["path"]
    room.session.start()
    seat, version = room.game.seats[1], -1
    while seat.question is None:
        version = seat.wait(version)
    asked = {code: ann.get(f"{path}/state?lang={code}").json()["question"] for code in ("en", "de")}
    room.game.stop()
    (english,), (german,) = (each["inputs"] for each in asked.values())
    assert (
        english["options"] == german["options"] == english["words"] == ["left", "bottom", "right"]
    )
    assert german["words"] == ["left (links)", "bottom (unten)", "right (rechts)"]
    assert "right (rechts): " in asked["de"]["text"]


VIEWER = SOURCE / "visualization"
CLASS_PAGES = [
    *(VIEWER / "web" / f"{name}.py" for name in ("play", "debrief", "wall")),
    *sorted((SOURCE / "models").rglob("class_game.py")),
    SOURCE / "models" / "beauty_contest" / "round_sentences.py",
]
SCRIPTS = [
    *(
        VIEWER / "web" / name
        for name in ("play.js", "play.html", "drawing.js", "wall.js", "wall.html", "results.html")
    ),
    VIEWER / "viewer" / "world.vue",
]
TWO_WORDS = re.compile(r"(?<![\w\-/.])[A-Za-z]{2,}[,.:;?!]? [A-Za-z]{2,}(?![\w\-/])")
ONE_WORD = re.compile(r"[A-Z][a-z]+[.:?!]?")
MARKUP = re.compile(r'[<>="{};]')


NO_TEXTS = {
    "a word of ", "light dark", "input, textarea, select", "use strict", "Enter",
    "sabm view --host 0.0.0.0",
}  # fmt: skip
"""A name of guesses, a setting of a page, elements, a rule for a script, a key, and a command."""


def is_prose(text: str) -> bool:
    """Whether it reads like a text for people, and not like markup, a key or a name."""
    words = TWO_WORDS.search(text) or ONE_WORD.fullmatch(text.strip())
    return bool(words) and not MARKUP.search(text) and text not in NO_TEXTS


def texts_in_python(source: str) -> Iterator[str]:
    """The strings of a module but for docstrings, errors, logs and annotations."""
    tree = ast.parse(source)
    left_out: set[int] = set()
    for node in ast.walk(tree):
        told = isinstance(node, ast.Call) and ast.unparse(node.func).startswith("_log.")
        if isinstance(node, ast.Raise) or told:
            left_out |= {id(part) for part in ast.walk(node)}
        elif isinstance(node, ast.Expr):
            left_out.add(id(node.value))
        elif isinstance(node, ast.arg) and node.annotation:
            left_out |= {id(part) for part in ast.walk(node.annotation)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and id(node) not in left_out:
            yield text


def texts_in_script(source: str) -> Iterator[str]:
    """The strings of a script, and the texts and labels of markup."""
    left_out = (
        r"(?s)<style>.*?</style>|/\*.*?\*/",
        r"(?m)^\s*//.*$",
        r'(?:v-[\w-]+|[:@][\w-]+)="[^"]*"',  # bound attributes are code
    )
    code = source
    for pattern in left_out:
        code = re.sub(pattern, "", code)
    yield from re.findall(r'"([^"\n]*)"', code)
    yield from (re.sub(r"\$\{[^}]*\}", "|", text) for text in re.findall(r"`([^`]*)`", code))
    yield from re.findall(r">\s*([^<>{}`\"=;]+?)\s*</", code.partition("<script>")[0])


@pytest.mark.parametrize("path", CLASS_PAGES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_text_for_people_stands_in_the_code_of_a_class_page(path: Path) -> None:
    assert [text for text in texts_in_python(path.read_text("utf-8")) if is_prose(text)] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_text_for_people_stands_in_a_script_of_a_class_page(path: Path) -> None:
    assert [text for text in texts_in_script(path.read_text("utf-8")) if is_prose(text)] == []
