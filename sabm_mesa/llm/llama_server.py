"""The process of a local model: llama.cpp's server on loopback, until its standard input ends.

It is run as a script and imports nothing of the package, so that it starts soon. The first line of
its standard input is a JSON object with the parameters; the line that it prints is its address.
Its log, with the reason when a file cannot be loaded, goes to standard error. The input ends with
the process that started the server, so the server never outlives that process.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    """Serve one model until the input ends."""
    given: dict[str, Any] = json.loads(sys.stdin.readline())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # llama.cpp may print too
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = given["path"]
    params.model_alias = [given["alias"]]
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [given["key"]]
    params.n_parallel, params.n_ctx = given["slots"], given["slots"] * given["context"]
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = given["threads"]
    if given["gpu_layers"] is not None:
        params.n_gpu_layers = given["gpu_layers"]
    params.verbosity = given["verbosity"]
    # The caller chooses the sizes. They are never changed to make the model fit, and no prompt is
    # cut.
    params.fit_params = params.ctx_shift = False
    params.ui = params.endpoint_slots = False
    # A request goes to the slot that was idle longest, which takes the longest beginning that any
    # slot has read. By default it goes to the slot with the most similar prompt, and waits for it.
    params.slot_prompt_similarity = 0.0
    server = xllamacpp.Server(params)
    answers.write(json.dumps(server.listening_address) + "\n")
    answers.flush()
    sys.stdin.read()
    os._exit(0)  # its threads need not end their work


if __name__ == "__main__":
    try:
        main()
    except (ImportError, RuntimeError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
