"""Pictures in observations: what is one, and where it stands in a prompt."""

import hashlib
import io
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from sabm_mesa import Observation, Picture
from sabm_mesa.core.images import described, split
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.errors import ParameterError


def drawn(width: float = 1.0, height: float = 0.5) -> bytes:
    """The PNG file of an empty figure, in inches at 100 pixels."""
    buffer = io.BytesIO()
    with mpl.rc_context({"savefig.bbox": None}):
        Figure((width, height), dpi=100).savefig(buffer, format="png")
    return buffer.getvalue()


def large() -> bytes:
    """A PNG file with a long comment before its end."""
    text = b"tEXt" + bytes(3 * 2**20)
    chunk = (len(text) - 4).to_bytes(4) + text + zlib.crc32(text).to_bytes(4)
    return drawn()[:-12] + chunk + drawn()[-12:]


@dataclass(frozen=True, slots=True)
class Map(Observation):
    """A map, and a number."""

    view: Picture
    exits: int


BOOK = PromptBook(Path(__file__).with_name("tiny.toml"))


def placeholders(seen: Observation, book: PromptBook = BOOK) -> dict[str, Any]:
    return seen.placeholders(book)


def test_a_picture_knows_its_size_and_its_hash() -> None:
    png = drawn()
    picture = Picture(png, "An empty\n  room.")

    assert picture.size == (100, 50)
    assert picture.sha256 == hashlib.sha256(png).hexdigest()
    assert picture.mark == f"⟦picture {picture.sha256}: An empty room.⟧"


def test_a_picture_is_a_placeholder_that_minds_without_eyes_read_as_a_text() -> None:
    picture = Picture(drawn(), "Two exits, one of them blocked.")
    prompt = f"The map: {placeholders(Map(picture, 2))['view']} Which exit?"

    assert described(prompt, [picture]) == "The map: Two exits, one of them blocked. Which exit?"
    assert split(prompt, [picture]) == ["The map: ", picture, " Which exit?"]


def test_several_pictures_stand_where_their_marks_are() -> None:
    one, two = Picture(drawn(1), "One."), Picture(drawn(2), "Two.")

    assert split(f"{two.mark}{one.mark}", [one, two]) == [two, one]
    assert split("No mark", [one]) == ["No mark"]


def test_a_mark_that_others_wrote_is_no_picture() -> None:
    one, two = Picture(drawn(1), "One."), Picture(drawn(2), "Two.")

    assert split(f"Ann wrote {two.mark}", [one]) == [f"Ann wrote {two.mark}"]


@pytest.mark.parametrize(
    ("png", "text", "reason"),
    [
        (b"GIF89a", "A room.", "content of a PNG file"),
        ("map.png", "A room.", "content of a PNG file"),
        (drawn()[:20], "A room.", "cut off or damaged"),
        (drawn()[:-1], "A room.", "cut off or damaged"),
        (drawn().replace(b"IDAT", b"IDAS"), "A room.", "cut off or damaged"),
        (large(), "A room.", "at most 3 MiB"),
        (drawn(90), "A room.", "8,000 pixels a side"),
        (drawn(), " ", "needs a text"),
    ],
)
def test_what_no_server_takes_is_refused(png: Any, text: str, reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        Picture(png, text)
