"""``sabm replay``, ``sabm resume`` and ``sabm fork``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    Settings,
    app,
    say,
)
from sabm_mesa.cli.values import parameters_from
from sabm_mesa.errors import ParameterError

if TYPE_CHECKING:
    from sabm_mesa.llm import Connection
    from sabm_mesa.recording.past import Past

OnlyRuns = Annotated[
    list[int] | None,
    typer.Option(
        "--run",
        help="Only this run; may be repeated. Without it: replay takes all runs, fork those of the "
        "latest command, resume those of the latest one that is not finished.",
    ),
]
OtherTimeout = Annotated[
    float | None, typer.Option(min=0.1, help="Seconds a request may take; as before by default.")
]
OtherSharing = Annotated[
    bool | None,
    typer.Option(
        "--share-requests/--no-share-requests",
        help="Send identical questions as one request, or not; as before by default.",
    ),
]


@app.command()
def replay(
    recording: RecordingPath,
    run: OnlyRuns = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for tables, plots and summary; none by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run again from a recording alone, without key and network; all must come out the same."""
    from sabm_mesa import reruns
    from sabm_mesa.cli.progress import Progress
    from sabm_mesa.cli.report import deliver
    from sabm_mesa.recording import outputs
    from sabm_mesa.recording.past import pasts

    found = pasts(recording, run)
    by_command: dict[tuple[str, str], list[Past]] = {}
    for past in found:
        by_command.setdefault((past.command, past.scenario), []).append(past)
    commands = list(by_command.values())
    if out is not None and len(commands) > 1:
        raise ParameterError(
            f"The runs of {recording} are of {len(commands)} commands, and --out takes those of "
            "one: name them with --run."
        )
    if out is not None and not all(past.rounds for past in found):
        none = next(past for past in found if not past.rounds)
        raise ParameterError(
            f"{none.name} has no round that was played to its end, so it has no tables: "
            "leave out --out, or name other runs with --run."
        )
    said, checked = [], {"replayed": 0, "answers": 0, "rounds": 0}
    for command in commands:
        with Progress(command[0].scenario, len(command)) as progress:
            done = reruns.replay(recording, [past.run for past in command], watch=progress.show)
        answers = done.answers_repeated()
        said += [_verified(past, n) for past, n in zip(command, answers, strict=True)]
        checked["replayed"] += len(command)
        checked["answers"] += sum(answers)
        checked["rounds"] += sum(past.rounds for past in command)
    if out is not None:
        deliver(done, out, None, as_json=as_json, first_lines=said, more={"verified": checked})
    else:
        say(outputs.as_json({"verified": checked}) if as_json else "\n".join(said))


@app.command()
def resume(
    recording: RecordingPath,
    run: OnlyRuns = None,
    base_url: BaseURL = None,
    max_concurrency: MaxConcurrency = None,
    share_requests: OtherSharing = None,
    timeout: OtherTimeout = None,
    budget_usd: BudgetUSD = None,
    max_asks: MaxAsks = None,
    max_tokens: MaxTokens = None,
    prices: Prices = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for tables, plots and summary; that of the recording by default."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Go on with runs that were stopped or failed; what was answered is not asked again."""
    from sabm_mesa import reruns
    from sabm_mesa.cli.progress import Progress, guarded
    from sabm_mesa.cli.report import deliver
    from sabm_mesa.recording.past import pasts

    found = pasts(recording, run) if run else reruns.unfinished(recording)
    connection = _connection(
        found[0], base_url, max_concurrency, share_requests, timeout, budget_usd, max_asks,
        max_tokens, prices,
    )  # fmt: skip
    with Progress(found[0].scenario, len(found)) as progress:
        done = guarded(
            lambda: reruns.resume(
                recording, [past.run for past in found], connection=connection, watch=progress.show
            ),
            progress,
            recording,
        )
    beside = out is None or out == recording.parent
    deliver(done, out or recording.parent, recording if beside else None, as_json=as_json)


@app.command()
def fork(
    recording: RecordingPath,
    at: Annotated[int, typer.Option(min=0, help="First round (from 0) with the new parameters.")],
    out: Annotated[Path, typer.Option(help="Folder for recording, tables and plots.")],
    run: OnlyRuns = None,
    set_: Settings = None,
    minds: Annotated[
        str | None, typer.Option(help="Who decides from then on; as before by default.")
    ] = None,
    condition: Annotated[
        str | None, typer.Option(help="Condition from then on; as before by default.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds in all, from 0; as before by default.")
    ] = None,
    prompts: Prompts = None,
    base_url: BaseURL = None,
    max_concurrency: MaxConcurrency = None,
    share_requests: OtherSharing = None,
    timeout: OtherTimeout = None,
    budget_usd: BudgetUSD = None,
    max_asks: MaxAsks = None,
    max_tokens: MaxTokens = None,
    prices: Prices = None,
    as_json: AsJson = False,
) -> None:
    """Branch runs: the same history up to a round, then other parameters or minds."""
    from sabm_mesa import reruns
    from sabm_mesa.cli.progress import Progress, guarded
    from sabm_mesa.cli.report import deliver
    from sabm_mesa.recording.past import pasts

    new = parameters_from(
        set_ or [],
        {"minds": minds, "condition": condition, "n_rounds": rounds, "prompts": prompts},
    )
    found = pasts(recording, run) if run else reruns.latest(pasts(recording))
    connection = _connection(
        found[0], base_url, max_concurrency, share_requests, timeout, budget_usd, max_asks,
        max_tokens, prices,
    )  # fmt: skip
    into = out / "recording.sqlite"
    with Progress(found[0].scenario, len(found)) as progress:
        done = guarded(
            lambda: reruns.fork(
                recording, at, new, into, [past.run for past in found],
                connection=connection, watch=progress.show,
            ),
            progress,
            into,
        )  # fmt: skip
    deliver(done, out, into, as_json=as_json)


def _connection(
    past: Past,
    base_url: str | None,
    max_concurrency: int | None,
    share_requests: bool | None,
    timeout: float | None,
    budget_usd: float | None,
    max_asks: int | None,
    max_tokens: int | None,
    prices: Path | None,
) -> Connection:
    """How language models are reached: as recorded, but for what is given."""
    from sabm_mesa.llm import Connection

    given = {
        "base_url": base_url, "max_concurrency": max_concurrency, "timeout_s": timeout,
        "share_requests": share_requests,
        "max_usd": budget_usd, "max_asks": max_asks, "max_tokens": max_tokens,
    }  # fmt: skip
    chosen = {name: value for name, value in given.items() if value is not None}
    if prices is None:
        return Connection.of_recorded({**past.connection, **chosen})
    connection = Connection.of_recorded({**past.connection, **chosen, "prices": None})
    return replace(connection, prices=prices)


def _verified(past: Past, answers: int) -> str:
    whole = past.status == "finished"
    rounds = f"{past.rounds} round" + ("s" if past.rounds != 1 else "")
    part = "" if whole else f" (cut off: {past.problem or past.status}; its rounds up to there)"
    return f"Run {past.run}: identical{part}, {rounds}, {answers} answers, nothing sent."
