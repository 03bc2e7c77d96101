"""The past of a run, as agents are told it."""

import pickle

import pytest

from sabm_mesa.core.past import Past


@pytest.mark.parametrize(("last", "told"), [(None, "abc"), (2, "bc"), (9, "abc"), (0, "")])
def test_the_past_is_a_tuple_of_what_was_there(last: int | None, told: str) -> None:
    items, wanted = list("abc"), tuple(told)
    past = Past(items, last)
    items.append("d")
    assert past == wanted == tuple(past) == past[:]
    assert (len(past), hash(past), repr(past)) == (len(wanted), hash(wanted), repr(wanted))
    assert pickle.loads(pickle.dumps(past)) == wanted
    assert (past[::-1], past[1:], past[-2:]) == (wanted[::-1], wanted[1:], wanted[-2:])
    assert (past + ("x",), ("x",) + past, past + past) == (  # noqa: RUF005 - what students write
        (*wanted, "x"), ("x", *wanted), wanted * 2,
    )  # fmt: skip
    assert (past * 2, 2 * past) == (wanted * 2, wanted * 2)
    assert ("b" in past, past.count("b")) == ("b" in wanted, wanted.count("b"))
    assert [past.index(each) for each in wanted] == [*range(len(wanted))]
    assert tuple(reversed(past)) == wanted[::-1]
    assert all(past[i] == past[i - len(told)] == each for i, each in enumerate(told))
    with pytest.raises(IndexError):
        past[len(told)]
    with pytest.raises(TypeError):
        past + ["x"]  # noqa: RUF005 - as of a tuple
