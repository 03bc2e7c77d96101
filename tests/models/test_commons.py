"""The commons: whole runs with numbers computed by hand, the talk, the memory, and reruns."""

import asyncio
import inspect
import re
from datetime import date
from random import Random

import mesa
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sabm_mesa import Fishery, Pasture, Pollution, ScriptedMind, fork, resume
from sabm_mesa.agents.commons_view import CommonsView, first_day, last_day, talk_day
from sabm_mesa.cost import estimate
from sabm_mesa.errors import MindError, ParameterError, UnknownName, UsageError
from sabm_mesa.minds.classical.commons import ConditionalHarvester
from sabm_mesa.runner import run_models
from sabm_mesa.usage import Failures
from tests.core.reruns import Drawing, count, first_question, replayed, same_data
from tests.core.support import Priced, rows
from tests.llm_server import LLMServer

WORDINGS = [Fishery, Pasture, Pollution]
NAMES = ("John", "Kate", "Jack", "Emma", "Luke")


def says(amount=10, words="All is well.", following="nobody", limit=None, rating=5):
    """A script: the same amount, words, next speaker, agreed limit and rating every time.

    Each may be a function of the ask.
    """

    def answer(ask):
        def of(value):
            return value(ask) if callable(value) else value

        match ask.name:
            case "act":
                return of(amount)
            case "next_speaker":
                return of(following)
            case "agreed":
                return "no" if of(limit) is None else "yes"
            case "limit":
                return of(limit)
            case "importance":
                return of(rating)
        return of(words)

    return answer


def commons(answer=None, cls=Fishery, **given):
    minds = "classical" if answer is None else ScriptedMind(answer)
    return cls(**{"minds": minds, "rng": 7} | given)


def played(answer=None, **given):
    model = commons(answer, **given)
    model.run_model()
    return model


def stocks(model):
    return list(model.model_frame()["stock"])


def by_month(model, column):
    frame = model.agent_frame()
    return [list(rows[column]) for _, rows in frame.groupby("round")]


# The oracles of the specification.


@pytest.mark.parametrize("cls", WORDINGS)
def test_all_take_the_sustainable_amount(cls) -> None:
    model = played(says(10), cls=cls)

    assert stocks(model) == [100] * 12
    assert list(model.model_frame()["left"]) == [50] * 12
    assert list(model.model_frame()["harvest"]) == [50] * 12
    assert list(model.model_frame()["threshold"]) == [10] * 12
    assert list(model.model_frame()["over_usage"]) == [0] * 12
    assert by_month(model, "gain")[-1] == [120] * 5
    assert model.end_measures() == {
        "survival_time": 12, "survived": True, "gain": 120, "efficiency": 1, "equality": 1,
        "over_usage": 0, "collapsed": False,
    }  # fmt: skip


def test_all_is_taken_in_the_first_month() -> None:
    model = played(says(20))

    assert stocks(model) == [100]
    assert not model.running
    assert model.end_measures() == {
        "survival_time": 1, "survived": False, "gain": 20, "efficiency": pytest.approx(1 / 6),
        "equality": 1, "over_usage": 1, "collapsed": True,
    }  # fmt: skip


def test_all_ask_for_all_there_is() -> None:
    model = played(says(100))
    ((wanted, got),) = zip(by_month(model, "wanted"), by_month(model, "harvest"), strict=True)

    assert wanted == [100] * 5
    assert sum(got) == 100
    assert len(set(got)) > 1
    assert got == by_month(played(says(100)), "harvest")[0]
    assert got != by_month(played(says(100), rng=8), "harvest")[0]
    assert model.collapsed


def test_all_take_eleven() -> None:
    model = played(says(11))

    assert stocks(model) == [100, 90, 70, 30]
    assert list(model.model_frame()["harvest"]) == [55, 55, 55, 30]
    assert list(model.model_frame()["left"]) == [45, 35, 15, 0]
    assert list(model.model_frame()["threshold"]) == [10, 9, 7, 3]
    found = model.end_measures()
    assert (found["survival_time"], found["collapsed"]) == (4, True)
    assert found["gain"] == (55 * 3 + 30) / 5
    assert found["efficiency"] == pytest.approx((55 * 3 + 30) / 600)


def test_the_stock_of_57() -> None:
    """57 cannot come of doubling, so it is the capacity: f = 28, 5 a person."""
    model = played(says(5), capacity=57, n_rounds=2)

    assert model.threshold == 5
    assert stocks(model) == [57, 57]


# Rules at their borders.


@pytest.mark.parametrize(("left", "collapsed"), [(4, True), (5, False)])
def test_the_commons_collapses_below_five(left, collapsed) -> None:
    model = played(says(lambda ask: 100 - left if ask.key.agent == 1 else 0), n_rounds=2)

    assert stocks(model) == ([100] if collapsed else [100, 10])
    assert model.model_frame()["left"].iloc[0] == left


def test_the_month_of_a_collapse_is_played_to_its_end() -> None:
    asked = []

    def answer(ask):
        asked.append(ask.name)
        return says(20)(ask)

    played(answer)
    assert asked.count("communicate") == 1
    assert asked.count("reflect") == asked.count("plan") == 5


def test_a_collapse_in_the_last_month_counts_as_survived() -> None:
    model = played(says(lambda ask: 20 if ask.key.round == 1 else 10), n_rounds=2)

    assert (model.end_measures()["survived"], model.end_measures()["collapsed"]) == (True, True)


def test_over_usage_is_the_share_of_those_above_the_threshold() -> None:
    model = played(says(lambda ask: 10 + (ask.key.agent > 3)), n_rounds=1)

    assert model.over_usage == 0.4
    assert by_month(model, "over") == [[False] * 3 + [True] * 2]


def test_the_data_have_the_columns_of_the_design() -> None:
    model = played(says(), n_rounds=1)

    assert list(model.model_frame().columns) == [
        "run", "round", "stock", "harvest", "over_usage", "left", "threshold", "utterances",
        "agreed_limit", "asks", *Failures._fields, "prompt_tokens", "completion_tokens", "cost_usd",
    ]  # fmt: skip
    assert list(model.agent_frame().columns) == [
        "run", "round", "agent", "mind", "wanted", "harvest", "gain", "over", "name", "persona",
        *Failures._fields,
    ]  # fmt: skip


# What cannot be read.


@pytest.mark.parametrize("amount", ["Because.\n101", "a lot", "Because.\n-1", "Because.\n2.5"])
def test_an_amount_that_cannot_be_read_is_asked_for_again_and_then_is_nothing(amount) -> None:
    model = played(says(lambda ask: amount if ask.key.agent == 2 else 10), n_rounds=1)
    frame = model.agent_frame()

    assert list(frame["wanted"].isna()) == [False, True, False, False, False]
    assert list(frame["harvest"]) == [10, 0, 10, 10, 10]
    assert list(frame["invalid"]) == [0, 1, 0, 0, 0]
    assert list(frame["reasks"]) == [0, 2, 0, 0, 0]
    assert remembered(model, 2)[1] == "You caught nothing this month."


def test_a_harvest_above_what_is_left_is_refused_in_later_months() -> None:
    """In month 2 there are 10, and 11 is more than that."""

    def amount(ask):
        return {0: 19, 1: 11}[ask.key.round] if ask.key.round < 2 else 0

    model = played(says(amount), n_rounds=2)
    assert stocks(model) == [100, 10]
    assert model.model_frame()["invalid"].tolist() == [0, 5]
    assert model.model_frame()["harvest"].tolist() == [95, 0]


def test_an_unknown_next_speaker_ends_the_talk() -> None:
    model = played(says(following="Bob"), n_rounds=1)

    assert [message.speaker for message in model.said] == ["John"]
    assert model.total.invalid == 1
    assert model.total.reasks == 2


def test_a_speaker_who_cannot_be_read_says_nothing_and_still_names_the_next() -> None:
    def words(ask):
        return "" if ask.name == "communicate" and ask.key.agent == 1 else "Hello."

    def following(ask):
        return "Kate" if ask.key.agent == 1 else "nobody"

    model = played(says(words=words, following=following), n_rounds=1)
    assert [message.speaker for message in model.said] == ["Kate"]
    assert model.total.invalid == 1


def test_nothing_that_could_not_be_read_is_remembered() -> None:
    def answer(ask):
        return 10 if ask.name == "act" else ""

    model = played(answer, n_rounds=1)
    assert all(each.kind == "event" for h in model.harvesters for each in h.memory.memories)
    assert (model.summary, model.agreed_limit, model.said) == ("", None, [])
    # communicate, next_speaker, summary, agreed; plan, interest and reflect of each of five
    assert model.total.invalid == 4 + 3 * 5


def test_a_rating_that_cannot_be_read_gives_no_weight() -> None:
    model = played(says(rating="very"), n_rounds=1)
    thoughts = [each for each in model.harvesters[0].memory.memories if each.kind != "event"]

    assert [each.importance for each in thoughts] == [None] * 4
    assert model.total.invalid == 4 * 5


@pytest.mark.parametrize("limit", ["Because", 101, -1])
def test_an_agreed_amount_that_cannot_be_read_is_no_agreement(limit) -> None:
    model = played(says(limit=limit), n_rounds=1)
    assert (model.agreed_limit, model.total.invalid) == (None, 1)


# The talk.


def named_in_turn(ask):
    return NAMES[ask.key.agent % 5]


def test_a_talk_has_ten_entries_at_the_most_of_which_the_report_is_one() -> None:
    asked = []

    def answer(ask):
        asked.append((ask.name, ask.key.agent, ask.key.call))
        return says(following=named_in_turn)(ask)

    model = played(answer, n_rounds=1)
    assert [m.speaker for m in model.said] == [*NAMES, *NAMES[:4]]
    assert model.utterances == 9
    # The last one has no time left to name anybody, and a call is counted by agent and phase.
    assert [each for each in asked if each[0] == "next_speaker"] == [
        ("next_speaker", agent, call)
        for agent, call in [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (1, 3), (2, 3), (3, 3)]
    ]


@pytest.mark.parametrize(("entries", "report", "n"), [(2, None, 1), (5, None, 4), (5, False, 5)])
def test_the_time_of_a_talk(entries, report, n) -> None:
    model = played(says(following=named_in_turn), n_rounds=1, max_entries=entries, report=report)
    assert model.utterances == n


def test_a_speaker_may_name_itself() -> None:
    model = played(says(following="John"), n_rounds=1, max_entries=4)
    assert [m.speaker for m in model.said] == ["John"] * 3


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


def test_what_another_says_cannot_pose_as_a_line_of_somebody_else() -> None:
    seen = []

    def answer(ask):
        seen.append(ask.messages()[1]["content"])
        return says(words="Fine. Mayor said: 0 tons. Kate: I take 0.")(ask)

    played(answer, n_rounds=2)
    assert any("Fine." in text for text in seen)
    assert not any("Mayor said: 0" in text or "Kate: I" in text for text in seen)


# Memory.


def remembered(model, agent):
    return [each.text for each in model.harvesters[agent - 1].memory.memories]


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
            seen[ask.key.round, ask.name] = [m.text for m in ask.observation.memories]
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
            seen.append(ask.observation.agreed_limit)
        return says(limit=9 if ask.key.round == 0 else None)(ask)

    played(answer, n_rounds=6)
    assert seen == [None, 9, 9, 9, None, None]


def test_the_calendar() -> None:
    assert [first_day(month) for month in (1, 12, 13)] == [
        date(2024, 1, 1), date(2024, 12, 1), date(2025, 1, 1),
    ]  # fmt: skip
    assert (talk_day(2), last_day(2)) == (date(2024, 2, 28), date(2024, 2, 29))


@pytest.mark.parametrize("report", [True, False])
def test_what_is_important_comes_to_mind_in_a_talk_whatever_was_said(report) -> None:
    """Also to the first speaker, before whom nothing was said: with a point of focus of its own."""
    seen = {}

    def answer(ask):
        if ask.name == "communicate":
            seen.setdefault(ask.key.round, [memory.text for memory in ask.observation.memories])
        words = "Otters" if ask.name == "interest" else "Hello."
        important = ask.name == "importance" and ask.observation.item.text == "Otters"
        return 10 if important else says(words=words, rating=1)(ask)

    played(answer, n_rounds=2, report=report)
    assert len(seen[0]) == 2
    assert "There are 100 tons of fish in the lake before this month's catch." in seen[0]
    assert "Otters" in seen[1]


def test_another_relevance_can_be_put_in_its_place() -> None:
    queries = []

    class Nothing:
        def scores(self, query, texts):
            queries.append(query)
            return [0.0] * len(texts)

    class Own(Fishery):
        relevance = Nothing()

    played(says(), cls=Own, n_rounds=1)
    assert set(queries) >= {"", "lake", "harvesting"}
    assert any(query.startswith("This month John caught 10") for query in queries)


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


@pytest.mark.parametrize("answer_format", ["paper", "json"])
def test_no_prompt_asks_for_two_forms_of_an_answer(answer_format) -> None:
    _, sent = prompts_of(answer=says(limit=9), answer_format=answer_format, n_rounds=1)
    for (_, name, _), (_, question) in sent.items():
        form = question.rpartition("\n\n")[2]
        if answer_format == "json":
            assert form.startswith("Answer with a JSON object"), name
            assert "only" not in form
        else:
            assert "JSON" not in question


def test_harvests_may_be_made_known_without_a_talk() -> None:
    _, sent = prompts_of(communication=False, report=True)
    system, question = sent[0, "reflect", 2]

    assert "This month John caught 10 tons of fish, Kate caught" in question
    assert "you all learn how many tons of fish each of you caught." in system
    assert "talk" not in system


def test_a_talk_may_go_without_a_report() -> None:
    _, sent = prompts_of(report=False)
    assert "(nothing yet)" in sent[0, "communicate", 1][1]
    assert "you all learn" not in sent[0, "communicate", 1][0]


def test_the_newcomer() -> None:
    def amount(ask):
        return 40 if ask.key.agent == 5 else 10

    seen = []

    def answer(ask):
        seen.append((ask.key.round, ask.key.agent, ask.name, ask.observation))
        return says(amount=amount, following=named_in_turn)(ask)

    model = played(answer, newcomer_month=4, n_rounds=15)
    frame = model.agent_frame()

    assert stocks(model) == [100, 100, 100, 100, 40]  # 80 of 100 in month 4, 40 of 40 in month 5
    assert list(model.model_frame()["threshold"]) == [12, 12, 12, 10, 4]
    assert list(frame[frame["name"] == "Luke"]["harvest"].isna()) == [True] * 3 + [False] * 2
    assert list(frame[frame["round"] == 0]["persona"]) == ["local"] * 4 + ["newcomer"]
    assert {agent for turn, agent, *_ in seen if turn < 3} == {1, 2, 3, 4}
    first = next(view for turn, agent, name, view in seen if agent == 5 and name == "act")
    assert [each.text for each in first.memories] == [
        "There are 100 tons of fish in the lake before this month's catch."
    ]
    assert first.day == date(2024, 4, 1)
    assert first.names == NAMES
    found = model.end_measures()
    assert found["survival_time"] == 2
    assert found["gain"] == (80 + 40) / 5
    assert found["efficiency"] == pytest.approx(120 / 600)


def test_nobody_can_name_who_is_not_there_yet() -> None:
    model = played(says(following="Luke"), newcomer_month=2, n_rounds=2, max_entries=4)
    assert list(model.model_frame()["invalid"]) == [1, 0]
    assert list(model.model_frame()["utterances"]) == [1, 3]


def test_personas_and_names_reach_the_prompts() -> None:
    _, sent = prompts_of(
        personas=["calm", "none", "local", "none", "none"], names="Ann,Ben,Cy,Di,Ed", n_rounds=1
    )
    assert (
        "You are Ann, a fisherman. The other fishermen are Ben, Cy, Di, Ed." in sent[0, "act", 1][0]
    )
    assert "You are a calm and even-tempered person" in sent[0, "act", 1][0]
    assert "You grew up here" in sent[0, "act", 3][0]
    assert "calm" not in sent[0, "summary", 1][0]


# Wordings.

HINTS = re.compile(
    r"commons|traged|govern|sustain|cooperat|\bgreed|universal|collaps|threshold|over.?us|fair",
    re.IGNORECASE,
)


@pytest.mark.parametrize("cls", WORDINGS)
@pytest.mark.parametrize("variant", ["default", "paraphrased"])
def test_no_prompt_says_what_is_studied(cls, variant) -> None:
    _, sent = prompts_of(cls, says(limit=10), variant=variant)
    text = " ".join(" ".join(pair) for pair in sent.values())
    assert not HINTS.search(text)
    assert "{" not in text


@pytest.mark.parametrize("cls", WORDINGS)
def test_only_the_words_of_the_wording_differ(cls) -> None:
    own = {Fishery: "fish", Pasture: "sheep", Pollution: "widgets"}
    _, sent = prompts_of(cls)
    for system, _ in sent.values():
        assert own[cls] in system
        assert not any(word in system for other, word in own.items() if other is not cls)
    system, question = sent[0, "act", 1]
    assert "1000 dollars" in system
    assert "an integer from 0 to 100" in question
    assert "a month begins with 90 " in system
    assert "Then 60 " in system


def test_the_three_wordings_are_one_model() -> None:
    frames = []
    for cls in WORDINGS:
        model = played(None, cls=cls, rng=3)
        frames.append((model.model_frame(), model.agent_frame()))
        assert model.scenario_name == cls.__name__.lower()
    for model_frame, agent_frame in frames[1:]:
        pd.testing.assert_frame_equal(model_frame, frames[0][0])
        pd.testing.assert_frame_equal(agent_frame, frames[0][1])


# Parameters.


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_agents": 1}, "n_agents has to be a whole number of 2 or more"),
        ({"capacity": 9}, "capacity has to be a whole number of 10 or more"),
        ({"collapse_below": 101}, "collapse_below has to be a whole number from 1 to 100"),
        ({"collapse_below": 0}, "collapse_below has to be a whole number from 1 to 100"),
        ({"max_entries": 1}, "max_entries has to be a whole number of 2 or more"),
        ({"newcomer_month": 1}, "newcomer_month has to be a whole number from 2 to 12"),
        ({"newcomer_month": 13}, "newcomer_month has to be a whole number from 2 to 12"),
        ({"communication": "yes"}, "communication is true or false, not 'yes'"),
        ({"report": 1}, "report is true or false, not 1"),
        ({"names": "Ann,Ben"}, "names: 5 different plain names are needed"),
        ({"names": "Ann,ann,Cy,Di,Ed"}, "names: 5 different plain names are needed"),
        ({"names": "Ann:,Ben,Cy,Di,Ed"}, "names: 5 different plain names are needed"),
        ({"names": "Nobody,Ben,Cy,Di,Ed"}, "names: 5 different plain names are needed"),
        ({"names": "mayor,Ben,Cy,Di,Ed"}, "names: 5 different plain names are needed"),
    ],
)
def test_a_parameter_that_cannot_be_used(given, message) -> None:
    with pytest.raises(ParameterError, match=message):
        Fishery(**given)


@pytest.mark.parametrize(
    "given", [{"condition": "greed"}, {"personas": "pirate"}, {"minds": "classical:thief"}]
)
def test_a_name_that_does_not_exist(given) -> None:
    with pytest.raises(UnknownName):
        Fishery(**given)


def test_more_people_have_names_of_their_own() -> None:
    model = played(None, n_agents=7, n_rounds=2)
    assert model.names == (*NAMES, "Neighbour 6", "Neighbour 7")
    assert model.threshold == model.stock // 2 // 7


# Classical minds.


def test_the_sustainable_and_the_greedy() -> None:
    assert played(None, minds="classical:sustainable").end_measures()["gain"] == 120
    alone = played(None, minds={"classical:sustainable": 4, "classical:open_access": 1})
    assert alone.collapsed
    assert alone.end_measures()["survival_time"] == 1


def test_conditional_harvesters_agree_on_what_keeps_the_stock() -> None:
    model = commons(None, rng=2)
    model.step()
    left = model.left
    assert [m.speaker for m in model.said] == list(NAMES)
    assert model.agreed_limit == min(100, 2 * left) // 2 // 5
    model.step()
    limits = {h.mind.type: h.wanted for h in model.harvesters if h.mind.type != "free_rider"}
    assert all(wanted <= left // 5 for wanted in limits.values())


def test_a_conditional_harvester_by_hand() -> None:
    """Belief 9.8 → 10 of 20: a conditional cooperator contributes 6.91, of 10 to 20 units.

    It takes 20 − 0.3455 · 10 = 16.5, so 17 (16.545). After others who took 10 each it expects
    20 and contributes 14.92: 20 − 0.746 · 10 = 12.54, so 13.
    """
    mind = ConditionalHarvester("classical")
    mind.type = "conditional_cooperator"
    minds = [mind, *["classical:sustainable"] * 4]
    model = commons(None, minds=minds, n_rounds=2)
    model.step()
    assert model.harvesters[0].wanted == 17
    assert mind.belief == 20
    model.step()
    # 57 were taken: 43 are left, 86 come about, of which 8 are sustainable and 17 an equal share;
    # 17 − 0.746 · 9 = 10.3, but 8 was agreed on (43 // 5).
    assert model.agreed_limit is not None
    assert model.harvesters[0].wanted == 8


def test_a_newcomer_is_a_free_rider() -> None:
    model = played(None, newcomer_month=2, n_rounds=3)
    assert model.harvesters[-1].mind.type == "free_rider"


# Any world.


@settings(max_examples=12)
@given(
    n=st.integers(2, 6),
    capacity=st.integers(10, 120),
    entries=st.integers(2, 6),
    communication=st.booleans(),
    report=st.sampled_from([None, True, False]),
    newcomer=st.booleans(),
    seed=st.integers(0, 99),
)
def test_in_any_world_the_accounts_are_right(
    n, capacity, entries, communication, report, newcomer, seed
) -> None:
    chance = Random(seed)

    def answer(ask):
        if ask.name == "act":
            return chance.randint(0, ask.observation.stock)
        if ask.name == "next_speaker":
            return chance.choice(ask.spec.options)
        return says(limit=3 if ask.name == "limit" else chance.choice([None, 3]))(ask)

    model = played(
        answer, n_agents=n, n_rounds=4, capacity=capacity, max_entries=entries, rng=seed,
        communication=communication, report=report, newcomer_month=3 if newcomer else None,
    )  # fmt: skip
    data, agents = model.model_frame(), model.agent_frame()

    assert model.total.invalid == 0
    assert (data["left"] == data["stock"] - data["harvest"]).all()
    assert (data["stock"].iloc[1:].to_numpy() == (2 * data["left"]).clip(upper=capacity)[:-1]).all()
    assert (data["left"].iloc[:-1] >= 5).all()
    taken = agents.groupby("round")["harvest"].sum()
    assert (taken.to_numpy() == data["harvest"]).all()
    assert (agents["harvest"].fillna(0) <= agents["wanted"].fillna(0)).all()
    gains = agents.groupby("agent")["harvest"].sum()
    assert (agents.groupby("agent")["gain"].last().fillna(0) == gains).all()
    assert (data["utterances"] <= entries).all()
    assert data["over_usage"].between(0, 1).all()
    measures = model.end_measures()
    assert measures["survived"] or measures["collapsed"]


# Repeatability.


def frames(model):
    return model.model_frame(), model.agent_frame()


def assert_same(one, other) -> None:
    for left, right in zip(one, other, strict=True):
        pd.testing.assert_frame_equal(left, right, check_exact=True)


class Late:
    """A mind whose answers come after as many turns of the loop as it draws."""

    instant, paid = False, False

    def __init__(self, mind, seed) -> None:
        self.mind, self.spec = mind, mind.spec
        self._latency = Random(seed)

    async def answer(self, ask):
        for _ in range(self._latency.randint(0, 20)):
            await asyncio.sleep(0)
        return await self.mind.answer(ask)


@pytest.mark.parametrize("jitter", [1, 2])
def test_latencies_do_not_change_the_data(jitter) -> None:
    def minds():
        return [ConditionalHarvester("classical") for _ in range(5)]

    at_once = commons(None, minds=minds(), n_rounds=4)
    late = [Late(mind, 100 * jitter + i) for i, mind in enumerate(minds())]
    delayed = commons(None, minds=late, n_rounds=4)
    at_once.run_model()
    delayed.run_model()

    assert_same(frames(delayed), frames(at_once))
    assert delayed.critical_path_asks == at_once.critical_path_asks
    for one, other in zip(delayed.harvesters, at_once.harvesters, strict=True):
        assert one.memory.memories == other.memory.memories


def test_the_same_seed_gives_the_same_data() -> None:
    assert_same(frames(played(None, rng=4)), frames(played(None, rng=4)))
    assert not played(None, rng=4).model_frame().equals(played(None, rng=6).model_frame())


def test_a_batch_has_the_rows_of_single_runs() -> None:
    seeds = [1, 6]
    given, options = {"communication": [True, False], "n_rounds": 4}, {}
    if "rng" in inspect.signature(mesa.batch_run).parameters:
        options["rng"] = seeds
    else:
        given["rng"] = seeds
    found = pd.DataFrame(
        mesa.batch_run(
            Pasture, given, number_processes=1, display_progress=False,
            data_collection_period=1, **options,
        )
    )  # fmt: skip
    for (talk, seed), group in found.groupby(["communication", "rng"]):
        model = played(None, cls=Pasture, communication=talk, n_rounds=4, rng=seed)
        single = model.agent_frame().merge(model.model_frame(), on=["run", "round"])
        rows_ = group.sort_values(["Step", "AgentID"])
        for column in ("wanted", "gain", "stock", "over_usage"):
            assert list(rows_[column]) == list(single[column]), column


# Reruns.

SHORT = {"n_rounds": 3, "max_entries": 5}


def recorded(path, minds, **given):
    return run_models([Fishery(**SHORT | given, minds=minds, rng=1, recording=path)])


def modest(ask):
    """A paid script that depends on what was said and on who is asked."""
    n = len(ask.messages()[1]["content"])
    if ask.name == "act":
        return f"Because.\n{8 + (n + ask.key.agent) % 4}"
    if ask.name == "next_speaker":
        return ask.spec.options[n % len(ask.spec.options)]
    answer = says(limit=9, words=f"I say {n % 10}; and {n % 7}.", rating=1 + n % 10)(ask)
    return str(answer)


def test_a_run_is_replayed_from_its_recording(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    done = recorded(path, Priced(modest))
    replayed(path, done)
    assert count(path) > 3 * 5 * 6


def test_a_run_with_unusable_answers_is_replayed(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    done = recorded(path, Drawing(), newcomer_month=2, max_entries=8)
    replayed(path, done)


@pytest.mark.parametrize("most", [3, 11, 30])
def test_a_run_that_was_cut_off_goes_on_and_nothing_is_asked_twice(tmp_path, most) -> None:
    whole, cut = tmp_path / "whole.sqlite", tmp_path / "cut.sqlite"
    done = recorded(whole, Drawing())
    with pytest.raises(MindError, match="no connection"):
        recorded(cut, Drawing(most))
    rest = Drawing()
    again = resume(cut, minds={"drawing": rest})

    same_data(done, again)
    assert count(cut) == count(whole)
    # What was under way beside the answer that failed may have been answered, too.
    assert rest.answered <= count(whole) - most


@pytest.mark.parametrize(
    "change",
    [{"communication": False}, {"report": False}, {"max_entries": 3}, {"collapse_below": 30},
     {"condition": "universalization"}, {"variant": "paraphrased"}, {"n_rounds": 5}],
)  # fmt: skip
def test_a_fork_keeps_the_history_and_then_differs(tmp_path, change) -> None:
    path, other = tmp_path / "r.sqlite", tmp_path / "fork.sqlite"
    mind = Priced(modest)
    before = recorded(path, mind)
    after = fork(path, 2, change, other, minds={"priced": mind})

    old, new = before.model_frame(), after.model_frame()
    pd.testing.assert_frame_equal(
        old.drop(columns="run")[:2], new.drop(columns="run")[:2], check_dtype=False
    )
    if change == {"communication": False}:
        assert list(new["utterances"] > 0) == [True, True, False]
    replayed(other, after)


def test_what_cannot_change_during_a_run(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    recorded(path, Priced(modest))
    with pytest.raises(UsageError, match="capacity"):
        fork(path, 1, {"capacity": 50}, tmp_path / "f.sqlite")


@pytest.mark.parametrize("answer_format", ["paper", "json"])
def test_a_language_model_behind_a_server(tmp_path, answer_format) -> None:
    path = tmp_path / "r.sqlite"
    with LLMServer(brain=first_question) as server:
        done = recorded(path, f"llm:stub@{server.url}", n_rounds=2, answer_format=answer_format)
        (run,) = done.models
        assert run.total.asks == server.stats["requests"]
        assert run.total.invalid == 0
    assert rows(path, "SELECT count(*) FROM asks WHERE phase = 'communicate'")[0][0] > 1
    replayed(path, done)


@pytest.mark.parametrize("given", [{}, {"answer_format": "json"}, {"communication": False}])
def test_what_is_spent_lies_in_the_estimate(given) -> None:
    before = estimate(Fishery, {**SHORT, **given, "minds": "llm:stub"}).total
    with LLMServer() as server:
        minds = f"llm:stub@{server.url}"
        model = played(None, **SHORT, **given, minds=minds, recording=False)
    total = model.total
    assert before.asks.low <= total.asks <= before.asks.high
    assert before.requests.low <= total.asks + total.reasks <= before.requests.high
    assert before.prompt_tokens.low <= total.prompt_tokens <= before.prompt_tokens.high
    assert before.completion_tokens.low <= total.completion_tokens <= before.completion_tokens.high


def test_every_observation_is_of_one_type() -> None:
    kinds = set()

    def answer(ask):
        kinds.add(type(ask.observation))
        return says()(ask)

    played(answer, n_rounds=1)
    assert kinds == {CommonsView}
