"""``sabm judge``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import app, say
from sabm_mesa.cli.options import (
    AsJson,
    FileMindOptions,
    LLMOptions,
    Prompts,
    RecordingPath,
    isolation_of,
    parameters_from,
    with_options,
)
from sabm_mesa.errors import ParameterError, RunError, UnknownName

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.llm import Connection

Judges = Annotated[
    str | None,
    typer.Option(
        "--minds",
        help="A language model that codes too: llm:MODEL, llm:MODEL@URL, gguf:FILE; none by "
        "default.",
    ),
]
JUDGE_SETTINGS = (
    "temperature", "max_tokens", "top_p", "max_attempts", "answer_format", "reading", "condition",
    "variant",
)  # fmt: skip
"""Parameters of a judge that can be set; conditions and variants come from a user's prompt file."""
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE",
        help=f"Set a parameter of the language model: {', '.join(JUDGE_SETTINGS)}; may be "
        "repeated.",
    ),
]  # fmt: skip


@app.command()
@with_options
def judge(
    path: RecordingPath,
    *,
    minds: Judges = None,
    set_: Settings = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files; by default judge, beside it.")
    ] = None,
    llm: LLMOptions,
    isolation: FileMindOptions,
    prompts: Prompts = None,
    as_json: AsJson = False,
) -> None:
    """Code the messages of a recording: by rules, and by a language model for comparison."""
    from sabm_mesa.analysis.messages import CODES
    from sabm_mesa.analysis.plot_style import to_png
    from sabm_mesa.recording import export
    from sabm_mesa.recording.frames import Recorded
    from sabm_mesa.studies.honesty import honesty_of, shares_of
    from sabm_mesa.studies.judging import message_coder, message_measures
    from sabm_mesa.studies.plots import codes_by_round

    parameters = parameters_from(set_ or [], {"minds": minds, "prompts": prompts})
    if unknown := set(parameters) - {"minds", "prompts", *JUDGE_SETTINGS}:
        raise UnknownName("parameter of a judge", min(unknown), JUDGE_SETTINGS)
    if parameters.setdefault("minds", "classical") == "classical" and len(parameters) > 1:
        raise ParameterError("Settings and prompts are those of a language model: name --minds.")
    messages = Recorded(path).messages()
    if messages.empty:
        raise ParameterError(f"Nothing was said in the runs of {path}.")
    by_rules = message_coder().coded(messages)
    folder = path.parent / "judge" if out is None else out
    coders, frames = {"rules": by_rules}, {"messages": by_rules}
    recorded: list[Path] = []
    said: dict[str, Any] = {"recording": str(path), "messages": len(messages)}
    if parameters["minds"] != "classical":
        connection = llm.connection()
        isolation.apply()
        if line := isolation_of([parameters["minds"]]):
            say(line, err=True)
        recorded = [folder / "judge.sqlite"]
        coders["judge"], more = _ask(messages, recorded[0], connection, parameters)
        judged = coders["judge"][list(CODES)].add_prefix("judge_")
        frames = {"messages": by_rules.join(judged), "agreement": _compare(coders)}
        said |= more
    honesty = honesty_of(path)
    if len(honesty):
        frames["honesty"] = honesty
        said["honesty"] = shares_of(honesty)
    files = [*recorded, *export.write_frames(folder, frames, "csv")]
    drawn = {name: frame for name, frame in coders.items() if _coded_any(frame)}
    figure = codes_by_round(drawn, path.name)
    files.append(export.write_picture(folder / "codes.png", to_png(figure)))
    said |= {
        "shares": {name: _shares(frame) for name, frame in coders.items()},
        "agreement": frames["agreement"].to_dict("records") if "agreement" in frames else None,
        **(measured := message_measures(path, messages)),
        "files": [str(file) for file in files],
    }
    if as_json:
        say(export.readable_json(said))
    else:
        say("\n".join(_in_words(said, list(measured), folder, files)))


def _ask(
    messages: pd.DataFrame, recording: Path, connection: Connection, parameters: dict[str, Any]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Ask the judge; return its answers and their cost."""
    from sabm_mesa.cli.progress import Progress, answers_are, in_words
    from sabm_mesa.studies.judging import judge

    with Progress("judge", 1) as progress:
        try:
            judged, runs = judge(
                messages, parameters.pop("minds"), recording,
                connection=connection, watch=progress.show, **parameters,
            )  # fmt: skip
        except (RunError, KeyboardInterrupt) as error:
            kept = answers_are([recording])
            if kept.startswith("0 ") and isinstance(error, RunError):
                raise
            raise RunError(
                f"{str(error) or 'Stopped.'} {kept} in {recording}; the same command goes on from "
                "there."
            ) from error
    total = runs.total()
    return judged, {
        "texts": total.asks,
        "unusable": total.invalid,
        "from_recording": sum(runs.answers_repeated()),
        "spent": in_words(total),
    }


def _compare(coders: dict[str, pd.DataFrame]) -> pd.DataFrame:
    from sabm_mesa.analysis.messages import CODES
    from sabm_mesa.analysis.statistics import agreement_by_code

    found = agreement_by_code(coders["rules"], coders["judge"], CODES)
    return found.rename(columns={"first": "rules", "second": "judge"})


def _coded_any(coded: pd.DataFrame) -> bool:
    from sabm_mesa.analysis.messages import CODES

    return bool(coded[list(CODES)].notna().to_numpy().any())


def _shares(coded: pd.DataFrame) -> dict[str, float]:
    from sabm_mesa.analysis.messages import CODES, shares

    (row,) = shares(coded.assign(all=True), "all")[list(CODES)].to_numpy().tolist()
    return dict(zip(CODES, row, strict=True))


def _in_words(
    said: dict[str, Any], measured: Sequence[str], folder: Path, files: list[Path]
) -> list[str]:
    from sabm_mesa.studies.judging import measure_label

    n = said["messages"]
    both = said["agreement"][0]["n"] if said["agreement"] else 0
    of_these = f" of {both:,} that both have coded" if 0 < both < n else ""
    lines = [f"{n:,} message{'' if n == 1 else 's'}; the share of each code{of_these}:"]
    if both:
        lines.append(f"{'':<14} {'rules':>6} {'judge':>6} {'alike':>6}  Cohen's kappa")
        lines += [_row(row) for row in said["agreement"]]
    else:
        lines += [f"{code:<14} {share:>6.0%}" for code, share in said["shares"]["rules"].items()]
    if "honesty" in said:
        lines += _of_honesty(said["honesty"])
    if said["agreement"]:
        lines.append(f"The judge read {said['texts']:,} different texts: {said['spent']}")
        if said["from_recording"]:
            lines.append(f"Of that, {said['from_recording']:,} answers came from the recording")
        if said["unusable"]:
            lines.append(
                f"Warning: {said['unusable']:,} of {said['texts']:,} texts got no usable answer; "
                f"{'their codes are missing' if both else 'the judge gave no usable code'}."
            )
    for name in measured:
        values = [f"run {run}: {'none' if v is None else v}" for run, v in said[name].items()]
        lines.append(f"{measure_label(name)}: {', '.join(values)}")
    lines.append(f"Written to {folder}: {', '.join(file.name for file in files)}")
    return lines


def _of_honesty(found: dict[str, Any]) -> list[str]:
    """The announcements and the share that was kept, in words."""
    shares = ", ".join(f"{name} {found[name]:.0%}" for name in ("read", "unclear", "nothing"))
    first = (
        f"What each agent announced in a round in which it spoke ({found['speakers']:,}): {shares}"
    )
    if not found["judged"]:
        return [first]
    of = "1 that has" if found["judged"] == 1 else f"{found['judged']:,} that have"
    return [first, f"Kept: {found['honest']:.0%} of the {of} a decision beside them"]


def _row(row: dict[str, Any]) -> str:
    if math.isnan(row["kappa"]):
        kappa = "not defined: both gave the same code to all"
    else:
        kappa = f"{row['kappa']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
    shares = " ".join(f"{row[name]:>6.0%}" for name in ("rules", "judge", "agreed"))
    return f"{row['code']:<14} {shares}  {kappa}"
