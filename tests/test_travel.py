"""The model of travel, against a hidden Markov model written out state by state, and by properties.

The model is written out from its definition: each state, and the probability of each other one in
the next time bin, in dense matrices.
"""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analyses.recordings.basics.arena import find_arena
from analyses.recordings.basics.binned_track import cut_track, project
from analyses.recordings.prepare import travel
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.travel import stretches_of, travel_evidence, travel_posterior
from analyses.recordings.prepare.travel_model import SPEEDS, travel_model
from analyses.recordings.recover.cells import draw_cells
from replay.worlds.tracks import make_linear_track, make_tmaze_track, make_track_graph

DT = 0.005
KEPT = 0.98
HELD = (0.02, 0.04, 0.08, 0.5)
TRACKS = {
    "line": cut_track(make_linear_track(40.0), 5.0),
    "t": cut_track(make_tmaze_track(40.0, 30.0), 10.0),
}


def leaves_and_enters(track, one, other):
    """Say by which ends the way from an edge to another one leads: 0 for the first node."""
    [node] = set(track.edges[one]) & set(track.edges[other])
    return track.edges[one].tolist().index(node), track.edges[other].tolist().index(node)


def next_step(track):
    """Write out the next bin of each bin and direction: first all towards the second node."""
    n = track.n_bins
    bins_of = [np.flatnonzero(track.edge == edge) for edge in range(len(track.edges))]
    step = np.zeros((2 * n, 2 * n))
    for edge, bins in enumerate(bins_of):
        bins = bins[np.argsort(track.offset[bins])]
        step[bins[:-1], bins[1:]] = 1.0
        step[n + bins[1:], n + bins[:-1]] = 1.0
        for end, last in ((0, n + bins[0]), (1, bins[-1])):
            joined = [each for each in range(len(bins_of)) if each != edge
                      and track.edges[edge, end] in track.edges[each]]  # fmt: skip
            for other in joined:
                _, begin = leaves_and_enters(track, edge, other)
                inside = bins_of[other][np.argsort(track.offset[bins_of[other]])]
                first = n + inside[-1] if begin == 1 else inside[0]
                step[last, first] = 1.0 / len(joined)
    return step


def keeps_direction(track):
    """Find the pairs of bins between which the direction has the same sign, if edges touch."""
    found = np.ones((track.n_bins, track.n_bins), dtype=bool)
    for here in range(track.n_bins):
        for there in range(track.n_bins):
            edges = track.edge[here], track.edge[there]
            if edges[0] != edges[1]:
                leave, enter = leaves_and_enters(track, *edges)
                found[here, there] = leave != enter
    return found


class Written:
    """The model written out: `jump`, the probability of each state after each, and `emit`."""

    def __init__(self, track, has_headings, group, likelihood):
        n = track.n_bins
        n_states = n * (3 if has_headings else 1)
        assert likelihood.shape[1] == n_states
        around = np.exp(-0.5 * (track.distance / 10.0) ** 2)
        drift = np.exp(-0.5 * track.distance**2 / (15.0**2 / 0.1 * DT))
        drift /= drift.sum(axis=1, keepdims=True)
        drift[drift <= 1e-6] = 0.0
        if has_headings:
            same = keeps_direction(track)
            around, drift = (np.block([[each * same, each * ~same, 0 * each],
                                       [each * ~same, each * same, 0 * each],
                                       [0 * each, 0 * each, each]])
                             for each in (around, drift))  # fmt: skip
        around, drift = (each / each.sum(axis=1, keepdims=True) for each in (around, drift))
        # Each kind of dwelling: what is emitted at each place, how long it is held, what follows,
        # and where it is in the next time bin while it is held.
        stay = np.eye(n_states)
        anywhere = np.full((n_states, n_states), 1 / n_states)
        alike = group[:, None] == group[None, :]
        alike = alike / alike.sum(axis=1, keepdims=True)
        dwellings = [(likelihood, held, anywhere, stay) for held in HELD]
        dwellings += [(likelihood, held, alike, stay) for held in HELD if has_headings]
        dwellings += [(likelihood @ around.T, 0.2, anywhere, stay)]
        dwellings += [(likelihood, 0.5, anywhere, drift)]
        senses = [np.arange(n).repeat(2).reshape(n, 2).T.ravel()]
        if has_headings:
            bins = np.arange(n)
            senses = [np.append(bins, n + bins), np.append(n + bins, bins),
                      2 * n + np.append(bins, bins)]  # fmt: skip
        step, width = next_step(track), np.append(track.width, track.width)
        steps = []
        for speed in SPEEDS:
            expected = speed * DT / width
            most = int(stats.poisson.isf(1e-6, expected.max()))  # which stands for all larger ones
            shares = [stats.poisson.pmf(k, expected) for k in range(most)]
            shares.append(1 - np.sum(shares, axis=0))
            steps.append(sum(share[:, None] * np.linalg.matrix_power(step, k)
                             for k, share in enumerate(shares)))  # fmt: skip
        self.shape = len(SPEEDS), len(senses), 2 * n
        self.n_held, n_moving = len(dwellings) * n_states, int(np.prod(self.shape))
        self.jump = np.zeros((1 + self.n_held + n_moving,) * 2)
        self.emit = np.zeros((len(likelihood), len(self.jump)))
        held, moving = slice(1, 1 + self.n_held), slice(1 + self.n_held, None)
        self.of_class = np.repeat([0, 1, 2], [1, self.n_held, n_moving])
        # Held, around and drifting places are entered equally often, and each of a sort as well.
        n_sort = [len(dwellings) - 2] * (len(dwellings) - 2) + [1, 1]
        share = np.repeat(1 / 3 / np.array(n_sort), n_states) / n_states
        self.enter = np.concatenate([[1.0], share, np.full(n_moving, 1 / n_moving)])
        for one in range(3):
            for other in range(3):
                if one != other:
                    block = np.ix_(self.of_class == one, self.of_class == other)
                    self.jump[block] = 0.01 * self.enter[self.of_class == other]
        self.jump[0, 0], self.emit[:, 0] = KEPT, likelihood.mean(axis=1)
        for k, (emitted, tau, follows, goes_on) in enumerate(dwellings):
            own = slice(1 + k * n_states, 1 + (k + 1) * n_states)
            stays = np.exp(-DT / tau)
            self.jump[own, own] = KEPT * (stays * goes_on + (1 - stays) * follows)
            self.emit[:, own] = emitted
        for v, moves in enumerate(steps):
            for s, states in enumerate(senses):
                begin = 1 + self.n_held + (v * len(senses) + s) * 2 * n
                own = slice(begin, begin + 2 * n)
                self.jump[own, own] = KEPT * moves
                self.jump[own, 0] += KEPT * (1 - moves.sum(axis=1))  # over an end of the track
                self.emit[:, own] = likelihood[:, states]
        np.testing.assert_allclose(self.jump.sum(axis=1), 1.0)
        self.held, self.moving = held, moving

    def forward_backward(self, n_classes=3):
        """Sum over all ways through the first classes."""
        own = self.of_class < n_classes
        jump = self.jump[np.ix_(own, own)].copy()
        if n_classes == 2:  # what left for travel goes to the other class instead
            jump[0, 1:] *= 2.0
            jump[1:, 0] *= 2.0
        start = self.enter[own] / n_classes
        ahead, total = [start * self.emit[0, own]], 0.0
        for row in self.emit[1:, own]:
            total += np.log(ahead[-1].sum())
            ahead.append(ahead[-1] / ahead[-1].sum() @ jump * row)
        total += np.log(ahead[-1].sum())
        behind = [np.ones(own.sum())]
        for row in self.emit[:0:-1, own]:
            behind.insert(0, jump @ (row * behind[0]))
            behind[0] /= behind[0].sum()
        posterior = np.array(ahead) * behind
        posterior /= posterior.sum(axis=1, keepdims=True)
        pairs = [one[:, None] * jump * (row * other)[None] for one, row, other in
                 zip(ahead[:-1], self.emit[1:, own], behind[1:], strict=True)]  # fmt: skip
        return total, posterior, [each / each.sum() for each in pairs]


CASES = [("line", True), ("line", False), ("t", True), ("t", False)]


@pytest.mark.parametrize(("name", "has_headings"), CASES)
def test_it_is_the_model_of_its_definition(name, has_headings):
    track, rng = TRACKS[name], np.random.default_rng(0)
    n = track.n_bins
    group = np.zeros(n, dtype=int)
    if has_headings:  # on a line each heading is kept; through arms of a T it turns around
        group = np.repeat([0, 1, 2] if name == "line" else [0, 0, 2], n)
    given = rng.normal(0, 2, (7, n * (3 if has_headings else 1)))
    written = Written(track, has_headings, group, np.exp(given))
    model = travel_model(track, DT, given.shape[1])
    with_travel, posterior, pairs = written.forward_backward()
    without, _, _ = written.forward_backward(2)
    anew = np.log(np.exp(given).mean(axis=1)).sum()
    evidence = travel_evidence(given[None], model)
    assert evidence.travel[0] == pytest.approx(with_travel - without, abs=1e-10)
    assert evidence.content[0] == pytest.approx(with_travel - anew, abs=1e-10)
    found = travel_posterior(given, model)
    moving = posterior[:, written.moving].reshape(7, *written.shape)
    np.testing.assert_allclose(found.way, moving.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.speed, moving.sum(axis=(2, 3)), atol=1e-12)
    np.testing.assert_allclose(found.travels, moving.sum(axis=(1, 2, 3)), atol=1e-12)
    begins = [moving[0].sum(), *(each[: 1 + written.n_held, written.moving].sum()
                                 for each in pairs)]  # fmt: skip
    np.testing.assert_allclose(found.enters, begins, atol=1e-12)


def test_it_is_compiled_as_it_is_written(monkeypatch):
    """Plain Python gives the same numbers."""
    track = TRACKS["t"]
    given = np.random.default_rng(1).normal(0, 2, (2, 4, 3 * track.n_bins))
    model = travel_model(track, DT, given.shape[2])
    expected = np.exp(given[1])[:, : 2 * track.n_bins]

    def all_of_it():
        found = travel_posterior(given[0], model)
        return [*travel_evidence(given, model), *found, travel._course(expected, model)]

    compiled = all_of_it()
    for name in vars(travel):
        monkeypatch.setattr(
            travel, name, getattr(getattr(travel, name), "py_func", getattr(travel, name))
        )
    for one, other in zip(all_of_it(), compiled, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def drawn(seed, n_time, n_states):
    """Draw likelihoods in which some bins are much more likely than others."""
    return np.random.default_rng(seed).normal(0, 3, (n_time, n_states))


SEEDS = st.integers(0, 10**6)
LINE = make_track_graph([(0, 0), (60, 0)], [(0, 1)])


def evidence_of(graph, given_at):
    """Compute the evidence and the posterior of each sense for likelihoods by position."""
    track = cut_track(graph, 5.0)
    given = given_at(track)
    model = travel_model(track, DT, given.shape[1])
    return travel_evidence(given[None], model), travel_posterior(given, model)


def assert_same(one, other):
    np.testing.assert_allclose(one[0], other[0], atol=1e-9)
    for name in ("travels", "enters", "speed"):
        np.testing.assert_allclose(getattr(one[1], name), getattr(other[1], name), atol=1e-9)
    senses = [each[1].way.sum(axis=2) for each in (one, other)]
    np.testing.assert_allclose(*senses, atol=1e-9)


@given(SEEDS)
def test_names_of_nodes_do_not_matter(seed):
    graph = make_tmaze_track(40.0, 30.0)
    other = nx.relabel_nodes(graph, {0: "foot", 1: 7, 2: "a", 3: (1, 2)})
    one, two = (
        evidence_of(each, lambda track: drawn(seed, 12, 3 * track.n_bins))
        for each in (graph, other)
    )
    assert_same(one, two)


@given(SEEDS, st.permutations(range(4)))
def test_the_order_of_nodes_and_edges_does_not_matter(seed, order):
    """Likelihoods belong to places and directions, however edges are oriented."""
    graph = make_tmaze_track(40.0, 30.0)
    turned = nx.Graph()
    turned.add_nodes_from((node, graph.nodes[node]) for node in order)
    turned.add_edges_from(graph.edges)
    reference = cut_track(graph, 5.0)
    by_place = drawn(seed, 12, 3 * reference.n_bins).reshape(12, 3, -1)

    def given_at(track):
        bins = project(reference, track.position).bin
        np.testing.assert_allclose(reference.position[bins], track.position, atol=1e-9)
        along = np.array([track.node_position[b] - track.node_position[a] for a, b in track.edges])
        own = np.array(
            [reference.node_position[b] - reference.node_position[a] for a, b in reference.edges]
        )
        same = (along[track.edge] * own[reference.edge[bins]]).sum(axis=1) > 0
        ahead, back, none = by_place[:, 0, bins], by_place[:, 1, bins], by_place[:, 2, bins]
        return np.hstack([np.where(same, ahead, back), np.where(same, back, ahead), none])

    assert_same(*(evidence_of(each, given_at) for each in (graph, turned)))


@given(SEEDS, st.integers(1, 11))
def test_an_edge_may_be_two_edges(seed, at):
    two = make_track_graph([(0, 0), (5 * at, 0), (60, 0)], [(0, 1), (1, 2)])
    one, other = (evidence_of(each, lambda track: drawn(seed, 12, 36)) for each in (LINE, two))
    assert_same(one, other)


@given(SEEDS)
def test_a_factor_of_all_places_does_not_matter(seed):
    """A time bin with more spikes than all fields predict is not more likely to be travel."""
    more = np.random.default_rng(seed).normal(0, 50, (12, 1))
    one, other = (
        evidence_of(LINE, lambda track, each=each: drawn(seed, 12, 36) + each)
        for each in (0.0, more)
    )
    assert_same(one, other)


@given(SEEDS)
def test_forward_and_reverse_change_places_with_the_headings(seed):
    given = drawn(seed, 12, 36).reshape(12, 3, 12)
    one, other = (
        evidence_of(LINE, lambda track, each=each: each.reshape(12, 36))
        for each in (given, given[:, [1, 0, 2]])
    )
    np.testing.assert_allclose(one[0], other[0], atol=1e-9)
    np.testing.assert_allclose(one[1].way, other[1].way[:, [1, 0, 2]], atol=1e-9)


@given(SEEDS)
def test_time_has_no_direction(seed):
    """On a ring exactly: what is forward is reverse of the event played back, as fast.

    On a line travel ends at the ends of the track, and begins anywhere: of 60 ms on 60 cm, the
    evidence of random likelihoods then differs by .3 nats on average.
    """
    ring = make_track_graph([(0, 0), (30, 0), (30, 30), (0, 30)], [(0, 1), (1, 2), (3, 2), (0, 3)])
    for graph, bound in ((ring, 1e-9), (LINE, 2.0)):
        track = cut_track(graph, 5.0)
        given = drawn(seed, 12, 3 * track.n_bins)
        model = travel_model(track, DT, given.shape[1])
        one, other = (travel_evidence(each[None], model) for each in (given, given[::-1]))
        np.testing.assert_allclose(one, other, atol=bound)
        if graph is not LINE:
            ahead, back = (travel_posterior(each, model) for each in (given, given[::-1]))
            np.testing.assert_allclose(ahead.travels, back.travels[::-1], atol=1e-9)
            n = track.n_bins
            opposite = np.append(np.arange(n, 2 * n), np.arange(n))
            played = back.way[::-1][:, [1, 0, 2]][:, :, opposite]
            np.testing.assert_allclose(ahead.way, played, atol=1e-9)


def test_events_do_not_depend_on_those_beside_them():
    track = TRACKS["t"]
    model = travel_model(track, DT, 3 * track.n_bins)
    given = drawn(3, 40 * 9, 3 * track.n_bins).reshape(40, 9, -1)
    found = travel_evidence(given, model)
    alone = [travel_evidence(each[None], model) for each in given]
    np.testing.assert_allclose(found, np.concatenate(alone, axis=1), atol=1e-12)
    order = np.random.default_rng(0).permutation(40)
    moved = travel_evidence(given[order], model)
    np.testing.assert_allclose(moved, np.array(found)[:, order], atol=1e-12)


def test_an_event_may_represent_no_place():
    """As likely as that it represents some: with a likelihood of 0 nothing changes."""
    model = travel_model(TRACKS["line"], DT, 8)
    given = drawn(5, 3 * 9, 8).reshape(3, 9, 8)
    found, never = travel_evidence(given, model), travel_evidence(given, model, [-np.inf] * 3)
    np.testing.assert_array_equal(found, never)
    anew = np.log(np.exp(given).mean(axis=2)).sum(axis=1)
    travels = found.content + anew
    for more in (-2.0, 0.0, 2.0):
        placeless = travels + more
        mixed = travel_evidence(given, model, placeless)
        both = np.exp(travels) + np.exp(placeless)
        without = np.exp(travels - found.travel) + np.exp(placeless)
        np.testing.assert_allclose(mixed.travel, np.log(both / without), atol=1e-9)
        without = np.exp(anew) + np.exp(placeless)
        np.testing.assert_allclose(mixed.content, np.log(np.exp(travels) / without), atol=1e-9)


def test_the_likelihoods_must_fit_the_model():
    model = travel_model(TRACKS["line"], DT, 8)
    with pytest.raises(ValueError, match="must have 8 columns; got 9"):
        travel_evidence(np.zeros((1, 3, 9)), model)
    with pytest.raises(ValueError, match="time bin 1 are NaN"):
        travel_posterior([[0.0] * 8, [np.nan] * 8], model)
    with pytest.raises(ValueError, match="time_bin must be"):
        travel_model(TRACKS["line"], 0.0, 8)


# Stretches, in spikes of cells of which seven in ten have a heading.

WAY = cut_track(make_linear_track(200.0), 5.0)
CELLS = draw_cells(WAY, 50, directional=0.7, weaker=0.1, seed=1)
RATES = np.hstack([CELLS.rates, CELLS.rates.reshape(-1, 2, WAY.n_bins).mean(axis=1)])
MODEL = travel_model(WAY, DT, RATES.shape[1])
GAIN = 2.9


def run(begin, end, cm_per_s, heading):
    """List the states in the time bins of a path."""
    n = max(round(abs(end - begin) / cm_per_s / DT), 1)
    at = np.linspace(begin, end, n)
    bins = np.clip(at / WAY.width[0], 0, WAY.n_bins - 1).astype(int)
    return bins + WAY.n_bins * heading


def elsewhere(rng, seconds, held=(0.04, 0.08)):
    """List the states of other places, each held for a while."""
    states = []
    while len(states) < round(seconds / DT):
        n = round(rng.uniform(*held) / DT)
        states += [int(rng.integers(2 * WAY.n_bins))] * n
    return np.array(states[: round(seconds / DT)], dtype=int)


def found_in(states, rng, gain=GAIN):
    """Draw spikes along states (-1: silence), and find the stretches."""
    expected = np.where(states >= 0, gain, 0.0)[:, None] * RATES[:, np.maximum(states, 0)].T * DT
    likelihoods = log_likelihood(rng.poisson(expected), gain * RATES, DT)
    found = travel_posterior(likelihoods, MODEL)
    return stretches_of(found, MODEL), found


def longest(stretches):
    return max(stretches, key=lambda each: each.last - each.first)


def is_monotone(stretch):
    """Whether a course on a line keeps its direction, and never steps back."""
    moves = np.diff(stretch.ways % WAY.n_bins)
    ahead = stretch.ways < WAY.n_bins
    return len(set(ahead)) == 1 and (moves * (1 if ahead[0] else -1) >= 0).all()


def replayed(seed, before, after):
    """Draw a path from end to end: its stretches, its sense, and where it begins and ends."""
    rng = np.random.default_rng(seed)
    heading, sense = seed % 2, ("forward", "reverse")[seed // 2 % 2]
    ends = (20.0, 180.0) if (heading == 0) == (sense == "forward") else (180.0, 20.0)
    parts = [before(rng), run(*ends, rng.uniform(350, 600), heading), after(rng)]
    stretches, _ = found_in(np.concatenate(parts), rng)
    return stretches, sense, len(parts[0]), len(parts[0]) + len(parts[1])


def test_a_stretch_begins_and_ends_with_its_path():
    """Within 20 ms, with .1 s of other places before and after it; some of these lie on its way."""
    away, senses = [], []
    for seed in range(40):
        others = lambda rng: elsewhere(rng, 0.1)  # noqa: E731
        stretches, sense, begin, end = replayed(seed, others, others)
        own = longest(stretches)
        away += [own.first - begin, own.last - end]
        senses.append(getattr(own, sense) > 0.8)
        assert all(is_monotone(each) for each in stretches)
    assert np.mean(np.abs(away) <= 0.02 / DT) >= 0.8
    assert np.median(np.abs(away)) <= 0.005 / DT
    assert np.mean(senses) >= 0.95


def test_where_nothing_fires_a_path_may_have_begun_and_ended():
    """The stretch reaches into .1 s of silence, and hardly begins late or ends early."""
    senses, inside = [], []
    for seed in range(10):
        stretches, sense, begin, end = replayed(seed, *[lambda rng: np.full(20, -1)] * 2)
        own = longest(stretches)
        inside += [own.first - begin, end - own.last]
        senses.append(getattr(own, sense) > 0.8)
    assert np.mean(np.array(inside) <= 0.02 / DT) >= 0.9
    assert np.mean(senses) >= 0.9


def test_there_and_back_are_two():
    number, turned = [], []
    for seed in range(20):
        there, back = run(30, 170, 450, seed % 2), run(170, 30, 450, 1 - seed % 2)
        stretches, _ = found_in(np.append(there, back), np.random.default_rng(seed))
        number.append(len(stretches))
        turned += [each.first - len(there) for each in stretches[1:]]
        assert all(is_monotone(each) for each in stretches)
        sense = ("forward", "reverse")[seed % 2]
        assert all(getattr(each, sense) > 0.8 for each in stretches)
    assert np.mean(np.array(number) == 2) >= 0.9
    assert np.median(np.abs(turned)) <= 0.01 / DT


def test_silence_and_places_that_are_held_are_no_travel():
    rng = np.random.default_rng(0)
    stretches, found = found_in(np.full(60, -1), rng)
    assert not stretches
    assert found.travels.max() < 0.5
    held = [found_in(elsewhere(rng, 0.4), rng)[0] for _ in range(20)]
    assert np.mean([bool(each) for each in held]) <= 0.2


def test_speeds_are_those_of_the_path():
    for speed in (200.0, 400.0, 1600.0):
        path = run(10, 190, speed, 0)
        each = [found_in(path, np.random.default_rng(seed))[0] for seed in range(10)]
        told = [longest(stretches).speed for stretches in each if stretches]
        assert len(told) >= 8
        assert np.median(told) == pytest.approx(speed, rel=0.05)


def open_field(blocked=lambda x, y: False):
    """Make an arena of 100 x 100 cm without what is blocked."""
    x, y = (each.ravel() + 0.5 for each in np.meshgrid(np.arange(100.0), np.arange(100.0)))
    free = np.array([not blocked(*place) for place in zip(x, y, strict=True)])
    return cut_track(find_arena(np.column_stack([x, y])[free]))


def likely_at(track, places):
    away = np.hypot(*(track.position[None] - places[:, None]).T).T
    return -0.5 * (away / 8.0) ** 2


def test_a_line_across_an_arena_is_a_stretch():
    """In each of some directions, also between those of the model; it goes straight on."""
    track = open_field()
    model = travel_model(track, DT, track.n_bins)
    assert model.state.shape == (1, 12 * 100)  # squares of 10 cm
    for angle in np.deg2rad([0, 20, 45, 110, 250]):
        along = np.linspace(-40, 40, 40)[:, None] * [np.cos(angle), np.sin(angle)] + 50
        likelihoods = likely_at(track, along)
        [own] = stretches_of(travel_posterior(likelihoods, model), model)
        assert (own.first, own.last) == (0, 40)
        assert (own.forward, own.reverse) == (0.0, 0.0)
        reached = track.position[own.ways % track.n_bins]
        assert np.hypot(*(reached - along).T).max() < 10.0
        assert 200 < own.speed < 800
    still = np.repeat([[50.0, 50.0]], 40, axis=0)
    assert not stretches_of(travel_posterior(likely_at(track, still), model), model)


@pytest.mark.parametrize("wall", [50, 55])
def test_travel_does_not_cross_a_wall(wall):
    """It is 10 cm thick, leaves a gap at the top, and lies at the border of squares or in them."""
    track = open_field(lambda x, y: wall <= x < wall + 10 and y < 70)
    model = travel_model(track, DT, track.n_bins)
    is_beside = track.position[:, 1] < 60
    left, right = (
        np.bincount(model.square, is_beside & side) > 0
        for side in (track.position[:, 0] < wall, track.position[:, 0] > wall + 10)
    )
    assert not (left & right).any()
    n_ways = model.state.shape[1]
    squares = np.arange(n_ways) % len(left)
    n_kept = 0
    for begin, lost in zip(model.into.begin, model.lost, strict=True):
        target = squares[np.repeat(np.arange(n_ways), np.diff(begin))]
        source = squares[model.into.other[begin[0] : begin[-1]]]
        assert not (left[source] & right[target]).any()
        assert not (right[source] & left[target]).any()
        weight = model.into.weight[begin[0] : begin[-1]]
        kept = np.bincount(model.into.other[begin[0] : begin[-1]], weight, n_ways)
        np.testing.assert_allclose(kept + lost, 1.0, atol=1e-12)
        n_kept += (kept > 1 - 1e-12).sum()
    assert n_kept > 0.5 * n_ways * len(model.lost)
    through = np.stack([np.linspace(10, 95, 40), np.full(40, 20.0)], axis=1)
    likelihoods = likely_at(track, through)
    for own in stretches_of(travel_posterior(likelihoods, model), model):
        reached = track.position[own.ways % track.n_bins]
        assert len({bool(each) for each in reached[:, 0] > wall + 5}) == 1
