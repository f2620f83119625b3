"""Act in an environment whose observations an encoder turns into states."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replay.checks import MOST_STATES, check_array, check_fits, check_number, check_whole, shown
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.encoders.contract import Coder, Encoder, Walk, check_encoder, prepared
from replay.jit import address_of
from replay.learners.contract import Learner, Sizes
from replay.log.event_log import EventLog
from replay.simulation.driver import Driver, LogWriter, replay_stream, way_back
from replay.simulation.loop import STEP_ROW, Given
from replay.worlds.mdp import MDP

if TYPE_CHECKING:
    from gymnasium import Env


_SHARED = "codes_of_several_states"
_PURE = 0.95  # of the observations of a code are of one state


class EncodedRun(NamedTuple):
    """What is left of a run; see `Run`."""

    log: EventLog
    memory: Any
    window_rewards: Floats
    codes: pd.DataFrame
    places: pd.DataFrame
    changes: pd.DataFrame


def act_encoded(
    environment: Env[Any, Any],
    learner: Learner,
    encoder: Encoder,
    window_ends: Ints,
    longest: int,
    seed: int,
    log: str,
) -> EncodedRun:
    """Let a learner act in an environment, step by step, until the last window ends."""
    n_steps = int(window_ends[-1])
    observed = _Observed(environment, int(_stream(seed, 1).generate_state(1)[0]))
    # Streams of their own: an encoder that draws more numbers changes no outcomes.
    walk_rng, coder_rng = (np.random.default_rng(_stream(seed, key)) for key in (2, 3))
    check_encoder("encoder", encoder)
    n_before = check_whole("n_before of the encoder", encoder.n_before, at_least=0, at_most=10**9)
    refits = (check_whole("refit_at of the encoder", step) for step in encoder.refit_at)
    refit_at = frozenset(takewhile(lambda step: step < n_steps, refits))  # it may have no end
    walk = observed.walk(max(n_before, 1), walk_rng)
    coder = prepared(encoder, walk, coder_rng)
    n_codes, n_actions = _n_codes(coder), observed.n_actions
    rng, pauses = np.random.default_rng(seed), replay_stream(seed) if learner.replays else None

    def begin(keep: str, coder: Coder) -> Driver:
        writer = LogWriter(keep, learner, name=observed.name, seed=seed, n_steps=n_steps)
        sizes = _sizes(learner, coder, n_actions, n_steps, longest)
        return Driver(learner, sizes, writer, rng=rng, replay_rng=pauses, window_ends=window_ends)

    driver = begin(log, coder)
    writer = driver.writer  # kept when the learner begins anew
    rows = writer.steps if writer.keeps_any else np.zeros(n_steps, STEP_ROW)
    history = _History(walk, n_steps, refit_at)
    acting = _Acting(driver, observed, history, coder, rows, min(longest, n_steps))
    driver.begin(acting.code)
    address, _kept = address_of(acting.step)  # the function must live as long as its address
    given = Given(rows, acting.unknown, acting.start, address)
    for until, step in pairwise([0, *sorted({*refit_at, n_steps})]):
        driver.feed(given.rows(until, step))
        if step not in refit_at:
            break
        new = acting.refit(encoder, coder_rng, step)
        if new is not None:
            again = begin("none", acting.coder)
            _learn_again(again, rows[:step], new, history.is_first, driver.action)
            again.writer, driver = writer, again
            acting.driver, acting.code = again, int(new[-1])
    if learner.description.needs_episodes and not observed.has_ended:
        raise ValueError(
            f"{learner.name!r} learns at an episode's end, but no episode of {observed.name!r} "
            f"ended in {n_steps} steps: run more steps, or choose another learner."
        )
    event_log, changes, places = driver.finish(), history.changes(), history.places()
    last = places.drop_duplicates("code", keep="last")
    world: MDP | None = None
    about = {
        "encoder": type(encoder).__name__,
        "learned_again_after": changes["step"].unique().tolist(),
        _SHARED: last.loc[last["share"] < _PURE, "code"].tolist(),
    }
    if writer.keeps_any:
        world = history.world(rows["reward"], last, n_codes, n_actions, f"codes of {observed.name}")
    event_log = replace(event_log, provenance={**event_log.provenance, **about}, mdp=world)
    memory, rewards = driver.memory, driver.clock.rewards[:-1]
    return EncodedRun(event_log, memory, rewards, history.codes(), places, changes)


def _sizes(learner: Learner, coder: Coder, n_actions: int, n_steps: int, longest: int) -> Sizes:
    """Return the sizes for which a learner needs room that learns the codes of a coder."""
    n_codes = coder.n_codes
    # Learners never leave a terminal state: what is seen at an end has codes of its own.
    n_states = 2 * n_codes
    check_fits(8 * n_states * n_actions, f"the values of {n_codes} codes")
    most = min(n_steps, n_states * n_actions * n_states)
    ways, near = way_back(learner, None, n_actions), getattr(coder, "neighbours", None)
    neighbours = None
    if near is not None and getattr(learner.params, "n_nearest", 0) > 0:
        what = "neighbours() of the encoder"
        neighbours = check_array(
            near(), what, kind="whole", at_least=0, at_most=n_codes - 1, n_dims=2
        )
        if neighbours.shape[0] != n_codes:
            raise ValueError(
                f"{what} must have one row for each of {n_codes} codes: {neighbours.shape}."
            )
        neighbours = np.ascontiguousarray(neighbours, dtype=np.int32)
    longest = min(longest, n_steps)
    return Sizes(n_states, n_actions, most, longest, min(n_steps, most), ways, neighbours)


def _learn_again(
    driver: Driver, rows: NDArray[np.void], codes: Int32s, is_first: Bools, action: int
) -> None:
    """Let a learner that knows nothing learn all steps of a run, in other codes."""
    entered = np.flatnonzero(~is_first)
    steps = rows.copy()
    steps["state"], steps["next_state"] = codes[entered - 1], codes[entered]
    start = np.append(steps["state"][1:], codes[-1])
    following = np.append(steps["action"][1:], action).astype(np.int32)
    driver.clock.state[0], driver.clock.action[0] = codes[0], steps["action"][0]
    driver.feed(Given(steps, following, start))
    driver.clock.state[0], driver.clock.action[0] = codes[-1], action


class _Acting:
    """Steps in an environment, which the compiled loop asks for one by one."""

    def __init__(
        self,
        driver: Driver,
        observed: _Observed,
        history: _History,
        coder: Coder,
        rows: NDArray[np.void],
        longest: int,
    ) -> None:
        self._observed, self._history, self._longest = observed, history, longest
        self.coder, self._n_codes, self._rows = coder, coder.n_codes, rows
        self.driver, self._n, self._in_episode = driver, 0, 0
        self.start = np.zeros(len(rows), np.int32)
        self.unknown = np.full(len(rows), -1, np.int32)
        self.code = self._begin()

    def step(self, action: int) -> int:
        """Take an action, and write what came of it; 1 if that failed."""
        n, n_codes = self._n, self._n_codes
        try:
            seen, reward, terminated, truncated = self._observed.step(action)
            self._in_episode += 1
            truncated = not terminated and (truncated or self._in_episode == self._longest)
            code = _code_of(n_codes, self.coder.encode(seen.copy(), action))
            entered = code + terminated * n_codes  # what is seen at an end has a code of its own
            self._history.add(seen, action, entered, self._observed.info, terminated)
            self._rows[n] = (reward, self.code, action, entered, terminated, truncated)
            self.code = self._begin() if terminated or truncated else entered
            self.start[n], self._n = self.code, n + 1
        except BaseException as error:  # it cannot pass through compiled code
            self.driver.error = error
            return 1
        return 0

    def refit(self, encoder: Encoder, rng: np.random.Generator, step: int) -> Int32s | None:
        """Fit the encoder again; return the run so far in new codes, None if all are as before."""
        self.coder = prepared(encoder, self._history.walk(self._rows["reward"]), rng, self.coder)
        if _n_codes(self.coder) != self._n_codes:
            raise ValueError(
                f"An encoder must keep its number of codes: it had {self._n_codes}, and has "
                f"{self.coder.n_codes} after {step} steps."
            )
        return self._history.encode_again(self.coder)

    def _begin(self) -> int:
        seen = self._observed.reset()
        code = _code_of(self._n_codes, self.coder.begin(seen.copy()))
        self._history.add(seen, -1, code, self._observed.info)
        self._in_episode = 0
        return code


def _stream(seed: int, key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(key,))


def _n_codes(coder: Coder) -> int:
    return check_whole(
        "n_codes of the encoder", getattr(coder, "n_codes", None), at_least=1, at_most=MOST_STATES
    )


def _code_of(n_codes: int, code: object) -> int:
    # The tests of types come first since they run at each step: full checks take longer than it.
    if type(code) is int and 0 <= code < n_codes:
        return code
    return check_whole("A code of the encoder", code, at_most=n_codes - 1)


def _flag(name: str, value: object) -> bool:
    if type(value) is bool:
        return value
    return bool(check_array([value], f"{name} of the environment", kind="flag")[0])


class _Observed:
    """An environment whose observations are checked, and have one dimension."""

    def __init__(self, environment: Env[Any, Any], seed: int) -> None:
        if not (hasattr(environment, "reset") and hasattr(environment, "step")):
            raise TypeError(
                "With an encoder the world must be a Gymnasium environment, got "
                f"{shown(environment)}: gymnasium.make(name) makes one."
            )
        n_actions = getattr(getattr(environment, "action_space", None), "n", None)
        if n_actions is None:
            raise ValueError(
                "Learners choose among numbered actions, so the action_space must be Discrete(n); "
                f"got {shown(getattr(environment, 'action_space', None))}. Divide continuous "
                "actions into a few, with an ActionWrapper."
            )
        spec = getattr(environment, "spec", None)
        self.environment, self.n_actions = environment, int(n_actions)
        self._first_action = int(getattr(environment.action_space, "start", 0))
        self.name = spec.id if spec else type(environment).__name__
        self.info: Mapping[str, Any] = {}
        self._seed: int | None = seed
        self._shape: tuple[int, ...] | None = None
        self.has_ended = False

    def reset(self) -> Floats:
        """Begin an episode; only the first one of all is seeded."""
        found: Any = self.environment.reset(seed=self._seed)
        self._seed = None
        if not (isinstance(found, tuple) and len(found) == 2):
            raise TypeError(
                "reset() of the environment must return (observation, info), as Gymnasium 1 does; "
                f"got {shown(found)}."
            )
        self.info = found[1] if isinstance(found[1], Mapping) else {}
        return self._checked(found[0])

    def step(self, action: int) -> tuple[Floats, float, bool, bool]:
        """Take an action; return observation, reward, and whether the episode has ended."""
        found: Any = self.environment.step(action + self._first_action)
        if not (isinstance(found, tuple) and len(found) == 5):
            raise TypeError(
                "step() of the environment must return (observation, reward, terminated, "
                f"truncated, info), as Gymnasium 1 does; got {shown(found)}."
            )
        observation, reward, terminated, truncated, info = found
        self.info = info if type(info) is dict or isinstance(info, Mapping) else {}
        terminated, truncated = _flag("terminated", terminated), _flag("truncated", truncated)
        if terminated:
            self.has_ended = True
        amount = reward
        if type(reward) is not float or not math.isfinite(reward):
            amount = check_number("A reward of the environment", reward)
        return self._checked(observation), amount, terminated, truncated

    def walk(self, n_observations: int, rng: np.random.Generator) -> Walk:
        """Walk at random; episodes that end begin again."""
        seen, actions, rewards, has_ended = [self.reset()], [-1], [0.0], False
        check_fits(16 * n_observations * seen[0].size, f"a walk of {n_observations} observations")
        while len(seen) < n_observations:
            # No action leads to the first observation of an episode.
            action = -1 if has_ended else int(rng.integers(self.n_actions))
            if has_ended:
                observation, reward, has_ended = self.reset(), 0.0, False
            else:
                observation, reward, *ends = self.step(action)
                has_ended = any(ends)
            seen.append(observation)
            actions.append(action)
            rewards.append(reward)
        taken = np.array(actions)
        return Walk(np.array(seen), taken < 0, taken, self.n_actions, np.array(rewards))

    def _checked(self, observation: object) -> Floats:
        if type(observation) is np.ndarray and observation.dtype.kind in "fiu":
            seen: Floats = observation.astype(np.float64).ravel()
            if observation.shape == self._shape and math.isfinite(seen.dot(seen)):
                return seen  # what is not finite, or very large, is looked at below
        if isinstance(observation, Mapping | str | bytes):
            raise ValueError(
                f"Observations must be numbers or arrays of numbers, got {shown(observation)}: "
                "gymnasium.wrappers.FlattenObservation makes arrays of dictionaries and texts."
            )
        found = check_array(observation, "An observation", kind="number", n_dims=None)
        if self._shape is None:
            self._shape = found.shape
        elif found.shape != self._shape:
            raise ValueError(
                f"All observations must have one shape: the first had {self._shape}, and now one "
                f"has {found.shape}."
            )
        return np.ascontiguousarray(found, dtype=np.float64).ravel()


class _History:
    """What was observed at each moment of a run: at each step, and when an episode begins."""

    def __init__(self, before: Walk, n_steps: int, refit_at: frozenset[int]) -> None:
        n = 2 * n_steps + 1  # an episode may end at each step, and each begins with a moment
        n_features = before.observations.shape[1] if refit_at else 0
        check_fits(8 * n * (n_features + 4), f"the observations of {n_steps} steps")
        self._before, self._n = before, 0
        self._observations = np.empty((n, n_features))
        self._action = np.zeros(n, dtype=np.int64)
        self._code = np.zeros(n, dtype=np.int32)
        self._is_end = np.zeros(n, dtype=np.bool_)
        self._state = np.full(n, -1, dtype=np.int32)
        self._position = np.full((n, 2), np.nan)
        self._refitted: list[Int32s] = []  # the moments until each refit, in its codes
        self._changes: list[pd.DataFrame] = []

    def add(
        self, seen: Floats, action: int, code: int, info: Mapping[str, Any], is_end: bool = False
    ) -> None:
        """Keep an observation and the action that led to it; -1 for the first of an episode."""
        n = self._n
        if self._observations.size:
            self._observations[n] = seen
        self._action[n], self._code[n], self._is_end[n], self._n = action, code, is_end, n + 1
        if "state" in info:
            state = check_whole("info['state']", info["state"], at_least=0, at_most=MOST_STATES)
            self._state[n] = state
        if "position" in info:
            place = check_array(info["position"], "info['position']", kind="number", n_dims=None)
            if place.shape != (2,):
                raise ValueError(
                    f"info['position'] must be x and y, got {shown(info['position'])}."
                )
            self._position[n] = place

    @property
    def is_first(self) -> Bools:
        """Whether an episode begins with each observation of the run."""
        return self._action[: self._n] < 0

    def walk(self, rewards: Floats) -> Walk:
        """Return what was observed before the run and in it, given the rewards of its steps."""
        before, n = self._before, self._n
        reward = np.zeros(n)
        entered = np.flatnonzero(~self.is_first)
        reward[entered] = rewards[: len(entered)]
        return Walk(
            observations=np.concatenate([before.observations, self._observations[:n]]),
            is_first=np.concatenate([before.is_first, self.is_first]),
            action=np.concatenate([before.action, self._action[:n]]),
            n_actions=before.n_actions,
            reward=np.concatenate([before.reward, reward]),
        )

    def encode_again(self, coder: Coder) -> Int32s | None:
        """Encode the run so far in new codes; None if all are as they were."""
        codes = np.empty(self._n, dtype=np.int32)
        for k in range(self._n):
            seen, action = self._observations[k].copy(), int(self._action[k])
            code = coder.begin(seen) if action < 0 else coder.encode(seen, action)
            codes[k] = _code_of(coder.n_codes, code) + self._is_end[k] * coder.n_codes
        before = self._refitted[-1] if self._refitted else codes[:0]
        before = np.append(before, self._code[len(before) : self._n])
        if np.array_equal(codes, before):
            return None
        self._refitted.append(codes)
        step = np.count_nonzero(~self.is_first) - 1
        pairs = pd.DataFrame({"step": step, "before": before, "after": codes})
        self._changes.append(pairs.value_counts(sort=False).rename("n_met").reset_index())
        self._code[self._n - 1] = codes[-1]
        return codes

    def _encodings(self) -> Iterator[Int32s]:
        """Give, for each number of refits, the codes of all moments until the next refit."""
        ends = [*(len(codes) for codes in self._refitted), self._n]
        for codes, end in zip([self._code[:0], *self._refitted], ends, strict=True):
            yield np.append(codes, self._code[len(codes) : end])

    def world(
        self, reward: Floats, places: pd.DataFrame, n_codes: int, n_actions: int, name: str
    ) -> MDP:
        """Return the world as it was met: the frequency and mean reward of moves between codes.

        What was not tried leaves a code as it is. `places` has one row for each code.
        """
        n_states = int(places["code"].max()) + 1
        is_end = np.isin(np.arange(n_states), places["code"][places["code"] >= n_codes])
        moves, rewards = [], []
        for codes in self._encodings():
            entered = np.flatnonzero(~self.is_first[: len(codes)])
            pair = codes[entered - 1] * n_actions + self._action[entered]
            moves.append(pair * n_states + codes[entered])
            rewards.append(reward[: len(entered)])
        untried = np.repeat(~is_end, n_actions)
        untried[np.concatenate(moves) // n_states] = False
        pair = np.flatnonzero(untried)
        every = np.concatenate([*moves, pair * n_states + pair // n_actions])
        earned = np.concatenate([*rewards, np.zeros(len(pair))])
        move, number, n_made = np.unique(every, return_inverse=True, return_counts=True)
        pair, end = np.divmod(move, n_states)
        begun = np.bincount(self._code[: self._n][self.is_first], minlength=n_states)
        at = np.zeros((n_states, 2)) + places[["x", "y"]].to_numpy()[0]  # codes that were not met
        at[places["code"]] = places[["x", "y"]]
        return MDP.from_transitions(
            pair // n_actions,
            pair % n_actions,
            end,
            n_made / np.bincount(pair, n_made)[pair],
            np.bincount(number, earned) / n_made,
            start_probability=begun / begun.sum(),
            terminal=is_end,
            action_names=map(str, range(n_actions)),
            position=at if np.isfinite(at).all() else None,
            name=name,
        )

    def codes(self) -> pd.DataFrame:
        """Return the table that `Run.codes` describes."""
        entered = np.flatnonzero(~self.is_first)
        left = entered - 1
        refits = np.array([len(codes) for codes in self._refitted], dtype=np.int64)
        return pd.DataFrame(
            {
                "step": np.arange(len(entered)),
                "code": self._code[left],
                "n_refits": np.searchsorted(refits, entered, side="right").astype(np.int32),
                "state": self._state[left],
                "next_state": self._state[entered],
                "x": self._position[left, 0],
                "y": self._position[left, 1],
            }
        )

    def changes(self) -> pd.DataFrame:
        """Return the table that `Run.changes` describes."""
        columns = ["n_refits", "step", "before", "after", "n_met"]
        tables = [
            pairs.assign(n_refits=number + 1)[columns] for number, pairs in enumerate(self._changes)
        ]
        return pd.concat(tables or [pd.DataFrame(columns=columns, dtype=np.int64)])

    def places(self) -> pd.DataFrame:
        """Return the table that `Run.places` describes."""
        met_at = pd.concat(
            pd.DataFrame(
                {
                    "n_refits": n_refits,
                    "code": codes,
                    "state": self._state[: len(codes)],
                    "x": self._position[: len(codes), 0],
                    "y": self._position[: len(codes), 1],
                }
            )
            for n_refits, codes in enumerate(self._encodings())
        )
        by = ["n_refits", "code"]
        table = met_at.groupby(by).agg(x=("x", "mean"), y=("y", "mean"), n_met=("state", "size"))
        most = met_at.value_counts([*by, "state"]).reset_index()
        most = most.sort_values(["count", "state"], ascending=[False, True], kind="stable")
        most = most.drop_duplicates(by).set_index(by)
        table["state"], table["share"] = most["state"], most["count"] / table["n_met"]
        table["n_states"] = met_at.groupby(by)["state"].nunique()
        columns = ["n_refits", "code", "n_met", "state", "share", "n_states", "x", "y"]
        return table.reset_index()[columns]


def in_places(
    log: EventLog, codes: pd.DataFrame | None, places: pd.DataFrame | None, mdp: MDP | None = None
) -> EventLog:
    """Translate a log from codes to true states; see `Run.in_places`."""
    if codes is None or places is None:
        raise ValueError("The states of this run are those of the world: no encoder made them.")
    if (codes[["state", "next_state"]] < 0).to_numpy().any():
        raise ValueError(
            "The environment does not tell its true states: reset() and step() must return them as "
            "info['state'], a number."
        )
    if mdp is not None and not isinstance(mdp, MDP):
        raise TypeError(f"mdp must be an MDP, got {shown(mdp)}.")
    most = int(codes[["state", "next_state"]].to_numpy().max())
    if mdp is not None and most >= mdp.n_states:
        raise ValueError(
            f"mdp must be the world in which the run was made: {mdp.name!r} has {mdp.n_states} "
            f"states, and the run was in state {most}."
        )
    steps, backups = log.steps, log.backups
    place = np.full((int(places["n_refits"].max()) + 1, int(places["code"].max()) + 1), -1)
    place[places["n_refits"], places["code"]] = places["state"]
    n_refits = codes["n_refits"].to_numpy()[np.maximum(backups["step"].to_numpy(), 0)]
    true = {name: codes[name].to_numpy() for name in ("state", "next_state")}
    columns = ["location", "state", "next_state"]
    tables = {
        "runs": log.runs,
        "steps": steps.assign(**true),
        "backups": backups.assign(**{key: place[n_refits, backups[key]] for key in columns}),
    }
    provenance = dict(log.provenance)
    del provenance[_SHARED]
    return EventLog(tables, provenance, mdp)
