"""The wordings of scenarios carry the same facts."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from sabm_mesa.core.prompts import names_in
from sabm_mesa.models.registry import scenario

FAMILY = ("reworded_1", "reworded_2", "reworded_3")
QUESTIONS = {
    "kbc": ("scenario", "communicate", "act"),
    "bertrand": ("scenario", "communicate", "plan", "act"),
    "evacuation": ("scenario", "communicate", "panic", "evaluate", "choose", "act"),
    "public-goods": ("scenario", "act"),
}
FACTS = {
    ("kbc", "scenario"): [
        r"college",
        r"student|study",
        r"integer",
        r"two thirds",
        r"average",
        r"target",
        r"closest|closer",
        r"several players can win",
        r"Player #",
        r"guess",
    ],
    ("kbc", "communicate"): [
        r"before|first and",
        r"turn to speak",
        r"reveal",
        r"you may|free to|which you may|may be",
        r"do not have to follow",
        r"one concise sentence",
        r"all other players",
    ],
    ("kbc", "act"): [
        r"nobody",
        r"choose",
        r"brief",
        r"strategy, which stays private|strategy stays private",
        r"integer",
        r"from \{\{ low .*?\}\} to \{\{ high .*?\}\}",
    ],
    ("bertrand", "scenario"): [
        r"many rounds",
        r"invent|make up|name no other",
        r"artificial intelligence, assistants or models",
        r"\(p - c\) \* q",
        r"c = \{\{ cost .*?\}\}",
        r"unit",
        r"own product",
        r"as large (a profit|as possible)|as large a profit|largest profit",
        r"all players",
        r"depends|affected",
        r"prices, demands and profits",
        r"earlier rounds",
        r"p is the price|p stands for the price|p: the price|your price p",
        r"demand",
    ],
    ("bertrand", "communicate"): [
        r"open|at liberty",
        r"profit",
        r"as large as possible|largest possible",
        r"any subject|any topic|any matter|whatever",
        r"question",
        r"encouraged",
        r"might|could|may",
    ],
    ("bertrand", "plan"): [
        r"figures",
        r"earlier",
        r"strategy for|strategy do you have for|For \{\{ ahead .*?\}\}",
    ],
    ("bertrand", "act"): [
        r"own profit",
        r"as large as possible",
        r"price of your product|price do you set for your product",
        r"unit",
        r"symbol",
        r"explanation",
    ],
    ("evacuation", "scenario"): [
        r"earthquake",
        r"as fast as",
        r"\bdies?\b",
        r"grid",
        r"cells",
        r"one person",
        r"two things",
        r"exits?",
        r"people you can see",
        r"\(x, y\)",
        r"top",
        r"bottom",
        r"left",
        r"right",
        r"smaller",
        r"larger",
        r"\(1, 1\)",
    ],
    ("evacuation", "communicate"): [
        r"distance",
        r"something short",
        r"evacuation",
        r"near you",
        r"how you feel|feelings",
        r"which exit seems best|exit that seems best",
        r"quick",
        r"anything else",
    ],
    ("evacuation", "panic"): [
        r"nearest",
        r"cells right beside yours",
        r"around you",
        r"one sentence",
        r"panicking or not",
        r"feel",
    ],
    ("evacuation", "evaluate"): [
        r"distance and (the|its)? ?crowd|distance and crowd",
        r"mind",
        r"body",
        r"about 15 words",
        r"each exit",
        r"in all",
        r"judge",
    ],
    ("evacuation", "choose"): [
        r"so far, from the beginning",
        r"leave by|by which exit",
        r"always",
        r"as quickly as possible",
    ],
    ("evacuation", "act"): [
        r"people or obstacles are left out|people or obstacles, which are left out",
        r"random",
        r"letters",
        r"fastest",
        r"lies \{\{ towards .*?\}\}",
        r"want to leave",
    ],
    ("public-goods", "scenario"): [
        r"money",
        r"\$\{\{ endowment .*?\}\}",
        r"private|nobody else sees",
        r"decides",
        r"common pot",
        r"rest",
        r"multiplied by \{\{ .*?multiplier.*?\}\}",
        r"equal",
        r"whatever|no matter what",
        r"share of the pot",
        r"kept",
    ],
    ("public-goods", "act"): [
        r"same time",
        r"think about",
        r"into the pot",
        r"name the amount|name that amount",
        r"dollars",
        r"sign",
    ],
}
"""Facts that each wording of an entry has in its text, besides its placeholders and numbers."""
BETRAYING = {
    "kbc": ("cooperat", "beauty", "keynes", "nash", "equilibrium"),
    "bertrand": ("collu", "cartel", "price war", "bertrand", "cooperat", "agree"),
    "evacuation": ("cooperat", "help", "selfish"),
    "public-goods": ("cooperat", "public good", "free-rid", "fair", "contribut", "dilemma"),
}


def texts(name: str) -> dict[str, Any]:
    return tomllib.loads(scenario(name).prompt_file.read_text("utf-8"))


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", re.sub(r"\{\{.*?\}\}|{%.*?%}", "", text)))


@pytest.mark.parametrize("variant", FAMILY)
@pytest.mark.parametrize(("name", "entry"), FACTS)
def test_a_wording_has_the_same_placeholders_numbers_and_facts(name, entry, variant) -> None:
    book = texts(name)
    own, other = book["prompts"][entry], book["variants"][variant][entry]

    assert other != own
    assert names_in(other) == names_in(own)
    assert numbers(other) == numbers(own)
    for fact in FACTS[name, entry]:
        assert re.search(fact, own, re.IGNORECASE), f"{fact} is no fact of the entry itself"
        assert re.search(fact, other, re.IGNORECASE), fact
    assert not [word for word in BETRAYING[name] if word in other.lower()]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_wordings_reword_the_scenario_and_every_question(name) -> None:
    variants = texts(name)["variants"]

    assert {each for each in variants if each.startswith("reworded")} == set(FAMILY)
    for variant in FAMILY:
        assert tuple(variants[variant]) == QUESTIONS[name]
    assert {entry for each, entry in FACTS if each == name} == set(QUESTIONS[name])
