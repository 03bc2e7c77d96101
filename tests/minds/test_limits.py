"""Minds from files that lift their own limits: those that are measured from outside hold."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sabm_mesa import Recorded
from sabm_mesa.errors import MindSpecError
from sabm_mesa.minds.files.client import SupervisorClient
from sabm_mesa.minds.files.isolation import Isolation, bubblewrap_problem, visible
from sabm_mesa.minds.files.mind import FileMind, mind_file
from sabm_mesa.minds.files.worker import TimeLimits
from tests.core.support import tiny

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

BEGIN = """
import ctypes, mmap, os, signal, threading, time

def disarm():
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, signal.SIG_IGN)

def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def take(megabytes, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS):
    taken = mmap.mmap(-1, megabytes << 20, flags=flags)
    for page in range(0, megabytes << 20, 4096):
        taken[page] = 1
    return taken

def answer(ask):
"""
COMPUTED, TOOK, STARTED = "computed for longer", "of memory", "more than 64 processes"
OF_TIME = {
    "the timer is disarmed": "disarm(); compute(2); return 5",
    "the timer is disarmed, and nothing is answered": "disarm(); compute(60)",
    "a child computes": """
    pid = os.fork()
    if not pid: disarm(); compute(2); os._exit(0)
    os.waitpid(pid, 0)
    return 5""",
    "threads compute": """
    disarm()
    threads = [threading.Thread(target=compute, args=(2,)) for _ in range(4)]
    for each in threads: each.start()
    for each in threads: each.join()
    return 5""",
}
OF_SPACE = {
    "shared memory": ("kept = take(1500); return 5", TOOK),
    "shared memory that is not in use": (
        """
    kept = []
    while True:
        kept.append(take(700))
        kept[-1].madvise(mmap.MADV_DONTNEED)""",
        "OSError",
    ),
    "more addresses than there may be": ("kept = mmap.mmap(-1, 3 << 30); return 5", "OSError"),
    "a file in memory": ("os.memfd_create('x'); return 5", "PermissionError"),
    "files in memory, each within its limit": (
        """
    names = [f"/dev/shm/sabm-filled-{i}" for i in range(80)]
    try:
        for name in names:
            with open(name, "wb") as file: file.write(bytes(15 << 20))
        return 5
    finally:
        for name in filter(os.path.exists, names): os.unlink(name)""",
        "Error: [Errno ",  # not permitted, or no space left
    ),
    "shared memory of System V": (
        "return 1 / (1 + ctypes.CDLL(None).shmget(0, 1 << 20, 0o600))",
        "ZeroDivisionError",
    ),
    "memory of children": (
        """
    for _ in range(4):
        if not os.fork(): kept = take(350); time.sleep(60)
    time.sleep(20)
    return 5""",
        TOOK,
    ),
    "a fork bomb": (
        """
    for _ in range(100):
        if not os.fork(): time.sleep(60)
    return 5""",
        STARTED,
    ),
    "a fork bomb of forks": ("while True: os.fork()", STARTED),
    "threads without end": (
        """
    for _ in range(100): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return 5""",
        STARTED,
    ),
}
"""Attack → the reason with which a mind loses its decision."""
ATTACKS = {**dict.fromkeys(OF_TIME, COMPUTED), **{name: why for name, (_, why) in OF_SPACE.items()}}
HEAVY = {
    "shared memory", "shared memory that is not in use", "memory of children",
    "a fork bomb of forks",
}  # fmt: skip
BY_NUMBER = "BlockingIOError", "RuntimeError"
"""Unless the user is root, the system stops processes and threads by their number itself."""
LIMITS = TimeLimits(compute_s=0.3, wait_s=8.0, start_s=20.0, message_s=1.0, hangs_s=1.0)
PATIENT = TimeLimits(compute_s=20.0, wait_s=30.0)
MEANS = {
    "limits": Isolation(bubblewrap=False, namespaces=False),
    "namespaces": Isolation(bubblewrap=False, namespaces=True),
    "both": Isolation(bubblewrap=True, namespaces=True),
}


@pytest.fixture(
    scope="module",
    params=["limits", *(pytest.param(k, marks=pytest.mark.slow) for k in ("namespaces", "both"))],
)
def supervisors(request, tmp_path_factory):
    """The folder of the attacks, and what has its minds by each means, impatient and patient."""
    folder = tmp_path_factory.mktemp("minds")
    sources = {**OF_TIME, **{name: source for name, (source, _) in OF_SPACE.items()}}
    for number, source in enumerate(sources.values()):
        (folder / f"attack{number}.py").write_text(f"{BEGIN}    {source}\n")
    wanted = MEANS[request.param]
    if wanted.bubblewrap and bubblewrap_problem():
        wanted = MEANS["namespaces"]
    seen = visible(str(folder)) if wanted.bubblewrap else ()
    clients = [SupervisorClient(each, wanted, seen) for each in (LIMITS, PATIENT)]
    yield folder, *clients
    for client in clients:
        client.close()


def asked(path: Path, client: SupervisorClient, into: Path, n_rounds: int = 1) -> list[str]:
    """The reasons why a mind lost its decisions, "" for those that it kept."""
    model = tiny(n=1, n_rounds=n_rounds, minds="fixed:7", rng=1, recording=into)
    model.cells[0].mind = FileMind(mind_file(f"py:{path}"), model.cells[0], client)
    model.run_model()
    found = Recorded(into).decisions().sort_values("round")
    return [
        "" if valid else str(reason)
        for valid, reason in zip(found["valid"], found["reason"], strict=True)
    ]


@pytest.mark.parametrize(
    "attack", [pytest.param(k, marks=[pytest.mark.slow] if k in HEAVY else []) for k in ATTACKS]
)
def test_no_answer_is_taken_from_a_mind_that_lifts_its_limits(
    attack, supervisors, tmp_path
) -> None:
    folder, impatient, patient = supervisors
    client = impatient if attack in OF_TIME else patient
    path = folder / f"attack{list(ATTACKS).index(attack)}.py"
    (problem,) = asked(path, client, tmp_path / "run.sqlite")

    assert problem, "it was answered"
    wanted = ATTACKS[attack]
    assert wanted in problem or (wanted == STARTED and any(e in problem for e in BY_NUMBER)), (
        problem
    )


CALLS = """
    libc, arm = ctypes.CDLL(None, use_errno=True), os.uname().machine == "aarch64"
    def outcome(name, *given):
        ctypes.set_errno(0)
        return ctypes.get_errno() if getattr(libc, name)(*given) < 0 else 0
    raise ValueError([
        outcome("unshare", 0x10000000),
        outcome("syscall", 220 if arm else 56, 0x10000000 | 17, 0, 0, 0, 0),
        outcome("syscall", 435, None, 0),
        outcome("mount", b"none", b"/tmp", b"tmpfs", 0, None),
        outcome("syscall", 428, -100, b"/", 0),
        outcome("ptrace", 0, 0, None, None),
        outcome("process_vm_readv", os.getpid(), None, 0, None, 0, 0),
        outcome("mq_open", b"/sabm-queue", 0o102, 0o600, None),
    ])
"""
"""A namespace by `unshare`, `clone` and `clone3`, a mount, a tree of files to mount, the memory of
a process by `ptrace` and by `process_vm_readv`, and a queue of messages."""


def test_a_mind_makes_no_namespaces_mounts_or_queues_and_reads_no_process(
    supervisors, tmp_path
) -> None:
    folder, _, patient = supervisors
    (folder / "calls.py").write_text(f"{BEGIN}{CALLS}")
    (problem,) = asked(folder / "calls.py", patient, tmp_path / "run.sqlite")

    no, unknown = errno.EPERM, errno.ENOSYS
    assert f"ValueError: {[no, no, unknown, no, no, no, no, no]}" in problem


@pytest.fixture(scope="module")
def limits():
    """Limits alone: here a mind reaches the process that measures it."""
    client = SupervisorClient(LIMITS, MEANS["limits"])
    yield client
    client.close()


@pytest.mark.slow
def test_a_mind_may_not_compute_between_questions(limits, tmp_path) -> None:
    path = tmp_path / "mind.py"
    path.write_text(
        BEGIN.replace("def answer(ask):", "") + "class Busy:\n    def answer(self, ask):\n"
        "        threading.Thread(target=lambda: compute(60), daemon=True).start()\n"
        "        disarm()\n"
        "        while ask.key.round and time.process_time() < 3: time.sleep(0.01)\n"
        "        return 5\n"
    )
    first, second = asked(path, limits, tmp_path / "r.sqlite", 2)
    assert (first, COMPUTED in second) == ("", True)


@pytest.mark.slow
@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("number", ["SIGSTOP", "SIGKILL", "SIGTERM"])
def test_a_signal_to_the_supervisor_costs_the_decision(number, limits, tmp_path) -> None:
    path, short = tmp_path / "mind.py", TimeLimits(0.3, 1.0, 1.0, 1.0, 1.0, 0.5)
    path.write_text(f"{BEGIN}    os.kill(os.getppid(), signal.{number}); time.sleep(9)\n")
    client = SupervisorClient(short, MEANS["limits"])
    (problem,) = asked(path, client, tmp_path / "run.sqlite")
    client.close()

    assert "its process is gone" in problem
    good = tmp_path / "good.py"
    good.write_text("def answer(ask):\n    return 5\n")
    assert asked(good, limits, tmp_path / "good.sqlite") == [""]


def test_a_mind_leaves_no_core_dump(limits, tmp_path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        f"import resource\n{BEGIN}    return 50 + max(resource.getrlimit(resource.RLIMIT_CORE))\n"
    )

    assert asked(path, limits, tmp_path / "r.sqlite") == [""]
    assert Recorded(tmp_path / "r.sqlite").decisions()["value"].tolist() == ["50"]


def test_who_pays_is_said_by_the_user_and_not_by_the_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "mind.py"
    path.write_text("class Mine:\n    paid = True\n    def answer(self, ask): return 5\n")
    with pytest.raises(MindSpecError) as refused:
        mind_file(f"py:{path}")
    assert str(refused.value) == (
        f"{path} sets paid = True, which needs your consent: give --paid-mind {path}, or remove "
        "that line."
    )
    monkeypatch.setenv("SABM_PAID_MINDS", os.pathsep.join(["/elsewhere.py", str(path)]))
    assert mind_file(f"py:{path}").paid
    path.write_text("def answer(ask): return 5\n")
    assert mind_file(f"py:{path}").paid


def test_a_paid_mind_has_the_same_limits(limits, tmp_path, monkeypatch) -> None:
    path = tmp_path / "mind.py"
    path.write_text(f"{BEGIN}    disarm(); compute(2); return 5\n")
    monkeypatch.setenv("SABM_PAID_MINDS", str(path))
    (problem,) = asked(path, limits, tmp_path / "run.sqlite")

    assert COMPUTED in problem


def test_a_process_is_measured_as_the_system_does_it() -> None:
    code = (
        "import os\nfrom sabm_mesa.minds.files.measuring import used\n"
        "sum(i for i in range(3_000_000))\n"
        "print(used(os.getpid(), waits=0)[0], sum(os.times()[:4]), used(2**22 + 1, waits=0)[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    measured, told, nobody = map(float, done.stdout.split())

    assert measured == pytest.approx(told, abs=0.05) != 0
    assert nobody == 0
