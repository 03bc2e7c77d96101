"""CPU time of instant minds (of an ask, many runs and a replay), and of commands.

Other programs on the machine raise the CPU time of the same work. So each number and its
counterpart are measured in turn, each time in a new process, and the minimum of all passes counts.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.results import FOLDER, Result

ROOT = FOLDER.parent
BEFORE = "f570cb0"
"""The revision to compare with: the last one before this benchmark existed."""
PASSES = 3
_HEAD = """
import sys, time
from sabm_mesa import BertrandCompetition, EmergencyEvacuation, KeynesianBeautyContest, replay
KeynesianBeautyContest(rng=0, recording=False).run_model()
def played(model):
    began = time.process_time()
    model.run_model()
    return time.process_time() - began, model.total.asks
def cost(runs):
    seconds, asks = map(sum, zip(*runs))
    return seconds / asks * 1e6
"""
WORK = {
    "KBC": "cost(played(KeynesianBeautyContest(rng=s, recording=False)) for s in range(40))",
    "evacuation": (
        "cost(played(EmergencyEvacuation(n_rounds=20, rng=s, recording=False)) for s in range(2))"
    ),
    "Bertrand": "cost([played(BertrandCompetition(n_rounds=400, rng=1, recording=False))])",
    "evacuation of 10,000": "ten_thousand()",
    "KBC, recorded": (
        "cost(played(KeynesianBeautyContest(rng=s, recording=f'{sys.argv[1]}/{s}.sqlite')) "
        "for s in range(20))"
    ),
}
"""Game → an expression for the CPU time of an ask in microseconds."""
_TEN_THOUSAND = """
def ten_thousand():
    model = EmergencyEvacuation(n_people=10_000, width=200, height=200, n_rounds=51, rng=1)
    model.step()  # in the first round, everyone plans
    asks, began = model.total.asks, time.process_time()
    for _ in range(3):
        model.step()
    return (time.process_time() - began) / (model.total.asks - asks) * 1e6
"""
_CHECK = """
import os, sabm_mesa
assert sabm_mesa.__file__.startswith(os.getcwd()), sabm_mesa.__file__
"""
RUNS = 100
_RUNS = f"""
began = time.process_time()
for seed in range({RUNS}):
    KeynesianBeautyContest(rng=seed, recording=False).run_model()
print((time.process_time() - began) / {RUNS})
"""
_REPLAYS = """
models = {
    "KBC": lambda r: KeynesianBeautyContest(rng=1, recording=r),
    "evacuation": lambda r: EmergencyEvacuation(n_rounds=10, rng=1, recording=r),
    "Bertrand": lambda r: BertrandCompetition(n_rounds=300, rng=1, recording=r),
}
def took(work):
    began = time.process_time()
    work()
    return time.process_time() - began
make, path = models[sys.argv[2]], f"{sys.argv[1]}/{sys.argv[2]}.sqlite"
make(path).run_model()
plays, replays = zip(*(
    (took(lambda: make(False).run_model()), took(lambda: replay(path, [0]))) for _ in range(5)
))
print(min(plays), min(replays))
"""


def instant_minds(folder: str) -> list[Result]:
    """An ask of an instant mind, also at an earlier revision; 1,000 runs; and replays."""
    with _before() as before:
        trees = {"now": ROOT, **({"before": before} if before else {})}
        results = []
        for name, work in WORK.items():
            code = f"{_HEAD}{_TEN_THOUSAND}print({work})"
            passes = [
                {tree: _printed(path, code, _new(folder))[0] for tree, path in trees.items()}
                for _ in range(PASSES)
            ]
            least = {tree: min(each[tree] for each in passes) for tree in trees}
            what = f"an ask of an instant mind, {name}"
            detail = f"least of {PASSES}"
            results.append(Result(f"{what}: µs of CPU", least["now"], "<= 15", detail))
            if before:
                target = ">= 5" if name == "evacuation of 10,000" else ""
                detail = f"{least['before']:.1f} and {least['now']:.1f} µs"
                ratio = least["before"] / least["now"]
                results.append(Result(f"{what}: {BEFORE} / now", ratio, target, detail))
    return [*results, _thousand_runs(), *_replays(folder)]


def _thousand_runs() -> Result:
    """Measure two simultaneous processes, each of which plays some of the runs."""
    seconds = []
    for _ in range(PASSES):
        both = [_start(ROOT, _HEAD + _RUNS) for _ in range(2)]
        seconds += [float(each.communicate()[0]) for each in both]
    detail = f"{RUNS} in each of two processes, least of {PASSES}; their start is left out"
    return Result("1,000 classical KBC runs: seconds of CPU", 1000 * min(seconds), "<= 6", detail)


def _replays(folder: str) -> Iterator[Result]:
    for name in ("KBC", "evacuation", "Bertrand"):
        play, again = _printed(ROOT, _HEAD + _REPLAYS, _new(folder), name)
        what = f"classical {name}: CPU of a replay / of playing it, not recorded"
        yield Result(what, again / play, "<= 2", f"{again * 1e3:.0f} ms and {play * 1e3:.0f} ms")


def commands(folder: str) -> list[Result]:
    """CPU time of whole commands, compared with ``import mesa``."""
    sabm = [sys.executable, "-c", "from sabm_mesa.cli import main; main()"]
    work: dict[str, Sequence[str]] = {
        "import mesa": [sys.executable, "-c", "import mesa"],
        "sabm scenarios": [*sabm, "scenarios"],
        "sabm describe kbc": [*sabm, "describe", "kbc"],
        "sabm run kbc": [*sabm, "run", "kbc"],
    }
    took: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(PASSES):
        for name, command in work.items():
            took[name].append(_cpu(command, _new(folder)))
    least = {name: min(each) for name, each in took.items()}
    seconds = [
        Result(f"{name}: seconds of CPU", each, "", f"least of {PASSES}")
        for name, each in least.items()
    ]
    targets = {"sabm scenarios": "<= 0.3", "sabm describe kbc": "<= 0.3", "sabm run kbc": "<= 1.4"}
    ratios = [
        Result(f"{name} / import mesa", least[name] / least["import mesa"], target)
        for name, target in targets.items()
    ]
    return [*seconds, *ratios]


def _cpu(command: Sequence[str], folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, cwd=folder, env=_environment(ROOT), capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def _before() -> Iterator[Path | None]:
    """The files of the earlier revision, in a temporary folder; None if git lacks it."""
    git = ["git", "-C", str(ROOT)]
    if subprocess.run(
        [*git, "cat-file", "-e", BEFORE], check=False, capture_output=True
    ).returncode:
        yield None
        return
    with TemporaryDirectory() as path:
        archive = subprocess.run(
            [*git, "archive", BEFORE, "sabm_mesa"], check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", path], check=True, input=archive.stdout)
        yield Path(path)


def _new(folder: str) -> str:
    """Create a new folder inside another."""
    path = Path(folder, str(len(list(Path(folder).glob("*")))))
    path.mkdir(parents=True)
    return str(path)


def _start(tree: Path, code: str, *words: str) -> subprocess.Popen[str]:
    # Python imports from the working directory first.
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", f"{code}\n{_CHECK}", *words],
        cwd=tree, env=_environment(tree), text=True, stdout=subprocess.PIPE,
    )  # fmt: skip


def _printed(tree: Path, code: str, *words: str) -> list[float]:
    """Run a program with the package of a tree, and return the numbers that it prints."""
    process = _start(tree, code, *words)
    said = process.communicate()[0]
    if process.returncode:
        raise RuntimeError(f"a process ended with status {process.returncode}")
    return [float(number) for number in said.split()]


def _environment(tree: Path) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(tree)}  # installed packages are compiled once
