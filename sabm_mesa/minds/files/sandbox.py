"""The sandbox of minds from files, which is bubblewrap, and what the user allows them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from itertools import chain
from pathlib import Path

from sabm_mesa.errors import MindSpecError

SCRATCH = str(64 * 2**20)
"""The size of ``/tmp`` and of ``/dev/shm`` in a sandbox, in bytes."""
DEMANDED, PASSED = "SABM_ISOLATE", "SABM_PASS_ENV"
"""Variables of the environment: whether the sandbox is demanded (``1``) or not wanted (``0``), and
the names of other variables that minds get. Child processes of a command have them too."""
KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "PYTHONHOME", "TZ")
"""The variables of the environment that every mind gets."""
SAME = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""The order of a set of texts is the same in every process; matrices are no reason for threads."""
SYSTEM = (
    "/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin", "/nix/store",
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime",
)  # fmt: skip
"""The system in a sandbox: programs, libraries and their files in /etc."""
PACKAGES = ("site-packages", "dist-packages")
SENTENCES = {
    True: "Minds from files: isolated by bubblewrap: no network, no home, a read-only system; "
    "agents with the same file share a process.",
    False: "Minds from files: not isolated: they can read and write your files, read your keys, "
    "use the network, and leave programs behind (install bubblewrap, or trust them).",
}
"""The line of a command that runs a file, by whether there is a sandbox."""


def is_sandboxed() -> bool:
    """Whether minds from files run in a sandbox.

    Raises:
        MindSpecError: when the sandbox is demanded and does not work here.
    """
    demanded = os.environ.get(DEMANDED, "").strip()
    if demanded not in {"", "0", "1"}:
        raise MindSpecError(f"{DEMANDED} must be 1 (demanded), 0 (not wanted) or unset.")
    if demanded == "0":
        return False
    problem = bubblewrap_problem()
    if demanded and problem:
        raise MindSpecError(
            f"Minds from files cannot be isolated here: {problem}. Install bubblewrap (bwrap), or "
            "do without --isolate."
        )
    return not problem


@cache
def bubblewrap_problem() -> str:
    """The reason why bubblewrap cannot be used here, ``""`` when it can."""
    if sys.platform != "linux":
        return "bubblewrap needs Linux"
    if shutil.which("bwrap") is None:
        return "the program bwrap is not there"
    command = [*sandbox(), sys.executable, "-c", ""]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return "" if done.returncode == 0 else (lines[-1] if lines else "bwrap does not run")


def environment() -> tuple[tuple[str, str], ...]:
    """The environment variables of minds: those of `KEPT`, and the passed ones.

    Raises:
        MindSpecError: for a passed variable that is not set.
    """
    passed = os.environ.get(PASSED, "").split()
    for name in passed:
        if name not in os.environ:
            raise MindSpecError(f"{name}, a variable for minds from files, is not set.")
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    kept = [(name, os.environ[name]) for name in (*KEPT, *passed) if name in os.environ]
    return (*kept, *SAME.items(), ("PYTHONPATH", path))


def sandbox(folder: Path | None = None) -> list[str]:
    """The beginning of a command that runs in a sandbox of bubblewrap.

    Everything visible is read-only: the system's programs, Python, the installed packages, the
    modules of the other folders on Python's path, and the files beside the minds.

    Args:
        folder: the folder of the minds, without links in its path.
    """
    shown = {Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]}
    for entry in (Path(entry).absolute() for entry in sys.path):
        whole = entry.name in PACKAGES or entry.is_relative_to(sys.base_prefix) or entry.is_file()
        shown.update([entry] if whole else files_in(entry, modules=True))
    if folder:
        is_home = Path.home().resolve().is_relative_to(folder)
        shown.update(files_in(folder, modules=is_home))
    # Under its own name, and under that to which links in its path lead.
    places = {(path.resolve(), path) for path in shown} | {(path.resolve(),) * 2 for path in shown}
    system = [(Path(path), Path(path)) for path in SYSTEM]
    own = [(real, path) for real, path in sorted(places) if not path.is_relative_to("/usr")]
    binds = [("--ro-bind-try", str(real), str(path)) for real, path in (*system, *own)]
    return [
        "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--proc", "/proc", "--dev", "/dev",
        "--size", SCRATCH, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
        "--size", SCRATCH, "--tmpfs", "/tmp",
        *chain(*binds), "--remount-ro", "/", "--chdir", "/tmp", "--setenv", "HOME", "/tmp",
    ]  # fmt: skip


def files_in(folder: Path, *, modules: bool) -> list[Path]:
    """The files and packages in a folder that a mind may read.

    Left out are other folders, hidden files, links (which may lead elsewhere) and recordings.

    Args:
        modules: whether other files than modules are left out, too.
    """
    try:
        entries = sorted(folder.iterdir())
    except OSError:  # not there, not a folder, not readable
        return []
    return [
        path
        for path in entries
        if not (path.name.startswith(".") or path.is_symlink() or ".sqlite" in path.name)
        if (path / "__init__.py").is_file()
        or (path.is_file() and not (modules and path.suffix not in {".py", ".so"}))
    ]
