"""Simulated deaths at every boundary of an ask: of runs, of forks, and of what resumes them."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Iterator
from functools import partial
from math import ceil
from pathlib import Path
from random import Random

from sabm_mesa.runs.run import Runs
from tests.chaos.bill import DIED, Bill
from tests.chaos.outcomes import Outcome, read, write
from tests.chaos.points import ANSWERED, COMMITTING, IN_USE, POINTS, SENDING, TORN, Fate, be_mortal
from tests.chaos.processes import DEATH, at_once, do, last_line, settle
from tests.chaos.studies import (
    FILE,
    PARENT,
    STUDIES,
    Data,
    Study,
    data_of,
    difference,
    entered,
    go_on,
    own_minds,
    warm_up,
)

RUN, FORK, RESUME = KINDS = ("run", "fork", "resume")
BILL, DATA, REACHED = "bill", "data", "reached"


class Block:
    """All deaths of one kind in a study with one seed.

    Args:
        study: the study.
        kind: what dies.
        seed: the seed of its first run.
        folder: a folder of its own.
    """

    def __init__(self, study: Study, kind: str, seed: int, folder: Path) -> None:
        self.study, self.kind, self.seed, self.folder = study, kind, seed, folder
        self._template, self._said = folder / "template", folder / "said.txt"
        self._expected: Data = {}

    def outcomes(self, most: int) -> Iterator[Outcome]:
        """Die at every point every time, or at this many of these boundaries that are drawn."""
        boundaries = self._prepare()
        Random(f"{self.seed}/{self.kind}").shuffle(boundaries)
        for point, number in boundaries[:most]:
            place = self.folder / "trial"
            shutil.copytree(self._template, place)
            self._said.unlink(missing_ok=True)
            outcome = self._die(Fate(point, number), place)
            shutil.rmtree(place)
            if outcome is not None:
                yield outcome

    def _prepare(self) -> list[tuple[str, int]]:
        """The start of a death, the expected outcome, and the times that each point is reached."""
        self._template.mkdir(parents=True)
        reached = self._uninterrupted(RUN)
        if self.kind == FORK:
            shutil.copy(self.folder / RUN / FILE, self._template / PARENT)
            reached = self._uninterrupted(FORK)
        expected = self.folder / (FORK if self.kind == FORK else RUN) / DATA
        self._expected = pickle.loads(expected.read_bytes())
        if self.kind == RESUME:
            draw = Random(self.seed)
            point = draw.choice((SENDING, ANSWERED, COMMITTING, TORN, IN_USE))
            first = Fate(point, draw.randint(1, ceil(reached[point] / 2)))
            self._must(DEATH, self._attempt(RUN, first, self._template))
            Bill(self._template / BILL).note(DIED)
            reached = self._uninterrupted(RESUME)
        return [(point, n) for point in POINTS for n in range(1, reached.get(point, 0) + 1)]

    def _uninterrupted(self, kind: str) -> dict[str, int]:
        place = self.folder / kind
        shutil.copytree(self._template, place)
        self._must(0, self._attempt(kind, Fate(), place))
        reached: dict[str, int] = json.loads((place / REACHED).read_text("utf-8"))
        return reached

    def _must(self, wanted: int, status: int) -> None:
        if status != wanted:
            raise RuntimeError(f"ended with {status}, not {wanted}: {last_line(self._said)}")

    def _attempt(self, kind: str, fate: Fate, place: Path) -> int:
        def work() -> None:
            bill = Bill(place / BILL)
            be_mortal(fate, bill)
            done = self._act(kind, bill, fate, place)
            (place / DATA).write_bytes(pickle.dumps(data_of(done, place / FILE)))
            (place / REACHED).write_text(json.dumps(fate.reached), "utf-8")

        return do(work, self._said)

    def _act(self, kind: str, bill: Bill, fate: Fate, place: Path) -> Runs:
        own = own_minds(bill, fate)
        if kind == RUN:
            return self.study.play(place, self.seed, own)
        return self.study.branch(place, own) if kind == FORK else go_on(place, own)

    def _die(self, fate: Fate, place: Path) -> Outcome | None:
        """Die, go on, and compare; None when the process never came to that point."""
        status = self._attempt(self.kind, fate, place)
        if status == 0:
            return None
        bill = Bill(place / BILL)
        bill.note(DIED)
        problem = ""
        if status != DEATH:
            problem = f"it was to die and ended with {status}: {last_line(self._said)}"
        elif (status := do(partial(self._finish, bill, place), self._said)) != 0:
            problem = f"going on ended with {status}: {last_line(self._said)}"
        if problem:
            problem = f"{self.study.scenario}, seed {self.seed}, {self.kind}, {fate}: {problem}"
        account = bill.account()
        return Outcome(
            self.study.scenario, self.kind, fate.point or "", account.in_flight, account.twice,
            account.beyond, problem,
        )  # fmt: skip

    def _finish(self, bill: Bill, place: Path) -> None:
        """Go on with what was entered, or begin again, and compare."""
        be_mortal(Fate(), bill)
        done = self._act(RESUME if entered(place) else self.kind, bill, Fate(), place)
        if found := difference(self._expected, data_of(done, place / FILE)):
            raise AssertionError(found)


def die_at_boundaries(deaths: int, seed: int, processes: int, folder: Path) -> list[Outcome]:
    """At least this many deaths: at every boundary of every study, for one seed after another.

    Args:
        deaths: how many; of a seed that would exceed them only a part is drawn.
        seed: the first seed.
        processes: how many blocks at once.
        folder: for all files.
    """
    warm_up()
    settle()
    outcomes: list[Outcome] = []
    while len(outcomes) < deaths:
        blocks = [
            Block(study, kind, seed, folder / f"{seed}-{number}-{kind}")
            for number, study in enumerate(STUDIES)
            for kind in KINDS
        ]
        most = ceil((deaths - len(outcomes)) / len(blocks))
        results = folder / f"outcomes-{seed}"
        statuses = at_once(
            (partial(_work_through, block, most, results) for block in blocks),
            processes,
            folder / "said.txt",
        )
        if any(statuses):
            raise RuntimeError(f"A block of deaths failed: {last_line(folder / 'said.txt')}")
        outcomes += read(results)
        seed += 100  # the runs of one command have seeds in a row
    return outcomes


def _work_through(block: Block, most: int, results: Path) -> None:
    write(block.outcomes(most), results)
    shutil.rmtree(block.folder)
