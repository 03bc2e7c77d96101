"""What workers and the process that started them tell each other, with both in this process."""

import logging
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from sabm_mesa import Budget, Connection, KeynesianBeautyContest
from sabm_mesa.core import engine
from sabm_mesa.core.usage import Usage
from sabm_mesa.errors import BudgetExceeded, RunError
from sabm_mesa.llm import close_all, limiter_of
from sabm_mesa.llm.limit import START
from sabm_mesa.minds.scripted import FixedMind
from sabm_mesa.recording import Recording, load_runs
from sabm_mesa.recording.statistics import lost_answers
from sabm_mesa.recording.store import INSERT_MODEL_DATA
from sabm_mesa.runs.planned import RunSpec
from sabm_mesa.runs.run import run_models
from sabm_mesa.runs.workers import (
    MessageQueue,
    Worker,
    WorkerMessage,
    WorkerStart,
    _WorkerLink,
    may_leave,
    play_on_workers,
)
from tests.core.support import rows
from tests.llm_server import LLMServer

from .sweeps import Failing

NOWHERE = "http://127.0.0.1:9"
LLM = {"minds": "llm:stub", "n_rounds": 2, "n_players": 3}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_all()


def copied(messages: Sequence[WorkerMessage]) -> Sequence[WorkerMessage]:
    """The messages as they arrive in another process."""
    arrived: Sequence[WorkerMessage] = pickle.loads(pickle.dumps(messages))
    return arrived


class Here(Worker):
    """A worker in this process, which carries its messages itself."""

    def __init__(self) -> None:
        root = logging.getLogger()
        before = root.handlers
        super().__init__()
        (self.forwards,), root.handlers = root.handlers, before
        self.killed = False

    def write(self, messages: Sequence[WorkerMessage]) -> None:
        """Nothing arrives after its end."""
        if not self.killed:
            self.deliver(copied(messages))

    def read(self) -> Sequence[WorkerMessage] | None:
        """None after its end."""
        messages = self.collect()
        return None if self.killed else copied(messages)

    def kill(self) -> None:
        """It stops its runs, about which nobody hears any more."""
        self.killed = True
        self.deliver([("stop", 0, ())])
        self._link.queue.close()


class Scripted:
    """A carrier without a worker: it keeps what it is told, and answers by a function of it."""

    def __init__(self, answer: Callable[[WorkerMessage], list[WorkerMessage] | None]) -> None:
        self.told: list[WorkerMessage] = []
        self.arrived: SimpleQueue[WorkerMessage] = SimpleQueue()
        self.says: SimpleQueue[Sequence[WorkerMessage] | None] = SimpleQueue()
        self.answer, self.kills = answer, 0

    def write(self, messages: Sequence[WorkerMessage]) -> None:
        for message in messages:
            self.told.append(message)
            self.arrived.put(message)
            answers = self.answer(message)
            if answers is None or answers:
                self.says.put(answers)

    def read(self) -> Sequence[WorkerMessage] | None:
        return self.says.get()

    def kill(self) -> None:
        self.kills += 1
        self.says.put(None)

    def hears(self) -> WorkerMessage:
        """The next message that arrives."""
        return self.arrived.get(timeout=60)


def planned(n: int, scenario: Any = KeynesianBeautyContest, **given: Any) -> list[RunSpec]:
    return RunSpec(scenario, {**LLM, **given}, 1).with_seeds(range(1, n + 1))


def played(
    path: Path, specs: Sequence[RunSpec], carriers: Sequence[Any], **how: Any
) -> tuple[list[int], list[int]]:
    """How many runs were left after each one, and how many workers were asked for."""
    left, asked = [], []

    @contextmanager
    def opened_workers(n: int) -> Iterator[Sequence[Any]]:
        asked.append(n)
        yield carriers

    with Recording(path) as opened:
        play_on_workers(specs, opened, Connection(**how), opened_workers, left.append)
    return left, asked


# Whole runs on workers in this process.


def test_runs_on_workers_are_the_runs_without_them(tmp_path: Path) -> None:
    specs, budget = planned(3), Budget(max_asks=1000)
    with LLMServer() as server:
        with Recording(tmp_path / "a.sqlite") as opened:
            run_models([spec.build(opened, Connection(server.url)) for spec in specs])
        asked = server.stats["requests"]
        left, n = played(
            tmp_path / "b.sqlite", specs, [Here(), Here()], base_url=server.url, budget=budget
        )
        limiter = limiter_of(Connection(server.url).endpoint().identity)

        assert (sorted(left, reverse=True), n) == ([2, 1, 0], [3])
        assert server.stats["requests"] == 2 * asked
        assert (limiter.in_flight, limiter.places >= START) == (0, True)
        assert (budget.spent.asks, budget.reserved.asks) == (asked, 0)
    assert lost_answers(tmp_path / "b.sqlite", range(3)) == lost_answers(
        tmp_path / "a.sqlite", range(3)
    )
    both = [load_runs(tmp_path / f"{name}.sqlite") for name in "ab"]
    for one, other in zip(*both, strict=True):
        assert one.model_data == other.model_data
        assert len(one.asks) == len(other.asks) > 0
        assert (one.status, other.status) == ("finished", "finished")


def test_all_workers_keep_within_one_cap_and_what_is_paid_is_recorded(tmp_path: Path) -> None:
    path, budget = tmp_path / "run.sqlite", Budget(max_asks=5)
    with LLMServer() as server, pytest.raises(BudgetExceeded):
        played(path, planned(2), [Here(), Here()], base_url=server.url, budget=budget)

    assert server.stats["status_200"] == budget.spent.asks == 5
    assert rows(path, "SELECT count(*) FROM asks") == [(5,)]
    assert budget.reserved.asks == 0


def test_a_ceiling_holds_for_all_workers_together(tmp_path: Path) -> None:
    with LLMServer(latency=0.002) as server:
        played(tmp_path / "run.sqlite", planned(2, n_rounds=1), [Here(), Here()],
               base_url=server.url, max_concurrency=1)  # fmt: skip

        assert server.max_in_flight == 1


def test_a_worker_that_is_lost_gives_back_what_it_held(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, budget, workers = tmp_path / "run.sqlite", Budget(max_asks=1000), [Here(), Here()]
    with LLMServer() as server:
        server.hold()
        end = threading.Thread(target=lambda: lose_one(server, workers))
        end.start()
        left, _ = played(path, planned(4), workers, base_url=server.url, budget=budget)
        end.join()
        limiter = limiter_of(Connection(server.url).endpoint().identity)

        assert left == [1, 0]
        assert limiter.in_flight == 0
    states = sorted(run.status for run in load_runs(path))
    assert states[:2] == ["finished"] * 2
    assert "finished" not in states[2:]
    assert budget.reserved.asks == 0
    assert budget.spent.asks == 2 * 9 + 6  # the requests of the lost runs may have been billed
    assert "(2)" in caplog.text


def lose_one(server: LLMServer, workers: Sequence[Here]) -> None:
    server.wait_until(lambda server: server.in_flight == 12)
    workers[0].kill()
    server.release()


def test_a_run_that_fails_ends_the_others_and_is_told(tmp_path: Path) -> None:
    specs = RunSpec(Failing, {"minds": "fixed:7"}, 1).with_seeds([1, 2, 3])
    with pytest.raises(RunError, match="nothing to share"):
        played(tmp_path / "run.sqlite", specs, [Here()])


def test_what_a_worker_logs_is_logged_here_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = Here(), Here()
    logger = logging.getLogger("of.a.worker")
    logger.propagate = False
    for worker in (one, other):
        logger.addHandler(worker.forwards)
    here = logging.getLogger("of.a.worker")
    here.addHandler(caplog.handler)
    logger.info("nothing to say")
    logger.warning("%d fish", 3)
    logger.error("4 fish")
    try:
        played(tmp_path / "run.sqlite", planned(1, minds="fixed:7"), [one, other])
    finally:
        logger.handlers.clear()
        logger.propagate = True

    said = [each.getMessage() for each in caplog.records if each.name == "of.a.worker"]
    assert [said.count("3 fish"), said.count("4 fish")] == [2, 2]  # by the logger, and forwarded
    assert "nothing to say" not in said


# The runs of each worker.


def ready(message: WorkerMessage) -> list[WorkerMessage]:
    """A worker that plays nothing."""
    return [("ready", 0, ())] if message[0] == "start" else []


def playing(message: WorkerMessage) -> list[WorkerMessage]:
    """A worker that plays at once."""
    what, _, given = message
    return [("ended", 0, (given[0], None))] if what == "play" else ready(message)


def lost(message: WorkerMessage) -> list[WorkerMessage] | None:
    """A worker that is lost with its first run."""
    return None if message[0] == "play" else ready(message)


def of_kind(carrier: Scripted, kind: str) -> list[tuple[Any, ...]]:
    return [given for what, _, given in carrier.told if what == kind]


def test_a_worker_is_told_how_to_reach_models_and_what_it_has_to_play(tmp_path: Path) -> None:
    specs, path = planned(3), tmp_path / "run.sqlite"
    carrier = Scripted(playing)
    left, n = played(path, specs, [carrier], base_url=NOWHERE, budget=Budget(max_asks=9),
                     max_retries=4)  # fmt: skip
    ((start,),) = of_kind(carrier, "start")

    assert (left, n) == ([2, 1, 0], [3])
    assert isinstance(start, WorkerStart)
    assert (start.worker, start.path) == (1, path)
    assert start.caps == {"max_usd": None, "max_asks": 9, "max_tokens": None}
    assert (start.connection["base_url"], start.connection["max_retries"]) == (NOWHERE, 4)
    assert not {"budget", "batches", "limits", "limiters"} & start.connection.keys()
    assert [(i, run) for i, _, run in of_kind(carrier, "play")] == [(0, 0), (1, 1), (2, 2)]
    assert [spec for _, spec, _ in of_kind(carrier, "play")] == specs
    assert carrier.kills == 1
    ((session,),) = {*rows(path, "SELECT DISTINCT session FROM runs")}
    assert str(session)


@pytest.mark.parametrize(("n", "shares"), [(1, [1, 0]), (2, [1, 1]), (3, [2, 1]), (4, [2, 2])])
def test_runs_are_shared_out_evenly(n: int, shares: list[int], tmp_path: Path) -> None:
    carriers = [Scripted(ready), Scripted(ready)]
    done = threading.Event()

    def finish() -> None:
        """The second worker is ready when the first one has its share; then all runs end."""
        first, second = carriers
        for carrier, share in zip((first, second), shares, strict=True):
            if carrier is second:
                second.says.put([("ready", 0, ())])
            assert carrier.hears()[0] == "start"
            runs = [carrier.hears()[2][0] for _ in range(share)]
            held.extend((carrier, run) for run in runs)
        for carrier, run in held:
            carrier.says.put([("ended", 0, (run, None))])
        done.set()

    held: list[tuple[Scripted, int]] = []
    carriers[1].answer = lambda _: []
    thread = threading.Thread(target=finish)
    thread.start()
    left, _ = played(tmp_path / "run.sqlite", planned(n), carriers, base_url=NOWHERE)
    thread.join()

    assert done.is_set()
    assert sorted(run for _, run in held) == list(range(n))
    assert left == list(reversed(range(n)))


def test_no_run_is_played_without_a_worker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    carriers = [Scripted(lost), Scripted(lost)]
    left, _ = played(tmp_path / "run.sqlite", planned(4), carriers, base_url=NOWHERE)

    assert left == []
    assert [len(of_kind(carrier, "play")) for carrier in carriers] == [2, 2]
    assert caplog.text.count("(2)") == 2


def test_the_others_play_on_when_one_is_lost(tmp_path: Path) -> None:
    carriers = [Scripted(lambda message: None if message[0] == "start" else []), Scripted(playing)]
    left, _ = played(tmp_path / "run.sqlite", planned(3), carriers, base_url=NOWHERE)

    assert left == [2, 1, 0]


def test_a_failed_run_stops_those_that_are_playing(tmp_path: Path) -> None:
    def fails(message: WorkerMessage) -> list[WorkerMessage]:
        what, _, given = message
        if what == "play":
            return [("ended", 0, (given[0], RunError("no more")))] if given[0] == 0 else []
        return [("ended", 0, (1, None))] if what == "stop" else ready(message)

    carriers = [Scripted(fails), Scripted(fails)]
    with pytest.raises(RunError, match="no more"):
        played(tmp_path / "run.sqlite", planned(2), carriers, base_url=NOWHERE)

    assert [len(of_kind(carrier, "stop")) for carrier in carriers] == [1, 1]
    assert [carrier.kills for carrier in carriers] == [1, 1]


@pytest.mark.parametrize(
    ("minds", "how", "leaves"),
    [
        ("llm:stub", {}, True),
        ("llm:stub", {"share_requests": True}, False),
        ({"llm:stub": 2, FixedMind("7"): 1}, {}, False),
        ({"llm:stub": 2, "fixed:7": 1}, {}, True),
    ],
    ids=["a server", "shared requests", "an object", "specs"],
)
def test_which_runs_may_leave_this_process(minds: Any, how: dict[str, Any], leaves: bool) -> None:
    (spec,) = planned(1, minds=minds)

    assert may_leave(spec.build(False, Connection(NOWHERE, **how))) is leaves


@pytest.mark.parametrize(
    ("spec", "leaves"),
    [("local", False), ("gguf:m.gguf", False), ("py:m.py", False), ("human", False),
     ("llm:human", True), ("embedding:local", True)],
)  # fmt: skip
def test_minds_that_need_this_process_keep_their_runs_here(spec: str, leaves: bool) -> None:
    (planned_run,) = planned(1)
    model = planned_run.build(False, Connection(NOWHERE))
    last = model.population[-1]
    last.mind = FixedMind("7")
    last.mind.spec = spec

    assert may_leave(model) is leaves


def test_messages_of_one_turn_are_sent_together() -> None:
    queue = MessageQueue()

    async def put() -> None:
        queue.put("one", 1)
        queue.put("two", 0, "a", "b")

    engine.run(put())
    assert queue.take() == [("one", 1, ()), ("two", 0, ("a", "b"))]
    engine.run(put())
    assert len(queue.take()) == 2
    queue.close()
    assert queue.take() == []


# The process that started a worker.

HELD = ("x", 3)
"""A limiter and the most requests that one run has there at once."""


@pytest.fixture
def link(tmp_path: Path) -> Iterator[tuple[Scripted, Budget, Recording, SimpleQueue[Any]]]:
    carrier, events = Scripted(lambda _: []), SimpleQueue[Any]()
    budget = Budget(max_asks=3)
    with Recording(tmp_path / "run.sqlite") as opened:
        of_worker = _WorkerLink(carrier, opened, Connection(budget=budget), events, set())
        yield carrier, budget, opened, events
        of_worker.close()


def in_turn(carrier: Scripted) -> None:
    """Wait until all that was said before has been done."""
    carrier.says.put([("committed", 99, ())])
    assert carrier.hears() == ("answer", 99, (None, None))


def test_a_place_is_granted_released_and_waited_for(link: Any) -> None:
    carrier, limiter = link[0], limiter_of("x")
    carrier.says.put([("acquire", 1, ("x", 1)), ("acquire", 2, ("x", 1))])
    what, number, (sent, error) = carrier.hears()
    assert (what, number, error, sent > 0) == ("answer", 1, None, True)
    in_turn(carrier)
    assert limiter.in_flight == 1
    carrier.says.put([("release", 0, ("x", 1))])
    assert carrier.hears()[1] == 2
    assert limiter.in_flight == 1


@pytest.mark.parametrize("granted", [True, False])
def test_a_place_for_a_question_that_no_longer_waits_is_free_again(
    link: Any, granted: bool
) -> None:
    carrier, limiter = link[0], limiter_of("x")
    carrier.says.put([("acquire", 1, ("x", 1))])
    assert carrier.hears()[1] == 1
    carrier.says.put([("acquire", 2, ("x", 1))])
    in_turn(carrier)
    number = 1 if granted else 2
    carrier.says.put([("cancel", 0, (number, "acquire", "x", 1))])
    what, answered, (_, error) = carrier.hears()
    assert (what, answered, error) == ("answer", 2, None)
    assert limiter.in_flight == 1
    carrier.says.put([("release", 0, ("x", 1))])
    in_turn(carrier)
    assert limiter.in_flight == 0


def reserved(carrier: Scripted, number: int) -> tuple[Any, Any]:
    carrier.says.put([("reserve", number, (("url", "m"), Usage(asks=1), False))])
    what, answered, (value, error) = carrier.hears()
    assert (what, answered) == ("answer", number)
    return value, error


def test_dollars_and_asks_are_set_aside_settled_and_refused(link: Any) -> None:
    carrier, budget, *_ = link
    (number, most), error = reserved(carrier, 7)
    assert (number, most.asks, error, budget.reserved.asks) == (7, 1, None, 1)
    carrier.says.put([("settle", 0, (7, Usage(asks=1)))])
    in_turn(carrier)
    assert (budget.reserved.asks, budget.spent.asks) == (0, 1)
    for each in (8, 9):
        assert reserved(carrier, each)[1] is None
    assert budget.reserved.asks == 2
    carrier.says.put([("cancel", 0, (8, "reserve", ("url", "m"), Usage(asks=1), False))])
    carrier.says.put([("cancel", 0, (55, "reserve", ("url", "m"), Usage(asks=1), False))])
    in_turn(carrier)
    assert (budget.reserved.asks, budget.spent.asks) == (1, 1)
    carrier.says.put([("settle", 0, (9, Usage(asks=1)))])
    assert reserved(carrier, 10)[1] is None
    carrier.says.put([("settle", 0, (10, Usage(asks=1)))])
    value, error = reserved(carrier, 11)
    assert value is None
    assert isinstance(error, BudgetExceeded)


def test_what_a_lost_worker_held_is_free_and_counts_as_spent(link: Any) -> None:
    carrier, budget, _, events = link
    limiter = limiter_of("x")
    carrier.says.put([("acquire", n, ("x", 2)) for n in (1, 2, 3)])
    assert {carrier.hears()[1] for _ in range(2)} == {1, 2}
    reserved(carrier, 7)
    assert (limiter.in_flight, budget.reserved.asks) == (2, 1)
    carrier.says.put([("ready", 0, ()), ("ended", 0, (4, None))])
    carrier.says.put(None)

    assert [events.get(timeout=60)[1:] for _ in range(3)] == [
        ("ready", ()), ("ended", (4, None)), ("lost", ()),
    ]  # fmt: skip
    assert engine.run(settled(limiter)) == 0
    assert (budget.reserved.asks, budget.spent.asks) == (0, 1)


async def settled(limiter: Any) -> int:
    in_flight: int = limiter.in_flight
    return in_flight


def test_answers_and_refusals_change_the_limit(link: Any) -> None:
    carrier, limiter = link[0], limiter_of("x")
    carrier.says.put([("acquire", n, ("x", 100)) for n in range(1, START + 1)])
    sent = [carrier.hears()[2][0] for _ in range(START)][-1]
    carrier.says.put([("answered", 0, ("x",))])
    in_turn(carrier)
    assert limiter.limit == START + 1
    carrier.says.put([("refused", 0, ("x", sent, None))])
    in_turn(carrier)
    assert limiter.limit < START
    carrier.says.put([("release", 0, ("x", 100))] * START)
    in_turn(carrier)
    assert limiter.in_flight == 0


def test_rows_are_on_disk_before_the_worker_hears_of_it(link: Any) -> None:
    carrier, _, opened, _ = link
    for number, kind in enumerate(("committed", "written"), 1):
        row = (0, number, "{}")
        carrier.says.put([("add", 0, ((INSERT_MODEL_DATA, row),)), ("commit_soon", 0, ()),
                          (kind, number, ()), (kind, number + 10, ())])  # fmt: skip
        assert {carrier.hears()[1:] for _ in range(2)} == {
            (number, (None, None)), (number + 10, (None, None)),
        }  # fmt: skip
    in_turn(carrier)
    assert rows(opened.path, "SELECT count(*) FROM model_data") == [(2,)]


def test_a_text_is_logged_once_for_all_workers(link: Any, caplog: pytest.LogCaptureFixture) -> None:
    carrier = link[0]
    for text in ("3 fish", "100 % fish", "3 fish"):
        carrier.says.put([("log", 0, ("of.worker", logging.ERROR, text))])
    in_turn(carrier)

    said = [(each.name, each.levelname, each.getMessage()) for each in caplog.records]
    assert said == [("of.worker", "ERROR", "3 fish"), ("of.worker", "ERROR", "100 % fish")]
