"""A session that was saved in several files, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from analyses.recordings.basics.observed import Observed, common
from analyses.recordings.basics.recording import Recording
from replay.checks import typed


@typed
def join_parts(*parts: Recording) -> Recording:
    """Join the parts of one session, of the same animal and cells, into one recording.

    What lies between two parts was not observed: it counts in no rate, and no event or lap goes on
    across it. Cells are matched by their ids, or by their order where no part has ids.

    Parameters
    ----------
    *parts : Recording
        Two or more parts, in any order, on one clock. They have positions and sorted spikes, and
        may have events and epochs.

    Returns
    -------
    Recording
        The session, with the name, track and notes of its first part.

    Raises
    ------
    ValueError
        If there are fewer than two parts, if two of them overlap in time, or if they differ in
        their track or cells, or hold what cannot be joined.

    Examples
    --------
    >>> one, other = (
    ...     Recording(name, time=time, position=np.zeros((3, 2)), spikes=(time,))
    ...     for name, time in (("morning", np.arange(3.0)), ("evening", np.arange(900.0, 903.0)))
    ... )
    >>> join_parts(one, other)
    Recording('morning', 6 positions, 1 cells, 0 to 902 s, observed in part)
    """
    ordered = sorted(parts, key=Recording.span)
    _check_parts(ordered)
    first, n_cells = ordered[0], len(ordered[0].spikes)
    # Cells of a part in the order of the first, each at its id.
    numbers = [[part.units.index(unit) for unit in first.units] or [*range(n_cells)]
               for part in ordered]  # fmt: skip
    # A part may say that it was always observed, which holds for its own time only.
    spans = [np.array([part.span()]) for part in ordered]
    seen = [
        [common(own, span) for own in part.observed.of_cells(n_cells)]
        for part, span in zip(ordered, spans, strict=True)
    ]
    observed = Observed(
        spikes=np.concatenate(
            [common(part.observed.spikes, span)
             for part, span in zip(ordered, spans, strict=True)]
        ),
        cells=tuple(
            np.concatenate([own[at[cell]] for own, at in zip(seen, numbers, strict=True)])
            for cell in range(n_cells)
        ) if any(part.observed.cells for part in ordered) else (),
    )  # fmt: skip
    events = [part.events for part in ordered if part.events is not None]
    labels = dict.fromkeys(label for part in ordered for label in part.epochs)
    return replace(
        first,
        time=np.concatenate([part.time for part in ordered]),
        position=np.concatenate([part.position for part in ordered]),
        spikes=tuple(
            np.concatenate(
                [part.spikes[at[cell]] for part, at in zip(ordered, numbers, strict=True)]
            )
            for cell in range(n_cells)
        ),
        observed=observed,
        events=pd.concat(events, ignore_index=True) if events else None,
        on_track=np.concatenate(
            [part.on_track if len(part.on_track) else span
             for part, span in zip(ordered, spans, strict=True)]
        ) if any(len(part.on_track) for part in ordered) else first.on_track,
        epochs={
            label: np.concatenate([part.epochs[label] for part in ordered if label in part.epochs])
            for label in labels
        },
    )  # fmt: skip


def _check_parts(ordered: Sequence[Recording]) -> None:
    """Check that parts, in the order of time, are of one session and can be joined."""
    if len(ordered) < 2:
        raise ValueError(f"join_parts needs two parts of a session at least, got {len(ordered)}.")
    first = ordered[0]
    for one, other in pairwise(ordered):
        if one.span()[1] >= other.span()[0]:
            raise ValueError(
                f"Parts of a session must follow one another, but {one.name} lasts until "
                f"{one.span()[1]:g} s and {other.name} begins at {other.span()[0]:g} s. If each "
                "file has a clock of its own, add to its times when it began."
            )
    for part in ordered:
        for what in ("posterior", "decoded", "field_potential", "electrode"):
            if getattr(part, what) is not None:
                raise ValueError(
                    f"{part.name} has {what}: only positions, spikes of sorted cells, events and "
                    "epochs can be joined. Find replay in each part by itself."
                )
        if len(set(part.units)) < len(part.units):
            raise ValueError(f"Two cells of {part.name} have one id: they cannot be matched.")
    for part in ordered[1:]:
        if _track(part) != _track(first):
            raise ValueError(
                f"{first.name} and {part.name} must have the same track, with the same nodes in "
                "the same order: read both with one track."
            )
        if (len(part.spikes), sorted(part.units)) != (len(first.spikes), sorted(first.units)):
            raise ValueError(
                f"{first.name} and {part.name} must have the same cells: {len(first.spikes)} with "
                f"ids {list(first.units)} and {len(part.spikes)} with ids {list(part.units)}. "
                "Choose the same units in both."
            )
    without = [part.name for part in ordered if part.events is None]
    if 0 < len(without) < len(ordered):
        raise ValueError(
            f"{without[0]} has no events and another part has: give those of all parts, or of none."
        )


def _track(part: Recording) -> object:
    graph = part.graph
    if graph is None:
        return None
    return [(node, *map(float, data["pos"])) for node, data in graph.nodes(data=True)], [
        *graph.edges
    ]
