"""The columns of the tables that commands write: meaning, unit, and when a cell is empty.

Most columns mean the same in every table; `COLUMNS` describes them once. A study describes its own
tables in its ``columns`` (:class:`analyses.jobs.study.Study`), and `LOG_TABLES` are those of logs
and of the benchmark. :func:`analyses.studies.written_tables` collects all of them, and ``replay
columns`` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from replay.checks import check_choice

__all__ = ["COLUMNS", "LOG_TABLES", "MEAN_RATE", "STEP_COLUMNS", "TEXTS", "Column", "Table"]
__all__ += ["glossary"]


class Column(NamedTuple):
    """What a column holds.

    Attributes
    ----------
    meaning : str
    unit : str
        Of numbers that have one.
    empty : str
        When there is no value (empty in CSV, NaN or null in parquet); never, if this is empty.
    """

    meaning: str
    unit: str = ""
    empty: str = ""


class Table(NamedTuple):
    """What a table holds.

    Attributes
    ----------
    row : str
        What each row is for.
    columns : dict of str to Column
        Its columns, in order.
    optional : frozenset of str
        Columns that only some of these tables have.
    """

    row: str
    columns: dict[str, Column]
    optional: frozenset[str] = frozenset()

    @classmethod
    def of(cls, row: str, names: str, own: Mapping[str, Column] | None = None) -> Table:
        """Describe a table by the names of its columns.

        Parameters
        ----------
        row : str
            What each row is for.
        names : str
            The columns in order, separated by blanks. A question mark after a name says that only
            some of these tables have the column.
        own : mapping of str to Column, optional
            Columns that are not in `COLUMNS`, or mean something else here.

        Returns
        -------
        Table
            The description.

        Raises
        ------
        KeyError
            If a column is neither in `COLUMNS` nor in `own`.

        Examples
        --------
        >>> Table.of("task", "task goal?", {"goal": Column("the goal")}).optional
        frozenset({'goal'})
        """
        known = {**COLUMNS, **(own or {})}
        listed = [name.rstrip("?") for name in names.split()]
        optional = frozenset(name.rstrip("?") for name in names.split() if name.endswith("?"))
        return cls(row, {name: known[name] for name in listed}, optional)


_MODELS = "in models, which have no seconds"
_UNEXPERIENCED = "if a move was never made"
_NOT_WHOLE = "unless the whole path was experienced"

COLUMNS = {
    # what was run
    "experiment": Column("the experiment"),
    "learner": Column("the learner, with the parameters given after its name"),
    "world": Column("the kind of world"),
    "task": Column("the task of an experiment"),
    "mdp": Column("the number of the world, from 0"),
    "seed": Column("the number of the run in its world, from 0"),
    "run": Column("the number of the run in the log, from 0"),
    "episode": Column("the number of the episode in its run, from 0; -1 before the first step"),
    "step": Column("the number of the step in its run, from 0; -1 before the first step"),
    "time": Column("the time", "s", _MODELS),
    "time_step": Column("the end of the time window", "steps"),
    "n_mdps": Column("number of worlds"),
    "n_seeds": Column("number of runs in each world, which are averaged first"),
    "n_steps": Column("length of the run", "steps"),
    "n_states": Column("number of states in which the learner acts"),
    "n_actions": Column("number of actions"),
    # estimates
    "mean": Column("the mean over worlds"),
    "sem": Column("the standard error of the mean", "", "with one world"),
    "ci_low": Column("the lower end of the 95 % interval", "", "with too few data for one"),
    "ci_high": Column("its upper end", "", "with too few data for one"),
    "reward_rate": Column("mean reward per step: 0 for the random policy, 1 for the optimal one"),
    "count": Column("how many"),
    "share": Column("the share of all that were counted in the group", "", "if none were"),
    "value": Column("the value", "", "with too few data to compute it"),
    "p": Column("the p value", "", "if there is none"),
    # steps
    "state": Column("the number of the state in which the step or backup begins, from 0"),
    "action": Column("the number of the action, from 0; -1 if unknown"),
    "reward": Column("the reward", "", "if the learner remembers none"),
    "next_state": Column("the number of the state that was entered"),
    "terminated": Column("whether the episode ended there"),
    "truncated": Column("whether the episode was cut off there"),
    "words": Column("numbers that the learner stores", "words"),
    "backups": Column("backups in this step"),
    "queue_operations": Column("insertions, changes and removals in a queue in this step"),
    "comparisons": Column("comparisons of two numbers in this step"),
    # backups
    "phase": Column(
        "when in the course of a run: `online`, `trace`, `step`, `episode_end`, `start` or `rest`"
    ),
    "event": Column("the number of the replay event (pause) in its run, from 0; -1 online"),
    "index": Column("the position in its event, from 0"),
    "pop": Column("the number of the popped state in the event, from 0"),
    "location": Column("the state of the agent; -1 if unknown"),
    "priority": Column("the priority by which it was chosen", "", "if the learner has none"),
    "gain": Column("the expected gain of the backup", "", "if the learner computes none"),
    "need": Column("the expected need of its state", "", "if the learner computes none"),
    "q_before": Column("the action value before", "", "in recordings"),
    "q_after": Column("the action value after", "", "in recordings"),
    "cause": Column("the row of the backup that caused this one, in its run; -1: none"),
    "parameters": Column("the parameters of the learner, as JSON"),
    "forgets_at_end": Column("whether the model is emptied at the end of each episode"),
    # sequences
    "order": Column("how backups were chained: `causal` or `temporal`"),
    "first": Column("the first state as replayed"),
    "last": Column("the last state as replayed"),
    "states": Column("the states as replayed"),
    "actions": Column("the actions of the backups"),
    "length": Column("the number of states"),
    "n_distinct": Column("the number of different states"),
    "orientation": Column(
        "`forward` or `reverse`, by the transitions of the model; `reverse`, in which value "
        "propagates, if it fits both, to and fro between two states",
        "",
        "in recordings",
    ),
    "direction": Column("by experience: `forward`, `reverse`, `both`, `mixed` or `neither`"),
    "novelty": Column("`experienced`, `composed`, `composed_mixed` or `unexperienced`"),
    "kind": Column(
        "`reverse_episode`, `forward_episode`, `novel_path`, `ambiguous` or `unexperienced`"
    ),
    "composition_order": Column(
        "the least number of experienced pieces that compose it; if it is read in two directions, "
        "in that with fewer",
        "",
        _UNEXPERIENCED,
    ),
    "n_episodes": Column(
        "how many different episodes these are from: of each piece the latest", "", _UNEXPERIENCED
    ),
    "splice_states": Column("the states where pieces join; none if it is one piece"),
    "episode_matched": Column("the latest episode that contains the whole path", "", _NOT_WHOLE),
    "episode_lag": Column("how many episodes ago that was", "episodes", _NOT_WHOLE),
    "from_current_episode": Column("whether that is the current one", "", _NOT_WHOLE),
    "moves": Column("the label of each move: `forward`, `backward`, `both` or `never`"),
    "distance": Column("the length of the path", "cm", "if the graph has no lengths"),
    "shortcut": Column("whether it runs along a whole shortcut, and was never run as a whole"),
    "impossible": Column("whether it runs along an impossible edge"),
    "chains": Column(
        "`within_event`: chains end with their pause; `across_events`: they may continue in later "
        "ones"
    ),
    # recordings
    "start_time": Column("when the event begins", "s"),
    "end_time": Column("when the event ends", "s"),
    "x": Column("position from left to right", "cm"),
    "y": Column("position upwards", "cm"),
    "animal": Column("the name of the animal, if there are several"),
    "cell": Column("the number of the cell in the recording, from 0"),
    "unit": Column("its id in the file: of NWB the `id` of the unit, else as `spike_unit` has it"),
    "score": Column("the mean probability of continuous movement", "", "if too few cells fire"),
    "statistic": Column("the statistic; `replay findings` explains it"),
    "label": Column("what the statistic measures"),
    "n_animals": Column("number of animals"),
    "published_low": Column("the lowest published number", "", "if there is none"),
    "published_high": Column("the highest published number", "", "if there is none"),
    # the comparison
    "account": Column("the account of replay, or control"),
    "finding": Column("the id of the published finding"),
    "study": Column("the study that the data are from"),
    "evidence": Column("evidence for the account, against a uniform prediction", "bits"),
    "evidence_se": Column("its Monte Carlo error", "bits"),
    "is_control": Column("whether the account is a control"),
    "draw": Column("the number of the simulated study, from 0"),
    "parameter": Column("the parameter of the account"),
    "n_cells": Column("number of cells in the recording"),
    "speed": Column("the speed of replay", "cm/s"),
    "found": Column("its share of the replay events that were found"),
    "corrected": Column("its share, corrected for what is missed", "", "if it cannot be"),
}
"""Column -> what it means in all tables that do not say otherwise."""

TEXTS = frozenset(
    [
        "about", "account", "agrees", "animal", "attribution", "chains", "choice", "citation",
        "condition", "contradicts", "control", "definition", "direction", "discrepancy", "doi",
        "encoder", "epoch", "error", "experiment_agrees", "feature", "finding", "goal", "id",
        "kind", "label", "learner", "likelihood", "maze", "measure", "mistaken_for", "most_apart",
        "noise", "note", "of", "other", "outcome", "over", "panel", "parameter", "period", "place",
        "protocol", "quantity", "quantity_class", "question", "read_from", "reference", "region",
        "seen", "sense", "setting", "silent", "source", "sources", "species", "statistic", "study",
        "taken_for", "task", "task_name", "text", "together", "truth", "unit", "unit_of_n",
        "verdict", "what", "why", "why_not", "world", "worst",
    ]
)  # fmt: skip
"""Columns that hold text in all CSV tables, also names such as 001 and NA, which look like none."""

MEAN_RATE = Column("the mean over worlds of the normalised reward rate")
"""The column `mean` of tables of reward rates."""

STEP_COLUMNS = "run episode step time state action reward next_state terminated truncated"
"""The columns of every table of steps, as `Table.of` takes them."""

LOG_TABLES = {
    "runs.parquet": Table.of(
        "run of a log",
        "run experiment learner mdp seed parameters forgets_at_end?",
        {
            "experiment": Column("the experiment; an empty text if there is none"),
            "mdp": Column("the name of the world"),
            "seed": Column("the seed; -1 if there is none"),
        },
    ),
    "steps.parquet": Table.of(
        "step of experience", f"{STEP_COLUMNS} words? backups? queue_operations? comparisons?"
    ),
    "backups.parquet": Table.of(
        "backup, in order of execution",
        "run episode step time phase event index pop location state action next_state reward "
        "priority gain need q_before q_after cause",
    ),
    "sequences.parquet": Table.of(
        "causal chain of a log",
        "experiment? learner? mdp? seed? run episode step event phase location order first last "
        "states actions length n_distinct orientation direction novelty kind composition_order "
        "n_episodes splice_states episode_matched episode_lag from_current_episode",
    ),
    "timings.csv": Table.of(
        "learner in an experiment (written by the benchmark)",
        "experiment learner ns_per_step original_ns times_faster minimal log classified",
        {
            "ns_per_step": Column("time of a step", "ns"),
            "original_ns": Column("that of the paper's code", "ns", "if it has no such learner"),
            "times_faster": Column("how many times faster", "", "if it has no such learner"),
            "minimal": Column("the same, as a multiple of a minimal loop", "", "if there is none"),
            "log": Column("with a log, as a multiple of `ns_per_step`", "", "without replay"),
            "classified": Column(
                "with all replay classified, as such a multiple", "", "without replay"
            ),
        },
    ),
    "animals_in_spikes.csv": Table.of(
        "simulated animal in spikes, and way to see accounts (written by a verification test)",
        "task account draw n_true n_candidates n_found seen probability misfit taken_for "
        "is_right of_true n_classes expected",
        {
            "account": Column("the account by which it replays"),
            "draw": Column("the draw of its parameters"),
            "n_true": Column("number of sequences that it replays"),
            "n_candidates": Column("number of candidate events"),
            "n_found": Column("number of sequences that are found"),
            "seen": Column(
                "`true places`: as many of the true sequences are explained; `spikes, nothing "
                "lost`: what was found is, and accounts lose nothing; `spikes, as recorded`: "
                "accounts lose what a recording loses",
                "",
                "with fewer than 10 sequences",
            ),
            "probability": Column(
                "the probability of the class that comes first", "", "with fewer than 10 sequences"
            ),
            "misfit": Column("its p of misfit", "", "with fewer than 10 sequences"),
            "taken_for": Column("this class", "", "with fewer than 10 sequences"),
            "is_right": Column("whether it holds the account", "", "with fewer than 10 sequences"),
            "of_true": Column(
                "the probability of the class of the account", "", "with fewer than 10 sequences"
            ),
            "n_classes": Column(
                "number of classes that can be told apart", "", "with fewer than 10 sequences"
            ),
            "expected": Column(
                "the share of the account's own simulations, left out of training and of as many "
                "sequences, whose class comes first: whether the recording could tell it",
                "",
                "with fewer than 10 sequences",
            ),
        },
    ),
}
"""File -> description of the tables that are not written by one study: logs, benchmark, tests."""


def glossary(name: str, tables: Mapping[str, Table]) -> list[tuple[str, str, str, str]]:
    """List the columns of a table, whose ending may be left out: name, meaning, unit, when empty.

    Examples
    --------
    >>> glossary("steps", LOG_TABLES)[3]
    ('time', 'the time', 's', 'in models, which have no seconds')
    """
    endings = {table.rpartition(".")[0]: table for table in tables}
    table = tables[check_choice("table", endings.get(name, name), tables)]
    return [
        (f"{column}{' (in some)' * (column in table.optional)}", *described)
        for column, described in table.columns.items()
    ]
