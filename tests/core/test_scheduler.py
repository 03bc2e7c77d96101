"""Phases: who is asked, in what order, what they see, and what runs at the same time."""

import asyncio
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa import (
    KeynesianBeautyContest,
    ScriptedMind,
    action,
    communication,
)
from sabm_mesa.core.scheduler import await_all
from sabm_mesa.errors import MindError, ParameterError, RunError
from tests.core.support import PICK, Cell, Priced, Tiny, Waiting, neighbours, rows, tiny

RING = [(1, 2), (2, 3), (3, 4), (4, 1)]
CHAIN = [(1, 2), (2, 3)]


def next_value(ask):
    """An answer that depends on all that the agent sees."""
    total = sum(int(pair.partition("=")[2]) for pair in ask.facts.seen.split())
    return str((7 * total + 3 * ask.facts.me + ask.key.round + ask.key.call) % 101)


def test_fixed_order_is_by_id() -> None:
    model = tiny(action(order="fixed"), n=5, minds="fixed:1", rng=3)
    model.step()

    assert [agent for agent, _ in model.log] == [1, 2, 3, 4, 5]


# Order.


def orders(seed, rounds=3, mind="fixed:1"):
    model = tiny(action(order="shuffled"), n=6, n_rounds=rounds, minds=mind, rng=seed)
    model.run_model()
    spoke = [agent for agent, _ in model.log]
    return [spoke[i : i + 6] for i in range(0, len(spoke), 6)]


def test_shuffled_order_is_drawn_every_round_from_the_seed() -> None:
    drawn = orders(seed=1)

    assert all(sorted(order) == [1, 2, 3, 4, 5, 6] for order in drawn)
    assert len({tuple(order) for order in drawn}) == 3
    assert drawn == orders(seed=1)
    assert drawn == orders(seed=1, mind=Waiting(lambda _: "1"))
    assert drawn != orders(seed=2)


def test_an_order_of_ones_own() -> None:
    def backwards(model, agents):
        assert agents == model.cells
        return agents[::-1]

    model = tiny(action(order=backwards), n=4, minds="fixed:1", rng=1)
    model.step()

    assert [agent for agent, _ in model.log] == [4, 3, 2, 1]


# Rules before a question and between phases.


def with_rules(*phases, minds="fixed:7"):
    """A tiny scenario that notes its hooks; cell 2 leaves before it is asked in round 1."""

    class Ruled(Tiny):
        def __init__(self, **settings):
            super().__init__(**settings)
            self.notes = []

        def before_act(self, cell):
            self.notes.append(("before", cell.unique_id, dict(self.values)))
            if self.round == 1 and cell.unique_id == 2:
                cell.remove()

        def between_phases(self, done, coming):
            self.notes.append((done, coming))

        def after_act(self, cell, pick):
            self.notes.append(("after", cell.unique_id))
            super().after_act(cell, pick)

    Ruled.phases = phases
    return Ruled(n=3, n_rounds=2, minds=minds, rng=1)


def test_a_rule_runs_before_each_question_of_a_sequential_phase() -> None:
    model = with_rules(action(order="fixed"))
    model.step()
    steps = [note[:2] for note in model.notes]
    assert steps == [(when, agent) for agent in (1, 2, 3) for when in ("before", "after")]
    assert model.notes[2] == ("before", 2, {1: 7, 2: 0, 3: 0})

    model.notes.clear()
    model.step()
    steps = [note[:2] for note in model.notes]
    assert steps == [
        ("before", 1), ("after", 1), ("before", 2), ("before", 3), ("after", 3),
    ]  # fmt: skip


@pytest.mark.parametrize("minds", ["fixed:7", Waiting(lambda _: "7")])
def test_in_a_simultaneous_phase_the_rule_runs_for_all_before_anybody_is_asked(minds) -> None:
    model = with_rules(action(), minds=minds)
    model.step()
    steps = [note[:2] for note in model.notes]
    assert steps == [(when, agent) for when in ("before", "after") for agent in (1, 2, 3)]

    model.notes.clear()
    model.step()
    assert [note[:2] for note in model.notes][3:] == [("after", 1), ("after", 3)]


# The next agent depends on decisions.


def named_next(model, agents):
    """The first agent, then the one whose number was the last value, until it is 0."""
    by_id = {agent.unique_id: agent for agent in agents}
    turn = agents[0]
    while turn is not None:
        yield turn
        turn = by_id.get(model.values[turn.unique_id])


@pytest.mark.parametrize("mind", [ScriptedMind, Waiting])
def test_an_iterator_gives_the_next_agent_once_the_one_before_was_applied(mind) -> None:
    """1 names 3, 3 names 1, 1 now names 2, and 2 names nobody."""
    names = {(1, 0): "3", (3, 0): "1", (1, 1): "2", (2, 0): "0"}
    seen = []

    def answer(ask):
        seen.append((ask.key.agent, ask.key.call, ask.facts.seen))
        return names[ask.key.agent, ask.key.call]

    phase = action(order=named_next)
    model = tiny(phase, n=3, edges=CHAIN, minds=mind(answer), rng=1)
    model.step()

    assert model.log == [(1, 3), (3, 1), (1, 2), (2, 0)]
    assert [cell.turn for cell in model.cells] == [2, 3, 1]
    assert seen == [
        (1, 0, "1=0 2=0"), (3, 0, "2=0 3=0"), (1, 1, "1=3 2=0"), (2, 0, "1=2 2=0 3=1"),
    ]  # fmt: skip
    assert model.critical_path_asks == 4


def test_an_iterator_counts_attempts_and_may_be_empty() -> None:
    def answer(ask):
        return "0" if ask.rejected else "x"

    model = tiny(action(order=named_next), n=2, minds=ScriptedMind(answer), rng=1)
    model.step()
    nobody = tiny(action(order=lambda _, __: iter(())), n=2, minds="fixed:1", rng=1)
    nobody.step()

    assert (model.log, model.critical_path_asks) == ([(1, 0)], 2)
    assert (nobody.log, nobody.critical_path_asks) == ([], 0)


@pytest.mark.parametrize("options", [{"turns": 2}, {"reach": neighbours}])
def test_an_iterator_has_neither_turns_nor_a_reach(options) -> None:
    model = tiny(action(order=named_next, **options), n=2, minds="fixed:0", rng=1)

    with pytest.raises(ParameterError, match="The order of the phase 'act' is an iterator"):
        model.step()
    assert model.log == []


def test_commutes_says_something_about_a_reach_only() -> None:
    with pytest.raises(ParameterError, match="The phase 'act' has commutes, which has no effect"):
        action(order="fixed", commutes=True)


# Facts.


def seen_by(order, mind):
    seen = {}

    def answer(ask):
        seen[ask.facts.me] = ask.facts.seen
        return str(ask.facts.me * 10)

    model = tiny(action(order=order), n=3, edges=CHAIN, minds=mind(answer), rng=1)
    model.step()
    return seen, model.log


@pytest.mark.parametrize("mind", [ScriptedMind, Waiting])
def test_one_after_another_sees_what_was_done_before(mind) -> None:
    seen, log = seen_by("fixed", mind)

    assert seen == {1: "1=0 2=0", 2: "1=10 2=0 3=0", 3: "2=20 3=0"}
    assert log == [(1, 10), (2, 20), (3, 30)]


@pytest.mark.parametrize("mind", [ScriptedMind, Waiting])
def test_all_at_once_see_the_same_and_are_applied_by_id(mind) -> None:
    seen, log = seen_by("simultaneous", mind)

    assert seen == {1: "1=0 2=0", 2: "1=0 2=0 3=0", 3: "2=0 3=0"}
    assert log == [(1, 10), (2, 20), (3, 30)]


# Participants, rounds, turns.


def test_a_phase_takes_place_when_its_condition_holds() -> None:
    phases = (communication(when=lambda model: model.round % 2 == 1), action())
    model = tiny(*phases, n=2, n_rounds=4, minds="fixed:5", rng=1)
    model.run_model()

    assert [decision for _, decision in model.log] == [5, 5, "5", "5", 5, 5, 5, 5, "5", "5", 5, 5]
    assert model.datacollector.model_vars["asks"] == [2, 4, 2, 4]


@pytest.mark.parametrize("order", ["simultaneous", "fixed"])
def test_a_phase_asks_those_who_take_part(order) -> None:
    def odd(model):
        return [cell for cell in model.cells if cell.unique_id % 2]

    model = tiny(action(order=order, who=odd), n=5, minds="fixed:1", rng=1)
    model.step()

    assert model.log == [(1, 1), (3, 1), (5, 1)]
    assert model.usage.asks == 3


@pytest.mark.parametrize("order", ["simultaneous", "fixed"])
@pytest.mark.parametrize("reach", [None, neighbours])
@pytest.mark.parametrize("mind", [ScriptedMind, Waiting])
def test_nobody_takes_part(order, reach, mind) -> None:
    phase = action(order=order, who=lambda _: [], reach=reach)
    model = tiny(phase, minds=mind(lambda _: "1"), rng=1)
    model.step()

    assert model.log == []
    assert model.critical_path_asks == 0


@pytest.mark.parametrize("reach", [None, neighbours])
@pytest.mark.parametrize("mind", [ScriptedMind, Waiting])
def test_turns_repeat_the_order(reach, mind) -> None:
    calls = []

    def answer(ask):
        calls.append((ask.key.agent, ask.key.call))
        return str(ask.key.call)

    phase = action(order="fixed", turns=3, reach=reach)
    model = tiny(phase, n=2, edges=[(1, 2)], minds=mind(answer), rng=1)
    model.step()

    assert calls == [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2)]
    assert model.log == [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2)]
    assert model.critical_path_asks == 6


# Reach.


@st.composite
def worlds(draw):
    n = draw(st.integers(2, 7))
    pairs = [(a, b) for a in range(1, n + 1) for b in range(a + 1, n + 1)]
    order = draw(st.permutations(range(n)))
    return {
        "n": n,
        "edges": draw(st.lists(st.sampled_from(pairs), unique=True)),
        "order": order,
        "turns": draw(st.integers(1, 2)),
    }


def played(mind, reach, n, edges, order, turns):
    phase = action(order=lambda _, agents: [agents[i] for i in order], reach=reach, turns=turns)
    model = tiny(phase, n=n, edges=edges, n_rounds=2, minds=mind, rng=1)
    model.run_model()
    return model


@given(worlds(), st.integers(0, 10**6))
def test_asking_at_the_same_time_gives_the_result_of_one_by_one(world, seed) -> None:
    strict = played(ScriptedMind(next_value), None, **world)
    together = played(Waiting(next_value, seed), neighbours, **world)

    assert together.values == strict.values
    assert together.datacollector.model_vars == strict.datacollector.model_vars
    assert sorted(together.log) == sorted(strict.log)
    assert together.total == strict.total
    for pair in world["edges"]:
        assert of(pair, together.log) == of(pair, strict.log)


def talked(mind, reach, n, edges, order, turns, commutes=False):
    model = tiny(
        communication(
            order=lambda _, agents: [agents[i] for i in order],
            reach=reach,
            commutes=commutes,
            turns=turns,
        ),
        n=n,
        edges=edges,
        n_rounds=2,
        minds=mind,
        rng=1,
    )
    model.run_model()
    return model


def echo(ask):
    """Words that depend on all that the agent heard, and on the order in which it was said."""
    return f"{crc32(ask.facts.seen.encode()):x} {ask.key.round} {ask.key.call}"


@given(worlds(), st.integers(0, 10**6))
def test_hearers_of_two_speakers_hear_them_in_the_order_of_their_turns(world, seed) -> None:
    strict = talked(ScriptedMind(echo), None, **world)
    together = talked(Waiting(echo, seed), neighbours, **world)

    assert together.heard == strict.heard


@given(worlds(), st.integers(0, 10**6))
def test_where_changes_of_a_third_commute_nobody_waits_for_them(world, seed) -> None:
    """Each hears its neighbours, and sorts what it heard before it speaks."""

    def sorted_echo(ask):
        return f"{crc32(' '.join(sorted(ask.facts.seen.split())).encode()):x} {ask.key.round}"

    strict = talked(ScriptedMind(sorted_echo), None, **world)
    together = talked(Waiting(sorted_echo, seed), neighbours, commutes=True, **world)

    assert {i: sorted(heard) for i, heard in together.heard.items()} == {
        i: sorted(heard) for i, heard in strict.heard.items()
    }
    assert (
        together.critical_path_asks
        <= talked(Waiting(echo, seed), neighbours, **world).critical_path_asks
    )


def one_way(model, cell):
    """A reach that only the agent of the lower id declares."""
    return [each for each in neighbours(model, cell) if each.unique_id > cell.unique_id]


@pytest.mark.parametrize("commutes", [True, False])
@given(world=worlds(), seed=st.integers(0, 10**6))
def test_it_is_enough_when_one_of_two_agents_has_the_other_within_reach(
    commutes, world, seed
) -> None:
    phase = {
        "order": lambda _, agents: [agents[i] for i in world["order"]],
        "turns": world["turns"],
    }
    given_ = {"n": world["n"], "edges": world["edges"], "n_rounds": 2, "rng": 1}
    strict = tiny(action(**phase), minds=ScriptedMind(next_value), **given_)
    together = tiny(
        action(**phase, reach=one_way, commutes=commutes),
        minds=Waiting(next_value, seed),
        **given_,
    )
    strict.run_model()
    together.run_model()

    assert together.values == strict.values


def of(agents, log):
    return [each for each in log if each[0] in agents]


class Gates:
    """A mind whose answers wait until others have been asked."""

    spec, instant, paid = "gates", False, False

    def __init__(self, waits_for) -> None:
        self.waits_for = waits_for
        self.asked = []
        self.arrived = {}

    def _event(self, agent):
        return self.arrived.setdefault(agent, asyncio.Event())

    async def answer(self, ask):
        agent = ask.key.agent
        self.asked.append(agent)
        self._event(agent).set()
        for other in self.waits_for.get(agent, ()):
            await asyncio.wait_for(self._event(other).wait(), timeout=100)
        return str(agent)


def test_an_agent_out_of_reach_starts_before_an_earlier_one_is_done() -> None:
    """1 is done only after 3 was asked, and 3 cannot affect it; 2 has to wait for 1."""
    mind = Gates({1: [3], 2: [], 3: []})
    phase = action(order="fixed", reach=neighbours)
    model = tiny(phase, n=3, edges=[(1, 2)], minds=mind, rng=1)
    model.step()

    assert mind.asked == [1, 3, 2]
    assert {agent for agent, _ in model.log} == {1, 2, 3}
    assert model.log.index((1, 1)) < model.log.index((2, 2))


def test_reach_is_that_of_the_start_of_the_phase() -> None:
    asked = []

    def reach(model, cell):
        asked.append((cell.unique_id, dict(model.values)))
        return model.cells

    phase = action(order="fixed", reach=reach)
    model = tiny(phase, n=2, minds=Waiting(lambda _: "5"), rng=1)
    model.step()

    assert sorted(asked) == [(1, {1: 0, 2: 0}), (2, {1: 0, 2: 0})]


# The critical path.


@pytest.mark.parametrize(
    ("phase", "edges", "longest"),
    [
        (action(), RING, 1),
        (action(order="fixed"), RING, 4),
        (action(order="fixed", turns=2), RING, 8),
        (action(order="fixed", reach=neighbours), RING, 4),
        (action(order="fixed", reach=neighbours), [(1, 2), (3, 4)], 2),
        (action(order="fixed", reach=neighbours), [(1, 4), (2, 3)], 2),
        (action(order="fixed", reach=neighbours), [], 1),
        (action(order="fixed", reach=neighbours, turns=3), [], 3),
        (action(order="fixed", reach=neighbours), [(1, 3), (2, 3)], 3),
        (action(order="fixed", reach=neighbours, commutes=True), [(1, 3), (2, 3)], 2),
    ],
)
def test_the_longest_chain_of_asks(phase, edges, longest) -> None:
    model = tiny(phase, n=4, edges=edges, minds=Waiting(lambda _: "1"), rng=1)
    model.step()

    assert model.critical_path_asks == longest


def test_the_chain_counts_attempts_and_adds_up_over_phases_and_rounds() -> None:
    def answer(ask):
        return "x" if ask.key.agent == 2 and len(ask.rejected) < 2 else "1"

    mind = Waiting(answer)
    once = tiny(action(), n=4, minds=mind, rng=1)
    once.step()
    apart = tiny(action(order="fixed", reach=neighbours), n=4, edges=[(2, 3)], minds=mind, rng=1)
    apart.step()
    both = tiny(communication(), action(), n=4, n_rounds=2, minds=mind, rng=1)
    both.run_model()

    assert once.critical_path_asks == 3
    assert apart.critical_path_asks == 4
    assert both.critical_path_asks == 2 * (4 + 3)


# Failures.


def fails_at(agent):
    def answer(ask):
        if ask.key.agent == agent:
            raise ValueError("no idea")
        return "1"

    return answer


@pytest.mark.parametrize("order", ["simultaneous", "fixed"])
@pytest.mark.parametrize("mind", [ScriptedMind, Waiting])
def test_when_a_mind_fails_the_run_ends_and_says_where(order, mind) -> None:
    model = tiny(action(order=order), n=4, n_rounds=3, minds=mind(fails_at(2)), rng=1)
    with pytest.raises(MindError, match="round 0, act, agent 2: ValueError: no idea"):
        model.step()

    assert not model.running
    assert model.log == ([] if order == "simultaneous" else [(1, 1)])
    model.step()
    assert model.round == 0


@pytest.mark.parametrize("order", ["simultaneous", "fixed"])
@pytest.mark.parametrize("mind", [ScriptedMind, Waiting])
def test_a_part_that_is_not_asynchronous_ends_the_run_wherever_its_agent_stands(
    order, mind, monkeypatch
) -> None:
    late = 5

    def act(cell):
        return 3 if cell.unique_id == late else cell.ask("act", PICK, **cell.facts())

    monkeypatch.setattr(Cell, "act", act)
    model = tiny(action(order=order), n=8, minds=mind(str), rng=1)
    with pytest.raises(RunError, match=r"Cell\.act must be written as `async def`.* it gave 3"):
        model.step()

    assert not model.running
    assert model.in_flight == 0


def test_a_part_that_fails_before_it_waits_ends_the_run_and_leaves_nothing_unawaited(
    monkeypatch, recwarn
) -> None:
    def act(cell):
        if cell.unique_id == 5:
            raise ValueError("no idea")
        return cell.ask("act", PICK, **cell.facts())

    monkeypatch.setattr(Cell, "act", act)
    model = tiny(action(), n=8, minds=Waiting(str), rng=1)
    with pytest.raises(RunError, match="tiny, round 0: ValueError: no idea"):
        model.step()

    assert model.in_flight == 0
    assert not recwarn.list


class Sent(Priced):
    """A paid mind that finishes what was sent although it is stopped, as a client does."""

    def __init__(self, fails, after) -> None:
        super().__init__(lambda ask: str(ask.key.agent))
        self.fails, self.after = fails, after
        self.asked, self.all_sent = [], asyncio.Event()

    async def answer(self, ask):
        self.asked.append(ask.key.agent)
        if len(self.asked) == self.after:
            self.all_sent.set()
        await self.all_sent.wait()
        if ask.key.agent == self.fails:
            raise ValueError("no idea")
        reply = await super().answer(ask)
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            reply.stopped = True
        return reply


def test_what_is_under_way_when_one_fails_is_recorded_and_nothing_starts_anew(tmp_path) -> None:
    """1 to 4 are under way; 5 would follow on 1, 6 on 2."""
    path = tmp_path / "r.sqlite"
    mind = Sent(fails=3, after=4)
    phase = action(order="fixed", reach=neighbours)
    edges = [(1, 5), (2, 6)]
    model = tiny(phase, n=6, edges=edges, minds=mind, rng=1, recording=path)
    with pytest.raises(MindError, match="agent 3"):
        model.step()

    assert mind.asked == [1, 2, 3, 4]
    assert rows(path, "SELECT agent, value FROM asks ORDER BY agent") == [
        (1, "1"),
        (2, "2"),
        (4, "4"),
    ]
    assert model.log == []
    assert rows(path, "SELECT status FROM runs") == [("failed",)]
    assert model.total.prompt_tokens == 30


def test_a_part_that_is_cancelled_alone_stops_the_others() -> None:
    ended = []

    async def cancelled():
        raise asyncio.CancelledError

    async def paying():
        for _ in range(9):
            await asyncio.sleep(0)
        ended.append("paid")

    async def together():
        with pytest.raises(asyncio.CancelledError):
            await await_all(part() for part in (paying, cancelled, paying))

    asyncio.run(together())

    assert ended == []


def test_a_crowd_that_waits_is_asked_all_at_once(tmp_path) -> None:
    """Nobody is answered before everybody has been asked, and each answer is its own."""
    n, asked, over = 2000, [], asyncio.Event()

    class Patient:
        spec, instant, paid = "patient", False, False

        async def answer(self, ask):
            asked.append(ask.key.agent)
            if len(asked) == n:
                over.set()
            await over.wait()
            return ask.key.agent % 101

    path = tmp_path / "r.sqlite"
    model = KeynesianBeautyContest(n_players=n, n_rounds=1, minds=Patient(), rng=1, recording=path)
    model.run_model()

    assert asked == list(range(1, n + 1))
    assert [player.choice for player in model.players] == [i % 101 for i in range(1, n + 1)]
    assert rows(path, "SELECT count(*), sum(value) FROM asks") == [
        (n, sum(player.choice for player in model.players))
    ]
    assert model.in_flight == 0
    assert model.critical_path_asks == 1
