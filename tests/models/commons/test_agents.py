"""The messages and memories of harvesters, and their prompts."""

import asyncio
import re
from collections import Counter

import pytest

from sabm_mesa import Fishery, ScriptedMind
from tests.models.commons.support import WORDINGS, named_in_turn, played, remembered, says


def test_nothing_that_could_not_be_read_is_remembered() -> None:
    def answer(ask):
        return 10 if ask.name == "act" else ""

    model = played(answer, n_rounds=1)
    assert all(each.kind == "event" for h in model.harvesters for each in h.memory.memories)
    assert (model.summary, model.agreed_limit, model.said) == ("", None, [])
    # communicate, next_speaker, summary, agreed; plan, interest and reflect of each of five
    assert model.total.invalid == 4 + 3 * 5


def test_a_speaker_hears_the_report_and_all_that_was_said_before() -> None:
    seen = {}

    def answer(ask):
        seen.setdefault((ask.name, ask.key.agent), ask.messages()[1]["content"])
        return says(
            amount=ask.key.agent, words=f"I am {ask.key.agent}: 7.", following=named_in_turn
        )(ask)

    played(answer, n_rounds=1)
    report = "Mayor said: This month John caught 1 tons of fish, Kate caught 2 tons of fish, "
    assert report in seen["communicate", 1]
    assert "John said: I am 1 - 7." in seen["communicate", 3].replace("1: 7", "1 - 7")
    talk = seen["next_speaker", 2].split("\n")
    assert [line.split(" said: ")[0] for line in talk if " said: " in line] == [
        "Mayor", "John", "You",
    ]  # fmt: skip
    assert "John, Kate, Jack, Emma, Luke, nobody" in seen["next_speaker", 2]
    for name in ("plan", "interest", "summary", "agreed"):
        assert seen[name, 1].count(" said: ") == 10
    assert "You said:" not in seen["summary", 1]


def test_questions_that_do_not_depend_on_one_another_are_open_at_the_same_time() -> None:
    together, waiting = Counter[tuple[str, ...]](), list[str]()

    class Slow(ScriptedMind):
        instant = False

        async def answer(self, ask):
            if ask.key.agent == 1:
                waiting.append(ask.name)
                await asyncio.sleep(0)
                together[tuple(waiting)] += 1
                await asyncio.sleep(0)
                waiting.remove(ask.name)
            return await super().answer(ask)

    model = Fishery(n_rounds=1, minds=Slow(says(words="One; two; three.")), rng=1)
    model.run_model()
    groups = {group: n for group, n in together.items() if len(group) > 1}
    # Ratings: of the summary and two notes, then of three insights.
    assert groups == {
        ("summary", "agreed"): 2, ("plan", "interest"): 2, ("importance",) * 3: 6
    }  # fmt: skip
    assert model.critical_path_asks == 1 + 2 + 1 + 2 + 2  # by phase


def test_what_is_remembered_of_a_month() -> None:
    def words(ask):
        return {"reflect": "First insight; second; third; and a fourth."}.get(ask.name, ask.name)

    model = played(says(words=words, limit=9, rating=3), n_rounds=1)
    memory = model.harvesters[3].memory.memories

    assert [(each.kind, each.importance, each.always, each.text) for each in memory] == [
        ("event", 10, True, "There are 100 tons of fish in the lake before this month's catch."),
        ("event", 10, True, "You wanted to catch 10 tons of fish this month, and you caught 10."),
        ("chat", 3, False, "summary"),
        ("thought", 3, False, "plan"),
        ("thought", 3, False, "interest"),
        (
            "thought", 10, True,
            "It was agreed that nobody is to catch more than 9 tons of fish a month.",
        ),
        ("thought", 3, False, "First insight"),
        ("thought", 3, False, "second"),
        ("thought", 3, False, "third; and a fourth."),
    ]  # fmt: skip
    days = [(each.created.isoformat(), each.expires.isoformat()) for each in memory]
    assert days[:2] == [("2024-01-01", "2024-01-31")] * 2
    assert days[2:6] == [("2024-01-30", "2024-04-02")] * 4
    assert days[6:] == [("2024-01-31", "2024-04-03")] * 3


def test_thoughts_last_63_days_and_events_to_the_end_of_their_month() -> None:
    """Thoughts of January come to mind up to the harvest of 1 April, not in its talk."""
    seen = {}

    def answer(ask):
        if ask.name in {"act", "communicate"} and ask.key.agent == 1:
            seen[ask.key.round, ask.name] = [m.text for m in ask.facts.memories]
        words = f"{ask.name} in month {ask.key.round + 1}"
        return says(words=words, rating=10 if ask.key.round == 0 else 1)(ask)

    played(answer, n_rounds=5)
    assert [k for k in range(5) if "plan in month 1" in seen[k, "act"]] == [1, 2, 3]
    assert "plan in month 1" not in seen[3, "communicate"]
    assert all(sum("There are" in text for text in texts) == 1 for texts in seen.values())
    assert all(len(seen[k, "act"]) <= 10 for k in range(5))


def test_an_agreement_is_known_as_long_as_it_is_remembered() -> None:
    seen = []

    def answer(ask):
        if ask.name == "act" and ask.key.agent == 1:
            seen.append(ask.facts.agreed_limit)
        return says(limit=9 if ask.key.round == 0 else None)(ask)

    played(answer, n_rounds=6)
    assert seen == [None, 9, 9, 9, None, None]


@pytest.mark.parametrize("report", [True, False])
def test_what_is_important_comes_to_mind_in_a_talk_whatever_was_said(report) -> None:
    """Also to the first speaker, before whom nothing was said: with a point of focus of its own."""
    seen = {}

    def answer(ask):
        if ask.name == "communicate":
            seen.setdefault(ask.key.round, [memory.text for memory in ask.facts.memories])
        words = "Otters" if ask.name == "interest" else "Hello."
        important = ask.name == "importance" and ask.facts.item.text == "Otters"
        return 10 if important else says(words=words, rating=1)(ask)

    played(answer, n_rounds=2, report=report)
    assert len(seen[0]) == 2
    assert "There are 100 tons of fish in the lake before this month's catch." in seen[0]
    assert "Otters" in seen[1]


# Conditions.
def prompts_of(cls=Fishery, answer=None, **given):
    sent = {}

    def noted(ask):
        system, question = (m["content"] for m in ask.messages()[:2])
        sent[ask.key.round, ask.name, ask.key.agent] = (system, question)
        return (answer or says())(ask)

    return played(noted, cls=cls, **{"n_rounds": 2} | given), sent


def test_universalization_tells_what_follows_if_all_do_the_same() -> None:
    model, sent = prompts_of(condition="universalization")
    hint = "should each of you catch more than 10 tons of fish this month"
    assert hint in sent[0, "act", 1][1]
    assert hint in sent[1, "reflect", 5][1]
    assert "should each of you" not in "".join(map("".join, prompts_of()[1].values()))
    other = prompts_of(condition="universalization", answer=says(15))[1]
    assert "more than 5 tons of fish" in other[1, "act", 1][1]
    assert "fewer than 50 tons" in other[1, "act", 1][1]
    assert model.total.invalid == 0


def test_universalization_with_a_newcomer_counts_who_takes_part() -> None:
    """50 / 4 = 12 for four, 50 / 5 = 10 for five."""
    _, sent = prompts_of(condition="universalization", newcomer_month=2)
    assert "more than 12 tons of fish" in sent[0, "act", 1][1]
    assert "more than 10 tons of fish" in sent[1, "act", 5][1]


def test_without_communication_nobody_talks_or_learns_what_others_took() -> None:
    model, sent = prompts_of(communication=False)

    assert {name for _, name, _ in sent} == {"act", "reflect", "importance"}
    assert model.utterances == 0
    assert not any("talk" in system for system, _ in sent.values())
    assert not any("Kate caught" in question for _, question in sent.values())
    assert "You caught" not in remembered(model, 1)[0]
    assert model.total.asks == 2 * (5 + 5 * 2)


def test_harvests_may_be_made_known_without_a_talk() -> None:
    _, sent = prompts_of(communication=False, report=True)
    system, question = sent[0, "reflect", 2]

    assert "This month John caught 10 tons of fish, Kate caught" in question
    assert "you all learn how many tons of fish each of you caught." in system
    assert "talk" not in system


# Wordings.
HINTS = re.compile(
    r"commons|traged|govern|sustain|cooperat|\bgreed|universal|collaps|threshold|over.?us|fair",
    re.IGNORECASE,
)


@pytest.mark.parametrize("cls", WORDINGS)
@pytest.mark.parametrize("variant", ["default", "reworded_1"])
def test_no_prompt_says_what_is_studied(cls, variant) -> None:
    _, sent = prompts_of(cls, says(limit=10), variant=variant)
    text = " ".join(" ".join(pair) for pair in sent.values())
    assert not HINTS.search(text)
    assert "{" not in text
