"""The memory with retrieval: what comes to mind, with scores computed by hand."""

from datetime import date, timedelta
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa import ClassicalMind, Number, SmartAgent, SmartModel, action, every
from sabm_mesa.agents import memory as module
from sabm_mesa.agents.memory import Memory, Remembers, Stream, newest, similarities

TODAY = date(2024, 3, 1)


def memory(text, importance=1, days=63, always=False):
    return Memory(text, "thought", importance, TODAY, TODAY + timedelta(days=days), always)


class Table:
    """A relevance that is looked up."""

    def __init__(self, **by_text) -> None:
        self.by_text = by_text

    def __call__(self, _query, texts):
        return [self.by_text.get(text, 0.0) for text in texts]


def recalled(memories, k=1, focus=("f",), relevance=None, today=TODAY):
    stream = Stream()
    for each in memories:
        stream.add(each)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "similarities", relevance or Table())
        return [each.text for each in stream.recall(focus, k, today)]


def test_of_equal_memories_the_newest_comes_to_mind_first() -> None:
    assert recalled([memory("a"), memory("b"), memory("c")]) == ["c"]
    assert recalled([memory("a"), memory("b"), memory("c")], k=2) == ["b", "c"]


def test_the_weights_of_the_three_parts() -> None:
    """A step of importance is worth 1/3; relevance 0.17 as much; recency of one step 0.005."""
    important, newest = memory("old", importance=2), memory("new")
    assert recalled([important, newest]) == ["old"]
    # 0.495 + 3/9 = 0.828 for "old"; 0.5 + 2 · 0.17 = 0.84 and 0.5 + 2 · 0.16 = 0.82 for "new".
    assert recalled([important, newest], relevance=Table(new=0.17)) == ["new"]
    assert recalled([important, newest], relevance=Table(new=0.16)) == ["old"]
    # 0.5 · 0.99 = 0.495 for "old", so that a relevance of 0.0026 makes up for one step of age.
    assert recalled([memory("old"), newest], relevance=Table(old=0.0026)) == ["old"]
    assert recalled([memory("old"), newest], relevance=Table(old=0.0024)) == ["new"]


def test_what_could_not_be_rated_gets_no_weight_from_its_importance() -> None:
    assert recalled([memory("rated", 2), memory("unrated", None)]) == ["rated"]
    assert recalled([memory("rated", 1), memory("unrated", None)]) == ["unrated"]


def test_what_is_always_remembered_ranks_above_all_else() -> None:
    best = memory("best", importance=10)
    plain = memory("plain", importance=1, always=True)
    assert recalled([plain, best], relevance=Table(best=1.0)) == ["plain"]
    assert recalled([plain, best], k=2) == ["plain", "best"]


def test_the_points_of_focus_are_united_in_the_order_of_time() -> None:
    def by_name(query, texts):
        return [float(query == text) for text in texts]

    memories = [memory("a"), memory("b"), memory("c")]
    assert recalled(memories, focus=("b", "a"), relevance=by_name) == ["a", "b"]
    assert recalled(memories, focus=("b", "b"), relevance=by_name) == ["b"]
    assert recalled(memories, focus=(), relevance=by_name) == []
    assert recalled([], focus=("a",), relevance=by_name) == []


def test_a_memory_lasts_to_the_end_of_its_last_day() -> None:
    memories = [memory("short", days=1), memory("long", days=5)]
    assert recalled(memories, k=9, today=TODAY + timedelta(days=1)) == ["short", "long"]
    assert recalled(memories, k=9, today=TODAY + timedelta(days=2)) == ["long"]
    assert recalled(memories, k=9, today=TODAY + timedelta(days=6)) == []


def test_what_is_out_of_date_is_forgotten_for_good() -> None:
    stream = Stream()
    for each in (memory("short", days=1), memory("long", days=5)):
        stream.add(each)
    stream.forget(TODAY + timedelta(days=2))

    assert [each.text for each in stream.memories] == ["long"]


# Relevance without a model.


def test_a_relevance_by_hand() -> None:
    """The pieces of "ab" and "cd" are the padded words; "ab" is the query.

    Of the three texts "ab" is in two, "cd" in one: idf ln(4 / 3) + 1 = 1.288 and
    ln(4 / 2) + 1 = 1.693. "ab cd" has the vector (1.288, 1.693), the query (1.288, 0): the cosine
    is 1.288 / √(1.288² + 1.693²) = 0.605. With "ab" in all three its idf is 1, and the cosine
    1 / √(1 + 1.693²) = 0.509.
    """
    assert similarities("ab", ["ab cd", "ef"])[0] == pytest.approx(0.6053, abs=1e-4)
    assert similarities("ab", ["ab cd", "ab"])[0] == pytest.approx(0.5085, abs=1e-4)


def test_texts_without_words_are_no_error() -> None:
    assert similarities("", ["lake", ""]) == [0.0, 0.0]
    assert similarities("lake", []) == []


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=6))
def test_relevance_is_from_0_to_1_and_depends_on_no_order(query, texts) -> None:
    scores = similarities(query, texts)
    backwards = similarities(query, texts[::-1])

    assert all(0 <= score <= 1 for score in scores)
    assert backwards[::-1] == pytest.approx(scores)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(1, 10), st.booleans())),
    st.integers(1, 6),
)
def test_as_many_come_to_mind_as_there_is_room_for(made, k) -> None:
    memories = [memory(text, importance, always=always) for text, importance, always in made]
    stream = Stream()
    for each in memories:
        stream.add(each)
    found = stream.recall(["a"], k, TODAY)

    assert len(found) == min(k, len(memories))
    n_always = sum(each.always for each in memories)
    assert sum(each.always for each in found) == min(k, n_always)
    in_time = iter(memories)
    assert all(each in in_time for each in found)


# Windows.


@pytest.mark.parametrize(
    ("last", "words", "kept"),
    [
        (None, None, ["a b", "c", "d e f"]),
        (2, None, ["c", "d e f"]),
        (0, None, []),
        (None, 4, ["c", "d e f"]),
        (None, 3, ["d e f"]),
        (None, 1, ["d e f"]),  # the newest one, also when it is longer
        (1, 9, ["d e f"]),
    ],
)
def test_the_newest_items_that_fit_a_window(last, words, kept) -> None:
    window: Remembers[str] = Remembers(last, words)
    for each in ("a b", "c", "d e f"):
        window.add(each)

    assert list(newest(["a b", "c", "d e f"], last, words)) == kept
    assert list(window.recall()) == kept
    assert list(window.recall(1)) == kept[-1:]


# A memory that an agent class declares.


class Echo(ClassicalMind):
    """Answers with the number of memories it is shown."""

    async def answer(self, ask):
        return len(ask.facts.memory)


class Thinker(SmartAgent):
    """An agent with a memory."""

    memory = Remembers(last=2)

    async def act(self):
        return await self.ask("act", Number(0, 9, integer=True), number=self.unique_id)


class Thinking(SmartModel):
    """Two agents that remember their answers, and reflect in every second round."""

    scenario_name = "thinking"
    phases = (action(when=every("pause")),)
    agent_columns: ClassVar = {"last": "last"}
    classical_minds: ClassVar = {"default": Echo}
    kind: type[SmartAgent] = Thinker

    def __init__(self, pause: int = 1, n_rounds: int = 4, **settings):
        super().__init__(n_rounds=n_rounds, **settings)
        self.pause = pause
        self.thinkers = self.populate(self.kind, 2)

    def after_act(self, thinker, said):
        thinker.last = said.value
        thinker.memory.add(f"Player {thinker.unique_id}: system: I said {said.value}.")


class Recaller(Thinker):
    """An agent that recalls what bears on a point of focus."""

    memory = Stream(top=1)

    async def act(self):
        return await self.ask(
            "act", Number(0, 9, integer=True), number=self.unique_id,
            memory=self.memory.recall(["said 0"]),
        )  # fmt: skip


@pytest.fixture
def thinking(tmp_path):
    prompts = tmp_path / "thinking.toml"
    prompts.write_text(
        '[prompts]\nscenario = "You are player {{ number }}."\n'
        'act = "You remember:\\n{{ memory }}\\n{{ form }}"\n'
    )

    def play(agent=Thinker, **parameters):
        asked = []

        class Listening(Echo):
            async def answer(self, ask):
                asked.append((ask.key.round, ask.key.agent, ask.messages()[-1]["content"]))
                return await super().answer(ask)

        own = {"prompt_file": prompts, "kind": agent, "classical_minds": {"default": Listening}}
        model = type("Thinking", (Thinking,), own)(rng=1, **parameters)
        model.run_model()
        return model, asked

    return play


def test_each_agent_has_a_memory_of_its_own_which_fills_the_place_in_its_prompt(thinking) -> None:
    model, asked = thinking()

    assert [list(each.memory.recall()) for each in model.thinkers] == [
        [f"Player {n}: system: I said {k}." for k in (2, 2)] for n in (1, 2)
    ]
    shown = [text.splitlines()[1:-1] for turn, agent, text in asked if agent == 2]
    assert shown == [
        ["(nothing yet)"],
        ["- Player 2: system - I said 0."],  # quoted: it poses as nobody
        ["- Player 2: system - I said 0.", "- Player 2: system - I said 1."],
        ["- Player 2: system - I said 1.", "- Player 2: system - I said 2."],
    ]


def test_the_facts_may_bring_what_bears_on_a_focus(thinking) -> None:
    model, asked = thinking(Recaller, n_rounds=3)

    last = [text for turn, agent, text in asked if (turn, agent) == (2, 1)]
    assert last[0].splitlines()[1:-1] == ["- Player 1: system - I said 0."]
    assert len(model.thinkers[0].memory.memories) == 3


def test_a_phase_every_few_rounds(thinking) -> None:
    assert sorted({turn for turn, *_ in thinking(pause=2, n_rounds=5)[1]}) == [0, 2, 4]
