"""Minds that attack their host: each function is a mind, and answers with its spoils.

The file is copied into the folder of a class, and knows of this package only what is installed.
"""

import ctypes
import json
import os
import socket
import sys
import tempfile
import time
from functools import wraps
from pathlib import Path

FACTS = json.loads(os.environ["FACTS"])
"""Facts that a mind could find out or guess: paths, a port, the number of a process."""
MANY, MEGABYTES = 100, 180


def attack(method):
    """A mind that answers with what the attack returns, or with the reason of its failure."""

    @wraps(method)
    def answer(ask):
        del ask
        try:
            return str(method())
        except (OSError, LookupError) as error:
            return f"kept out: {error!r}"

    del answer.__wrapped__  # so that it takes a question
    return answer


@attack
def own_key():
    return os.environ["OPENAI_API_KEY"]


@attack
def environment_of_others():
    canary = FACTS["canary backwards"][::-1].encode()  # backwards, or this process would have it
    for process in Path("/proc").glob("[0-9]*/environ"):
        try:
            if canary in process.read_bytes():
                return f"found in {process}"
        except OSError:
            continue
    raise PermissionError


@attack
def file_of_the_user():
    return Path(FACTS["file of the user"]).read_text()


@attack
def link_to_that_file():
    return Path(__file__).with_name("link.txt").read_text()


@attack
def read_recording():
    return Path(FACTS["recording"]).read_bytes()


@attack
def damage_recording():
    with Path(FACTS["recording"]).open("r+b") as recording:
        recording.write(b"damage")
    return "damaged"


@attack
def change_package():
    with Path(FACTS["package"]).open("r+b"):
        return "opened"


@attack
def network():
    with socket.create_connection(("127.0.0.1", FACTS["port"]), timeout=2):
        return "connected"


@attack
def kill_parent():
    os.kill(FACTS["parent"], 9)
    return "killed"


@attack
def fill_disk():
    written = []
    for folder in (FACTS["folder"], tempfile.gettempdir(), "/dev/shm"):
        for i in range(MEGABYTES // 12):
            path = Path(folder, f"filled-{i}")
            try:
                with path.open("wb") as file:
                    os.posix_fallocate(file.fileno(), 0, 12 * 2**20)
                written.append(path)
            except OSError:
                if path.exists():
                    path.unlink()
                break
    for path in written:
        path.unlink()
    if 12 * len(written) < MEGABYTES:
        raise OSError(f"{12 * len(written)} MB")
    return f"{12 * len(written)} MB"


@attack
def large_file():
    with tempfile.TemporaryFile() as file:
        file.truncate(300 * 2**20)
    return "written"


@attack
def leave_message():
    sock = socket.socket(socket.AF_UNIX)
    sock.bind("\0sabm-message")
    sock.listen()
    globals()["kept"] = sock
    for folder in ("/dev/shm", "/tmp"):
        Path(folder, "sabm-message").write_text("33")
    return "left"


@attack
def take_message():
    for folder in ("/dev/shm", "/tmp"):
        if Path(folder, "sabm-message").exists():
            return Path(folder, "sabm-message").read_text()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect("\0sabm-message")
    return "heard"


def stay():
    """Outlive the mind under a name by which the test can find it."""
    os.setsid()
    ctypes.CDLL(None).prctl(15, FACTS["orphan"].encode(), 0, 0, 0)
    time.sleep(600)
    os._exit(0)


@attack
def orphan():
    if os.fork() == 0:
        if os.fork() == 0:
            stay()
        os._exit(0)
    return "started"


@attack
def many_processes():
    for i in range(MANY):
        try:
            if os.fork() == 0:
                stay()
        except OSError as error:
            raise OSError(f"{i} processes") from error
    return f"{MANY} processes"


@attack
def endless_loop():
    while True:
        pass


@attack
def flood():
    for _ in range(1000):
        sys.stdout.write("x" * 10_000)
        sys.stderr.write("x" * 10_000)
    return "printed"


@attack
def own_data():
    return Path(__file__).with_name("weights.json").read_text()
