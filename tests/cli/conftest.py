"""The command line as a fixture."""

import pytest

from .support import Sabm


@pytest.fixture
def sabm(capsys: pytest.CaptureFixture[str]) -> Sabm:
    return Sabm(capsys)
