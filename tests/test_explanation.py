"""Which account explains replay: animals whose account is known, and what must be refused."""

import json
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from analyses.findings.accounts import ACCOUNTS
from analyses.inference import simulation
from analyses.inference.animals import experienced_animal, replaying_animals
from analyses.inference.decoding import as_decoded
from analyses.inference.features import MEASURES, lost_bits, measure, replay_features
from analyses.inference.groups import account_frequencies
from analyses.inference.likelihood import ceiling_bits, held_out_bits, path_bits, walk_bits
from analyses.inference.model_choice import (
    ModelChoice,
    Simulations,
    calibration_error,
    classes_of,
    parameter_intervals,
)
from analyses.inference.replayed import Replayed, given_conditions, senses_by_condition
from analyses.inference.simulation import as_many, in_pauses_of, misread, simulate_misread
from analyses.jobs.results import Results
from analyses.jobs.run import run
from analyses.jobs.study import Piece
from analyses.measures import QUESTIONS
from analyses.recordings import find_replay
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.sequences.sequences import Lists
from analyses.studies import explanation as planned
from analyses.studies.explanation import answers, identify, named_accounts
from analyses.studies.explanation import explain as explanation
from analyses.studies.explanation.answers import beside_own_accounts, in_same_pauses, statistics_of
from analyses.studies.explanation.explain import explain, plan_explanation
from analyses.studies.explanation.identify import STUDY as IDENTIFIABILITY
from analyses.studies.explanation.identify import (
    laps_of_task,
    plan_identifiability,
    recorded_laps,
    with_more_sessions,
)
from analyses.studies.explanation.inputs import (
    read_animals,
    read_protocols,
    read_rewards,
    states_of_track,
)
from analyses.studies.recorded_replay.statistics import recorded_statistics
from replay.log.backups import PHASES
from replay.log.event_log import EventLog
from replay.simulation.feed import feed
from replay.tasks import run_task
from replay.worlds.mdp import MDP

LAPS = [[0, 1, 2, 3], [0, 1, 4, 5]] * 6
STEPS = pd.DataFrame(
    [
        (here, there, float(there == lap[-1]), there == lap[-1])
        for lap in LAPS
        for here, there in pairwise(lap)
    ],
    columns=["state", "next_state", "reward", "terminated"],
)
ENDS = np.flatnonzero(STEPS["terminated"])


def rat(paths):
    [animal] = replaying_animals(EventLog({"steps": STEPS}), paths)
    return animal


def reverse_rat():
    """A rat that replays each lap backwards at its end."""
    return rat(pd.DataFrame({"step": ENDS, "states": [lap[::-1] for lap in LAPS]}))


def test_another_phase_is_another_animal():
    """Its accounts replay in other pauses, so that what was simulated is not taken for it."""
    paths = pd.DataFrame({"step": [4, 9], "states": [[3, 2, 1, 0], [5, 4, 1, 0]]})
    phases = ("episode_end", "rest", "start")
    assert len({rat(paths.assign(phase=phase)).digest() for phase in phases}) == 3
    assert rat(paths).digest() == rat(paths).digest() != rat(paths[:1]).digest()


def test_pauses_of_rest_are_as_many_as_its_sequences():
    """A model's log has all pauses of one rest in one event; accounts must not replay less."""
    paths = pd.DataFrame({"step": [4], "phase": "rest", "states": [[0, 1, 2, 3, 5, 4, 1, 0]]})
    animal = rat(paths)
    assert len(animal.replayed.lap) == 2
    assert animal.pauses["phase"].value_counts()["rest"] == 2


def test_what_is_measured_of_a_sequence():
    paths = pd.DataFrame({"step": [5, 5], "states": [[5, 4, 1, 2, 3], [0, 1, 0]]})
    animal = rat(pd.concat([paths, pd.DataFrame({"step": [5], "states": [[0, 1, 4]]})]))
    found = measure(animal.replayed, animal.places)
    assert list(found) == list(MEASURES)
    # 5 4 1 is run backwards, 1 2 3 forwards; the animal is at 5, which paid last. To and fro
    # between 0 and 1 has only two places, and is no sequence.
    expected = {"length": 5, "different": 1, "turns": 0, "from_animal": 0, "to_animal": 4,
                "approach": -4, "forward": 0.5, "backward": 0.5, "never": 0, "age": 0.5,
                "from_goal": 0, "to_goal": 4}  # fmt: skip
    assert found.iloc[0][list(expected)].to_dict() == expected
    assert len(found) == 2
    assert found["frequency"][1] == np.mean(np.log1p([2, 1]))


def test_the_order_of_sequences_changes_no_feature():
    """Means are summed in another order; each is the same number, and none loses any bit."""
    rng = np.random.default_rng(1)
    both = rat(pd.DataFrame({"step": np.repeat(ENDS, 7), "states": LAPS * 7}))
    order = rng.permutation(len(both.replayed.lap))
    one, other = (
        pd.DataFrame([replay_features(each, both.places)])
        for each in (both.replayed, both.replayed.take(order))
    )
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert lost_bits(one, other).tolist() == [[0.0]]


def test_a_recording_shows_straight_stretches_without_their_ends():
    """Dead ends are hardly seen; short stretches are seldom found, the longest never."""
    line = {
        "state": np.arange(15),
        "next_state": np.arange(1, 16),
        "terminated": np.arange(15) == 14,
    }
    places = experienced_animal(EventLog({"steps": line | {"reward": 1.0}})).places
    straight, to_end, back = [*range(2, 10)], [*range(11, 16)], [*range(2, 9), *range(7, 1, -1)]
    smoothed, endless = [3, 4, 5, 4, 5, 6, 7, 8, 9, 8, 9], [*range(15), *range(13, -1, -1)] * 2
    paths = [straight, to_end, back, [3, 4, 5], smoothed, endless]
    states, no = Lists.of(paths), np.zeros(len(paths), np.int64)
    made = Replayed(no, no, no, no, states, np.arange(len(paths)), states)
    found, n_apart = {event: [] for event in range(len(paths))}, 0
    for seed in range(400):
        seen = as_decoded(made, places, np.random.default_rng(seed))
        n_apart += np.count_nonzero(seen.along.flat != seen.states.flat)
        for event, path in zip(seen.event.tolist(), seen.states.arrays(), strict=True):
            assert len(path) >= 3
            assert len(set(np.diff(path).tolist())) == 1  # straight, also where the path was not
            found[event].append((int(path[0]), int(path[-1])))
    n_straight, n_to_end, n_back, n_short, n_smoothed, n_endless = map(len, found.values())
    assert n_straight > 0.9 * 3 * 400
    # Half of those with five places; of seven, if they are not all of their path.
    assert n_to_end == pytest.approx(0.5 * 3 * 400, rel=0.15)
    assert n_back == pytest.approx(2 * 0.5 * 3 * 400, rel=0.15)
    assert n_straight > n_smoothed > n_to_end > n_short > 0 == n_endless
    begins, ends = (pd.Series([each[k] for each in found[0]]) for k in (0, 1))
    kept, over = (begins == 2).mean(), (begins == 1).mean()
    assert kept + over == pytest.approx(1 - 0.375, abs=0.05)
    assert over == pytest.approx((1 - 0.375) * 0.06 / 2, abs=0.01)  # one of two neighbours
    assert (begins == 4).mean() == pytest.approx(0.375 * 0.275 * (1 - 0.275), abs=0.02)
    assert (ends >= 9).mean() == pytest.approx(1 - 0.375, abs=0.05)
    assert np.mean([last == 15 for _, last in found[1]]) == pytest.approx(0.1, abs=0.04)
    assert n_apart < 0.1 * sum(map(len, found.values()))  # places that were not replayed
    nothing = made.take(np.empty(0, dtype=np.int64))
    assert len(as_decoded(nothing, places, np.random.default_rng(1)).lap) == 0


def test_one_class_of_all_accounts_has_no_other_to_tell_it_from():
    rng = np.random.default_rng(1)
    alike = pd.DataFrame({"mean of length": rng.random(40)})
    choice = ModelChoice(Simulations(np.repeat(["a", "b"], 20).astype(object),
                                     np.tile(np.arange(20), 2), alike))  # fmt: skip
    assert choice.classes == [["a", "b"]]
    assert np.isnan(choice.power(["a", "b"], 0.05))


def test_features_are_shares():
    animal = reverse_rat()
    found = replay_features(animal.replayed, animal.places)
    assert found["begins at 3"] == found["begins at 5"] == 0.5
    # Of six visits, and one that smooths.
    assert found["goes 3 to 2"] == pytest.approx(6 / 7, abs=1e-12)
    assert found["mean of backward"] == 1.0


def test_bits_against_counting_by_hand():
    animal = reverse_rat()
    seen = animal.replayed
    # All laps together: 3 places begin or go on in one way only, 1 goes to 0 in twelve of twelve.
    bits = path_bits(seen, seen, animal.places)
    assert bits.shape == (12,)
    places = animal.places
    n_places, lap = places.n_places, 0
    start = ((6 + 1 / n_places) / (12 + 1) * 5 + 1) / (1 + 5)

    def move(n, of, out, here, of_here):
        of_all = (n + 1 / (1 + out)) / (of + 1)
        return (here + 5 * of_all) / (of_here + 5)

    ways = [
        move(6, 6, 1 + 0, 1, 1),
        move(6, 6, 2, 1, 1),
        move(12, 12, 3, 1, 1),
        move(12, 12, 1, 1, 1),
    ]
    mixed = [0.98 * p + 0.02 / (1 + out) for p, out in zip(ways, (1, 2, 3, 1), strict=True)]
    expected = np.log2([0.98 * start + 0.02 / n_places, *mixed]).sum()
    assert bits[lap] == pytest.approx(expected, abs=1e-12)


def test_probabilities_of_all_paths_add_up_to_one():
    """Of a walk that stops: paths of up to 40 places hold nearly all of the probability."""
    animal = reverse_rat()
    places = animal.places
    out = np.bincount(places.ends[:, 0], minlength=places.n_places)
    total, here = 0.0, np.full(places.n_places, 1 / places.n_places)
    for _ in range(60):
        total += (here / (1 + out)).sum()
        there = np.zeros_like(here)
        np.add.at(there, places.ends[:, 1], (here / (1 + out))[places.ends[:, 0]])
        here = there
    assert total == pytest.approx(1.0, abs=1e-6)
    seen = animal.replayed
    assert walk_bits(seen, places)[0] == pytest.approx(-np.log2(6 * 2 * 3 * 4 * 2))


def test_a_ceiling_learns_what_repeats():
    animal = reverse_rat()
    ceiling = ceiling_bits(animal.replayed, animal.places).mean()
    walk = walk_bits(animal.replayed, animal.places).mean()
    assert walk + 3 < ceiling < 0


def test_draws_are_weighted_by_other_laps():
    lap = np.array([0, 1, 2, 3])
    bits = np.array([[-1.0, -1.0, -1.0, -1.0], [-9.0, -9.0, -9.0, -9.0]])
    assert held_out_bits(bits, lap) == pytest.approx(-1.0, abs=1e-3)
    split = np.array([[-1.0, -9.0, -1.0, -9.0], [-9.0, -1.0, -9.0, -1.0]])
    # The other draw keeps a weight of 2 ** -16, and predicts 2 ** 8 times better.
    assert held_out_bits(split, lap) == pytest.approx(-9.0 + np.log2(1 + 2**-8), abs=1e-4)


def test_as_many_sequences_as_the_animal_has_in_each_lap():
    paths = Lists.of([[0, 1, 2]] * 4)
    made = Replayed(
        np.array([0, 0, 1, 5], dtype=np.int32), *(np.zeros(4, np.int32),) * 3,
        paths, np.arange(4), paths,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    assert sorted(as_many(made, np.array([0, 1, 5]), rng).tolist()) in ([0, 2, 3], [1, 2, 3])
    assert sorted(as_many(made, np.array([5, 5]), rng).tolist()) == [2, 3]
    assert set(as_many(made, np.zeros(50, dtype=int), rng).tolist()) == {0, 1, 2, 3}


def test_sequences_are_compared_in_the_pauses_of_the_animal():
    """Phase and place come before the lap; one is taken three times before one from elsewhere."""
    n = 5
    made = Replayed(
        np.array([0, 1, 2, 3, 9], dtype=np.int32), np.zeros(n, np.int64),
        np.array([3, 3, 3, 1, 1], dtype=np.int8), np.array([7, 7, 7, 4, 4], dtype=np.int32),
        Lists.of([[0, 1, 2]] * n), np.arange(n), Lists.of([[0, 0, 0]] * n),
    )  # fmt: skip
    rng, lap = np.random.default_rng(1), np.array([9, 0, 0, 0, 0, 0, 0, 0], dtype=np.int32)
    phase, place = np.array([3, *[1] * 7], dtype=np.int8), np.array([7, *[4] * 7], dtype=np.int32)
    assert as_many(made, lap, rng, (phase, place)).tolist() == [2, 3, 4, 3, 4, 3, 4, 0]
    often = as_many(made, np.zeros(9, np.int32), rng, (np.full(9, 1), np.full(9, 4)))
    assert sorted(often.tolist()) == [0, 1, 2, 3, 3, 3, 4, 4, 4]
    seen = made.take(np.array([4, 3]))._replace(location=np.array([5, 6], dtype=np.int32))
    found = in_pauses_of(seen, made.take(np.arange(3)), rng)
    assert found.location.tolist() == [5, 6]
    assert found.phase.tolist() == [1, 1]


@pytest.mark.parametrize(("replay_at", "n_within"), [("end_and_rest", 2), ("episode_end", 0)])
def test_an_account_replays_where_the_animal_pauses_within_laps(replay_at, n_within):
    """If it replays in all pauses; an account of the ends of laps does not."""
    paths = pd.DataFrame({"step": [10, 10, 19, ENDS[5]], "phase": ["step"] * 3 + ["episode_end"],
                          "states": [[1, 0, 1, 2, 3]] * 4})  # fmt: skip
    animal = rat(paths)
    assert animal.pauses.query("phase == 'step'")["step"].tolist() == [10, 19]
    params = {"n_replays": 30, "replay_at": replay_at, "discount": 0.9}
    seeds = np.random.SeedSequence(1)
    [made] = simulate_misread(animal, ACCOUNTS["dyna_q"], params, seeds, [0.0])
    within = made.phase == PHASES.index("step")
    assert len(np.unique(made.step[within])) == n_within
    assert set(made.step[within]) <= {10, 19}
    assert set(made.location[within]) <= {4, 2}
    [walks] = simulate_misread(
        animal, ACCOUNTS["graph_walks"], {"most_places": 40, "share_of_pauses": 1.0}, seeds, [0.0]
    )
    assert set(walks.step[walks.phase == PHASES.index("step")]) == {10, 19}


def test_an_animal_that_has_turned_and_waits_is_at_the_end_of_the_lap():
    """It is in the last state but one already, by the first move of a lap that leads back."""
    laps = [[0, 1, 2, 3], [3, 2, 1, 0]] * 4
    moves = [(a, b, b == lap[-1], b == lap[-1]) for lap in laps for a, b in pairwise(lap)]
    steps = pd.DataFrame(moves, columns=STEPS.columns)
    paths = pd.DataFrame({"step": [3, 4], "phase": "step", "states": [[3, 2, 1], [1, 2, 3]]})
    [animal] = replaying_animals(EventLog({"steps": steps}), paths)
    phases = [PHASES[phase] for phase in animal.replayed.phase]
    assert phases == ["episode_end", "step"]
    assert animal.replayed.step.tolist() == [2, 4]
    assert animal.replayed.location.tolist() == [2, 1]  # where it is, if not where it was
    assert animal.replayed.lap.tolist() == [0, 1]
    apart = rat(pd.DataFrame({"step": [3], "phase": "step", "states": [[3, 2, 1]]}))
    assert apart.replayed.step.tolist() == [3]  # put back to where laps begin


def test_misread_places():
    place = np.tile(np.arange(10), 1000)
    columns = {"place": place, "event": np.repeat(np.arange(1000), 10)}
    read = misread(columns, 0.2, 10, np.random.default_rng(1))
    unread = misread(columns, 0.0, 10, np.random.default_rng(1))
    assert unread["place"].tolist() == place.tolist()
    assert len(read["place"]) == len(read["event"]) < len(place)
    same = (read["event"][1:] == read["event"][:-1]) & (read["place"][1:] == read["place"][:-1])
    assert not same.any()


def test_an_account_replays_what_it_would_replay():
    """Episodic control, fed with these laps, replays each backwards, like this rat."""
    animal = reverse_rat()
    account, seeds = ACCOUNTS["episodic_control"], np.random.SeedSequence(1)
    [made] = simulate_misread(animal, account, {"discount": 0.9}, seeds, [0.0])
    assert made.states.arrays()[0].tolist() == [3, 2, 1, 0]
    assert made.lap.tolist() == list(range(12))
    assert made.location.tolist() == [3, 5] * 6


def simulated(n_draws=40, rng=None):
    """Three accounts: `a` and `b` differ in one feature, `c` is `b` under another name."""
    rng = rng or np.random.default_rng(0)
    names = np.repeat(np.array(["a", "b", "c"], dtype=object), n_draws)
    draw = np.tile(np.arange(n_draws), 3)
    x = rng.normal(np.where(names == "a", 0.0, 3.0))
    return Simulations(names, draw, pd.DataFrame({"x": x, "noise": rng.normal(size=len(x))}))


@pytest.fixture(scope="module")
def choice():
    return ModelChoice(simulated())


def test_what_cannot_be_told_apart_is_one_class(choice):
    assert choice.classes == [["a"], ["b", "c"]]
    assert choice.summary()["recovered"] > 0.85
    confusion = choice.confusion()
    assert confusion.groupby("truth")["share"].sum().tolist() == [1.0, 1.0, 1.0]


def test_probabilities_are_calibrated(choice):
    """Against the exact posterior: 1 : 2 between two normal distributions, three s.d. apart."""
    x = np.array([0.0, 1.2, 1.5, 3.0])
    known = pd.DataFrame({"x": x, "noise": 0.0})
    exact = 1 / (1 + 2 * np.exp((x**2 - (x - 3) ** 2) / 2))
    found = choice.probabilities(known)[:, 0]
    assert found[0] > 0.85
    assert found[-1] < 0.1
    assert np.abs(found - exact).max() < 0.35  # of 40 animals each
    assert choice.summary()["calibration_error"] < 0.1


def test_misfit_is_exact_for_its_own_and_small_for_others():
    """Its p is that of a conformal test: at most .05 in 5 % of a class's own animals."""
    rng = np.random.default_rng(5)
    choice = ModelChoice(simulated(rng=rng))
    own = simulated(400, rng)
    p = choice.misfit(own.features[own.account == "a"], ["a"])
    assert 0.01 < (p <= 0.05).mean() < 0.12  # the calibration animals are 40
    far = pd.DataFrame({"x": [30.0], "noise": [0.0]})
    assert choice.misfit(far, ["a"])[0] == 1 / 41
    # `b` is three s.d. from `a`, and `c` is `b` under another name.
    assert choice.power(["a"], 0.05) > 0.6 > 0.1 > choice.power(["b"], 0.05)


def test_bits_that_are_lost_are_those_of_counted_decisions():
    """By hand: of features, against the counts from which these were computed."""
    animal, other = reverse_rat(), rat(pd.DataFrame({"step": ENDS, "states": LAPS}))
    both = [pd.DataFrame([replay_features(each.replayed, each.places)]) for each in (animal, other)]
    assert lost_bits(both[0], both[0])[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert lost_bits(both[0].iloc[:, :5], both[1].iloc[:, :5]).tolist() == [[0.0]]

    def chance(n, of, options):
        return (n + 1 / options) / (of + 1)

    # Twelve paths 3 2 1 0 or 5 4 1 0; the other's are 0 1 2 3 and 0 1 4 5. Options: six places to
    # begin at; each neighbour, and to stop.
    begins = np.log2(chance(6, 12, 6) / chance(0, 12, 6))
    ways = [np.log2(chance(6, 6, out) / chance(0, 6, out)) for out in (2, 3)]  # of 3 and 2
    meets = np.log2(chance(12, 12, 4) / chance(0, 12, 4))
    stops = np.log2(chance(12, 12, 2) / chance(0, 12, 2))
    expected = begins + sum(ways) + meets + stops
    assert lost_bits(*both)[0, 0] == pytest.approx(expected, abs=1e-9)


def test_what_the_best_test_of_an_account_left_out_could_do():
    """By normal distributions 2.5 s.d. apart: 5 % of the one lie beyond 1.645 s.d."""
    rng = np.random.default_rng(7)
    names = np.repeat(np.array(["near", "same", "far"], dtype=object), 150)
    x = rng.normal(np.repeat([0.0, 2.5, 12.0], 150))
    known = pd.DataFrame({"x": x, "noise": rng.normal(size=len(x))})
    choice = ModelChoice(Simulations(names, np.tile(np.arange(150), 3), known))
    assert choice.classes == [["near"], ["same"], ["far"]]
    near, far = (identify.left_out(choice, [name]) for name in ("near", "far"))
    assert near["sure"] == far["sure"] == 1.0
    exact = norm.cdf(1.645, 2.5)
    assert near["at_best"] == pytest.approx(exact, abs=0.15)
    assert near["accepted"] >= near["at_best"]
    assert far["at_best"] == far["accepted"] == 0.0


def test_parameters_are_inferred():
    rng = np.random.default_rng(1)
    true = rng.uniform(size=200)
    features = pd.DataFrame(
        {"x": true + 0.02 * rng.normal(size=200), "noise": rng.normal(size=200)}
    )
    known = Simulations(np.full(200, "a", dtype=object), np.arange(200), features)
    row = pd.DataFrame({"x": [0.3], "noise": [0.0]})
    found = parameter_intervals(known, pd.DataFrame({"rate": true, "fixed": 1.0}), row)
    [rate] = found.itertuples()
    assert rate.parameter == "rate"
    assert rate.low < 0.3 < rate.high
    assert rate.high - rate.low < 0.25 < rate.prior_high - rate.prior_low
    assert rate.prior_share == pytest.approx(np.mean((true >= rate.low) & (true <= rate.high)))
    unknown = replace(known, features=known.features.assign(x=0.0))
    [rate] = parameter_intervals(unknown, pd.DataFrame({"rate": true}), row).itertuples()
    assert rate.prior_share > 0.8  # the replay says nothing of it


def test_a_parameter_beyond_its_prior_is_at_an_edge():
    """The animal goes on where no draw does, up or down; in the middle, no edge is told."""
    true = np.linspace(0, 1, 100)
    known = Simulations(np.full(100, "a", dtype=object), np.arange(100), pd.DataFrame({"x": true}))
    rows = pd.DataFrame({"x": [-0.5, 0.5, 1.5]})
    found = parameter_intervals(known, pd.DataFrame({"rate": true}), rows)
    assert found["edge"].tolist() == ["lower", "", "upper"]


def test_none_of_these_names_the_parameter_at_an_edge(monkeypatch):
    """A rat that replays every lap backwards, if accounts forget more than any that is known."""
    few = ["episodic_control", "shuffled_laps"]
    rows = pd.DataFrame({"parameter": ["discount"], "median": 0.98, "low": 0.9, "high": 0.99,
                         "prior_low": 0.8, "prior_high": 0.99, "prior_share": 0.2,
                         "edge": "upper"})  # fmt: skip
    monkeypatch.setattr(answers, "parameter_intervals", lambda *_: rows)
    monkeypatch.setattr(answers, "verdict_of", lambda *_: "none")
    found = explain(reverse_rat_log(), accounts=few, n_draws=20, wrong_places=0.0)
    [told] = found.verdicts["text"]
    assert told.endswith("may explain it: discount of episodic_control (upper, 0.98).")


def test_a_refused_class_is_none_of_those_that_may_explain_it(monkeypatch):
    """Its probability is not low, but its p of misfit is; and no test notices its relatives."""
    own = {"episodic_control": 0.5, "shuffled_laps": 0.04}
    monkeypatch.setattr(ModelChoice, "probabilities", lambda *_: np.array([[0.6, 0.4]]))
    monkeypatch.setattr(
        ModelChoice, "misfit", lambda self, rows, members: np.full(len(rows), own[members[0]])
    )
    found = explain(reverse_rat_log(), accounts=[*own], n_draws=20, wrong_places=0.0)
    assert found.verdicts["text"].tolist() == [
        "Undecided. What may explain this replay: episodic_control (0.60). "
        "shuffled_laps (0.40) is refused: p of misfit <= 0.040."
    ]
    assert "would pass, as here for episodic_control." in found.report()


def test_parameters_that_replay_does_not_tell_are_one_line():
    """Of an account; those that it tells have their intervals."""
    found = explain(reverse_rat_log(), accounts=["episodic_control", "sfma"], n_draws=20,
                    wrong_places=0.0)  # fmt: skip
    [discount] = found.parameters.itertuples()
    assert discount.prior_share >= 0.8
    told = "which this replay does not tell:\n\n- episodic_control: discount\n"
    assert told in found.report()
    assert "The parameters, where they are numbers" not in found.report()


def test_calibration_error_by_hand():
    right = np.array([True, True, False, True])
    assert calibration_error(np.full(4, 0.75), right) == 0.0
    assert calibration_error(np.ones(4), right) == pytest.approx(0.25)


def test_a_fair_coin_is_one_class():
    rng = np.random.default_rng(1)
    coin = rng.uniform(size=(300, 3))
    assert classes_of(coin, np.repeat([0, 1, 2], 100), ["a", "b", "c"]) == [["a", "b", "c"]]


@pytest.mark.parametrize("sure", [0.9, 0.55])
def test_frequencies_against_integration(sure):
    """Of animals that are told apart, and of such that hardly are."""
    log_p = np.log([[sure, 1 - sure]] * 6 + [[0.2, 0.8]] * 3)

    def likelihood(share):
        return np.prod(share * np.exp(log_p[:, 0]) + (1 - share) * np.exp(log_p[:, 1]))

    total = quad(likelihood, 0, 1)[0]
    mean = quad(lambda share: share * likelihood(share), 0, 1)[0] / total
    above = quad(likelihood, 0.5, 1)[0] / total
    found = account_frequencies(log_p)
    assert found.mean[0] == pytest.approx(mean, abs=0.005)
    assert found.exceedance[0] == pytest.approx(above, abs=0.01)
    equal = np.exp(np.logaddexp(*log_p.T).sum() - len(log_p) * np.log(2))
    assert found.equal == pytest.approx(equal / (equal + total), abs=0.01)
    assert found.protected.sum() == pytest.approx(1.0)


def test_frequencies_against_monte_carlo():
    """Three accounts: exact frequencies from draws of the prior, weighted by their likelihood."""
    rng = np.random.default_rng(3)
    log_p = np.log(rng.dirichlet(np.ones(3), 12) ** 2)
    log_p[:8, 1] += 2.0
    drawn = rng.dirichlet(np.ones(3), 200_000)
    each = np.log(drawn @ np.exp(log_p).T).sum(axis=1)
    weight = np.exp(each - each.max())
    exact = weight @ drawn / weight.sum()
    first = np.bincount(drawn.argmax(axis=1), weight, minlength=3) / weight.sum()
    differ = each.max() + np.log(weight.mean())
    equal = np.log(np.exp(log_p).mean(axis=1)).sum()
    found = account_frequencies(log_p)
    assert found.mean == pytest.approx(exact, abs=0.01)
    assert found.exceedance == pytest.approx(first, abs=0.01)
    assert found.equal == pytest.approx(1 / (1 + np.exp(differ - equal)), abs=0.01)


def test_none_of_these_is_one_of_the_answers_of_a_group():
    """Of six animals, `a` is refused in two, and comes first in two; with one few are known.

    Exact: each class has one animal before; the two refused ones are `none`, two are of `a`, and
    one of `b`; the last is as probable under each of the three rows.
    """
    plan = SimpleNamespace(accounts=dict.fromkeys("abc"), seed=0)
    rows = [
        {"animal": k, "account": name, "probability": p if name == "a" else 1 - p, "prior": prior}
        for k, p in enumerate([1.0, 1.0, 1.0, 1.0, 0.0, 1 / 3])
        for name, prior in (("a", 1 / 3), ("b or c" if k else "c or b", 2 / 3))
    ]
    verdict = ["none", "none", "account", "part", "undecided", "few"]
    verdicts = pd.DataFrame({"animal": range(6), "verdict": verdict})
    table = answers.group_of(plan, pd.DataFrame(rows), verdicts).set_index("account")
    assert list(table.index) == ["a", "b or c", "none of these"]
    before = np.array([1 + 2, 1 + 1, 1 + 2])
    expected = (before + before / 8) / 9  # the last is of one in proportion to the others
    assert table["frequency"].to_numpy() == pytest.approx(expected, abs=0.005)
    assert table["n_animals"].tolist() == [6] * 3


def test_animals_that_say_nothing_are_equal():
    found = account_frequencies(np.zeros((5, 3)))
    assert found.mean == pytest.approx(1 / 3, abs=0.005)
    assert found.equal == pytest.approx(0.5)  # as before
    with pytest.raises(ValueError, match="at least two accounts"):
        account_frequencies([[0.0]])


def test_a_rat_that_replays_backwards_and_one_that_walks_at_random(tmp_path):
    """Cheap accounts, which replay without compiled parts of their own."""
    few = ["episodic_control", "shuffled_laps", "graph_walks"]
    rng = np.random.default_rng(3)
    both = explain({"backwards": reverse_rat_log(), "walker": walker_log(rng)}, accounts=few,
                   n_draws=20, wrong_places=0.2)  # fmt: skip
    found = both.verdicts.set_index("animal")
    assert found.loc["backwards", ["verdict", "account"]].tolist() == [
        "account",
        "episodic_control",
    ]
    assert found.loc["walker", "account"] != "episodic_control"
    assert found.loc["walker", "verdict"] in ("control", "undecided", "none")
    assert both.group["n_animals"].tolist() == [2] * len(both.group)
    assert set(both.sequences["account"]) >= {"walk", "ceiling", "episodic_control"}
    assert "episodic_control explains this replay" in repr(both)
    assert both.verdicts["silent"].tolist() == ["", ""]
    assert both.tables()["group"]["n_animals"].tolist() == both.group["n_animals"].tolist()
    both.save(tmp_path / "out")
    assert (tmp_path / "out" / "report.md").read_text("utf-8") == both.report()
    assert not Results(tmp_path / "out").status().missing


def test_statistics_are_beside_predictions_for_the_same_moves(tmp_path):
    """What counts as a sequence is one thing: the animal's own are those of `replay recording`."""
    quick = Judgement(n_shuffles=19, other_sizes=())
    found = find_replay(simulated_recording(12, 1), judgement=quick)
    [animal] = replaying_animals(found.experience, found.visited, rewards={0: 1.0})
    own = statistics_of(animal, [animal.replayed]).dropna(subset="value").set_index("statistic")
    recorded = recorded_statistics([found]).set_index("statistic")["value"]
    shared = own.index.intersection(recorded.index)
    assert len(shared) > 5
    assert own.loc[shared, "value"].to_dict() == pytest.approx(recorded[shared].to_dict())
    assert not own.index.isin(QUESTIONS["rates"]).any()  # how much is not compared

    reverse = animal.replayed._replace(
        phase=np.full_like(animal.replayed.phase, PHASES.index("rest"))
    )
    rng = np.random.default_rng(1)
    assert len(in_same_pauses(reverse, animal.replayed, rng).lap) == 0  # none in these pauses
    same = in_same_pauses(animal.replayed, animal.replayed, rng)
    assert sorted(map(tuple, same.states.arrays())) == sorted(
        map(tuple, animal.replayed.states.arrays())
    )
    table = beside_own_accounts(
        animal,
        pd.DataFrame({"account": "a", "draw": range(20), "statistic": "reverse_share",
                      "value": np.linspace(0, 1, 20)}), ["a"],
    )  # fmt: skip
    [row] = table.itertuples()
    assert (row.predicted_low, row.predicted, row.predicted_high) == pytest.approx(
        (0.05, 0.5, 0.95)
    )
    assert row.value == recorded["reverse_share"]
    assert row.is_control

    # A rat that replays within laps only, of which no account is seen in pauses either.
    phase = np.full_like(animal.replayed.phase, PHASES.index("step"))
    within = replace(animal, replayed=animal.replayed._replace(phase=phase))
    none = statistics_of(animal, []).assign(account="a", draw=0)
    none.to_parquet(tmp_path / "statistics.parquet")
    assert beside_own_accounts(within, pd.read_parquet(tmp_path / "statistics.parquet"), []).empty


class Decoded:
    """What `explain` needs of a recording: the moves, and the states that events visit."""

    def __init__(self, paths):
        self.experience, self.visited = EventLog({"steps": STEPS}), paths


def reverse_rat_log():
    return Decoded(pd.DataFrame({"step": ENDS, "states": [lap[::-1] for lap in LAPS]}))


def walker_log(rng):
    neighbours = {0: [1], 1: [0, 2, 4], 2: [1, 3], 3: [2], 4: [1, 5], 5: [4]}
    walks = []
    for _ in ENDS:
        walk = [int(rng.integers(6))]
        while len(walk) < 12:
            walk.append(int(rng.choice(neighbours[walk[-1]])))
        walks.append(walk)
    return Decoded(pd.DataFrame({"step": ENDS, "states": walks}))


def test_an_account_replays_again_until_there_is_enough_to_compare():
    """It replays each of 12 laps once; from 96 sequences on, that is less than half."""
    animal, plan = reverse_rat(), plan_explanation({"rat": reverse_rat()}, n_draws=20)

    def made(n_compared, name="episodic_control"):
        draws = planned.simulated_draws(animal, name, ACCOUNTS[name], range(1, 3), plan, n_compared)
        return list(draws)

    once = made(24)
    for n_compared, n_replicas in ((24, 1), (26, 2), (96, 4), (32 * 24, 32), (32 * 24 + 2, 1)):
        for first, each in zip(once, made(n_compared), strict=True):
            assert (each.n_replicas, each.n_made) == (n_replicas, 12 * n_replicas)
            laps = each.seen.states.arrays()
            assert [*map(tuple, laps)] == [*map(tuple, first.seen.states.arrays())] * n_replicas
            assert each.seen.lap.tolist() == [*range(12)] * n_replicas
    one, more = (made(n, "graph_walks")[0] for n in (24, 96))
    n = one.n_made
    assert [*map(tuple, one.seen.states.arrays())] == [*map(tuple, more.seen.states.arrays())][:n]
    assert [*map(tuple, more.seen.states.arrays())][n : 2 * n] != [
        *map(tuple, one.seen.states.arrays())
    ]


def test_how_often_an_animal_replays_does_not_decide_who_takes_part(tmp_path):
    """A rat that replays its lap backwards ten times a pause is that of an account that does once.

    Of 20 draws, the least p is 1 / 21, and the report says so.
    """
    often = pd.DataFrame({"step": np.repeat(ENDS, 10), "states": [
        lap[::-1] for lap in LAPS for _ in range(10)]})  # fmt: skip
    few = ["episodic_control", "shuffled_laps", "graph_walks"]
    plan = plan_explanation({"rat": rat(often)}, few, n_draws=20)
    found = run(replace(explanation.STUDY, figures={}), plan, tmp_path, tell=lambda text: None)
    [verdict] = found["verdicts.csv"].itertuples()
    assert (verdict.account, verdict.verdict, verdict.silent) == ("episodic_control", "account", "")
    table = found["probabilities.csv"].set_index("account")
    assert table.loc["episodic_control", ["n_draws", "n_replicas"]].tolist() == [20, 5]
    assert table["misfit"].min() == pytest.approx(1 / 21)
    report = (tmp_path / "report.md").read_text("utf-8")
    assert "episodic_control (5 times)" in report
    assert "| 20 | <= 0.048 |" in report
    assert "(predictions.csv is empty): the positions of states are unknown" in report
    notes = [str(each.note) for each in explanation._show(plan, found)]
    assert "predictions.csv is empty" in notes[-1]


def test_what_decoding_loses_is_no_misfit():
    """A rat that replays every lap backwards, decoded, fits: its accounts lose as much."""
    laps = [[*range(12)], [0, 1, 2, 3, *range(12, 20)]] * 15
    moves = [
        (here, there, float(there == lap[-1]), there == lap[-1])
        for lap in laps
        for here, there in pairwise(lap)
    ]
    log = EventLog({"steps": pd.DataFrame(moves, columns=STEPS.columns)})
    ends = np.flatnonzero(log.columns("steps")["terminated"])
    paths = pd.DataFrame({"step": ends, "states": [lap[::-1] for lap in laps]})
    [exact] = replaying_animals(log, paths)
    few = ["episodic_control", "shuffled_laps", "graph_walks"]

    def verdict(seed, share):
        rng = np.random.default_rng(seed)
        seen = as_decoded(exact.replayed, exact.places, rng).take(np.arange(20))
        rat = Decoded(pd.DataFrame({"step": seen.step, "states": seen.states.arrays()}))
        rat.experience = log
        return explain(rat, accounts=few, n_draws=24, wrong_places=share).verdicts.iloc[0]

    as_recorded, as_known = (
        [verdict(seed, w) for seed in range(n)] for n, w in ((2, None), (1, 0))
    )
    assert all(each["account"] == "episodic_control" for each in as_recorded)
    fit, known = (np.median([each["misfit"] for each in some]) for some in (as_recorded, as_known))
    assert fit > 0.1 > known
    plans = [plan_explanation({"rat": each}) for each in (exact, replace(exact, is_decoded=True))]
    assert [plan.describe()["wrong_places"] for plan in plans] == [0.0, None]


def test_a_table_of_events_without_replay_or_rewards_is_refused():
    without = EventLog({"steps": STEPS.drop(columns="reward")})
    paths = pd.DataFrame({"step": ENDS, "states": [lap[::-1] for lap in LAPS]})
    with pytest.raises(ValueError, match="has no rewards, which most accounts learn from"):
        replaying_animals(without, paths)
    [paid] = replaying_animals(without, paths, rewards={3: 1.0, 5: 1.0})
    assert paid.digest() == reverse_rat().digest()
    assert paid.places.goal.tolist() == [lap[-1] for lap in LAPS]
    with pytest.raises(ValueError, match="A state of rewards must be"):
        replaying_animals(without, paths, rewards={99: 1.0})
    with pytest.raises(TypeError, match="rewards must map states to amounts"):
        replaying_animals(without, paths, rewards=3)
    with pytest.raises(ValueError, match="no sequence of 3 or more neighbouring places"):
        rat(pd.DataFrame({"step": [5], "states": [[3, 5, 3]]}))
    with pytest.raises(ValueError, match="visit places that are not on its track, such as 90"):
        rat(pd.DataFrame({"step": [5], "states": [[90, 91, 92]]}))
    with pytest.raises(ValueError, match="has the location 90, which is not on its track"):
        rat(pd.DataFrame({"step": [5], "states": [[3, 2, 1]], "location": [90]}))
    with pytest.raises(ValueError, match="follows move 36, but its last move is 35"):
        rat(pd.DataFrame({"step": [36], "states": [[3, 2, 1]]}))
    with pytest.raises(ValueError, match="at least two accounts"):
        plan_explanation({"rat": reverse_rat()}, ["episodic_control"])
    with pytest.raises(ValueError, match="Unknown account of replay 'dina_q'"):
        plan_explanation({"rat": reverse_rat()}, ["dina_q", "dyna_q"])
    with pytest.raises(ValueError, match="n_draws must be"):
        plan_explanation({"rat": reverse_rat()}, n_draws=3)


def test_ways_back_are_told_from_moves_that_lead_nowhere():
    """In a world of one-way edges, an action without an edge stays where it is."""
    edges = [(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)]
    worlds = [MDP.from_networkx(kind(edges)) for kind in (nx.DiGraph, nx.Graph)]
    logs = [EventLog({"steps": STEPS}, mdp=world) for world in worlds]
    assert [experienced_animal(log).has_two_ways for log in logs] == [False, True]


def test_what_is_odd_about_events_is_told():
    paths = pd.DataFrame({"step": [-1, 0], "states": [[3, 2, 1, 0], [3, 2, 1, 99]]})
    notes = " ".join(rat(paths).notes)
    assert "1 of 2 replay events of animal visit places that are not on its track" in notes
    assert "1 of 2 sequences come before its first move" in notes
    assert "so few sequences (fewer than 10) hardly tell accounts apart" in notes
    timed = EventLog({"steps": STEPS.assign(time=np.arange(36.0))})
    [late] = replaying_animals(
        timed, pd.DataFrame({"time": [9.0, 99.0], "states": [[3, 2, 1, 0]] * 2})
    )
    told = "1 of 2 replay events come after its last move, at 35 s, in the phase rest;"
    assert told in " ".join(late.notes)
    assert "never paid" not in notes
    [unpaid] = replaying_animals(EventLog({"steps": STEPS.assign(reward=0.0)}), paths)
    assert "never paid" in " ".join(unpaid.notes)


@pytest.mark.parametrize(
    ("n", "kept", "note"),
    [
        (1, [0], "so few sequences"),
        (9, range(9), "so few sequences"),
        (10, range(10), ""),
        (300, range(300), ""),
        (301, [*range(299), 300], "300 of these, evenly spaced"),
    ],
)
def test_few_sequences_are_told_and_many_are_thinned(n, kept, note):
    animal = rat(pd.DataFrame({"step": [2] * n, "states": [[3, 2, 1, 0]] * n}))
    assert animal.replayed.event.tolist() == [*kept]
    assert note in animal.notes[-1]
    assert len(animal.notes) == (2 if note else 1)


def test_events_keep_their_names():
    paths = pd.DataFrame({"event": [7, 9], "step": [5, 8], "states": [[3, 2, 1, 0]] * 2})
    assert rat(paths).replayed.event.tolist() == [7, 9]


def test_tables_are_read(tmp_path):
    moves, events, paid = (tmp_path / name for name in ("rat.csv", "events.csv", "paid.csv"))
    STEPS.drop(columns="reward").to_csv(moves, index=False)
    states = [" ".join(map(str, lap[::-1])) for lap in LAPS]
    pd.DataFrame({"step": ENDS, "states": states}).to_csv(events, index=False)
    pd.DataFrame({"state": [3, 5], "reward": 1.0}).to_csv(paid, index=False)
    animals = read_animals([moves], [events], paid)
    assert animals["rat"].is_decoded
    there = pd.read_csv(events).assign(location=1, phase="step")
    there.to_csv(tmp_path / "there.csv", index=False)
    elsewhere = read_animals([moves], [tmp_path / "there.csv"], paid)["rat"].replayed
    assert set(elsewhere.location) == {1}
    assert set(elsewhere.phase) == {PHASES.index("step")}
    assert animals["rat"].digest() == replace(reverse_rat(), is_decoded=True).digest()
    with pytest.raises(ValueError, match="give its replay events, too, with --events"):
        read_animals([moves])
    with pytest.raises(ValueError, match="belongs to no table of moves"):
        read_animals([moves], [events, events], paid)
    with pytest.raises(FileNotFoundError, match="name the folder of a log"):
        read_animals([tmp_path / "nowhere.csv"], [events], paid)
    pd.DataFrame({"animal": ["cat"], "state": [3], "reward": 1.0}).to_csv(paid, index=False)
    with pytest.raises(ValueError, match="no row for the animal 'rat'"):
        read_animals([moves], [events], paid)
    STEPS.assign(time=np.nan).to_csv(moves, index=False)
    pd.DataFrame({"time": [3.0], "states": ["3 2 1 0"]}).to_csv(events, index=False)
    with pytest.raises(ValueError, match="needs a column 'time'"):
        read_animals([moves], [events])
    events.write_text("step,states\n3,3 2\n\n4,3 2 a\n")
    with pytest.raises(ValueError, match="separated by blanks, such as 1 0 1; row 4 has '3 2 a'"):
        read_animals([moves], [events])
    moves.write_text("state,next_state,terminated\n0,1,0\n\n1,-2,1\n")
    with pytest.raises(ValueError, match="row 4 has -2"):
        read_animals([moves], [events])
    paid.write_text("state,reward\n3,1\n5,much\n")
    with pytest.raises(ValueError, match="row 3 has 'much'"):
        read_animals([moves], [events], paid)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda steps: steps.iloc[[0, 2, 1, *range(3, 36)]], "Row 0 of .* enters state 1, but row"),
        # The third row is in line 4 of a file.
        (lambda steps: steps.assign(time=[0.0, *range(35, 0, -1)]), "'time' of .* row [24] "),
        (
            lambda steps: steps.assign(reward=[np.nan, *steps["reward"][1:]]),
            "'reward' of .* row 0 ",
        ),
    ],
    ids=["order", "time", "reward"],
)
def test_moves_that_are_not_fed_are_not_explained(change, message, tmp_path):
    """Nor are they the laps of an experiment that is planned."""
    steps = change(STEPS).reset_index(drop=True)
    steps.to_csv(tmp_path / "moves.csv", index=False)
    with pytest.raises(ValueError, match=message):
        read_protocols([], [tmp_path / "moves.csv"], None, 0)
    with pytest.raises(ValueError, match=message):
        feed("dyna_q", steps.assign(action=0), n_states=6, n_actions=1)
    paths = pd.DataFrame({"step": ENDS, "states": [lap[::-1] for lap in LAPS]})
    with pytest.raises(ValueError, match=message):
        replaying_animals(EventLog({"steps": steps}), paths)


@pytest.mark.parametrize(("table", "message"), [
    ("state,reward\n99,1\n", "A state of rewards must be a whole number from 0 to 5, got 99"),
    ("step,reward\n99,1\n", "A step of rewards must be a whole number from 0 to 35, got 99"),
])  # fmt: skip
def test_rewards_that_are_refused_are_told_with_their_file(table, message, tmp_path):
    moves, events, paid = (tmp_path / name for name in ("rat.csv", "events.csv", "paid.csv"))
    STEPS.to_csv(moves, index=False)
    events.write_text("step,states\n5,3 2 1 0\n")
    paid.write_text(table)
    for read in (lambda: read_animals([moves], [events], paid),
                 lambda: read_protocols([], [moves], paid, 0)):  # fmt: skip
        with pytest.raises(ValueError, match=f"{paid}: {message}"):
            read()


@pytest.mark.parametrize(("table", "paid"), [
    ("time,reward\n3.5,2\n36,1\n", {2: 2.0, 35: 1.0}),  # the animal is where move 2 led at 3.5 s
    ("state,visit,reward\n3,0,1\n5,5,2\n", {2: 1.0, 35: 2.0}),
    ("state,first_lap,last_lap,reward\n3,,1,1\n3,10,,4\n5,3,3,2\n", {2: 1.0, 11: 2.0, 32: 4.0}),
    ("x,y,last_lap,reward\n29.8,0.4,2,1\n", {2: 1.0, 8: 1.0}),
])  # fmt: skip
def test_rewards_are_told_as_laboratories_have_them(table, paid, tmp_path):
    """By the time of a pump, by visit, by laps in which a place paid, and by place."""
    (tmp_path / "paid.csv").write_text(table)
    world = MDP.from_networkx(nx.Graph([(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)]))
    x, y = 10.0 * np.array([0, 1, 2, 3, 1, 1]), 10.0 * np.array([0, 0, 0, 0, 1, 2])
    world = replace(world, position=np.column_stack((x, y)))
    steps = EventLog({"steps": STEPS.drop(columns="reward").assign(time=np.arange(1.0, 37))},
                     mdp=world)  # fmt: skip
    animal = experienced_animal(steps, rewards=read_rewards(tmp_path / "paid.csv"))
    reward = animal.log.columns("steps")["reward"]
    assert {step: reward[step] for step in np.flatnonzero(reward)} == paid


@pytest.mark.parametrize(("table", "message"), [
    ({"time": [5.0], "state": [3]}, "says in two ways what was paid, by 'time' and by 'state'"),
    ({"time": [99.0]}, "of animal come from 99.0 to 99.0 s, but its moves from 0.0 to 35.0"),
    ({"step": [1], "visit": [0]}, "The column 'visit' of rewards is for rewards of a state"),
    ({"state": [3], "visit": [6]}, "visit 6 of state 3, which animal entered 6 times"),
    ({"state": [3, 3], "last_lap": [4, 0]}, "says twice what state 3 paid in lap 0"),
    ({"x": [0.0], "y": [0.0]}, "The states of animal have no positions: give"),
    ({"place": [3]}, r"rewards lacks the columns \['state'\]"),
])  # fmt: skip
def test_rewards_that_say_nothing_or_too_much_are_refused(table, message):
    log = EventLog({"steps": STEPS.assign(time=np.arange(36.0))})
    with pytest.raises(ValueError, match=message):
        experienced_animal(log, rewards=pd.DataFrame({"reward": 1.0, **table}))
    with pytest.raises(ValueError, match="Rewards have times, but moves of animal have none"):
        experienced_animal(EventLog({"steps": STEPS}),
                           rewards=pd.DataFrame({"time": [1.0], "reward": 1.0}))  # fmt: skip


MINE = '''"""Replay repeats the latest move again and again.

An example.
"""
import numpy as np
from typing import NamedTuple
from replay.log.backups import ONLINE, record
from analyses.findings.accounts import WholeNumber
COMPILED = False
PRIORS = {"n_replays": WholeNumber(3, 9, "a few")}
class Params(NamedTuple):
    discount: float = 0.9
    epsilon: float = 0.1
    n_replays: int = 5
class Memory(NamedTuple):
    action_values: np.ndarray
    moves: list
def init(params, sizes):
    return Memory(np.zeros((sizes.n_states, sizes.n_actions)), [])
def most_backups(params, memory):
    return 1 + len(memory.moves) + params.n_replays
def learn(params, memory, transition, log):
    memory.moves.append((transition.state, transition.action, transition.next_state))
    s, a, s_next = memory.moves[-1]
    record(log, ONLINE, s, a, s_next, 0.0, 0.0, transition.reward)
def replay(params, memory, pause, rng, log):
    if pause.terminated:
        for s, a, s_next in memory.moves[: -1 - params.n_replays : -1]:
            record(log, pause.phase, s, a, s_next, 0.0, 0.0, 0.0)
'''


def test_an_account_of_ones_own_takes_part(tmp_path):
    """What it claims is told, and a changed file is not taken for the same account."""
    mine = tmp_path / "latest_moves.py"
    mine.write_text(MINE)
    plan = plan_explanation({"rat": reverse_rat()}, ["shuffled_laps", str(mine)], n_draws=20,
                            priors=["latest_moves.n_replays=3:4"])  # fmt: skip
    found = run(replace(explanation.STUDY, figures={}), plan, tmp_path / "out",
                tell=lambda text: None)  # fmt: skip
    assert found["verdicts.csv"]["account"].tolist() == ["latest_moves"]
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "(`latest_moves`; your own): Replay repeats the latest move again" in report
    assert " (`shuffled_laps`" not in report  # hardly probable
    known = plan.describe()["accounts"]["latest_moves"]
    assert known["priors"] == {"n_replays": ["WholeNumber", 3, 4]}
    assert named_accounts(["all", str(mine)]).keys() == {*ACCOUNTS, "latest_moves"}
    mine.write_text(MINE + "# another\n")
    assert plan.describe()["accounts"]["latest_moves"]["file"] != known["file"]
    for text, message in [
        (MINE.replace("PRIORS =", "P ="), "has no priors of its free parameters: add PRIORS"),
        (MINE.replace('{"n_re', '{"m_re'), "has a prior of 'm_replays', which is none of the par"),
    ]:
        mine.write_text(text)
        with pytest.raises(ValueError, match=message):
            named_accounts(["shuffled_laps", str(mine)])
    mine.rename(tmp_path / "sfma.py").write_text(MINE)
    with pytest.raises(ValueError, match=r"There is (a learner|an account) 'sfma' already: rename"):
        named_accounts(["shuffled_laps", str(tmp_path / "sfma.py")])


@pytest.mark.parametrize(("text", "message"), [
    ("sfma.inhibition_decay", "A prior must be ACCOUNT.PARAMETER=LOW:HIGH"),
    ("sfma.decay=0:1", "There is no prior sfma.decay with limits; there are sfma.discount, sfma"),
    ("sfma.replay_mode=0:1", "There is no prior sfma.replay_mode with limits"),
    ("dyna_q.discount=0:1", "there are shuffled_laps.most_places, shuffled"),
    ("sfma.discount=a:b", "limits of sfma.discount must be numbers like 0.8:0.99, got a:b"),
    ("sfma.discount=0.5:2", "discount .*must be between 0 and 1"),
])  # fmt: skip
def test_other_limits_of_a_prior(text, message):
    few = ["shuffled_laps", "sfma"]
    wider = named_accounts(few, ["sfma.inhibition_decay=0.1:1"])["sfma"].priors["inhibition_decay"]
    assert (wider.low, wider.high) == (0.1, 1.0)
    assert ACCOUNTS["sfma"].priors["inhibition_decay"].low == 0.5
    with pytest.raises(ValueError, match=message):
        named_accounts(few, [text])


def raised_rat():
    """To and fro on a line of six places; from lap 10 on, the right end pays four times as much."""
    laps = [[*range(6)], [*range(5, -1, -1)]] * 10
    moves = [(a, b, 0.0, b == lap[-1]) for lap in laps for a, b in pairwise(lap)]
    steps = pd.DataFrame(moves, columns=STEPS.columns)
    ends = np.flatnonzero(steps["terminated"])
    steps.loc[ends, "reward"] = 1.0
    steps.loc[ends[10::2], "reward"] = 4.0
    x = 10.0 * np.arange(6)
    world = replace(MDP.from_networkx(nx.path_graph(6)), position=np.column_stack((x, 0 * x)))
    states = [(lap[::-1] if k >= 10 and k % 2 == 0 else lap) for k, lap in enumerate(laps)]
    table = pd.DataFrame({"step": ends, "phase": "episode_end", "states": states})
    [animal] = replaying_animals(EventLog({"steps": steps}, mdp=world), table)
    return animal


def test_replay_of_each_sense_is_compared_between_conditions(tmp_path):
    """This rat replays backwards only where the reward was raised; its account, every lap."""
    animal = raised_rat()
    places = animal.places
    assert places.conditions == ("1 paid", "4 paid")
    number = places.condition[animal.replayed.lap, animal.replayed.location]
    assert number.tolist() == [0] * 10 + [1, 0] * 5
    # A place next to an end has its condition; the middle has none.
    assert places.condition[12].tolist() == [0, 0, -1, -1, 1, 1]
    measured = pd.DataFrame({"forward": 1.0 - number, "backward": 1.0 * number})
    senses = senses_by_condition(measured, number, places.conditions)
    assert senses["backward", "4 paid", ""] == senses["backward", "4 paid", "1 paid"] == 1.0
    assert senses["forward", "4 paid", "1 paid"] == -1.0
    nowhere = senses_by_condition(measured, np.zeros(20), places.conditions)
    assert np.isnan(nowhere["backward", "4 paid", "1 paid"])
    plan = plan_explanation({"rat": animal}, ["episodic_control", "shuffled_laps"], n_draws=20)
    found = run(replace(explanation.STUDY, figures={}), plan, tmp_path, tell=lambda text: None)
    table = found["conditions.csv"].query("account == 'episodic_control'")
    assert list(table["versus"]) == ["", "", "1 paid"] * 2
    assert set(table["n_sequences"]) == {15, 5}
    assert set(table["n_draws"]) == {20}
    assert "forward where 4 paid, less where 1 paid" in (tmp_path / "report.md").read_text("utf-8")


def test_conditions_are_given_as_a_table(tmp_path):
    """By place and laps, by laps alone, by place in cm; and of each animal its own."""
    animal = raised_rat()
    world, distance = animal.log.mdp, animal.places.distance

    def read(**columns):
        return given_conditions(pd.DataFrame(columns), world, distance, 20)

    names, number = read(condition=["before", "after"], last_lap=[9, None], first_lap=[None, 10])
    assert names == ("before", "after")
    assert number.tolist() == [[0] * 6] * 10 + [[1] * 6] * 10
    names, number = read(condition=["left", "right", "left"], x=[1.0, 49.0, 31.0], y=0.0)
    assert number[0].tolist() == [0, 0, 0, 0, 1, 1]  # 4 is next to 3 and to 5; the first counts
    given = replace(animal, conditions=pd.DataFrame({"condition": ["left"], "state": [0]}))
    assert given.places.conditions == ("left",)
    assert given.digest() != animal.digest()
    with pytest.raises(ValueError, match="says two things of state 3 in lap 0: say one"):
        read(condition=["a", "b"], state=[3, 3])
    with pytest.raises(ValueError, match="conditions has state 9; there are 6, from 0"):
        read(condition=["a"], state=[9])
    moves, events, mine = (tmp_path / name for name in ("rat.csv", "events.csv", "mine.csv"))
    STEPS.to_csv(moves, index=False)
    events.write_text("step,states\n5,3 2 1 0\n")
    mine.write_text("animal,condition,state\nrat,here,3\ncat,there,3\n")
    assert read_animals([moves], [events], conditions=mine)["rat"].places.conditions == ("here",)
    mine.write_text("condition,state\nhere,3\nthere,3\n")
    with pytest.raises(ValueError, match="says two things of state 3"):
        read_animals([moves], [events], conditions=mine)


def test_many_amounts_are_nothing_less_and_more():
    """Places that always pay the same are no conditions."""
    assert reverse_rat().places.conditions == ()
    steps = STEPS.assign(reward=STEPS["reward"] * np.arange(36))
    steps.loc[2, "reward"] = 0.0
    places = experienced_animal(EventLog({"steps": steps})).places
    assert places.conditions == ("nothing paid", "less paid", "more paid")
    assert places.condition[0, [2, 3]].tolist() == [0, 0]
    assert places.condition[11, 5] == 2
    assert places.condition[0, 5] == -1  # not yet entered


@pytest.mark.parametrize("n", [2, 3])
def test_what_is_replayed_in_finer_states_is_read_in_those_described(n):
    """Episodic control replays each lap backwards, whatever the size of its states."""
    paths = pd.DataFrame({"step": [*ENDS, 10], "phase": ["rest"] * len(ENDS) + ["step"],
                          "states": [lap[::-1] for lap in LAPS] + [[4, 1, 0]]})  # fmt: skip
    animal = replace(rat(paths), n_finer=n)
    fine = animal.finer
    assert fine.places.n_places == 6 + 5 * (n - 1)
    assert fine.experience.rests == {k * n: 1 for k in animal.experience.rests}
    assert fine.experience.paused == {11 * n}
    steps, own = fine.log.columns("steps"), animal.log.columns("steps")
    for name in ("next_state", "reward", "terminated"):
        assert steps[name][n - 1 :: n].tolist() == own[name].tolist()
    assert not steps["terminated"].reshape(-1, n)[:, :-1].any()
    account, size = ACCOUNTS["episodic_control"], []
    for draw in range(8):
        seeds = np.random.SeedSequence([1, draw])
        size.append(simulation._is_finer(seeds))
        assert size[-1] == simulation._is_finer(seeds)
        [made] = simulate_misread(animal, account, {"discount": 0.9}, seeds, [0.0])
        assert [*map(list, made.states.arrays())] == [lap[::-1] for lap in LAPS]
        assert made.step.tolist() == ENDS.tolist()
        assert made.location.tolist() == [3, 5] * 6
    assert set(size) == {False, True}
    for name, params in (("dyna_q", {"n_replays": 30, "replay_at": "pauses"}),
                         ("graph_walks", {"most_places": 40, "share_of_pauses": 1.0})):  # fmt: skip
        [made] = simulate_misread(animal, ACCOUNTS[name], params, seeds, [0.0])
        assert made.states.flat.max() < 6
        assert 10 in made.step[made.phase == PHASES.index("step")]
    assert animal.digest() != replace(animal, n_finer=1).digest()


def test_finer_states_keep_headings_and_need_a_track():
    """On a track that is run to and fro, the headings told are those of the states described."""
    animal = raised_rat()
    steps = animal.log.columns("steps")
    table = pd.DataFrame({"step": [4], "states": [[5, 4, 3]], "along": [[1, 1, 1]]})
    [told] = replaying_animals(EventLog({"steps": steps}, mdp=animal.log.mdp), table)
    told = replace(told, n_finer=2)
    assert told.finer.headings is not None
    [made] = simulate_misread(told, ACCOUNTS["episodic_control"], {"discount": 0.9},
                              _seeds_of(finer=True), [0.0])  # fmt: skip
    [same] = simulate_misread(replace(told, n_finer=1), ACCOUNTS["episodic_control"],
                              {"discount": 0.9}, _seeds_of(finer=True), [0.0])  # fmt: skip
    assert made.states.flat.tolist() == same.states.flat.tolist()
    assert made.along.flat.tolist() == same.along.flat.tolist()
    assert set(made.along.flat) == {-1}
    ends = MDP.from_tables([[1], [1]], reward=[0.0, 0.0], terminal=[1])
    log = EventLog({"steps": {"state": [0], "next_state": [1], "reward": [1.0],
                              "terminated": [True]}}, mdp=ends)  # fmt: skip
    with pytest.raises(ValueError, match="has terminal states: leave finer states out"):
        _ = replace(experienced_animal(log), n_finer=2).finer
    with pytest.raises(ValueError, match="has terminal states: leave finer states out"):
        plan_identifiability({"mine": experienced_animal(log)}, finer=2)


def _seeds_of(finer):
    """Find seeds with which an animal learns in finer states, or does not."""
    many = (np.random.SeedSequence(seed) for seed in range(99))
    return next(seeds for seeds in many if simulation._is_finer(seeds) == finer)


def test_sessions_of_one_animal_are_pooled(tmp_path):
    """As one session of all laps, with all events after the moves that they followed."""
    events = pd.DataFrame({"step": ENDS, "states": [" ".join(map(str, lap[::-1])) for lap in LAPS]})
    later = events.iloc[3:].assign(phase="start")
    for name, table in (("day1", STEPS), ("day2", STEPS), ("events1", events), ("events2", later)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    days, own = (
        [tmp_path / f"{each}{k}.csv" for k in (1, 2)] for each in ("day", "events")
    )  # fmt: skip
    assert set(read_animals(days, own)) == {"day1", "day2"}
    [(name, pooled)] = read_animals(days, own, pool=True).items()
    both = pd.concat([events, later.assign(step=later["step"] + len(STEPS))], ignore_index=True)
    both["phase"] = both["phase"].fillna("rest")
    both["states"] = [[*map(int, text.split())] for text in both["states"]]
    [whole] = replaying_animals(EventLog({"steps": pd.concat([STEPS, STEPS])}), both)
    assert name == pooled.name == "day1"
    assert pooled.digest() == replace(whole, is_decoded=True).digest()
    assert pooled.notes[0] == "Pooled: day1, day2."
    further = pd.DataFrame([(3, 6, 0.0, True)], columns=STEPS.columns)
    pd.concat([STEPS, further]).to_csv(days[1], index=False)
    with pytest.raises(ValueError, match="day2 and day1 cannot be pooled"):
        read_animals(days, [own[0], own[0]], pool=True)


def test_a_folder_takes_events_of_ones_own(tmp_path):
    """Its moves and track are kept; its own replay is not."""
    log = run_task("w_track", "episodic_control", seed=0).log
    log.save(tmp_path / "rat")
    steps = log.columns("steps")
    path = [*steps["state"][:3].tolist(), int(steps["next_state"][2])]
    table = pd.DataFrame({"step": [5, 9], "states": " ".join(map(str, path[::-1]))})
    table.to_csv(tmp_path / "mine.csv", index=False)
    own = read_animals([tmp_path / "rat"], [tmp_path / "mine.csv"])["rat"]
    assert [*map(list, own.replayed.states.arrays())] == [path[::-1]] * 2
    assert own.replayed.step.tolist() == [5, 9]
    assert own.is_decoded
    assert own.log.mdp.position is not None
    as_it_is = read_animals([tmp_path / "rat"])["rat"]
    assert not as_it_is.is_decoded
    assert len(as_it_is.replayed.lap) > 2


def test_what_is_given_twice_is_refused(tmp_path):
    moves, events, paid = (tmp_path / name for name in ("rat.csv", "events.csv", "paid.csv"))
    STEPS.assign(time=np.arange(36.0)).to_csv(moves, index=False)
    events.write_text("event,time,states\n0,5.5,3 2 1 0\n1,6.5,3 2 1 0\n2,5.5,3 2 1 0\n")
    with pytest.raises(ValueError, match="has an event more than once, such as in row 4"):
        read_animals([moves], [events])
    events.write_text("event,time,states\n0,5.5,3 2 1 0\n1,6.5,3 2 1 0\n")
    paid.write_text("state,reward\n3,1\n5,2\n3,4\n")
    with pytest.raises(ValueError, match=r"paid\.csv: rewards has state 3 more than once"):
        read_animals([moves], [events], paid)
    table = pd.read_csv(paid)
    with pytest.raises(ValueError, match="rewards has state 3 more than once"):
        feed("dyna_q", STEPS.assign(action=0), n_states=6, n_actions=1, rewards=table)
    paid.write_text("state,reward\n3,1\n5,2\n")
    animal = read_animals([moves], [events], paid)["rat"]
    assert animal.log.columns("steps")["reward"].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 2.0] * 6


def test_several_mazes_are_compared(tmp_path):
    moves, paid = tmp_path / "mine.csv", tmp_path / "paid.csv"
    STEPS.drop(columns="reward").to_csv(moves, index=False)
    pd.DataFrame({"state": [3, 5], "reward": 1.0}).to_csv(paid, index=False)
    protocols = read_protocols(["w_track"], [moves], paid, seed=0)
    assert list(protocols) == ["w_track", "mine"]
    plan = plan_identifiability(protocols, ["episodic_control", "dyna_q"], n_draws=20)
    assert set(plan.n_pieces()) == {"w_track", "mine"}
    with pytest.raises(ValueError, match="Two mazes are named 'mine'"):
        read_protocols([], [moves, moves], paid, seed=0)
    with pytest.raises(ValueError, match="Give laps: those of a task"):
        read_protocols([], [], None, seed=0)
    run_task("w_track", "q_learning", seed=0).log.save(tmp_path / "rat")
    [(name, rat)] = read_protocols([], [tmp_path / "rat"], None, seed=0).items()
    assert (name, rat.log.mdp.name) == ("rat", "w_track")


def test_an_experiment_is_planned_with_positions_on_a_track(tmp_path):
    """To and fro on a straight track of 1 m, in states of 14 cm: three runs from end to end."""
    track, positions, paid = (tmp_path / name for name in ("track.json", "rat.csv", "paid.csv"))
    paid.write_text("state,reward\n1,1\n")
    track.write_text('{"node_positions": [[0, 0], [100, 0]], "edges": [[0, 1]]}')
    way = np.linspace(0, 100, 101)
    x = np.concatenate([way, way[::-1], way])
    pd.DataFrame({"time": np.arange(len(x)) / 30, "x": x, "y": 0.0}).to_csv(positions, index=False)
    [(name, rat)] = read_protocols([], [positions], paid, seed=0, track=track).items()
    steps = rat.log.steps
    assert (name, len(steps), steps["terminated"].sum()) == ("rat", 21, 3)
    assert rat.places.n_places == 8
    states = states_of_track(track)
    assert states.to_numpy() == pytest.approx(np.column_stack((range(8), rat.log.mdp.position)))
    [one_way] = read_protocols([], [positions], paid, 0, track=track, lap_ends=["0"]).values()
    assert one_way.log.steps["terminated"].sum() == 1
    with pytest.raises(ValueError, match="is for positions on a track"):
        read_protocols([], [positions], paid, 0, lap_ends=["0"])
    with pytest.raises(ValueError, match="Give the positions of an animal on the track"):
        read_protocols(["w_track"], [], None, seed=0, track=track)
    with pytest.raises(ValueError, match="is a folder, which knows its track"):
        read_protocols([], [tmp_path], None, seed=0, track=track)
    pd.DataFrame({"event": [0, 0], "time": [1.0, 1.1], "x": [0, 9], "y": 0}).to_csv(positions)
    with pytest.raises(ValueError, match="with --track, give positions"):
        read_protocols([], [positions], None, seed=0, track=track)


def test_an_experiment_is_planned_through_the_recording():
    """By default decoding hardly shows dead ends; with a share of wrong places, nothing is lost."""
    laps = {"mine": recorded_laps("w_track", seed=1)}
    [dead_ends] = np.nonzero(np.bincount(laps["mine"].places.ends[:, 0]) == 1)

    def places(share):
        plan = plan_identifiability(laps, ["episodic_control", "graph_walks"], n_draws=20,
                                    n_sequences=[30], wrong_places=share)  # fmt: skip
        return IDENTIFIABILITY.make(plan, Piece("mine", 0))["places"]["place"]

    assert len(dead_ends) == 3
    of_ends = [np.isin(places(share), dead_ends).mean() for share in (None, 0.0)]
    assert of_ends[0] < 0.25 * of_ends[1]
    assert of_ends[1] > 0.05


def test_the_laps_of_a_task_are_recorded_in_places():
    """Headings are told as of a recording: accounts learn from the same moves in as many states."""
    for name, n_places in (("w_track", 25), ("barrier_arena", 25)):
        recorded, known = recorded_laps(name, seed=1), laps_of_task(name, seed=1)
        assert recorded.places.n_places == n_places
        assert recorded.learned.mdp.n_states == known.log.mdp.n_states
        moves, own = (each.learned.columns("steps") for each in (recorded, known))
        for key in ("reward", "terminated"):
            assert moves[key].tolist() == own[key].tolist()
        pairs = set(zip(moves["state"].tolist(), own["state"].tolist(), strict=True))
        assert len(pairs) == len(np.unique(own["state"]))  # the same states by other numbers
    assert recorded_laps("w_track", seed=1, heading_share=0.0).headings is None


def test_a_further_session_runs_the_same_laps_again():
    once = {"mine": reverse_rat()}
    both, n_sessions = with_more_sessions(once, 2)
    assert list(both) == ["mine", "mine_2_sessions"]
    assert n_sessions == {"mine_2_sessions": 2}
    assert len(both["mine_2_sessions"].places.goal) == 2 * len(LAPS)
    assert both["mine_2_sessions"].places.n_made[-1].sum() == 2 * len(STEPS)
    plan = plan_identifiability(both, n_sequences=[10, 30], n_draws=20, n_sessions=n_sessions)
    assert plan.numbers("mine") == [10, 30]
    assert plan.numbers("mine_2_sessions") == [20, 60]
    recovery = pd.DataFrame(
        {"protocol": ["mine"] * 2 + ["mine_2_sessions"] * 2, "n_sequences": [10, 30, 20, 60],
         "account_bits": [0.5, 0.7, 0.6, 0.8]}
    )  # fmt: skip
    [shown] = identify._sessions(plan, recovery)
    assert shown.table[["account_bits", "one_session"]].to_numpy().tolist() == [
        [0.6, 0.5],
        [0.8, 0.7],
    ]
    assert with_more_sessions(once, 1) == (once, {})
    varied = replace(once["mine"], conditions=pd.DataFrame({"condition": ["here"], "state": [1]}))
    with pytest.raises(ValueError, match="of one session: leave --more-sessions out"):
        with_more_sessions({"mine": varied}, 2)


def test_a_maze_is_judged_with_conditions_and_finer_states_as_an_animal_is(tmp_path):
    moves, mine = tmp_path / "rat.csv", tmp_path / "conditions.csv"
    pd.DataFrame(
        {"state": [0, 1, 2, 3] * 10, "next_state": [1, 2, 3, 4] * 10,
         "terminated": [0, 0, 0, 1] * 10, "reward": [0, 0, 0, 1] * 10}
    ).to_csv(moves, index=False)  # fmt: skip
    pd.DataFrame({"condition": ["before", "after"], "first_lap": [0, 5],
                  "last_lap": [4, 9]}).to_csv(mine, index=False)  # fmt: skip
    read = read_protocols([], [moves], None, 1, conditions=mine)
    assert read["rat"].places.conditions == ("before", "after")
    plan = plan_identifiability(read, ["dyna_q", "graph_walks"], n_draws=20, finer=2)
    assert plan.protocols["rat"].n_finer == 2
    made = identify.STUDY.make(plan, Piece("rat", 0))
    coarse = identify.STUDY.make(
        plan_identifiability(read, ["dyna_q", "graph_walks"], n_draws=20), Piece("rat", 0)
    )
    assert set(made["places"]["place"]) == set(range(5))  # read in those of the table
    assert not made["places"].equals(coarse["places"])


def test_a_sure_answer_may_be_that_of_an_account_in_no_list():
    """By Bayes: 95 % of the sure answers of listed accounts pass."""
    recovery = pd.DataFrame({"protocol": ["mine", "mine", "yours"], "sure": [0.2, 0.6, 0.0]})
    left = pd.DataFrame({"protocol": ["mine", "mine", "yours"], "accepted": [0.3, 0.1, np.nan]})
    [(protocol, probability)] = identify._missing(recovery, left)
    assert protocol == "mine"
    assert probability == pytest.approx(0.2 / (0.2 + 0.95 * 0.6))
    [(_, never)] = identify._missing(recovery.assign(sure=0.0), left.head(1).assign(accepted=0.0))
    assert never == 0.0


def test_groups_of_animals_are_found_more_often(choice):
    """`a` is three s.d. from the class of the others: one animal in 15 is mistaken."""
    one, ten = (choice.recovered_of_groups(n) for n in (1, 10))
    assert one == pytest.approx(choice.summary()["recovered"], abs=0.04)
    assert ten > 0.99 > one


@pytest.mark.parametrize(
    ("probability", "misfit", "verdict"),
    [([0.95, 0.05], [0.3], "account"), ([0.95, 0.05], [0.05], "none"),
     ([0.6, 0.4], [0.02, 0.3], "undecided"), ([0.6, 0.4], [0.02, 0.03], "none")],
)  # fmt: skip
def test_nothing_is_named_if_nothing_fits(probability, misfit, verdict):
    likely = answers.likely_classes(np.array(probability))
    assert len(likely) == len(misfit)
    assert answers.verdict_of(np.array(probability), np.array(misfit), 0.0, 10, False) == verdict


def test_an_animal_that_replays_more_than_all_but_one_account_is_named():
    made = pd.DataFrame({"account": "dyna_q", "draw": range(3), "length": 4.0})
    rat = SimpleNamespace(name="rat", replayed=SimpleNamespace(lap=range(300)))
    with pytest.raises(ValueError, match=r"only dyna_q replays often .* with rat \(300 sequences"):
        answers.answer(SimpleNamespace(seed=0), rat, {"features": made})
    with pytest.raises(ValueError, match="only none replays often enough"):
        answers.answer(SimpleNamespace(seed=0), rat, {"features": pd.DataFrame([])})


@pytest.mark.parametrize(
    ("control_share", "n_sequences", "verdict"),
    [(0.0, 10, "account"), (1.0, 10, "control"), (0.5, 10, "undecided"), (0.0, 9, "few")],
)
def test_an_account_is_named_if_it_is_told_from_controls_by_enough(
    control_share, n_sequences, verdict
):
    probability, misfit = np.array([0.95, 0.05]), np.array([0.3])
    found = answers.verdict_of(probability, misfit, control_share, n_sequences, False)
    assert found == verdict
    in_part = answers.verdict_of(probability, misfit, control_share, n_sequences, True)
    assert in_part == verdict.replace("account", "part")


@pytest.mark.parametrize(
    ("share", "power", "ahead", "said"),
    [(0.4, 0.5, "", ""), (np.nan, np.nan, "", ""), (0.4, 0.06, "", ""), (0.4, 0.05, "", "0.05"),
     (0.06, 0.5, "", "comes 0.06 of the way"), (0.4, 0.5, "walks", "walks, which does not learn")],
)  # fmt: skip
def test_an_account_explains_in_part(share, power, ahead, said):
    """Little of what there is, less than a control, or nothing that could have contradicted it."""
    best = pd.Series({"share_of_ceiling": share, "power": power})
    found = answers._shortcomings(best, ahead)
    assert len(found) == bool(said)
    assert said in " ".join(found)


def test_a_control_is_ahead_by_two_standard_errors_over_laps():
    """By 1, 2 and 3 bits in three laps: 2 +- .58; by 0, 1 and 5: 2 +- 1.53."""
    bits = {"a": [-9, -9, -9], "b": [-5, -5, -5], "surely": [-4, -3, -2], "hardly": [-5, -4, 0]}
    table = pd.DataFrame(
        [{"account": name, "lap": lap, "bits": each / 2}
         for name, of_laps in bits.items() for lap, each in enumerate(of_laps) for _ in range(2)]
    )  # fmt: skip
    assert answers._ahead(table, ["a", "b"], ["surely", "hardly"]) == "surely"
    assert answers._ahead(table, ["a", "b"], ["hardly"]) == ""
    assert answers._ahead(table, ["a", "b", "surely"], ["surely"]) == ""
    assert answers._ahead(table, ["b"], []) == ""


def test_one_class_of_all_accounts_is_no_answer(tmp_path):
    """On a line with positions, two names of one account; nothing ends in an error or a success."""
    world = MDP.from_networkx(nx.Graph([(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)]))
    world = replace(world, position=np.array([[0, 0], [1, 0], [2, 0], [3, 0], [1, 1], [1, 2.0]]))
    paths = pd.DataFrame({"step": ENDS, "states": [lap[::-1] for lap in LAPS]})
    [animal] = replaying_animals(EventLog({"steps": STEPS}, mdp=world), paths)
    same = dict.fromkeys("ab", ACCOUNTS["episodic_control"])
    plan = plan_explanation({"rat": animal, "other": replace(animal, name="other")}, same,
                            n_draws=20)  # fmt: skip
    found = run(explanation.STUDY, plan, tmp_path / "out", tell=lambda text: None)
    assert found["verdicts.csv"]["verdict"].tolist() == ["undecided"] * 2
    assert found["verdicts.csv"]["recovered"].isna().all()
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "Undecided. What may explain this replay: [a or b] (1.00)." in report
    assert "Nothing was tested" in report
    laps = {"mine": experienced_animal(EventLog({"steps": STEPS}, mdp=world))}
    planned = plan_identifiability(laps, same, n_draws=20, n_sequences=[10], wrong_places=0.0)
    tables = run(IDENTIFIABILITY, planned, tmp_path / "maze", tell=lambda text: None)
    [row] = tables["recovery.csv"].to_dict("records")
    assert (row["n_classes"], row["account_bits"], row["named"]) == (1, 0.0, 0.0)
    assert np.isnan([row["recovered"], row["calibration_error"], row["of_10_animals"]]).all()


@pytest.mark.slow
def test_each_maze_has_its_own_recovery_and_figure(tmp_path):
    """Three accounts that differ are told apart in both, and none is taken for another."""
    accounts = ["episodic_control", "dyna_q", "graph_walks"]
    plan = plan_identifiability(
        read_protocols(["w_track", "gupta_2t"], [], None, seed=0), accounts,
        n_sequences=[40], n_draws=20,
    )  # fmt: skip
    run(IDENTIFIABILITY, plan, tmp_path / "out", tell=lambda text: None)
    results = Results(tmp_path / "out")
    recovery = results.read("recovery.csv").set_index("protocol")
    assert recovery["recovered"].to_dict() == pytest.approx({"w_track": 1, "gupta_2t": 1}, abs=0.03)
    assert results.read("left_out.csv")["accepted"].max() <= 0.05
    drawn = {path.stem for path in (tmp_path / "out" / "figures").iterdir()}
    assert drawn == {"identifiability_w_track", "identifiability_gupta_2t"}


def test_what_was_simulated_is_not_simulated_again(tmp_path, monkeypatch):
    """One account and more draws later: what is taken over is what would be simulated."""
    simulated, drawn = [], planned.drawn_parameters

    def watched(name, account, draws, plan):
        simulated.extend((name, draw) for draw in draws)
        return drawn(name, account, draws, plan)

    monkeypatch.setattr(planned, "drawn_parameters", watched)
    rats, few = {"rat": reverse_rat()}, ["shuffled_laps", "graph_walks"]
    first = plan_explanation(rats, few, n_draws=20)
    run(replace(explanation.STUDY, figures={}), first, tmp_path / "first", tell=lambda text: None)
    more = plan_explanation(
        rats, ["uniform_reactivation", *few], n_draws=36, earlier=tmp_path / "first"
    )
    # Draws 0 to 15 of the two accounts are there; those of 16 to 19 belong to a larger piece now.
    known = [more.made_earlier(Piece("rat", number)) for number in range(9)]
    assert known == [None] * 3 + [("rat", 0), None, None, ("rat", 2), None, None]
    simulated.clear()
    reused = explanation._make(more, Piece("rat", 3))
    assert not simulated
    again = explanation._make(more._replace(earlier=None), Piece("rat", 3))
    assert simulated == [("shuffled_laps", draw) for draw in range(16)]
    for name, table in again.items():
        pd.testing.assert_frame_equal(reused[name], table)
    damaged = tmp_path / "first" / "pieces" / "rat" / "0" / "bits.parquet"
    damaged.write_bytes(damaged.read_bytes() + b"x")
    assert more.made_earlier(Piece("rat", 3)) is None
    other = {"rat": rat(pd.DataFrame({"step": ENDS[:5], "states": [[3, 2, 1, 0]] * 5}))}
    plan = plan_explanation(other, few, n_draws=20, earlier=tmp_path / "first")
    assert plan.made_earlier(Piece("rat", 0)) is None
    whole = Results(tmp_path / "first").manifest()
    (tmp_path / "first" / "manifest.sha256").unlink()  # as somebody else would
    for wrong, message in [
        ({"versions": {"numpy": "1.0"}}, "cannot be reused: it was made with versions"),
        ({"accounts": ["sfma"]}, "cannot be reused: its manifest names no accounts"),
        ({"draws": 10**12}, "The number of draws of .* must be a whole number from 0 to 1000000"),
    ]:
        (tmp_path / "first" / "manifest.json").write_text(json.dumps(whole | wrong))
        with pytest.raises(ValueError, match=message):
            plan_explanation(rats, few, n_draws=20, earlier=tmp_path / "first")


def test_animals_are_named_as_they_are(tmp_path):
    """Names that look like numbers, or like nothing, and a name that looks like Markdown."""
    rats = dict.fromkeys(["001", "NA", "*x*"], reverse_rat())
    plan = plan_explanation(rats, ["shuffled_laps", "graph_walks"], n_draws=20)
    run(replace(explanation.STUDY, figures={}), plan, tmp_path / "out", tell=lambda text: None)
    figures = dict(explanation._draw(Results(tmp_path / "out")))
    titles = {ax.get_title("left") for ax in figures["explained_sequences"].axes}
    assert set(rats) <= titles
    headings = (tmp_path / "out" / "report.md").read_text("utf-8").splitlines()
    assert [line for line in headings if line.startswith("## ")][:3] == [
        "## 001", "## NA", r"## \*x\*",
    ]  # fmt: skip


def test_a_result_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no .*mine: name the folder"):
        read_animals([tmp_path / "mine"])


def test_parameters_after_the_name_of_an_account_are_fixed():
    names = ["prioritized_sweeping priority=need discount=0.9", "blind_walks replay_at=pauses"]
    sweeping, walks = named_accounts(names).values()
    assert sweeping.fixed == {"priority": "need", "discount": 0.9}
    assert {*ACCOUNTS["prioritized_sweeping"].priors} - {*sweeping.priors} == {*sweeping.fixed}
    assert walks.fixed == {"replay_at": "pauses"}
    assert walks.is_control


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "prioritized_sweeping priority=needs",
            "one of change, need, recency, random, got 'needs'",
        ),
        (
            "prioritized_sweeping order=need",
            "no free parameter 'order' that could be fixed; it has",
        ),
        ("prioritized_sweeping discount=3", "must be between 0 and 1, got 3"),
        ("prioritized_sweeping priority", "parameters as name=value, got 'priority'"),
        ("sweeping priority=need", "Unknown account of replay 'sweeping'"),
    ],
)
def test_parameters_that_cannot_be_fixed_are_told(name, message):
    with pytest.raises(ValueError, match=message):
        named_accounts([name, "dyna_q"])
