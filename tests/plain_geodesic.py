"""A plain version of gain x need over possible goals: matrices, computed anew at each backup."""

import numpy as np

__all__ = ["PlainMap"]

NEAR = 1e-6


class PlainMap:
    """G of known goals, in a world where each pair of state and action leads to one state.

    Pairs that lead to -1 are not known. Places are states, and ways are lists of pairs.
    """

    def __init__(self, next_state, goals, likely, params):
        self.next_state, self.goals = np.asarray(next_state), list(goals)
        self.known = self.next_state >= 0
        self.likely, self.params = np.asarray(likely), params
        self.G = np.zeros((len(goals), *self.next_state.shape))

    def policy(self, values):
        """Give the probability of each action in each state."""
        values = np.where(self.known, values, -np.inf)
        best = values.max(axis=1, keepdims=True)
        best[np.isinf(best)] = 0.0
        if self.params["policy"] == "greedy":
            weights = (values == best).astype(float)
        else:
            weights = np.exp(self.params["inverse_temperature"] * (values - best))
        return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)

    def need(self, j, begin):
        """Count visits on the way to a goal, where it ends."""
        n = len(self.next_state)
        policy = self.policy(self.G[j])
        T = np.zeros((n, n))
        for s, a in np.argwhere(self.known):
            if s != self.goals[j]:
                T[s, self.next_state[s, a]] += policy[s, a]
        return begin @ np.linalg.inv(np.eye(n) - self.params["discount"] * T)

    def target(self, j, s_next):
        """Give what entering a state teaches about a goal."""
        return 1.0 if s_next == self.goals[j] else self.params["discount"] * self.G[j, s_next].max()

    def is_best(self, j, s, a):
        return self.G[j, s, a] >= self.G[j, s].max() - NEAR

    def led_here(self, j, s, path):
        """Give the last moves of a path, as far as they were best ones and led to s, last first."""
        found, here = [], s
        for u, b in reversed(path):
            if (here == self.goals[j] and not found) or u == self.goals[j]:
                break
            if self.next_state[u, b] != here or not self.is_best(j, u, b):
                break
            found.append((u, b))
            here = u
        return found

    def after(self, j, s, a, path):
        """Give G of a goal as it will be after a backup."""
        after = self.G[j].copy()
        change = self.params["replay_rate"] * (
            self.target(j, self.next_state[s, a]) - self.G[j, s, a]
        )
        after[s, a] += change
        if self.is_best(j, s, a):
            for i, (u, b) in enumerate(self.led_here(j, s, path)):
                after[u, b] += self.params["discount"] ** (i + 1) * change
        return after

    def gain(self, j, s, a, path):
        """Return the gain of a backup on the way to a goal, over all states that it updates."""
        if s == self.goals[j]:
            return 0.0
        after = self.after(j, s, a, path)
        before, then = self.policy(self.G[j]), self.policy(after)
        places = [s, *(u for u, _ in self.led_here(j, s, path))]
        earned = ((then - before) * np.where(self.known, after, 0.0)).sum(axis=1)
        return earned[places].sum()

    def priorities(self, begin, path):
        """Give the expected value of each pair, as a table; 0 where nothing is known."""
        found = np.zeros(self.next_state.shape)
        for j, likely in enumerate(self.likely):
            need = self.need(j, begin)
            for s, a in np.argwhere(self.known):
                found[s, a] += likely * need[s] * self.gain(j, s, a, path)
        return found

    def back_up(self, s, a, path):
        """Learn from a pair; the path then has it too."""
        self.G = np.array([self.after(j, s, a, path) for j in range(len(self.goals))])
        if path and self.next_state[path[-1]] != s:
            path.clear()
        path.append((s, a))
