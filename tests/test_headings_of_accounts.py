"""Accounts learn in places with headings, where the cells of an animal tell these."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from analyses import explain
from analyses.findings.accounts import ACCOUNTS
from analyses.inference.animals import experienced_animal, replaying_animals
from analyses.inference.features import lost_bits, measure, replay_features
from analyses.inference.moves import headings_of
from analyses.inference.replayed import Replayed
from analyses.inference.simulation import _with_headings, simulate_misread
from analyses.sequences.place_sequences import place_sequences
from analyses.sequences.reactivations import reactivated_by, reactivations
from analyses.sequences.sequences import Lists
from analyses.sequences.track import graph_of_log
from analyses.studies.explanation.inputs import read_animals, read_protocols
from replay import MDP
from replay.log.event_log import EventLog
from replay.tasks import give_laps, replay_laps
from replay.tasks.published import find_task

OUT, BACK = [0, 1, 2, 3, 4], [4, 3, 2, 1, 0]
STEPS = pd.DataFrame(
    [
        (here, there, float(there == lap[-1]), there == lap[-1])
        for lap in [OUT, BACK] * 6
        for here, there in pairwise(lap)
    ],
    columns=["state", "next_state", "reward", "terminated"],
)
ENDS = np.flatnonzero(STEPS["terminated"])
EPISODIC = (ACCOUNTS["episodic_control"], {"discount": 0.9})


class Decoded:
    """A rat that runs to and fro, and replays each lap at its end, with a heading or without."""

    def __init__(self, along, step=ENDS, states=None):
        paths = {"step": step, "states": states or [BACK, OUT] * 6}
        if along is not None:
            paths["along"] = [
                [each] * len(path) for each, path in zip(along, paths["states"], strict=True)
            ]
        self.visited, self.experience = pd.DataFrame(paths), EventLog({"steps": STEPS})


def rat(along, **given):
    found = Decoded(along, **given)
    [animal] = replaying_animals(found.experience, found.visited)
    return animal


@pytest.mark.parametrize("name", ["linear_track", "w_track", "eight_arm"])
def test_headings_are_those_of_tasks(name):
    """The laps of a task, known by their places only, are run in the task's own states."""
    task = find_task(name).build()
    log = replay_laps(give_laps(name, seed=1), "episodic_control")
    node = np.unique(task.node, return_inverse=True)[1]
    steps = log.columns("steps")
    places = {key: node[steps[key]] for key in ("state", "next_state")}
    there = EventLog({"steps": {**places, "terminated": steps["terminated"]}})
    found = headings_of(there, graph_of_log(there))
    for own, state in (("state", found.state), ("next_state", found.next_state)):
        assert found.place[state].tolist() == places[own].tolist()
        pairs = np.unique(np.column_stack((state, steps[own])), axis=0)
        assert len(pairs) == len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1]))


def test_headings_of_a_model_are_those_of_its_recording():
    """What the spikes of a model represent, and what inference makes of the same backups."""
    world = MDP.from_networkx(graph_of_log(EventLog({"steps": STEPS})))
    animal = experienced_animal(EventLog({"steps": STEPS}, mdp=world), heading_share=1.0)
    states, rng = animal.headings, np.random.default_rng(1)
    walk = [int(rng.integers(len(states.place)))]
    joined = graph_of_log(animal.learned)
    for _ in range(300):
        walk.append(int(rng.choice([*joined.adj[walk[-1]]])))
    log = EventLog({"steps": animal.learned.columns("steps")}, mdp=states.world)
    found = reactivations(log, pd.DataFrame({"step": [5], "states": [walk]}))
    columns = {name: found[name].to_numpy() for name in found}
    seen = states.in_places(columns)
    assert seen["place"].tolist() == states.place[walk].tolist()
    ways = states.world.to_networkx()
    steps = [ways.has_edge(*move) - ways.has_edge(*move[::-1]) for move in pairwise(walk)]
    expected = [steps[0], *steps]
    assert seen["along"].tolist() == expected
    assert set(expected) == {-1, 0, 1}


def test_a_heading_tells_forward_from_reverse():
    """On a track that is run both ways, it is all that tells."""
    reverse, forward, untold = rat([-1] * 12), rat([1] * 12), rat(None)
    assert untold.headings is None
    for animal, expected in ((reverse, (0, 1)), (forward, (1, 0)), (untold, (0, 0))):
        later = measure(animal.replayed, animal.places).iloc[1:]
        assert np.unique(later[["forward", "backward"]], axis=0).tolist() == [list(expected)]
    # The lap just run, read backwards, was run in the last lap; read forwards, in the one before.
    assert measure(reverse.replayed, reverse.places)["age"].tolist() == [0.0] * 12
    assert measure(forward.replayed, forward.places)["age"].tolist()[1:] == [1.0] * 11
    known = [pd.DataFrame([replay_features(a.replayed, a.places)]) for a in (reverse, forward)]
    shares = known[0]["goes 4 to 3 against its heading"][0], known[1]["goes 4 to 3"][0]
    assert shares == pytest.approx((6 / 13, 6 / 13), abs=1e-12)
    assert lost_bits(*known)[0, 0] > 4 > 0.001 > lost_bits(known[0], known[0])[0, 0]
    assert len({each.digest() for each in (reverse, forward, untold)}) == 3
    assert "heading is told in 100% of these" in " ".join(reverse.notes)


def test_accounts_learn_in_places_with_headings():
    """Episodic control replays each lap against its heading, as it is in the task's own states."""
    animal, seeds = rat([-1] * 12), np.random.SeedSequence(1)
    [made] = simulate_misread(animal, *EPISODIC, seeds, [0.0])
    assert [path.tolist() for path in made.states.arrays()] == [BACK, OUT] * 6
    assert set(made.along.flat.tolist()) == {-1}
    assert made.location.tolist() == [4, 0] * 6
    [misread] = simulate_misread(animal, *EPISODIC, seeds, [0.3])
    assert set(misread.along.flat.tolist()) == {-1}
    control = ACCOUNTS["graph_walks"], {"most_places": 20, "share_of_pauses": 1.0}
    [walks] = simulate_misread(animal, *control, seeds, [0.0])
    assert set(walks.along.flat.tolist()) == {-1, 0, 1}
    [walks] = simulate_misread(rat(None), *control, seeds, [0.0])
    assert set(walks.along.flat.tolist()) == {0}


def test_as_many_headings_are_told_as_the_animal_has():
    half = rat([-1, 0] * 6)
    assert half.heading_share == 0.5
    seeds = map(np.random.SeedSequence, range(30))
    many = [simulate_misread(half, *EPISODIC, each, [0.0]) for each in seeds]
    assert np.mean([made.has_heading.mean() for [made] in many]) == pytest.approx(0.5, abs=0.1)
    assert rat([0] * 12).headings is rat([-1] + [0] * 11).headings is None  # as many by chance


def test_an_account_is_found_by_its_heading():
    """Both rats replay the same places in the same laps; only the headings differ."""
    told = explain(
        {"reverse": Decoded([-1] * 12), "forward": Decoded([1] * 12)}, n_draws=20,
        accounts=["episodic_control", "trajectory_sampling"], wrong_places=0.0,
    )  # fmt: skip
    found = told.probabilities.pivot_table("probability", "animal", "account", aggfunc="sum")
    assert found.loc["reverse", "episodic_control"] > 0.9
    assert found.loc["forward", "episodic_control"] < 0.3


def test_a_track_whose_headings_have_no_meaning_is_told():
    """In a triangle, two places are equally far from home."""
    steps = {"state": [0, 1, 2] * 3, "next_state": [1, 2, 0] * 3}
    paths = pd.DataFrame({"step": [2, 5], "states": [[2, 1, 0]] * 2, "along": [[-1] * 3] * 2})
    [animal] = replaying_animals(EventLog({"steps": {**steps, "reward": 1.0}}), paths)
    assert animal.headings is None
    assert "headings are told but not used" in " ".join(animal.notes)


def test_headings_are_read_from_tables(tmp_path):
    moves, events = tmp_path / "rat.csv", tmp_path / "events.csv"
    STEPS.to_csv(moves, index=False)
    text = {"states": "4 3 2 1 0", "along": "-1 -1 -1 -1 -1"}
    pd.DataFrame({"step": ENDS, **text}).to_csv(events, index=False)
    animals = read_animals([moves], [events])
    assert set(animals["rat"].replayed.along.flat.tolist()) == {-1}
    [laps] = read_protocols([], [moves], None, 0, 0.8).values()
    assert (laps.heading_share, len(laps.headings.place)) == (0.8, 10)
    assert read_protocols([], [moves], None, 0)["rat"].headings is None
    with pytest.raises(ValueError, match="known_headings must be"):
        read_protocols([], [moves], None, 0, 1.2)
    pd.DataFrame({"step": ENDS, **text, "along": "-1 x"}).to_csv(events, index=False)
    with pytest.raises(ValueError, match=r"The column 'along' of .* must hold whole numbers"):
        read_animals([moves], [events])


def test_place_sequences_keep_headings():
    found = Decoded([-1] * 12)
    table = place_sequences(found.experience, found.visited)
    assert [each.tolist() for each in table["along"]] == [[-1] * 5] * 12
    assert "along" not in place_sequences(found.experience, found.visited.drop(columns="along"))


def test_a_turn_has_no_heading():
    """0 1 2 1 0 in the states of a track: its end is entered in one heading, left in the other."""
    animal = rat([-1] * 12)
    states = animal.headings
    run = [*states.state[:4], states.next_state[3], *states.state[5:8]]
    backups = {"step": 7, "phase": "episode_end", "state": run[:-1], "next_state": run[1:],
               "action": 0, "cause": -1}  # fmt: skip
    log = EventLog({"steps": animal.learned.columns("steps"), "backups": backups})
    seen = states.in_places(reactivated_by(log.columns("backups")))
    assert states.place[run].tolist() == [0, 1, 2, 3, 4, 3, 2, 1]
    assert seen["place"].tolist() == [0, 1, 2, 3, 4, 3, 2, 1]
    assert seen["along"].tolist()[:5] == [1] * 5
    assert seen["along"].tolist()[6:] == [1] * 2


def test_as_many_headings_are_told_as_there_are_or_the_share():
    """Half of the sequences of an account have a heading."""
    n = 2000
    whole, along = np.zeros(n, dtype=np.int64), [[1, 1, 1], [0, 0, 0]] * (n // 2)
    made = Replayed(whole, whole, whole, whole, Lists.of([[0, 1, 2]] * n), whole, Lists.of(along))
    for share, told in ((0.0, 0.0), (0.25, 0.25), (0.5, 0.5), (1.0, 0.5)):
        found = _with_headings(made, share, np.random.default_rng(0)).has_heading.mean()
        assert found == pytest.approx(told, abs=0.03 * (0 < share < 0.5))
