"""Isolation of minds from files: limits on what their processes can see, reach and use.

Each mind has limits and an environment by whitelist, wherever it runs. Two more means are used if
the machine has them:

- ``bubblewrap``: the supervisor, and with it every mind, runs in a sandbox without network and
  home; the system is read-only and the rest of the machine invisible;
- Linux namespaces, one set for each mind: it sees no other process, has no network, and can only
  write to a private ``/tmp``, which ends with it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sabm_mesa.errors import MindSpecError

FILES = 4096
"""The maximum number of open files of the process with the minds."""
FILE_SIZE = 16 * 2**20
"""The maximum size of a file that a mind writes."""
PROCESSES = 64
"""The maximum number of processes and threads of a mind."""
OPEN_FILES = 64
"""The maximum number of open files of a process of a mind."""
NOBODY = "65534"
"""The number of the user and of the group in a sandbox."""
SCRATCH = 64 * 2**20
"""The maximum number of bytes in the ``/tmp`` of a mind, or of a sandbox."""

DEMANDED, PASSED, PAID = "SABM_ISOLATE", "SABM_PASS_ENV", "SABM_PAID_MINDS"
"""Variables of the environment: whether isolation is demanded (``1``) or not wanted (``0``), the
names of other variables that minds get, and the files whose answers are paid for (separated as in
``PATH``). Child processes of a command have them too."""
KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "PYTHONHOME", "TZ")
"""The variables of the environment that every mind gets."""


# The isolation that is asked for, and that of the machine.


@dataclass(frozen=True)
class Isolation:
    """Means of isolation of minds, in addition to limits.

    Attributes:
        bubblewrap: whether they are in a sandbox.
        namespaces: whether each mind has separate namespaces.
    """

    bubblewrap: bool
    namespaces: bool

    @property
    def name(self) -> str:
        """The strongest means: ``"bubblewrap"``, ``"namespaces"`` or ``"limits"``."""
        if self.bubblewrap:
            return "bubblewrap"
        return "namespaces" if self.namespaces else "limits"

    def __str__(self) -> str:
        """A sentence on the means and their gaps."""
        return "Minds from files: " + _SENTENCES[self.bubblewrap, self.namespaces]


NOT_ISOLATED = Isolation(bubblewrap=False, namespaces=False)
_SENTENCES = {
    (True, True): "isolated by bubblewrap: no network, no home, a read-only system, each alone.",
    (True, False): "isolated by bubblewrap: no network, no home, a read-only system; agents with "
    "the same file can reach one another.",
    (False, True): "isolated in part, by namespaces: no network, a read-only system, each alone; "
    "but they can read your files (install bubblewrap, or trust them).",
    (False, False): "limited, but not isolated: they can read and write your files, use the "
    "network, and stop the run (install bubblewrap, or trust them).",
}


def isolation_wanted() -> Isolation:
    """The means to use: wanted by the environment, and working on this machine.

    Raises:
        MindSpecError: when isolation is demanded and bubblewrap does not work here.
    """
    demanded = os.environ.get(DEMANDED, "").strip()
    if demanded not in {"", "0", "1"}:
        raise MindSpecError(f"{DEMANDED} must be 1 (demanded), 0 (not wanted) or unset.")
    if demanded == "0":
        return NOT_ISOLATED
    problem = bubblewrap_problem()
    if demanded and problem:
        raise MindSpecError(
            f"Minds from files cannot be isolated here: {problem}. Install bubblewrap (bwrap), or "
            "do without --isolate."
        )
    return Isolation(bubblewrap=not problem, namespaces=True)


@cache
def bubblewrap_problem() -> str:
    """The reason why bubblewrap cannot be used here, ``""`` when it can."""
    if sys.platform != "linux":
        return "bubblewrap needs Linux"
    if shutil.which("bwrap") is None:
        return "the program bwrap is not there"
    command = [*sandbox(visible()), sys.executable, "-c", ""]
    done = subprocess.run(
        command, env=environment(()), stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return "" if done.returncode == 0 else (lines[-1] if lines else "bwrap does not run")


def names_passed() -> tuple[str, ...]:
    """The names of the variables that minds get in addition to `KEPT`, from the environment.

    Raises:
        MindSpecError: for a variable that is not set.
    """
    names = tuple(os.environ.get(PASSED, "").split())
    for name in names:
        if name not in os.environ:
            raise MindSpecError(f"{name}, a variable for minds from files, is not set.")
    return names


def is_paid(path: str) -> bool:
    """Whether the user, and not the file, says that the answers of its minds are paid.

    Args:
        path: the file.
    """
    granted = filter(None, os.environ.get(PAID, "").split(os.pathsep))
    return Path(path).resolve() in {Path(entry).resolve() for entry in granted}


def environment(passed: Iterable[str]) -> dict[str, str]:
    """The environment of minds.

    Args:
        passed: names of variables that they get in addition to `KEPT`.
    """
    return {name: os.environ[name] for name in (*KEPT, *passed) if name in os.environ}


# The sandbox.


@dataclass(frozen=True, order=True)
class Visible:
    """A file or folder that is visible in a sandbox, read-only.

    Attributes:
        path: its path in the sandbox.
        real: the same without links.
        node: its inode: a replaced file has another one.
    """

    path: str
    real: str
    node: int


def visible(folder: str = "") -> tuple[Visible, ...]:
    """Everything that a sandbox shows, in addition to the system's programs and libraries.

    That is Python, the installed packages, the modules of the other folders on Python's path, and
    the files beside the minds.

    Args:
        folder: the folder of the minds, ``""`` for none.
    """
    seen = {Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]}
    for shown in (Path(entry).absolute() for entry in sys.path):
        seen.update([shown] if _is_installed(shown) else modules(shown))
    if folder:
        seen.update(beside(Path(folder)))
    # Under its own name, and under that to which links in its path lead.
    places = {(path, path.resolve()) for path in seen} | {(path.resolve(),) * 2 for path in seen}
    return tuple(
        sorted(
            Visible(str(path), str(real), real.stat().st_ino)
            for path, real in places
            if real.exists() and not path.is_relative_to("/usr")
        )
    )


def sandbox(seen: Iterable[Visible]) -> list[str]:
    """The beginning of a command that runs in a sandbox of bubblewrap.

    Args:
        seen: as `visible` returns it.
    """
    binds = [word for file in seen for word in ("--ro-bind", file.real, file.path)]
    return [
        "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        # A user who is root there could not be given namespaces of its own once more.
        "--unshare-user", "--uid", NOBODY, "--gid", NOBODY,
        *_system(), "--proc", "/proc", "--dev", "/dev",
        "--size", str(SCRATCH), "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
        "--size", str(SCRATCH), "--tmpfs", "/tmp",
        *binds, "--remount-ro", "/", "--chdir", "/tmp", "--setenv", "HOME", "/tmp",
    ]  # fmt: skip


def modules(folder: Path) -> Iterator[Path]:
    """The modules and packages in a folder.

    Args:
        folder: a folder on Python's path.
    """
    for path in _entries(folder):
        is_module = path.suffix in {".py", ".so"} and path.is_file()
        if is_module or (path / "__init__.py").is_file():
            yield path


def beside(folder: Path) -> Iterator[Path]:
    """The files of a folder that a mind in it may read: no hidden ones and no recordings.

    Folders in it are visible only if they are packages; in a home folder, only modules and packages
    are.

    Args:
        folder: the folder of a mind.
    """
    yield from modules(folder)
    if Path.home().resolve().is_relative_to(folder):
        return
    for path in _entries(folder):
        if path.is_file() and ".sqlite" not in path.name:
            yield path


def _entries(folder: Path) -> list[Path]:
    """The entries of a folder, without hidden ones and links, which may lead elsewhere."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:  # not there, not a folder, not readable
        return []
    return [path for path in entries if not path.name.startswith(".") and not path.is_symlink()]


def _is_installed(path: Path) -> bool:
    """Whether it belongs to Python itself or has installed packages."""
    whole = path.name in {"site-packages", "dist-packages"} or path.suffix in {".zip", ".egg"}
    return whole or path.is_relative_to(sys.base_prefix)


def _system() -> Iterator[str]:
    """Options that show the system's programs and libraries, and their files in /etc."""
    for path in ("/usr", "/nix/store", "/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime"):
        if Path(path).exists():
            yield from ("--ro-bind", path, path)
    for path in ("/bin", "/lib", "/lib32", "/lib64", "/sbin"):
        if Path(path).is_symlink():
            yield from ("--symlink", str(Path(path).readlink()), path)
        elif Path(path).exists():
            yield from ("--ro-bind", path, path)


# The process of a mind.

_PDEATHSIG, _DUMPABLE, _SUBREAPER, _NO_NEW_PRIVILEGES = 1, 4, 36, 38
_NEW_NAMESPACES = 0x20000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
"""Flags of the namespaces of mounts, names, shared memory, users, processes and the network."""
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _BIND, _RECURSIVE, _PRIVATE = 1, 2, 4, 4096, 16384, 1 << 18
_MOUNT_SETATTR, _AT_RECURSIVE = 442, 0x8000
_CAPABILITIES_3 = 0x20080522
_SECCOMP = 22
_ANYWHERE = (425, 428, 429, 430, 431, 432, 433, 438, 442, 447)
"""Forbidden system calls with the same number on all machines: io_uring_setup, open_tree,
move_mount, fsopen, fsconfig, fsmount, fspick, pidfd_getfd, mount_setattr and memfd_secret."""
_FORBIDDEN = {
    "x86_64": (
        (29, 64, 68, 248, 250, 319, 323),
        (101, 155, 165, 166, 240, 272, 298, 304, 308, 310, 311, 321),
    ),
    "aarch64": (
        (186, 190, 194, 217, 219, 279, 282),
        (117, 41, 40, 39, 180, 97, 241, 265, 268, 270, 271, 280),
    ),
}
"""Machine → the calls for memory that belongs to no process: msgget, semget, shmget, add_key,
keyctl, memfd_create, userfaultfd. Then those that no mind needs: ptrace, pivot_root, mount,
umount2, mq_open, unshare, perf_event_open, open_by_handle_at, setns, process_vm_readv,
process_vm_writev, bpf."""
_CLONE = {"x86_64": (0xC000003E, 56), "aarch64": (0xC00000B7, 220)}
"""Machine → its number, and the number of clone."""
_CLONE_3 = 435
_ANY_NAMESPACE = _NEW_NAMESPACES | 0x02000000
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_WRITE, _MAKE, _REFER = 1 << 1, 0b1111111 << 6, 1 << 13
"""Landlock rights: to open a file for writing, to create one of any kind, to move one."""
_IN_MEMORY = {"devtmpfs", "hugetlbfs", "ramfs", "tmpfs"}


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    """Call a function of the C library.

    Raises:
        OSError: when it fails.
    """
    if getattr(_libc(), name)(*arguments):
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def _prctl(option: int, value: int) -> None:
    """Set an attribute of this process; ignored if the system lacks it."""
    if sys.platform == "linux":
        with suppress(OSError):
            _call("prctl", option, *map(ctypes.c_ulong, (value, 0, 0, 0)))


def hide_memory() -> None:
    """Hide the memory and environment of this process from other processes of the user."""
    _prctl(_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Make this process the parent of all processes that its children leave behind."""
    _prctl(_SUBREAPER, 1)


def end_with_parent() -> None:
    """Kill this process when the thread that started it ends, alone or with its process."""
    _prctl(_PDEATHSIG, signal.SIGKILL)


def children() -> set[int]:
    """The child processes of this process; none if the system does not report them."""
    try:
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    except OSError:
        return set()
    return set(map(int, listed.split()))


def namespaces_work() -> bool:
    """Whether a process may have separate namespaces here; a fork of this process tries."""
    if sys.platform != "linux":
        return False
    pid = os.fork()
    if pid == 0:
        try:
            _enter_namespaces(())
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def confine(link: int, folder: str, *, namespaces: bool) -> None:
    """Confine this process, a fork of the supervisor; only a mind's process returns from it.

    With namespaces this process stays outside of them and waits, and the mind is its child.

    Args:
        link: the descriptor of the pipe to the supervisor, the only file that stays open.
        folder: the folder of the mind.
        namespaces: whether the mind gets separate namespaces.
    """
    import resource

    end_with_parent()
    os.setsid()
    os.closerange(3, link)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.closerange(link + 1, soft if FILES < soft < 2**20 else FILES)
    tasks = PROCESSES
    if namespaces:
        _enter_namespaces([folder, *sys.path, sys.prefix, sys.base_prefix])
        _fork_into_namespaces(link)
    else:
        tasks += _tasks_of_user()
    _prctl(_NO_NEW_PRIVILEGES, 1)
    _drop_capabilities()
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_NPROC, tasks),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
    ):
        with suppress(ValueError, OSError):  # there may be a narrower limit already
            resource.setrlimit(limit, (value, value))
    if not namespaces:
        _forbid_files_in_memory()
    _forbid_calls()


def _tasks_of_user() -> int:
    """The number of processes and threads of this user, which the limit counts."""
    tasks = 0
    with suppress(OSError):
        for path in Path("/proc").iterdir():
            with suppress(OSError):  # it has just ended
                if path.name.isdigit() and path.stat().st_uid == os.getuid():
                    tasks += len(list((path / "task").iterdir()))
    return tasks


def _drop_capabilities() -> None:
    """Drop the capabilities of root, except those of the owner of its files."""
    if sys.platform == "linux":
        header = (ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0)
        with suppress(OSError):
            _call("capset", header, (ctypes.c_uint32 * 6)())


def _forbid_calls() -> None:
    """Refuse system calls with a seccomp filter.

    Refused are calls that take memory of no process (files in memory, System V shared memory and
    messages, rings, keys), and calls for namespaces, mounts and other processes, which no mind
    needs. `clone3` is reported as unknown: programs then use `clone`, whose flags the filter can
    read.
    """
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _FORBIDDEN:
        return
    architecture, clone = _CLONE[machine]
    numbers = *_ANYWHERE, *(number for group in _FORBIDDEN[machine] for number in group)
    # Each step: operation, steps to pass over if true, if false, operand (linux/filter.h).
    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    unknown = (answer, 0, 0, 0x0005_0000 | errno.ENOSYS)
    refuse, allow = (answer, 0, 0, 0x0005_0000 | errno.EPERM), (answer, 0, 0, 0x7FFF_0000)
    refused = [(at_least, 0x4000_0000), *((equal, number) for number in numbers)]
    last = len(refused) + 3
    steps = [
        (load, 0, 0, 4), (equal, 1, 0, architecture), refuse, (load, 0, 0, 0),
        (equal, 0, 1, _CLONE_3), unknown,
        *((test, last - index, 0, value) for index, (test, value) in enumerate(refused)),
        (equal, 0, 2, clone), (load, 0, 0, 16), (any_bit, 1, 0, _ANY_NAMESPACE), allow, refuse,
    ]  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
    with suppress(OSError):
        nothing = ctypes.c_ulong(0)
        _call("prctl", _SECCOMP, ctypes.c_ulong(2), program, nothing, nothing)


@cache
def places_to_write() -> tuple[str, ...]:
    """The folders outside of large file systems in memory; none without such a file system.

    A file there takes memory that belongs to no process. A small file system, as in a sandbox, does
    no harm.
    """
    mounts: dict[str, bool] = {}
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            mount, _, kind = line.partition(" - ")
            path = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), mount.split()[4])
            mounts[path] = kind.split()[0] in _IN_MEMORY and _is_large(path)
    if not any(mounts.values()):
        return ()
    devices = (Path(folder, name) for folder, _, names in os.walk("/dev") for name in names)
    return (*_outside("/", mounts), *(str(path) for path in devices if path.is_char_device()))


def _is_large(mount: str) -> bool:
    """Whether a file system accepts more than `SCRATCH` bytes of files."""
    try:
        space = os.statvfs(mount)
    except OSError:  # hidden by another one
        return False
    writable = not space.f_flag & os.ST_RDONLY and not Path(mount).is_relative_to("/proc")
    return writable and not 0 < space.f_blocks * space.f_frsize <= SCRATCH


def _outside(path: str, mounts: Mapping[str, bool], *, above: bool = False) -> Iterator[str]:
    """The highest folders below a path that are in allowed file systems."""
    forbidden, begin = mounts.get(path, above), f"{path.rstrip('/')}/"
    below = [mount for mount in mounts if mount.startswith(begin) and mount != path]
    if all(mounts[mount] == forbidden for mount in below):
        if not forbidden:
            yield path
        return
    with suppress(OSError):
        for entry in os.scandir(path):
            if not entry.is_symlink():
                yield from _outside(begin + entry.name, mounts, above=forbidden)


def _forbid_files_in_memory() -> None:
    """Keep this process from writing to files in memory, by Landlock if available."""
    places = places_to_write()
    with suppress(OSError):
        if places:
            version = _landlock(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
            rights = _WRITE | _MAKE | (_REFER if version > 1 else 0)
            handled = ctypes.c_uint64(rights)
            nothing = ctypes.c_uint32(0)
            rules = _landlock(_LANDLOCK_CREATE, ctypes.byref(handled), ctypes.c_size_t(8), nothing)
            for path in places:
                with suppress(OSError):  # it is gone
                    _allow_writing(rules, path, rights)
            _landlock(_LANDLOCK_RESTRICT, ctypes.c_int(rules), nothing)
            os.close(rules)


def _allow_writing(rules: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
    rule = struct.pack("=Qi", rights if is_folder else _WRITE, descriptor)
    try:
        _landlock(_LANDLOCK_ADD, ctypes.c_int(rules), ctypes.c_int(1), rule, ctypes.c_uint32(0))
    finally:
        os.close(descriptor)


def _landlock(number: int, *arguments: object) -> int:
    answer: int = _libc().syscall(ctypes.c_long(number), *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def _enter_namespaces(needed: Iterable[str]) -> None:
    """Give this process separate namespaces, and its children a process namespace.

    Args:
        needed: files and folders that must be visible, also in ``/tmp``.

    Raises:
        OSError: when the system does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    _prctl(_DUMPABLE, 1)  # or the maps could not be written
    _call("unshare", _NEW_NAMESPACES)
    _tell_kernel("setgroups", "deny")
    _tell_kernel("uid_map", f"{user} {user} 1")
    _tell_kernel("gid_map", f"{group} {group} 1")
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    _make_read_only()
    _cover("/tmp", [path for path in needed if Path(path).is_relative_to("/tmp")])
    if Path("/dev/shm").is_dir():
        _cover("/dev/shm", ())
    _mount("none", "/proc", "tmpfs", _READ_ONLY)


def _tell_kernel(name: str, text: str) -> None:
    descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _make_read_only() -> None:
    attributes = (ctypes.c_uint64 * 4)(_READ_ONLY)
    number, flags = ctypes.c_long(_MOUNT_SETATTR), ctypes.c_uint(_AT_RECURSIVE)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _call("syscall", number, ctypes.c_int(-1), b"/", flags, attributes, size)


def _cover(folder: str, needed: Iterable[str]) -> None:
    """Mount an empty folder over one, with only the needed entries."""
    there = {path: os.open(path, os.O_PATH) for path in needed if Path(path).exists()}
    data = f"size={SCRATCH},mode=1777"
    _mount("none", folder, "tmpfs", _NO_SETUID | _NO_DEVICES, data)
    for path, descriptor in sorted(there.items()):
        if not Path(path).exists():  # else it is in another one
            _make_place(Path(path), is_folder=Path(f"/proc/self/fd/{descriptor}").is_dir())
            _mount(f"/proc/self/fd/{descriptor}", path, None, _BIND | _RECURSIVE)
        os.close(descriptor)


def _make_place(path: Path, *, is_folder: bool) -> None:
    if is_folder:
        path.mkdir(parents=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    texts: list[bytes | None] = [None if t is None else t.encode() for t in (source, target, kind)]
    _call("mount", *texts, ctypes.c_ulong(flags), data.encode() or None)


def _fork_into_namespaces(link: int) -> None:
    """Continue as the first processes of a namespace: one that only waits, and the mind.

    The pipe stays open in this process, so that the supervisor sees its end when all have ended.
    """
    keeper = _fork()
    if keeper == 0:
        os.close(link)
        # It waits for what is left behind, so that its time is counted.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        while signal.sigwait({signal.SIGCHLD}):
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    mind = _fork()
    if mind == 0:
        os.setsid()  # a signal to its group reaches nobody outside
        return
    _, status = os.waitpid(mind, 0)
    os.kill(keeper, signal.SIGKILL)  # and with it everything in the namespace
    os.waitpid(keeper, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        with suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _fork() -> int:
    """Fork; the child ends with this process."""
    pid = os.fork()
    if pid == 0:
        end_with_parent()
        if os.getppid() != 0:  # it has ended before that
            os._exit(1)
    return pid
