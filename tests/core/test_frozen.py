"""`maker` makes what the constructor of a frozen dataclass makes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any

import pytest

from sabm_mesa.core.asks import Observation
from sabm_mesa.core.frozen import maker


@dataclass(frozen=True, slots=True)
class Seen(Observation):
    """An observation with a default of its own."""

    me: int
    others: tuple[int, ...]
    word: str = "none"


def test_objects_equal_those_of_the_constructor_and_cannot_be_changed() -> None:
    make = maker(Seen)

    made = make(7, others=(1, 2), persona="kind")

    assert type(made) is Seen
    assert made == Seen(7, (1, 2), persona="kind")
    assert (made.word, made.memory) == ("none", ())
    with pytest.raises(FrozenInstanceError):
        made.me = 8  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del made.me


def test_wrong_arguments_are_refused_as_by_the_constructor() -> None:
    make: Any = maker(Seen)

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'others'"):
        make(7)
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        make(7, (), size=3)
    with pytest.raises(TypeError, match="positional argument"):
        make(7, (), "a", "kind")


def test_a_field_may_have_any_name() -> None:
    @dataclass(frozen=True, slots=True)
    class Deed(Observation):
        made: int
        new: int = 1
        cls: str = "deed"

    assert maker(Deed)(3, new=2) == Deed(3, 2)


def test_classes_whose_constructor_does_more_are_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Checked:
        size: int

        def __post_init__(self) -> None:
            assert self.size

    @dataclass(frozen=True, slots=True)
    class Filled:
        sizes: list[int] = field(default_factory=list)

    @dataclass(frozen=True, slots=True)
    class Counted:
        number: int = field(default=3, init=False)

    @dataclass(frozen=True)
    class Loose:
        size: int

    for each in (Checked, Filled, Counted, Loose):
        with pytest.raises(TypeError, match=f"{each.__name__} is no frozen dataclass with slots"):
            maker(each)
