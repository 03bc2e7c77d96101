"""Pages of reports: numbers in words, and what a page shows beside its Markdown."""

from __future__ import annotations

import math
import re

import pytest

from sabm_mesa.studies.page import (
    html_page,
    markdown,
    numbers,
    p_in_words,
)

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([4.583, 2.4, 7.33], ["4.58", "2.40", "7.33"]),
        ([1234.5, 0.5], ["1,234", "0"]),
        ([-0.01234], ["−0.0123"]),
        ([0.0, NAN, INF, -INF], ["0", "–", "∞", "−∞"]),
        ([100.0], ["100"]),
        ([10.0, -3.14159], ["10.0", "−3.1"]),
        ([0.0000001], ["0.00"]),
        ([5e-6], ["0.000005"]),
    ],
)
def test_numbers_of_a_group_have_the_same_decimals(values: list[float], texts: list[str]) -> None:
    assert numbers(*values) == texts


@pytest.mark.parametrize(
    ("p", "words"),
    [(0.0234, "p = 0.023"), (0.001, "p = 0.001"), (0.00099, "p < 0.001"), (1.0, "p = 1"),
     (NAN, "p = –")],
)  # fmt: skip
def test_a_p_value(p: float, words: str) -> None:
    assert p_in_words(p) == words


TABLE = """
## The *claims*

| Claim | Value | verdict |
|---|---|---|
| Prices |  |  |
| rise | 3 | agrees with it |
|  | 4 | is open |
"""


def test_a_table_names_its_columns_groups_and_verdicts() -> None:
    page = html_page("A <title>", TABLE, {})

    assert "<title>A &lt;title&gt;</title>" in page
    assert '<div class="table claims" tabindex="0" role="region" aria-label="The claims">' in page
    assert re.findall('data-label="([^"]*)"', page) == ["Claim", "Value", "verdict"] * 3
    assert page.count('<tr class="group">') == 3  # the head, and the rows that begin with words
    assert page.count('<span class="verdict') == 1
    assert '<span class="verdict agrees">agrees with it</span>' in page
    assert '<div class="table" ' in html_page("T", TABLE.replace("verdict", "Words"), {})


def test_a_picture_is_part_of_the_page() -> None:
    text = markdown("![All prices]({{ address('prices') }})", {})

    assert text == "![All prices](picture:prices)\n"
    assert 'src="data:image/png;base64,cG5n" alt="All prices"' in html_page(
        "T", text, {"prices": b"png"}
    )
    assert markdown("{{ address('a') }}", {}, {"a": "a.png"}) == "a.png\n"
