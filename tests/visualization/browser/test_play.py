"""People who play in the browser: real Chromium against a real server."""

import csv
import json
import os
import re
import signal
import time
import zipfile
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import TimeoutError as TooLate
from playwright.sync_api import expect

from sabm_mesa import KeynesianBeautyContest, ScriptedMind
from tests.core.support import rows
from tests.visualization.browser.conftest import VIEW, WAIT_MS, Server, free_port

HOSTILE = "<img src=x onerror=window.hacked=1>"
FORMULA = f"=1+1{HOSTILE}"
PHONE = {"width": 390, "height": 844}
INTEGER, NUMBER, WORDS = "Integer from 0 to 100", "Number from 0 to 100", "Your words"


def open_game(page, scenario="kbc", sizes="Number of players", *, public=True, **settings):
    """Set a game up on the host's page; returns the links to its seats."""
    choose(page, scenario)
    page.get_by_text("More settings").click()
    page.get_by_label(sizes).wait_for()
    if not public:
        page.get_by_label("People see the results of each round").uncheck()
    for label, value in ({"Seats_for_people": 1} | settings).items():
        put(page, label.replace("_", " "), str(value))
    page.get_by_role("button", name="Open the game").click()
    page.get_by_role("button", name="Start the game").wait_for()
    links = page.get_by_label("Link to the seat of ")
    return [link.input_value() for link in links.all()]


def choose(page, scenario):
    """Choose a scenario, and wait for its form."""
    page.locator(f'[data-scenario="{scenario}"]').click()
    page.locator(f'#form[data-game="{scenario}"]').wait_for()


def put(page, label, value):
    """Type into a field of the host's form at once, with Enter."""
    field = page.get_by_label(label).first
    field.fill("")
    field.press_sequentially(value)
    field.press("Enter")


def start(page):
    """Start the game; a click is lost when the button is drawn anew at that moment."""
    button = page.get_by_role("button", name="Start the game")
    for _ in range(10):
        button.click()
        with suppress(TooLate):
            button.wait_for(state="hidden", timeout=WAIT_MS / 10)
            return


def answer(page, label, text, *, taken=True):
    """Answer the question that waits; when it is taken, its form goes away."""
    asked(page, label)
    form = page.locator("form[data-question]")
    number = form.get_attribute("data-question")
    field = form.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Enter")
    if taken:
        expect(page.locator(f'form[data-question="{number}"]')).to_have_count(0)


def says(page, text):
    page.get_by_text(text).first.wait_for()


def asked(page, label):
    page.get_by_label(label, exact=True).wait_for()


def recording(page):
    """The path of the recording that the host is told."""
    says(page, "Recorded in")
    return page.get_by_text("Recorded in").inner_text().removeprefix("Recorded in ")


def keep(page, name):
    """Keep a screenshot where SCREENSHOTS says, to be looked at."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.set_viewport_size({**page.viewport_size, "height": 1300})
        page.screenshot(path=Path(folder) / f"{name}.png")


def test_a_person_plays_among_classical_players_to_the_end(server, browse) -> None:
    host = browse("/host")
    (link,) = open_game(host, Seed=5, Number_of_players=6, Number_of_rounds=2)
    me = browse(link, viewport=PHONE)
    says(me, "You have your seat.")
    start(host)

    asked(me, INTEGER)
    keep(me, "play-number")
    answer(me, INTEGER, "30")
    asked(me, WORDS)
    me.get_by_label(WORDS).fill("I will choose 12 again")
    says(me, "5 of 60 words")
    keep(me, "play-text")
    me.keyboard.press("Enter")
    asked(me, INTEGER)
    answer(me, INTEGER, "12")
    says(me, "The game is over")
    keep(me, "play-results")

    twin = KeynesianBeautyContest(
        minds={ScriptedMind(["30", "I will choose 12 again", "12"]): 1, "classical": 5},
        n_players=6, n_rounds=2, rng=5,
    )  # fmt: skip
    twin.run_model()
    table = me.get_by_label("The game by round").locator("tbody tr").last
    mean, target, variance = (f"{v:.4g}" for v in (twin.mean, twin.target, twin.variance))
    assert table.locator("td").all_text_contents()[:4] == ["2", mean, target, variance]
    own = me.get_by_label("Your results by round").locator("tbody tr").last
    assert own.locator("td").all_text_contents()[:2] == ["2", "12"]
    keep(host, "host-over")
    recorded = rows(
        server.folder / recording(host), "SELECT raw, valid FROM asks WHERE mind = 'human'"
    )
    assert sorted(recorded) == [("12", 1), ("30", 1), ("I will choose 12 again", 1)]


def test_two_browsers_play_one_game_and_a_third_is_refused(browse, tmp_path) -> None:
    host = browse("/host")
    others = {"Who_decides_for_the_others": json.dumps({f"fixed:{FORMULA}": 1})}
    links = open_game(host, Seats_for_people=2, Number_of_players=3, Number_of_rounds=2, **others)
    assert len(set(links)) == 2
    first, second = (browse(link) for link in links)
    for player in (first, second):
        says(player, "You have your seat.")
    third = browse(links[1])
    says(third, "This seat is taken by another browser.")
    keep(host, "host-open")
    expect(host.locator(".sabm-seat-joined")).to_have_count(2)
    start(host)

    asked(first, INTEGER)
    answer(first, INTEGER, "101", taken=False)
    says(first, '"101" is outside the range from 0 to 100.')
    answer(first, INTEGER, "", taken=False)
    says(first, "It was empty.")
    keep(first, "play-refused")
    answer(first, INTEGER, "50")
    says(first, "others are deciding")
    second.get_by_label("Your reasoning").fill("My private thought")
    answer(second, INTEGER, "40")

    waiting = [first, second]
    deadline = time.monotonic() + WAIT_MS / 1000
    while waiting:  # the order in which they speak is drawn
        assert time.monotonic() < deadline
        for player in list(waiting):
            if player.get_by_label(WORDS).count():
                answer(player, WORDS, "I say <b>7</b>")
                waiting.remove(player)
        host.wait_for_timeout(50)
    for player in (first, second):
        asked(player, INTEGER)
        talk = player.locator(".said")
        expect(talk).to_contain_text(f"Player 3 {FORMULA}")
        assert player.evaluate("window.hacked") is None
        assert player.locator("img[src=x]").count() == 0
        expect(talk).to_contain_text("I say <b>7</b>")
    assert "My private thought" not in first.content()
    assert "taken by another browser" in third.content()
    keep(first, "play-hostile")
    for player in (first, second):
        answer(player, INTEGER, "0")
    for player in (first, second):
        says(player, "The game is over")
    assert "My private thought" not in first.content()

    reloaded = first
    reloaded.reload()
    says(reloaded, "The game is over")

    with host.expect_download() as download:
        host.get_by_role("link", name="Download all").click()
    with zipfile.ZipFile(download.value.path()) as taken:
        taken.extractall(tmp_path)
    report = host.context.new_page()
    report.goto((tmp_path / "report.html").as_uri())
    says(report, "Group 1 by round")
    for page in (host, report):
        assert page.evaluate("window.hacked") is None
        assert page.locator("img[src=x]").count() == 0
    with (tmp_path / "data" / "asks.csv").open(newline="", encoding="utf-8") as file:
        assert f"'{FORMULA}" in {row["raw"] for row in csv.DictReader(file)}


def test_an_empty_seat_abstains(server, browse) -> None:
    host = browse("/host")
    nobody = {"Who_plays_for_empty_seats": "nobody"}
    (link,) = open_game(
        host, Number_of_players=3, Number_of_rounds=1, Seconds_for_an_answer=0.5, **nobody
    )
    start(host)
    says(host, "The game is over.")
    path = server.folder / recording(host)
    wait_for_answers(path, 1)
    found = rows(path, "SELECT valid, reason FROM asks WHERE mind = 'human'")
    assert found == [(0, "No answer came within 0.5 seconds.")]

    late = browse(link)
    says(late, "(no answer in time)")
    program = HTTPConnection("127.0.0.1", server.port)
    program.request("GET", urlsplit(link).path.replace("/play/", "/api/seats/"))
    assert program.getresponse().status == 403, "the browser has the seat"
    program.close()
    host.get_by_role("button", name="Close the game and its links").click()
    host.get_by_role("button", name="Keep it").click()
    host.get_by_role("button", name="Close the game and its links").click()
    host.get_by_role("button", name="Yes, close it").click()
    says(late, "This link leads to no game.")


def test_an_exit_is_chosen_and_the_host_ends_the_game(browse) -> None:
    host = browse("/host")
    (link,) = open_game(
        host, "evacuation", "Number of people", Number_of_people=2, Number_of_rounds=2,
        Who_plays_for_empty_seats="nobody",  # else people choose exits and cells alone
    )  # fmt: skip
    me = browse(link, viewport=PHONE, color_scheme="dark")
    says(me, "You have your seat.")
    start(host)

    words = "Your words, without digits"
    asked(me, words)
    answer(me, words, "Keep calm")
    says(me, "Round 1: Keep calm")
    for text in ("I am calm", "Left is near"):
        asked(me, WORDS)
        answer(me, WORDS, text)
        says(me, f"Round 1: {text}")
    option = me.get_by_role("radio").first
    option.wait_for()
    keep(me, "play-choice")
    number = me.locator("form[data-question]").get_attribute("data-question")
    option.check()
    option.press("Enter")
    expect(me.locator(f'form[data-question="{number}"]')).to_have_count(0)
    me.get_by_role("button", name="Wait here").wait_for()
    cell = me.locator(".cell").first
    step = me.locator("form[data-question]").get_attribute("data-question")
    cell.click()
    expect(me.locator(f'form[data-question="{step}"]')).to_have_count(0)
    host.get_by_role("button", name="End the game").click()
    host.get_by_role("button", name="Yes, end it").dblclick()  # closes nothing
    says(me, "It ended before its time.")
    closes = host.get_by_role("button", name="Close the game and its links")
    expect(closes.or_(host.get_by_role("button", name="Keep it")).first).to_be_visible()
    expect(me.get_by_text("This link leads to no game.")).to_have_count(0)


def test_what_leads_nowhere(browse) -> None:
    host = browse("/host")
    (link,) = open_game(host, Number_of_players=2)
    assert browse(link[:-1]).get_by_text("This link leads to no game.").wait_for() is None
    me = browse(link)
    says(me, "You have your seat.")
    host.get_by_role("button", name="Free the seat of").click()
    says(me, "The host has freed this seat.")
    says(browse(link), "You have your seat.")
    says(me, "This seat is taken by another browser.")

    other = browse("/host")
    other.get_by_role("button", name="Open the game").wait_for()
    expect(other.get_by_label("Link to the seat")).to_have_count(0)

    other.get_by_text("More settings").click()
    put(other, "Seats for people", "1")
    put(other, "Who decides for the others", "chess")
    other.get_by_role("button", name="Open the game").click()
    says(other, "Cannot read the mind spec 'chess'.")
    put(other, "Seed", "one")
    other.get_by_role("button", name="Open the game").click()
    says(other, "Seed: give a whole number of 0 or more, or nothing.")
    keep(other, "host-problem")


def test_players_and_host_see_the_game_as_it_goes(browse) -> None:
    host = browse("/host")
    link, other = open_game(
        host, Seed=5, Seats_for_people=2, Number_of_players=4, Number_of_rounds=2
    )
    host.get_by_text("A link for each seat").click()
    says(host, "These links work on this computer only.")
    me, friend = browse(link), browse(other)
    says(me, "You play Player 1 of 4.")
    says(friend, "You have your seat.")
    start(host)
    asked(me, INTEGER)
    expect(me.get_by_label(INTEGER, exact=True)).to_be_focused()
    assert "On the first line" not in me.content()
    says(host, "Waiting for Player 1, Player 2.")
    answer(me, INTEGER, "30")
    says(host, "Waiting for Player 2.")
    assert me.get_by_text("The game so far").count() == 0
    friend.get_by_label("Your reasoning").fill("A private thought")
    answer(friend, INTEGER, "60")

    says(me, "After round 1")
    table = me.get_by_label("The game so far")
    expect(table.locator("tbody tr")).to_have_count(1)
    expect(table.locator("th").nth(1)).to_have_text("Mean pick")
    expect(me.get_by_label("Your results so far").locator("td").nth(1)).to_have_text("30")
    assert "A private thought" not in me.content()
    says(host, "1 of 2 rounds done")
    host.get_by_text("Numbers and conversation").click()
    expect(host.get_by_label("The game by round").locator("tbody tr")).to_have_count(1)
    expect(host.get_by_label("Conversation")).to_contain_text("Player")
    expect(host.locator(".sabm-board-chart svg circle")).to_have_count(1)
    host.get_by_role("button", name="End the game").click()
    host.get_by_role("button", name="Yes, end it").click()
    says(me, "It ended before its time.")
    host.get_by_role("link", name="Read the recording").click()
    says(host, "The run was stopped before its end.")


def test_a_phone_shows_every_own_result_and_no_answer_of_another_person(browse) -> None:
    party, host = browse("/host"), browse("/host")
    (link,) = open_game(party, "cocktail-party", "Number of agents", Number_of_rounds=2)
    says(browse(link), "You play L1, one of 10 guests.")
    (link,) = open_game(host, "public-goods", "Number of players", Number_of_rounds=2)
    first = browse(link, viewport=PHONE)
    start(host)
    first.locator("input[type=number]").fill("1e1")
    first.get_by_role("button", name="Send").click()
    expect(first.locator(".told")).to_contain_text("You put 10 into the pot")
    expect(first.locator(".game-score")).to_contain_text("Your dollars so far:")
    own = first.get_by_label("Your results so far")
    expect(own.locator("td").nth(1)).to_have_text("10")
    first.get_by_text("Your results so far", exact=True).click()
    assert own.evaluate("table => table.scrollWidth <= table.clientWidth")
    expect(first.get_by_text("Round 1: 10", exact=True)).to_have_count(1)
    host.get_by_role("button", name="Free the seat").first.click()
    says(first, "The host has freed this seat.")
    second = browse(link)
    says(second, "Your results so far")
    expect(second.get_by_text("What you were asked")).to_have_count(0)


def test_the_results_of_a_round_can_be_kept_from_players(browse) -> None:
    host = browse("/host")
    (link,) = open_game(host, public=False, Seed=5, Number_of_players=3, Number_of_rounds=2)
    me = browse(link)
    says(me, "You have your seat.")
    start(host)
    asked(me, INTEGER)
    answer(me, INTEGER, "30")
    asked(me, WORDS)
    says(host, "1 of 2 rounds done")
    assert me.get_by_text("The game so far").count() == 0
    host.get_by_role("button", name="End the game").click()
    host.get_by_role("button", name="Yes, end it").click()
    says(me, "The game is over")


def test_another_browser_of_the_host_can_end_the_game(browse) -> None:
    host = browse("/host")
    (link,) = open_game(host, Seed=7741, Number_of_players=3)
    me = browse(link)
    says(me, "You have your seat.")
    start(host)
    asked(me, INTEGER)
    second = browse("/host")
    theirs = second.locator(".others li", has_text="seed 7741")
    expect(theirs).to_contain_text("It is played.")
    theirs.get_by_role("button", name="Host it here too").click()
    second.get_by_role("button", name="End the game").click()
    second.get_by_role("button", name="Yes, end it").click()
    says(me, "It ended before its time.")
    says(host, "Close the game and its links")


def test_a_game_survives_the_death_of_its_server(tmp_path, chromium) -> None:
    """The server is killed in the middle of a round; the one after it plays on."""
    port = free_port()
    server = Server(tmp_path, port=port)
    with chromium.new_context() as of_host, ExitStack() as stack:
        contexts = [stack.enter_context(chromium.new_context()) for _ in range(3)]
        for context in (of_host, *contexts):
            context.set_default_timeout(WAIT_MS)
        players = [context.new_page() for context in contexts]
        try:
            host = server.admit(of_host).new_page()
            host.goto(f"{server.url}/host")
            links = open_game(
                host, "beauty-contest", Seats_for_people=3, Number_of_rounds=2, Seed=5
            )  # fmt: skip
            for player, link in zip(players, links, strict=True):
                player.goto(link)
                says(player, "You have your seat.")
            start(host)
            for player, pick in zip(players, (30, 40, 50), strict=True):
                answer(player, NUMBER, str(pick))
            says(host, "1 of 2 rounds done")
            answer(players[0], NUMBER, "10")
            path = tmp_path / recording(host)
            wait_for_answers(path, 4)
            host.goto("about:blank")  # the page of a host loads itself again when the key is new
        finally:
            server.signal(signal.SIGKILL)
            server.close()
        server = Server(tmp_path, port=port)
        try:
            server.admit(of_host)
            host.goto(f"{server.url}/recording?file={path.relative_to(tmp_path)}")
            go_on = host.get_by_role("button", name="Go on with the game")
            try:
                go_on.wait_for()
            except TooLate:  # on a busy machine the page once stayed empty
                host.reload()
            go_on.click()
            host.get_by_role("button", name="Start the game").wait_for()
            again = host.get_by_label("Link to the seat of ").all()
            assert [link.input_value() for link in again] == links
            for player, link in zip(players, links, strict=True):
                player.goto(link)
                says(player, "You have your seat.")
            start(host)
            for player, pick in zip(players[1:], (20, 30), strict=True):
                answer(player, NUMBER, str(pick))
            for player in players:
                says(player, "The game is over")
            own = players[0].get_by_label("Your results by round").locator("tbody tr")
            values = [row.locator("td").nth(1).text_content() for row in own.all()]
            assert values == ["30", "10"]
            turns = players[0].get_by_text("You answered", exact=True)
            expect(turns).to_have_count(2)
        finally:
            server.close()
    asked = "SELECT round, agent, raw FROM asks WHERE mind = 'human' ORDER BY round, agent"
    assert rows(path, asked) == [
        (0, 1, "30"), (0, 2, "40"), (0, 3, "50"), (1, 1, "10"), (1, 2, "20"), (1, 3, "30")
    ]  # fmt: skip
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def wait_for_answers(path, n):
    """Wait until this many answers of people are on disk."""
    deadline = time.monotonic() + WAIT_MS / 1000
    while len(rows(path, "SELECT raw FROM asks WHERE mind = 'human'")) < n:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_seats_and_players_have_to_agree(browse) -> None:
    host = browse("/host")
    choose(host, "kbc")
    host.get_by_text("More settings").click()
    players = host.get_by_label("Number of players")
    players.wait_for()
    for label, value in {"Number of players": "3", "Seats for people": "4"}.items():
        put(host, label, value)
    host.get_by_role("button", name="Open the game").click()
    says(host, "the number of seats for people")
    for label, value in {
        "Seats for people": "1", "Who decides for the others": "fixed:1=1,classical=3"
    }.items():  # fmt: skip
        put(host, label, value)
    host.get_by_role("button", name="Open the game").click()
    says(host, "Seats for people and other minds make 5, but the scenario has 3 agents")


def test_an_answer_of_several_parts_is_filled_in_and_refused_by_its_part(
    tmp_path, chromium
) -> None:
    file = Path(__file__).parents[2] / "testing" / "trading.py"
    server = Server(tmp_path, VIEW.replace("'view'", f"'view', {str(file)!r}"))
    try:
        with chromium.new_context(viewport=PHONE) as context:
            context.set_default_timeout(WAIT_MS)
            host = server.admit(context).new_page()
            host.goto(f"{server.url}/host")
            (link,) = open_game(host, "trading", "Number of traders")
            me = context.new_page()
            me.goto(link)
            says(me, "You have your seat.")
            start(host)
            form = me.locator("form[data-question]")
            form.wait_for()
            expect(form.get_by_label("Act: order: amount")).to_have_count(0)
            form.get_by_label("buy").check()
            form.get_by_role("group", name="Act: order: good").get_by_label("milk").check()
            form.get_by_label("Act: order: amount (integer from 0 to 5)").fill("9")
            form.get_by_label("Ann").check()
            form.get_by_label("Carl").check()
            form.get_by_label("Note").fill("Hello, amount: 5")
            keep(me, "play-parts")
            me.get_by_role("button", name="Send").click()
            says(me, "order.amount: Input should be less than or equal to 5.")
            form.get_by_label("Act: order: amount (integer from 0 to 5)").fill("2")
            me.get_by_role("button", name="Send").click()
            expect(me.locator('form[data-question="1"]')).to_be_visible()
            path = server.folder / recording(host)
            query = "SELECT value, read_as FROM asks WHERE mind = 'human'"
            ((value, read_as),) = rows(path, query)
            assert read_as == "exact"
            assert json.loads(value) == {
                "act": {"action": "buy", "order": {"good": "milk", "amount": 2}},
                "invited": ["Ann", "Carl"],
                "note": "Hello, amount: 5",
                "wishes": [],
            }
            me.wait_for_function(f"document.documentElement.scrollWidth <= {PHONE['width']}")
    finally:
        server.close()


def test_what_is_lost_on_the_way_is_sent_again_by_itself_and_counts_once(browse, chromium) -> None:
    host = browse("/host")
    (link,) = open_game(host, "bertrand", "Number of firms")
    with chromium.new_context(viewport=PHONE) as context:
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        lost = set()

        def once(route, *, arrives: bool) -> None:
            """Lose the first request on its way there, or its response."""
            if (address := route.request.url) in lost:
                route.continue_()
                return
            lost.add(address)
            if arrives:
                route.fetch()
            route.abort()

        page.route(re.compile(r"/answer\?"), lambda route: once(route, arrives=True))
        page.goto(link)
        says(page, "You have your seat.")
        start(host)
        message = page.locator("form[data-question] input, form[data-question] textarea").first
        message.fill("Shall we ask 8?")
        page.get_by_role("button", name="Send").click()
        expect(page.locator('form[data-question="0"]')).to_have_count(0)
        assert [address.partition("?")[0].rsplit("/", 1)[1] for address in lost] == ["answer"]
