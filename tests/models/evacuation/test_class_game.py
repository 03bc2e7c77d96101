"""The evacuation for a class: what people see beside a question."""

from sabm_mesa import EmergencyEvacuation, ScriptedMind
from sabm_mesa.models.evacuation.class_game import board

SAID = ["The left exit is quick.", "Go LEFT!", "Right or left?", "right.", "I am afraid."]


def test_the_question_of_the_exit_has_the_whole_room_and_the_talk_in_groups() -> None:
    boards = []

    def answer(ask):
        if ask.name == "communicate":
            return SAID[ask.key.agent % len(SAID)]
        if ask.name == "choose":
            boards.append((board(ask), ask.facts))
        return {"choose": "left", "act": "A"}.get(ask.name, "Fine.")

    model = EmergencyEvacuation(
        n_people=30, n_rounds=2, width=15, height=15, minds=ScriptedMind(answer), rng=1
    )
    model.step()
    shown, seen = max(boards, key=lambda each: len(each[1].said))
    heard = [message.text for message in seen.said]
    n = {text: heard.count(text) for text in SAID}
    parts = f"left ({n[SAID[0]] + n[SAID[1]]}), right ({n[SAID[3]]})"
    rest = f"no exit or several ({n[SAID[2]] + n[SAID[4]]})"
    for part in (*parts.split(", "), rest):
        assert part in shown["text"].split("speak of: ")[1]
    assert "left: " in shown["text"]
    assert (shown["kind"], shown["width"], shown["height"], shown["whole"]) == ("map", 15, 15, True)
    assert [each["option"] for each in shown["options"]] == list(model.room.names)
    assert all(tuple(each["at"][::-1]) in model.room.exit_at for each in shown["options"])
    assert shown["me"] == [seen.cell[1], seen.cell[0]]
