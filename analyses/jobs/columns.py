"""The columns of all tables that commands write: what each means, its unit, and when it is empty.

Most columns mean the same in every table; `COLUMNS` tells it once. ``TABLES[name].columns`` has
those of one table, with what is particular to it. ``replay columns`` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from replay.checks import check_choice

__all__ = ["COLUMNS", "TABLES", "Column", "Table", "as_markdown", "glossary"]


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
        What it has a row for.
    columns : dict of str to Column
        Its columns, in order.
    optional : frozenset of str
        Those that it has in some cases only.
    """

    row: str
    columns: dict[str, Column]
    optional: frozenset[str] = frozenset()


_BIT, _CM, _S = "bits", "cm", "s"
_MODELS = "in models, which have no seconds"
_ONE_MDP = "with one world"
_ONE_ANIMAL = "with one animal"
_UNEXPERIENCED = "if a move was never made"
_TOO_FEW = "where too little was drawn for one"
_NOT_WHOLE = "unless the whole path was experienced"

COLUMNS = {
    # what was run
    "experiment": Column("the experiment"),
    "learner": Column("the learner; with parameters that were typed after its name"),
    "world": Column("the kind of world"),
    "task": Column("the task of an experiment"),
    "mdp": Column("the number of the world, from 0"),
    "seed": Column("the number of the run in its world, from 0"),
    "run": Column("the number of the run in the log, from 0"),
    "episode": Column("the number of the episode in its run, from 0; -1 before the first step"),
    "step": Column("the number of the step in its run, from 0; -1 before the first step"),
    "time": Column("when", _S, _MODELS),
    "time_step": Column("the end of the window of time", "steps"),
    "n_mdps": Column("worlds"),
    "n_seeds": Column("runs in each world, of which the mean was taken first"),
    "n_steps": Column("steps of the run", "steps"),
    "n_states": Column("states in which the learner acts"),
    "n_actions": Column("actions"),
    # estimates
    "mean": Column("the mean over worlds"),
    "sem": Column("the standard error of the mean", "", _ONE_MDP),
    "ci_low": Column("the lower end of the 95 % interval", "", _TOO_FEW),
    "ci_high": Column("its upper end", "", _TOO_FEW),
    "reward_rate": Column("mean reward per step: 0 for the random policy, 1 for the optimal one"),
    "count": Column("how many"),
    "share": Column("the share of all that was counted in the group", "", "where nothing was"),
    "value": Column("the value", "", "where there is too little to compute it"),
    "p": Column("the p value", "", "where there is none"),
    # steps
    "state": Column("the number of the state in which the step or backup begins, from 0"),
    "action": Column("the number of the action, from 0; -1 where it is not known"),
    "reward": Column("the reward", "", "where the learner remembers none"),
    "next_state": Column("the number of the state that was entered"),
    "terminated": Column("whether the episode ended there"),
    "truncated": Column("whether the episode was cut off there"),
    "words": Column("numbers that the learner holds", "words"),
    "backups": Column("backups in this step"),
    "queue_operations": Column("insertions, changes and removals of a queue in this step"),
    "comparisons": Column("comparisons of two numbers in this step"),
    # backups
    "phase": Column(
        "when in the course of a run: `online`, `trace`, `step`, `episode_end`, `start` or `rest`"
    ),
    "event": Column("the number of the replay event (pause) in its run, from 0; -1 online"),
    "index": Column("the place within its event, from 0"),
    "pop": Column("the number of the popped state in the event, from 0"),
    "location": Column("the state in which the agent is; -1 where that is not known"),
    "priority": Column("that under which it was chosen", "", "if the learner has none"),
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
        "how the model walked: `forward` or `reverse`",
        "",
        "in recordings",
    ),
    "direction": Column("by experience: `forward`, `reverse`, `both`, `mixed` or `neither`"),
    "novelty": Column("`experienced`, `composed`, `composed_mixed` or `unexperienced`"),
    "kind": Column(
        "`reverse_episode`, `forward_episode`, `novel_path`, `ambiguous` or `unexperienced`"
    ),
    "composition_order": Column(
        "the least number of experienced pieces that make it up", "", _UNEXPERIENCED
    ),
    "n_episodes": Column("how many different episodes these are from", "", _UNEXPERIENCED),
    "splice_states": Column("the states where pieces join; none if it is one piece"),
    "episode_matched": Column("the latest episode that holds the whole path", "", _NOT_WHOLE),
    "episode_lag": Column("how many episodes ago that was", "episodes", _NOT_WHOLE),
    "from_current_episode": Column("whether that is the current one", "", _NOT_WHOLE),
    "moves": Column("the label of each move: `forward`, `backward`, `both` or `never`"),
    "distance": Column("the length of the way", _CM, "where the graph has no lengths"),
    "shortcut": Column("whether it runs over a shortcut never run", "", "if none is named"),
    "impossible": Column("whether it runs over an edge that cannot be", "", "if none is named"),
    "chains": Column("`within_event`: each pause on its own; `across_events`: through later ones"),
    # recordings
    "start_time": Column("when the event begins", _S),
    "end_time": Column("when the event ends", _S),
    "x": Column("where, from left to right", _CM),
    "y": Column("where, upwards", _CM),
    "animal": Column("the name of the animal, where there are several"),
    "cell": Column("the number of the cell in the recording, from 0"),
    "score": Column("the mean probability of continuous movement", "", "if too few cells fire"),
    "statistic": Column("the code of the statistic; `replay findings` explains it"),
    "label": Column("what the statistic measures"),
    "n_animals": Column("animals"),
    "published_low": Column("the lowest number published", "", "if none was"),
    "published_high": Column("the highest number published", "", "if none was"),
    # the comparison
    "account": Column("the account of replay, or control"),
    "finding": Column("the id of the published finding"),
    "study": Column("whose data it is"),
    "evidence": Column("evidence for the account, beyond who knows nothing", _BIT),
    "evidence_se": Column("its Monte Carlo error", _BIT),
    "is_control": Column("whether the account is a control"),
    "draw": Column("the number of the simulated study, from 0"),
    "parameter": Column("the parameter of the account"),
    "n_cells": Column("cells in the recording"),
    "speed": Column("of replay", "cm/s"),
    "found": Column("the share of it among what was found"),
    "corrected": Column("its share, corrected for what is missed", "", "where nothing can be"),
}
"""Column -> what it means wherever `TABLES` says nothing else."""

_CLASSIFIED = (
    "run episode step event phase location order first last states actions length n_distinct "
    "orientation direction novelty kind composition_order n_episodes splice_states "
    "episode_matched episode_lag from_current_episode"
)
_STEPS = "run episode step time state action reward next_state terminated truncated"
_FIGURE_COLUMNS = (
    "account panel quantity protocol measure source read_from value sem n low high sign task "
    "statistic experiment_sign why"
)
_OF_FIGURE = {
    "panel": Column("the figure of the source", "", "if the paper shows none"),
    "quantity": Column("what it shows, in words", "", "if the paper shows none"),
    "protocol": Column("what is simulated", "", "if it is not computed"),
    "measure": Column("what is measured in it", "", "if it is not computed"),
    "source": Column("the DOI"),
    "read_from": Column("where it was read: `text`, or `code` that was run"),
    "value": Column("what was published", "as in `quantity`", "of ranges and directions"),
    "sem": Column("its standard error", "as in `quantity`", "if it is not known"),
    "n": Column("of how many", "", "if it is not known"),
    "low": Column("the lower end of a published range", "as in `quantity`", "of other rows"),
    "high": Column("its upper end", "as in `quantity`", "of other rows"),
    "sign": Column("1 above, -1 below", "", "of other rows"),
    "task": Column("the task of the experiment that the figure is about", "", "if there is none"),
    "statistic": Column("the code of the statistic there", "", "if there is none"),
    "experiment_sign": Column("which way the effect goes there", "", "if there is none"),
    "why": Column("the reason of a difference, or why it is not computed", "", "if there is none"),
}
_NO_CONTROLS = "without controls"
_NO_REPLAY = "if the learner has no replay there"
_RATE = Column("the mean over worlds of the normalised reward rate")


def _table(row: str, names: str, own: Mapping[str, Column] | None = None) -> Table:
    """Look up columns; those with a question mark are optional."""
    known = {**COLUMNS, **(own or {})}
    listed = [name.rstrip("?") for name in names.split()]
    optional = frozenset(name.rstrip("?") for name in names.split() if name.endswith("?"))
    return Table(row, {name: known[name] for name in listed}, optional)


TABLES = {
    # replay reproduce, and logs
    "reward_rate.csv": _table(
        "window of time of a learner in an experiment",
        "experiment learner time_step mean sem ci_low ci_high n_mdps n_seeds",
        {"mean": _RATE},
    ),
    "area_under_curve.csv": _table(
        "learner in an experiment",
        "experiment learner mean sem ci_low ci_high n_mdps n_seeds",
        {"mean": Column("the mean over worlds of the normalised reward rate of whole runs")},
    ),
    "paired_differences.csv": _table(
        "pair of learners in an experiment",
        "experiment learner reference mean sem ci_low ci_high n_mdps p n_better p_sign",
        {
            "reference": Column("the other learner"),
            "mean": Column(
                "the mean over worlds of the reward rate of `learner`, minus that of `reference`"
            ),
            "p": Column("that of a paired t test", "", _ONE_MDP),
            "n_better": Column("worlds in which `learner` earned more"),
            "p_sign": Column("the p value of a sign test", "", "where no world differs"),
        },
    ),
    "time_to_criterion.csv": _table(
        "learner in an experiment",
        "experiment learner median share_reached n",
        {
            "median": Column(
                "the median over runs of the step at which 90 % of the optimum is reached",
                "steps",
                "if fewer than half of the runs reach it",
            ),
            "share_reached": Column("the share of runs that reach it"),
            "n": Column("runs"),
        },
    ),
    "single_runs.parquet": _table(
        "window of time of one of the first runs",
        "experiment learner mdp seed time_step reward_rate",
    ),
    "replay_kinds.csv": _table(
        "kind of replay of a learner in an experiment",
        "experiment learner chains kind count share ci_low ci_high n_units",
        {
            "count": Column("causal chains of three states or more"),
            "share": Column("the share of this kind among them", "", _NO_REPLAY),
            "n_units": Column("worlds in which anything was replayed"),
        },
    ),
    "replay_over_time.csv": _table(
        "kind of replay in a window of time",
        "experiment learner time_step kind count share",
        {
            "count": Column("causal chains of three states or more that began in the window"),
            "share": Column("the share of this kind among them", "", "where nothing was replayed"),
        },
    ),
    "sequences.parquet": _table(
        "causal chain of a log",
        "experiment? learner? mdp? seed? " + _CLASSIFIED,
    ),
    "runs.parquet": _table(
        "run of a log",
        "run experiment learner mdp seed parameters forgets_at_end?",
        {
            "experiment": Column("the experiment; no text if there is none"),
            "mdp": Column("what the world is called"),
            "seed": Column("the seed; -1 if there is none"),
        },
    ),
    "steps.parquet": _table(
        "step of experience", _STEPS + " words? backups? queue_operations? comparisons?"
    ),
    "backups.parquet": _table(
        "backup, in order of execution",
        "run episode step time phase event index pop location state action next_state reward "
        "priority gain need q_before q_after cause",
    ),
    # replay discrepancies
    "discrepancies.csv": _table(
        "period of a learner's runs under a discrepancy",
        "discrepancy experiment learner period published changed difference ci_low ci_high n_mdps",
        {
            "discrepancy": Column("where the text is followed: D1, D2 and so on, or several"),
            "period": Column("which part of the run"),
            "published": Column("the normalised reward rate of the published code"),
            "changed": Column("that of the text's learner in the same worlds"),
            "difference": Column("`changed` minus `published`"),
        },
    ),
    "discrepancy_curves.csv": _table(
        "window of time of a learner under a discrepancy",
        "discrepancy experiment learner time_step mean sem ci_low ci_high n_mdps n_seeds",
        {
            "discrepancy": Column("where the text is followed: D1, D2 and so on, or several"),
            "mean": _RATE,
        },
    ),
    # replay change
    "change_rates.csv": _table(
        "window of time of a learner in a phase",
        "world learner phase time_step mean sem ci_low ci_high n_mdps n_seeds",
        {
            "phase": Column("the number of the phase, from 0"),
            "time_step": Column("the end of the window, from the beginning of the phase", "steps"),
            "mean": _RATE,
        },
    ),
    "change_recovery.csv": _table(
        "learner and change",
        "world learner phase before first late median share_recovered n_mdps",
        {
            "phase": Column("the number of the phase that the change begins"),
            "before": Column("the normalised reward rate in the last fifth of the phase before"),
            "first": Column("that in the first fifth of this phase"),
            "late": Column("that in the last fifth of this phase"),
            "median": Column(
                "the median of the steps until a run is back at 90 % of what it was before",
                "steps",
                "if half of the runs or more are not",
            ),
            "share_recovered": Column("the share of runs that are"),
        },
    ),
    "change_replay.csv": _table(
        "kind of replay before or after a change",
        "world learner phase period kind count share per_step",
        {
            "phase": Column("the number of the phase that the change begins"),
            "period": Column("`before` or `after` the change: a tenth of a phase"),
            "count": Column("causal chains of three states or more"),
            "per_step": Column("how many in a step", "1/step"),
        },
    ),
    # replay demands
    "demands.csv": _table(
        "learner in a world of some size",
        "learner world size mdp n_states n_actions n_steps words backups queue_operations "
        "comparisons",
        {
            "size": Column("what grows: depth, actions, or cells along a side"),
            "words": Column("the most numbers that were held", "words", "if it cannot be told"),
            "backups": Column("backups, a mean over the run", "1/step"),
            "queue_operations": Column("operations of a queue, a mean over the run", "1/step"),
            "comparisons": Column("comparisons, a mean over the run", "1/step"),
        },
    ),
    # replay compare
    "evidence.csv": _table(
        "published finding and account",
        "finding study source question task statistic label likelihood account evidence "
        "evidence_se share_agreeing predicted_low predicted predicted_high share_without_replay "
        "published published_low published_high weight second_hand is_control diagnostic",
        {
            "source": Column("first author and year; with `unpublished` if the finding has no DOI"),
            "question": Column("what the finding answers"),
            "likelihood": Column(
                "what is known: `count`, `value`, `direction` or `null` (for pandas, "
                "read with `keep_default_na=False`)"
            ),
            "share_agreeing": Column(
                "the share of the parameter space in which the finding is more probable than by "
                "knowing nothing"
            ),
            "predicted_low": Column("5 % of simulated studies lie below", "", "without replay"),
            "predicted": Column("the median of simulated studies", "", "without replay"),
            "predicted_high": Column("95 % of them lie below", "", "without replay"),
            "share_without_replay": Column("the share of simulated studies without any replay"),
            "published": Column("what was published", "", "of directions and null results"),
            "published_low": Column("its interval, lower end", "", "where no error is known"),
            "published_high": Column("its interval, upper end", "", "where no error is known"),
            "weight": Column("the finding's part in its study's vote"),
            "second_hand": Column("whether it was read in another paper than its own"),
            "diagnostic": Column(
                "whether some account predicts it better than every control, by a bit",
                "",
                "without controls or accounts",
            ),
        },
    ),
    "sums.csv": _table(
        "account",
        "account is_control evidence ci_low ci_high evidence_se n_studies n_findings ahead "
        "ahead_low ahead_high evidence_of_all ci_low_of_all ci_high_of_all evidence_se_of_all "
        "n_studies_of_all n_findings_of_all ahead_of_all ahead_low_of_all ahead_high_of_all",
        {
            f"{name}{ending}": Column(f"{meaning}{of}", unit, empty)
            for ending, of in (("", ", of diagnostic findings"), ("_of_all", ", of all findings"))
            for name, meaning, unit, empty in (
                ("evidence", "the sum of evidence, a vote a study", _BIT, ""),
                ("ci_low", "lower end of its 95 % interval over studies", _BIT, ""),
                ("ci_high", "upper end of its 95 % interval over studies", _BIT, ""),
                ("evidence_se", "its Monte Carlo error", _BIT, ""),
                ("n_studies", "studies", "", ""),
                ("n_findings", "findings", "", ""),
                ("ahead", "how far it is ahead of the best control", _BIT, _NO_CONTROLS),
                ("ahead_low", "lower end of that, over studies", _BIT, _NO_CONTROLS),
                ("ahead_high", "upper end of that, over studies", _BIT, _NO_CONTROLS),
            )
        },
    ),
    "confusion.csv": _table(
        "true account and account that is found",
        "truth found share",
        {
            "truth": Column("the account whose simulated findings are scored"),
            "found": Column("the account that comes out first"),
            "share": Column("how often"),
        },
    ),
    "measurements.csv": _table(
        "statistic of a task",
        "task statistic information most_apart apart",
        {
            "information": Column(
                "what one more such study is expected to tell of which account is true", _BIT
            ),
            "most_apart": Column(
                "the two accounts that it tells apart best", "", "if it tells none"
            ),
            "apart": Column("how well, at most 1", _BIT),
        },
    ),
    "regions.csv": _table(
        "parameter of an account, and finding",
        "account finding parameter region share_agreeing",
        {
            "region": Column("the values with which the account agrees with the finding"),
            "share_agreeing": Column("the share of the parameter space that does"),
        },
    ),
    "robustness.csv": _table(
        "account under a setting of the scoring",
        "setting account evidence evidence_of_all rank rank_of_all",
        {
            "setting": Column("what is other than usual in the scoring, or half of the draws"),
            "evidence": Column("evidence of diagnostic findings", _BIT),
            "evidence_of_all": Column("evidence of all findings", _BIT),
            "rank": Column("the place of the account by diagnostic findings, from 1"),
            "rank_of_all": Column("its place by all findings"),
        },
    ),
    "studies.parquet": _table(
        "simulated study and statistic",
        "draw finding statistic successes trials mean sd value n_animals task account",
        {
            "finding": Column("the finding by whose criteria replay was detected; no text: none"),
            "successes": Column("what was counted, of all animals", "", "of other likelihoods"),
            "trials": Column("of how many", "", "of other likelihoods"),
            "mean": Column("the mean over animals", "", "without replay"),
            "sd": Column("the standard deviation over animals", "", "with fewer than two animals"),
            "value": Column("the mean difference from the null", "", "without replay"),
            "n_animals": Column("animals with a value"),
        },
    ),
    "parameters.parquet": _table(
        "parameter of a draw",
        "account draw parameter value",
        {"value": Column("its value, as text")},
    ),
    "findings.csv": _table(
        "published number or direction",
        "id source? citation doi year species task maze quantity definition value unit error n p "
        "direction evidence second_hand? unpublished? note study question quantity_class statistic "
        "task_name likelihood successes trials standard_error sign p_value excluded_low "
        "excluded_high chance n_animals n_units unit_of_n n_events min_length min_distance_cm "
        "largest_jump_cm min_extent_cm min_correlation contradicts why_not",
        {
            name: Column(meaning, unit, empty)
            for name, meaning, unit, empty in (
                ("id", "its name: first author, year and quantity", "", ""),
                ("source", "first author and year", "", ""),
                ("citation", "the paper", "", ""),
                ("doi", "its DOI", "", "if it has none: the finding is unpublished"),
                ("year", "when it appeared", "", ""),
                ("species", "animals, area and cells", "", "if that was not read"),
                ("task", "what the animals did, in words", "", "if that was not read"),
                ("maze", "where, in words", "", "if that was not read"),
                ("quantity", "what was measured", "", ""),
                ("definition", "how it is defined", "", "if that was not read"),
                ("value", "the number", "as in `unit`", "if only a direction is known"),
                ("unit", "the unit of `value`", "", "if there is no number"),
                ("error", "its error, as published", "", "if none was"),
                ("n", "its n, as published", "", "if none was"),
                ("p", "its p, as published", "", "if none was"),
                ("direction", "what was found, in words", "", "if the number says it"),
                ("evidence", "how the number was read", "", ""),
                ("second_hand", "whether in another paper than its own", "", ""),
                ("unpublished", "whether it has no DOI", "", ""),
                ("note", "a remark", "", "if there is none"),
                ("study", "whose data it is", "", ""),
                ("question", "what it answers", "", "if it is not tested"),
                (
                    "quantity_class",
                    "findings of one class measure equal quantities",
                    "",
                    "if alone",
                ),
                ("statistic", "the code of the statistic that tests it", "", "if none does"),
                ("task_name", "the task in which it is tested", "", "if there is none"),
                (
                    "likelihood",
                    "what is known; `null` is no empty cell: `keep_default_na=False`",
                    "",
                    "",
                ),
                ("successes", "what was counted", "", "of other likelihoods"),
                ("trials", "of how many", "", "of other likelihoods"),
                ("standard_error", "that of the statistic", "", "of other likelihoods"),
                ("sign", "1 above its null, -1 below", "", "of other likelihoods"),
                ("p_value", "p as a number, or its bound", "", "of other likelihoods"),
                ("excluded_low", "effects below it are excluded", "", "of other likelihoods"),
                ("excluded_high", "effects above it are excluded", "", "of other likelihoods"),
                ("chance", "the share expected by chance", "", "if the study gives none"),
                ("n_animals", "animals", "", "if that was not read"),
                ("n_units", "what the error or test counts", "", "if that was not read"),
                ("unit_of_n", "`animal`, `session`, `pause` or `event`", "", "without `n_units`"),
                ("n_events", "replay events", "", "if that was not read"),
                ("min_length", "the least number of places of a replay", "", "if none was set"),
                ("min_distance_cm", "the least length of its way", _CM, "if none was set"),
                ("largest_jump_cm", "the largest jump between places", _CM, "if none was set"),
                ("min_extent_cm", "its least extent", _CM, "if none was set"),
                ("min_correlation", "of order and distance, at least", "", "if none was set"),
                ("contradicts", "ids of findings that exclude this one", "", "if none do"),
                ("why_not", "why it is not tested", "", "if it is"),
            )
        },
    ),
    # replay study
    "gain_floor.csv": _table(
        "direction of replay at a place of a task",
        "task setting place direction mean sem ci_low ci_high n",
        {
            "setting": Column("`floor`, as published; `no_floor`; or the floor with `no_need`"),
            "place": Column("at the `start` or the `goal`"),
            "direction": Column("`forward` or `reverse`"),
            "mean": Column("the mean over animals of sequences per episode"),
            "n": Column("animals"),
        },
    ),
    "bounded_memory.csv": _table(
        "bound of the memory in an experiment",
        "experiment retention capacity n_transitions mean sem ci_low ci_high n_mdps",
        {
            "retention": Column("what is forgotten if the memory is full"),
            "capacity": Column("the bound: episodes or transitions; inf: none"),
            "n_transitions": Column("the most transitions that were held, a mean over worlds"),
            "mean": _RATE,
        },
    ),
    "attribution.csv": _table(
        "bound and attribution of a learner's replay",
        "experiment learner of over up_to attribution count share ci_low ci_high n_mdps",
        {
            "of": Column("single `moves`, or `sequences` of three states or more"),
            "over": Column("what rows run over: `episode`, `length`, or `all` of them"),
            "up_to": Column("up to which episode, from 1, or length", "", "of `all`"),
            "attribution": Column("whether `one` episode holds it, `several` or `none`"),
        },
    ),
    "tasks.csv": _table(
        "kind of replay that a learner has in a task",
        "task learner min_length kind orientation phase block place goal states length n_path "
        "n_kind n_all",
        {
            "min_length": Column("sequences of fewer states don't count"),
            "block": Column("the block of the protocol"),
            "place": Column("the state in which the animal is"),
            "goal": Column("the state in which the lap paid most; -1: none"),
            "states": Column("the states as replayed, with blanks between"),
            "n_path": Column("how often this path was replayed"),
            "n_kind": Column("sequences of this kind"),
            "n_all": Column("all sequences"),
        },
    ),
    "published.csv": _table("quantity of a figure of an account", _FIGURE_COLUMNS, _OF_FIGURE),
    "parity.csv": _table(
        "quantity of a figure of an account, beside what is simulated",
        _FIGURE_COLUMNS + " ours ours_sem ours_n ci_low ci_high experiment experiment_n "
        "experiment_low experiment_high z agrees experiment_agrees",
        _OF_FIGURE
        | {
            "ours": Column("what is simulated", "as in `quantity`", "if it is not computed"),
            "ours_sem": Column("its standard error", "as in `quantity`", "if it is not computed"),
            "ours_n": Column("animals", "", "if it is not computed"),
            "experiment": Column("the value in the experiment's task", "", "if there is none"),
            "experiment_n": Column("animals there", "", "if there is none"),
            "experiment_low": Column("lower end of its 95 % interval", "", "if there is none"),
            "experiment_high": Column("its upper end", "", "if there is none"),
            "z": Column("the difference in its standard errors", "", "of ranges and directions"),
            "agrees": Column("`yes`, `no`, `undecided` or `not computed`"),
            "experiment_agrees": Column("the same of the experiment", "", "if there is none"),
        },
    ),
    "recovery.csv": _table(
        "measure of what is found, by cells, gain and speed",
        "n_cells gain speed measure value sem ci_low ci_high n_sessions",
        {
            "gain": Column("how much faster cells fire than in running"),
            "measure": Column("what is measured"),
            "n_sessions": Column("simulated sessions"),
        },
    ),
    "recovery_matrix.csv": _table(
        "true kind and kind that is found",
        "n_cells gain speed truth found probability what",
        {
            "gain": Column("how much faster cells fire than in running"),
            "truth": Column("what was replayed"),
            "found": Column("what was found"),
            "probability": Column("how often"),
            "what": Column("what is tabulated"),
        },
    ),
    "recovery_shares.csv": _table(
        "kind of replay among shares that are known",
        "n_cells gain speed kind true found least_recall corrected ci_low ci_high coverage",
        {
            "gain": Column("how much faster cells fire than in running"),
            "true": Column("its true share"),
            "least_recall": Column("the smallest share of a kind that is found as what it is"),
            "coverage": Column("how often an interval holds it", "", "where it isn't corrected"),
        },
    ),
    # replay recording
    "events.csv": _table(
        "candidate event",
        "animal? event start_time end_time peak? n_active n_spikes score p_cell_identity? "
        "p_circular_fields? p largest_jump log_odds? log_odds_z? track? is_replay kind",
        {
            "event": Column("its number, from 0"),
            "peak": Column("its largest rate or ripple power", "standard deviations"),
            "n_active": Column("cells that fire in it"),
            "n_spikes": Column("spikes in it"),
            "p_cell_identity": Column("p against cells that change places", "", "without spikes"),
            "p_circular_fields": Column("p against fields shifted round", "", "without spikes"),
            "p": Column("the largest of these", "", "without spikes"),
            "log_odds": Column("of the one track against the other"),
            "log_odds_z": Column("that, in standard deviations of shuffles"),
            "largest_jump": Column("between the most probable places of time bins", _CM),
            "track": Column("that of its path, from 1", "", "without a path"),
            "is_replay": Column("whether it is taken for replay"),
            "kind": Column("that of its longest sequence", "", "unless it is replay"),
        },
    ),
    "recording/sequences.parquet": _table(
        "place sequence of replay in a recording",
        "animal? run episode step time event phase location index first last states length "
        "n_distinct moves distance direction novelty composition_order n_episodes splice_states "
        "episode_matched episode_lag from_current_episode shortcut impossible start_time end_time "
        "kind",
        {"index": Column("which reactivation of the event is the first, from 0")},
    ),
    "kinds.csv": _table(
        "kind of replay at a size of states",
        "animal? state_size states_per_metre kind n n_events share ci_low ci_high",
        {
            "state_size": Column("the distance of states", _CM),
            "states_per_metre": Column("states along a metre of track", "1/m"),
            "n": Column("events of this kind"),
            "n_events": Column("events that are replay, with a sequence"),
        },
    ),
    "shares.csv": _table(
        "kind of replay",
        "animal? kind found corrected ci_low ci_high recall",
        {"recall": Column("the share of it that is found", "", "without simulated sessions")},
    ),
    "states.csv": _table("state of the track", "animal? state x y"),
    "paths.parquet": _table("time bin of an event", "animal? event time x y"),
    "experience.parquet": _table("move of the animal between states", "animal? " + _STEPS),
    "spikes.parquet": _table("spike in an event", "animal? event cell time"),
    "place_fields.parquet": _table(
        "cell and bin of the track",
        "animal? cell bin x y rate",
        {
            "bin": Column("the number of the bin, from 0"),
            "rate": Column("the rate in running", "Hz"),
        },
    ),
    "statistics.csv": _table(
        "statistic",
        "animal? statistic label value ci_low ci_high null p n_animals n_above n_below "
        "chance_above n_chains published_low published_high sources",
        {
            "null": Column("what to expect by chance", "", "if the statistic has no null"),
            "p": Column("that of a test over animals", "", "with fewer than two animals"),
            "n_above": Column("animals above their null"),
            "n_below": Column("animals below their null"),
            "chance_above": Column(
                "how probable it is that an animal lies above by chance",
                "",
                "if that is not a half",
            ),
            "n_chains": Column("sequences that were counted"),
            "sources": Column("who published these numbers", "", "if nobody did"),
        },
    ),
    "statistics_of_all.csv": _table(
        "statistic, over animals",
        "statistic label value ci_low ci_high null p n_animals n_above n_below chance_above "
        "n_chains published_low published_high sources",
        {
            "null": Column("what to expect by chance", "", "if the statistic has no null"),
            "p": Column("that of a test over animals", "", "with fewer than two animals"),
            "n_above": Column("animals above their null"),
            "n_below": Column("animals below their null"),
            "chance_above": Column(
                "how probable it is that an animal lies above by chance",
                "",
                "if that is not a half",
            ),
            "n_chains": Column("sequences that were counted"),
            "sources": Column("who published these numbers", "", "if nobody did"),
        },
    ),
    "kinds_of_all.csv": _table(
        "kind of replay at a size of states, over animals",
        "state_size kind share sem ci_low ci_high n_animals",
        {
            "state_size": Column("the distance of states", _CM),
            "share": Column("the mean share over animals"),
            "sem": Column("its standard error", "", _ONE_ANIMAL),
        },
    ),
    "shares_of_all.csv": _table(
        "kind of replay, over animals",
        "kind found ci_low_found ci_high_found n_found corrected ci_low_corrected "
        "ci_high_corrected n_corrected",
        {
            "found": Column("the mean share as found"),
            "ci_low_found": Column("lower end of its 95 % interval", "", _ONE_ANIMAL),
            "ci_high_found": Column("its upper end", "", _ONE_ANIMAL),
            "n_found": Column("animals"),
            "ci_low_corrected": Column("lower end of its 95 % interval", "", _TOO_FEW),
            "ci_high_corrected": Column("its upper end", "", _TOO_FEW),
            "n_corrected": Column("animals whose share could be corrected"),
        },
    ),
    "accounts.csv": _table(
        "statistic of a recording, published finding and account",
        "animal? statistic label value ci_low ci_high null finding source task likelihood "
        "published published_low published_high account is_control predicted_low predicted "
        "predicted_high",
        {
            "null": Column("what to expect by chance", "", "if the statistic has no null"),
            "source": Column("first author and year of the finding"),
            "likelihood": Column("what is known of the finding"),
            "published": Column("what was published", "", "if that is a direction only"),
            "published_low": Column("its interval, lower end", "", "where no error is known"),
            "published_high": Column("its interval, upper end", "", "where no error is known"),
            "predicted_low": Column("5 % of simulated studies lie below", "", "without replay"),
            "predicted": Column("the median of simulated studies", "", "without replay"),
            "predicted_high": Column("95 % of them lie below", "", "without replay"),
        },
    ),
    "chance.csv": _table("event with randomised cells", "animal? event score p"),
    "timings.csv": _table(
        "learner in an experiment (what the benchmark writes)",
        "experiment learner ns_per_step original_ns times_faster minimal log classified",
        {
            "ns_per_step": Column("time of a step", "ns"),
            "original_ns": Column("that of the paper's code", "ns", "where it has no such learner"),
            "times_faster": Column("how many times faster", "", "where it has no such learner"),
            "minimal": Column("the same, as a multiple of a minimal loop", "", "where none is"),
            "log": Column("with a log, as a multiple of `ns_per_step`", "", "without replay"),
            "classified": Column("with all replay classified, likewise", "", "without replay"),
        },
    ),
    "calibration.csv": _table(
        "recording",
        "animal? threshold false_positive_rate at_nominal n_events",
        {
            "threshold": Column("events with a p of at most this are replay"),
            "false_positive_rate": Column("the share of randomised events that pass it"),
            "at_nominal": Column("the share of them that would pass the nominal level"),
            "n_events": Column("events with randomised cells"),
        },
    ),
}
"""Name of the file -> what it holds; ``recording/`` tells tables of `replay recording` from others
of the same name."""


def glossary(name: str) -> list[tuple[str, str, str, str]]:
    """List the columns of a table.

    Parameters
    ----------
    name : str
        A name in ``TABLES``, with or without its ending.

    Returns
    -------
    list of (str, str, str, str)
        Column, meaning, unit, and when it is empty.

    Raises
    ------
    ValueError
        If there is no such table; the message lists the choices.

    Examples
    --------
    >>> glossary("states.csv")[2]
    ('x', 'where, from left to right', 'cm', '')
    """
    endings = {table.rpartition(".")[0]: table for table in TABLES}
    table = TABLES[check_choice("table", endings.get(name, name), TABLES)]
    return [
        (f"{column}{' (in some)' * (column in table.optional)}", *told)
        for column, told in table.columns.items()
    ]


def as_markdown() -> str:
    """Write the whole glossary as it stands in ``data/README.md``.

    Returns
    -------
    str
        A table of the columns that mean the same everywhere, and one of the files with what is
        particular to each.

    Examples
    --------
    >>> as_markdown().splitlines()[0]
    '| column | meaning | unit | empty |'
    """
    used = {
        name: column
        for name, column in COLUMNS.items()
        if any(table.columns.get(name) == column for table in TABLES.values())
    }
    lines = ["| column | meaning | unit | empty |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {' | '.join(column)} |" for name, column in used.items()]
    lines += ["", "| file | a row for each | columns; those of its own with their meaning |"]
    lines += ["|---|---|---|"]
    for name, table in TABLES.items():
        told = "; ".join(_told(name, column, table) for name, column in table.columns.items())
        lines.append(f"| `{name}` | {table.row} | {told} |")
    return "\n".join(lines)


def _told(name: str, column: Column, table: Table) -> str:
    """Name a column, and tell what is its own in a table."""
    text = f"`{name}`{' (in some)' * (name in table.optional)}"
    if COLUMNS.get(name) == column:
        return text
    unit, empty = f", {column.unit}" * bool(column.unit), f", empty {column.empty}"
    return f"{text}: {column.meaning}{unit}{empty * bool(column.empty)}"
