"""Accounts of replay held against rats: what each predicts where reward is raised.

Each account learns from the laps of the rats of ``reward_retest.py`` and replays at the ends of
these. Its replays are counted like those that were found in the spikes, by end of the track and
epoch of reward, after the loss that decoding causes. Three numbers are compared: the ratio of
reverse to forward replay, and by how much each of both changes where reward is raised. Parameters
are drawn from the priors of the account, once for all rats::

    python tests/verification/reward_accounts.py FOLDER OUT

reads the sessions of ``data/retest``. The same command goes on after an interruption.

How much an account replays does not count: its numbers are brought to those of the rats, and draws
with less than half of these are left out. The evidence of an account is the mean over its draws of
the density of what was found, whose error is that of sessions that are drawn again. What the larger
reward was is not in the published files: it is taken to be four times the other, as in Ambrose et
al. (2016), and twice as a check.

Sessions with ten replays and more are also given to `explain`, one by one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from reward_retest import (
    GROUPS,
    SENSES,
    RewardSession,
    drawn_again,
    ratio_of_ratios,
    read_session,
    totals,
)
from scipy import stats
from scipy.special import logsumexp

from analyses import explain
from analyses.cli.studies import do_study
from analyses.findings.accounts import ACCOUNTS, Account
from analyses.inference.animals import experienced_animal
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Shown, Study
from analyses.recordings import Judgement, find_replay
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.studies.explanation.plan import simulated_draws
from replay.data import reference_table
from replay.log.event_log import EventLog

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AMOUNTS = (4.0, 2.0)
EXPLAINED = ("animal", "session", "n_sequences", "account", "is_control", "probability", "misfit")
EXPLAINED += ("bits", "verdict")
KEYS = ("end", "epoch")
STATISTICS = ("reverse_to_forward", "forward_change", "reverse_change")
"""Logarithms: of a ratio, and of the ratios of ratios of ``reward_retest.py``."""
STATE_SIZE = 15.0  # cm, as `find_replay` chooses on these tracks
LEAST_REPLAYS, LEAST_DRAWS = 10, 10
MISREAD = 0.04
"""The largest share of replay whose heading was decoded wrongly (``headings.py``)."""
LEAST_SHARE = 0.5
"""Of the number of replays that were found; as in `explain`."""


class Held(NamedTuple):
    """The plan: the folder with a folder for each animal, draws of each account, and the seed."""

    folder: str
    n_draws: int = 32
    seed: int = 0
    wrong_places: None = None  # decoding loses ends, turns and short paths

    def sessions(self, least_replays: int = 0) -> list[tuple[str, str]]:
        """List animal and session, of those in which replay was counted."""
        known = reference_table("retest/retest_sessions").dropna(subset=["n_cells"])
        known = known[known["n_replay"] >= least_replays]
        return [*known[["animal", "session"]].itertuples(index=False, name=None)]

    def describe(self) -> dict[str, Any]:
        """Return what the manifest must hold."""
        return {"seed": self.seed, "draws": self.n_draws, "accounts": [*ACCOUNTS]}

    def n_pieces(self) -> dict[str, int]:
        """Return the number of sessions: with each amount of reward, and with enough replay."""
        n_sessions = len(self.sessions())
        explained = {"explained": len(self.sessions(LEAST_REPLAYS))}
        return {f"paid_{amount:g}": n_sessions for amount in AMOUNTS} | explained


def arrivals(session: RewardSession, log: EventLog, amount: float = 1.0) -> pd.DataFrame:
    """List the arrivals at ends of the track: `step`, `end`, `epoch` and `reward`.

    The epoch is that of the nearest visit to the same end.
    """
    moves = log.columns("steps")
    step = np.flatnonzero(moves["terminated"])
    is_raised = moves["next_state"][step] == session.raised
    table = pd.DataFrame({"step": step, "end": np.where(is_raised, "raised", "other")})
    for end, rows in table.groupby("end"):
        visits = session.visits[session.visits["end"] == end]
        times = moves["time"][rows["step"]]
        nearest = np.abs(np.subtract.outer(times, visits["start_time"].to_numpy())).argmin(axis=1)
        table.loc[rows.index, "epoch"] = visits["epoch"].to_numpy()[nearest]
    is_more = (table["end"] == "raised") & (table["epoch"] == "raised")
    return table.assign(reward=np.where(is_more, amount, 1.0))


def simulated_counts(
    session: RewardSession, amount: float, plan: Held, accounts: Mapping[str, Account] = ACCOUNTS
) -> pd.DataFrame:
    """Count what each draw of each account replays: `account, draw, end, epoch` and counts."""
    _, log = experience_of(session.recording, STATE_SIZE)
    paid = arrivals(session, log, amount)
    rat = experienced_animal(log, rewards=paid[["step", "reward"]], told=1.0)
    rat = replace(rat, is_decoded=True)
    visits = paid.groupby(["end", "epoch"]).size()
    # The number of an end in an epoch, by step; the last is that of replay before the first lap.
    cell = np.full(len(log.columns("steps")["state"]) + 1, -1)
    cell[paid["step"]] = visits.index.get_indexer(pd.MultiIndex.from_frame(paid[[*KEYS]]))
    tables = []
    for name, account in accounts.items():
        for made in simulated_draws(rat, name, account, range(plan.n_draws), plan, 0):
            along, step = made.seen.along, made.seen.step
            heading = np.bincount(along.owner, along.flat, minlength=len(step))
            heading[cell[step] < 0] = 0
            own = visits.to_frame("visits").assign(account=name, draw=made.draw)
            for sense, is_so in (("forward", heading > 0), ("reverse", heading < 0)):
                own[sense] = np.bincount(cell[step[is_so]], minlength=len(visits))
            tables.append(own)
    return pd.concat(tables).reset_index()


def explained(folder: Path, amount: float, plan: Held) -> pd.DataFrame:
    """Ask which account explains the replay of one session: a row for each class of accounts."""
    session = read_session(folder)
    found = find_replay(session.recording, judgement=Judgement(other_sizes=()), seed=0)
    paid = arrivals(session, found.experience, amount)
    answer = explain(found, rewards=paid[["step", "reward"]], n_draws=plan.n_draws, seed=plan.seed)
    [verdict] = answer.verdicts.to_dict("records")
    own = {name: verdict[name] for name in ("n_sequences", "verdict")}
    return answer.probabilities.assign(animal=folder.parent.name, session=folder.name, **own)


def statistics(total: pd.DataFrame, exposure: str = "visits") -> pd.DataFrame:
    """Compute what is compared, a row for each of the totals, with columns (what, end, epoch)."""
    n = {sense: total[sense].sum(axis=1) + 0.5 for sense in SENSES}
    changes = [ratio_of_ratios(total, sense, exposure) for sense in SENSES]
    columns = [np.log(n["reverse"] / n["forward"]), *changes]
    return pd.DataFrame(dict(zip(STATISTICS, columns, strict=True)))


class Variant(NamedTuple):
    """One way to ask: of these sessions, with this reward, and by these statistics."""

    query: str | None = None
    amount: float = AMOUNTS[0]
    exposure: str = "visits"
    only: tuple[str, ...] = STATISTICS
    exchanged: bool = False  # whether what was found is read with the other sense of headings


def variants(animals: list[str]) -> dict[str, Variant]:
    """List the ways to ask; a conclusion should not depend on any."""
    return {
        "all": Variant(),
        "per minute": Variant(exposure="minutes"),
        "twice the reward": Variant(amount=AMOUNTS[1]),
        "changes alone": Variant(only=STATISTICS[1:]),
        "ratio alone": Variant(only=STATISTICS[:1]),
        **{f"without {name}": Variant(query=f"animal != {name!r}") for name in animals},
        **{name: Variant(query=GROUPS[name]) for name in ("saline", "silenced", "set apart")},
        "senses exchanged": Variant(exchanged=True),
    }


def compared(
    counts: pd.DataFrame, simulated: pd.DataFrame, asked: Variant, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compare what was found with what accounts predict.

    Returns
    -------
    predictions : DataFrame
        `account, statistic`, what is `predicted` (median and 90 % of draws), what was `observed`
        with its interval, and the `p` of something as far from what is predicted.
    evidence : DataFrame
        `account, n_draws` and `bits`: the logarithm of the density of what was observed.
    """
    if asked.query is not None:
        counts = counts.query(asked.query)
        simulated = simulated.merge(counts[["animal", "session"]].drop_duplicates())
    if asked.exchanged:
        counts = counts.rename(columns={"forward": "reverse", "reverse": "forward"})
    sessions = totals(counts, ["animal", "session"])
    total = sessions.sum().to_frame().T
    observed = statistics(total, asked.exposure)[[*asked.only]].iloc[0]
    again = statistics(drawn_again(sessions, seed), asked.exposure)[[*asked.only]]
    low, high = again.quantile(0.025), again.quantile(0.975)
    error = stats.multivariate_normal(np.zeros(len(observed)), again.cov())
    made = simulated.pivot_table(
        index=["account", "draw"], columns=["end", "epoch"], sort=False,
        values=["forward", "reverse", "visits"], aggfunc="sum", fill_value=0,
    )  # fmt: skip
    is_replay = made.columns.get_level_values(0) != "visits"
    n_found, n_made = total[[*SENSES]].sum(axis=1).item(), made.loc[:, is_replay].sum(axis=1)
    is_enough = n_made >= LEAST_SHARE * n_found
    scale = np.where(is_replay, n_found / n_made[is_enough].to_numpy()[:, None], 1.0)
    made = made[is_enough] * scale
    exact = {sense: made[sense] for sense in SENSES}
    for sense, other in (SENSES, SENSES[::-1]):
        made[sense] = (1 - MISREAD) * exact[sense] + MISREAD * exact[other]
    predicted = statistics(made)[[*asked.only]]
    names = ("predicted_low", "predicted", "predicted_high")
    rows, evidence = [], []
    for account, draws in predicted.groupby("account", sort=False):
        if len(draws) < LEAST_DRAWS:
            continue
        density = np.atleast_1d(error.logpdf(observed - draws))
        bits = (logsumexp(density) - np.log(len(draws))) / np.log(2)
        evidence.append({"account": account, "n_draws": len(draws), "bits": bits})
        below = stats.norm.cdf((observed - draws) / again.std()).mean(axis=0)
        for name, share in zip(asked.only, below, strict=True):
            rows.append(
                {
                    "account": account,
                    "statistic": name,
                    **dict(zip(names, draws[name].quantile([0.05, 0.5, 0.95]), strict=True)),
                    "observed": observed[name],
                    "ci_low": low[name],
                    "ci_high": high[name],
                    "p": 2 * min(share, 1 - share),
                }
            )
    return pd.DataFrame(rows), pd.DataFrame(evidence)


def _make(plan: Held, piece: Piece) -> dict[str, pd.DataFrame]:
    if piece.group == "explained":
        names = plan.sessions(LEAST_REPLAYS)[piece.number]
        table = explained(Path(plan.folder, *names), AMOUNTS[0], plan)
        return {"explained": table[[*EXPLAINED]]}
    names = plan.sessions()[piece.number]
    amount = float(piece.group.removeprefix("paid_"))
    table = simulated_counts(read_session(Path(plan.folder, *names)), amount, plan)
    return {"simulated": table.assign(animal=names[0], session=names[1], amount=amount)}


def _summarise(plan: Held, results: Results) -> dict[str, pd.DataFrame]:
    counts = reference_table("retest/retest_counts")
    paid = [group for group in plan.n_pieces() if group != "explained"]
    simulated = pd.concat([results.read_pieces("simulated", group) for group in paid])
    tables, evidence = {}, []
    for name, asked in variants(sorted(counts["animal"].unique())).items():
        own = simulated[simulated["amount"] == asked.amount]
        tables[name], bits = compared(counts, own, asked, plan.seed)
        is_control = bits["account"].map(lambda account: ACCOUNTS[account].is_control)
        ahead = bits["bits"] - bits.loc[is_control, "bits"].max()
        evidence.append(bits.assign(variant=name, is_control=is_control, ahead_of_controls=ahead))
    return {
        "reward_predictions.csv": tables["all"],
        "reward_evidence.csv": pd.concat(evidence, ignore_index=True),
        "reward_explained.csv": results.read_pieces("explained", "explained"),
    }


def _show(plan: Held, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    evidence, answers = tables["reward_evidence.csv"], tables["reward_explained.csv"]
    predicted = tables["reward_predictions.csv"]
    found = predicted.drop_duplicates("statistic").set_index("statistic")["observed"]
    predicted = predicted.pivot_table("predicted", "account", "statistic", sort=False)
    predicted = pd.concat([found.to_frame("the rats").T, predicted]).round(2)
    predicted = predicted.rename_axis("account").reset_index()
    ahead = evidence.groupby("account", sort=False)["ahead_of_controls"].agg(["min", "max"])
    usual = evidence[evidence["variant"] == "all"].set_index("account")["ahead_of_controls"]
    ahead = ahead.assign(all=usual).sort_values("all", ascending=False).reset_index().round(1)
    verdicts = answers.drop_duplicates(["animal", "session"])["verdict"].value_counts()
    return [
        Shown("Medians of what accounts predict, and what was found", predicted),
        Shown("Bits ahead of the best control: all, and the range of all ways to ask", ahead),
        Shown("Sessions by verdict", verdicts.reset_index()),
    ]


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from reward_accounts_figures import reward_accounts_figure

    yield "reward_accounts", reward_accounts_figure(*(results.read(file) for file in TABLES))


TABLES = ("reward_predictions.csv", "reward_evidence.csv")
STUDY = Study(
    "reward_accounts",
    "Which account of replay predicts what rats replay where reward is raised?",
    plan=None,
    make=_make,
    summarise=_summarise,
    figures={"reward_accounts": _draw},
    show=_show,
    command="python tests/verification/reward_accounts.py FOLDER OUT",
)

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"Usage: {STUDY.command}")
    do_study(STUDY, Held(sys.argv[1]), Path(sys.argv[2]))
