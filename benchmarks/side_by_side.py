"""This project, `mesa-llm`, the client library and bare HTTP: the same asks to the same server."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.clients import questions
from benchmarks.results import Result
from benchmarks.server import latency_server

ASKS = 400
LATENCY_S = 0.2
REPEATS = 6
"""The first repeat opens the connections and loads late imports; it is left out."""
ROUNDS = 2
KINDS = {
    "sabm": "this project",
    "sabm-recorded": "this project, recorded",
    "mesa-llm": "mesa-llm",
    "openai": "the bare openai client",
    "aiohttp": "bare aiohttp",
}
ROOT = Path(__file__).parents[1]
MESA_LLM = ROOT / ".venv-mesa-llm" / "bin" / "python"
NO_MESA_LLM = "not installed: make .venv-mesa-llm/ready"


def clients(folder: str) -> list[Result]:
    """400 asks at once by each client, in turn; each client and the server have their own process.

    The CPU time is that of the client's process. The value of a round is the median of its repeats.
    Reported are medians over the rounds; ratios are computed within each round.
    """
    path = Path(folder, "questions.json")
    path.write_text(json.dumps(questions(ASKS)), "utf-8")
    kinds = [kind for kind in KINDS if kind != "mesa-llm" or MESA_LLM.exists()]
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for _ in range(ROUNDS):
        for kind in kinds:
            found[kind].append(_measured(kind, path))
    cpu = {kind: [statistics.median(m["cpu_s"][1:]) / ASKS for m in found[kind]] for kind in kinds}
    wall = {kind: [statistics.median(m["wall_s"][1:]) for m in found[kind]] for kind in kinds}
    targets = {"sabm": "<= 2", "sabm-recorded": "<= 2"}
    results = []
    for kind, name in KINDS.items():
        said = f"{name}: ms of CPU an ask, {ASKS} asks at once"
        if kind not in found:
            results.append(Result(said, None, "", NO_MESA_LLM))
            continue
        seconds, most = statistics.median(wall[kind]), max(m["in_flight"] for m in found[kind])
        detail = f"{seconds:.2f} s for all, {most} in flight at most"
        if kind in ("mesa-llm", "openai"):
            versions = found[kind][0]["versions"]
            detail += "; " + ", ".join(f"{p} {v}" for p, v in versions.items())
        value = statistics.median(cpu[kind]) * 1000
        results.append(Result(said, value, targets.get(kind, ""), detail))
    for measured, by, one, two, target in (
        ("CPU", cpu, "mesa-llm", "sabm", ">= 2"),
        ("CPU", cpu, "mesa-llm", "sabm-recorded", ">= 2"),
        ("time", wall, "mesa-llm", "sabm-recorded", ""),
        ("CPU", cpu, "sabm", "openai", ""),
        ("CPU", cpu, "sabm-recorded", "openai", "<= 0.9"),
        ("CPU", cpu, "sabm-recorded", "aiohttp", ""),
        ("time", wall, "sabm-recorded", "openai", "<= 1.5"),
    ):
        said = f"{measured}: {KINDS[one]} / {KINDS[two]}"
        if one in found:
            ratio = statistics.median(a / b for a, b in zip(by[one], by[two], strict=True))
            results.append(Result(said, ratio, target))
        else:
            results.append(Result(said, None, target, NO_MESA_LLM))
    return results


def _measured(kind: str, path: Path) -> dict[str, Any]:
    """Measure the wall and CPU time of one client with a newly started server."""
    with latency_server(LATENCY_S) as url:
        if kind == "mesa-llm":
            command = [str(MESA_LLM), str(ROOT / "benchmarks" / "mesa_llm_client.py")]
        else:
            command = [sys.executable, "-m", "benchmarks.clients", kind]
        done = subprocess.run(
            [*command, url, str(path), str(REPEATS)], stdout=subprocess.PIPE, text=True, check=True
        )
        with urllib.request.urlopen(f"{url.removesuffix('/v1')}/_stats") as response:
            stats = json.load(response)
    # No question was asked twice, and none was refused.
    assert stats["requests"] == stats["status_200"] == ASKS * REPEATS, stats
    # Only the last line, since mesa-llm prints other lines.
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured | {"in_flight": stats["max_in_flight"]}
