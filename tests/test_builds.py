"""The content of a build of the repository."""

import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from tests.test_repository import ROOT, data_files

pytestmark = pytest.mark.slow


def built(folder: Path, into: Path) -> dict[str, bytes]:
    """File → content of the sdist and the wheel of a folder."""
    paths = [*SdistBuilder(str(folder)).build(directory=str(into))]
    paths += WheelBuilder(str(folder)).build(directory=str(into))
    return {Path(path).name: Path(path).read_bytes() for path in paths}


def test_two_builds_are_equal_to_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = built(ROOT, tmp_path / "here")
    # The same files in another folder, with other dates, in another time zone.
    (sdist,) = (tmp_path / "here").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "elsewhere", filter="data")
    (elsewhere,) = (tmp_path / "elsewhere").iterdir()
    for path in elsewhere.rglob("*.py"):
        os.utime(path, (10**9, 10**9))
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")

    assert built(elsewhere, tmp_path / "there") == here


def test_the_wheel_contains_the_package_data(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path))

    with zipfile.ZipFile(wheel) as archive:
        assert data_files() <= set(archive.namelist())


def test_the_sdist_contains_the_package_data(tmp_path: Path) -> None:
    (sdist,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path))

    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    about = {"README.md", "LICENSE", "Makefile", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md"}
    assert data_files() | about <= names
