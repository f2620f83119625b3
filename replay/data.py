"""The tables that ship with the toolkit, in an installed package or in a checkout."""

from pathlib import Path

import pandas as pd

from replay.checks import check_choice, check_text, shown

_HERE = Path(__file__).parent
_DATA = next(path for path in (_HERE / "published", _HERE.parent / "data") if path.is_dir())


def data_file(name: str) -> Path:
    """Find a file that ships with the toolkit."""
    path = Path(check_text("The name of a file", name))
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise ValueError(f"The name of a file must be a path below 'data', got {shown(name)}.")
    return _DATA / path


def reference_table(name: str) -> pd.DataFrame:
    """Read a table that ships with the toolkit.

    Parameters
    ----------
    name : str
        Folder and file without extension, such as ``"brea_2018/reward_rate"``;
        ``data/README.md`` describes all tables.

    Examples
    --------
    >>> curves = reference_table("brea_2018/reward_rate")
    >>> curves.query("learner == 'episodic_control'").groupby("experiment")["mean"].last().round(2)
    experiment
    deterministic_tree                 0.97
    deterministic_tree_intermittent    0.96
    maze                               0.87
    stochastic_tree                    0.79
    Name: mean, dtype: float64
    """
    names = [path.relative_to(_DATA).with_suffix("").as_posix() for path in _DATA.rglob("*.csv")]
    return pd.read_csv(_DATA / f"{check_choice('table', name, sorted(names))}.csv")
