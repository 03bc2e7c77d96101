"""The minds of a description: who decides, and by what rule."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from sabm_mesa.odd.docs_of_code import main_part
from sabm_mesa.odd.subject import NOT_GIVEN
from sabm_mesa.odd.texts import in_figures

if TYPE_CHECKING:
    from sabm_mesa.odd.subject import Subject

_LANGUAGE_MODEL = (
    "A language model behind an OpenAI-compatible endpoint. The entry `scenario` is its system "
    "message and the entry of the question its user message; nothing is kept between questions. "
    "{sampling}; answer format `{answer_format}`."
)
_SAMPLING = {
    "temperature": "temperature {}",
    "top_p": "top_p {}",
    "max_tokens": "{} tokens of an answer at the most",
}
_OTHERS = {
    "llm": _LANGUAGE_MODEL,
    "gguf": "A language model that is run in the process. " + _LANGUAGE_MODEL.split(". ", 1)[1],
    "human": "A person at a seat, who is shown the same text.",
    "py": "A mind from a file of the user's own.",
}


def minds_in_words(subject: Subject) -> list[Any]:
    """What each kind of mind does; who has which stands under the initial state.

    The classical minds that are not in use are described for a scenario, and not for runs.

    Args:
        subject: what is described.
    """
    used = dict.fromkeys(spec for population in subject.minds for spec in population)
    rules = {spec: rule for spec in used if (rule := _rule(spec, subject))}
    if not subject.runs:
        rules |= {spec: rule for spec, rule in _classical(subject) if spec not in rules}
        rules.setdefault("llm:MODEL", _settings(_LANGUAGE_MODEL, subject))
    return [rules] if rules else []


def _rule(spec: str, subject: Subject) -> str:
    kind, _, rest = spec.partition(":")
    if kind == "classical":
        return dict(_classical(subject)).get(spec, "")
    if spec == NOT_GIVEN:
        return ""
    if kind == "fixed":
        return f"Always answers {rest}."
    return _settings(_OTHERS.get(kind, "A mind of the user's own."), subject)


def _settings(text: str, subject: Subject) -> str:
    given = subject.parameters
    told = [
        said.format(in_figures(given[name]))
        for name, said in _SAMPLING.items()
        if given.get(name) is not None
    ]
    sampling = f"Sampling: {', '.join(told)}" if told else "Sampling is left to the server"
    if 0 < len(told) < len(_SAMPLING):
        sampling += " (the rest is left to the server)"
    return text.format(sampling=sampling, answer_format=given.get("answer_format"))


def _classical(subject: Subject) -> Iterator[tuple[str, str]]:
    """Spec → rule; a mind that has two names is described under the first."""
    known: dict[Any, str] = {}
    for name, maker in subject.scenario.classical_minds.items():
        spec = "classical" if name == "default" else f"classical:{name}"
        if maker in known:
            yield spec, f"The same as `{known[maker]}`."
            continue
        known[maker] = spec
        cls, settings = (maker.func, maker.keywords) if isinstance(maker, partial) else (maker, {})
        given = "".join(f" With `{k}` = {in_figures(v)}." for k, v in settings.items())
        yield spec, f"{main_part(cls)}{given}"
