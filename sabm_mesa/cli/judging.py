"""``sabm judge``."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabm_mesa.cli.app import (
    AsJson,
    BaseURL,
    BudgetUSD,
    MaxAsks,
    MaxConcurrency,
    MaxTokens,
    Prices,
    Prompts,
    RecordingPath,
    Timeout,
    app,
    say,
)
from sabm_mesa.cli.values import parameters_from
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
    "temperature", "max_tokens", "top_p", "max_attempts", "answer_format", "condition", "variant",
)  # fmt: skip
"""What can be set of a judge; conditions and variants are those of a prompt file of one's own."""
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE",
        help=f"Set a parameter of the language model: {', '.join(JUDGE_SETTINGS)}; may be "
        "repeated.",
    ),
]  # fmt: skip


@app.command()
def judge(
    path: RecordingPath,
    minds: Judges = None,
    set_: Settings = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files; by default judge, beside it.")
    ] = None,
    base_url: BaseURL = None,
    max_concurrency: MaxConcurrency = None,
    timeout: Timeout = 120.0,
    budget_usd: BudgetUSD = None,
    max_asks: MaxAsks = None,
    max_tokens: MaxTokens = None,
    prices: Prices = None,
    prompts: Prompts = None,
    as_json: AsJson = False,
) -> None:
    """Code what was said in a recording: by rules, and by a language model for comparison."""
    from sabm_mesa.analysis.plots.process import codes_by_round
    from sabm_mesa.analysis.process import CODES, coded
    from sabm_mesa.analysis.process.said import messages_of
    from sabm_mesa.llm import Budget, Connection
    from sabm_mesa.recording import export, outputs

    parameters = parameters_from(set_ or [], {"minds": minds, "prompts": prompts})
    if unknown := set(parameters) - {"minds", "prompts", *JUDGE_SETTINGS}:
        raise UnknownName("parameter of a judge", min(unknown), JUDGE_SETTINGS)
    if parameters.setdefault("minds", "classical") == "classical" and len(parameters) > 1:
        raise ParameterError("Settings and prompts are those of a language model: name --minds.")
    messages = messages_of(path)
    if messages.empty:
        raise ParameterError(f"Nothing was said in the runs of {path}.")
    by_rules = coded(messages)
    folder = path.parent / "judge" if out is None else out
    coders, frames = {"rules": by_rules}, {"messages": by_rules}
    recorded: list[Path] = []
    said: dict[str, Any] = {"recording": str(path), "messages": len(messages)}
    if parameters["minds"] != "classical":
        connection = Connection(
            base_url, max_concurrency, timeout, prices=prices,
            budget=Budget(budget_usd, max_asks, max_tokens),
        )  # fmt: skip
        recorded = [folder / "judge.sqlite"]
        coders["judge"], more = _ask(messages, recorded[0], connection, parameters)
        judged = coders["judge"][list(CODES)].add_prefix("judge_")
        frames = {"messages": by_rules.join(judged), "agreement": _compare(coders)}
        said |= more
    files = [*recorded, *export.write_frames(folder, frames, "csv")]
    drawn = {name: frame for name, frame in coders.items() if _coded_any(frame)}
    figure = codes_by_round(drawn, path.name)
    draw = partial(figure.savefig, dpi=outputs.DPI)
    files.append(outputs.write_whole(folder / "codes.png", draw))
    said |= {
        "shares": {name: _shares(frame) for name, frame in coders.items()},
        "agreement": frames["agreement"].to_dict("records") if "agreement" in frames else None,
        "first_price_agreement": _price_agreements(path, messages),
        "files": [str(file) for file in files],
    }
    say(outputs.as_json(said) if as_json else "\n".join(_in_words(said, folder, files)))


def _ask(
    messages: pd.DataFrame, recording: Path, connection: Connection, parameters: dict[str, Any]
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """What the judge said, and what it cost."""
    from sabm_mesa.analysis.process.judge import judge
    from sabm_mesa.cli.progress import Progress, in_words
    from sabm_mesa.recording.statistics import answers_in

    with Progress("judge", 1) as progress:
        try:
            judged, runs = judge(
                messages, parameters.pop("minds"), recording,
                connection=connection, watch=progress.show, **parameters,
            )  # fmt: skip
        except (RunError, KeyboardInterrupt) as error:
            kept = answers_in(recording) if recording.exists() else 0
            if not kept and isinstance(error, RunError):
                raise
            raise RunError(
                f"{str(error) or 'Stopped.'} {kept:,} answers are in {recording}; the same command "
                "goes on from there."
            ) from error
    total = runs.total()
    return judged, {
        "texts": total.asks,
        "unusable": total.invalid,
        "from_recording": sum(runs.answers_repeated()),
        "spent": in_words(total),
    }


def _compare(coders: dict[str, pd.DataFrame]) -> pd.DataFrame:
    from sabm_mesa.analysis.agreement import agreement_by_code
    from sabm_mesa.analysis.process import CODES

    found = agreement_by_code(coders["rules"], coders["judge"], CODES)
    return found.rename(columns={"first": "rules", "second": "judge"})


def _coded_any(coded: pd.DataFrame) -> bool:
    from sabm_mesa.analysis.process import CODES

    return bool(coded[list(CODES)].notna().to_numpy().any())


def _shares(coded: pd.DataFrame) -> dict[str, float]:
    from sabm_mesa.analysis.process import CODES, shares

    (row,) = shares(coded.assign(all=True), "all")[list(CODES)].to_numpy().tolist()
    return dict(zip(CODES, row, strict=True))


def _price_agreements(path: Path, messages: pd.DataFrame) -> dict[int, int | None]:
    """Run → the first round with an explicit price agreement, for the runs about prices."""
    from sabm_mesa.analysis.price_talk import first_price_agreement
    from sabm_mesa.recording.frames import Recorded

    runs = Recorded(path).runs()
    about_prices = runs.loc[runs["scenario"] == "bertrand", "run"]
    return first_price_agreement(messages[messages["run"].isin(about_prices)])


def _in_words(said: dict[str, Any], folder: Path, files: list[Path]) -> list[str]:
    n = said["messages"]
    both = said["agreement"][0]["n"] if said["agreement"] else 0
    of_these = f" of {both:,} that both have coded" if 0 < both < n else ""
    lines = [f"{n:,} message{'' if n == 1 else 's'}; the share of each code{of_these}:"]
    if both:
        lines.append(f"{'':<14} {'rules':>6} {'judge':>6} {'alike':>6}  Cohen's kappa")
        lines += [_row(row) for row in said["agreement"]]
    else:
        lines += [f"{code:<14} {share:>6.0%}" for code, share in said["shares"]["rules"].items()]
    if said["agreement"]:
        lines.append(f"The judge read {said['texts']:,} different texts: {said['spent']}")
        if said["from_recording"]:
            lines.append(f"Of that, {said['from_recording']:,} answers came from the recording")
        if said["unusable"]:
            lines.append(
                f"Warning: {said['unusable']:,} of {said['texts']:,} texts got no usable answer; "
                f"{'their codes are missing' if both else 'the judge gave no usable code'}."
            )
    if agreed := said["first_price_agreement"]:
        rounds = [f"run {run}: {'none' if r is None else r}" for run, r in agreed.items()]
        lines.append(f"First round with an explicit price agreement: {', '.join(rounds)}")
    lines.append(f"Written to {folder}: {', '.join(file.name for file in files)}")
    return lines


def _row(row: dict[str, Any]) -> str:
    if math.isnan(row["kappa"]):
        kappa = "not defined: both gave the same code to all"
    else:
        kappa = f"{row['kappa']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
    shares = " ".join(f"{row[name]:>6.0%}" for name in ("rules", "judge", "agreed"))
    return f"{row['code']:<14} {shares}  {kappa}"
