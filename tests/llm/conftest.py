"""Every test begins without a key, an address and connections, and leaves none open."""

from collections.abc import Iterator

import pytest

from sabm_mesa.llm import close_all
from sabm_mesa.llm.endpoints import URL_VARIABLE
from sabm_mesa.llm.translation import KEY_VARIABLE


@pytest.fixture(autouse=True)
def own_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    yield
    close_all()
