"""Components that are drawn again, without a browser."""

import asyncio
import threading
from contextlib import closing

import reacton
import solara
from solara.server.kernel import Kernel
from solara.server.kernel_context import VirtualKernelContext

from sabm_mesa.visualization.viewer.polling import use_poll


def test_a_component_is_drawn_when_its_data_change_and_no_more_when_it_is_gone() -> None:
    state, draws = ["ready"], []
    changed = threading.Event()

    @solara.component
    def shown() -> None:
        use_poll(lambda: state[0])
        draws.append(state[0])
        if state[0] == "playing":
            changed.set()
        solara.Text(state[0])

    with (
        closing(asyncio.new_event_loop()) as loop,
        VirtualKernelContext(id="page", kernel=Kernel(), session_id="visitor", event_loop=loop),
    ):
        _, drawn = reacton.render(shown(), handle_error=False)
        state[0] = "playing"
        assert changed.wait(30)
        (polling,) = (each for each in threading.enumerate() if each.name == "sabm-look")
        drawn.close()
        polling.join(30)
        assert not polling.is_alive()
    assert draws == ["ready", "playing"]
