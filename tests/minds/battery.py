"""Have every mind of `attacks.py` attack this process; print the outcome, then the last line.

Run as ``python -m tests.minds.battery FOLDER ORPHAN``. ORPHAN is the name of processes that the
minds leave behind.
"""

import json
import os
import re
import socket
import sys
from dataclasses import replace
from pathlib import Path

import sabm_mesa
from sabm_mesa import Recorded, communication
from sabm_mesa.minds.files.mind import FileMind, mind_file
from tests.core.support import tiny

ROOT = Path(__file__).parents[2]
SURVIVED = "The parent has survived."


def main(folder: Path, orphan: str) -> None:
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
                "orphan": orphan,
            }
        )
        os.environ["SABM_PASS_ENV"] = "FACTS"
        attacking = mind_file(f"py:{file}:own_key")
        of_another = mind_file(f"py:{file}:take_message")

        def attacked(names: list[str]) -> dict[str, str]:
            into = folder / f"{len(names)}.sqlite"
            model = tiny(
                communication(order="fixed"), n=len(names), minds="fixed:1", rng=1, recording=into
            )
            for cell, name in zip(model.cells, names, strict=True):
                mind = replace(attacking, start={**attacking.start, "name": name})
                cell.mind = FileMind(of_another if name == "take_message" else mind, cell)
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
        sys.stdout.write(json.dumps(answers) + "\n")
        sys.stdout.flush()  # the last attack may end this process
        attacked([kill])
        sys.stdout.write(SURVIVED + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
