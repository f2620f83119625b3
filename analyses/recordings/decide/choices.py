"""How shares of kinds depend on choices that a recording does not make: states, laps, criteria."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.decide.conclusions import Conclusions, conclude
from analyses.recordings.decide.scoring import Scored
from analyses.recordings.prepare.lap_ends import suggested_ends
from analyses.recordings.prepare.session import Session
from analyses.tables import KINDS

__all__ = ["describe_dependence", "shares_by_choice"]

_OWN = "as chosen"
_LEAST_LENGTHS, _LARGEST_JUMPS, _LEVELS = (3, 5), (1, 3), (0.05, 0.01)
_WORDS = {
    "state size": "a state size of",
    "lap ends": "laps that end",
    "sequences": "sequences of at least",
    "jumps": "jumps of at most",
    "level": "a level of",
}
_COLUMNS = ["choice", "value", "kind", "n", "n_events", "share", "ci_low", "ci_high"]


def shares_by_choice(session: Session, scored: Scored, found: Conclusions) -> pd.DataFrame:
    """Count kinds as chosen, and under other sizes of states, ends of laps and criteria.

    One choice at a time is changed. Returns `choice, value, kind, n, n_events, share, ci_low,
    ci_high`, with the choice ``as chosen`` first.
    """
    own = session.judgement.state_size
    kinds = found.kinds
    tables = [kinds[kinds["state_size"] == own].assign(choice=_OWN, value="")]
    tables += [
        table.assign(choice="state size", value=f"{size:g} cm")
        for size, table in kinds[kinds["state_size"] != own].groupby("state_size")
    ]
    for choice, value, judgement in _others(session):
        changed = session._replace(judgement=judgement._replace(other_sizes=()))
        tables.append(conclude(changed, scored).kinds.assign(choice=choice, value=value))
    return pd.concat(tables, ignore_index=True)[_COLUMNS]


def _others(session: Session) -> Iterator[tuple[str, str, Judgement]]:
    """List the other ends of laps and criteria."""
    judgement, detection = session.judgement, session.judgement.detection
    graph = session.recording.graph
    degrees = () if graph is None or session.track.is_arena else graph.degree
    dead = tuple(str(node) for node, degree in degrees if degree == 1)
    pauses = session.pauses if dead else suggested_ends(session.pauses)
    for names in ((), tuple(dict.fromkeys((*dead, *pauses)))):
        if set(names or dead) != set(judgement.lap_ends or dead):
            where = f"at {', '.join(names or dead)}" if names or dead else "nowhere"
            yield "lap ends", where, judgement._replace(lap_ends=names)
    for least in _LEAST_LENGTHS:
        if least != detection.min_length:
            changed = detection._replace(min_length=least)
            yield "sequences", f"{least} states", judgement._replace(detection=changed)
    for jump in _LARGEST_JUMPS:
        if jump != detection.largest_jump:
            changed = detection._replace(largest_jump=jump)
            text = f"{jump} state{'s' * (jump != 1)}"
            yield "jumps", text, judgement._replace(detection=changed)
    for level in _LEVELS:
        n_least = min(judgement.n_shuffles, judgement.n_controls) * len(session.events)
        if level != judgement.level and n_least * level >= 1:
            yield "level", f"{level:g}", judgement._replace(level=level)


def describe_dependence(table: pd.DataFrame) -> str:
    """Say in a sentence which choices change shares by more than their intervals; or nothing.

    Shares differ by more than their intervals if neither lies in the interval of the other. For
    each choice, the largest of these differences is told.

    Examples
    --------
    >>> row = {"choice": "as chosen", "value": "", "kind": "forward_episode", "share": 0.52,
    ...        "ci_low": 0.4, "ci_high": 0.63}
    >>> other = {"choice": "state size", "value": "30 cm", "share": 0.19, "ci_low": 0.1,
    ...          "ci_high": 0.3}
    >>> describe_dependence(pd.DataFrame([row, row | other]))[55:95]
    'with a state size of 30 cm, the share of'
    """
    table = table[table["kind"].isin(KINDS)]  # the rest follows from them
    own = table[table["choice"] == _OWN].set_index("kind")
    others = table[table["choice"] != _OWN].join(
        own[["share", "ci_low", "ci_high"]].add_suffix("_own"), on="kind"
    )
    within = others["share"].between(others["ci_low_own"], others["ci_high_own"])
    within |= others["share_own"].between(others["ci_low"], others["ci_high"])
    others = others[~within & others["share"].notna() & others["share_own"].notna()]
    others = others.assign(change=(others["share"] - others["share_own"]).abs())
    others = others.sort_values("change", ascending=False, kind="stable").drop_duplicates("choice")
    if not len(others):
        return ""
    parts = [
        f"with {_WORDS[str(row.choice)]} {row.value}, the share of "
        f"{str(row.kind).replace('_', ' ')} is {row.share:.2f} instead of "
        f"{row.share_own:.2f} ({row.ci_low_own:.2f} to {row.ci_high_own:.2f})"
        for row in others.itertuples()
    ]
    return f"Shares depend on choices by more than their intervals: {'; '.join(parts)}."
