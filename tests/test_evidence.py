"""Evidence: probabilities against scipy and by hand, priors, and controls."""

from itertools import pairwise, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom, ttest_1samp

from analyses.findings.accounts import ACCOUNTS, draw_settings, find_account
from analyses.findings.controls import CONTROLS, replay_of_control
from analyses.findings.evidence import (
    Count,
    Direction,
    Null,
    Studies,
    Value,
    evidence,
    joint_evidence,
    outcomes,
    statistic_range,
)
from analyses.findings.priors import LogUniform, OneOf, Uniform, WholeNumber, draw_parameters
from replay.learners import find_learner
from replay.log.event_log import EventLog

COUNT = Count(0.0, 1.0, 7.0, 20.0)


def studies(values, sd=0.1, trials=40.0):
    values = np.asarray(values, dtype=float)
    n = np.full(len(values), 5.0)
    return Studies(values * trials, np.full(len(values), trials), values, n * sd / 5, values, n)


def test_counts_are_beta_binomial():
    found = COUNT.likelihood(studies([0.25, 0.5]), between_studies=0.0)
    expected = 21 * betabinom.pmf(7, 20, [10.5, 20.5], [30.5, 20.5])
    assert found == pytest.approx(expected)


@given(st.floats(0, 1), st.integers(1, 500))
def test_who_knows_nothing_neither_wins_nor_loses(share, n):
    """Over all counts, taken for equally probable, the ratio of probabilities is 1 on average."""
    found = [
        Count(0.0, 1.0, float(k), float(n)).likelihood(studies([share]), 0.0)[0]
        for k in range(n + 1)
    ]
    assert np.mean(found) == pytest.approx(1.0)


@given(st.floats(-2, 2), st.floats(0.01, 2))
def test_one_of_three_directions_is_found(mean, sd):
    made = studies([mean], sd)
    found = [Direction(-2, 2, float(sign), 0.01).likelihood(made)[0] for sign in (-1, 0, 1)]
    assert sorted(found) == [0.0, 0.0, 3.0]


def test_directions_are_t_tests():
    rng = np.random.default_rng(0)
    animals = rng.normal(0.4, 1.0, size=(200, 6))
    made = studies(animals.mean(axis=1))
    made = made._replace(sd=animals.std(axis=1, ddof=1), n_animals=np.full(200, 6.0))
    told = ttest_1samp(animals, 0.0, axis=1)
    expected = np.where(told.pvalue < 0.05, np.sign(told.statistic), 0)
    assert (outcomes(made) == expected).all()
    assert 0 < np.mean(expected) < 1


def test_no_effect_is_found_at_the_nominal_rate():
    animals = np.random.default_rng(1).normal(size=(20_000, 6))
    made = studies(animals.mean(axis=1))
    made = made._replace(sd=animals.std(axis=1, ddof=1), n_animals=np.full(20_000, 6.0))
    # 20,000 studies: the rate of 0.05 has a standard error of 0.0015.
    assert np.mean(outcomes(made) != 0) == pytest.approx(0.05, abs=0.006)


def test_few_sequences_that_agree_are_no_finding():
    """Of three animals with one sequence each all agree once in four times."""
    values = np.random.default_rng(2).integers(2, size=(20_000, 3)).astype(float)
    n = np.full(len(values), 3.0)
    made = Studies(values.sum(axis=1), n, values.mean(axis=1) - 0.5, values.std(axis=1, ddof=1),
                   values.mean(axis=1), n)  # fmt: skip
    assert np.mean(outcomes(made) != 0) == pytest.approx(0.25, abs=0.02)
    assert not outcomes(made, are_shares=True).any()
    many = made._replace(successes=made.value * 3000, trials=np.full(len(values), 3000.0))
    assert (outcomes(many, are_shares=True) == outcomes(many)).all()


def test_null_results_have_an_interval():
    null = Null(-2.0, 2.0, -0.5, 0.5)
    assert null.likelihood(studies([0.0, 0.4, 0.6])).tolist() == [4.0, 4.0, 0.0]


def test_values_are_normal():
    value = Value(-1.0, 1.0, 0.2, 0.05)
    found = value.likelihood(studies([0.2, 0.3]), between_studies=0.0)
    assert found[0] == pytest.approx(2 / (0.05 * np.sqrt(2 * np.pi)))
    assert found[1] == pytest.approx(found[0] * np.exp(-2))


def test_a_result_that_is_not_significant_is_a_sign():
    foster = Direction(-2.0, 2.0, -1.0, 0.17)
    assert foster.likelihood(studies([-0.1, 0.1])).tolist() == [2.0, 0.0]


@pytest.mark.parametrize(
    "result",
    [
        COUNT,
        Value(-1.0, 1.0, 0.2, 0.05),
        Direction(-2.0, 2.0, 1.0, 0.01),
        Direction(-2.0, 2.0, 1.0, 0.2),
    ],
)
def test_who_replays_nothing_predicts_nothing(result):
    nothing = Studies(
        np.zeros(2), np.zeros(2), *(np.full(2, np.nan) for _ in range(3)), np.zeros(2)
    )
    assert evidence(result.likelihood(nothing)) == pytest.approx(np.log2(0.05))


def test_no_result_costs_more_than_surprise():
    assert evidence(np.zeros((3, 4)), surprise=0.25).tolist() == [-2.0] * 3
    assert evidence(np.ones(4)) == pytest.approx(0.0)


def test_joint_evidence_equals_enumeration():
    """Each draw, and each set of findings that are surprises, is added up one by one."""
    likelihoods = np.array([[8.0, 0.0, 1.5], [0.5, 3.0, 0.0]])
    total = 0.0
    for draw in range(3):
        for surprises in product([False, True], repeat=2):
            chance = 1 / 3
            for finding, is_surprise in enumerate(surprises):
                chance *= 0.1 if is_surprise else 0.9 * likelihoods[finding, draw]
            total += chance
    assert joint_evidence(likelihoods, surprise=0.1) == pytest.approx(np.log2(total))


def test_findings_that_need_different_parameters_cost_bits():
    """The same draws for both findings are better evidence than other draws for each."""
    one, other = np.repeat([8.0, 0.0], 4), np.repeat([0.0, 8.0], 4)
    apart = 2 * float(evidence(one))
    assert joint_evidence(np.array([one, other])) < apart - 2
    assert joint_evidence(np.array([one, one])) > apart + 0.5


def test_the_right_account_is_found():
    """Results of one account are, on average, evidence for it."""
    rng = np.random.default_rng(2)
    one, other = studies(rng.beta(2, 8, size=60)), studies(rng.beta(8, 2, size=60))
    gain = []
    for draw in range(60):
        told = COUNT.as_found(one, draw)
        gain.append(evidence(told.likelihood(one)) - evidence(told.likelihood(other)))
    assert np.mean(gain) > 1


def test_ranges_of_statistics():
    assert statistic_range("S3") == (0.0, 1.0)
    assert statistic_range("S13_stop") == (-1.0, 1.0)


def test_priors_are_filled_evenly():
    priors = {
        "a": Uniform(2.0, 4.0, "x"),
        "b": LogUniform(1e-4, 1.0, "x"),
        "c": OneOf(("p", "q"), "x"),
        "d": WholeNumber(1, 3, "x"),
    }
    drawn = pd.DataFrame(draw_parameters(priors, 256, np.random.default_rng(0)))
    assert drawn["a"].mean() == pytest.approx(3.0, abs=0.05)
    assert np.log10(drawn["b"]).mean() == pytest.approx(-2.0, abs=0.1)
    assert (drawn["c"] == "p").mean() == pytest.approx(0.5, abs=0.02)
    assert set(drawn["d"]) == {1, 2, 3}
    again = draw_parameters(priors, 256, np.random.default_rng(0))
    assert drawn.to_dict("records") == again


@pytest.mark.parametrize("name", ACCOUNTS)
def test_all_that_is_drawn_is_allowed(name):
    account = find_account(name)
    assert all(len(prior.reason) > 10 for prior in account.priors.values())
    if account.is_control:
        return
    for params in draw_settings(account, 16, np.random.default_rng(0)):
        find_learner(account.generator, params)
    if account.as_published is not None:
        find_learner(account.generator, {**account.fixed, **account.as_published})


@pytest.mark.parametrize("name", CONTROLS)
def test_controls_know_only_what_they_may(name):
    graph = nx.path_graph(6)
    graph.edges[2, 3]["impossible"] = True
    steps = {"state": [0, 1, 4], "next_state": [1, 2, 5], "episode": [0, 0, 1]}
    log = EventLog({"steps": {**steps, "terminated": [False, True, True]}})
    pauses = pd.DataFrame({"step": [1] * 200, "phase": "rest"})
    params = {"most_places": 5, "share_of_pauses": 0.5}
    found = replay_of_control(CONTROLS[name], params, log, pauses, graph, np.random.default_rng(0))
    assert 70 < len(found) < 130
    assert found["states"].map(len).max() <= 5
    moves = {pair for path in found["states"] for pair in pairwise(path)}
    places = {place for path in found["states"] for place in path}
    if name == "blind_walks":
        assert (2, 3) in moves
        assert moves <= set(graph.to_directed().edges)
    elif name == "graph_walks":
        assert (2, 3) not in moves
        assert moves <= set(graph.to_directed().edges)
    else:
        assert places == {0, 1, 2}  # what was visited by then
    before = pauses.assign(step=-1)
    early = replay_of_control(CONTROLS[name], params, log, before, graph, np.random.default_rng(0))
    assert len(early) == 0 or name.endswith("walks")
