"""Scripted parties that several test files play."""

from sabm_mesa import CocktailParty, ScriptedMind
from tests.models.support import chat

# Four guests in two rounds: whom they invite, whom they accept, and what they say, by guest.
INVITES = [{1: "L2", 2: "L1", 3: "L1", 4: "nobody"}, {1: "L4", 2: "L4", 3: "L4", 4: "L2"}]
ACCEPTS = [{(1, 2), (1, 3), (2, 1)}, {(4, 1), (4, 3)}]
SAYS = [
    {1: ["Red sky.", "Who else? LEAVE", "Good night. LEAVE"], 2: ["Blue sky."], 3: ["Red wine."]},
    {1: ["LEAVE"], 3: ["Red sky.", "Red."], 4: ["Blue sky.", "Bye **LEAVE**"]},
]
CHATS = [
    chat(0, (1, 2), (1, "Red sky."), (2, "Blue sky."), (1, "Who else?")),
    chat(0, (3, 1), (3, "Red wine."), (1, "Good night.")),
    chat(1, (3, 4), (3, "Red sky."), (4, "Blue sky."), (3, "Red."), (4, "Bye")),
]


class Script:
    """Answers by place; each guest's lines come in their order."""

    def __init__(self) -> None:
        self.said = {}
        self.asked = []

    def __call__(self, ask):
        key = ask.key
        self.asked.append(ask)
        if ask.name == "invite":
            return INVITES[key.round][key.agent]
        if ask.name == "accept":
            yes = (key.agent, int(ask.facts.inviter[1:])) in ACCEPTS[key.round]
            return "accept" if yes else "decline"
        place = self.said.setdefault((key.round, key.agent), iter(SAYS[key.round][key.agent]))
        return next(place)


def party(answer=None, **more):
    minds = {"minds": ScriptedMind(answer)} if answer else {}
    return CocktailParty(**{"n_agents": 4, "n_rounds": 2, "rng": 7, **minds, **more})


def played(answer=None, **more):
    model = party(answer, **more)
    model.run_model()
    return model


class Paid(ScriptedMind):
    """A mind that is paid for, and now and then says nothing that can be used."""

    paid = True

    def __init__(self, fails_from=10**9) -> None:
        super().__init__(self.say, "paid")
        self.asked, self.fails_from = 0, fails_from

    def say(self, ask):
        self.asked += 1
        if self.asked > self.fails_from:
            raise ConnectionError("no connection")
        draw = ask.rng.random()
        if draw < 0.1:
            return ""
        if ask.name == "say":
            return f"Word{int(draw * 50)} and more." + (" LEAVE" if draw > 0.7 else "")
        return ask.spec.options[int(ask.rng.integers(len(ask.spec.options)))]
