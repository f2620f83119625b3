"""State merging: histories that nothing tells apart are one state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from replay.checks import MOST_STATES, check_whole
from replay.checks.arrays import Bools, Floats, Ints
from replay.encoders.contract import Coder, Encoder, Walk, check_encoder, prepared
from replay.encoders.vectors import KMeans, Refitted, refit_steps
from replay.jit import jitable, kernel

_SPREAD = 0.2  # of the evidence for a merge, by which it is blurred from the third start on
_UNSEEN = 0.01  # observations that are counted beside those that were made


@dataclass(frozen=True)
class StateMerging(Refitted):
    """Hidden states, found by merging histories that nothing tells apart.

    At first each history since the beginning of an episode (what was observed, and done) is a
    state of its own. Two that look alike become one, and with them all that follows the same
    actions and observations after both, unless something was observed after one that never was
    after the other. The merge for which most speaks comes first: what follows both, weighed by how
    rarely it follows their observation [1]_ [2]_. A cue that decides what comes much later is thus
    carried, and sequences that lead to the same place are joined there.

    It is meant for worlds in which actions have certain outcomes and episodes begin in few states.
    Where histories do not tell the state, because something new has happened, the code is that of
    the observation alone, until what follows leaves one state.

    Parameters
    ----------
    most_codes : int, default 1000
        Number of codes; the last ones are for observations alone.
    of : Encoder, optional
        Encodes the single observations; by default, `KMeans` with 30 codes: an observation of a
        few that recur has a code of its own.
    n_before : int, default 10000
        Number of observations of the random walk from which states are learned.
    refit_factor : float, default 1.4
        States are learned again whenever the run has become longer by this factor, from 500 steps
        on, if anything has happened that those known do not explain; infinite: never.
    n_starts : int, default 10
        Number of orders of merging that are tried; the fewest and least surprising outcomes win.

    References
    ----------
    .. [1] Lang, Pearlmutter & Price (1998), Results of the Abbadingo One DFA learning competition
       and a new evidence-driven state merging algorithm. https://doi.org/10.1007/BFb0054059
    .. [2] Holmes & Isbell (2006), Looping suffix tree-based inference of partially observable
       hidden state. https://doi.org/10.1145/1143844.1143896

    Examples
    --------
    >>> StateMerging().n_before
    10000
    """

    most_codes: int = 1000
    of: Encoder = field(default_factory=lambda: KMeans(30))
    n_before: int = 10_000
    refit_factor: float = 1.4
    n_starts: int = 10

    def __post_init__(self) -> None:
        """Check the numbers, and the encoder of single observations."""
        check_encoder("of", self.of)
        check_whole("most_codes", self.most_codes, at_least=2, at_most=MOST_STATES)
        check_whole("n_before", self.n_before, at_least=1)
        check_whole("n_starts", self.n_starts, at_least=1, at_most=1000)
        refit_steps(self.refit_factor)

    def prepare(
        self, walk: Walk, rng: np.random.Generator, previous: _Machine | None = None
    ) -> _Machine:
        """Merge the histories of the walk."""
        single = prepared(self.of, walk, rng, None if previous is None else previous.single)
        if single.n_codes >= self.most_codes:
            raise ValueError(
                f"most_codes must be larger than the number of codes of single observations: got "
                f"{self.most_codes}, and there are {single.n_codes}."
            )
        seen = walk.codes(single)
        most = self.most_codes - single.n_codes
        before = None
        if previous is not None:
            known = _Machine(single, self.most_codes, previous.following)
            before = known.follow(seen, walk)
            if (before < most).all():
                return known
        following = _learn(seen, walk, single.n_codes, most, self.n_starts, rng)
        machine = _Machine(single, self.most_codes, following)
        return machine if before is None else machine.renumbered(machine.follow(seen, walk), before)


class _Machine:
    """States, and which of them follows which, given action and observation; -1 is no state yet."""

    def __init__(
        self, single: Coder, n_codes: int, following: dict[tuple[int, int, int], int]
    ) -> None:
        self.single, self.n_codes, self.following = single, n_codes, following
        looks: dict[int, set[int]] = {}
        for (_, _, seen), state in following.items():
            looks.setdefault(seen, set()).add(state)
        self._looks = looks
        self._possible: set[int] = set()

    def begin(self, observation: Floats) -> int:
        return self._enter(self.single.begin(observation), -1)

    def encode(self, observation: Floats, action: int) -> int:
        return self._enter(self.single.encode(observation, action), action)

    def follow(self, seen: Ints, walk: Walk) -> Ints:
        """Return the codes of a walk; the history so far is kept."""
        kept = self._possible
        codes = np.array(
            [self._enter(one, action) for one, action in zip(seen, walk.action, strict=True)]
        )
        self._possible = kept
        return codes

    def renumbered(self, codes: Ints, before: Ints) -> _Machine:
        """Give each state the code that it had at most moments before."""
        most = self.n_codes - self.single.n_codes
        both = (codes < most) & (before < most)
        agree = np.zeros((most, most))
        np.add.at(agree, (codes[both], before[both]), 1)
        name = [int(code) for code in linear_sum_assignment(agree, maximize=True)[1]] + [-1]
        following = {
            (name[state], action, seen): name[after]
            for (state, action, seen), after in self.following.items()
        }
        return _Machine(self.single, self.n_codes, following)

    def _enter(self, seen: int, action: int) -> int:
        before = self._possible if action >= 0 else {-1}
        after = {self.following.get((state, action, seen), -1) for state in before} - {-1}
        self._possible = after or self._looks.get(seen, set())
        if len(self._possible) == 1:
            return next(iter(self._possible))
        return self.n_codes - self.single.n_codes + seen


def _learn(
    seen: Ints, walk: Walk, n_seen: int, most: int, n_starts: int, rng: np.random.Generator
) -> dict[tuple[int, int, int], int]:
    """Merge the histories of a walk in several orders; return which state follows which."""
    within = ~walk.is_first[1:]
    count = np.full((n_seen, walk.n_actions, n_seen), _UNSEEN / n_seen)
    np.add.at(count, (seen[:-1][within], walk.action[1:][within], seen[1:][within]), 1)
    surprise = -np.log(count / count.sum(axis=2, keepdims=True))
    stays = np.zeros((n_seen, walk.n_actions), dtype=np.bool_)
    free = stays.copy()
    action = np.maximum(walk.action, 0)
    tree, least = _grow(seen, action, walk.is_first, stays)
    # Where the same is seen again after an action, does it change nothing? If that is supposed,
    # histories must not contradict one another more often. The most frequent pairs come first.
    same = np.einsum("iai->ia", count).ravel()
    for pair in np.argsort(-same, kind="stable")[: np.count_nonzero(same >= 1)]:
        stays.flat[pair] = True
        _, n_contradicted = _grow(seen, action, walk.is_first, stays)
        stays.flat[pair] = n_contradicted <= least
    best, found = np.inf, tree
    for start in range(n_starts):
        tree, _ = _grow(seen, action, walk.is_first, free if start % 2 else stays)
        total = _merge(tree, surprise, most, _SPREAD * (start > 1), rng)
        if total < best:
            best, found = total, tree
            most = int(np.count_nonzero(tree.is_state)) - 1  # more would not be better
    number = np.cumsum(found.is_state) - 2  # the root, which is no observation, becomes -1
    following = {}
    for state in np.flatnonzero(found.is_state):
        edge = found.first[state]
        while edge >= 0:
            after = found.target[edge]
            if found.is_state[after]:
                taken = -1 if state == 0 else int(found.action[edge])
                key = (int(number[state]), taken, int(found.seen[edge]))
                following[key] = int(number[after])
            edge = found.sibling[edge]
    return following


class _Tree(NamedTuple):
    """Histories, and the edges that lead to them; an edge has the number of its first target.

    Node 0 is the history before anything was observed.
    """

    first: Ints  # edge that leaves a node; -1 for none
    sibling: Ints  # next edge that leaves the same node
    target: Ints
    n_met: Ints
    action: Ints
    seen: Ints  # what is observed at the end of an edge
    is_state: Bools


@jitable
def _edge_of(tree: _Tree, node: int, action: int, seen: int) -> tuple[int, bool]:
    """Return the edge of an action and observation, and whether the action has been taken."""
    edge, is_taken = tree.first[node], False
    while edge >= 0:
        if tree.action[edge] == action:
            is_taken = True
            if tree.seen[edge] == seen:
                return edge, True
        edge = tree.sibling[edge]
    return -1, is_taken


@kernel
def _grow(seen: Ints, action: Ints, is_first: Bools, stays: Bools) -> tuple[_Tree, int]:
    """Return the tree of all histories, and how often an action had another outcome than before.

    Where `stays`, shape (n_seen, n_actions), an action after which the same is observed again is
    supposed to change nothing.
    """
    n = len(seen) + 1
    none = np.full(n, -1)
    tree = _Tree(
        none, none.copy(), np.arange(n), np.zeros(n, np.int64), none.copy(), none.copy(),
        np.zeros(n, np.bool_),
    )  # fmt: skip
    node, n_edges, n_contradicted = 0, 1, 0
    for moment in range(len(seen)):
        if is_first[moment]:
            node = 0
        taken, now = action[moment], seen[moment]
        edge, is_taken = _edge_of(tree, node, taken, now)
        if edge < 0:
            n_contradicted += is_taken and node > 0
            edge, n_edges = n_edges, n_edges + 1
            tree.action[edge], tree.seen[edge] = taken, now
            tree.sibling[edge], tree.first[node] = tree.first[node], edge
            if node > 0 and now == seen[moment - 1] and stays[now, taken]:
                tree.target[edge] = node
        tree.n_met[edge] += 1
        node = tree.target[edge]
    return tree, n_contradicted


@jitable
def _fold(
    tree: _Tree, into: int, node: int, look: int, surprise: Floats, pairs: Ints, changes: Ints
) -> tuple[float, int]:
    """Merge a node and all that follows it; return how much speaks for it, and what it changed.

    It stops where a node would have an outcome of an action that it never had, though others.
    """
    pairs[0] = (into, node, look)
    n_pairs, n_changes, evidence = 1, 0, 0.0
    while n_pairs > 0:
        n_pairs -= 1
        kept, gone, look = pairs[n_pairs]
        edge = tree.first[gone]
        while edge >= 0:
            following = tree.sibling[edge]
            action, seen, target = tree.action[edge], tree.seen[edge], tree.target[edge]
            same, is_taken = _edge_of(tree, kept, action, seen)
            if same >= 0:
                changes[n_changes] = (same, tree.n_met[same], -1, -1)
                tree.n_met[same] += tree.n_met[edge]
                evidence += surprise[look, action, seen]
                if target != gone:
                    pairs[n_pairs] = (tree.target[same], target, seen)
                    n_pairs += 1
            elif is_taken:
                return -np.inf, n_changes
            else:
                changes[n_changes] = (edge, target, kept, following)
                tree.sibling[edge], tree.first[kept] = tree.first[kept], edge
                if target == gone:
                    tree.target[edge] = kept
            n_changes += 1
            edge = following
    return evidence, n_changes


@jitable
def _undo(tree: _Tree, n_changes: int, changes: Ints) -> None:
    """Take back what `_fold` changed."""
    for number in range(n_changes - 1, -1, -1):
        edge, before, kept, following = changes[number]
        if kept < 0:
            tree.n_met[edge] = before
        else:
            tree.first[kept] = tree.sibling[edge]
            tree.sibling[edge], tree.target[edge] = following, before


@jitable
def _total_surprise(tree: _Tree, surprise: Floats) -> float:
    """Return the surprise of all different outcomes, those of histories that remain included."""
    n = len(tree.first)
    reached, look = np.zeros(n, np.bool_), np.full(n, -1)
    waiting = np.zeros(n, np.int64)
    n_waiting, total = 1, 0.0
    reached[0] = True
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        edge = tree.first[node]
        while edge >= 0:
            if node > 0:
                total += surprise[look[node], tree.action[edge], tree.seen[edge]]
            target = tree.target[edge]
            if not reached[target]:
                reached[target], look[target] = True, tree.seen[edge]
                waiting[n_waiting] = target
                n_waiting += 1
            edge = tree.sibling[edge]
    return total


@kernel
def _merge(
    tree: _Tree, surprise: Floats, most: int, spread: float, rng: np.random.Generator
) -> float:
    """Make histories states, or merge them with states; return the surprise of all that is left.

    A history that agrees with no state is made one at once, the most frequent first; otherwise the
    merge for which most speaks comes first.
    """
    n = len(tree.first)
    pairs, changes = np.empty((n + 1, 3), np.int64), np.empty((n + 1, 4), np.int64)
    states, look = np.zeros(most + 1, np.int64), np.full(n, -1)
    n_states = 1
    tree.is_state[0] = True
    while True:
        # Look at each history that follows a state by one action and observation.
        most_evidence, merged, into, new, most_met = -np.inf, -1, -1, -1, 0
        for number in range(n_states):
            edge = tree.first[states[number]]
            while edge >= 0:
                node, seen = tree.target[edge], tree.seen[edge]
                if not tree.is_state[node]:
                    agrees = False
                    for other in states[1:n_states]:  # those that look the same
                        if look[other] != seen:
                            continue
                        # Merge on trial: the evidence is known only when all below is folded.
                        tree.target[edge] = other
                        evidence, n_changes = _fold(
                            tree, other, node, seen, surprise, pairs, changes
                        )
                        _undo(tree, n_changes, changes)
                        tree.target[edge] = node
                        if evidence == -np.inf:
                            continue
                        agrees = True
                        if spread > 0:  # other merges come first in other attempts
                            evidence *= 1 + spread * rng.standard_normal()
                        if evidence > most_evidence:
                            most_evidence, merged, into = evidence, edge, other
                    if not agrees and tree.n_met[edge] > most_met:
                        new, most_met = edge, tree.n_met[edge]
                edge = tree.sibling[edge]
        # New states first: what is merged before all states are known may be merged wrongly.
        if new >= 0:
            if n_states > most:
                break
            node = tree.target[new]
            tree.is_state[node], look[node], states[n_states] = True, tree.seen[new], node
            n_states += 1
        elif merged >= 0:
            node = tree.target[merged]
            tree.target[merged] = into
            _fold(tree, into, node, look[into], surprise, pairs, changes)
        else:
            break
    return _total_surprise(tree, surprise)
