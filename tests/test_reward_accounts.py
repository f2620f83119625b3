"""Accounts held against rats: arrivals, evidence and predictions, on numbers by hand."""

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
    table = counts(forward, reverse, seed=1).drop(columns="minutes")
    return pd.concat([table.assign(account=account, draw=draw) for draw in range(n_draws)])


def test_arrivals_are_paid_by_end_and_epoch():
    """The rat arrives left, right, left, and is paid more on the left from the second visit on."""
    moves = {"state": [1, 2, 0, 2, 1, 2], "next_state": [2, 0, 2, 1, 2, 0],
             "terminated": [False, True] * 3, "reward": [np.nan] * 6,
             "time": [0.0, 1.0, 5.0, 6.0, 10.0, 11.0]}  # fmt: skip
    visits = pd.DataFrame({"start_time": [1.5, 6.2, 10.8], "end": ["raised", "other", "raised"],
                           "epoch": ["before", "raised", "raised"]})  # fmt: skip
    table = arrivals(SimpleNamespace(visits=visits, raised=0), EventLog({"steps": moves}), 4.0)
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
    predictions, evidence = compared(found, made, Variant(), seed=0)
    bits = evidence.set_index("account")["bits"]
    assert [*bits.sort_values(ascending=False).index] == ["right", "both", "forward"]
    p = predictions.set_index(["account", "statistic"])["p"]
    assert p["right"].min() > 0.05
    assert p["both", "forward_change"] < 0.01 < p["both", "reverse_change"]
    assert p["forward", "reverse_to_forward"] < 1e-6
    # With the other sense of headings, forward replay rises in the rat.
    swapped, _ = compared(found, made, Variant(exchanged=True), seed=0)
    swapped = swapped.set_index(["account", "statistic"])
    assert swapped.loc[("right", "forward_change"), "observed"] > 1
    # Evidence of one statistic alone is that of its normal density.
    alone, one = compared(found, made, Variant(only=("reverse_to_forward",)), seed=0)
    row = alone.set_index("account").loc["right"]
    assert row["predicted_low"] == row["predicted_high"]
    error = (row["ci_high"] - row["ci_low"]) / 3.92
    apart = (row["observed"] - row["predicted"]) / error
    by_hand = -0.5 * apart**2 - np.log(error * np.sqrt(2 * np.pi))
    own = one.set_index("account")["bits"]["right"] * np.log(2)
    assert own == pytest.approx(by_hand, abs=0.15)


def test_the_scale_of_simulated_replay_does_not_count():
    found, flat = counts([1] * 6, [2] * 6), simulated("one", [1] * 6, [2] * 6)
    more = flat.assign(
        account="ten times", forward=flat["forward"] * 10, reverse=flat["reverse"] * 10
    )
    _, evidence = compared(found, pd.concat([flat, more]), Variant(), seed=0)
    assert evidence["bits"].iloc[0] == pytest.approx(evidence["bits"].iloc[1])


@pytest.mark.parametrize("width_cm", [8.5, 17.5])
def test_the_figure_is_legible(width_cm, assert_legible):
    from replay.data import reference_table

    tables = (reference_table(f"retest/reward_{name}") for name in ("predictions", "evidence"))
    assert_legible(reward_accounts_figure(*tables, width_cm=width_cm))
