"""The driver: it takes a learner through a run, and keeps the log.

All code that lets a learner act, or learn from recorded experience, does so through a `Driver`. It
calls the compiled loop for some steps at a time, so that the log never overflows and Ctrl-C works.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.checks import MOST_STATES, check_fits, located
from replay.checks.arrays import Floats, Int32s, Ints
from replay.learners.contract import Learner, Sizes
from replay.log import backups
from replay.log.backups import uninitialised
from replay.log.blocks import STEPS_PER_BLOCK, LogBlock
from replay.log.event_log import EventLog
from replay.log.schema import WHOLE_RUN, Excerpt, join
from replay.log.worlds import ClosedMoves
from replay.simulation.loop import STEP_ROW, Clock, Course, Given, World, checked_act, kernel_of
from replay.worlds.mdp import MDP
from replay.worlds.protocols import Protocol

_BACKUPS_PER_BUFFER = 1 << 17  # large enough for huge pages, which are cheaper to touch first
_MOST_STEPS = 1 << 20  # of one call
_NEVER = np.iinfo(np.int64).max
_FIRST_WORK = 1e8  # backups times pairs of the first call, before anything was measured
_SECONDS_PER_CALL = 0.05  # Ctrl-C works between calls
_LARGE = 10_000_000  # backups times pairs of a step that may take seconds
_MOST_ACTIONS = np.iinfo(backups.BACKUP["action"]).max + 1
_MOST_LOGGED = np.iinfo(backups.BACKUP["step"]).max


def world_tables(mdp: MDP) -> World:
    """Convert an MDP to the tables that the loop reads."""
    return World(
        n_actions=mdp.n_actions,
        successor_offset=mdp.successor_offset,
        successor=mdp.successor,
        cumulative=mdp.cumulative_probability,
        reward=mdp.reward,
        terminal=mdp.terminal,
        start_state=mdp.start_states,
        start_cumulative=mdp.cumulative_start_probability,
    )


def changing_tables(mdp: MDP, reward: Floats, start_state: Int32s) -> World:
    """Convert an MDP to the tables that the loop reads, with other rewards and one start state."""
    views = reward.view(), start_state.view()
    for view in views:  # compiled code takes them for an MDP's own tables, which are read-only
        view.setflags(write=False)
    return world_tables(mdp)._replace(
        reward=views[0], start_state=views[1], start_cumulative=np.ones(1)
    )


def replay_stream(seed: int) -> np.random.Generator:
    """Return a stream for replay alone, the seed's first child."""
    # A learner that replays more must not change outcomes and exploration, drawn from the seed.
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])


def way_back(learner: Learner, mdp: MDP | Protocol | None, n_actions: int) -> Int32s | None:
    """Look up `MDP.way_back` for a learner with a reversible model; None if it needs none.

    It is refused if the learner needs it, and there is no such world with so many actions.
    """
    if not learner.description.needs_way_back:
        return None
    if mdp is None or mdp.n_actions != n_actions:
        given = "no mdp" if mdp is None else f"an mdp of {mdp.n_actions} actions"
        raise ValueError(
            f"{learner.name!r} with reversible=True must know which action leads back, and needs "
            f"the world for that: got {given}; give mdp= with {n_actions} actions, or "
            "reversible=False."
        )
    return mdp.way_back


class LogWriter:
    """The tables of a run; full ones are set aside whenever a learner needs more room.

    It keeps "replay" or "all" backups, or logs "none". There is room for `n_steps` steps at first.
    With `on_block` it hands over one `LogBlock` after the other, and keeps nothing. `mdp`, `name`,
    `seed` and what is set as `closed` (step -> the moves closed from then on) are for the log.
    """

    def __init__(
        self,
        keep: str,
        learner: Learner,
        mdp: MDP | None = None,
        *,
        name: str = "",
        seed: int = -1,
        n_steps: int = 0,
        on_block: Callable[[LogBlock], None] | None = None,
    ) -> None:
        self.keep, self.learner, self.mdp, self.on_block = keep, learner, mdp, on_block
        self.closed: ClosedMoves | None = None
        self.run = {"learner": learner.name, "mdp": name, "seed": seed}
        self.run["parameters"] = learner.parameters
        if learner.description.forgets_at_end:
            self.run["forgets_at_end"] = True
        if self.keeps_any and n_steps > _MOST_LOGGED:
            raise ValueError(
                f"A log holds at most {_MOST_LOGGED} steps, got {n_steps}: use log='none', or "
                "fewer steps."
            )
        self.n_steps = n_steps if on_block is None else min(n_steps, STEPS_PER_BLOCK)
        self.steps = _NO_STEPS
        self.buffer: backups.BackupBuffer | None = None
        if self.keeps_any:
            check_fits(self.n_steps * STEP_ROW.itemsize, f"the log of {self.n_steps} steps")
            self.steps = uninitialised(self.n_steps, STEP_ROW)
            self.buffer = backups.backup_buffer(
                _BACKUPS_PER_BUFFER, keep, learner.description.evaluates
            )
        self.pieces: list[tuple[NDArray[np.void], ...]] = []
        self.excerpt = WHOLE_RUN
        self.first_row = 0
        self.sizes = Sizes(0, 0, 0, 0, 0, None)

    @property
    def keeps_any(self) -> bool:
        """Whether anything is logged."""
        return self.keep != "none"

    def steps_from(self, time: int) -> NDArray[np.void]:
        """Return the rows for the steps from some time on; none if nothing is logged."""
        return self.steps[time - self.excerpt.n_steps :]

    def lengthen(self, n_steps: int) -> None:
        """Make room for at least `n_steps` steps of the run in all."""
        if n_steps > len(self.steps):
            more = np.zeros(max(n_steps, 2 * len(self.steps)) - len(self.steps), dtype=STEP_ROW)
            self.steps = np.append(self.steps, more)

    def make_room(self, n_rows: int) -> None:
        """Set the backups made so far aside, and make room for at least `n_rows` more."""
        if self.buffer is None:
            return
        n_bytes = n_rows * (backups.BACKUP.itemsize + 16 * self.learner.description.evaluates)
        check_fits(n_bytes, f"a step of {self.learner.name!r}, which may make {n_rows} backups,")
        few = n_rows <= _BACKUPS_PER_BUFFER
        # A bound that grows with each step must not lead to a new buffer at each step.
        room = max(n_rows + min(n_rows, _BACKUPS_PER_BUFFER), _BACKUPS_PER_BUFFER)
        if backups.n_kept(self.buffer) > _MOST_LOGGED - room:
            raise ValueError(
                f"A log holds at most {_MOST_LOGGED} backups, and that of {self.learner.name!r} "
                "is full: use log='none', fewer steps, or fewer backups per step."
            )
        rows, self.buffer = backups.renew(self.buffer, room)
        if not few:  # otherwise a few rows would keep the whole buffer in memory
            rows = tuple(table.copy() for table in rows)
        self.pieces.append(rows)

    def hand_over(self, clock: Clock, memory: Any, is_last: bool = False) -> None:
        """Call `on_block` with everything logged since its last call."""
        n_steps = int(clock.time[0]) - self.excerpt.n_steps
        if self.on_block is None or self.buffer is None or not n_steps:
            return
        self.excerpt = self.excerpt._replace(next_state=-1 if is_last else int(clock.state[0]))
        steps, made = self._taken(n_steps, is_last)
        pieces = [rows for rows, *_ in made if len(rows)]
        rows = pieces[0] if len(pieces) == 1 else np.concatenate([_NO_BACKUPS, *pieces])
        known = _NO_CAUSES
        if not is_last:
            causes = self.learner.causes(memory)
            known = np.unique(causes[causes >= 0])
        make = partial(self._made, steps, made, self.excerpt)
        self.on_block(LogBlock(steps, rows, self.excerpt.n_steps, self.first_row, known, make))
        n_events = backups.n_events(self.buffer)
        self.excerpt = Excerpt(int(clock.time[0]), int(clock.episode[0]), n_events)
        self.first_row += len(rows)

    def finished(self, n_steps: int, time: Floats | None = None) -> EventLog:
        """Make a log of the first steps with all backups; empty if `on_block` received them."""
        if self.on_block is not None:
            return self._made(_NO_STEPS, [(_NO_BACKUPS,)], self.excerpt, time)
        return self._made(*self._taken(n_steps, is_last=True), self.excerpt, time)

    def _taken(
        self, n_steps: int, is_last: bool
    ) -> tuple[NDArray[np.void], list[tuple[NDArray[np.void], ...]]]:
        """Take the first steps, and all backups made so far."""
        if self.buffer is None:
            return _NO_STEPS, [(_NO_BACKUPS,)]
        n_lost = backups.n_lost(self.buffer)
        if n_lost:
            raise RuntimeError(
                f"The learner {self.learner.name!r} made more backups in a step than its "
                f"most_backups() allows, and {n_lost} could not be logged. Make that bound "
                "larger."
            )
        if is_last:
            self.pieces.append(backups.filled(self.buffer))
        else:
            self.make_room(0)
        first_row = self.first_row
        for rows, *_ in self.pieces if self.learner.file is not None else ():
            _check_logged(self.learner, self.sizes, rows, first_row)
            first_row += len(rows)
        steps, made, self.pieces = self.steps[:n_steps], self.pieces, []
        if not is_last:
            self.steps = uninitialised(self.n_steps, STEP_ROW)
        return steps, made

    def _made(
        self,
        steps: NDArray[np.void],
        made: list[tuple[NDArray[np.void], ...]],
        excerpt: Excerpt,
        time: Floats | None = None,
    ) -> EventLog:
        return EventLog.from_run(
            self.run,
            steps,
            made,
            keep=self.keep,
            mdp=self.mdp,
            time=time,
            excerpt=excerpt,
            closed=self.closed,
        )


class Driver:
    """A learner in the course of a run: its `memory`, and the `clock` that says where the run is.

    `rng` is for outcomes and actions, `replay_rng` for replay alone; `known` is the world, for the
    learner's `explore`, and `window_ends` are the steps at which windows of the reward rate end.
    `error` is what the function raised that the loop asks for steps, to be raised when it stops.
    """

    def __init__(
        self,
        learner: Learner,
        sizes: Sizes,
        log: LogWriter,
        *,
        rng: np.random.Generator,
        replay_rng: np.random.Generator | None,
        known: MDP | None = None,
        window_ends: Ints | None = None,
    ) -> None:
        if log.keeps_any:
            for name, number, most in (
                ("states", sizes.n_states, MOST_STATES),
                ("actions", sizes.n_actions, _MOST_ACTIONS),
            ):
                if number > most:
                    raise ValueError(
                        f"A log holds at most {most} {name}, got {number}; with more, only "
                        "simulate with log='none' is possible."
                    )
        log.sizes = sizes
        self.error: BaseException | None = None
        self._run = kernel_of(learner)
        if learner.file is not None:  # its errors name the line, also when Python calls it
            file = learner.file
            names = ("init", "most_backups", "explore", "replay", "causes", "n_words")
            functions: dict[str, Any] = {
                each: located(getattr(learner, each), file) for each in names
            }
            learner = replace(learner, **functions, act=located(checked_act(learner.act), file))
        self.learner, self.writer, self.rng = learner, log, rng
        self.replay_rng = replay_rng if learner.replays else None
        try:
            self.memory = learner.init(learner.params, sizes)
        except MemoryError as error:
            raise ValueError(
                f"The memory of {learner.name!r} for {sizes.n_states} states and "
                f"{sizes.n_actions} actions does not fit into that of this machine: {error}."
            ) from None
        learner.explore(learner.params, self.memory, known)
        windows = _NO_WINDOWS if window_ends is None else window_ends
        ends = np.full(len(windows) + 1, _NEVER)
        ends[:-1] = windows
        zeros = np.zeros((6, 1), dtype=np.int64)  # arrays, so that the loop can change them
        self.clock = Clock._make([*zeros, ends, np.zeros(len(ends))])
        self._n_pairs = sizes.n_states * sizes.n_actions
        work = self._most_backups() * self._n_pairs
        self._pace = int(min(max(_FIRST_WORK / max(work, 1), 16), _MOST_STEPS))

    @property
    def time(self) -> int:
        """Number of steps made so far."""
        return int(self.clock.time[0])

    @property
    def state(self) -> int:
        """The state in which the agent is."""
        return int(self.clock.state[0])

    @property
    def action(self) -> int:
        """The next action of the agent."""
        return int(self.clock.action[0])

    def choose(self, state: int) -> int:
        """Let the learner choose an action, and return it."""
        learner = self.learner
        return int(learner.act(learner.params, self.memory, state, self.rng))

    def begin(self, state: int) -> None:
        """Put the agent into a state, and let it choose its next action."""
        self.clock.state[0] = state
        self.clock.action[0] = self.choose(state)

    def replace_action(self, action: int) -> None:
        """Make the agent take this action next, instead of the one that it chose."""
        self.clock.action[0] = action

    def act(self, world: World, n_steps: int, max_episode_steps: int, n_rest: int = 0) -> None:
        """Let the agent make some steps in a world."""
        self._go(world, None, n_steps, max_episode_steps, n_rest)

    def feed(self, given: Given, n_rest: int = 0) -> None:
        """Let the learner learn from recorded steps."""
        self._go(_nowhere(), given, len(given.steps), -1, n_rest)

    def rest(self, state: int, n_pauses: int) -> None:
        """Let the learner replay at rest before the first step, if it already knows the world."""
        if not self.learner.explores:
            return
        self.clock.state[0] = state
        rows = None
        if self.writer.buffer is not None:
            backups.set_step(self.writer.buffer, -1)
            rows = self.writer.steps_from(0)
        course = Course(0, -1, 0, 1, self.learner.description.acts_before_learning)
        for _ in range(n_pauses):  # one by one, since each may fill the log
            self.writer.make_room(self._most_backups())
            self._call(_nowhere(), _NOTHING, course, rows)

    def finish(self, time: Floats | None = None) -> EventLog:
        """End the run, and return the log, except for what `on_block` received."""
        self.writer.hand_over(self.clock, self.memory, is_last=True)
        return self.writer.finished(self.time, time)

    def _most_backups(self) -> int:
        most = int(self.learner.most_backups(self.learner.params, self.memory))
        if most < 0:
            raise ValueError(
                f"most_backups() of the learner {self.learner.name!r} must be at least 0, got "
                f"{most}."
            )
        return most

    def _go(
        self, world: World, given: Given | None, n_steps: int, max_episode_steps: int, n_rest: int
    ) -> None:
        until, writer, learner = self.time + n_steps, self.writer, self.learner
        to_come: Given | None = None
        rows: NDArray[np.void] | None = None
        while self.time < until:
            n_more = min(until - self.time, self._pace)
            is_full = False
            if given is not None:
                to_come = given.rows(n_steps - (until - self.time), n_steps)
            if writer.buffer is not None:
                rows = writer.steps_from(self.time)
                if given is None:
                    n_more, to_come = min(n_more, len(rows)), _NOTHING
                is_full = len(rows) == n_more
            course = Course(
                n_more, max_episode_steps, n_rest, 0, learner.description.acts_before_learning
            )
            n_done = self._call(world, to_come, course, rows)
            if self.time < until and (n_done < n_more or is_full):
                writer.hand_over(self.clock, self.memory)
                writer.make_room(self._most_backups() * (1 + n_rest))

    def _call(
        self, world: World, given: Given | None, course: Course, steps: NDArray[np.void] | None
    ) -> int:
        """Call the loop for as many steps as take a moment, so that Ctrl-C works in between."""
        # The number of steps is adapted by processor time, so that a busy machine changes nothing;
        # the time is not measured where the world changes after each step.
        is_timed = course.n_steps > 1 or self._pace == 1
        begin = process_time() if is_timed else 0.0
        learner, params, memory = self.learner, self.learner.params, self.memory
        # A single step that may take long runs in a thread, which an interrupt leaves behind.
        is_long = learner.most_backups(params, memory) * self._n_pairs >= _LARGE
        run = partial(_in_thread, self._run) if is_long and learner.compiled else self._run
        n_done = run(
            world, given, params, memory, self.clock, course, self.rng, self.replay_rng, steps,
            self.writer.buffer,
        )  # fmt: skip
        if self.error is not None:
            raise self.error
        if not is_timed:
            return n_done
        seconds = process_time() - begin
        if seconds < _SECONDS_PER_CALL / 4:
            self._pace = min(4 * self._pace, _MOST_STEPS)
        elif seconds > 2 * _SECONDS_PER_CALL:
            self._pace = max(self._pace // 4, 1)
        return n_done


def _in_thread(function: Callable[..., int], *arguments: Any) -> int:
    """Call a function that releases the lock, so that an interrupt need not wait for it."""
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    results: list[int] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            results.append(function(*arguments))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _check_logged(learner: Learner, sizes: Sizes, rows: NDArray[np.void], first_row: int) -> None:
    """Refuse backups by a user's learner of what is no state or action, or whose cause is none."""
    limits: dict[str, tuple[int, Any]] = {
        "state": (0, sizes.n_states - 1),
        "action": (-1, sizes.n_actions - 1),
        "next_state": (0, sizes.n_states - 1),
        "pop": (0, _MOST_LOGGED),
        "phase": (0, len(backups.PHASES) - 1),
        "cause": (-1, first_row + np.arange(len(rows)) - 1),
    }
    for name, (least, most) in limits.items():
        wrong = np.flatnonzero((rows[name] < least) | (rows[name] > most))
        if len(wrong):
            row = int(wrong[0])
            high = np.broadcast_to(most, len(rows))[row]
            raise ValueError(
                f"{learner.file}: the learner {learner.name!r} logged a backup at step "
                f"{rows['step'][row]} with the {name} {rows[name][row]}; it must be from {least} "
                f"to {high}. Check what it passes to record()."
            )
    phases = learner.description.phases
    unsaid = np.flatnonzero((rows["phase"] >= backups.STEP) & ~np.isin(rows["phase"], phases))
    for row in unsaid[:1] if phases else ():  # without any, there is no description
        raise ValueError(
            f"{learner.file}: the learner {learner.name!r} replayed at step {rows['step'][row]} in "
            f"the phase {backups.PHASES[rows['phase'][row]]!r}, which is not among the phases of "
            "its description. Name there all in which it may replay."
        )
    later = np.flatnonzero(rows["cause"] >= first_row)
    causes, forward = rows["cause"][later] - first_row, learner.description.goes_forward
    for row in later[~join(rows, later, causes, forward)][:1]:
        raise ValueError(
            f"{learner.file}: the learner {learner.name!r} logged a backup at step "
            f"{rows['step'][row]} from state {rows['state'][row]} to {rows['next_state'][row]} "
            "whose cause neither begins where it leads nor, if the description says goes_forward, "
            "ends where it begins. If it replays forward, say goes_forward=True in its "
            "description; pass cause=-1 to record() where no cause joins."
        )


@cache
def _nowhere() -> World:
    """Make a dummy world for recorded experience: the loop needs one, but never reads it."""
    return world_tables(MDP.from_tables([[0]], reward=[0.0]))


_NO_WINDOWS = np.empty(0, dtype=np.int64)
_NO_STEPS = np.empty(0, dtype=STEP_ROW)
_NO_BACKUPS = np.empty(0, dtype=backups.BACKUP)
_NO_CAUSES = np.empty(0, dtype=np.int64)
_NOTHING = Given(_NO_STEPS, np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))
