"""Settings of a new game: the form of the page of the host, and the link of a lesson.

``/host?game=bertrand&people=2&groups=8&rounds=4&seconds=45`` opens the form with these settings.
Nothing starts by a link: the host reads the form, and opens the game. ``mind`` says who plays at
the seats of machines. It names neither a file nor an address, which a link should not choose.
``lang`` is the language of the class.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from sabm_mesa.core.parameters import parameters_of
from sabm_mesa.core.parsing import parse_minds, parse_value
from sabm_mesa.core.phrases import ENGLISH, LANGUAGES
from sabm_mesa.core.prompts import PromptBook
from sabm_mesa.core.structured import bounds
from sabm_mesa.errors import SabmError, UsageError
from sabm_mesa.minds.specs import CLASSICAL
from sabm_mesa.models.registry import scenario
from sabm_mesa.runs.game import agents_by_class
from sabm_mesa.visualization.labels import count, mind_in_words, whole_in
from sabm_mesa.visualization.web.opening import MOST_GROUPS, TIME_LIMIT_S, open_session

if TYPE_CHECKING:
    from sabm_mesa.runs.game import ClassSession

PEOPLE, MACHINES = "Seats for people", "Machines among the people in each group"
OTHERS, EMPTY_SEATS = "Who decides for the others", "Who plays for empty seats"
SEATS_OF, VOTE = "Seats are of the class", "People vote at the end: who was the machine?"
LANGUAGE, TIME = "Language of the wall and the results", "Seconds for an answer"
SEE_RESULTS = "People see the results of each round (language models see only their prompts)"
OTHERS_HINT = (
    "classical, classical:NAME, fixed:VALUE, llm:MODEL, llm:MODEL@URL or llm:MODEL@NAME; several "
    "with their numbers, as in llm:a=3,classical=2; of classes of agents with the seats of people "
    "in them: Buyer/human=1,classical=2; Seller/llm:a"
)
EMPTY_SEATS_HINT = (
    "It answers what is not asked of people, too: a mind as below, for each empty seat until "
    "somebody comes; nobody: an empty seat abstains, and people answer all questions."
)
ROUNDS, SHORTEST_S = 4, 0.001
ROUNDS_SIZE = "n_rounds"
MOST_USUAL = 40
"""The most agents that are all seats by default."""
NOBODY = "nobody"
"""Stands for no mind at empty seats."""
WHOLE = {"people": (1, 1000), "groups": (1, 20), "rounds": (1, 1000), "machines": (0, 100)}
"""Settings that are whole numbers, with their least and largest value."""
SWITCHES = {"on": True, "off": False}
SWITCHED = ("results", "rank", "vote")
SECONDS = (1.0, 3600.0)
LONGEST, LONGEST_SPEC = 2000, 100
"""Characters of an address that are read, and of a mind in it."""


@dataclass(frozen=True)
class LinkedSettings:
    """The settings of a link.

    Attributes:
        game: the scenario; ``""`` for none.
        values: setting → value: those in `WHOLE`, ``seconds``, ``results``, ``rank``, ``vote``,
            ``mind`` and ``lang``.
        choices: parameter → value, where the scenario lets a host choose.
        problem: what could not be used, in one line; ``""`` when all could.
    """

    game: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    problem: str = ""


def read_link(query: str | None, known: Collection[str]) -> LinkedSettings:
    """The settings in the query of an address. What cannot be used is left out, and named.

    Args:
        query: the part behind the question mark; None without one.
        known: the scenarios that can be played.
    """
    given = dict(parse_qsl((query or "")[:LONGEST].removeprefix("?")))
    if not given:
        return LinkedSettings()
    game = given.pop("game", "")
    if game not in known:
        return LinkedSettings(problem="The link names no game of this viewer: choose one below.")
    offered = scenario(game).class_game.choices
    values, choices, wrong = dict[str, Any](), dict[str, str](), []
    for name, text in given.items():
        if name in offered:
            if text in set(offered[name]()):
                choices[name] = text
                continue
        elif (value := _value(name, text)) is not None:
            values[name] = value
            continue
        wrong.append(name if name.isidentifier() and len(name) < 30 else "…")
    names = ", ".join(wrong)
    problem = f"The link has settings that cannot be used: {names}. Check the form below."
    return LinkedSettings(game, values, choices, problem if wrong else "")


def _value(name: str, text: str) -> int | float | bool | str | None:
    """The value of a setting; None when it is not a legal one."""
    if name == "lang":
        return text if text in LANGUAGES else None
    if name in SWITCHED:
        return SWITCHES.get(text)
    if name == "mind":
        return text if _is_plain(text) else None
    if name in WHOLE and text.isascii() and text.isdecimal() and len(text) < 6:
        low, high = WHOLE[name]
        return int(text) if low <= int(text) <= high else None
    if name == "seconds":
        seconds = _float_in(text)
        return seconds if seconds is not None and SECONDS[0] <= seconds <= SECONDS[1] else None
    return None


def _is_plain(spec: str) -> bool:
    """Whether a spec is one mind without a file, an address or a setting."""
    known = spec.partition(":")[0] in {CLASSICAL, "fixed", "local", "llm"}
    return known and len(spec) < LONGEST_SPEC and "://" not in spec and not set(spec) & set("?=,;")


@dataclass
class Setting:
    """A field of the form for a new game.

    Attributes:
        name: its name in a request.
        label: the label.
        kind: ``"whole"``, ``"number"``, ``"text"``, ``"switch"`` or ``"choice"``.
        value: the current value.
        options: value → words of the options of a choice.
        hint: a line below the field.
        more: whether it is among the folded ones.
        limits: the smallest and the largest number; None: none.
    """

    name: str
    label: str
    kind: str
    value: Any
    options: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
    more: bool = False
    limits: tuple[float | None, float | None] = (None, None)


class NewGameForm:
    """The form for a new game, filled in by a link and by a host.

    Args:
        linked: the settings of the link.
        typed: the name of a field → what the host typed or chose.
        language: the language of a class whose link names none.
        game: the scenario, where the link names none.
    """

    def __init__(
        self,
        linked: LinkedSettings,
        typed: Mapping[str, Any],
        language: str = ENGLISH,
        game: str = "",
    ) -> None:
        self.model: type[Any] = scenario(linked.game or game)
        self._declared = self.model.class_game
        self._typed = typed
        self._given = {"lang": language, **linked.values, **linked.choices}
        usual = _usual_sizes(self.model.scenario_name)
        self._sizes = {n: self._declared.parameters.get(n, size) for n, size in usual.items()}
        self._people_size = _size_of_people(self.model, self._sizes)

    @property
    def fields(self) -> list[Setting]:
        """All fields, in their order on the page."""
        usual = self._sizes.get(self._people_size, 1)
        fields = [
            self._whole("people", PEOPLE, usual if usual <= MOST_USUAL else 1, (1, None)),
            self._whole("groups", "Groups", 1, (1, MOST_GROUPS)),
            self._whole("machines", MACHINES, 0, (0, None)),
            self._switch("vote", VOTE, default=False),
        ]
        sizes = [self._size(name) for name in self._sizes]
        fields += [size for size in sizes if not size.more]
        fields += [self._choice_of(name, known()) for name, known in self._declared.choices.items()]
        fields.append(self._choice("lang", LANGUAGE, dict(LANGUAGES), ENGLISH))
        fields.append(self._text("stand_in", EMPTY_SEATS, CLASSICAL, EMPTY_SEATS_HINT))
        classes = list(agents_by_class(self.model, {}))
        if len(classes) > 1:
            options = dict(zip(classes, classes, strict=True))
            fields.append(self._choice("seats_of", SEATS_OF, options, classes[0], more=True))
        fields.append(self._text("mind", OTHERS, CLASSICAL, OTHERS_HINT))
        fields += [size for size in sizes if size.more]
        conditions = {
            name: _in_words(name) for name in PromptBook(self.model.prompt_file).conditions
        }
        fields.append(self._choice("condition", "Condition", conditions, "baseline", more=True))
        fields.append(self._text("seed", "Seed", "", "Drawn when empty."))
        seconds = self._value("seconds", TIME_LIMIT_S)
        limits = (SHORTEST_S, None)
        fields.append(Setting("seconds", TIME, "number", seconds, more=True, limits=limits))
        fields.append(self._switch("results", SEE_RESULTS, default=True, more=True))
        fields.append(self._switch("rank", "People see their rank", default=False, more=True))
        return fields

    def _value(self, name: str, default: Any) -> Any:
        return self._typed.get(name, self._given.get(name, default))

    def _whole(
        self, name: str, label: str, default: int, limits: tuple[float | None, float | None]
    ) -> Setting:
        return Setting(name, label, "whole", self._value(name, default), limits=limits)

    def _text(self, name: str, label: str, default: str, hint: str) -> Setting:
        return Setting(name, label, "text", self._value(name, default), hint=hint, more=True)

    def _switch(self, name: str, label: str, *, default: bool, more: bool = False) -> Setting:
        return Setting(name, label, "switch", bool(self._value(name, default)), more=more)

    def _choice(
        self, name: str, label: str, options: Mapping[str, str], default: str, *, more: bool = False
    ) -> Setting:
        value = self._value(name, default)
        chosen = value if value in options else default
        return Setting(name, label, "choice", chosen, options, more=more)

    def _choice_of(self, parameter: str, known: Sequence[str]) -> Setting:
        """The field of a parameter for which the scenario lets a host choose."""
        usual = self._declared.parameters.get(parameter)
        default = parameters_of(self.model)[parameter].default if usual is None else usual
        options = {value: _in_words(value) for value in known}
        return self._choice(parameter, _in_words(parameter).capitalize(), options, default)

    def _size(self, name: str) -> Setting:
        """A number of the scenario; without one, there are as many agents as seats."""
        default, low_high = self._sizes[name], bounds(parameters_of(self.model)[name].number)
        before = self.model.given_rounds if name == ROUNDS_SIZE else 0
        low, high = (None if end is None else end - before for end in low_high)
        if name == self._people_size:
            people, machines = self._number("people", default), self._number("machines", 0)
            default = people + machines if machines else max(default, people)
        elif name == ROUNDS_SIZE:
            default = self._given.get("rounds", default)
        label = f"Number of {name.removeprefix('n_')}"
        value = self._value(name, default)
        more = name != ROUNDS_SIZE
        return Setting(name, label, "whole", value, more=more, limits=(low, high))

    def _number(self, name: str, default: int) -> int:
        usual = default if name != "people" or default <= MOST_USUAL else 1
        value = whole_in(str(self._value(name, usual)))
        return usual if value is None else value

    def in_words(self) -> str:
        """The settings in a sentence, which the host reads before the game is opened."""
        values = {setting.name: setting for setting in self.fields}

        def counted(name: str, noun: str) -> str:
            number = whole_in(str(values[name].value))
            return f"{values[name].value} {noun}s" if number is None else count(number, noun)

        parts = [f"{counted('people', 'seat')} for people"]
        if self._number("groups", 1) > 1:
            parts[0] += f" in each of {counted('groups', 'group')}"
        if ROUNDS_SIZE in values:
            parts.append(counted(ROUNDS_SIZE, "round"))
        seconds = values["seconds"].value
        parts.append(
            f"{seconds if isinstance(seconds, str) else f'{seconds:g}'} seconds for an answer"
        )
        if self._number("machines", 0):
            mind = mind_in_words(str(values["mind"].value))
            parts.append(f"{counted('machines', 'machine')} in each group: {mind}")
        chosen = [values[name] for name in self._declared.choices if self._value(name, None)]
        parts += [f"{setting.label}: {_in_words(setting.value)}" for setting in chosen]
        parts += ["a vote at the end"] if values["vote"].value else []
        return f"{self.model.title}: {'; '.join(parts)}."

    def open(self, host: str) -> ClassSession:
        """Open the game with these settings.

        Args:
            host: the secret of the browser that may see its links.

        Raises:
            SabmError: for settings that cannot be used.
        """
        values = {setting.name: _checked(setting) for setting in self.fields}
        sizes = {name: values[name] for name in self._sizes}
        if ROUNDS_SIZE in sizes:  # people do not count the given rounds
            sizes[ROUNDS_SIZE] += self.model.given_rounds
        chosen = {n: values[n] for n in self._declared.choices if self._value(n, None)}
        parameters = {
            **self._declared.parameters, **sizes, **chosen,
            "condition": values["condition"], "rng": parse_value(values["seed"] or "none"),
        }  # fmt: skip
        stand_in = values["stand_in"]
        try:
            return open_session(
                host, self.model, parameters, parse_minds(values["mind"]), values["people"],
                time_limit_s=values["seconds"], public=values["results"], groups=values["groups"],
                stand_in="" if stand_in == NOBODY else stand_in, ranked=values["rank"],
                seats_of=values.get("seats_of", ""), voting=values["vote"],
                machines=values["machines"], language=values["lang"],
            )  # fmt: skip
        except SabmError as error:
            if getattr(error, "parameter", "") == "rng":
                line = "Seed: give a whole number of 0 or more, or nothing."
                raise UsageError(line) from None
            raise


def _checked(setting: Setting) -> Any:
    """The value of a field.

    Raises:
        UsageError: for a number that is none, too small or too large.
    """
    value = setting.value
    if setting.kind == "text":
        return str(value).strip()
    if setting.kind not in {"whole", "number"}:
        return value
    number = whole_in(str(value)) if setting.kind == "whole" else _float_in(str(value))
    low, high = setting.limits
    if number is not None and (low is None or low <= number) and (high is None or number <= high):
        return number
    wanted = "a whole number" if setting.kind == "whole" else "a number"
    if low is not None:
        wanted += f" of {low:g} or more" if high is None else f" from {low:g} to {high:g}"
    raise UsageError(f"{setting.label}: give {wanted}.")


def _float_in(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _in_words(value: object) -> str:
    return str(value).replace("_", " ")


def _size_of_people(model: type[Any], sizes: Mapping[str, int]) -> str:
    """The parameter with the number of agents among which people sit; ``""`` for none."""
    if model.score is not None and model.score.size in sizes:
        return str(model.score.size)
    return next((size for size in sizes if size != ROUNDS_SIZE), "")


@cache
def _usual_sizes(name: str) -> dict[str, int]:
    """Parameter → its usual value, of a scenario's numbers."""
    model: Any = scenario(name)
    parameters = parameters_of(model).items()
    sizes = {size: known.default for size, known in parameters if size.startswith("n_")}
    if None in sizes.values():  # they follow from other parameters
        made = model(recording=False)
        sizes = {n: getattr(made, n) if size is None else size for n, size in sizes.items()}
    sizes[ROUNDS_SIZE] = min(ROUNDS, sizes[ROUNDS_SIZE])
    return sizes
