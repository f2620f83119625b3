"""The page in a real Chromium: it opens offline, shows what it should, and is fast.

Skipped where playwright or a browser is missing; `pip install --group browser` installs playwright.
"""

import shutil
import statistics

import pytest

from analyses import classify
from analyses.plots import write_page
from replay.simulation import feed, simulate
from replay.worlds.changing_worlds import moving_wall
from replay.worlds.mazes import random_maze

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


def test_a_replay_runs_move_by_move(opened):
    page = opened("#run=0&step=0", motion="no-preference")
    page.keyboard.press("n")
    assert page.evaluate("page.running")
    moves = page.locator("#move")
    sync_api.expect(moves).to_have_value(moves.get_attribute("max"), timeout=20_000)


def test_two_learners_side_by_side(opened):
    page = opened()
    assert page.locator("canvas[role=img]").count() == 2
    assert "Both have the same experience" in page.locator("#summary").inner_text()
    page.get_by_role("button", name="Remove").click()
    assert page.locator("canvas[role=img]").count() == 1
    page.get_by_label("Beside it").select_option("Episodic control")
    assert page.locator("canvas[role=img]").count() == 2


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
