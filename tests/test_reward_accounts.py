"""Accounts compared with rats: arrivals, predictions and their fit, on numbers by hand."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reward_accounts import Variant, arrivals, compared, statistics
from reward_accounts_figures import reward_accounts_figure
from reward_retest import totals

from replay.log.event_log import EventLog

ENDS, EPOCHS = ("raised", "other"), ("before", "raised", "after")


def counts(forward, reverse, n_sessions=60, seed=0):
    """Sessions whose counts are drawn around these means, at each end in each epoch."""
    rng = np.random.default_rng(seed)
    keys = [*product(("rat",), range(n_sessions), ENDS, EPOCHS)]
    table = pd.DataFrame(keys, columns=["animal", "session", "end", "epoch"])
    means = {"forward": forward, "reverse": reverse}
    drawn = {name: rng.poisson(np.tile(mean, n_sessions)) for name, mean in means.items()}
    return table.assign(**drawn, visits=20, minutes=2.0)


def simulated(account, forward, reverse, n_draws=12):
    """As many draws of an account, whose counts are those of each session."""
    table = counts(forward, reverse).drop(columns="minutes")
    means = {"forward": forward, "reverse": reverse}
    table = table.assign(**{name: np.tile(mean, 60) for name, mean in means.items()})
    return pd.concat([table.assign(account=account, draw=draw) for draw in range(n_draws)])


def test_arrivals_are_paid_by_end_and_epoch():
    """The rat arrives left, right, left, and is paid more on the left from the second visit on."""
    moves = {"state": [1, 2, 0, 2, 1, 2], "next_state": [2, 0, 2, 1, 2, 0],
             "terminated": [False, True] * 3, "reward": [np.nan] * 6,
             "time": [0.0, 1.0, 5.0, 6.0, 10.0, 11.0]}  # fmt: skip
    visits = pd.DataFrame({"start_time": [1.5, 6.2, 10.8], "end": ["raised", "other", "raised"],
                           "epoch": ["before", "raised", "raised"]})  # fmt: skip
    table = arrivals(SimpleNamespace(visits=visits, raised=0), EventLog({"steps": moves}))
    assert table["step"].tolist() == [1, 3, 5]
    assert table["end"].tolist() == ["raised", "other", "raised"]
    assert table["epoch"].tolist() == ["before", "raised", "raised"]
    assert table["reward"].tolist() == [1.0, 1.0, 4.0]


def test_statistics_by_hand():
    table = pd.DataFrame([*product(ENDS, EPOCHS)], columns=["end", "epoch"]).assign(
        animal="rat", forward=[1, 1, 0, 1, 1, 0], reverse=[1, 4, 0, 2, 2, 0], visits=10
    )
    found = statistics(totals(table.assign(minutes=1.0), ["animal"])).iloc[0]
    assert found["reverse_to_forward"] == pytest.approx(np.log(9.5 / 4.5))
    assert found["forward_change"] == 0.0
    assert found["reverse_change"] == pytest.approx(np.log(4.5 / 1.5))


def test_the_account_that_made_the_counts_comes_first():
    """One account raises reverse replay, one raises both, and one replays forward only."""
    rises, flat = [1, 4, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]
    found = counts(flat, rises)
    few = [1, 0, 0, 0, 0, 0]
    made = pd.concat([simulated("right", flat, rises), simulated("both", rises, rises),
                      simulated("forward", [3] * 6, few),
                      simulated("little", few, few)])  # fmt: skip
    predictions, fit = compared(found, made, Variant(misread=0.0), seed=0)
    together = fit.set_index("account")["p"]
    assert [*together.sort_values(ascending=False).index] == ["right", "both", "forward"]
    assert together["right"] > 0.05 > 0.001 > together["both"]
    p = predictions.set_index(["account", "statistic"])["p"]
    assert p["right"].min() > 0.05
    assert p["both", "forward_change"] < 0.01 < p["both", "reverse_change"]
    assert p["forward", "reverse_to_forward"] < 1e-6
    # With the other sense of headings, forward replay rises in the rat.
    swapped, _ = compared(found, made, Variant(exchanged=True), seed=0)
    swapped = swapped.set_index(["account", "statistic"])
    assert swapped.loc[("right", "forward_change"), "observed"] > 1
    # The p of one number alone is that of a normal distribution.
    alone, one = compared(found, made, Variant(only=("reverse_to_forward",)), seed=0)
    row = alone.set_index("account").loc["right"]
    assert row["predicted_low"] == row["predicted_high"]
    assert one.set_index("account")["p"]["right"] == pytest.approx(row["p"])
    assert one.set_index("account")["p_best"]["right"] == pytest.approx(row["p"])


def test_the_scale_of_simulated_replay_does_not_count_session_by_session():
    found, flat = counts([1] * 6, [2] * 6), simulated("one", [1] * 6, [2] * 6)
    factor = flat["session"] % 7 + 1
    more = flat.assign(account="more", forward=flat["forward"] * factor,
                       reverse=flat["reverse"] * factor)  # fmt: skip
    _, fit = compared(found, pd.concat([flat, more]), Variant(), seed=0)
    assert fit["p"].iloc[0] == pytest.approx(fit["p"].iloc[1])


def test_a_session_without_arrivals_at_one_end_is_left_out():
    """In one session the end is never reached, so that nothing is paid more there."""
    found, made = counts([1] * 6, [2] * 6), simulated("one", [1] * 6, [2] * 6)
    is_lost = (made["session"] == 0) & (made["end"] == "raised")
    without, _ = compared(found, made.assign(visits=np.where(is_lost, 0, 20)), Variant(), seed=0)
    ever = found[found["session"] > 0]
    same, _ = compared(ever, made[made["session"] > 0], Variant(), seed=0)
    assert without["observed"].tolist() == same["observed"].tolist()


def test_a_share_of_headings_is_misread():
    found, made = counts([1] * 6, [2] * 6), simulated("one", [0] * 6, [2] * 6)
    table, _ = compared(found, made, Variant(misread=0.1), seed=0)
    ratio = table.set_index("statistic").loc["reverse_to_forward", "predicted"]
    assert ratio == pytest.approx(np.log(9), abs=0.01)


@pytest.mark.parametrize("width_cm", [8.5, 17.5])
def test_the_figure_is_legible(width_cm, assert_legible):
    from replay.data import reference_table

    tables = (reference_table(f"retest/reward_{name}") for name in ("predictions", "fit"))
    assert_legible(reward_accounts_figure(*tables, width_cm=width_cm))
