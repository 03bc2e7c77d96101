"""The content of a build of the repository."""

import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from tests.test_repository import ROOT, data_files

pytestmark = pytest.mark.slow


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
