"""Prompt files: what is rendered, and what is refused by name."""

import json
import re
from importlib.resources import files

import pytest

from sabm_mesa import Choice, Number, Text
from sabm_mesa.core.answers import InvalidAnswer
from sabm_mesa.core.prompts import PromptBook, load, load_builtin, shown_number
from sabm_mesa.errors import PromptError, UnknownName
from sabm_mesa.models.registry import scenario

KBC = scenario("kbc").prompt_file


@pytest.fixture
def own(tmp_path):
    """Writes a user's own prompt file."""

    def write(text):
        path = tmp_path / "own.toml"
        path.write_text(text, "utf-8")
        return path

    return write


def refusal(path, *names):
    with pytest.raises((PromptError, UnknownName)) as refused:
        PromptBook(KBC, *names, overrides=path)
    return str(refused.value)


# Building a book.


def test_a_condition_replaces_entries_and_leaves_the_others() -> None:
    baseline, cooperative = PromptBook(KBC), PromptBook(KBC, "cooperative")

    differing = {e for e in baseline.entries if baseline.entries[e] != cooperative.entries[e]}
    assert differing == {"communicate_line", "act_line"}
    assert baseline.render("act_line", {}) == ""
    assert "must cooperate" in cooperative.render("act_line", {})


def test_a_variant_replaces_entries_and_a_condition_comes_after_it() -> None:
    book = PromptBook(KBC, "uncooperative", "reworded_1")

    assert "Imagine that you are a college student" in book.entries["scenario"]
    assert "do not like to cooperate" in book.entries["act_line"]


def test_unknown_names_are_named_with_the_known_ones() -> None:
    assert refusal(None, "coperative") == (
        "Unknown condition 'coperative'. Did you mean 'cooperative'? "
        "Known: baseline, cooperative, uncooperative."
    )
    assert "Unknown prompt variant 'x'" in refusal(None, "baseline", "x")
    with pytest.raises(UnknownName, match="Unknown persona 'grumpy'"):
        PromptBook(KBC).persona("grumpy")


def test_options_are_shown_in_the_order_of_the_run_and_mean_the_same() -> None:
    given, reversed_ = PromptBook(KBC), PromptBook(KBC, option_order="reversed")
    spec = Choice(("a", "b", "c"))

    assert given.form(spec, "json").endswith("a, b, c.")
    assert reversed_.form(spec, "json").endswith("c, b, a.")
    assert spec == reversed_.as_shown(reversed_.as_shown(spec))


def test_hashes_change_with_the_text_alone(own) -> None:
    book, same = PromptBook(KBC), PromptBook(KBC)
    other = PromptBook(KBC, overrides=own('[prompts]\nact_line = "Hurry."'))

    assert book.hashes() == same.hashes()
    assert book.digest() == same.digest() != other.digest()
    assert {e for e, h in book.hashes().items() if other.hashes()[e] != h} == {"act_line"}
    assert all(re.fullmatch("[0-9a-f]{12}", h) for h in book.hashes().values())


def test_the_digest_covers_the_personas(own) -> None:
    path = own('[personas]\nselfish = "You come first."')

    assert PromptBook(KBC, overrides=path).digest() != PromptBook(KBC).digest()


# Rendering.


def test_what_is_filled_in_is_not_read_as_a_template() -> None:
    text = "{{ low }} {% for %} {{ {low} }{ {#"

    assert PromptBook(KBC).render("classical_says", {"number": text}) == (
        f"I think that I will choose {text}."
    )


def test_an_entry_or_a_value_that_is_missing_is_named() -> None:
    book = PromptBook(KBC)

    with pytest.raises(PromptError, match="no prompt entry 'dance'"):
        book.render("dance", {})
    with pytest.raises(PromptError, match=r"'discussion' uses .* \{\{ said \}\}.*Known: player"):
        book.render("discussion", {"player": 1})


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ text", "is not a template of Jinja, line 1: unexpected end of template"),
        ("{}{{ }}", "is not a template of Jinja, line 1: Expected an expression"),
        ("a\n{% if low %}b", "is not a template of Jinja, line 2: Unexpected end of template"),
        ("{{ low.upper.x }}", "'act_line' cannot be rendered: "),
        ("{{ low | nosuch }}", "No filter named 'nosuch'"),
        ("{{ low.__class__ }}", "cannot be rendered: access to attribute '__class__'"),
        ("{{ 1 / low }}", "'act_line' cannot be rendered: division by zero."),
        ("{{ range(10 ** 9) | list }}", "Range too big"),
        ("{{ act_line }}", "uses the placeholder {{ act_line }}, which is unknown there"),
        ("{{ other }}", "shows itself."),
    ],
)
def test_a_template_that_fails_is_named_in_one_line(own, template, problem) -> None:
    path = own(f"[prompts]\nact_line = {json.dumps(template)}\nother = '{{{{ more }}}}'\n"
               "more = '{{ other }}'\n")  # fmt: skip

    with pytest.raises(PromptError) as caught:
        PromptBook(path).render("act_line", {"low": 0})
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


SPECS = [Number(0, 9.5), Number(0, 9, integer=True), Choice(("left", "right")), Text(max_words=9)]


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        ("empty", {}),
        ("refused", {}),
        ("cut_off", {}),
        ("not_json", {}),
        ("one_line", {}),
        ("not_a_number", {"found": '"x"'}),
        ("several_numbers", {"found": '"1 2"'}),
        ("not_an_integer", {"found": '"1.5"'}),
        ("out_of_range", {"found": '"9"', "low": "0", "high": "1"}),
        ("not_an_option", {"found": '"x"'}),
        ("not_text", {}),
    ],
)
def test_every_reason_can_be_said(code, fields) -> None:
    reason = PromptBook(KBC).reason(InvalidAnswer(code, **fields))

    assert reason.endswith(".")
    assert all(str(value) in reason for value in fields.values())


def test_all_reasons_are_covered() -> None:
    codes = set(load_builtin("answers")["answers"]["reasons"])
    used = set(re.findall(r'"(\w+)"', "".join(map(_source, ("answers", "asks", "structured")))))

    assert codes <= used


def _source(module):
    return files("sabm_mesa.core").joinpath(f"{module}.py").read_text("utf-8")


# A user's own file.


def test_own_entries_replace_the_built_in_ones_and_add_conditions_and_personas(own) -> None:
    path = own(
        """
        [prompts]
        reward_exclusive = "Only one can win."
        reward = "Credits for the winner."
        [conditions.hasty]
        act_line = "Hurry."
        [conditions.cooperative]
        act_line = "Cooperate."
        [variants.brief]
        act = "{{ form }}"
        [personas]
        grumpy = "You are grumpy."
        [answers]
        integer = "a whole number between {{ low }} and {{ high }}"
        [answers.reasons]
        empty = "Nothing was there."
        """
    )
    hasty = PromptBook(KBC, "hasty", "brief", overrides=path)
    cooperative = PromptBook(KBC, "cooperative", overrides=path)

    assert hasty.render("reward_exclusive", {}) == "Only one can win."
    assert hasty.render("reward", {}) == "Credits for the winner."
    assert hasty.render("act_line", {}) == "Hurry."
    assert hasty.entries["act"] == "{{ form }}"
    assert hasty.persona("grumpy") == "You are grumpy."
    assert "a whole number between 0 and 9" in hasty.form(SPECS[1], "paper")
    assert hasty.reason(InvalidAnswer("empty")) == "Nothing was there."
    assert hasty.reason(InvalidAnswer("cut_off")).startswith("It was cut off")
    assert cooperative.render("act_line", {}) == "Cooperate."
    assert "bring about cooperation" in cooperative.render("communicate_line", {})


REFUSED = [
    ('[prompts]\ndance = "x"', "[prompts]: unknown entry 'dance'; known: act, "),
    ('[prompts]\nact_line = "{{ low }}"', "'act_line' has the unknown placeholder {{ low }}"),
    ('[prompts]\nact = "You"', "'act' lacks placeholder {{ form }}, {{ high }}, {{ low }}"),
    ("[prompts]\nact = 3", "[prompts]: 'act' must be a text"),
    ('[prompts]\nact = "{{ form"', "is not a template of Jinja, line 1: unexpected end"),
    ('[conditions.x]\ndance = "x"', "[conditions.x]: unknown entry 'dance'"),
    (
        '[conditions.x]\nact_line = "{{ low }}"',
        "'act_line' has the unknown placeholder {{ low }}; known: ",
    ),
    ("[conditions]\nx = 5", "[conditions.x] must be a table"),
    (
        '[variants.x]\nact = "{{ said }} {{ speaker }}"',
        "'act' has the unknown placeholder {{ speaker }}",
    ),
    ("[variants.x]\nact = 5", "[variants.x]: 'act' must be a text"),
    ("[personas]\nx = 5", "[personas]: 'x' must be a text"),
    ('[answers]\ninteger = "{{ low }}"', "'integer' lacks placeholder {{ high }}"),
    ('[answers]\nx = "y"', "[answers]: unknown entry 'x'"),
    ("[answers]\nreasons = 5", "[answers.reasons] must be a table"),
    ('[answers.reasons]\nx = "y"', "[answers.reasons]: unknown entry 'x'"),
    ("[prompt]", "unknown table [prompt]; known: prompts, conditions, variants"),
    ("prompts = 5", "[prompts] must be a table"),
    ("[prompts", "is not valid TOML"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_an_own_file_that_is_wrong_is_refused_with_its_name(own, text, message) -> None:
    found = refusal(own(text))

    assert message in found
    assert "\n" not in found


def test_an_own_file_that_cannot_be_read(tmp_path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'[personas]\nx = "\xe4"')

    assert "is not valid TOML" in refusal(tmp_path / "latin.toml")
    assert "Cannot read the prompt file" in refusal(tmp_path / "absent.toml")
    assert "Is a directory" in refusal(tmp_path)
    assert "Cannot read the prompt file mine" in refusal("mine")
    with (tmp_path / "large.toml").open("wb") as large:
        large.truncate(4_000_001)
    assert refusal(large.name) == (
        f"The prompt file {large.name} has more than 4 MB: name a smaller file."
    )


HINTS = re.compile(
    r"beauty|contest|keynes|nash|equilibri|level.k|cooperat|collaborat|coordinat", re.IGNORECASE
)


@pytest.mark.parametrize("variant", ["default", "reworded_1", "screening"])
def test_the_baseline_of_the_contest_does_not_hint(variant) -> None:
    book = PromptBook(KBC, variant=variant)
    shown = [*load(KBC)["prompts"], *load_builtin("answers")["answers"]]

    assert not [e for e in shown if isinstance(e, str) and HINTS.search(book.entries.get(e, ""))]


def test_the_conditions_do_hint() -> None:
    for condition in ("cooperative", "uncooperative"):
        assert HINTS.search(PromptBook(KBC, condition).entries["act_line"])


# The built-in prompts.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"), (20 / 3, "6.6667"), (123456.7, "123457"), (99_999.6, "100000"), (0, "0"),
        # A profit below cost without a buyer is -0.0, which equals the 0.0 of another run.
        (-0.0, "0"), (-0.00004, "-0.00004"), (-1e-12, "0"),
    ],
)  # fmt: skip
def test_numbers_have_five_digits_and_neither_exponent_nor_minus_zero(
    value: float, text: str
) -> None:
    assert shown_number(value, 5) == text


def test_the_prompts_of_a_class_are_those_of_a_file(own) -> None:
    path = own(
        '[prompts]\nscenario = "S {{ persona }}"\nact = "{{ hint }} {{ form }}"\nhint = "A."\n'
        '[conditions.loud]\nhint = "B!"\n[personas]\ngrumpy = "You are grumpy."'
    )
    prompts = {
        "scenario": "S {{ persona }}", "act": "{{ hint }} {{ form }}", "hint": "A.",
        "conditions": {"loud": {"hint": "B!"}}, "personas": {"grumpy": "You are grumpy."},
    }  # fmt: skip

    assert load(prompts) == load(path)
    assert PromptBook(prompts, "loud").digest() == PromptBook(path, "loud").digest()
    with pytest.raises(PromptError, match="prompts: 'act' must be a text"):
        load({"act": 3})
