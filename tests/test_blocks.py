"""Logs in blocks: the same results as for the whole, wherever they are cut."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import event_log, examples, logs
from test_learners import module

from analyses.sequences import counts as replay_counts
from analyses.sequences.classification import classify, classify_parts
from analyses.sequences.counts import CHAINS, ReplayCounts
from analyses.sequences.experience import Experience
from analyses.sequences.growing import ACROSS, WITHIN, GrowingChains, backup_rows, chain_kinds
from analyses.sequences.suffix_automaton import GrowingAutomaton, appended, relocated
from analyses.tables import KINDS
from replay.experiments import EXPERIMENTS
from replay.log import backups, parquet
from replay.log.event_log import EventLog
from replay.log.schema import SCHEMA
from replay.simulation import driver, simulate
from replay.worlds.mazes import from_ascii
from replay.worlds.protocols import Phase, Protocol

MAZE = from_ascii("S...#\n.#...\n...#G")
OTHER = MAZE.with_barrier((1, 2), (1, 3))
TREE = EXPERIMENTS["stochastic_tree"].mdp(0, 0)
LEARNERS = [
    ("prioritized_sweeping", {}),
    ("prioritized_sweeping_optimistic", {"max_pops": 1}),
    ("prioritized_sweeping", {"max_pops": 1, "replay_at": "start_and_end"}),
    ("prioritized_sweeping", {"priority": "random", "max_pops": 1}),
    ("prioritized_sweeping_reset", {}),
    ("full_backups", {"max_pops": 1}),
    ("episodic_control", {}),
    ("monte_carlo", {}),
    ("episodic_sequences", {}),
    ("dyna_q", {}),
    ("trajectory_sampling", {}),
    ("sfma", {}),
    ("prioritized_memory_access", {}),
    ("q_learning", {}),
]


def chains_of(kinds):
    """List chains in an order of their own."""
    return sorted(zip(kinds.step.tolist(), kinds.length.tolist(), kinds.kind.tolist(), strict=True))


def of_scope(kinds, scope):
    """Choose the chains within events, or those across events."""
    return type(kinds)(*(column[kinds.scope & scope > 0] for column in kinds))


def still_named(backups, end):
    """Find the rows before `end` that rows from there on name as their cause."""
    causes = np.unique(backups["cause"][end:])
    return causes[(causes >= 0) & (causes < end)]


def cut_between_steps(backups, wanted):
    """Move cuts to where a step's backups begin."""
    begins = np.flatnonzero(np.diff(backups["step"], prepend=-1))
    places = np.append(begins, len(backups["step"]))
    return np.unique(places[np.searchsorted(places, wanted)])


@given(logs(), st.lists(st.integers(0, 14), max_size=5), st.integers(0, 3))
@examples(600)
def test_chains_are_the_same_wherever_a_log_is_cut(log, cuts, n_more):
    """Rows that are kept although no later one names them make no difference either."""
    whole = event_log(*log)
    steps, backups = whole.columns("steps"), whole.columns("backups")
    n = len(backups["step"])
    ends = np.append(cut_between_steps(backups, [cut for cut in cuts if cut <= n]), n)
    rows, event = backup_rows(backups)
    growing = GrowingChains()
    experience = Experience({name: column[:0] for name, column in steps.items()})
    found, begin, n_known = {WITHIN: [], ACROSS: []}, 0, 0
    for end in ends.tolist():
        block = {name: column[begin:end] for name, column in backups.items()}
        until = int(block["step"].max(initial=n_known - 1)) + 1
        experience.extend({name: column[n_known:until] for name, column in steps.items()})
        n_known = max(until, n_known)
        causes = still_named(backups, end)
        if end < n:
            causes = np.union1d(causes, np.arange(max(end - n_more, begin), end))
        kinds = growing.extend(experience, rows[begin:end], event[begin:end], begin, causes)
        for scope, known in found.items():
            known += chains_of(of_scope(kinds, scope))
        begin = end
    for scope, known in found.items():
        whole_kinds = chain_kinds(steps, backups, across_events=scope == ACROSS)
        assert sorted(known) == chains_of(whole_kinds)


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=15), min_size=1, max_size=6),
    st.lists(st.integers(0, 60), max_size=6),
)
@examples(400)
def test_an_index_that_is_read_on_is_that_of_the_whole(texts, cuts):
    text = np.array([symbol for one in texts for symbol in one], dtype=np.int32)
    begins = np.array([i == 0 for one in texts for i in range(len(one))])
    growing = GrowingAutomaton()
    for end in sorted(min(cut, len(text)) for cut in [*cuts, len(text)]):
        n_symbols = int(text[:end].max(initial=-1)) + 1
        part = growing.extend(text[:end], begins[:end], n_symbols)
        whole = GrowingAutomaton().extend(text[:end], begins[:end], n_symbols)
        for one, other in zip(part, whole, strict=True):
            np.testing.assert_array_equal(one, other)


def node_of(automaton, substring):
    node = 0
    for symbol in substring:
        node = appended(automaton, node, symbol)
    return node


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=6),
    st.integers(1, 60),
)
@examples(400)
def test_substrings_are_found_again_when_the_index_has_read_on(texts, cut):
    text = np.array([symbol for one in texts for symbol in one], dtype=np.int32)
    episode = np.repeat(np.arange(len(texts)), [len(one) for one in texts])
    begins, cut = np.diff(episode, prepend=-1) > 0, min(cut, len(text))
    growing = GrowingAutomaton()
    part = growing.extend(text[:cut], begins[:cut], 3)
    substrings = {
        tuple(text[begin:end])
        for end in range(1, cut + 1)
        for begin in range(end)
        if episode[begin] == episode[end - 1]
    }
    nodes = {substring: node_of(part, substring) for substring in substrings}
    whole = growing.extend(text, begins, 3)
    for substring, node in nodes.items():
        assert relocated(whole, node, len(substring)) == node_of(whole, substring)


def test_an_episode_run_back_may_be_the_beginning_of_a_novel_path():
    """The first block alone would need no index, but what goes on in the next one does."""
    steps = {"episode": [0, 1, 2], "step": [0, 1, 2], "state": [0, 1, 0], "next_state": [1, 2, 1]}
    names = ("event", "step", "state", "next_state", "action", "cause")
    rows = [(0, 1, 1, 2, 0, -1), (1, 2, 0, 1, 0, 0)]
    blocks = [{name: np.array([row[i]]) for i, name in enumerate(names)} for row in rows]
    chains, experience = GrowingChains(), Experience(steps)
    first = chains.extend(experience, *backup_rows(blocks[0]), 0, np.array([0]))
    assert len(of_scope(first, ACROSS).kind) == 0
    found = of_scope(chains.extend(experience, *backup_rows(blocks[1]), 1), ACROSS)
    assert chains_of(found) == [(1, 3, KINDS.index("novel_path"))]


class Small:
    """Buffers so small that runs come in many blocks."""

    def __init__(self, monkeypatch, n_steps, n_backups):
        monkeypatch.setattr(driver, "STEPS_PER_BLOCK", n_steps)
        monkeypatch.setattr(driver, "_BACKUPS_PER_BUFFER", n_backups)


@pytest.mark.parametrize("learner", ["episodic_control", "monte_carlo"])
@pytest.mark.parametrize("n_steps", [1 << 18, 7])
def test_an_episode_run_back_needs_no_index(learner, n_steps, monkeypatch):
    """Wherever the log is cut, also when an episode is longer than a block."""
    Small(monkeypatch, n_steps, 1 << 17)
    counts = ReplayCounts(1500, 100)
    simulate(MAZE, learner, n_steps=1500, seed=2, on_block=counts.add)
    assert counts.n_backups > 1000
    assert counts.counts.sum() > 0
    assert "_experience" not in vars(counts)


@pytest.mark.parametrize("sizes", [(1 << 18, 1 << 17), (37, 1 << 17), (500, 300), (1, 1)])
@pytest.mark.parametrize(("learner", "params"), LEARNERS)
def test_counts_of_blocks_are_those_of_the_whole(learner, params, sizes, monkeypatch):
    """Of the listed chains too; and what is handed over is the whole log, column by column."""
    n_steps, options = 800, {"max_episode_steps": 60, "seed": 2}
    if sizes == (1, 1):
        n_steps = 200
    protocol = Protocol([Phase(MAZE, n_steps // 2, n_rest=2), Phase(OTHER, n_steps // 2)])
    run, in_one_block = simulate(protocol, learner, params, **options), ReplayCounts(n_steps, 100)
    simulate(protocol, learner, params, on_block=in_one_block.add, **options)
    Small(monkeypatch, *sizes)
    counts, blocks = ReplayCounts(n_steps, 100), []

    def on_block(block):
        counts.add(block)
        blocks.append(block)

    again = simulate(protocol, learner, params, on_block=on_block, **options)
    assert len(again.log.steps) == len(again.log.backups) == 0
    assert (again.window_rewards == run.window_rewards).all()
    for name in ("steps", "backups"):
        for column, values in run.log.columns(name).items():
            parts = np.concatenate([block.log.columns(name)[column] for block in blocks])
            np.testing.assert_array_equal(parts, values, err_msg=column)
    assert (len(blocks) > 1) == (sizes[0] < n_steps)
    whole = in_one_block.counts
    assert whole.shape == (100, len(CHAINS), len(KINDS))
    np.testing.assert_array_equal(counts.counts, whole)
    for number, chains in enumerate(CHAINS):
        found = classify(run.log, across_events=chains == "across_events", min_length=3)
        window = np.searchsorted(run.window_ends, found["step"], side="right")
        listed = np.zeros(whole[:, number].shape, dtype=int)
        np.add.at(listed, (window, found["kind"].cat.codes), 1)
        np.testing.assert_array_equal(whole[:, number], listed)
    assert counts.n_backups == len(run.log.backups)


@pytest.mark.parametrize("learner", ["trajectory_sampling", "prioritized_memory_access"])
def test_an_index_on_disk_is_that_in_memory(learner, monkeypatch):
    """From its first bytes on, and from somewhere in the middle on."""
    found = []
    for most_in_memory in (1 << 25, 1 << 15, 0):
        monkeypatch.setattr(backups, "_MOST_IN_MEMORY", most_in_memory)
        Small(monkeypatch, 500, 1000)
        counts = ReplayCounts(5000, 100)
        simulate(MAZE, learner, {"epsilon": 1.0}, n_steps=5000, on_block=counts.add)
        found.append(counts.counts.tolist())
    assert found[0] == found[1] == found[2]
    assert counts.experience._growing is not None
    assert counts.experience.n_moves > 1000
    assert counts.counts[:, CHAINS.index("within_event"), KINDS.index("novel_path")].sum() > 0


def test_memory_does_not_grow_with_the_run(monkeypatch):
    """Neither what learners may name nor what waits for the next replay."""
    Small(monkeypatch, 64, 64)
    monkeypatch.setattr(replay_counts, "_MOST_WAITING", 300)
    counts, n_open, n_waiting = ReplayCounts(20_000, 100), [], []

    def on_block(block):
        counts.add(block)
        n_open.append(counts._chains.n_open)
        n_waiting.append(sum(len(rows) for rows, _ in counts._waiting))

    params = {"max_pops": 1}
    simulate(TREE, "prioritized_sweeping_optimistic", params, n_steps=20_000, on_block=on_block)
    assert len(n_open) > 300
    assert 0 < max(n_open) <= TREE.n_states
    assert n_open[-1] == 0
    assert max(n_waiting) <= 300


FORGETFUL = """
from replay.learners.prioritized_sweeping import (
    Memory, Params, description, init, learn, most_backups, replay
)
"""


def test_a_cause_that_was_not_announced_is_an_error(monkeypatch, plain):
    Small(monkeypatch, 50, 64)
    counts, learner = ReplayCounts(3000, 100), module("forgetful", FORGETFUL)
    with pytest.raises(ValueError, match=r"the learner's causes\(\) must list it"):
        simulate(TREE, learner, {"max_pops": 1}, n_steps=3000, on_block=counts.add)


def test_without_a_log_there_are_no_blocks():
    with pytest.raises(ValueError, match="log must be 'replay' or 'all'"):
        simulate(MAZE, "q_learning", n_steps=100, log="none", on_block=print)


@pytest.mark.parametrize("learner", ["prioritized_sweeping", "episodic_control", "q_learning"])
@pytest.mark.parametrize("log", ["replay", "all"])
def test_a_log_that_is_saved_in_parts_is_that_of_the_whole(learner, log, tmp_path, monkeypatch):
    run = simulate(MAZE, learner, n_steps=3000, log=log, seed=1)
    Small(monkeypatch, 700, 128)
    counts = ReplayCounts(3000, 100)
    with EventLog.saving(tmp_path / "log") as add:

        def on_block(block):
            counts.add(block)
            add(block.log)

        simulate(MAZE, learner, n_steps=3000, log=log, seed=1, on_block=on_block)
    back = EventLog.load(tmp_path / "log")
    assert back.provenance == run.log.provenance
    for name in SCHEMA:
        pd.testing.assert_frame_equal(getattr(back, name), getattr(run.log, name))
    parts = classify_parts(counts.experience, parquet.parts(tmp_path / "log", "backups"))
    found = pd.concat(list(parts), ignore_index=True)
    pd.testing.assert_frame_equal(found, classify(run.log))


def test_what_fails_in_the_middle_leaves_nothing(tmp_path):
    def stop(block):
        raise InterruptedError

    with pytest.raises(OSError, match="could not be written"), EventLog.saving(tmp_path / "log"):
        simulate(MAZE, "q_learning", n_steps=100, on_block=stop)
    assert not list(tmp_path.iterdir())
