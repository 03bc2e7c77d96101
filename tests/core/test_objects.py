"""JSON in words: what models write as an object is read, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sabm_mesa.core.objects import find_objects, no_field_twice


def values(text: str, opening: str = "{[") -> list[Any]:
    return [value for _, _, value in find_objects(text, opening)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"pick": 33}', {"pick": 33}),
        ("{'pick': 33}", {"pick": 33}),
        ("{pick: 33}", {"pick": 33}),
        ("{'fair': true, 'loud': false, 'why': null}", {"fair": True, "loud": False, "why": None}),
        ("{'fair': True}", {"fair": True}),
        ('{"pick": 33,}', {"pick": 33}),
        ('{"picks": [1, 2,]}', {"picks": [1, 2]}),
        ('{"pick": 33 // two thirds\n}', {"pick": 33}),
        ('{"site": "https://example.org"}', {"site": "https://example.org"}),
        ('{"words": "a } in a text"}', {"words": "a } in a text"}),
        (r'{"words": "a \" and a }"}', {"words": 'a " and a }'}),
        ('{"outer": {"inner": 1}}', {"outer": {"inner": 1}}),
        ('{"pick": 33, "pick": 33}', {"pick": 33}),
        ("[1, 2]", [1, 2]),
    ],
)
def test_what_models_write_as_an_object_is_read(text: str, value: Any) -> None:
    before = "I choose "

    assert find_objects(f"{before}{text} today.") == [
        (len(before), len(before) + len(text), value),
    ]


@pytest.mark.parametrize(
    "text",
    ['{"pick": 33, "pick": 34}', "{'pick': 33, 'pick': 34}", '{"pick": 33', "{pick}", "no object"],
)
def test_what_is_no_object_or_contradicts_itself_has_no_value(text: str) -> None:
    assert values(text) == []


def test_all_outermost_objects_are_found_in_their_order() -> None:
    text = '{"a": {"b": 1}} and [2, {"c": 3}] and {broken and {"d": 4}'

    assert values(text) == [{"a": {"b": 1}}, [2, {"c": 3}], {"d": 4}]
    assert values('[{"a": 1}] then {"b": 2}', "{") == [{"a": 1}, {"b": 2}]


def test_an_inner_object_of_a_broken_one_is_found_where_lists_count() -> None:
    text = '{"a": oops {"b": 2}}'

    assert values(text) == [{"b": 2}]
    assert values(text, "{") == []


def test_a_repeated_field_needs_equal_values() -> None:
    assert no_field_twice([("a", 1), ("b", 2), ("a", 1)]) == {"a": 1, "b": 2}
    with pytest.raises(ValueError):  # noqa: PT011 - it has no words: readers catch it
        no_field_twice([("a", 1), ("a", 2)])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_every_json_object_is_read_as_json_reads_it(value: dict[str, Any]) -> None:
    assert values(f"So: {json.dumps(value)} and that is all.") == [value]
