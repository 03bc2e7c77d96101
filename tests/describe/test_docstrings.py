"""Docstrings in Google style are read; one in another style is kept as far as it goes."""

from __future__ import annotations

from sabm_mesa.describe.docstrings import (
    arguments,
    attributes,
    description,
    sheet_sections,
    summary,
)


class Shop:
    """A shop
    with goods.

    It has ``n`` of them.

    Source: a street.

    Args:
        n_goods (int): how many goods
            there are.
        price (float | None, optional): what one costs.
        open: whether it is.

    Attributes:
        low, high: limits of the price.
    """


class Kiosk(Shop):
    """A small shop.

    Args:
        open: see `SmartModel`; never at night.
        n_goods: a few.
    """


def test_the_description_ends_where_the_sections_begin() -> None:
    assert description(Shop) == "A shop with goods.\n\nIt has `n` of them.\n\nSource: a street."
    assert summary(Shop) == "A shop with goods."
    assert description(Shop.__init__).startswith("Initialize self.")


def test_arguments_may_have_their_types() -> None:
    assert arguments(Shop) == {
        "n_goods": "how many goods there are.",
        "price": "what one costs.",
        "open": "whether it is.",
    }


def test_a_class_adds_to_the_arguments_of_its_base_class() -> None:
    assert arguments(Kiosk) == {
        "open": "whether it is. never at night.",
        "n_goods": "a few.",
        "price": "what one costs.",
    }


def test_sections_of_a_sheet_begin_with_headings_and_end_with_text_at_the_margin() -> None:
    sheet = (
        "Title.\n\nRules\n    One\n    two.\n\n    Three.\n\nA line without a section.\n  lost\n\n"
        "Source\n    Nobody."
    )
    assert sheet_sections(sheet) == {"Rules": "One two.\n\nThree.", "Source": "Nobody."}
    assert sheet_sections("") == {}
    assert sheet_sections("Alone") == {}


def test_a_meaning_is_the_one_of_the_nearest_class() -> None:
    class Stand(Kiosk):
        """A stand.

        Args:
            n_goods: one.

        Attributes:
            low: the least.
        """

    assert arguments(Stand)["n_goods"] == "one."
    assert attributes(Stand) == {"low": "the least.", "high": "limits of the price."}
    assert attributes(Stand, Kiosk) == {"low": "the least."}
    assert summary(type("Bare", (), {})) == ""
