"""The order of the tests, and the processes that run them."""

import os
import signal

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would every
# process that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No example is judged by how long it takes: machines are slow at times.
settings.register_profile("sabm", deadline=None)
settings.load_profile("sabm")

MOST_PROCESSES = 5
BROWSERS = [
    {"test_play.py", "test_recording_page.py", "test_other_sites.py", "test_access.py"},
    {"test_scenario_page.py", "test_reading.py"},
]
"""Files that open pages: those that stand together share a server and a Chromium in a process."""
LONG = [
    "tests/core/test_cost.py",
    "tests/chaos/test_chaos.py",
    "tests/core/test_fork.py",
    "tests/cli/test_recordings.py",
    "tests/experiments/test_report.py",
    "tests/cli/test_scenarios.py",
    "tests/core/test_resume.py",
    "tests/experiments/test_published_systems.py",
    "tests/cli/test_reproduce.py",
]
"""Other files that take long, the longest first, so that no process works alone at the end."""


def group_of(file: str) -> str:
    """What one process runs: a file, or those that share a browser."""
    name = file.rpartition("/")[2]
    return next((f"browser {i}" for i, names in enumerate(BROWSERS) if name in names), file)


def rank(file: str) -> int:
    """What begins earlier has a lower one: browsers wait much, and others work meanwhile."""
    order = [*(f"browser {i}" for i in range(len(BROWSERS))), *LONG]
    group = group_of(file)
    return order.index(group) if group in order else len(order)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.nodeid.partition("::")[0]))


class InGroups(LoadFileScheduling):
    """Gives each process a file after another, and files that share a browser together."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(super()._split_scope(nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    return InGroups(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores, since those with browsers and servers wait much."""
    return min(MOST_PROCESSES, (os.cpu_count() or 1) + 1)
