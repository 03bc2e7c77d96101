"""The base class of the scenarios: rounds, the collector, the end of a run, the registry."""

import contextlib
import gc
import json
import weakref
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import mesa
import pandas as pd
import pytest

from sabm_mesa import (
    KeynesianBeautyContest,
    Recorded,
    ScriptedMind,
    SmartAgent,
    SmartModel,
    action,
    communication,
    replay,
)
from sabm_mesa.core.answers import Reply
from sabm_mesa.core.usage import Failures, Usage
from sabm_mesa.errors import (
    OutputError,
    ParameterError,
    RecordingError,
    RunError,
    UsageError,
)
from sabm_mesa.models.base import RoundCollector, close_models
from sabm_mesa.models.registry import SCENARIOS, scenario
from sabm_mesa.recording.writing import Recorder
from tests.core.support import Cell, Priced, Tiny, Waiting, rows, tiny
from tests.models.support import assert_same, frames


def test_rounds_are_counted_from_zero_until_the_run_ends() -> None:
    model = tiny(n_rounds=3, minds="fixed:1", rng=1)
    seen = [(model.round, model.running)]
    for _ in range(4):
        model.step()
        seen.append((model.round, model.running))

    assert seen == [(-1, True), (0, True), (1, True), (2, False), (2, False)]


def test_a_scenario_can_end_its_run_itself(tmp_path) -> None:
    class Short(Tiny):
        def update(self):
            super().update()
            if self.round == 1:
                self.end("the sum is known")

    path = tmp_path / "r.sqlite"
    model = Short(n_rounds=9, minds="fixed:1", rng=1, recording=path)
    model.run_model()

    assert (model.round, model.end_reason) == (1, "the sum is known")
    assert rows(path, "SELECT status, end_reason FROM runs") == [("finished", "the sum is known")]
    assert len(model.model_frame()) == 2
    assert replay(path, scenario=Short).models[0].end_reason == "the sum is known"
    assert Recorded(path).runs()["end_reason"].tolist() == ["the sum is known"]


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_the_reason_of_an_end_is_a_text(reason: Any) -> None:
    with pytest.raises(RunError, match=r"^end\(reason\): the reason is a text, not "):
        tiny(minds="fixed:1", rng=1).end(reason)


def test_a_round_begins_runs_its_phases_and_ends() -> None:
    class Noting(Tiny):
        phases: ClassVar = (communication(order="fixed"), action())

        def begin_round(self):
            self.log.append(("begin", self.round))

        def update(self):
            self.log.append(("end", self.round))
            super().update()

    model = Noting(n=1, n_rounds=2, minds="fixed:1", rng=1)
    model.run_model()

    assert model.log == [
        ("begin", 0), (1, "1"), (1, 1), ("end", 0),
        ("begin", 1), (1, "1"), (1, 1), ("end", 1),
    ]  # fmt: skip


def test_the_frames_have_one_row_a_round_and_one_an_agent_and_round() -> None:
    model = tiny(n=2, n_rounds=2, minds=ScriptedMind(["1", "2", "3", "4"]), rng=1)
    model.run_model()

    pd.testing.assert_frame_equal(
        model.model_frame(7),
        pd.DataFrame(
            {
                "run": [7, 7],
                "round": [0, 1],
                "sum": [3, 7],
                "asks": [2, 2],
                **{name: [0, 0] for name in Failures._fields},
                "prompt_tokens": [0, 0],
                "completion_tokens": [0, 0],
                "cost_usd": [0.0, 0.0],
            }
        ),
    )
    pd.testing.assert_frame_equal(
        model.agent_frame(7),
        pd.DataFrame(
            {
                "run": [7] * 4,
                "round": [0, 0, 1, 1],
                "agent": [1, 2, 1, 2],
                "mind": ["scripted"] * 4,
                "value": [1, 2, 3, 4],
                **{name: [0] * 4 for name in Failures._fields},
            }
        ),
    )
    assert model.end_measures() == {"sum": 7}


def test_before_the_first_round_there_are_no_rows() -> None:
    model = tiny(minds="fixed:1", rng=1)

    assert list(model.model_frame().columns)[:3] == ["run", "round", "sum"]
    assert len(model.model_frame()) == len(model.agent_frame()) == 0


def test_columns_may_be_a_tuple_of_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Short(Tiny):
        model_columns = ("sum",)
        agent_columns = ("value",)

    monkeypatch.setattr(Cell, "columns", ("turn",))
    model = Short(n=2, minds="fixed:4", rng=1)
    model.run_model()

    assert (Short.model_columns, Short.agent_columns) == ({"sum": "sum"}, {"value": "value"})
    assert model.model_frame()["sum"].tolist() == [8]
    assert model.agent_frame()[["value", "turn"]].to_numpy().tolist() == [[4, 0], [4, 1]]


def test_a_text_in_place_of_a_tuple_of_columns_is_refused() -> None:
    with pytest.raises(UsageError, match=r'^Columns are a tuple, as in \("sum",\), not the text'):
        type("Slip", (Tiny,), {"model_columns": ("sum")})


@pytest.mark.parametrize(
    ("name", "scenario_name", "title"),
    [
        ("StagHunt", "stag-hunt", "Stag hunt"),
        ("_SIRModel2", "sir-model2", "Sir model2"),
        ("bank_run", "bank-run", "Bank run"),
    ],
)
def test_the_name_and_the_title_of_a_scenario_are_by_default_those_of_its_class(
    name: str, scenario_name: str, title: str
) -> None:
    scenario = type(name, (SmartModel,), {})

    assert (scenario.scenario_name, scenario.title) == (scenario_name, title)
    assert type("Other", (scenario,), {}).title == "Other"
    assert type("Other", (Tiny,), {}).scenario_name == Tiny.scenario_name


class Warm(Tiny):
    defaults: ClassVar = {"temperature": 0.7, "n_rounds": 2, "minds": "fixed:4"}

    def __init__(self, n: int = 2, **settings: Any) -> None:
        super().__init__(n, **settings)


def test_a_class_changes_the_defaults_of_parameters() -> None:
    model, other = Warm(rng=1), Warm(rng=1, temperature=None, n_rounds=1, minds="fixed:5")
    model.run_model()
    other.run_model()

    assert (model.llm_settings.temperature, other.llm_settings.temperature) == (0.7, None)
    assert model.model_frame()["sum"].tolist() == [8, 8]
    assert other.model_frame()["sum"].tolist() == [10]
    assert (model.parameters["temperature"], other.parameters["temperature"]) == (0.7, None)


@pytest.mark.parametrize(
    ("defaults", "told"),
    [
        ({"temprature": 0.7}, "Unknown default of Slip 'temprature'. Did you mean 'temperature'?"),
        ({"temperature": -1}, "temperature must be a number of 0 or more, or none (got -1)."),
    ],
)
def test_a_default_that_cannot_be_used_is_refused(defaults: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as refused:
        type("Slip", (Tiny,), {"defaults": defaults})(rng=1)

    assert str(refused.value).startswith(told)


@pytest.mark.parametrize("where", ["begin_round", "before_act", "after_act", "update"])
@pytest.mark.parametrize("name", ["round", "total", "llm_settings", "entropy"])
def test_a_reserved_attribute_that_is_set_in_a_round_is_named(name: str, where: str) -> None:
    scenario = type("Taking", (Tiny,), {where: lambda self, *_: setattr(self, name, Usage())})

    with pytest.raises(RunError, match=rf"^Taking sets self\.{name} in a round, which Smart"):
        scenario(n=2, n_rounds=3, minds="fixed:1", rng=1).run_model()


def test_a_column_may_be_an_attribute_of_what_a_model_has(tmp_path) -> None:
    class Deep(Tiny):
        model_columns: ClassVar[dict[str, str]] = {"sum": "counted.sum"}

        @property
        def counted(self):
            return self

    model = Deep(n=2, minds="fixed:4", rng=1, recording=tmp_path / "r.sqlite")
    model.run_model()

    assert list(model.model_frame()["sum"]) == [8]
    assert model.end_measures() == {"sum": 8}
    assert rows(model.recording_path, "SELECT measures FROM runs") == [('{"sum":8}',)]


def test_agents_are_in_the_order_of_their_ids_whatever_order_mesas_set_is_in() -> None:
    """The set of Mesa 3.5 and later is what the model itself holds of its agents."""
    model = tiny(action(order="fixed"), n=5, n_rounds=2, minds="fixed:1", rng=1)
    model.step()
    model.agents.sort("unique_id", ascending=False, inplace=True)
    model.step()

    assert [agent for agent, _ in model.log] == [1, 2, 3, 4, 5] * 2
    assert list(model.agent_frame()["agent"]) == [1, 2, 3, 4, 5] * 2


def test_what_was_spent_includes_the_round_under_way() -> None:
    seen = []

    class Watching(Tiny):
        phases: ClassVar = (action(order="fixed"),)

        def after_act(self, cell, pick):
            super().after_act(cell, pick)
            seen.append((self.playing, self.spent().asks, self.total.asks))

    model = Watching(n=2, n_rounds=2, minds=Priced(lambda _: "1"), rng=1, recording=False)
    model.run_model()

    assert seen == [(True, 1, 0), (True, 2, 0), (True, 3, 2), (True, 4, 2)]
    assert not model.playing
    assert model.spent() == model.total
    assert model.spent().cost_usd == 1.0


def test_what_a_round_that_failed_cost_is_counted_once() -> None:
    def answer(ask):
        if ask.key.agent == 2:
            raise ValueError
        return "1"

    model = tiny(action(order="fixed"), minds=Priced(answer), rng=1, recording=False)
    with pytest.raises(RunError):
        model.step()

    assert (model.total.asks, model.total.cost_usd) == (1, 0.25)
    assert model.spent() == model.total


def test_a_run_can_be_closed_before_its_end(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    model = tiny(n_rounds=3, minds="fixed:1", rng=1, recording=path)
    model.step()
    model.close("enough")
    model.close("too late")
    model.step()

    assert model.round == 0
    assert rows(path, "SELECT status, problem FROM runs") == [("failed", "enough")]
    assert rows(path, "SELECT count(*) FROM model_data") == [(1,)]


def test_no_mind_is_paid_in_a_run_that_is_not_recorded_unless_that_is_wanted(tmp_path) -> None:
    asked = []
    paid = Priced(lambda ask: asked.append(ask.key.agent) or "3")

    class Model(Tiny):
        def begin_round(self):
            self.cells[0].mind = paid  # as that of an agent that comes later

    with pytest.raises(RunError, match=r"'priced' costs money.*not recorded.*recording=PATH"):
        Model(minds="fixed:1", rng=1).step()
    assert not asked
    for where in (False, tmp_path / "r.sqlite"):
        Model(minds="fixed:1", rng=1, recording=where).step()

    assert asked == [1, 1]


class FullDisk(Recorder):
    """A recorder that cannot write how a run ended."""

    async def finish(
        self, problem: str = "", measures: Callable[[], Mapping[str, Any]] = dict
    ) -> None:
        del problem, measures
        raise RecordingError("the disk is full")


def test_a_run_that_cannot_be_closed_keeps_no_other_one_open(tmp_path) -> None:
    places = (FullDisk(), tmp_path / "other.sqlite")
    models = [tiny(n_rounds=2, minds="fixed:1", recording=place) for place in places]
    for model in models:
        model.step()
    with pytest.raises(RecordingError, match="the disk is full"):
        close_models(models)
    assert [path.name for path in tmp_path.iterdir()] == ["other.sqlite"]  # and no log


def test_beginning_twice_enters_one_run(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    model = tiny(minds="fixed:1", rng=1, recording=path)
    model.begin()
    model.begin()
    assert rows(path, "SELECT status FROM runs") == [("running",)]
    model.step()

    assert rows(path, "SELECT status FROM runs") == [("finished",)]


def test_an_error_of_a_scenario_says_which_one_and_where() -> None:
    class Broken(Tiny):
        def update(self):
            raise ZeroDivisionError("division by zero")

    with pytest.raises(RunError) as raised:
        Broken(minds="fixed:1", rng=1).step()

    line = Broken.update.__code__.co_firstlineno + 1
    place = f"(test_base.py, line {line})"
    assert str(raised.value) == f"tiny, round 0: ZeroDivisionError: division by zero {place}"
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_an_error_within_a_library_names_the_line_that_called_it() -> None:
    class Broken(Tiny):
        def update(self):
            json.loads("nothing")

    with pytest.raises(RunError, match=r"JSONDecodeError: .* \(test_base\.py, line \d+\)$"):
        Broken(minds="fixed:1", rng=1).step()


@pytest.mark.parametrize("n", [0, -2, 2.5, "x", True])
def test_a_number_of_agents_that_cannot_be(n: Any) -> None:
    class Few(Tiny):
        def __init__(self, **settings):
            super().__init__(**settings)
            self.populate(Cell, n)

    with pytest.raises(ParameterError, match="the number of agents must be a whole number of 1"):
        Few(minds=["fixed:1"] * 3)


class Dear(Waiting):
    """A mind that takes its time and whose answers cost what no binary number is."""

    async def answer(self, ask):
        value = await super().answer(ask)
        return Reply(value, cost_usd=(1 + 7 * ask.key.agent) * 1.5e-7, prompt_tokens=1)


def test_what_answers_cost_in_sum_does_not_depend_on_their_order() -> None:
    def frame(longest):
        minds = Dear(lambda ask: str(ask.key.agent), seed=1, longest=longest)
        model = tiny(action(), n=40, n_rounds=3, minds=minds, rng=1)
        model.run_model()
        return model.model_frame()

    pd.testing.assert_frame_equal(frame(0), frame(9), check_exact=True)


def test_a_phase_may_take_place_twice_in_a_round(tmp_path) -> None:
    path = tmp_path / "r.sqlite"
    phases = (action(order="fixed"), communication(order="fixed"), action(order="fixed"))
    model = tiny(*phases, n=2, minds="fixed:1", rng=1, recording=path)
    model.run_model()

    keys = rows(path, "SELECT phase, agent, call FROM asks ORDER BY agent, phase, call")
    each = [("act", 0), ("act", 1), ("communicate", 0)]
    assert keys == [(phase, agent, call) for agent in (1, 2) for phase, call in each]


def test_a_run_that_cannot_be_recorded_does_not_begin(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    asked = []
    model = tiny(minds=Priced(asked.append), rng=1, recording=tmp_path / "file" / "r.sqlite")
    for _ in range(2):
        with contextlib.suppress(OutputError):
            model.begin()
    model.step()

    assert asked == []
    assert not model.running


def test_a_model_that_is_gone_leaves_nothing_behind() -> None:
    model = tiny(action(), n=3, minds="fixed:1", rng=1)
    seen = weakref.ref(model)
    assert [agent.unique_id for agent in model.population] == [1, 2, 3]
    model.step()
    del model
    gc.collect()
    assert seen() is None


# Mesa's own page.


@pytest.mark.filterwarnings("ignore::UserWarning")  # Solara's, on the source of Mesa
@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_controls_of_mesas_own_page_take_every_scenario(name: str) -> None:
    import solara
    from mesa.visualization.solara_viz import ModelCreator

    model = scenario(name)(n_rounds=2, rng=1)
    rounds = {"type": "SliderInt", "label": "Rounds", "value": 2, "min": 1, "max": 4, "step": 1}
    controls = ModelCreator(solara.reactive(model), {"n_rounds": rounds, "rng": 1})
    _, rendered = solara.render(controls, handle_error=False)
    rendered.close()


@pytest.mark.filterwarnings("ignore::UserWarning")  # Solara's, on the source of Mesa
@pytest.mark.parametrize("name", ["kbc", "evacuation"])
def test_mesas_own_page_steps_and_resets_a_scenario(name: str) -> None:
    import ipyvuetify
    import solara
    from mesa.visualization.solara_viz import ModelController

    first = scenario(name)(n_rounds=2, rng=1)
    shown = solara.reactive(first)
    page = ModelController(
        shown,
        model_parameters={"n_rounds": 2, "rng": 1},
        play_interval=solara.reactive(100),
        render_interval=solara.reactive(1),
        use_threads=solara.reactive(value=False),
    )
    _, rendered = solara.render(page, handle_error=False)

    def click(label: str) -> None:
        rendered.find(ipyvuetify.Btn, children=[label]).widget.click()

    click("Step")
    assert first.round == 0
    click("Reset")
    assert shown.value is not first
    click("Step")
    rendered.close()

    assert_same(frames(shown.value), frames(first))


@pytest.mark.parametrize(
    ("base", "name"), [(SmartModel, "total"), (SmartModel, "said"), (SmartAgent, "mind")]
)
def test_a_property_with_a_name_that_a_run_needs_is_refused(base: type, name: str) -> None:
    with pytest.raises(UsageError, match=rf"Own\.{name} is a property, and {base.__name__} needs"):
        type("Own", (base,), {name: property(lambda _: 3)})


def test_a_column_of_what_a_run_keeps_is_refused() -> None:
    with pytest.raises(UsageError, match="'all' is the attribute 'total', which SmartModel needs"):
        RoundCollector({"all": "total"}, {})
    RoundCollector({"all": "total.asks"}, {})


def test_the_records_of_agents_are_those_of_mesa() -> None:
    """Also of agents with whose asks something went wrong."""
    mind = ScriptedMind(lambda ask: "?" if ask.key.agent == 2 else "7")
    model = KeynesianBeautyContest(n_players=3, n_rounds=1, minds=mind, rng=1, recording=False)
    model.run_model()
    plain = mesa.DataCollector(agent_reporters=model.datacollector.agent_reporters)
    plain.collect(model)

    ours = model.datacollector.get_agent_vars_dataframe()
    assert ours.to_json(orient="values") == plain.get_agent_vars_dataframe().to_json(
        orient="values"
    )
    assert ours[["invalid", "reasks"]].to_numpy().tolist() == [[0, 0], [1, 2], [0, 0]]
