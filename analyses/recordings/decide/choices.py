"""How shares of kinds depend on choices that a recording does not make: states, laps, criteria."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from analyses.recordings.basics.settings import Judgement
from analyses.recordings.decide.conclusions import Conclusions, conclude
from analyses.recordings.decide.scoring import Scored
from analyses.recordings.prepare.recorded_experience import suggested_ends
from analyses.recordings.prepare.session import Session

AS_CHOSEN = "as chosen"
"""The name of the choice that was made, beside which others are shown."""
_LEAST_LENGTHS, _LARGEST_JUMPS, _LEVELS = (3, 5), (1, 3), (0.05, 0.01)
_COLUMNS = ["choice", "value", "kind", "n", "n_events", "share", "ci_low", "ci_high"]


def shares_by_choice(session: Session, scored: Scored, found: Conclusions) -> pd.DataFrame:
    """Count kinds as chosen, and under other sizes of states, ends of laps and criteria.

    One choice at a time is changed. Returns `choice, value, kind, n, n_events, share, ci_low,
    ci_high`, with the choice ``as chosen`` first.
    """
    own = session.judgement.state_size
    kinds = found.kinds
    tables = [kinds[kinds["state_size"] == own].assign(choice=AS_CHOSEN, value="")]
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
