"""The entries of models that were checked, in a file of endpoints."""

from pathlib import Path

import pytest

from sabm_mesa.errors import OutputError
from sabm_mesa.llm import read_endpoints
from sabm_mesa.llm.endpoints import OPENAI_URL, Endpoint
from sabm_mesa.runs.try_model import ProbedModel, write_entries

ONE, TWO = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"


def found(url: str | None, name: str, model: str = "m") -> ProbedModel:
    return ProbedModel(f"llm:{model}@{name}", model, Endpoint(url, name))


def addresses(path: Path) -> dict[str, str | None]:
    return {name: endpoint.url for name, endpoint in read_endpoints(path).items()}


def test_entries_are_added_behind_those_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.toml"
    assert write_entries(path, [found(ONE, "one")]) == ["one"]
    assert addresses(path) == {"one": ONE}
    before = path.read_text("utf-8")

    again = [found(ONE, "one", "other"), found(TWO, "two"), found(TWO, "two", "other")]
    assert write_entries(path, again) == ["two"]
    assert addresses(path) == {"one": ONE, "two": TWO}
    text = path.read_text("utf-8")
    assert text.startswith(before)
    assert text.count("\n\n\n") == 0
    assert write_entries(path, again) == []
    assert path.read_text("utf-8") == text


def test_openais_own_address_has_two_names(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.toml"
    assert write_entries(path, [found(None, "openai"), found(OPENAI_URL, "openai")]) == ["openai"]
    assert addresses(path) == {"openai": OPENAI_URL}
    assert write_entries(path, [found(None, "openai")]) == []


@pytest.mark.parametrize("there", [True, False])
def test_another_endpoint_of_the_name_is_left_as_it_is(there: bool, tmp_path: Path) -> None:
    path, findings = tmp_path / "endpoints.toml", [found(ONE, "lab"), found(TWO, "lab")]
    if there:
        write_entries(path, findings[:1])
        del findings[0]
    with pytest.raises(OutputError, match="'lab'"):
        write_entries(path, findings)

    assert path.exists() == there
    assert not there or addresses(path) == {"lab": ONE}


def test_an_entry_keeps_all_fields_of_the_endpoint_except_secret_headers(tmp_path: Path) -> None:
    given, written = tmp_path / "given.toml", tmp_path / "written.toml"
    given.write_text(
        "[endpoints.lab]\n"
        f'base_url = "{ONE}"\n'
        'headers = { "X-Title" = "a \\"study\\"", "X-Lab-Token" = "hidden-token-1" }\n'
        "extra_body = { provider = { only = ['A', 'B'], allow = true }, level = 1.5 }\n"
        "max_concurrency = 3\n"
    )
    endpoint = read_endpoints(given)["lab"]
    write_entries(written, [ProbedModel("llm:m@lab", "m", endpoint)])
    kept = read_endpoints(written)["lab"]
    assert kept.headers == {"X-Title": 'a "study"'}
    assert kept.extra_body == endpoint.extra_body
    assert kept.max_concurrency == 3
    assert "# headers: add X-Lab-Token" in written.read_text()
    assert "hidden-token-1" not in written.read_text()
