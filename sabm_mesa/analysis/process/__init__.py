"""Process measures: what messages do, in any scenario, by rules that can be checked by hand.

A message may carry any of these codes, or none:

================= ===============================================================================
``number``        states a number or price of the game: one that was, will be or could be chosen,
                  or an average or target; no count, percentage, change or cost
``proposal``      invites others to do something in the game, alone or with the speaker, also as a
                  question or on a condition; a mere direction where to go is ``guidance``
``agreement``     accepts what another has said or proposed
``disagreement``  rejects or doubts what another has said or proposed
``information``   tells something of the situation: what the speaker sees, what came of earlier
                  rounds, how the game works; what it intends, wishes or proposes alone is none
``encouragement`` calms, heartens or praises others
``guidance``      tells others which way to go or not to go
================= ===============================================================================

A message is coded by itself, whatever was said before it. The word lists are in
``sabm_mesa/analysis/words.toml``; the coder reads the surface of English sentences and no more, so
that irony and hints are missed. Cohen's kappa with 80 invented messages that were coded by hand
(``tests/analysis/hand_labelled.toml``), 40 in each half:

================= =========== ========
code              development held out
================= =========== ========
``number``               0.95     1.00
``proposal``             0.92     0.83
``agreement``            1.00     0.63
``disagreement``         0.69     0.30
``information``          0.94     0.63
``encouragement``        1.00     0.73
``guidance``             0.92     0.53
================= =========== ========

The word lists were tuned on the first half alone. Of the second only the kappas were looked at,
when the lists were done; one rule was corrected afterwards for another reason (a direction where to
go is no proposal: 0.75 before). But one person wrote lists and messages, so that even these figures
flatter, and with 4 to 10 messages a code their intervals are wide. Disagreement is the weakest: it
is seldom said in words of its own.

An LLM judge that codes by the same definitions is in `sabm_mesa.analysis.process.judge`, what was
said in a recording in `sabm_mesa.analysis.process.said`, and the first round with an explicit price
agreement is found by `sabm_mesa.analysis.price_talk.first_price_agreement`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from sabm_mesa.analysis.process.rules import EXITS, RULES
from sabm_mesa.analysis.statistics import require_columns

__all__ = ["CODES", "EXITS", "code_message", "coded", "shares"]

CODES = tuple(RULES)


def code_message(text: str, exits: tuple[str, ...] = EXITS) -> frozenset[str]:
    """The codes of a message.

    Args:
        text: the message.
        exits: the names of the exits, for messages about a room.
    """
    return frozenset(code for code, applies in RULES.items() if applies(text, exits))


def coded(messages: pd.DataFrame, exits: Iterable[str] = EXITS) -> pd.DataFrame:
    """Messages with their codes.

    Args:
        messages: one row a message, with ``text``; from `messages_of` also ``run``, ``round`` and
            ``speaker``.
        exits: the names of the exits, for messages about a room.

    Returns:
        The same rows with one boolean column a code.

    Raises:
        ValueError: when there is no column ``text``.
    """
    require_columns(messages, ["text"])
    names = tuple(exits)
    found = [code_message(text, names) for text in messages["text"]]
    columns = {code: [code in codes for codes in found] for code in CODES}
    return messages.assign(
        **{code: pd.Series(held, messages.index, dtype=bool) for code, held in columns.items()}
    )


def shares(messages: pd.DataFrame, by: str | Sequence[str] = "round") -> pd.DataFrame:
    """The share of messages that carry each code.

    Args:
        messages: coded messages. A message that a judge did not code usably counts in no share.
        by: the columns whose values make the groups, such as ``["run", "round"]``.

    Returns:
        One row a group, in rising order: the columns of `by`, ``messages`` (how many were said),
        and a share from 0 to 1 for each code, NaN when no message was coded.

    Raises:
        ValueError: when a column is missing.
    """
    groups = [by] if isinstance(by, str) else list(by)
    require_columns(messages, [*groups, *CODES])
    held = messages[[*groups, *CODES]].astype(dict.fromkeys(CODES, "Float64"))
    grouped = held.groupby(groups, sort=True)
    found = grouped[list(CODES)].mean().astype(float)
    found.insert(0, "messages", grouped.size())
    return found.reset_index()
