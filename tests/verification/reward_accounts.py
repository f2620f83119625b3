"""Accounts of replay compared with rats: what each predicts where reward is raised.

Each account learns from the laps of the rats of ``reward_retest.py`` and replays at the ends of
these. Its replays are counted like those that were found in the spikes, by end of the track and
epoch of reward, after the loss that decoding causes. Three numbers are compared: the ratio of
reverse to forward replay, and by how much each of both changes where reward is raised. Parameters
are drawn from the priors of the account, once for all rats; they are not fitted::

    python tests/verification/reward_accounts.py FOLDER OUT

reads the sessions of ``data/retest``. The same command goes on after an interruption.

How much an account replays does not count: each session has as many replays as were found there,
and draws with less than half of all are left out. The p of an account is how often a study of it
would be as far from what its parameters predict, by the Mahalanobis distance whose error is that
of sessions that are drawn again; it is the mean over draws, and that of the best draw stands beside
it. What the larger reward was is not in the published files: it is taken to be four times the
other, as in Ambrose et al. (2016). Accounts have no time: what rats do per minute is compared with
what accounts do per visit.

Sessions with twenty replays and more are also given to `explain`, one by one.
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

from analyses import explain
from analyses.cli.studies import do_study
from analyses.findings.accounts import ACCOUNTS, Account
from analyses.inference.animals import experienced_animal
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Shown, Study
from analyses.recordings import Judgement, find_replay
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.studies.explanation import simulated_draws
from replay.data import reference_table
from replay.log.event_log import EventLog

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AMOUNT = 4.0
"""What the larger reward is, in units of the other."""
EXPLAINED = ("animal", "session", "n_sequences", "account", "is_control", "probability", "misfit")
EXPLAINED += ("bits", "verdict")
KEYS = ("end", "epoch")
STATISTICS = ("reverse_to_forward", "forward_change", "reverse_change")
"""Logarithms: of a ratio, and of the ratios of ratios of ``reward_retest.py``."""
STATE_SIZE = 15.0  # cm, as `find_replay` chooses on these tracks
LEAST_REPLAYS, LEAST_DRAWS = 20, 10
MISREAD = 0.04
"""The largest share of events whose heading was decoded wrongly (``headings.py``)."""
LEAST_SHARE = 0.5
"""Of the number of replays that were found, and of visits that are known as arrivals."""


class RewardAccounts(NamedTuple):
    """The plan: the folder with a folder for each animal, draws of each account, and the seed."""

    folder: str
    n_draws: int = 64
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
        """Return the number of sessions, and of those with enough replay for `explain`."""
        return {"simulated": len(self.sessions()), "explained": len(self.sessions(LEAST_REPLAYS))}


def arrivals(session: RewardSession, log: EventLog) -> pd.DataFrame:
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
    return table.assign(reward=np.where(is_more, AMOUNT, 1.0))


def simulated_counts(
    session: RewardSession, plan: RewardAccounts, accounts: Mapping[str, Account] = ACCOUNTS
) -> pd.DataFrame:
    """Count what each draw of each account replays: `account, draw, end, epoch` and counts."""
    _, log = experience_of(session.recording, STATE_SIZE)
    paid = arrivals(session, log)
    rat = experienced_animal(log, rewards=paid[["step", "reward"]], heading_share=1.0)
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


def explained(folder: Path, plan: RewardAccounts) -> pd.DataFrame:
    """Ask which account explains the replay of one session: a row for each class of accounts."""
    session = read_session(folder)
    found = find_replay(session.recording, judgement=Judgement(other_sizes=()), seed=0)
    paid = arrivals(session, found.experience)
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
    """One way to ask: of these sessions, and by these statistics."""

    query: str | None = None
    exposure: str = "visits"
    misread: float = MISREAD
    drawn: str = "session"  # what is drawn again for the error
    only: tuple[str, ...] = STATISTICS
    exchanged: bool = False  # whether what was found is read with the other sense of headings


OTHER_QUESTIONS = ("changes alone", "ratio alone", "senses exchanged")


def variants(animals: list[str]) -> dict[str, Variant]:
    """List the ways to ask, and three other questions."""
    return {
        "all": Variant(),
        "per minute": Variant(exposure="minutes"),
        "no heading misread": Variant(misread=0.0),
        "a tenth misread": Variant(misread=0.1),
        "rats drawn again": Variant(drawn="animal"),
        **{f"without {name}": Variant(query=f"animal != {name!r}") for name in animals},
        **{name: Variant(query=GROUPS[name]) for name in ("saline", "silenced", "set apart")},
        "changes alone": Variant(only=STATISTICS[1:]),
        "ratio alone": Variant(only=STATISTICS[:1]),
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
    fit : DataFrame
        `account, n_draws`, and the `p` of all statistics together, with that of the best draw.
    """
    keys = ["animal", "session", "end", "epoch"]
    arrived = simulated.drop_duplicates(keys).set_index(keys)["visits"]
    visits = counts.set_index(keys)["visits"]
    is_lost = arrived.reindex(visits.index, fill_value=0) < LEAST_SHARE * visits
    lost = is_lost.groupby(keys[:2]).any()
    known = lost[~lost].reset_index()[keys[:2]]
    counts = counts.merge(known)
    if asked.query is not None:
        counts = counts.query(asked.query)
    if asked.exchanged:
        counts = counts.rename(columns={"forward": "reverse", "reverse": "forward"})
    sessions = totals(counts, keys[:2])
    units = sessions if asked.drawn == "session" else totals(counts, ["animal"])
    total = sessions.sum().to_frame().T
    observed = statistics(total, asked.exposure)[[*asked.only]].iloc[0]
    again = statistics(drawn_again(units, seed), asked.exposure)[[*asked.only]]
    low, high = again.quantile(0.025), again.quantile(0.975)
    # Each session has as many replays as were found there.
    senses = [*SENSES]
    n_found = counts.groupby(keys[:2])[senses].sum().sum(axis=1).rename("n_found")
    made = simulated.merge(n_found, left_on=keys[:2], right_index=True)
    n_made = made.groupby(["account", "draw", *keys[:2]])[senses].transform("sum").sum(axis=1)
    of_draw = made.groupby(["account", "draw"])[senses].transform("sum").sum(axis=1)
    is_enough = of_draw >= LEAST_SHARE * n_found.sum()
    scale = (made["n_found"] / n_made.where(n_made > 0)).fillna(0.0)
    made = made.assign(**{sense: made[sense] * scale for sense in senses})[is_enough]
    made = made.pivot_table(
        index=["account", "draw"], columns=["end", "epoch"], sort=False,
        values=[*senses, "visits"], aggfunc="sum", fill_value=0,
    )  # fmt: skip
    exact = {sense: made[sense] for sense in senses}
    for sense, other in (senses, senses[::-1]):
        made[sense] = (1 - asked.misread) * exact[sense] + asked.misread * exact[other]
    predicted = statistics(made)[[*asked.only]]
    names = ("predicted_low", "predicted", "predicted_high")
    inverse, error = np.linalg.inv(again.cov()), again.std()
    rows, fit = [], []
    for account, draws in predicted.groupby("account", sort=False):
        if len(draws) < LEAST_DRAWS:
            continue
        apart = (observed - draws).to_numpy()
        p = stats.chi2.sf(np.einsum("ki,ij,kj->k", apart, inverse, apart), len(observed))
        fit.append({"account": account, "n_draws": len(draws), "p": p.mean(), "p_best": p.max()})
        below = stats.norm.cdf((observed - draws) / error).mean(axis=0)
        for name, share in zip(asked.only, below, strict=True):
            ends = draws[name].quantile([0.05, 0.5, 0.95])
            rows.append(
                {
                    "account": account,
                    "statistic": name,
                    **dict(zip(names, ends, strict=True)),
                    "observed": observed[name],
                    "ci_low": low[name],
                    "ci_high": high[name],
                    "p": 2 * min(share, 1 - share),
                }
            )
    return pd.DataFrame(rows), pd.DataFrame(fit)


def _make(plan: RewardAccounts, piece: Piece) -> dict[str, pd.DataFrame]:
    if piece.group == "explained":
        names = plan.sessions(LEAST_REPLAYS)[piece.number]
        table = explained(Path(plan.folder, *names), plan)
        return {"explained": table[[*EXPLAINED]]}
    names = plan.sessions()[piece.number]
    table = simulated_counts(read_session(Path(plan.folder, *names)), plan)
    return {"simulated": table.assign(animal=names[0], session=names[1])}


def _summarise(plan: RewardAccounts, results: Results) -> dict[str, pd.DataFrame]:
    counts = reference_table("retest/retest_counts")
    simulated = results.read_pieces("simulated", "simulated")
    tables, fits = {}, []
    for name, asked in variants(sorted(counts["animal"].unique())).items():
        tables[name], fit = compared(counts, simulated, asked, plan.seed)
        is_control = fit["account"].map(lambda account: ACCOUNTS[account].is_control)
        fits.append(fit.assign(variant=name, is_control=is_control))
    return {
        "reward_predictions.csv": tables["all"],
        "reward_fit.csv": pd.concat(fits, ignore_index=True),
        "reward_explained.csv": results.read_pieces("explained", "explained"),
    }


def _show(plan: RewardAccounts, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    predicted, answers = tables["reward_predictions.csv"], tables["reward_explained.csv"]
    found = predicted.drop_duplicates("statistic").set_index("statistic")["observed"]
    predicted = predicted.pivot_table("predicted", "account", "statistic", sort=False)
    predicted = pd.concat([found.to_frame("the rats").T, predicted]).round(2)
    fit = tables["reward_fit.csv"].pivot_table("p", "account", "variant", sort=False)
    asked = fit.drop(columns=[*OTHER_QUESTIONS])
    fit = pd.DataFrame({"p": fit["all"], "least": asked.min(axis=1), "most": asked.max(axis=1)})
    verdicts = answers.drop_duplicates(["animal", "session"])["verdict"].value_counts()
    return [
        Shown(
            "Medians of what accounts predict, and what was found",
            predicted.rename_axis("account").reset_index(),
        ),
        Shown(
            "p of all three numbers together, and its range over ways to ask",
            fit.sort_values("p", ascending=False).reset_index().round(4),
        ),
        Shown("Sessions by verdict", verdicts.reset_index()),
    ]


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from reward_accounts_figures import reward_accounts_figure

    yield "reward_accounts", reward_accounts_figure(*(results.read(file) for file in TABLES))


TABLES = ("reward_predictions.csv", "reward_fit.csv")
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
    do_study(STUDY, RewardAccounts(sys.argv[1]), Path(sys.argv[2]))
