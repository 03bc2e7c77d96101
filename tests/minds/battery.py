"""Have every mind of `attacks.py` attack this process; print the outcome, then the last line.

Run as ``python -m tests.minds.battery FOLDER BUBBLEWRAP NAMESPACES``, with 0 or 1 for each means.
"""

import json
import os
import re
import socket
import sys
from pathlib import Path

import sabm_mesa
from sabm_mesa import Recorded, communication
from sabm_mesa.minds.files.client import SupervisorClient
from sabm_mesa.minds.files.isolation import Isolation, bubblewrap_problem, visible
from sabm_mesa.minds.files.mind import FileMind, MindFile
from sabm_mesa.minds.files.worker import TimeLimits
from tests.core.support import tiny

ROOT = Path(__file__).parents[2]
SURVIVED = "The parent has survived."


def main(folder: Path, bubblewrap: bool, namespaces: bool) -> None:
    file = folder / "class" / "attacks.py"
    names = re.findall(r"^@attack\ndef (\w+)", file.read_text(), re.MULTILINE)
    with socket.create_server(("127.0.0.1", 0)) as server:
        os.environ["FACTS"] = json.dumps(
            {
                "canary backwards": os.environ["OPENAI_API_KEY"][::-1],
                "parent": os.getpid(),
                "port": server.getsockname()[1],
                "folder": str(folder),
                "file of the user": str(ROOT / "pyproject.toml"),
                "recording": str(folder / "class" / "out" / "recording.sqlite"),
                "package": sabm_mesa.__file__,
            }
        )
        bubblewrap = bubblewrap and not bubblewrap_problem()
        wanted = Isolation(bubblewrap=bubblewrap, namespaces=namespaces)
        seen = visible(str(file.parent)) if bubblewrap else ()
        limits = TimeLimits(compute_s=5.0, wait_s=60.0, start_s=60.0)
        client = SupervisorClient(limits, wanted, seen, ["FACTS"])

        def attacked(names: list[str]) -> dict[str, str]:
            into = folder / f"{len(names)}.sqlite"
            model = tiny(
                communication(order="fixed"), n=len(names), minds="fixed:1", rng=1, recording=into
            )
            for cell, name in zip(model.cells, names, strict=True):
                mind = MindFile(f"py:{file}:{name}", str(file), name, file.read_bytes(), paid=False)
                cell.mind = FileMind(mind, cell, client)
            model.run_model()
            decisions = Recorded(into).decisions().sort_values("agent")
            return {
                name: value if valid else f"kept out: {reason}"
                for name, value, valid, reason in zip(
                    names, decisions["value"], decisions["valid"], decisions["reason"], strict=True
                )
            }

        kill = "kill_parent"
        answers = attacked([name for name in names if name != kill])
        found = client.isolation
        means = [found.bubblewrap, found.namespaces]
        sys.stdout.write(json.dumps({"isolation": means, "answers": answers}) + "\n")
        sys.stdout.flush()  # the last attack may end this process
        attacked([kill])
        client.close()
        sys.stdout.write(SURVIVED + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] == "1", sys.argv[3] == "1")
