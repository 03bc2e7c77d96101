"""Messages: pairs that talk in private, and a word to all."""

from pathlib import Path
from typing import ClassVar

import pandas as pd
import pytest

from sabm_mesa import Phase, ScriptedMind, SmartAgent, SmartModel, Text
from sabm_mesa.errors import RunError
from sabm_mesa.models.registry import scenario
from sabm_mesa.recording.frames import Recorded
from sabm_mesa.runs.rerun import replay
from sabm_mesa.visualization.scenario_view import ModelView, ScenarioView
from tests.core.support import Waiting


class Whisperer(SmartAgent):
    """One of a pair."""

    partner: "Whisperer"

    async def whisper(self):
        """Whisper to the partner."""
        return await self.ask("whisper", Text(max_words=20), talk=self.overheard())

    async def shout(self):
        """Shout to all."""
        return await self.ask("shout", Text(max_words=20), talk=self.overheard())

    def overheard(self):
        """All that it has said or heard in this round."""
        lines = [f"{each.sender}: {each.text}" for each in self.conversation()]
        return " / ".join(lines)


def pair(_model, agent):
    """Return the partner."""
    return [agent.partner]


class Whispers(SmartModel):
    """Pairs that whisper twice in turn, and then all shout in a fixed order."""

    scenario_name = "whispers"
    title = "Whispers"
    source = "none"
    prompt_file = Path(__file__).with_name("whispers.toml")
    phases: ClassVar[tuple[Phase, ...]] = (
        Phase("whisper", "shuffled", turns=2, reach=pair),
        Phase("shout", "fixed", when=lambda m: m.round == 1),
    )
    model_columns: ClassVar[dict[str, str]] = {"n_said": "n_said"}

    def __init__(self, n_agents: int = 4, n_rounds: int = 2, **settings):
        super().__init__(n_rounds=n_rounds, **settings)
        self.agents_ = self.populate(Whisperer, n_agents)
        for one, other in zip(self.agents_[::2], self.agents_[1::2], strict=True):
            one.partner, other.partner = other, one
        self.n_said = 0

    def after_whisper(self, agent, words):
        """Only the partner hears it."""
        self.say(agent, words.value, to=agent.partner)

    def after_shout(self, agent, words):
        """All hear it."""
        self.say(agent, words.value)

    def update(self):
        """Count."""
        self.n_said = len(self.said)


def words(ask):
    """Words that depend on all that was heard."""
    heard = ask.facts.talk
    return f"{ask.name} {ask.key.agent}.{ask.key.call} after {heard.count(':')}"


def test_a_private_word_is_heard_by_the_partner_alone() -> None:
    talks = {}

    def answer(ask):
        talks[ask.key] = ask.facts.talk
        return words(ask)

    model = Whispers(minds=ScriptedMind(answer), rng=1)
    model.run_model()

    for key, talk in talks.items():
        if key.phase == "whisper":
            partner = model.population[key.agent - 1].partner.unique_id
            said = {int(line.partition(":")[0]) for line in talk.split(" / ") if line}
            assert said <= {key.agent, partner}
    last = [message.text for message in model.agents_[0].conversation()]
    assert [text.split()[0] for text in last] == ["whisper"] * 4 + ["shout"] * 4
    assert [text.split()[1][0] for text in last[4:]] == ["1", "2", "3", "4"]
    assert len(model.agents_[0].conversation(rounds=None)) == 4 + 4 + 4
    assert (model.n_said, len(model.conversation(rounds=None))) == (12, 20)


def test_messages_are_in_the_order_of_the_turns_whatever_comes_first() -> None:
    strict = Whispers(n_agents=8, minds=ScriptedMind(words), rng=4)
    strict.run_model()
    for latency in range(3):
        late = Whispers(n_agents=8, minds=Waiting(words, latency), rng=4)
        late.run_model()
        assert late.conversation(rounds=None) == strict.conversation(rounds=None)


def test_hearers_are_in_the_recording_and_on_the_page(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    model = Whispers(minds=ScriptedMind(words), rng=1, recording=path)
    heard = ModelView(model, ScenarioView(Whispers))
    while model.running:
        model.step()
        heard.keep_said()
    said = Recorded(path).messages()

    partners = {"1": "2", "2": "1", "3": "4", "4": "3"}
    whispered = said[said["phase"] == "whisper"]
    assert whispered["to"].tolist() == [partners[str(each)] for each in whispered["speaker"]]
    assert set(said.loc[said["phase"] == "shout", "to"]) == {"all"}
    assert said["text"].tolist() == [each.text for each in model.conversation(rounds=None)]
    shown = [(each.speaker, each.hearers) for each in heard.said()[1]]
    assert shown[-1] == ("Whisperer 4", "all")
    assert {to for _, to in shown[:8]} == {f"Whisperer {i}" for i in range(1, 5)}
    again = replay(path, scenario=Whispers).models[0]
    pd.testing.assert_frame_equal(again.model_frame(), model.model_frame())


def test_who_comes_later_has_not_heard_what_was_said_to_all() -> None:
    model = Whispers(minds=ScriptedMind(words), rng=1)
    model.run_model()
    late = Whisperer(model)
    model.say(model.agents_[0], "Welcome.")

    (welcome,) = late.conversation(rounds=None)
    assert (welcome.name, welcome.text) == ("Whisperer 1", "Welcome.")


def test_what_is_no_text_is_not_said() -> None:
    model = Whispers(minds=ScriptedMind(lambda _: ""), rng=1)
    model.step()

    assert model.said == []
    assert model.total.invalid == 8


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (lambda m, _: m.say(1, "Hello."), r"the sender is an agent, not 1\."),
        (lambda m, a: m.say(a, 33), r"the words are a text, such as decision\.value, not 33\."),
        (lambda m, a: m.say(a, "Hello.", to=["2"]), r"hearers are agents or ids, not '2'\."),
        (lambda m, a: m.say(a, "Hello.", 3.5), r"hearers are agents or ids, not 3\.5\."),
        (lambda m, a: m.say(a, "Hello.", to=[2, 99]), r"no agent has the id 99\."),
    ],
)
def test_what_cannot_be_said_is_refused(given, line) -> None:
    model = Whispers(minds="fixed:x")

    with pytest.raises(RunError, match=line):
        given(model, model.agents_[0])


def test_the_words_of_a_newcomer_are_heard_by_those_that_take_part() -> None:
    fishery = scenario("fishery")(newcomer_month=2, n_rounds=3, rng=1)
    heard = []
    while fishery.running:
        fishery.step()
        heard += [(fishery.month, each.to) for each in fishery.said]

    assert {to for month, to in heard if month == 1} <= {
        tuple(sorted({1, 2, 3, 4} - {i})) for i in range(1, 5)
    }
    assert {to for month, to in heard if month > 1} <= {None}
    assert heard
