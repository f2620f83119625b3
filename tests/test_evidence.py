"""Evidence: probabilities against scipy and by hand, priors, and controls."""

from dataclasses import replace
from itertools import pairwise, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import betabinom, binom, norm, ttest_1samp

from analyses.findings.accounts import (
    ACCOUNTS,
    CONTROLS,
    draw_settings,
    find_account,
    replay_of_control,
)
from analyses.findings.evidence import (
    Count,
    Direction,
    Null,
    Scoring,
    Studies,
    Value,
    evidence,
    joint_evidence,
    outcomes,
    presence_evidence,
    published,
    value_evidence,
)
from analyses.findings.priors import LogUniform, OneOf, Uniform, WholeNumber, draw_parameters
from replay.learners import find_learner
from replay.log.event_log import EventLog

COUNT = Count(0.0, 1.0, 7.0, 20.0, is_share=True)
EXACT = Scoring(between_studies=0.0, false_positives=None)
SHORTCUTS = Count(0.0, 1.0, 11.0, 1719.0, is_share=True)
COMMON = Scoring(false_positives=None)
TESTS = Scoring(are_tests=True)


NOTHING = Studies(np.zeros(2), np.zeros(2), *(np.full(2, np.nan) for _ in range(3)), np.zeros(2))


def studies(values, sd=0.1, trials=40.0):
    values = np.asarray(values, dtype=float)
    n = np.full(len(values), 5.0)
    return Studies(values * trials, np.full(len(values), trials), values, n * sd / 5, values, n)


def test_counts_are_beta_binomial():
    found = COUNT.likelihood(studies([0.25, 0.5]), EXACT)
    expected = 21 * betabinom.pmf(7, 20, [10.5, 20.5], [30.5, 20.5])
    assert found == pytest.approx(expected)


@given(st.floats(0, 1), st.integers(1, 500))
def test_who_knows_nothing_neither_wins_nor_loses(share, n):
    """Over all counts, taken for equally probable, the ratio of probabilities is 1 on average."""
    found = [
        Count(0.0, 1.0, float(k), float(n), is_share=True).likelihood(studies([share]), EXACT)[0]
        for k in range(n + 1)
    ]
    assert np.mean(found) == pytest.approx(1.0)


@given(st.floats(-2, 2), st.floats(0.01, 2))
def test_one_of_three_directions_is_found(mean, sd):
    made = studies([mean], sd)
    each = [
        Direction(-2, 2, float(sign), 0.01, 6.0, "animal", is_share=False) for sign in (-1, 0, 1)
    ]
    assert sorted(one.likelihood(made, TESTS)[0] for one in each) == [0.0, 0.0, 3.0]
    by_chance = each[0]._by_chance()
    assert sum(by_chance.values()) == pytest.approx(1)
    total = sum(one.likelihood(made)[0] * by_chance[int(one.sign)] for one in each)
    assert total == pytest.approx(1)


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
    null = Null(-2.0, 2.0, -0.5, 0.5, is_share=False)
    assert null.likelihood(studies([0.0, 0.4, 0.6])).tolist() == [4.0, 4.0, 0.0]


def test_values_are_normal():
    value = Value(-1.0, 1.0, 0.2, 0.05, is_share=False)
    found = value.likelihood(studies([0.2, 0.3]), EXACT)
    assert found[0] == pytest.approx(2 / (0.05 * np.sqrt(2 * np.pi)))
    assert found[1] == pytest.approx(found[0] * np.exp(-2))


def test_a_result_that_is_not_significant_is_a_sign():
    foster = Direction(-2.0, 2.0, -1.0, 0.17, 4.0, "animal", is_share=False)
    assert foster.likelihood(studies([-0.1, 0.1]), TESTS).tolist() == [2.0, 0.0]
    just = replace(foster, p_value=0.05)
    assert just.likelihood(studies([-0.1, 0.1], 0.01), TESTS).tolist() == [3.0, 0.0]
    below, none, above = foster.likelihood(studies([-0.1, 0.0, 0.1]))
    assert below > none > above
    assert none == pytest.approx(1)
    assert below + above == pytest.approx(2)


@pytest.mark.parametrize(
    "result",
    [
        COUNT,
        Value(-1.0, 1.0, 0.2, 0.05, is_share=False),
        Direction(-2.0, 2.0, 1.0, 0.01, 6.0, "session", is_share=False),
        Direction(-2.0, 2.0, 1.0, 0.2, 6.0, "event", is_share=False),
    ],
)
@pytest.mark.parametrize("scoring", [Scoring(), COMMON._replace(are_tests=True)])
def test_what_is_not_defined_costs_the_first_factor_alone(result, scoring):
    likelihood = result.likelihood(NOTHING, scoring)
    assert evidence(likelihood) == pytest.approx(np.log2(0.05))
    assert presence_evidence(NOTHING) == pytest.approx(np.log2(0.05))
    assert value_evidence(likelihood, NOTHING) == 0
    some = studies([0.3, 0.4])
    both = Studies(*(np.append(one, other) for one, other in zip(some, NOTHING, strict=True)))
    told = value_evidence(result.likelihood(both, scoring), both)
    assert told == value_evidence(result.likelihood(some, scoring), some)
    assert presence_evidence(some) == 0 > presence_evidence(both)


def test_the_two_factors_multiply_to_the_whole():
    """P(replay and value) is P(replay) P(value given replay), without jackknife and surprises."""
    some = studies([0.1, 0.3, 0.4, 0.9])
    made = Studies(*(np.append(one, other) for one, other in zip(some, NOTHING, strict=True)))
    likelihood = COUNT.likelihood(made)
    presence, value = made.has_replay.mean(), likelihood[made.has_replay].mean()
    assert likelihood.mean() == pytest.approx(presence * value)
    one = value_evidence(likelihood, made, surprise=0.0)
    assert one == pytest.approx(evidence(likelihood[:4], surprise=0.0))


def test_rare_events_are_binomial_with_false_positives():
    """All counts of few events, which studies do not differ in, against scipy."""
    few = Count(0.0, 1.0, 2.0, 200.0, is_share=True)
    found = few.likelihood(studies([0.0, 0.01]), Scoring(between_studies=0.0))
    assert found == pytest.approx(201 * binom.pmf(2, 200, [0.001, 0.01 + 0.99 * 0.001]))


def test_who_cannot_make_shortcuts_loses_bits_by_them():
    never, sometimes = studies([0.0] * 8, trials=600.0), studies([0.005] * 8, trials=600.0)
    assert evidence(SHORTCUTS.likelihood(never, COMMON)) > 3  # as if there were 67 events
    assert evidence(SHORTCUTS.likelihood(never)) < -2
    assert evidence(SHORTCUTS.likelihood(sometimes)) > 5
    too_many = studies([0.06] * 8, trials=600.0)
    assert evidence(SHORTCUTS.likelihood(too_many)) < -3


def test_effects_have_the_published_number_of_units():
    """Against an integral over effects; the more units, the smaller the effects that are found."""
    weak, strong = studies([0.2], 5**0.5), studies([1.0], 5**0.5)  # in standard deviations
    found = {}
    for n in (5.0, 40.0):
        result = Direction(-2.0, 2.0, 1.0, 0.01, n, "animal", is_share=False)
        least, error = norm.isf(0.005) / n**0.5, (1 / n + 0.12**2) ** 0.5
        by_chance = quad(lambda d: norm.cdf((d - least) / error) / 4, -2, 2)[0]  # noqa: B023
        for name, made in (("weak", weak), ("strong", strong)):
            effect = made.mean[0]
            told = result.likelihood(made._replace(sd=np.array([1.0])))[0]
            uncertain = np.hypot(error, (1 / 5 + effect**2 / 8) ** 0.5)  # of five animals
            expected = norm.cdf((effect - least) / uncertain) / by_chance
            assert told == pytest.approx(expected)
            found[name, n] = told
    assert found["weak", 40.0] < found["strong", 40.0]
    assert found["weak", 5.0] < 1 < found["strong", 5.0]


def test_effects_of_events_are_per_event():
    """The same z of as many events as the animals had is the same effect, whatever the unit."""
    made = studies([0.2], 5**0.5)._replace(sd=np.array([0.1]))
    of_events = Direction(-2.0, 2.0, 1.0, 0.01, 40.0, "event", is_share=False)
    of_animals = Direction(-2.0, 2.0, 1.0, 0.01, 5.0, "animal", is_share=False)
    assert of_events._effects(made)[0] == pytest.approx(of_animals._effects(made)[0] / 8**0.5)


@pytest.mark.parametrize("result", [COUNT, Value(0.0, 1.0, 0.4, 0.05, is_share=True)])
def test_repeated_studies_differ_as_the_likelihood_assumes(result):
    rng = np.random.default_rng(5)
    again = [result.repeated(rng).interval()[0] for _ in range(2000)]
    low, middle = (norm.ppf(0.025), result.interval()[0])
    error = (middle - result.interval()[1]) / -low
    assert np.mean(again) == pytest.approx(middle, abs=4 * error / 2000**0.5)
    assert np.std(again) == pytest.approx(error, rel=0.1)


def test_a_part_of_a_finding_counts_for_a_part():
    twice = np.array([[8.0, 0.5]] * 2)
    assert joint_evidence(twice, part=np.array([0.5, 0.5])) == joint_evidence(twice[:1])


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


@pytest.mark.parametrize(
    ("statistic", "low", "is_share"),
    [
        ("begins_at_animal", 0.0, True),
        ("rate_before_first_lap", 0.0, False),
        ("forward_minus_reverse_rank_in_stop", -1.0, False),
    ],
)
def test_only_shares_have_the_error_of_a_share(statistic, low, is_share):
    """Ten animals with twice as many sequences as pauses; a rate from 0 to 1 is not a share."""
    direction = {"sign": 1.0, "p_value": 0.01, "n_units": 10.0, "unit_of_n": "animal"}
    result = published({"statistic": statistic, "likelihood": "direction", **direction})
    assert (result.low, result.high, result.is_share) == (low, 1.0, is_share)
    if not is_share:
        made = studies([0.1], trials=10.0)._replace(successes=np.array([20.0]), sd=np.ones(1))
        effect, _ = result._effects(made)
        assert effect == pytest.approx(0.1)


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
