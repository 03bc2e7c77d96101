"""``sabm models``: list local models, and download their weights."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import AsJson

models = typer.Typer(
    name="models",
    help="List local models, or download their weights.",
    rich_markup_mode=None,
    invoke_without_command=True,
)
app.add_typer(models)


@models.callback()
def list_models(context: typer.Context, as_json: AsJson = False) -> None:
    """List the installed and the available local models."""
    if context.invoked_subcommand is not None:
        return
    from sabm_mesa.llm.weights import NOTICES, available, folder
    from sabm_mesa.recording.export import readable_json

    known = available()
    if as_json:
        rows = [
            {
                **asdict(weights), "there": weights.is_there,
                "memory": weights.memory,
            }
            for weights in known
        ]  # fmt: skip
        say(readable_json({"folder": str(folder()), "models": rows, "notices": NOTICES}))
        return
    for weights in known:
        say(f"{weights.name}  (--minds {weights.spec})")
        if weights.is_there:
            gigabytes = f"{weights.path.stat().st_size / 1e9:.2f} GB"
            say(f"  {weights.path} ({gigabytes}; needs {weights.memory / 1e9:.1f} GB of memory)")
        else:
            needs = f"{weights.size / 1e6:.0f} MB; needs {weights.memory / 1e9:.1f} GB of memory"
            say(f"  not installed ({needs}): sabm models get {weights.name}")
        say(f"  licence {weights.licence}; from {weights.source}")
    say("\nMore: sabm models get OWNER/REPOSITORY/FILE.gguf downloads a file from Hugging Face.")
    say("--minds gguf:FILE runs a file of this machine where it is.")
    for notice in NOTICES.values():
        say(notice)


@models.command()
def get(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A name that sabm models lists, or OWNER/REPOSITORY/FILE.gguf on Hugging Face.",
        ),
    ],
) -> None:
    """Download the weights of a model, and check them."""
    from sabm_mesa.llm.weights import get as fetch

    _say_kept(fetch(name))


def _say_kept(weights: Any) -> None:
    from sabm_mesa.llm.gguf import read_header
    from sabm_mesa.llm.weights import NOTICES

    say(f"Installed: {weights.path}, SHA-256 {weights.sha256}. Use it with --minds {weights.spec}")
    say(NOTICES.get(weights.name, f"Licence: {weights.licence}; from {weights.source}."))
    if remark := read_header(weights.path).remark:
        say(f"Warning: {weights.file} has {remark}")
