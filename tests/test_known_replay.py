"""What decoding loses of replay, learned from known replay in the same recording."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from analyses import explain
from analyses.inference.decoding import KnownReplay
from analyses.inference.replayed import Replayed
from analyses.recordings import Judgement, find_replay, simulated_arena, simulated_recording
from analyses.recordings.recover import known_replay as simulated
from analyses.recordings.recover.known_replay import COLUMNS, known_replay
from analyses.sequences.sequences import Lists
from analyses.studies.explanation.inputs import read_animals

QUICK = Judgement(n_shuffles=19, other_sizes=())


def table(*rows, times=1):
    """List known paths, each several times: places, heading, and sequences with headings."""
    listed = []
    for number, (states, sign, found) in enumerate([row for row in rows for _ in range(times)]):
        listed += [(number, states, [sign] * len(states), *each) for each in found or [([], [])]]
    return pd.DataFrame(listed, columns=list(COLUMNS))


def replayed(paths, signs=None):
    no = np.zeros(len(paths), dtype=np.int64)
    signs = signs or [0] * len(paths)
    along = Lists.of([[sign] * len(path) for path, sign in zip(paths, signs, strict=True)])
    return Replayed(np.arange(len(paths)), no, no, no, Lists.of(paths), no, along)


def shown(known, paths, signs=None, seed=0):
    seen = known.seen(replayed(paths, signs), np.random.default_rng(seed))
    found = {lap: [] for lap in range(len(paths))}
    for lap, states in zip(seen.lap.tolist(), seen.states.arrays(), strict=True):
        found[lap].append(tuple(states.tolist()))
    return found


UP, DOWN = list(range(8)), list(range(8))[::-1]


def test_a_path_is_shown_as_known_ones_were_found():
    """One way is found without its ends, the other never."""
    known = KnownReplay.of(table((UP, 0, [(UP[1:7], [0] * 6)]), (DOWN, 0, []), times=8))
    assert shown(known, [UP, DOWN, UP]) == {0: [tuple(UP[1:7])] * 3, 1: [], 2: [tuple(UP[1:7])] * 3}


def test_of_many_known_paths_the_most_alike_stand_for_one():
    """Each of all paths along a line is found whole, so that nothing is lost or made up."""
    paths = [list(range(a, b)) for a in range(9) for b in range(a + 3, 12)]
    paths += [path[::-1] for path in paths]
    known = KnownReplay.of(
        table(*[(path, 0, [(path, [0] * len(path))]) for path in paths], times=8)
    )
    found = shown(known, paths)
    assert all(found[lap] == [tuple(path)] * 3 for lap, path in enumerate(paths))


def test_where_nothing_is_like_a_path_the_nearest_are_taken():
    known = KnownReplay.of(table((UP, 0, [(UP[2:6], [0] * 4)]), (DOWN, 0, []), times=8))
    assert shown(known, [UP[:6], DOWN[1:]]) == {0: [tuple(UP[2:6])] * 3, 1: []}


def test_a_sequence_belongs_to_the_stretch_of_its_path_that_made_it():
    """A path that turns is two stretches, of which one is found; a stray sequence is left out."""
    turns = [*UP, *DOWN[1:]]
    stray = ([20, 21, 22], [0, 0, 0])
    known = KnownReplay.of(table((turns, 0, [(DOWN[1:5], [0] * 4), stray]), times=8))
    assert known.is_whole.sum() == 0
    assert len(known.sign) == 16
    assert [each.tolist() for each in known.found.arrays()] == [DOWN[1:5]] * 8
    assert shown(known, [turns, UP, DOWN]) == {
        0: [tuple(DOWN[1:5])] * 3,
        1: [],
        2: [tuple(DOWN[1:5])] * 3,
    }


def test_headings_are_those_that_were_found():
    """Of replay against its heading the heading is lost; without one none is made up."""
    ahead, back = (UP, 1, [(UP, [1] * 8)]), (UP, -1, [(UP[1:], [0] * 7)])
    known = KnownReplay.of(table(ahead, back, times=8))
    signs = [1, -1, *[0] * 20]
    seen = known.seen(replayed([UP] * 22, signs), np.random.default_rng(0))
    is_of = [seen.lap == 0, seen.lap == 1, seen.lap > 1]
    heading = [seen.along.take(np.flatnonzero(each)) for each in is_of]
    assert set(heading[0].flat.tolist()) == {1}
    assert set(heading[1].flat.tolist()) == {0}
    assert set(heading[1].length.tolist()) == {7}
    assert set(heading[2].flat.tolist()) == {0}


def test_a_sequence_over_a_turn_belongs_to_the_longer_side():
    over = [5, 6, 7, 6]
    known = KnownReplay.of(table(([*UP, *DOWN[1:]], 0, [(over, [0] * 4)]), times=8))
    assert shown(known, [UP, DOWN]) == {0: [tuple(over)] * 3, 1: []}


def test_what_is_a_part_of_its_path_is_shown_as_parts_were():
    """The whole path is found, and the same places are not where the path turns."""
    turns = [*UP, *DOWN[1:]]
    known = KnownReplay.of(table((UP, 0, [(UP, [0] * 8)]), (turns, 0, []), times=8))
    assert shown(known, [UP, [*UP, 6, 5]]) == {0: [tuple(UP)] * 3, 1: []}


def test_half_of_what_was_lost_by_half_is_shown():
    known = KnownReplay.of(table((UP, 0, [(UP, [0] * 8)]), (UP, 0, []), times=4))
    n_shown = len(shown(known, [UP] * 400)[0])
    seen = known.seen(replayed([UP] * 400), np.random.default_rng(3))
    assert n_shown <= 3
    assert abs(len(seen.lap) / 1200 - 0.5) < 4 * np.sqrt(0.25 / 1200)


def test_recordings_are_taken_together():
    one = KnownReplay.of(table((UP, 0, [(UP, [0] * 8)]), times=8))
    other = KnownReplay.of(table((DOWN, 0, [(DOWN[2:], [0] * 6), ([0, 1, 2], [0] * 3)]), times=8))
    both = KnownReplay.joined([one, other])
    assert shown(both, [UP, DOWN]) == {0: [tuple(UP)] * 3, 1: [tuple(DOWN[2:])] * 3}
    assert KnownReplay.of(table()) is None
    nothing = replayed([])
    assert len(both.seen(nothing, np.random.default_rng(0)).lap) == 0


@pytest.fixture(scope="module")
def found():
    return find_replay(simulated_recording(30), judgement=QUICK, n_sessions=0)


def test_known_replay_is_found_as_replay_is(found):
    """Most is found, on its own path and in its own direction, and the same seed finds the same."""
    known = known_replay(found.session, found, n_sessions=6, seed=4)
    assert [*known] == [*COLUMNS]
    assert known["path"].unique().tolist() == list(range(6 * simulated.N_PATHS))
    shares = [
        len({*pairwise(map(int, seen))} & {*pairwise(map(int, made))}) / (len(seen) - 1)
        for made, seen in known[["states", "found"]].itertuples(index=False)
        if len(seen)
    ]
    assert len(shares) > 70
    assert np.mean(np.array(shares) > 0.8) > 0.9
    again = known_replay(found.session, found, n_sessions=6, seed=4)
    pd.testing.assert_frame_equal(known, again)
    other = known_replay(found.session, found, n_sessions=6, seed=5)
    assert other["states"].tolist() != known["states"].tolist()


def test_where_no_cell_has_a_field_known_replay_is_lost(found):
    """Cells with fields in the last part of the track fire no more."""
    session = found.session
    peak = session.track.position[session.rates.argmax(axis=1)]
    away = np.linalg.norm(peak - session.track.position[0], axis=1)
    silent = away > 0.6 * away.max()
    rates = np.where(silent[:, None], session.rates.min(), session.rates)
    fewer = session._replace(rates=rates, headings=None)
    known = known_replay(fewer, found, n_sessions=6)
    places = np.asarray(found.states[["x", "y"]])
    far = np.linalg.norm(places - session.track.position[0], axis=1) > 0.7 * away.max()
    replayed_far = np.mean([far[list(path)].mean() for path in known["states"]])
    shown_far = np.mean([far[list(path)].mean() for path in known["found"] if len(path)])
    assert replayed_far > 0.25
    assert shown_far < 0.3 * replayed_far


def test_without_simulated_sessions_or_a_track_nothing_is_known(found):
    assert not len(known_replay(found.session, found, n_sessions=0))
    arena = find_replay(simulated_arena(6).recording, n_sessions=0)
    assert not len(known_replay(arena.session, arena))


def test_a_recording_is_explained_with_its_own_known_replay(tmp_path):
    """From Python, its folder, and pooled; events of one's own were found by another decoder."""
    found = find_replay(simulated_recording(30), judgement=QUICK, n_sessions=1)
    answer = explain(found, accounts=["dyna_q", "graph_walks"], rewards={0: 1.0}, n_draws=20)
    [one] = answer.plan.animals.values()
    assert "is learned from known replay that was put into the recording" in one.notes[-1]
    for name in ("rat", "again"):
        found.save(tmp_path / name)
    pd.DataFrame({"state": [0], "reward": [1.0]}).to_csv(tmp_path / "paid.csv", index=False)
    read = partial(read_animals, rewards=tmp_path / "paid.csv")
    [other] = read([tmp_path / "rat"]).values()
    assert one.digest() == other.digest() != replace(one, known_replay=None).digest()
    [both] = read([tmp_path / "rat", tmp_path / "again"], pool=True).values()
    assert len(both.known_replay.sign) == 2 * len(one.known_replay.sign)
    states = [" ".join(map(str, path)) for path in found.sequences["states"]]
    table = pd.DataFrame({"time": found.sequences["start_time"], "states": states})
    table.to_csv(tmp_path / "mine.csv", index=False)
    [mine] = read([tmp_path / "rat"], events=[tmp_path / "mine.csv"]).values()
    assert mine.is_decoded
    assert mine.known_replay is None
    assert "how much decoding loses is not known" in mine.notes[-1]
