"""Seeded runs of behavioural rules give the tables on record.

For an intended change, `python -m tests.models.test_tables_unchanged` writes the hashes again.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from sabm_mesa.models.registry import scenario

FILE = Path(__file__).parent / "table_hashes.json"
HASHES: dict[str, str] = json.loads(FILE.read_text("utf-8"))
"""Name and parameters of a run → hash of its tables of the model and of the agents."""


def tables_hash(run: str) -> str:
    """The hash of both tables, with ten significant digits of each number."""
    name, _, parameters = run.partition(" ")
    model = scenario(name)(**json.loads(parameters))
    model.run_model()
    tables = (model.model_frame(), model.agent_frame())
    text = "\n".join(table.to_csv(float_format="%.10g") for table in tables)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("run", HASHES)
def test_tables_are_unchanged(run: str) -> None:
    assert tables_hash(run) == HASHES[run]


if __name__ == "__main__":
    FILE.write_text(json.dumps({run: tables_hash(run) for run in HASHES}, indent=0) + "\n")
