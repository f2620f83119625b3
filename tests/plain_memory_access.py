"""A plain, slow version of prioritized memory access: matrices, computed anew at each backup.

It has the parameters of the learner, acts in a deterministic world with its own random draws, and
records every outcome, as the files in ``reference/memory_access_*`` do.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from replay.learners import find_learner

__all__ = ["Record", "simulate_plainly"]


class Record(NamedTuple):
    """Steps to be fed, a row for each backup (and for each pause that ended early), the last Q."""

    transitions: pd.DataFrame
    backups: pd.DataFrame
    action_values: np.ndarray


class _Animal:
    def __init__(self, mdp, params, rng, starts):
        self.options = find_learner("prioritized_memory_access", params).parameters
        self.rng = rng
        shape = (mdp.n_states, mdp.n_actions)
        self.leads_to = np.full(shape, -1)
        self.earns = np.zeros(shape)
        self.Q = np.zeros(shape)
        self.T = np.zeros((mdp.n_states, mdp.n_states))
        if self.options["pre_explored"]:
            for s, a in np.argwhere(np.broadcast_to(~mdp.terminal[:, None], shape)):
                self.leads_to[s, a] = mdp.successors(s, a)[0]
                self.T[s, self.leads_to[s, a]] += 1 / mdp.n_actions
        for goal in np.flatnonzero(mdp.terminal):
            self.T[goal, starts[goal]] = 1 / len(starts[goal])

    def policy(self, values, name):
        if name == "softmax":
            weights = np.exp(self.options["inverse_temperature"] * values)
            return weights / weights.sum()
        best = values == values.max()
        epsilon = self.options["epsilon"]
        return (1 - epsilon) * best / best.sum() + epsilon / len(values)

    def draw(self, shares):
        return int(self.rng.choice(len(shares), p=shares / shares.sum()))

    def move(self, s, s_next):
        if not self.T[s].any():
            self.T[s, s_next] = 1.0
        self.T[s] += self.options["transition_rate"] * (np.eye(len(self.T))[s_next] - self.T[s])

    def learn(self, s, a, r, s_next):
        options = self.options
        self.move(s, s_next)
        self.leads_to[s, a], self.earns[s, a] = s_next, r
        target = r + options["discount"] * self.Q[s_next].max()
        self.Q[s, a] += options["learning_rate"] * (target - self.Q[s, a])

    def target(self, path, step):
        discount = self.options["discount"]
        end = self.leads_to[path[-1]]
        rewards = [discount**i * self.earns[pair] for i, pair in enumerate(path[step:])]
        later = discount ** len(rewards) * self.Q[end].max()
        return sum(rewards) + later

    def after(self, path, step):
        """Give Q as it will be after a backup of one step."""
        Q = self.Q.copy()
        Q[path[step]] += self.options["learning_rate"] * (self.target(path, step) - Q[path[step]])
        return Q

    def gains(self, path):
        gains = []
        for step, (s, _) in enumerate(path):
            Q = self.after(path, step)
            gains.append((self.policy(Q[s], "softmax") - self.policy(self.Q[s], "softmax")) @ Q[s])
        return gains

    def need(self, origin):
        identity = np.eye(len(self.T))
        if self.options["need"] == "successor_representation":
            return np.linalg.inv(identity - self.options["discount"] * self.T)[origin]
        if self.options["need"] == "stationary_distribution":
            # Half of the mass stays, so that periodic chains have a limit too.
            long = np.linalg.matrix_power((identity + self.T) / 2, 2**40)
            return long.mean(axis=0) / long.mean(axis=0).sum()
        return np.ones(len(self.T)) if self.options["need"] == "one" else identity[origin]

    def worth(self, path, need, gains):
        if not self.options["use_gain"]:
            return need[path[-1][0]]
        return need[path[-1][0]] * sum(max(gain, self.options["gain_floor"]) for gain in gains)

    def extension(self, path):
        """Draw the action that extends a path; give it, and the longer path if there is one."""
        end = self.leads_to[path[-1]]
        a = self.draw((self.Q[end] == self.Q[end].max()).astype(float))
        s_next = self.leads_to[end, a]
        visited = {s for s, _ in path} | {end}
        if s_next < 0 or s_next in visited:
            return a, None
        return a, [*path, (end, a)]

    def replay(self, origin):
        """Give a row for each backup; the last one has no path if nothing more is worth it."""
        options = self.options
        path, need = [], self.need(origin)
        least = options["min_priority"]
        for _ in range(options["max_backups"]):
            paths = [
                [(s, a)]
                for s, a in np.argwhere(self.leads_to >= 0).tolist()
                if self.leads_to[s, a] != s
            ]
            n_single = len(paths)
            extending, extended = -1, None
            if path and options["n_step"]:
                extending, extended = self.extension(path)
                paths += [extended] if extended else []
            gains = [self.gains(path) for path in paths]
            worth = np.array(
                [self.worth(path, need, gain) for path, gain in zip(paths, gains, strict=True)]
            )
            known = {
                "need": need,
                "Q": self.Q.copy(),
                "extending": extending,
                "extended": worth[-1] if extended else -1.0,
                "best": worth[:n_single].max(initial=-1.0),
                "n_single": n_single,
                "least": least,
            }
            if worth.max(initial=-1.0) <= least:
                yield known | {
                    "path": [],
                    "leads_to": -1,
                    "gain": [],
                    "q_after": [],
                    "priority": np.nan,
                }
                return
            # What is equal by reckoning is seldom equal to the last bit.
            best = np.flatnonzero(np.isclose(worth, worth.max(), rtol=1e-12, atol=0))
            if len(best) > 1 and best[-1] == n_single:
                best = best[:-1]
            chosen = int(self.rng.choice(best))
            path = paths[chosen]
            made = {"path": path, "gain": gains[chosen], "priority": worth[chosen], "q_after": []}
            made["leads_to"] = self.leads_to[path[-1]]
            if not options["use_gain"]:
                made["gain"] = [1.0] * len(path)
            for step in range(len(path)):
                self.Q = self.after(path, step)
                made["q_after"].append(self.Q[path[step]])
            yield known | made


def starts_after(mdp):
    """Say where episodes may start after each goal: on a track, where this way ends."""
    starts = np.flatnonzero(mdp.start_probability)
    row = np.array([y for _, y in mdp.labels])
    goals = np.flatnonzero(mdp.terminal)
    return {goal: starts[row[starts] != row[goal]] if len(goals) > 1 else starts for goal in goals}


def simulate_plainly(mdp, params=None, *, n_episodes=5, sd=0.1, seed=0):
    """Run one animal; the reward at the goal has this standard deviation."""
    rng = np.random.default_rng(seed)
    starts = starts_after(mdp)
    animal = _Animal(mdp, params, rng, starts)
    options = animal.options
    late, at = options["one_step_late"], options["replay_at"]
    steps, backups = [], []
    s = int(rng.choice(np.flatnonzero(mdp.start_probability)))
    rewarded, is_first, n_ended = False, False, 0

    def pause(origin):
        if rewarded:
            backups.extend({"step": len(steps) - 1, **made} for made in animal.replay(origin))

    while n_ended < n_episodes:
        a = animal.draw(animal.policy(animal.Q[s], options["act_policy"]))
        s_next = int(mdp.successors(s, a)[0])
        ended = bool(mdp.terminal[s_next])
        r = max(rng.normal(1.0, sd), 0.0) if ended else 0.0
        animal.learn(s, a, r, s_next)
        rewarded = rewarded or r > 0.0
        here = int(rng.choice(starts[s_next])) if ended else s_next
        steps.append((s, a, r, s_next, ended, here))
        if at == "step" or ended or (at in ("pauses", "start_and_end") and late and is_first):
            pause(s if late else s_next)
        if ended:
            animal.move(s_next, here)
            if at in ("pauses", "start_and_end") and not late:
                pause(here)
            n_ended += 1
        is_first, s = ended, here
    columns = ["state", "action", "reward", "next_state", "terminated", "start_state"]
    return Record(pd.DataFrame(steps, columns=columns), pd.DataFrame(backups), animal.Q)
