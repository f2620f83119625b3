"""One pause: its moves as replayed, and the film of them."""

import sys
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from matplotlib import animation
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from PIL import Image
from strategies import event_log, examples, logs
from typer.testing import CliRunner

from analyses.cli import app
from analyses.plots.film import animate_pause, pause_frames, write_film
from analyses.plots.style import kind_colour
from analyses.sequences.classification import classify
from analyses.sequences.events import longest_event, replayed_moves
from analyses.sequences.segments import find_segments, segments_per_episode
from analyses.studies.brea_2018 import world_of_log
from replay import simulate
from replay.experiments import EXPERIMENTS
from replay.log.event_log import EventLog
from replay.log.worlds import read_mdps, write_mdps
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP
from replay.worlds.tracks import make_wtrack


@pytest.fixture(scope="module")
def maze():
    """Five rooms in a row: states 0 to 4, the goal is 4."""
    return from_ascii("S...G")


@pytest.fixture(scope="module")
def log(maze):
    """The agent runs to the goal; there it replays 4 3 2, then 0 1 forwards, then 3 2 again."""
    right = maze.action_names.index("right")
    steps = {"state": range(4), "next_state": range(1, 5), "action": right}
    backups = pd.DataFrame(
        [(3, 4, -1), (2, 3, 0), (0, 1, -1), (1, 2, 2), (2, 3, -1), (1, 1, -1)],
        columns=["state", "next_state", "cause"],
    ).assign(step=3, phase="episode_end", action=right, q_before=0.0, event=0)
    backups["q_after"] = [1.0, 0.5, 0.0, 0.0, 0.25, 0.0]
    early = backups.head(1).assign(step=1, event=0, state=0, next_state=1, cause=-1)
    backups = pd.concat([early, backups.assign(event=1, cause=backups["cause"] + 1)])
    backups["cause"] = backups["cause"].where(backups["cause"] > 0, -1)
    return EventLog(
        {"runs": {"learner": "episodic_control"}, "steps": steps, "backups": backups}, mdp=maze
    )


def test_moves_are_in_the_direction_of_replay(log):
    assert longest_event(log) == 1
    moves = replayed_moves(log, 1)
    pairs = list(zip(moves["state"], moves["next_state"], strict=True))
    assert pairs == [(4, 3), (3, 2), (0, 1), (1, 2), (2, 3)]
    assert moves["order"].tolist() == [0, 1, 2, 3, 4]
    assert moves["length"].tolist() == [3, 3, 3, 3, 2]
    assert moves["change"].tolist() == [1.0, 0.5, 0.0, 0.0, 0.25]
    kinds = moves["kind"].where(moves["kind"].notna(), None).tolist()
    assert kinds == ["reverse_episode"] * 2 + ["forward_episode"] * 2 + [None]
    assert set(moves["location"]) == {4}
    assert replayed_moves(log, 0)["next_state"].tolist() == [1]


@given(logs())
@examples(300)
def test_an_event_alone_is_classified_as_in_its_log(drawn):
    steps, backups = drawn
    log = event_log(steps, backups)
    sequences = classify(log, min_length=2)
    for event, rows in sequences.groupby("event"):
        moves = replayed_moves(log, event)
        own = log.backups[log.backups["event"] == event]
        own = own[own["state"] != own["next_state"]]
        assert moves["order"].tolist() == own["index"].tolist()
        made = {frozenset(pair) for pair in zip(own["state"], own["next_state"], strict=True)}
        shown = zip(moves["state"], moves["next_state"], strict=True)
        assert {frozenset(pair) for pair in shown} == made
        assert moves["length"].max() == rows["length"].max()
        long = rows[rows["length"] >= 3]
        assert set(moves["kind"].dropna()) <= set(long["kind"])
        for path in long["states"]:
            shown = set(zip(moves["state"], moves["next_state"], strict=True))
            pairs = set(pairwise(path))
            assert pairs <= shown | {pair[::-1] for pair in shown}
    if len(sequences):
        event = longest_event(log)
        assert sequences.set_index("event").loc[[event], "length"].max() == max(sequences["length"])


def test_frames_follow_the_moves(log, maze):
    frames = pause_frames(log)
    figure, seconds = next(frames)
    ax = figure.axes[0]
    texts = [text.get_text() for text in figure.texts]
    assert texts[:3] == [
        "Episodic control",
        "Episode 0, step 3, pause at the end",
        "0 of 5 backups",
    ]
    assert {"Episode, reverse", "Episode, forward", "Single move"} < set(texts)
    arrows = ax.collections[-1]
    assert seconds == 0.8
    assert (arrows.get_facecolor()[:, 3] == 0).all()
    head = ax.lines[-1]
    assert not head.get_visible()
    seen, places = [], []
    for _, seconds in frames:
        seen.append(seconds)
        if head.get_visible():
            places.append(float(head.get_xdata()[0]))
    assert len(places) == 20
    assert seen == [0.05] * 20 + [2.0]
    x = maze.position[:, 0]
    assert places[3::4] == [x[3], x[2], x[1], x[2], x[3]]
    assert places[0] == pytest.approx(x[4] - (x[4] - x[3]) / 4)
    reverse, forward = (kind_colour(f"{way}_episode") for way in ("reverse", "forward"))
    drawn = list(zip(arrows.X, arrows.U > 0, strict=True))
    assert [to_right for _, to_right in sorted(drawn)] == [True, True, True, False, False]
    expected = to_rgba_array([forward, forward, "0.45", reverse, reverse])
    assert np.allclose(arrows.get_facecolor(), expected)
    heights = [segment[1, 1] for segment in figure.axes[1].collections[0].get_segments()]
    assert heights == pytest.approx([1, 0.625, 0.25, 0.25, 0.4375])


def test_a_star_is_where_it_was_last_paid(log, maze):
    steps = {**log.columns("steps"), "reward": np.array([1.0, 1.0, 0.0, 0.0])}
    paid = EventLog({**log.tables, "steps": steps}, mdp=maze)
    figure, _ = next(pause_frames(paid, 1))
    (stars,) = (each for each in figure.axes[0].collections if each.get_label() == "End")
    assert stars.get_offsets().tolist() == maze.position[[2, 4]].tolist()
    figure, _ = next(pause_frames(log, 1))
    (stars,) = (each for each in figure.axes[0].collections if each.get_label() == "End")
    assert stars.get_offsets().tolist() == maze.position[[4]].tolist()


def test_a_long_event_is_not_a_long_film():
    maze = from_ascii("S" + 30 * "." + "G")
    log = simulate(maze, "episodic_control", n_steps=4000, seed=1).log
    sizes = log.backups.groupby("event").size()
    assert sizes.max() > 300
    frames = list(pause_frames(log, int(sizes.idxmax())))
    assert len(frames) == 242
    assert sum(seconds for _, seconds in frames) == pytest.approx(0.8 + 240 / 20 + 2)


def test_other_worlds_and_other_pauses():
    track = MDP.from_networkx(
        make_wtrack(), rewards={4: 1.0}, terminal=[4], start=[3, 5], bin_size=20
    )
    log = simulate(track, "trajectory_sampling", n_steps=200, seed=1).log
    event = longest_event(log)
    moves = replayed_moves(log, event)
    figure, _ = next(pause_frames(log, event))
    assert figure.axes[0].get_aspect() == 1
    if (moves["phase"] == "start").all():
        assert "pause at the start" in figure.texts[1].get_text()
    tree = EXPERIMENTS["deterministic_tree"].mdp(0)
    log = simulate(tree, "episodic_control", n_steps=20).log
    figure, _ = next(pause_frames(log))
    low, high = figure.axes[0].get_xlim()
    assert low < tree.position[:, 0].min() < tree.position[:, 0].max() < high


def test_a_film_is_small_and_the_same_again(log, tmp_path):
    one, other = (animate_pause(log, 1, tmp_path / f"{name}.gif") for name in "ab")
    assert one.read_bytes() == other.read_bytes()
    assert one.stat().st_size < 100_000
    with Image.open(one) as film:
        assert film.n_frames == 22
        assert film.info["loop"] == 0
        assert film.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
        lasts = []
        for frame in range(film.n_frames):
            film.seek(frame)
            lasts.append(film.info["duration"])
    assert (lasts[0], lasts[1], lasts[-1]) == (800, 50, 2000)


def test_mp4_needs_ffmpeg(log, tmp_path, monkeypatch):
    monkeypatch.setattr(animation.FFMpegWriter, "isAvailable", classmethod(lambda _: False))
    with pytest.raises(FileNotFoundError, match=r"Install it.*or write pause\.gif"):
        animate_pause(log, 1, tmp_path / "pause.mp4")
    assert list(tmp_path.iterdir()) == []


def test_settings_do_not_choose_what_is_run_for_ffmpeg(tmp_path, monkeypatch):
    """Matplotlib reads the file matplotlibrc of the working folder, which may be anybody's."""
    monkeypatch.setenv("PATH", str(tmp_path))
    settings = {"animation.ffmpeg_path": sys.executable}
    with mpl.rc_context(settings), pytest.raises(FileNotFoundError, match="Install it"):
        write_film(iter([(Figure(), 1.0)]), tmp_path / "pause.mp4")


@pytest.mark.skipif(not animation.FFMpegWriter.isAvailable(), reason="needs ffmpeg")
def test_mp4(log, tmp_path):
    film = animate_pause(log, 1, tmp_path / "pause.mp4")
    assert film.read_bytes()[4:8] == b"ftyp"


def test_refusals(log, tmp_path):
    with pytest.raises(ValueError, match=r"\.gif or \.mp4"):
        write_film(iter([(Figure(), 1.0)]), tmp_path / "pause.avi")
    with pytest.raises(ValueError, match="There is no replay event 2; run 0 has events 0 to 1"):
        pause_frames(log, 2)
    with pytest.raises(ValueError, match=r"There is no run 3; this log has the runs \[0\]"):
        pause_frames(log, 0, run=3)
    with pytest.raises(ValueError, match="There is no run 3"):
        longest_event(log, 3)
    with pytest.raises(ValueError, match="Run 0 of this log has no replay"):
        longest_event(EventLog({"steps": log.steps}))
    for event in (-1, 0.5, "first"):
        with pytest.raises(ValueError, match="event must be a whole number"):
            replayed_moves(log, event)
    with pytest.raises(ValueError, match="has no positions"):
        pause_frames(EventLog(log.tables))
    with pytest.raises(ValueError, match="not from this world"):
        pause_frames(log, mdp=from_ascii("S..\n##.\nG.."))
    backups = log.columns("backups")
    nowhere = {"next_state": backups["state"], "cause": np.full_like(backups["cause"], -1)}
    stays = EventLog({**log.tables, "backups": {**backups, **nowhere}})
    with pytest.raises(ValueError, match="no move"):
        replayed_moves(stays, 0)


def test_the_command_finds_the_world(log, maze, tmp_path):
    log.save(tmp_path / "log")
    write_mdps({"row": maze}, tmp_path)
    assert read_mdps(tmp_path)["row"] == maze
    out = tmp_path / "pause.gif"
    world = ["--world", str(tmp_path / "row.json"), "--out", str(out)]
    typed = ["animate", str(tmp_path / "log"), "--replay-event", "0", *world]
    done = CliRunner().invoke(app, typed)
    assert done.exit_code == 0, done.exception
    assert out.exists()


def test_worlds_of_kept_logs_are_drawn_again(tmp_path):
    (tmp_path / "manifest.json").write_text('{"study": "reproduction", "seed": 5}')
    world = world_of_log(tmp_path / "logs" / "stochastic_tree" / "my-learner-3-1")
    assert world == EXPERIMENTS["stochastic_tree"].mdp(3, 5)
    assert world_of_log(tmp_path / "logs" / "my_task" / "my-learner-3-1") is None
    assert world_of_log(tmp_path / "stochastic_tree" / "log") is None


def replayed(*moves, phase="start", **columns):
    """Backups of one event, a pop each."""
    states, next_states = zip(*moves, strict=True)
    table = pd.DataFrame({"state": states, "next_state": next_states, "pop": range(len(moves))})
    return table.assign(
        run=0, episode=0, step=0, event=0, action=0, priority=0.0, phase=phase
    ).assign(**columns)


FORWARD = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
REVERSE = [(move, to) for move, to in reversed(FORWARD)]


@pytest.mark.parametrize(
    ("moves", "direction", "states"),
    [(FORWARD, "forward", (0, 1, 2, 3, 4)), (REVERSE, "reverse", (4, 3, 2, 1, 0))],
)
def test_both_directions(moves, direction, states):
    [found] = find_segments(replayed(*moves)).itertuples()
    assert (found.direction, found.states, found.length, found.place) == (
        direction,
        states,
        5,
        "start",
    )
    assert find_segments(replayed(*moves[:4])).empty
    assert len(find_segments(replayed(*moves[:4]), min_length=4)) == 1


def test_to_and_fro_is_reverse():
    moves = [(0, 1), (1, 0), (0, 1)]
    assert find_segments(replayed(*moves), min_length=2)["direction"].tolist() == ["reverse"]


def test_a_change_of_direction_begins_a_segment_that_shares_a_state():
    moves = [(0, 1), (1, 2), (2, 3), (1, 2), (0, 1)]
    found = find_segments(replayed(*moves), min_length=3)
    assert found["states"].tolist() == [(0, 1, 2), (2, 1, 0)]
    assert found["first"].tolist() == [0, 2]


def test_of_longer_backups_the_last_step_counts():
    moves = [(0, 1), (0, 1), (1, 2), (0, 1), (1, 2), (2, 3)]
    grown = replayed(*moves, pop=[0, 1, 1, 2, 2, 2], priority=[1.0, 3.0, 3.0, 2.0, 2.0, 2.0])
    [found] = find_segments(grown, min_length=3).itertuples()
    assert (found.states, found.priority) == ((0, 1, 2), 3.0)


def test_segments_stay_within_an_event():
    two = pd.concat([replayed(*FORWARD[:3]), replayed(*FORWARD[3:], event=1)])
    assert find_segments(two, min_length=4).empty
    assert len(find_segments(two.assign(event=0, pop=range(5)), min_length=4)) == 1
    assert find_segments(two.assign(event=-1), min_length=2).empty


def test_counts_per_episode():
    log = pd.concat([replayed(*FORWARD, phase="episode_end"), replayed(*REVERSE, event=1)])
    steps = pd.DataFrame({"run": 0, "episode": [0, 0, 1, 2, 3]})
    table = segments_per_episode(find_segments(log), steps).set_index(["place", "direction"])
    assert table.loc[("goal", "forward"), "per_episode"] == 0.25
    assert table.loc[("start", "reverse"), "per_episode"] == 0.25
    assert table["n_segments"].sum() == 2
    assert (table["n_episodes"] == 4).all()


def test_bad_input():
    with pytest.raises(ValueError, match="backups lacks the columns"):
        find_segments(pd.DataFrame({"run": []}))
    with pytest.raises(ValueError, match="at least 2 states; got min_length=1"):
        find_segments(replayed(*FORWARD), min_length=1)
