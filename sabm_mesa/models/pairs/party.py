"""The memories of a recorded party, for scenarios that build on a party.

A party is a run in which agents invited each other and talked in pairs.

A run that builds on a party names it as ``PATH``, ``PATH#RUN`` or ``PATH#RUN@DIGEST``. The model
stores the last form in its parameters (`PartyMemories.reference`), so that a replay with a missing
or different party raises an error. A party that was moved together with the recording of such a run
is located beside it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sabm_mesa.errors import ParameterError, SabmError, about
from sabm_mesa.models.declarations import BuildsOn
from sabm_mesa.models.pairs.agents import Chat, Dialogue, Invitation, of_agent, pairs_of

if TYPE_CHECKING:
    import pandas as pd

    from sabm_mesa.recording.replaying import ReplayRecorder


NEEDED = frozenset({"invited", "accepted", "n_agents", "max_turns"})
"""The agent columns and parameters of a run that is a party."""
_REFERENCE = re.compile(r"(?P<path>.+?)(?:#(?P<run>\d+)(?:@(?P<digest>[0-9a-f]{16}))?)?")


@dataclass(frozen=True)
class PartyMemories:
    """The invitations and talks of a party.

    Attributes:
        path: the path of the recording, as given.
        run: the number of the run in it.
        n_agents: number of agents; their numbers are from 1.
        n_rounds: number of completed rounds.
        chats: all talks with at least one message, in order.
        invitations: all invitations, by round and sender.
    """

    path: str
    run: int
    n_agents: int
    n_rounds: int
    chats: tuple[Chat, ...]
    invitations: tuple[Invitation, ...]

    def chats_of(self, agent: int) -> tuple[Chat, ...]:
        """The talks of an agent, oldest first.

        Raises:
            ParameterError: when there was no such agent.
        """
        self._check(agent)
        return of_agent(self.chats, agent)

    def invitations_of(self, agent: int) -> tuple[Invitation, ...]:
        """The invitations that an agent sent or received, oldest first.

        Raises:
            ParameterError: when there was no such agent.
        """
        self._check(agent)
        return of_agent(self.invitations, agent)

    def counts(self) -> dict[tuple[int, int], int]:
        """Pair of agents (smaller number first) → number of their talks, including 0."""
        met = Counter(tuple(sorted(chat.agents)) for chat in self.chats)
        return {pair: met[pair] for pair in combinations(range(1, self.n_agents + 1), 2)}

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of the SHA-256 of these memories."""
        chats = [
            [chat.round, chat.agents, [[message.sender, message.text] for message in chat.messages]]
            for chat in self.chats
        ]
        invitations = [
            [invitation.round, invitation.sender, invitation.receiver, invitation.accepted]
            for invitation in self.invitations
        ]
        text = json.dumps([self.n_agents, chats, invitations])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def reference(self) -> str:
        """``PATH#RUN@DIGEST``, as recorded in the parameters of a run."""
        return f"{self.path}#{self.run}@{self.digest}"

    def _check(self, agent: int) -> None:
        if not 1 <= agent <= self.n_agents:
            raise ParameterError(
                f"There was no agent {agent} at the party of {self.path}, only 1 to "
                f"{self.n_agents}."
            )


@about("party")
def read_party(given: Any, replaying: ReplayRecorder | None = None) -> PartyMemories:
    """Read the memories of the party that a parameter names.

    Raises:
        ParameterError: when there is no party, or its digest differs.
    """
    if isinstance(given, PartyMemories):
        return given
    match = _REFERENCE.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise ParameterError(f"party must be PATH or PATH#RUN of a recording, not {given!r}.")
    path, run, digest = Path(match["path"]), int(match["run"] or 0), match["digest"]
    memories = None
    if replaying is not None and digest and not path.is_file():
        memories = _moved(path, run, digest, replaying.recorded.path.parent)
    memories = memories or party_memories(path, run)
    if digest not in {None, memories.digest}:
        raise ParameterError(
            f"The party of run {memories.run} in {memories.path} is not the one that this run "
            "began with; put the recording back that it was."
        )
    return replace(memories, path=match["path"])


def with_digest(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with the digest of the party instead of its path.

    Raises:
        ParameterError: when the party is missing or does not match the digest.
    """
    party = given.get("party")
    return dict(given) if party is None else {**given, "party": read_party(party).digest}


def _moved(path: Path, run: int, digest: str, folder: Path) -> PartyMemories | None:
    """The party in a recording below a folder with the same end of the path, or None."""
    for at in range(1, len(path.parts)):
        with suppress(ParameterError):
            memories = party_memories(folder.joinpath(*path.parts[at:]), run)
            if memories.digest == digest:
                return memories
    return None


def party_memories(path: str | Path, run: int = 0) -> PartyMemories:
    """Read the memories of a recorded party, from completed rounds.

    Raises:
        ParameterError: when there is no such run, nobody sent invitations there, or nobody talked.
    """
    from sabm_mesa.recording import load_runs
    from sabm_mesa.recording.frames import Recorded

    try:
        (party,) = load_runs(path, run)
        recorded, rounds = Recorded(path), party.rounds
        agents, decisions = recorded.agent_data(run), recorded.decisions(run)
        if NEEDED - {*agents, *party.parameters}:
            raise ParameterError(
                f"{party.name} is a run of {party.scenario}, where agents send no invitations."
            )
    except SabmError as error:
        raise ParameterError(f"party: {error}") from None
    invitations = _invitations(agents)
    spoken = decisions[(decisions["phase"] == "chat") & (decisions["round"] < rounds)]
    chats = _chats(invitations, spoken, int(party.parameters["max_turns"]))
    if not chats:
        raise ParameterError(f"party: nobody has talked in run {run} of {path}.")
    n_agents = int(party.parameters["n_agents"])
    return PartyMemories(str(path), run, n_agents, rounds, chats, invitations)


def _invitations(agents: pd.DataFrame) -> tuple[Invitation, ...]:
    """The invitations of all rounds, from the agents' data."""
    sent = agents.dropna(subset=["invited"])
    rows = zip(sent["round"], sent["agent"], sent["invited"], sent["accepted"], strict=True)
    invitations = [Invitation(int(t), int(a), int(b), bool(accepted)) for t, a, b, accepted in rows]
    return tuple(sorted(invitations, key=lambda invitation: (invitation.round, invitation.sender)))


def _chats(
    invitations: Iterable[Invitation], spoken: pd.DataFrame, max_turns: int
) -> tuple[Chat, ...]:
    """The talks, rebuilt from the answers of each agent in their order."""
    by_round: dict[int, list[Invitation]] = defaultdict(list)
    for invitation in invitations:
        by_round[invitation.round].append(invitation)
    answers: dict[tuple[int, int], deque[Any]] = defaultdict(deque)
    ordered = spoken.sort_values(["round", "agent", "call"])
    columns = (ordered[name] for name in ("round", "agent", "valid", "value"))
    for turn, agent, valid, value in zip(*columns, strict=True):
        answers[turn, agent].append(value if valid else None)
    chats = []
    for turn, sent in sorted(by_round.items()):
        for pair in pairs_of(sent):
            dialogue = Dialogue(turn, pair, max_turns)
            while (speaker := dialogue.speaker) is not None:
                dialogue.take(answers[turn, speaker].popleft())
            if dialogue.messages:
                chats.append(dialogue.chat())
    return tuple(chats)


def pending_party(model: Any, name: str) -> PartyMemories:
    """A placeholder for a party that has not been played yet: all guests, without talks."""
    return PartyMemories(name, 0, model.n_agents, model.n_rounds, (), ())


def builds_on_party(scenario: str) -> BuildsOn:
    """The declaration that a scenario builds on a party that its agents remember."""
    return BuildsOn("party", scenario, read_party, attrgetter("reference"), pending_party)
