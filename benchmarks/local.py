"""The included model in scenarios, compared with the same messages on the bare runtime.

Run and bare runtime take turns, so that the ratio does not depend on the speed of the machine. Each
has its own server, which is started before the measurement, with the same number of threads and
slots. The bare runtime gets the recorded chats by plain HTTP, with their schemas and seeds and with
the number of tokens of the recorded answers, as many chats at once as there are slots. Before that,
every slot reads the common text of the chats: the first chat of each kind.
"""

from __future__ import annotations

import http.client
import json
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from benchmarks.results import Result
from sabm_mesa import Recorded
from sabm_mesa.core.scheduler import SIMULTANEOUS
from sabm_mesa.llm import Connection, close_all
from sabm_mesa.llm.local import SLOTS, free_cores
from sabm_mesa.llm.weights import IN_THE_BOX, weights_of
from sabm_mesa.models.registry import scenario

RUNS: dict[str, Mapping[str, Any]] = {
    "kbc": {"n_players": 24, "n_rounds": 1},
    "bertrand": {"n_rounds": 10},
    "fishery": {"n_rounds": 3},
}
"""Scenario → its parameters."""
TARGET = "<= 1.20"
TURNS = 2
"""The number of turns of run and bare runtime."""
CONTEXT = 4096
"""The tokens of each slot, for both."""
TIMEOUT_S = 1800
"""The maximum number of seconds for an answer, since the machine may be busy."""
SERVER = """
import json, os, sys
given = json.loads(sys.stdin.readline())
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = given["path"]
params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [given["key"]]
params.n_parallel, params.n_ctx = given["slots"], given["slots"] * given["context"]
for threads in (params.cpuparams, params.cpuparams_batch):
    threads.n_threads = given["threads"]
params.verbosity, params.fit_params, params.ctx_shift, params.ui = 1, False, False, False
params.slot_prompt_similarity = 0.0
server = xllamacpp.Server(params)
answers.write(json.dumps(server.listening_address) + "\\n")
answers.flush()
sys.stdin.read()
os._exit(0)
"""
"""The program of the bare runtime."""


class Turn(NamedTuple):
    """Seconds, all prompt tokens, and prompt tokens from the cache."""

    seconds: float
    prompt: int
    cached: int


def against_bare_runtime(folder: str) -> list[Result]:
    """The time of three runs with the model in the box / of their messages on the bare runtime."""
    return [_compared(Path(folder), name, given) for name, given in RUNS.items()]


def _compared(folder: Path, name: str, given: Mapping[str, Any]) -> Result:
    threads = free_cores()  # the same number for both, even if the load changes
    runs, floors, asks = [], [], 0
    for turn in range(TURNS):
        path = folder / f"{name}-{turn}.sqlite"
        spec = f"local?threads={threads}&slots={SLOTS}&context={CONTEXT}"
        model = scenario(name)(
            **given, minds=spec, rng=turn, recording=path,
            connection=Connection(timeout_s=TIMEOUT_S),
        )  # fmt: skip
        started = time.perf_counter()
        model.run_model()
        took = time.perf_counter() - started
        close_all()
        at_once = {phase.name for phase in model.phases if phase.order == SIMULTANEOUS}
        rows = Recorded(path).asks(messages=True)
        asks += len(rows)
        runs.append(Turn(took, int(rows["prompt_tokens"].sum()), int(rows["cached_tokens"].sum())))
        floors.append(_bare(rows.to_dict("records"), at_once, threads))
        print(f"{name}: run {runs[-1]}, bare runtime {floors[-1]}", flush=True)
    ratios = [run.seconds / floor.seconds for run, floor in zip(runs, floors, strict=True)]
    return Result(
        f"{name} with the model in the box / bare runtime",
        statistics.median(ratios),
        TARGET,
        f"median of {TURNS} turns ({', '.join(f'{ratio:.2f}' for ratio in ratios)}); {asks} "
        f"answers, {threads} thread{'s'[: threads != 1]}; {_total(runs)} and {_total(floors)}",
    )


def _total(turns: Sequence[Turn]) -> str:
    cached, prompt = sum(turn.cached for turn in turns), sum(turn.prompt for turn in turns)
    seconds = sum(turn.seconds for turn in turns)
    return f"{seconds:.0f} s, {cached:,} of {prompt:,} prompt tokens from the cache"


def _bare(asks: list[dict[Any, Any]], at_once: set[str], threads: int) -> Turn:
    """Measure the bare runtime with recorded requests, in the order of the phases."""
    key = secrets.token_hex(16)
    given = {
        "path": str(weights_of(IN_THE_BOX).path), "key": key, "slots": SLOTS, "context": CONTEXT,
        "threads": threads,
    }  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        server.stdin.write(json.dumps(given) + "\n")
        server.stdin.flush()
        address = urlsplit(json.loads(server.stdout.readline()))
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

        def send(ask: dict[str, Any], **more: Any) -> dict[str, Any]:
            sent = json.loads(ask["provenance"])["sent"]
            sent["max_tokens"] = int(ask["completion_tokens"])
            body = json.dumps({"messages": json.loads(ask["messages"]), **sent, **more})
            link = http.client.HTTPConnection(
                str(address.hostname), address.port, timeout=TIMEOUT_S
            )
            link.request("POST", "/v1/chat/completions", body, headers)
            answer = json.loads(link.getresponse().read())
            link.close()
            usage: dict[str, Any] = answer["usage"]
            return usage

        first = {ask["name"]: ask for ask in asks}
        for ask in first.values():
            for slot in range(SLOTS):
                send(ask, max_tokens=1, id_slot=slot)
        usages: list[dict[str, Any]] = []
        with ThreadPoolExecutor(SLOTS) as pool:
            started = time.perf_counter()
            for (_, phase, _, _), group in groupby(
                asks, lambda ask: (ask["round"], ask["phase"], ask["call"], ask["attempt"])
            ):
                chats = list(group)
                usages += pool.map(send, chats) if phase in at_once else map(send, chats)
            took = time.perf_counter() - started
        cached = sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in usages)
        return Turn(took, sum(usage["prompt_tokens"] for usage in usages), cached)
    finally:
        server.kill()
        server.wait()
