"""What was published about replay: facts, and the numbers that a likelihood needs.

``findings()`` is a table, one row a number or direction, with its source. What a simulated study is
held against is in typed columns; which of them have a value depends on the `likelihood`:

=============  =====================================================================================
`likelihood`
=============  =====================================================================================
count          `successes` of `trials`, and sometimes the share expected by `chance`
value          `value` with `standard_error`, on the scale of the statistic
direction      the statistic lies above (`sign` 1) or below (-1) its null, with `p_value`
null           no difference was found; effects below `excluded_low` and above `excluded_high` are
               excluded
none           it is not tested, and `why_not` says why
=============  =====================================================================================

Second-hand values, read in another paper than the one that found them, are marked as such, and so
is what has no DOI.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures import STATISTICS
from analyses.sequences.place_sequences import Detection
from replay.checks import check_number, check_table, shown, unknown_name
from replay.data import data_file

__all__ = [
    "EVIDENCE",
    "LIKELIHOODS",
    "UNITS_OF_N",
    "as_share",
    "detection_of",
    "findings",
    "published_ranges",
    "questions",
]

LIKELIHOODS = {
    "count": ("successes", "trials"),
    "value": ("value", "standard_error"),
    "direction": ("sign", "p_value", "n_units"),
    "null": ("excluded_low", "excluded_high"),
    "none": (),
}
"""How a finding is held against a model, and the columns that this needs."""

UNITS_OF_N = ("animal", "session", "pause", "event")

SECOND_HAND = "second-hand"
UNPUBLISHED = "unpublished"
EVIDENCE = (
    "primary paper",
    "figure legend",
    "abstract",
    "arithmetic on published counts",
    "recomputed from released data",
    "released notebooks",
    SECOND_HAND,
    UNPUBLISHED,
)

_NEEDED = ("id", "citation", "year", "quantity", "likelihood")
_COLUMNS = (
    *("id", "citation", "doi", "year", "species", "task", "maze", "quantity", "definition"),
    *("value", "unit", "error", "n", "p", "direction", "evidence", "note"),
    *("study", "question", "quantity_class", "statistic", "task_name", "likelihood"),
    *("successes", "trials", "standard_error", "sign", "p_value", "excluded_low"),
    *("excluded_high", "chance", "n_animals", "n_units", "unit_of_n", "n_events"),
    *("min_length", "min_distance_cm", "largest_jump_cm", "min_extent_cm", "min_correlation"),
    *("contradicts", "why_not"),
)
_LIMITS: dict[str, tuple[float, float, bool]] = {
    "year": (1901, 2099, True),
    "value": (-np.inf, np.inf, False),
    "successes": (0, np.inf, True),
    "trials": (1, np.inf, True),
    "standard_error": (1e-12, np.inf, False),
    "sign": (-1, 1, True),
    "p_value": (1e-300, 1, False),
    "excluded_low": (-np.inf, np.inf, False),
    "excluded_high": (-np.inf, np.inf, False),
    "chance": (0, 1, False),
    "n_animals": (1, np.inf, True),
    "n_units": (1, np.inf, True),
    "n_events": (1, np.inf, True),
    "min_length": (2, np.inf, True),
    "min_distance_cm": (0, np.inf, False),
    "largest_jump_cm": (1e-12, np.inf, False),
    "min_extent_cm": (0, np.inf, False),
    "min_correlation": (0, 1, False),
}
_TEXTS = tuple(column for column in _COLUMNS if column not in _LIMITS)
_OF_ONE = {
    column: name
    for name, columns in LIKELIHOODS.items()
    for column in columns
    if column not in ("value", "n_units")
}
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_FIRST_AUTHOR = re.compile(r"(.+?) [A-Z][A-Z-]*(,| et al| and| \()")
_DETECTION = {
    "min_length": "min_length",
    "min_distance_cm": "min_distance",
    "largest_jump_cm": "largest_jump",
    "min_extent_cm": "min_extent",
    "min_correlation": "min_correlation",
}
_ROUNDED = 0.0051


def findings(extra: pd.DataFrame | str | Path | None = None) -> pd.DataFrame:
    """List the published numbers and directions.

    Parameters
    ----------
    extra : DataFrame or path, optional
        Findings of your own, as a table or a CSV file; they come last. `id, citation, year,
        quantity` and `likelihood` are needed, and `statistic, task_name` and the numbers that the
        likelihood needs if it is not ``none``. Other columns may be left out: without a DOI a
        finding is marked as unpublished, and what asks the same as a finding of the table does
        gets its question.

    Returns
    -------
    pandas.DataFrame
        One row a number or direction. Numbers that were not published, or not read, are NaN, and
        such words are empty. Columns:

        ``id, source, citation, doi, year, species, task, maze``
            Where it comes from: `source` is the first author and the year.
        ``quantity, definition, direction, note``
            What was measured and found, in words.
        ``value, unit, error, n, p``
            The number; NaN if only a direction is known. The rest is text, as published.
        ``evidence, second_hand, unpublished``
            How it was read; whether in another paper than its own; and whether it has no DOI.
        ``study``
            Whose data it is of: all findings of one study have one vote, and so have analyses of
            the same data by others.
        ``question``
            What it answers. Findings that ask the same, or exclude each other, share one.
        ``quantity_class``
            Findings of one class measure equal quantities; see `published_ranges`.
        ``statistic, task_name``
            What tests it: a name in ``STATISTICS`` and one in ``TASKS``.
        ``likelihood``
            See the module's table; ``LIKELIHOODS`` has the columns that each needs.
        ``successes, trials, standard_error, sign, p_value, excluded_low, excluded_high, chance``
            Its numbers. Shares are fractions. `p_value` is a bound where the paper gives one, and
            0.05 where it says no more than that there is a difference.
        ``n_animals, n_units, unit_of_n, n_events``
            The animals that a simulated study must have; what the published error or test counts,
            and how many of these (`animal, session, pause` or `event`); replay events.
        ``min_length, min_distance_cm, largest_jump_cm, min_extent_cm, min_correlation``
            What counted as replay; see `detection_of`.
        ``contradicts``
            The ids of findings that it excludes, with blanks between.
        ``why_not``
            Why it is not tested; empty if it is.

    Raises
    ------
    TypeError
        If `extra` is no table and no path.
    ValueError
        If a file is no CSV table in UTF-8, or a row is not of this form; the message names the row,
        what is expected, and what it has.

    Examples
    --------
    >>> table = findings()
    >>> counted = table.query("likelihood == 'count' and statistic == 'S1' and task_name != ''")
    >>> counted[["source", "successes", "trials"]].head(2)
               source  successes  trials
    2      Gupta 2010      842.0  1719.0
    39  Davidson 2009       68.0   174.0

    One of your own:

    >>> mine = pd.DataFrame({"id": ["mine2026.reverse"], "citation": ["Mine M (2026) My track."],
    ...     "year": [2026], "quantity": ["reverse fraction"], "statistic": ["S1"],
    ...     "task_name": ["linear_track"], "likelihood": ["count"], "successes": [44],
    ...     "trials": [100]})
    >>> findings(mine)[["source", "question"]].iloc[-1].tolist()
    ['Mine 2026 (unpublished)', 'How much of replay is reverse?']
    """
    table = _typed(_read(data_file("findings/findings.csv")), "findings.csv")
    if extra is not None:
        own = extra if isinstance(extra, pd.DataFrame) else _read(extra)
        name = "your findings" if isinstance(extra, pd.DataFrame) else str(extra)
        asked = table[table["question"] != ""].drop_duplicates("statistic")
        questions = asked.set_index("statistic")["question"].drop("")
        mine = _typed(own, name)
        asks = mine["statistic"].map(questions).fillna(mine["quantity"])
        mine["question"] = mine["question"].where(mine["question"] != "", asks)
        table = pd.concat([table, mine], ignore_index=True)
    _check_together(table)
    second_hand, unpublished = table["evidence"] == SECOND_HAND, table["doi"] == ""
    marks = np.select([second_hand, unpublished], [f" ({SECOND_HAND})", f" ({UNPUBLISHED})"], "")
    names = table["citation"].map(_first_author) + " " + table["year"].astype(str)
    columns = list(_COLUMNS)
    columns.insert(columns.index("citation"), "source")
    columns[columns.index("note") : columns.index("note")] = ["second_hand", "unpublished"]
    table = table.assign(source=names + marks, second_hand=second_hand, unpublished=unpublished)
    return table[columns]


def _read(path: str | Path) -> pd.DataFrame:
    """Read findings from a CSV file."""
    if not isinstance(path, str | Path):
        raise TypeError(f"Findings must be a DataFrame or the path of a file, got {shown(path)}.")
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path} must be text in UTF-8, but line {line} is not: save the file as CSV (UTF-8)."
        ) from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} must be a CSV file that can be read, got: {error}.") from None
    try:
        header, *rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row] or [[]]
    except csv.Error as error:
        raise ValueError(
            f"{path} must be a CSV table with all quotes closed, got {error}: it may be cut short."
        ) from None
    if not "".join(header).strip():
        raise ValueError(f"{path} is empty: its first line must name the columns.")
    twice = [column for column in header if header.count(column) > 1]
    if twice:
        raise ValueError(f"{path} has the column {twice[0]!r} more than once: keep one.")
    for number, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(
                f"{path} must have {len(header)} fields in each row, as its first line has; row "
                f"{number} has {len(row)}."
            )
    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])


def _typed(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Check the rows one by one, and give all columns, in order."""
    check_table(table, _NEEDED, name)
    unknown = [column for column in table if column not in _COLUMNS]
    if unknown:
        raise ValueError(
            f"{name} has the column {unknown[0]!r}, which findings don't have. They have: "
            f"{', '.join(_COLUMNS)}."
        )
    check_table(table, [column for column in _COLUMNS if column in table], name)
    texts = {column: _texts(table, column, name) for column in _TEXTS}
    numbers = {column: _numbers(table, column, name) for column in _LIMITS}
    typed = pd.DataFrame({**texts, **numbers}, index=range(len(table)))[list(_COLUMNS)]
    typed = _filled(typed)
    for number, row in enumerate(typed.itertuples(index=False)):
        problem = _problem(row)
        if problem:
            raise ValueError(f"{name}, row {number}, finding {row.id!r}: {problem}")
    return typed.astype({"year": int})


def _filled(typed: pd.DataFrame) -> pd.DataFrame:
    """Give columns that were left empty what follows from the others."""
    evidence = np.where(typed["doi"] == "", UNPUBLISHED, "primary paper")
    studies = [name.partition(".")[0] for name in typed["id"]]
    counted = (typed["likelihood"] == "count") & typed["value"].isna()
    shares = typed["successes"] / typed["trials"].where(typed["trials"] > 0)
    return typed.assign(
        evidence=typed["evidence"].where(typed["evidence"] != "", evidence),
        study=typed["study"].where(typed["study"] != "", studies),
        value=typed["value"].where(~counted, shares),
        unit=typed["unit"].where(~counted, "fraction"),
    )


def _texts(table: pd.DataFrame, column: str, name: str) -> list[str] | str:
    """Read a column of text; what is missing is empty."""
    if column not in table:
        return ""
    texts = []
    for row, value in enumerate(table[column]):
        if not pd.api.types.is_scalar(value):
            raise ValueError(f"{name}, row {row}: {column} must be text, got {shown(value)}.")
        texts.append("" if pd.isna(value) else str(value).strip())
    return texts


def _numbers(table: pd.DataFrame, column: str, name: str) -> NDArray[np.float64] | float:
    """Read a column of numbers, also those written as text; what is missing is NaN."""
    if column not in table:
        return np.nan
    numbers = np.full(len(table), np.nan)
    for row, value in enumerate(table[column]):
        try:
            if isinstance(value, bool | np.bool_):
                raise TypeError
            is_empty = pd.api.types.is_scalar(value) and pd.isna(value)
            numbers[row] = np.nan if is_empty else float(value)
            if not (is_empty or np.isfinite(numbers[row])):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"{name}, row {row}, finding {table['id'].iloc[row]!r}: {column} must be a finite "
                f"number, or empty; got {shown(value)}."
            ) from None
    return numbers


def _problem(row: Any) -> str | None:
    """Say what is wrong with a row, and what is expected."""
    for column in ("id", "citation", "quantity"):
        if not getattr(row, column):
            return f"{column} is empty."
    if re.search(r"\s", row.id):
        return "an id has no blanks, as in 'gupta2010.bwd_fraction'."
    if row.doi and not _DOI.fullmatch(row.doi):
        return (
            f"doi must look like 10.1016/j.neuron.2010.01.034, or be empty if there is none; got "
            f"{row.doi!r}."
        )
    choices: dict[str, tuple[str, ...]] = {
        "evidence": EVIDENCE,
        "likelihood": tuple(LIKELIHOODS),
        "unit_of_n": ("", *UNITS_OF_N),
    }
    for column, names in choices.items():
        if getattr(row, column) not in names:
            listed, got = ", ".join(filter(None, names)), getattr(row, column)
            hint = " (pandas takes 'null' in a file for empty)" if not got else ""
            return f"{column} must be one of {listed}; got {got!r}{hint}."
    if np.isnan(row.year):
        return "year is empty."
    for column, (low, high, is_whole) in _LIMITS.items():
        problem = _out_of_range(column, getattr(row, column), low, high, is_whole)
        if problem:
            return problem
    return _problem_of_likelihood(row)


def _out_of_range(column: str, value: float, low: float, high: float, is_whole: bool) -> str | None:
    if np.isnan(value) or (low <= value <= high and not (is_whole and value % 1)):
        return None
    number = "a whole number" if is_whole else "a number"
    ends = f" from {low:g} to {high:g}" if np.isfinite(high) else f" of {low:g} or more"
    if low == 1e-12 or low == 1e-300:
        ends = " above 0" + (f", up to {high:g}" if np.isfinite(high) else "")
    return f"{column} must be {number}{ends}, got {value:g}."


def _problem_of_likelihood(row: Any) -> str | None:
    """Say which number a likelihood lacks, or which ones don't fit together."""
    kind = row.likelihood
    for column, other in _OF_ONE.items():
        if other != kind and not np.isnan(getattr(row, column)):
            return f"{column} belongs to the likelihood {other!r}, but the likelihood is {kind!r}."
    if kind == "none":
        return None if row.why_not else "with the likelihood 'none', why_not must say why."
    for column in LIKELIHOODS[kind]:
        if np.isnan(getattr(row, column)):
            return f"the likelihood {kind!r} needs {column}."
    if not row.statistic:
        return f"the likelihood {kind!r} needs a statistic, as in 'S1'."
    if row.statistic not in STATISTICS:
        return str(unknown_name("statistic", row.statistic, STATISTICS))
    if not (row.task_name or row.why_not):
        return "task_name must say in which task it is tested, or why_not why it is not."
    return _misfit(row)


def _misfit(row: Any) -> str | None:
    """Say which of the numbers of a likelihood don't fit together."""
    if row.likelihood == "count":
        if row.successes > row.trials:
            return f"successes, {row.successes:g}, must not be more than trials, {row.trials:g}."
        value = row.value / 100 if row.unit.startswith("%") else row.value
        if row.unit.startswith(("%", "fraction")) and (
            abs(value - row.successes / row.trials) > _ROUNDED
        ):
            return (
                f"value, {row.value:g}, must be successes / trials, "
                f"{row.successes:g} / {row.trials:g} = {row.successes / row.trials:.3g}."
            )
    if row.likelihood == "value" and row.unit.startswith("%"):
        return f"value must be on the scale of the statistic: {row.value / 100:g}, not percent."
    if row.likelihood == "direction" and row.sign == 0:
        return "sign must be 1 or -1, got 0; where no difference was found, the likelihood is null."
    if row.likelihood == "null" and row.excluded_low >= row.excluded_high:
        return (
            f"excluded_low, {row.excluded_low:g}, must be below excluded_high, "
            f"{row.excluded_high:g}: effects between them are not excluded."
        )
    return None


def _check_together(table: pd.DataFrame) -> None:
    repeated = table.loc[table["id"].duplicated(), "id"]
    if len(repeated):
        raise ValueError(f"Two findings have the id {repeated.iloc[0]!r}: ids must differ.")
    known = set(table["id"])
    for finding, others in zip(table["id"], table["contradicts"], strict=True):
        for other in others.split():
            if other not in known:
                raise ValueError(f"{finding!r} contradicts {other!r}, which is no finding.")


def _first_author(citation: str) -> str:
    found = _FIRST_AUTHOR.match(citation)
    return found[1] if found else citation.split()[0]


def published_ranges(table: pd.DataFrame) -> pd.DataFrame:
    """Give the range of the values that at least two studies found of an equal quantity.

    Values of tasks that have no graph here count too; second-hand values don't.

    Parameters
    ----------
    table : pandas.DataFrame
        What `findings` gives.

    Returns
    -------
    pandas.DataFrame
        Columns `quantity_class, low, high, n_values, n_studies`, and `sources`, the studies in
        order of value.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> ranges = published_ranges(findings())
    >>> ranges[["quantity_class", "low", "high", "n_studies"]].to_numpy().tolist()
    [['reverse of directional', 0.3908, 0.543, 5]]
    """
    columns = ["quantity_class", "likelihood", "second_hand", "value", "unit", "source", "study"]
    check_table(table, columns, "the table of findings")
    is_number = table["likelihood"].isin(["count", "value"]) & ~table["second_hand"]
    rows = table[is_number & (table["quantity_class"] != "")]
    rows = rows.assign(value=as_share(rows)).sort_values("value", kind="stable")
    groups = rows.groupby("quantity_class", sort=True)
    ranges = groups.agg(
        low=("value", "min"),
        high=("value", "max"),
        n_values=("value", "size"),
        n_studies=("study", "nunique"),
        sources=("source", lambda sources: ", ".join(dict.fromkeys(sources))),
    ).reset_index()
    return ranges[ranges["n_studies"] > 1].reset_index(drop=True)


def questions(table: pd.DataFrame) -> pd.DataFrame:
    """List what the findings ask, and which studies answer.

    Parameters
    ----------
    table : pandas.DataFrame
        What `findings` gives.

    Returns
    -------
    pandas.DataFrame
        One row a question, in alphabetical order: `question`; `n_tested`, how many findings are
        held against models; `n_studies` and `studies`, whose they are: where there is one, the
        answer is that of one study alone; and `others`, studies that answer, but not in a way that
        a model can be held against.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> asked = questions(findings()).set_index("question")
    >>> asked.loc["Does replay predict the next choice?", "studies"]
    'shin2019, widloski2022'
    """
    check_table(table, ["question", "study", "likelihood", "why_not"], "the table of findings")
    rows = table[table["question"] != ""]
    tested = (rows["likelihood"] != "none") & (rows["why_not"] == "")
    found = []
    for question, group in rows.assign(tested=tested).groupby("question", sort=True):
        answer = sorted(set(group.loc[group["tested"], "study"]))
        found.append(
            {
                "question": question,
                "n_tested": int(group["tested"].sum()),
                "n_studies": len(answer),
                "studies": ", ".join(answer),
                "others": ", ".join(sorted(set(group["study"]).difference(answer))),
            }
        )
    return pd.DataFrame(found, columns=["question", "n_tested", "n_studies", "studies", "others"])


def detection_of(
    finding: Mapping[Any, Any] | pd.Series[Any],
    spacing: float,
    otherwise: Detection = Detection(),  # noqa: B008 (immutable)
) -> Detection:
    """Give the criteria by which the study of a finding detected replay.

    Parameters
    ----------
    finding : row of a DataFrame
        `min_length, min_distance_cm, largest_jump_cm, min_extent_cm, min_correlation`; NaN where
        the study has no such criterion, or none was read.
    spacing : float
        The distance between neighbouring places of the task, in cm: jumps count in places.
    otherwise : Detection, optional
        The criteria that the study does not tell.

    Returns
    -------
    Detection
        What counts as a place sequence.

    Raises
    ------
    ValueError
        If `spacing` is not above 0.

    Examples
    --------
    >>> table = findings().set_index("id")
    >>> detection_of(table.loc["mallory2025.rev_fraction"], spacing=20.0)
    Detection(min_length=3, min_distance=0.0, largest_jump=3, min_extent=36.0, min_correlation=0.6)
    """
    check_number("spacing", spacing, at_least=1e-12)
    told: dict[str, Any] = {
        field: float(finding[column])
        for column, field in _DETECTION.items()
        if not np.isnan(finding[column])
    }
    if "largest_jump" in told:
        told["largest_jump"] = max(int(told["largest_jump"] / spacing), 1)
    if "min_length" in told:
        told["min_length"] = int(told["min_length"])
    return otherwise._replace(**told)


def as_share(table: pd.DataFrame) -> pd.Series[float]:
    """Give the values of findings, those in percent as shares.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `value, unit`.

    Returns
    -------
    pandas.Series of float, shape (n_findings,)
        The values; NaN where there is none.

    Examples
    --------
    >>> as_share(pd.DataFrame({"value": [7.37, 0.49], "unit": ["%", "fraction"]})).tolist()
    [0.0737, 0.49]
    """
    shares = (table["value"] / 100).round(12)
    return table["value"].where(~table["unit"].str.startswith("%", na=False), shares)
