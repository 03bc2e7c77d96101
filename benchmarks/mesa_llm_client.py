"""The `mesa-llm` client of the side-by-side benchmark, which runs in its own environment.

``python mesa_llm_client.py URL QUESTIONS REPEATS`` imports nothing of this project. Each repeat is
one step of a Mesa model with one ``LLMAgent`` per question. `mesa-llm` steps them in parallel, and
each agent asks once, with ``llm.agenerate``. This is the minimum for `mesa-llm`: its memory,
reasoning and tools would cost more. It prints seconds and versions as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

url, path, repeats = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
# Server and key for litellm, which uses its included list of models and downloads none.
os.environ |= {
    "OPENAI_API_KEY": "none",
    "OPENAI_BASE_URL": url,
    "OPENAI_API_BASE": url,
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOG": "ERROR",
}

import mesa  # noqa: E402 - litellm reads the environment when it is imported
from mesa_llm.llm_agent import LLMAgent  # noqa: E402 - after that variable is set
from mesa_llm.reasoning.cot import CoTReasoning  # noqa: E402 - after that variable is set

MODEL = "openai/gpt-4o-mini"


class Player(LLMAgent):
    """An agent that asks its question and stores the answer."""

    answer = ""

    def __init__(self, model: mesa.Model, system: str, question: str) -> None:
        super().__init__(model, reasoning=CoTReasoning, llm_model=MODEL, system_prompt=system)
        self.question = question

    async def astep(self) -> None:
        """Ask once."""
        response: Any = await self.llm.agenerate(self.question)
        self.answer = response.choices[0].message.content


class Contest(mesa.Model):
    """A model with one step, in which all agents ask at once."""

    parallel_stepping = True

    def __init__(self, questions: list[tuple[str, str]]) -> None:
        super().__init__(rng=1)
        for system, question in questions:
            Player(self, system, question)

    def step(self) -> None:
        """Step all agents in parallel."""
        self.agents.shuffle_do("step")


def main() -> None:
    """Measure the steps."""
    questions = json.loads(path.read_text("utf-8"))
    walls, cpus = [], []
    for _ in range(repeats):
        model = Contest(questions)
        wall, cpu = time.perf_counter(), time.process_time()
        model.step()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        assert all(agent.answer for agent in model.agents)
    packages = {name: version(name) for name in ("mesa-llm", "litellm", "mesa", "openai")}
    print(json.dumps({"wall_s": walls, "cpu_s": cpus, "versions": packages}))


main()
