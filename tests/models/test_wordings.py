"""The wordings of scenarios ask for the same; their texts are on record with all prompts."""

from __future__ import annotations

import re

import pytest

from sabm_mesa.core.prompts import load, names_in
from sabm_mesa.models.registry import scenario

FAMILY = ("reworded_1", "reworded_2", "reworded_3")
QUESTIONS = {
    "kbc": ("scenario", "communicate", "act"),
    "bertrand": ("scenario", "communicate", "plan", "act"),
    "evacuation": ("scenario", "communicate", "panic", "evaluate", "choose", "act"),
    "public-goods": ("scenario", "act"),
}
BETRAYING = {
    "kbc": ("cooperat", "beauty", "keynes", "nash", "equilibrium"),
    "bertrand": ("collu", "cartel", "price war", "bertrand", "cooperat", "agree"),
    "evacuation": ("cooperat", "help", "selfish"),
    "public-goods": ("cooperat", "public good", "free-rid", "fair", "contribut", "dilemma"),
}


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", re.sub(r"\{\{.*?\}\}|{%.*?%}", "", text)))


@pytest.mark.parametrize("variant", FAMILY)
@pytest.mark.parametrize(
    ("name", "entry"), [(name, entry) for name, entries in QUESTIONS.items() for entry in entries]
)
def test_a_wording_has_the_same_placeholders_and_numbers(name, entry, variant) -> None:
    book = load(scenario(name).prompt_file)
    own, other = book["prompts"][entry], book["variants"][variant][entry]

    assert other != own
    assert names_in(other) == names_in(own)
    assert numbers(other) == numbers(own)
    assert not [word for word in BETRAYING[name] if word in other.lower()]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_wordings_reword_the_scenario_and_every_question(name) -> None:
    variants = load(scenario(name).prompt_file)["variants"]

    assert {each for each in variants if each.startswith("reworded")} == set(FAMILY)
    for variant in FAMILY:
        assert tuple(variants[variant]) == QUESTIONS[name]
