"""The page in a real Chromium: it opens offline, shows what it should, and is fast.

Skipped where playwright or a browser is missing; `pip install --group browser` installs playwright.
"""

import shutil
import statistics

import numpy as np
import pandas as pd
import pytest
from test_page import SETTINGS, tables_of_evidence

from analyses import classify, place_sequences
from analyses.page import write_page, write_track_page
from analyses.recordings import find_replay
from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.prepare.event_evidence import Evidence
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.studies.pages import DecodedResults
from replay.log.event_log import EventLog
from replay.simulation import feed, simulate
from replay.worlds.changing_worlds import moving_wall
from replay.worlds.mazes import from_ascii, random_maze
from replay.worlds.mdp import MDP
from replay.worlds.tracks import make_linear_track

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: pip install --group browser"
)

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_PHONE, _DESK = (400, 800), (1280, 900)
_FRAME_MS = 16


@pytest.fixture(scope="module")
def browser():
    """Start a browser of the system, or that of playwright."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    with sync_api.sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except sync_api.Error as error:
            pytest.skip(f"there is no Chromium: {str(error).splitlines()[0]}")
        yield found
        found.close()


@pytest.fixture(scope="module")
def logs():
    maze = random_maze(16, seed=3)
    one = simulate(maze, "prioritized_sweeping", n_steps=6_000, seed=1, log="all").log
    size = {"n_states": maze.n_states, "n_actions": maze.n_actions}
    return one, feed("episodic_control", one.steps, **size, mdp=maze)


@pytest.fixture(scope="module")
def place(logs, tmp_path_factory):
    return write_page(logs, tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture
def opened(browser, place):
    """Open the page; afterwards nothing was asked for, and nothing went wrong."""
    contexts, asked, wrong = [], [], []

    def open_page(address="", size=_DESK, scheme="light", motion="reduce"):
        width, height = size
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion=motion,
            offline=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda note: wrong.append(note.text) if note.type == "error" else None)
        page.goto(place.as_uri() + address)
        page.locator("body[data-ready]").wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong
    assert {url.split("#")[0] for url in asked} <= {place.as_uri(), "data:,"}


def table_of(page):
    page.get_by_text("Counts as a table").click()
    rows = page.locator("#counts tbody tr").all_inner_texts()
    cells = [row.split("\t") for row in rows]
    return {name: [int(cell.replace(",", "")) for cell in others] for name, *others in cells}


def test_what_is_seen_equals_the_tables(opened, logs):
    page = opened()
    tables = [classify(log, min_length=3) for log in logs]
    found = table_of(page)
    assert found["All that match"] == [len(table) for table in tables]
    assert found["Novel path"] == [int((table["kind"] == "novel_path").sum()) for table in tables]
    page.get_by_role("checkbox", name="Novel path").uncheck()
    page.get_by_role("checkbox", name="On the way").uncheck()
    rows = page.locator("#counts tbody tr").all_inner_texts()
    left = [
        int(((table["kind"] != "novel_path") & (table["phase"] != "step")).sum())
        for table in tables
    ]
    assert rows[-1].replace(",", "").split("\t") == ["All that match", *map(str, left)]


def test_the_slider_is_fast(opened):
    page = opened()
    taken, pictures = page.evaluate(
        """() => {
            const slider = document.getElementById("time"), taken = [], pictures = new Set();
            document.getElementById("show-values").click();
            for (let k = 1; k <= 60; k++) {
                slider.value = Math.round((slider.max * k) / 61);
                const begun = performance.now();
                slider.dispatchEvent(new Event("input"));
                page.views[0].context.getImageData(0, 0, 1, 1);
                taken.push(performance.now() - begun);
                if (k % 20 === 0) pictures.add(page.views[0].canvas.toDataURL());
            }
            return [taken, pictures.size];
        }"""
    )
    assert statistics.median(taken) < _FRAME_MS
    assert pictures == 3


def test_keys_and_the_text_that_is_read_out(opened, logs):
    page = opened("#run=0&beside=1&step=0")
    told = page.locator("#event")
    assert told.get_attribute("aria-live") == "polite"
    assert "No pause is open" in told.inner_text()
    page.keyboard.press("n")
    first = told.inner_text()
    assert "replays this" in first
    assert "Event 1 of" in first
    assert "states" in page.locator("canvas[role=img]").first.get_attribute("aria-label")
    page.keyboard.press("n")
    assert "Event 2 of" in told.inner_text()
    page.keyboard.press("p")
    assert told.inner_text() == first
    page.keyboard.press(",")
    moves = page.locator("#move")
    assert int(moves.input_value()) == int(moves.get_attribute("max")) - 1
    page.keyboard.press("ArrowRight")
    assert "No pause is open" in told.inner_text()


def test_an_address_leads_to_one_event(opened, logs):
    table = classify(logs[0], min_length=3)
    longest = table.loc[table.groupby("event")["length"].idxmax()]
    novel = longest[longest["kind"] == "novel_path"].iloc[0]
    page = opened(f"#run=0&event={novel['event']}")
    told = page.locator("#event").inner_text()
    assert f"Novel path of {novel['length']} states" in told
    assert f"step {novel['step']:,}" in told
    n_pieces = page.locator("#pieces li").count()
    assert f"composed of {n_pieces} pieces" in told
    page.get_by_role("button", name="Copy link").click()
    assert page.evaluate("location.hash") == f"#run=0&event={novel['event']}"


def test_filters_are_in_the_address(opened):
    page = opened("#run=0&beside=1&step=0&kinds=novel_path&pauses=step,rest&from=4")
    assert page.get_by_role("checkbox", name="Novel path").is_checked()
    assert not page.get_by_role("checkbox", name="Episode, reverse").is_checked()
    assert page.locator("#shortest").input_value() == "4"
    page.get_by_role("checkbox", name="Episode, reverse").check()
    before = page.locator("#matching").inner_text()
    page.locator("#shortest").fill("3")  # at once, without leaving the field
    assert page.locator("#matching").inner_text() != before
    page.get_by_role("button", name="Copy link").click()
    assert page.evaluate("location.hash") == (
        "#run=0&beside=1&step=0&kinds=reverse_episode,novel_path&pauses=step,rest"
    )


def test_where_no_event_matches_none_is_open(opened):
    page = opened()
    page.keyboard.press("n")
    for name in ("Episode, reverse", "Novel path", "Ambiguous"):
        page.get_by_role("checkbox", name=name).uncheck()
    assert page.locator("#event").inner_text().startswith("No event matches")


def test_an_address_that_is_not_on_the_page_is_told(opened):
    page = opened("#run=7&event=99999999&kinds=novel_path,melody")
    told = page.get_by_role("status").filter(has_text="not on this page").inner_text()
    assert all(asked in told for asked in ("kinds melody", "run 7", "event 99999999"))
    page.keyboard.press("n")
    assert page.locator("#notice").inner_text() == ""
    page = opened("#run=0&step=abc&from=-1&sequences=all&colour=red")
    told = page.locator("#notice").inner_text()
    assert all(asked in told for asked in ("step abc", "from -1", "sequences all", "colour red"))
    assert "run" not in told


def test_chains_across_pauses_are_those_of_the_table(opened, logs):
    page = opened("#run=0&beside=1&step=0")
    page.get_by_role("radio", name="continued in later pauses").check()
    across = [classify(log, min_length=3, across_events=True) for log in logs]
    assert table_of(page)["All that match"] == [len(table) for table in across]
    assert "across replay events" in page.locator("#counted").inner_text()
    assert page.locator("#longest").input_value() == str(max(t["length"].max() for t in across))
    page.locator("#shortest").fill("5")
    page.keyboard.press("Escape")
    page.locator("#next").click()
    assert "It continues in the pauses of the next" in page.locator("#event").inner_text()


def test_all_letters_on_badges_have_contrast(opened):
    for scheme in ("light", "dark"):
        page = opened("#run=0&beside=1", scheme=scheme)
        least = page.evaluate(
            """() => Math.min(...page.theme.kinds.concat(PIECE_COLOURS)
                .map((colour) => contrast(colour, inkOn(colour))))"""
        )
        assert least >= 4.5


def test_barriers_are_drawn(browser, tmp_path):
    maze = from_ascii("S....\n.....\n....G").with_barrier((2, 2), (3, 2))
    log = simulate(maze, "episodic_control", n_steps=200, seed=1).log
    page = browser.new_context(offline=True).new_page()
    page.goto(write_page(log, tmp_path / "page.html").as_uri())
    page.locator("body[data-ready]").wait_for()
    colour, wall = page.evaluate(
        """() => {
            const view = page.views[0], world = worldOf(view.run), still = view.still;
            const [a, b] = [world.barrier_one[0], world.barrier_other[0]];
            const scale = still.width / view.canvas.clientWidth;
            const at = [(view.px[a] + view.px[b]) / 2, (view.py[a] + view.py[b]) / 2];
            const pixel = still.getContext("2d").getImageData(at[0] * scale, at[1] * scale, 1, 1);
            return [[...pixel.data].slice(0, 3), page.theme.wall];
        }"""
    )
    assert colour == [int(wall[k : k + 2], 16) for k in (1, 3, 5)]
    page.context.close()


def test_large_mazes_are_shown_around_the_event(browser, tmp_path):
    run = simulate(random_maze(40, seed=1), "episodic_control", n_steps=3000, seed=1)
    page = browser.new_context(offline=True).new_page()
    page.goto(write_page(run, tmp_path / "page.html").as_uri())
    page.locator("body[data-ready]").wait_for()
    assert page.get_by_role("checkbox", name="Only around the event").is_checked()
    page.context.close()


def test_without_scripts_there_are_no_controls(browser, place):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(place.as_uri())
    assert "needs JavaScript" in page.locator("body").inner_text()
    assert not [each for each in page.locator("button, input, select").all() if each.is_visible()]
    context.close()


def test_a_replay_runs_move_by_move(opened):
    page = opened("#run=0&step=0", motion="no-preference")
    page.keyboard.press("n")
    assert page.evaluate("page.running")
    moves = page.locator("#move")
    sync_api.expect(moves).to_have_value(moves.get_attribute("max"), timeout=20_000)


def test_the_timeline_of_a_recording_leads_to_its_events(browser, tmp_path):
    judgement = Judgement(n_shuffles=4, n_controls=1, other_sizes=())
    found = find_replay(simulated_recording(6), judgement=judgement)
    page = browser.new_page(reduced_motion="reduce")
    page.goto(write_page(found, tmp_path / "page.html").as_uri())
    page.locator("body[data-ready]").wait_for()
    timeline = page.locator("#timeline")
    timeline.scroll_into_view_if_needed()
    box = timeline.bounding_box()
    last = found.events.loc[found.events["is_replay"], ["event", "start_time"]].iloc[-1]
    page.mouse.click(box["x"] + box["width"] - 8, box["y"] + 30)
    assert f"event={last['event']:g}" in page.evaluate("address()")
    own = found.events.set_index("event").loc[last["event"]]
    judged = f"Event {last['event']:g}: evidence {own['evidence']:.1f}, {own['n_active']:g} cells"
    assert judged in page.locator("#event").inner_text()
    # On the clock of the recording, as in its tables.
    assert f"{last['start_time']:.1f} s" in page.locator("#event").inner_text()
    at = last["start_time"] - found.experience.steps["time"].iloc[0]
    assert page.evaluate("nowOn(page.views[0].run)") == pytest.approx(at, abs=1e-3)
    page.mouse.click(box["x"] + 45, box["y"] + 30)
    assert page.evaluate("page.key") is None
    page.close()


def test_the_page_of_a_track_asks_for_a_scale_only_of_pixels(browser, tmp_path):
    page = browser.new_page()
    for unit in ("cm", "pixels"):
        place = tmp_path / "track.html"
        page.goto(
            write_track_page([[0, 1], [90, 0]], make_linear_track(), place, unit=unit).as_uri()
        )
        assert page.locator("#told").inner_text().startswith("2 nodes, 1 edge, ")
        assert page.locator("#scale").is_visible() == (unit == "pixels")
    page.close()


def test_spikes_and_posterior_follow_the_event(browser, tmp_path):
    """The list, the evidence, the slider of the replay and the map show one event and moment."""
    events = pd.DataFrame({"event": range(4), "start_time": 100.0 + np.arange(4.0)})
    events["end_time"] = events["start_time"] + 0.2
    events["is_replay"], events["why"] = True, "run both ways"
    graph = make_linear_track(120.0)
    world = MDP.from_networkx(graph, bin_size=20.0)
    log = EventLog({"steps": _laps(world)}, mdp=world)
    lap = [0, *log.steps["next_state"].iloc[:5]]
    listed = pd.DataFrame({"time": events["start_time"], "states": [lap, lap[::-1]] * 2})
    sequences = place_sequences(log, listed.assign(phase="rest"))
    track = cut_track(graph, 5.0)
    evidence = Evidence(track, SETTINGS, tables_of_evidence(events, track))
    places = np.concatenate([np.linspace(0, 120, 40), np.linspace(120, 0, 40)] * 2)
    paths = pd.DataFrame({"event": np.repeat(range(4), 40), "x": places, "y": 0.0})
    paths["time"] = 100.0 + paths["event"] + 0.005 * np.tile(np.arange(40), 4)
    decoded = DecodedResults(events, sequences, paths, log, evidence=evidence)
    page = browser.new_page(reduced_motion="reduce")
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(write_page(decoded, tmp_path / "page.html").as_uri())
    page.locator("body[data-ready]").wait_for()
    assert page.locator("#list option").count() == 4
    page.locator("#list").select_option(index=2)
    told = page.locator("#event").inner_text()
    assert "Event 3 of 4" in told
    assert "It is ambiguous: run both ways." in told
    assert "opposite direction" not in told
    page.wait_for_function("page.evidence && page.evidence.e === 2")
    told = page.locator("#evidence-canvas").get_attribute("aria-label")
    assert "of 200 ms" in told
    assert "spikes of 12 cells" in told
    canvas = page.locator("#evidence-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    middle = box["x"] + 44 + (box["width"] - 54) / 2
    page.mouse.click(middle, box["y"] + 60)
    moment, moves, place = page.evaluate(
        """() => {
            const { run, e } = page.evidence, { path_ms, path_x } = run.events;
            let k = run.sampleBegin[e];
            while (k + 1 < run.sampleBegin[e + 1] && path_ms[k + 1] <= page.moment) k++;
            return [page.moment, page.progress, path_x[k]];
        }"""
    )
    assert moment == pytest.approx(100.0, abs=1.0)
    assert place == pytest.approx(120 * 20 / 39, abs=4)
    assert moves == pytest.approx(3.5, abs=0.1)  # states are 20 cm apart: made at 10, 30, 50 cm
    assert page.locator("#move").input_value() == "4"
    page.keyboard.press("n")
    assert page.evaluate("[page.moment, document.getElementById('list').selectedIndex]") == [
        None,
        3,
    ]
    page.locator("#time").focus()
    page.keyboard.press("Home")
    assert page.locator("#evidence").is_hidden()
    assert not wrong
    page.close()


def _laps(world):
    """Make two laps along a linear track and back."""
    n = world.n_states
    states = [*range(n), *range(n - 2, -1, -1)] * 2
    place = np.argsort(np.asarray(world.position)[:, 0])[states]
    return {"state": place[:-1], "next_state": place[1:], "time": 0.5 * np.arange(len(place) - 1),
            "terminated": False}  # fmt: skip


def test_two_learners_side_by_side(opened):
    page = opened()
    assert page.locator(".view canvas").count() == 2
    assert "Both have the same experience" in page.locator("#summary").inner_text()
    page.get_by_role("button", name="Remove").click()
    assert page.locator(".view canvas").count() == 1
    page.get_by_label("Beside it").select_option("Episodic control")
    assert page.locator(".view canvas").count() == 2


@pytest.mark.parametrize("size", [_PHONE, _DESK])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen(opened, size, scheme):
    page = opened(size=size, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_walls_are_those_of_the_moment(browser, tmp_path):
    log = simulate(moving_wall(n_steps=300, seed=1), "q_learning", seed=1).log
    place = write_page(log, tmp_path / "page.html")
    page = browser.new_context(offline=True).new_page()
    page.goto(place.as_uri())
    page.locator("body[data-ready]").wait_for()
    states = page.evaluate(
        """() => {
            const slider = document.getElementById("time");
            return [0, 300, 301, 600, 601, 900].map((made) => {
                slider.value = made;
                slider.dispatchEvent(new Event("input"));
                const closed = closedNow(page.views[0].run, made);
                const told = page.views[0].canvas.getAttribute("aria-label").includes("Closed now");
                return [closed ? [...closed.states] : [], told];
            });
        }"""
    )
    first, second = ({there for _, there in moves} for moves in log.closed.values())
    assert [set(closed) for closed, _ in states] == [set(), set(), first, first, second, second]
    assert [told for _, told in states] == [False, False, True, True, True, True]
    page.context.close()
