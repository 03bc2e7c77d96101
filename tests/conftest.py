"""The two tiers of the tests, and the processes that run them.

`make test` runs the fast tier: what has no marker `slow`. `make check` runs everything except what
also has the marker `long`: that is for `make long`. A module that is slow as a whole says so in one
line, `pytestmark = pytest.mark.slow`; the fast tier does not import it, so it needs neither a
browser nor Ray.
"""

import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from tests.cli.support import Sabm

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would every
# process that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Minds from files do not depend on whether this machine has a sandbox for them, except in
# tests/minds/test_sandbox.py and on the command line.
os.environ["SABM_ISOLATE"] = "0"
# There are as many processes as cores already: more threads for matrices only slow them down.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
# Commands remember nothing of the tests: no file can be written there.
os.environ["XDG_STATE_HOME"] = os.devnull

# No example is judged by how long it takes: machines are slow at times.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("check", UNTIMED)
settings.register_profile("fast", UNTIMED, max_examples=20)

FAST = "not slow"
"""The marker expression of the fast tier."""
SLOW_MODULE = re.compile(r"^pytestmark = .*\bslow\b", re.MULTILINE)
BROWSER = Path(__file__).parent / "visualization" / "browser"
"""Its modules open pages, and are slow."""
ONCE = re.compile(r"tests/(analysis|describe|docs|llm_server|studies)/|/test_plots\.py")
"""Their subjects do not depend on the version of Python: `check_once`."""
SEEN = pytest.StashKey[Counter[str]]()
"""Test → how many of its cases were collected."""
MOST_PROCESSES = 5
LONG = [
    "tests/local/test_scenarios.py",
    "tests/visualization/browser/test_scenario_page.py",
    "browser",
    "tests/chaos/test_chaos.py",
    "tests/runs/test_rerun_properties.py",
    "tests/cli/test_reproduce.py",
    "tests/docs/test_tutorials.py",
    "tests/studies/experiments/test_report.py",
    "tests/cli/test_scenarios.py",
    "tests/llm/test_fault_runs.py",
]
"""Groups that take long, the longest first, so that no process works alone at the end."""


@pytest.fixture(autouse=True)
def forgotten_files() -> Iterator[None]:
    """Scenarios that a test loads from files are unknown to the next test."""
    from sabm_mesa.models import registry

    loaded = registry._loaded  # noqa: SLF001 - nothing else forgets a scenario
    before = dict(loaded)
    yield
    loaded.clear()
    loaded.update(before)


@pytest.fixture
def sabm(capsys: pytest.CaptureFixture[str]) -> "Sabm":
    """The command line as a function."""
    from tests.cli.support import Sabm

    return Sabm(capsys)


def is_fast(config: pytest.Config) -> bool:
    """Whether only the fast tier runs."""
    return FAST in config.getoption("markexpr")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("fast" if is_fast(config) else "check")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Keep the fast tier from importing modules that are slow as a whole."""
    if not is_fast(config):
        return None
    if collection_path == BROWSER:
        return True
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if is_test and SLOW_MODULE.search(collection_path.read_text("utf-8")) else None


def group_of(file: str) -> str:
    """The tests of one process: a file, or those that share a server and a Chromium."""
    in_browser = file.startswith("tests/visualization/browser/") and file not in LONG
    return "browser" if in_browser else file


def rank(file: str) -> int:
    """The order in which groups begin, the lowest first."""
    group = group_of(file)
    return LONG.index(group) if group in LONG else len(LONG)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark as slow what opens pages, and the cases after the first of `fast_cases`."""
    if item.path.is_relative_to(BROWSER):
        item.add_marker("slow")
    if first := item.get_closest_marker("fast_cases"):
        seen = item.config.stash.setdefault(SEEN, Counter())
        test = item.nodeid.partition("[")[0]
        seen[test] += 1
        if seen[test] > first.args[0]:
            item.add_marker("slow")
    if " object at 0x" in item.nodeid:
        raise pytest.UsageError(f"{item.nodeid}: give ids that are the same in each process.")
    file = item.nodeid.partition("::")[0]
    if ONCE.search(file):
        item.add_marker("check_once")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.nodeid.partition("::")[0]))


class InGroups(LoadFileScheduling):
    """Gives each process one group after another."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    return InGroups(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process a core, and one more, since tests wait for servers, processes and browsers."""
    return min(MOST_PROCESSES, (os.cpu_count() or 1) + 1)
