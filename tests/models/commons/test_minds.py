"""The classical minds of the commons."""

from sabm_mesa.models.commons.minds import ConditionalHarvester
from tests.models.commons.support import NAMES, commons, played


def test_the_sustainable_and_the_greedy() -> None:
    assert played(None, minds="classical:sustainable").end_measures()["gain"] == 120
    alone = played(None, minds={"classical:sustainable": 4, "classical:open_access": 1})
    assert alone.collapsed
    assert alone.end_measures()["survival_time"] == 1


def test_conditional_harvesters_agree_on_what_keeps_the_stock() -> None:
    model = commons(None, rng=2)
    model.step()
    left = model.left
    assert [m.name for m in model.said] == list(NAMES)
    assert model.agreed_limit == min(100, 2 * left) // 2 // 5
    model.step()
    limits = {h.mind.type: h.wanted for h in model.harvesters if h.mind.type != "free_rider"}
    assert all(wanted <= left // 5 for wanted in limits.values())


def test_a_conditional_harvester_by_hand() -> None:
    """Belief 9.8 → 10 of 20: a conditional cooperator contributes 6.91, of 10 to 20 units.

    It takes 20 − 0.3455 · 10 = 16.5, so 17 (16.545). After others who took 10 each it expects
    20 and contributes 14.92: 20 − 0.746 · 10 = 12.54, so 13.
    """
    mind = ConditionalHarvester("classical")
    mind.type = "conditional_cooperator"
    minds = [mind, *["classical:sustainable"] * 4]
    model = commons(None, minds=minds, n_rounds=2)
    model.step()
    assert model.harvesters[0].wanted == 17
    assert mind.belief == 20
    model.step()
    # 57 were taken: 43 are left and double to 86, of which 8 are sustainable and 17 an equal share;
    # 17 − 0.746 · 9 = 10.3, but 8 was agreed on (43 // 5).
    assert model.agreed_limit is not None
    assert model.harvesters[0].wanted == 8


def test_a_newcomer_is_a_free_rider() -> None:
    model = played(None, newcomer_month=2, n_rounds=3)
    assert model.harvesters[-1].mind.type == "free_rider"
