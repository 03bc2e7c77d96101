"""Minds: the specs that name them, and how a population is spread over agents."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import pytest

from sabm_mesa import (
    Ask,
    KeynesianBeautyContest,
    Mind,
    ScriptedMind,
    action,
    communication,
    replay,
)
from sabm_mesa.errors import MindError, MindSpecError, UnknownName
from sabm_mesa.llm import ScriptedClient
from sabm_mesa.minds.base import rule_of
from sabm_mesa.minds.llm import LLMMind, LLMSettings
from sabm_mesa.minds.scripted import FixedMind
from sabm_mesa.minds.specs import by_spec
from tests.core.support import Tiny, question, rows, tiny
from tests.llm.support import completion


def specs(**given):
    return [cell.mind.spec for cell in tiny(rng=1, **given).cells]


def test_a_mapping_goes_by_the_order_of_the_ids() -> None:
    assert specs(n=4, minds={"fixed:1": 1, "fixed:0": 0, "fixed:2": 3}) == [
        "fixed:1", "fixed:2", "fixed:2", "fixed:2",
    ]  # fmt: skip


# Populations.


def test_mind_objects_stand_wherever_a_spec_may() -> None:
    one, other = FixedMind(3), ScriptedMind(["7"], spec="other")

    assert [c.mind for c in tiny(n=2, minds=one, rng=1).cells] == [one, one]
    assert [c.mind for c in tiny(n=2, minds=[one, other], rng=1).cells] == [one, other]
    mixed = tiny(n=3, minds={other: 1, "fixed:3": 2}, rng=1)
    mixed.step()
    assert [c.mind.spec for c in mixed.cells] == ["other", "fixed:3", "fixed:3"]
    assert list(mixed.agent_frame()["mind"]) == ["other", "fixed:3", "fixed:3"]
    assert mixed.minds_in_use() == {"other": 1, "fixed:3": 2}
    assert mixed.sum == 13


@dataclass
class Unhashable:
    spec: str = "unhashable"
    instant: bool = True
    paid: bool = False

    async def answer(self, ask):
        return ask.key.agent


def test_a_mind_object_need_not_be_hashable() -> None:
    model = tiny(n=2, minds=[Unhashable(), Unhashable()], rng=1)
    model.step()

    assert model.sum == 3
    assert model.cells[0].mind is not model.cells[1].mind


@pytest.mark.parametrize(
    ("minds", "message"),
    [
        ({"fixed:1": 2}, "minds: 2 are given for 3 agents; the counts must add up to 3."),
        ({"fixed:act": 2}, "must add up to 3. (fixed:act=3 means 3 agents that answer 'act'. For"),
        ({"fixed:1": 2, "fixed:2": 2}, "minds: 4 are given for 3 agents"),
        ({}, "minds: 0 are given for 3 agents"),
        (["fixed:1"] * 4, "minds: 4 are given for 3 agents"),
        ([], "minds: 0 are given for 3 agents"),
        ({"fixed:1": 1.5}, "minds: the count of fixed:1 must be a whole number, not 1.5."),
        ({"fixed:1": -3}, "must be a whole number, not -3"),
        ({"fixed:1": True}, "must be a whole number, not True"),
        ({"fixed:1": "3"}, "must be a whole number, not '3'"),
        ({ScriptedMind([], spec="mine"): None}, "the count of mine must be a whole number"),
        ("fixed:", "Cannot read the mind spec 'fixed:' (nothing follows fixed:). Known forms: cl"),
        ("fixed", "Cannot read the mind spec 'fixed'"),
        ("llm:", "Cannot read the mind spec 'llm:'"),
        ("llm:@http://127.0.0.1:1/v1", "Cannot read the mind spec 'llm:@http"),
        ("llm:@router", "Cannot read the mind spec 'llm:@router' (it names no model)"),
        ("", "Cannot read the mind spec ''"),
        ("gpt-4o", "Cannot read the mind spec 'gpt-4o'"),
        (" ", "Cannot read the mind spec ' ' (it is empty)"),
        ("classical:", "Cannot read the mind spec 'classical:' (nothing follows classical:)"),
        ("llm:a@", "'' after the @ is neither an address (http://…) nor the name of an endpoint"),
        ("llm:@", "'' after the @ is neither"),
        ("llm:a@localhost:8000/v1", "'localhost:8000/v1' after the @ is neither an address"),
        ("llm:a@127.0.0.1", "'127.0.0.1' after the @ is neither an address"),
        ("llm: a", "(a name holds no space)"),
        (7, "a method answer(ask), not 7."),
        (ScriptedMind, "a method answer(ask), not <class"),
        ([object(), "fixed:1", "fixed:1"], "a method answer(ask), not <object"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_population_that_cannot_be_made(minds, message) -> None:
    with pytest.raises(MindSpecError) as refused:
        tiny(n=3, minds=minds, rng=1)

    assert message in str(refused.value)


def test_a_population_as_it_is_recorded() -> None:
    mind = ScriptedMind([], spec="mine")

    assert by_spec("classical") == "classical"
    assert by_spec(mind) == "mine"
    assert by_spec([mind, "classical"]) == ["mine", "classical"]
    assert by_spec({mind: 1, "classical": 2, ScriptedMind([], spec="mine"): 3}) == {
        "mine": 4,
        "classical": 2,
    }


# Classical minds.


def test_every_agent_has_a_classical_mind_of_its_own() -> None:
    model = KeynesianBeautyContest(n_players=3, minds="classical", rng=1)

    assert len({id(player.mind) for player in model.players}) == 3
    assert [player.mind.spec for player in model.players] == ["classical"] * 3


def test_a_classical_mind_is_named() -> None:
    named = KeynesianBeautyContest(n_players=2, minds="classical:level_k", rng=1)
    default = KeynesianBeautyContest(n_players=2, minds="classical:default", rng=1)

    assert [player.mind.spec for player in named.players] == ["classical:level_k"] * 2
    assert [player.mind.spec for player in default.players] == ["classical"] * 2


def test_a_classical_mind_that_the_scenario_does_not_have() -> None:
    with pytest.raises(UnknownName) as unknown:
        KeynesianBeautyContest(minds="classical:level-k")

    assert "classical mind of kbc 'level-k'. Did you mean 'level_k'?" in str(unknown.value)
    with pytest.raises(MindSpecError, match=r"^The scenario tiny has no classical mind \(class "):
        tiny(minds="classical")


def three(_: Ask) -> int:
    """Always picks three."""
    return 3


class Ruled(Tiny):
    classical_minds: ClassVar = {"three": three}


class TwiceRuled(Tiny):
    classical_minds: ClassVar = {**Ruled.classical_minds, "two": Ruled.classical_minds["three"]}


def test_the_only_classical_mind_is_the_default_one(tmp_path) -> None:
    model = Ruled(n=2, rng=1, recording=tmp_path / "r.sqlite")
    model.run_model()

    assert [cell.mind.spec for cell in model.cells] == ["classical:three"] * 2
    assert model.log == [(1, 3), (2, 3)]
    assert replay(tmp_path / "r.sqlite", scenario=Ruled).models[0].log == model.log
    assert rule_of(model.classical_of(type(model.cells[0]))["three"]) is three


def test_without_a_default_one_of_several_classical_minds_is_to_be_named() -> None:
    with pytest.raises(MindSpecError) as refused:
        TwiceRuled(n=2, rng=1)

    assert str(refused.value) == (
        "The scenario tiny has no default mind: name one of classical:three, classical:two, or "
        "another, such as llm:MODEL."
    )
    assert [cell.mind.spec for cell in TwiceRuled(n=1, minds="classical:two").cells] == [
        "classical:two"
    ]


# Fixed and scripted minds.


def test_a_fixed_mind_always_answers_the_same_and_is_shared() -> None:
    model = tiny(communication(order="fixed"), action(), n=2, n_rounds=2, minds="fixed:9", rng=1)
    model.run_model()

    assert model.log == [(1, "9"), (2, "9"), (1, 9), (2, 9)] * 2
    assert model.cells[0].mind is model.cells[1].mind


def test_a_fixed_answer_that_no_question_can_take_is_refused() -> None:
    class Asked(Tiny):
        prompts: ClassVar = {"scenario": "You are asked.", "act": "{{ form }}"}

    for model, spec in [(Asked, "fixed:left"), (Tiny, "fixed:act=left")]:
        with pytest.raises(MindSpecError) as refused:
            model(n=2, minds=spec, rng=1).step()
        assert str(refused.value).endswith(
            f": {spec!r} cannot answer 'act': \"left\" is not a number. Name a legal value, or "
            "fixed:none for answers that cannot be used."
        )
    tiny(communication(), action(), n=2, minds="fixed:left", rng=1).step()  # it may be said


def test_a_fixed_answer_that_is_not_legal_is_invalid() -> None:
    model = tiny(n=2, minds="fixed:none", rng=1)
    model.step()

    assert model.log == [(1, None), (2, None)]
    assert model.usage.invalid == 2


def test_a_fixed_answer_may_hold_a_colon() -> None:
    assert specs(n=1, minds="fixed:a:b") == ["fixed:a:b"]
    assert FixedMind(3).spec == "fixed:3"


def test_fixed_answers_may_differ_by_question() -> None:
    spec = "fixed:communicate=hello, you, act=3"
    model = tiny(communication(), action(), n=2, minds=spec, rng=1)
    model.step()

    assert set(model.log) == {(1, 3), (1, "hello, you"), (2, 3), (2, "hello, you")}
    assert specs(n=1, minds=spec) == [spec]


def test_a_question_without_a_fixed_answer_is_named() -> None:
    with pytest.raises(MindError) as failed:
        tiny(communication(), action(), n=1, minds="fixed:act=3", rng=1).step()

    assert "'fixed:act=3' has no answer to the question 'communicate': add communicate=" in str(
        failed.value
    )


def test_a_script_may_have_a_list_for_each_question() -> None:
    mind = ScriptedMind({"act": ["1", "2"], "communicate": ["a", "b"]})
    model = tiny(communication(order="fixed"), action(), n=2, minds=mind, rng=1)
    model.step()

    assert model.log == [(1, "a"), (2, "b"), (1, 1), (2, 2)]


@pytest.mark.parametrize(
    ("script", "agent"), [(["1"], 2), ({"act": ["1", "2"]}, 3), ({"other": ["1"]}, 1)]
)
def test_a_script_that_runs_out_fails_the_run(script, agent) -> None:
    model = tiny(n=3, minds=ScriptedMind(script, spec="mine"), rng=1)
    with pytest.raises(MindError) as raised:
        model.step()

    assert str(raised.value) == (
        f"The script of 'mine' has run out at round 0, act, agent {agent} (act)."
    )


# Language models behind a scripted client.


def test_a_language_model_is_asked_with_the_messages_and_the_settings() -> None:
    client = ScriptedClient(["I said 5", completion("5", model="served", prompt_tokens=7)])
    mind = LLMMind("m", client, LLMSettings(temperature=0.5, max_tokens=9, top_p=0.9))
    model = tiny(n=1, minds=mind, rng=1, recording=False)
    model.step()

    first, again = client.requests
    assert (first.model, first.temperature, first.max_tokens, first.top_p) == ("m", 0.5, 9, 0.9)
    assert [role for role, _ in first.messages] == ["system", "user"]
    assert again.messages[:2] == first.messages
    assert again.messages[2] == ("assistant", "I said 5")
    assert first.schema is None
    assert model.values == {1: 5}
    assert model.usage.prompt_tokens == 7
    assert mind.spec == "llm:m"


def test_the_digest_of_each_request_is_recorded(tmp_path) -> None:
    client = ScriptedClient(["I said 5", "5"])
    path = tmp_path / "r.sqlite"
    tiny(n=1, minds=LLMMind("m", client), rng=1, recording=path).step()

    recorded = rows(path, "SELECT request FROM asks ORDER BY attempt")
    assert recorded == [(request.digest(),) for request in client.requests]


def test_an_llm_spec_names_model_and_endpoint(monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = tiny(n=2, minds="llm:org/m@http://127.0.0.1:9/v1", temperature=0.2, rng=1)
    mind = model.cells[0].mind

    assert (mind.model, mind.spec) == ("org/m", "llm:org/m@http://127.0.0.1:9/v1")
    assert mind.settings == LLMSettings(temperature=0.2)
    assert model.cells[1].mind is mind


# Personas.


def personas(**given):
    return [cell.persona for cell in tiny(minds="fixed:1", **given).cells]


def test_a_mapping_of_personas_is_spread_in_an_order_drawn_from_the_seed() -> None:
    mix = {"calm": 5, "nervous": 4, "none": 1}
    drawn = [personas(n=10, personas=mix, rng=seed) for seed in range(5)]

    assert all(Counter(each) == mix for each in drawn)
    assert len({tuple(each) for each in drawn}) > 1
    assert drawn[3] == personas(n=10, personas=mix, rng=3)


@pytest.mark.parametrize("given", ["grumpy", ["calm", "grumpy"], {"grumpy": 2}], ids=str)
def test_an_unknown_persona(given) -> None:
    with pytest.raises(UnknownName, match="Unknown persona 'grumpy'"):
        personas(n=2, personas=given, rng=1)


def test_personas_that_do_not_add_up() -> None:
    with pytest.raises(MindSpecError, match="personas: 3 are given for 2 agents"):
        personas(n=2, personas={"calm": 3}, rng=1)


def test_an_object_with_the_one_method_is_a_mind() -> None:
    class Seven:
        async def answer(self, ask):
            return 7 if ask.name == "act" else "seven"

    model = tiny(n=3, minds=Seven(), rng=1, recording=False)
    model.step()

    (mind,) = {agent.mind for agent in model.population}
    assert (mind.spec, mind.instant, mind.paid) == ("Seven", False, True)
    assert model.minds_in_use() == {"Seven": 3}
    assert model.usage.invalid == 0


def test_a_subclass_of_mind_has_to_answer_and_has_defaults_for_the_rest() -> None:
    class Nine(Mind):
        async def answer(self, ask):
            return 9 if ask.name == "act" else "nine"

    class Named(Nine):
        spec = "nine:named"

    model = tiny(n=2, minds=[Nine(), Named()], rng=1, recording=False)
    model.step()

    assert model.minds_in_use() == {"Nine": 1, "nine:named": 1}
    assert model.values == {1: 9, 2: 9}
    mind, ask = Nine(), question()
    assert (mind.instant, mind.paid, mind.informed) == (False, True, ())
    assert (mind.answer_format, mind.version) == (None, None)
    assert mind.digest(ask) == ask.digest()
    with pytest.raises(TypeError, match="answer"):
        Mind()


def test_what_an_object_of_ones_own_says_of_itself_holds() -> None:
    class Own:
        spec, instant, paid, informed, answer_format = "mine", True, False, ("market",), "json"

        async def answer(self, ask):
            return 5 if ask.answer_format == "json" else 6

        def digest(self, ask):
            return f"hash of {ask.name}"

    model = tiny(n=1, minds=Own(), rng=1, recording=False)
    model.step()
    (mind,) = (agent.mind for agent in model.population)

    assert (mind.spec, mind.instant, mind.paid, mind.informed) == (
        "mine", True, False, ("market",)
    )  # fmt: skip
    assert mind.digest(question()) == "hash of act"
    assert model.values == {1: 5}


@pytest.mark.parametrize("informed", [True, "market", (1,)])
def test_a_mind_that_knows_more_names_the_fields(informed) -> None:
    class Own:
        async def answer(self, ask):
            return len(ask.name)

    mind = Own()
    mind.informed = informed
    with pytest.raises(MindSpecError, match=r"`informed` of the mind 'Own' is a tuple of names"):
        tiny(n=1, minds=mind, rng=1, recording=False)


def test_minds_are_closed_once_the_run_has_ended() -> None:
    class Holder(Mind):
        closed = 0

        async def answer(self, ask):
            assert not self.closed
            return "5" if ask.name == "act" else "five"

        def close(self):
            self.closed += 1

    mind = Holder()
    model = tiny(n=1, n_rounds=2, minds=mind, rng=1, recording=False)
    model.step()
    assert not mind.closed
    model.step()
    assert mind.closed == 1


def test_a_plain_method_answers_as_an_async_one_does() -> None:
    class Chatty:
        def answer(self, ask):
            return f"I choose {33 + ask.key.round}."

    class Late:
        def answer(self, ask):
            async def later():
                return 33 + ask.key.round

            return later()

    for mind in (Chatty(), Late()):
        model = KeynesianBeautyContest(n_players=3, n_rounds=1, minds=mind, rng=1, recording=False)
        model.run_model()
        assert model.agent_frame()["choice"].tolist() == [33, 33, 33]
