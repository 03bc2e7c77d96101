"""Components that are looked at, without a browser."""

import asyncio
from contextlib import closing

import pytest
import reacton
import solara
from solara.server.kernel import Kernel
from solara.server.kernel_context import PageStatus, VirtualKernelContext, contexts

from sabm_mesa.visualization.connections import Connections, use_poll, watched


def test_what_was_drawn_for_another_reason_is_not_drawn_again_for_its_news() -> None:
    state, draws = ["ready"], []

    @solara.component
    def shown() -> None:
        use_poll(lambda: state[0])
        draws.append(solara.use_state(0)[1])
        solara.Text(state[0])

    others = set(watched)
    with (
        closing(asyncio.new_event_loop()) as loop,
        VirtualKernelContext(id="page", kernel=Kernel(), session_id="visitor", event_loop=loop),
    ):
        _, drawn = reacton.render(shown(), handle_error=False)
        (mine,) = watched - others
        state[0] = "playing"
        assert mine.look() != mine.seen

        draws[-1](1)

        assert len(draws) == 2
        assert mine.look() == mine.seen == "playing"
        mine.draw()
        assert len(draws) == 3
        drawn.close()
    assert watched == others


@pytest.mark.parametrize("host", [True, False])
def test_a_connection_that_fails_because_its_page_is_closed_is_no_fault(host, monkeypatch) -> None:
    async def held(status: PageStatus | None) -> None:
        async def connection() -> None:
            raise AttributeError("'NoneType' object has no attribute 'websockets'")

        context = VirtualKernelContext(id="page", kernel=Kernel(), session_id="visitor")
        context.page_status["tab"] = status or PageStatus.CLOSED
        if status is not None:
            monkeypatch.setitem(contexts, "page", context)
        await Connections().hold(connection(), "page", "127.0.0.1", host=host)

    asyncio.run(held(None))
    asyncio.run(held(PageStatus.CLOSED))
    with pytest.raises(AttributeError, match="websockets"):
        asyncio.run(held(PageStatus.CONNECTED))
