"""Pictures for models that see, and texts for those that do not."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sabm_mesa import Choice, Observation, Picture, SmartAgent, SmartModel, action, fork, replay
from sabm_mesa.errors import PromptError
from sabm_mesa.llm import close_all
from sabm_mesa.llm.budget import most_of
from sabm_mesa.llm.dialect import Dialect
from sabm_mesa.recording.writing import pictures_of
from tests.core.test_images import drawn
from tests.llm.support import ask, rows
from tests.llm_server import LLMServer
from tests.llm_server.dialects import openai_error

ROOM = Picture(drawn(), "A room with an exit on the left.")


@dataclass(frozen=True, slots=True)
class View(Observation):
    """The view of a visitor."""

    view: Picture


class Visitor(SmartAgent):
    """Leaves a room."""

    way = ""

    async def act(self) -> Any:
        return await self.ask("act", Choice(("left", "right")), View(ROOM, persona=self.persona))


class Room(SmartModel):
    """One visitor."""

    scenario_name = "room"
    prompt_file = Path(__file__).with_name("room.toml")
    phases = (action(order="fixed"),)
    agent_columns = {"way": "way"}  # noqa: RUF012

    def __init__(self, n_rounds: int = 1, **settings: Any) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.visitors = self.populate(Visitor, 1)

    def after_act(self, visitor: Visitor, decision: Any) -> None:
        visitor.way = decision.value or ""


def played(
    tmp_path: Path, brain: Any, rounds: int = 1, **settings: Any
) -> tuple[Room, LLMServer, Path]:
    path = tmp_path / "room.sqlite"
    with LLMServer(brain=brain, **settings) as server:
        model = Room(n_rounds=rounds, minds=f"llm:stub@{server.url}", rng=1, recording=path)
        model.run_model()
        model.close()
        close_all()
    return model, server, path


def test_a_model_that_sees_is_sent_the_picture_in_its_place(tmp_path: Path) -> None:
    model, server, _ = played(tmp_path, lambda _m, _b: "Answer: left")
    (seen,) = server.requests
    before, image, after = seen.body["messages"][-1]["content"]

    assert model.visitors[0].way == "left"
    assert before == {"type": "text", "text": "This is the room: "}
    url = f"data:image/png;base64,{ROOM.base64}"
    assert image == {"type": "image_url", "image_url": {"url": url}}
    assert after["text"].startswith(" Where do you go?")
    assert "pictures" not in seen.body
    assert isinstance(seen.body["messages"][0]["content"], str)


def test_the_recording_has_the_hash_and_the_file_beside_it(tmp_path: Path) -> None:
    _, _, path = played(tmp_path, lambda _m, _b: "Answer: left", rounds=2)
    kept = pictures_of(path) / f"{ROOM.sha256}.png"
    texts = [text for (text,) in rows(path, "SELECT text FROM texts")]

    assert kept.read_bytes() == ROOM.png
    assert [file.name for file in kept.parent.iterdir()] == [kept.name]
    assert any(ROOM.mark in text for text in texts)
    assert any(f'"pictures":["{ROOM.sha256}"]' in text for text in texts)
    assert not any(ROOM.base64 in text for text in texts)
    (again,) = replay(path, scenario=Room).models
    assert again.visitors[0].way == "left"


def test_a_model_that_turns_out_not_to_see_reads_the_text(tmp_path: Path) -> None:
    def blind(body: Mapping[str, Any]) -> tuple[int, Any] | None:
        if isinstance(body["messages"][-1]["content"], list):
            return 400, openai_error(REFUSALS["OpenAI"][1], None, None)
        return None

    model, server, path = played(tmp_path, lambda _m, _b: "Answer: right", rounds=2, dialect=blind)
    first, *others = server.requests

    assert model.visitors[0].way == "right"
    assert isinstance(first.body["messages"][-1]["content"], list)
    assert len(others) == 2, "the second round meets no refusal"
    assert (
        "room: A room with an exit on the left. Where" in others[0].body["messages"][-1]["content"]
    )
    texts = [text for (text,) in rows(path, "SELECT text FROM texts")]
    assert any('"asked"' in text and '"sent":{}' in text for text in texts)


REFUSALS = {
    "OpenAI": (400, "Invalid content type. image_url is only supported by certain models."),
    "llama.cpp": (500, "image input is not supported - hint: you may need to provide the mmproj"),
    "DeepSeek": (422, "unknown variant `image_url`, expected `text`"),
    "vLLM": (400, "my-model is not a multimodal model"),
    "OpenRouter": (404, "No endpoints found that support image input"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_words_with_which_servers_refuse_pictures_are_known(name: str) -> None:
    status, message = REFUSALS[name]
    dialect = Dialect("here", "m")
    asked = {"pictures": (ROOM,), "temperature": 0.5}

    assert dialect.learn(asked, status, {"error": {"message": message}}) == "pictures"
    assert dialect.mend(asked) == {"temperature": 0.5}


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "You uploaded an unsupported image. Please make sure your image is valid."),
        (400, "Could not process image"),
        (404, "The model `gpt-4-vision-preview` does not exist or you do not have access to it."),
        (500, "Internal error while downloading image"),
    ],
)
def test_a_fault_of_one_picture_or_name_is_no_dialect(status: int, message: str) -> None:
    dialect = Dialect("here", "m")

    assert dialect.learn({"pictures": (ROOM,)}, status, {"error": {"message": message}}) == ""


def test_a_picture_in_the_scenario_entry_is_refused(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.toml"
    prompts.write_text(
        '[prompts]\nscenario = "You see {{ view }}. {{ persona }}"\nact = "Go? {{ form }}"\n'
    )

    class Seen(Room):
        scenario_name = "seen"
        prompt_file = prompts

    with pytest.raises(PromptError, match="A picture stands in the prompt entry 'scenario'"):
        Seen(minds="llm:stub@http://127.0.0.1:9", recording=False).run_model()


def test_a_fork_takes_the_pictures_along(tmp_path: Path) -> None:
    _, _, path = played(tmp_path, lambda _m, _b: "Answer: left", rounds=2)
    fork(path, 1, {"minds": "fixed:right"}, tmp_path / "branch.sqlite", scenario=Room)

    copied = pictures_of(tmp_path / "branch.sqlite") / f"{ROOM.sha256}.png"
    assert copied.read_bytes() == ROOM.png


def test_a_classical_mind_reads_the_observation() -> None:
    model = Room(minds="fixed:left", rng=1)
    model.run_model()

    assert model.visitors[0].way == "left"


def test_a_picture_counts_among_the_tokens_that_a_cap_allows() -> None:
    plain, seeing = ask(), ask(pictures=(ROOM,))

    assert most_of([], 9, None, pictures=(ROOM,)).prompt_tokens == 8500
    assert plain.digest() == ask(pictures=None).digest() != seeing.digest()
    assert seeing.digest() == ask(pictures=(Picture(ROOM.png, "Other words."),)).digest()
