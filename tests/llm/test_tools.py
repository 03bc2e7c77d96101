"""Functions that a model calls in its own form, and in words where it calls none."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Le

from sabm_mesa import Observation, SmartAgent, SmartModel, Tools, action, replay
from sabm_mesa.core.answers import CALLED, words
from sabm_mesa.core.tools import call_as_text
from sabm_mesa.llm import close_all
from sabm_mesa.llm.budget import most_of
from sabm_mesa.llm.dialect import Dialect
from sabm_mesa.llm.reading import read_completion
from tests.llm.support import ask, rows
from tests.llm_server import LLMServer, Reply


def walk(direction: Literal["left", "right"], steps: Annotated[int, Ge(1), Le(3)]) -> str:
    """Walk along the street."""
    return f"{steps} to the {direction}"


def rest() -> str:
    """Do nothing."""
    return "rested"


TOOLS = Tools(walk=walk, rest=rest)


class Walker(SmartAgent):
    """Walks along a street."""

    results: tuple[str, ...] = ()

    async def act(self) -> Any:
        return await self.ask("act", self.model.tools, Observation(persona=self.persona))


class Street(SmartModel):
    """One walker."""

    scenario_name = "street"
    prompt_file = Path(__file__).with_name("street.toml")
    phases = (action(order="fixed"),)

    def __init__(self, n_rounds: int = 1, tools: Any = None, **settings: Any) -> None:
        super().__init__(n_rounds=n_rounds, **settings)
        self.tools = tools or TOOLS
        self.walkers = self.populate(Walker, 1)

    def after_act(self, walker: Walker, decision: Any) -> None:
        if decision.valid:
            walker.results += (str(self.tools.call(decision.value)),)


def called(name: str, arguments: str, content: str | None = None) -> Reply:
    function = {"name": name, "arguments": arguments}
    call = {"id": "call_1", "type": "function", "function": function}
    return Reply(content, "tool_calls", message={"tool_calls": [call]}, completion_tokens=9)


def played(tmp_path: Path, brain: Any, **settings: Any) -> tuple[Street, LLMServer, Path]:
    path = tmp_path / "street.sqlite"
    with LLMServer(brain=brain) as server:
        model = Street(minds=f"llm:stub@{server.url}", rng=1, recording=path, **settings)
        model.run_model()
        model.close()
        close_all()
    return model, server, path


def test_a_model_that_calls_functions_is_asked_in_its_own_form(tmp_path: Path) -> None:
    reply = called("walk", '{"direction": "left", "steps": 2}', "I walk a little.")
    model, server, path = played(tmp_path, lambda _m, _b: reply)
    (walker,) = model.walkers
    (seen,) = server.requests

    assert walker.results == ("walk(direction='left', steps=2) → 2 to the left",)
    assert seen.body["tools"] == TOOLS.definitions()
    assert seen.body["tool_choice"] == "required"
    assert "response_format" not in seen.body
    ((answer, form, thoughts, read_as, sent),) = rows(
        path,
        "SELECT raw, form, thoughts, read_as, text FROM asks JOIN texts ON texts.hash = provenance",
    )
    assert json.loads(answer) == {"answer": {"walk": {"direction": "left", "steps": 2}}}
    assert (form, thoughts, read_as) == ("json", "I walk a little.", "exact")
    assert '"tools":["walk","rest"]' in sent

    (again,) = replay(path, scenario=Street).models
    assert again.walkers[0].results == walker.results


REFUSALS = {
    "vLLM": (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
    "Ollama": (400, "registry.ollama.ai/library/deepseek-r1:latest does not support tools"),
    "llama.cpp": (500, "tools param requires --jinja flag"),
    "older llama.cpp": (500, "Unsupported param: tools"),
    "OpenRouter": (404, "No endpoints found that support tool use."),
}
"""Sources: github.com/vllm-project/vllm/issues/9986, ollama/ollama/issues/6027,
QwenLM/Qwen3.8/issues/44, ggml-org/llama.cpp/issues/10920.
"""


@pytest.mark.parametrize("name", REFUSALS)
def test_a_server_without_functions_is_asked_in_words(name: str) -> None:
    status, message = REFUSALS[name]
    dialect = Dialect("here", "m")
    asked = {"tools": TOOLS.definitions(), "tool_choice": "required", "response_format": {"a": 1}}

    assert set(dialect.mend(asked)) == {"tools", "tool_choice"}
    assert dialect.learn(asked, status, {"error": {"message": message}}) == "tools"
    assert set(dialect.mend(asked)) == {"response_format"}


def test_a_model_that_must_not_be_made_to_call_is_asked_for_a_call() -> None:
    dialect = Dialect("here", "m")
    asked = {"tools": TOOLS.definitions(), "tool_choice": "required"}
    refusal = {"error": {"message": "Unsupported value: 'tool_choice' must be omitted or 'auto'."}}

    assert dialect.learn(asked, 400, refusal) == "tool_choice"
    assert set(dialect.mend(asked)) == {"tools"}


@pytest.mark.parametrize("answer_format", ["labelled", "json"])
def test_words_are_read_where_a_model_calls_nothing(tmp_path: Path, answer_format: str) -> None:
    answer = "rest" if answer_format == "labelled" else '{"answer": {"rest": {}}}'
    model, server, _ = played(tmp_path, lambda _m, _b: answer, answer_format=answer_format)

    assert model.walkers[0].results == ("rest() → rested",)
    assert len(server.requests) == 1


def test_arguments_that_are_out_of_range_are_asked_for_again(tmp_path: Path) -> None:
    replies = iter([called("walk", '{"direction": "left", "steps": 7}'), called("rest", "{}")])
    model, server, path = played(tmp_path, lambda _m, _b: next(replies))

    assert model.walkers[0].results == ("rest() → rested",)
    assert "In steps" in server.requests[1].body["messages"][-1]["content"]
    assert rows(path, "SELECT valid FROM asks ORDER BY attempt") == [(0,), (1,)]


def test_two_calls_at_once_are_no_answer(tmp_path: Path) -> None:
    one, two = called("rest", "{}"), called("walk", '{"direction": "left", "steps": 1}')
    calls = [*one.message["tool_calls"], *two.message["tool_calls"]]
    both = Reply(None, "tool_calls", message={"tool_calls": calls}, completion_tokens=9)
    model, _, path = played(tmp_path, lambda _m, _b: both, max_attempts=2)

    assert model.walkers[0].results == ()
    assert rows(path, "SELECT valid FROM asks") == [(0,), (0,)]


@pytest.mark.parametrize(
    ("arguments", "content", "thoughts"),
    [
        ("{}", "I am tired.", ""),
        ('{"reasoning": "I am tired."}', None, ""),
        ("{}", "I lie</think>I am tired.", "I lie"),
        ('{"reasoning": "I am tired."}', "<think>I lie", "I lie"),
    ],
)
def test_the_reasoning_before_a_call_is_an_argument_or_written_beside_it(
    tmp_path: Path, arguments: str, content: str | None, thoughts: str
) -> None:
    tools = Tools(walk=walk, rest=rest, reasoning=words(20))
    reply = called("rest", arguments, content)
    _, server, path = played(tmp_path, lambda _m, _b: reply, tools=tools)

    given = rows(path, "SELECT reasoning, thoughts, valid FROM asks")
    assert given == [("I am tired.", thoughts, 1)]
    (function,) = [tool["function"] for tool in server.requests[0].body["tools"]][1:]
    assert list(function["parameters"]["properties"]) == ["reasoning"]


def test_a_recorded_call_is_no_refusal_of_a_schema() -> None:
    asked = {"tools": ["walk"], "tool_choice": "required", "response_format": "json_schema"}
    dialect = Dialect("here", "m")
    dialect.adopt(asked, {"tools": ["walk"], "tool_choice": "required"})

    assert dialect.mend({"response_format": {"type": "object"}})["response_format"]
    assert not dialect.changes
    dialect.adopt(asked, {"response_format": "json_schema"})
    assert dialect.changes == {"tools": None}


@pytest.mark.parametrize(
    ("status", "message", "param"),
    [
        (404, "The model `my-tools` does not exist", None),
        (400, "Invalid schema for function 'walk': bad", "tools[0].function.parameters"),
    ],
)
def test_a_fault_of_one_function_or_name_is_no_dialect(
    status: int, message: str, param: str | None
) -> None:
    asked = {"tools": TOOLS.definitions(), "tool_choice": "required"}
    dialect = Dialect("here", "m")

    assert dialect.learn(asked, status, {"error": {"message": message, "param": param}}) == ""


@pytest.mark.parametrize("arguments", ["", "{}", None, {}])
def test_arguments_may_be_missing_or_an_object(arguments: Any) -> None:
    call = {"function": {"name": "rest", "arguments": arguments}}
    body = {"choices": [{"message": {"content": None, "tool_calls": [call]}}]}
    done = read_completion(body, ask(), 0.1)

    assert done.finish_reason == CALLED
    assert call_as_text(done.text, TOOLS) == ('{"answer": {"rest": {}}}', "")


def test_a_call_that_is_cut_off_is_no_answer(tmp_path: Path) -> None:
    cut = replace(called("walk", '{"direction": "le'), finish_reason="length")
    model, _, path = played(tmp_path, lambda _m, _b: cut, max_attempts=1)

    assert model.walkers[0].results == ()
    ((reason,),) = rows(path, "SELECT reason FROM asks")
    assert "cut off" in reason


def test_a_server_that_says_it_calls_and_calls_nothing_gave_an_answer_in_words() -> None:
    body = {"choices": [{"message": {"content": "rest"}, "finish_reason": "tool_calls"}]}
    done = read_completion(body, ask(), 0.1)

    assert (done.text, done.finish_reason) == ("rest", "stop")


def test_functions_count_among_the_tokens_that_a_cap_allows() -> None:
    plain, with_tools = ask(), ask(tools=TOOLS.definitions())

    assert (
        most_of(with_tools.texts, 9, None).prompt_tokens
        > most_of(plain.texts, 9, None).prompt_tokens + 100
    )
    assert plain.digest() == ask(tools=None).digest() != with_tools.digest()
