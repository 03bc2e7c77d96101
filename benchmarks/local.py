"""The model in the box in scenarios, over the same messages sent to the bare runtime.

Both run in turns on one server, so the ratio does not depend on the speed of the machine. The bare
runtime is sent the recorded chats, with their schemas, seeds and as many tokens as the answers had,
as many at once as the server has slots; what all chats of a question share is in its cache before.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.results import Result
from sabm_mesa import Recorded
from sabm_mesa.core.scheduler import SIMULTANEOUS
from sabm_mesa.llm import close_all
from sabm_mesa.llm.local import LocalOptions, LocalServer, free_cores
from sabm_mesa.llm.weights import IN_THE_BOX, weights_of
from sabm_mesa.models.base import SmartModel
from sabm_mesa.models.registry import scenario

RUNS: Mapping[str, Mapping[str, Any]] = {
    "kbc": {"n_players": 24, "n_rounds": 1},
    "bertrand": {"n_rounds": 10},
    "fishery": {"n_rounds": 3},
}
TARGET = "<= 1.20"


def against_bare_runtime(folder: str) -> list[Result]:
    """The time of a run over that of its messages on the bare runtime, for three scenarios."""
    results = []
    threads = free_cores()  # the same for both, however busy the machine becomes
    for name, given in RUNS.items():
        path = Path(folder, f"{name}.sqlite")
        model = scenario(name)(**given, minds=f"local?threads={threads}", rng=1, recording=path)
        started = time.perf_counter()
        model.run_model()
        took = time.perf_counter() - started
        close_all()
        asks = Recorded(path).asks(messages=True)
        floor = _bare(model, asks.to_dict("records"), LocalOptions(threads))
        cached, sent = asks["cached_tokens"].sum(), asks["prompt_tokens"].sum()
        results.append(
            Result(
                f"{name} with the model in the box, over the bare runtime",
                took / floor,
                TARGET,
                f"{took:.1f} s and {floor:.1f} s for {len(asks)} answers; {cached:,} of {sent:,} "
                f"prompt tokens were in the cache; {int(model.total.invalid)} questions without a "
                "usable answer",
            )
        )
    return results


def _bare(model: SmartModel, asks: list[dict[str, Any]], options: LocalOptions) -> float:
    """Seconds that the bare runtime takes for recorded requests, in the order of the phases."""
    at_once = {phase.name for phase in model.phases if phase.order == SIMULTANEOUS}
    server = LocalServer(weights_of(IN_THE_BOX).path, options)
    if max(each["prompt_tokens"] + each["completion_tokens"] for each in asks) > server.context:
        server.enlarge(int(max(e["prompt_tokens"] + e["completion_tokens"] for e in asks)))
    try:
        with ThreadPoolExecutor(server.slots) as pool:

            def send(ask: dict[str, Any]) -> None:
                sent = json.loads(ask["provenance"])["sent"]
                sent["max_tokens"] = int(ask["completion_tokens"])
                _post(server, {"messages": json.loads(ask["messages"]), **sent})

            first = {ask["name"]: ask for ask in asks}
            for ask in first.values():  # what its chats share is read before
                _post(server, {"messages": json.loads(ask["messages"]), "max_tokens": 1})
            started = time.perf_counter()
            for (_, phase, _, _), group in groupby(
                asks, lambda ask: (ask["round"], ask["phase"], ask["call"], ask["attempt"])
            ):
                if phase in at_once:
                    list(pool.map(send, group))
                else:
                    list(map(send, group))
            return time.perf_counter() - started
    finally:
        server.stop()


def _post(server: LocalServer, body: Mapping[str, Any]) -> None:
    request = urllib.request.Request(
        f"{server.endpoint.base_url}/chat/completions",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {server.endpoint.key()}", "Content-Type": "application/json"},
    )
    urllib.request.urlopen(request).read()
