"""Which priorities explain logged backups: by hand, and with backups whose account is known."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import spearmanr

from analyses.inference import backups
from analyses.inference.backups import explain_backups


def test_the_evidence_by_hand(monkeypatch):
    """One power and one lapse: two backups among three candidates and two."""
    monkeypatch.setattr(backups, "_POWERS", np.array([2.0]))
    monkeypatch.setattr(backups, "_LAPSES", np.array([0.1]))
    found = explain_backups([2, 0], {"gain": [[1, 0, 2], [3, 1]]})
    expected = np.log2(0.9 * 4 / 5 + 0.1 / 3) + np.log2(0.9 * 9 / 10 + 0.1 / 2)
    assert found["bits"][0] == pytest.approx(expected / 2)
    assert found["random_bits"][0] == pytest.approx(-np.log2(6) / 2)


def test_a_grid_is_near_the_integral():
    """Of the power, for a single lapse, with as many backups as say something."""
    rng = np.random.default_rng(1)
    values = rng.uniform(size=(30, 4))
    p = values**3 / (values**3).sum(axis=1, keepdims=True)
    chosen = np.array([rng.choice(4, p=each) for each in p])

    def likelihood(power):
        each = values**power / (values**power).sum(axis=1, keepdims=True)
        return np.prod(0.999 * each[np.arange(30), chosen] + 0.001 / 4)

    total = quad(likelihood, 0, 16)[0]
    mean = quad(lambda power: power * likelihood(power), 0, 16)[0] / total
    assert explain_backups(chosen, {"gain": values})["power"][0] == pytest.approx(mean, abs=0.5)


@pytest.mark.parametrize("account", ["gain", "need", "recency", "random"])
def test_the_account_that_made_the_backups_is_recovered(account):
    """Twenty logs of a hundred backups, with powers and lapses from a prior."""
    rng, n_right, sure, powers = np.random.default_rng(2), 0, 0, []
    for _ in range(20):
        priorities = {"gain": [], "need": [], "recency": [], "random": []}
        chosen = []
        power, lapse = rng.uniform(1, 6), rng.uniform(0, 0.3)
        for _ in range(100):
            n = int(rng.integers(2, 9))
            own = {"gain": rng.exponential(size=n), "need": rng.exponential(size=n),
                   "recency": 1 / (1 + rng.permutation(n)), "random": np.ones(n)}  # fmt: skip
            for name, values in own.items():
                priorities[name].append(values)
            p = own[account] ** power / (own[account] ** power).sum()
            chosen.append(int(rng.choice(n, p=(1 - lapse) * p + lapse / n)))
        found = explain_backups(chosen, priorities).set_index("account")
        n_right += found["probability"].idxmax() == account
        sure += found.loc[account, "probability"]
        powers.append((power, found.loc[account, "power"]))
    assert n_right >= 19
    if account != "random":
        assert spearmanr(*np.transpose(powers)).statistic > 0.7
    assert sure > (16 if account != "random" else 12)  # a power of 0 is random, too


def test_what_is_refused():
    with pytest.raises(ValueError, match="'need' must have the priorities of as many candidates"):
        explain_backups([0], {"gain": [[1, 2]], "need": [[1, 2, 3]]})
    with pytest.raises(ValueError, match="must have the priorities of as many candidates"):
        explain_backups([0, 1], {"gain": [[1, 2]]})
    with pytest.raises(ValueError, match="chosen must count the candidates"):
        explain_backups([2], {"gain": [[1, 2]]})
    with pytest.raises(ValueError, match=r"priorities\['gain'\]\[0\]"):
        explain_backups([0], {"gain": [[-1, 2]]})
